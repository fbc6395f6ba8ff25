//! Converts open-interest readings in USD from files to coins, the unit of an archive.
//!
//! The caller supplies the conversion, because it uses the prices of the archive's bars. Readings of several files are
//! converted together, so that the bars are read only once.

use crate::collect::import::files::Place;
use crate::model::{NotInCoins, ObservedOpenInterest};
use crate::tables::{AmountColumn, InterestColumns, observed_interest};

/// Number of readings that are converted together.
const TOGETHER: usize = 50_000;

/// For each file, its readings in coins, or the reason why a reading could not be converted.
pub type FilesInCoins = Vec<Vec<Result<rust_decimal::Decimal, NotInCoins>>>;

/// Converts the readings of files to coins; the results have the order of the readings. Returns `None` once the
/// callback returns false, and an error message if the archive's bars cannot be read.
pub type ToCoins<'a> = dyn FnMut(
        Vec<Vec<ObservedOpenInterest>>,
        &mut dyn FnMut() -> bool,
    ) -> Result<Option<FilesInCoins>, String>
    + 'a;

/// Readings of a file in USD, each with its place.
#[derive(Debug, Default)]
struct OfFile {
    number: usize,
    readings: InterestColumns,
    places: Vec<Place>,
}

/// Readings of a file that were converted to coins.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) file: usize,
    pub(crate) readings: InterestColumns,
    pub(crate) places: Vec<Place>,
    /// Readings that could not be converted.
    pub(crate) refused: Vec<(Place, NotInCoins)>,
}

/// Readings in USD that wait for their conversion.
#[derive(Debug, Default)]
pub(crate) struct InUsd {
    files: Vec<OfFile>,
    count: usize,
    /// The last file in which most readings were plausible as USD.
    plausible: Option<usize>,
}

impl InUsd {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether there are enough readings to convert them together.
    pub(crate) fn are_many(&self) -> bool {
        self.count >= TOGETHER
    }

    /// The indexes of the files with readings that are not converted yet.
    pub(crate) fn files(&self) -> impl Iterator<Item = usize> {
        self.files.iter().map(|file| file.number)
    }

    /// Adds readings of the file with index `number`.
    pub(crate) fn add(&mut self, readings: InterestColumns, number: usize, places: Vec<Place>) {
        self.count += places.len();
        match self.files.last_mut() {
            Some(file) if file.number == number => {
                file.readings.append(&readings);
                file.places.extend(places);
            }
            _ => self.files.push(OfFile {
                number,
                readings,
                places,
            }),
        }
    }

    /// Converts all waiting readings to coins. Returns `None` once the callback returns false.
    pub(crate) fn converted(
        &mut self,
        to_coins: &mut ToCoins<'_>,
        should_continue: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Converted>>, (usize, String)> {
        self.count = 0;
        let files = std::mem::take(&mut self.files);
        let first = files.first().map_or(0, |file| file.number);
        let observed = files
            .iter()
            .map(|file| observed_interest(&file.readings))
            .collect();
        let made = to_coins(observed, should_continue).map_err(|why| (first, why))?;
        let Some(made) = made else {
            return Ok(None);
        };
        let files = files.into_iter().zip(made).map(|(file, made)| {
            let mut good = Vec::new();
            let (mut refused, mut coins) = (Vec::new(), AmountColumn::default());
            for (row, made) in made.into_iter().enumerate() {
                match (made, file.places.get(row)) {
                    (Ok(value), _) => {
                        good.push(row);
                        coins.push(value);
                    }
                    (Err(why), Some(place)) => refused.push((*place, why)),
                    (Err(_), None) => {}
                }
            }
            let mut readings = file.readings.take(&good);
            readings.open_interest = coins;
            readings.in_usd = false;
            let places = good.iter().filter_map(|row| file.places.get(*row).copied());
            Converted {
                file: file.number,
                readings,
                places: places.collect(),
                refused,
            }
        });
        Ok(Some(files.collect()))
    }

    /// Returns a reason if the readings of a file are not in USD. In that case, most are implausible as USD, and no
    /// earlier batch of the file was plausible.
    pub(crate) fn fault_of(&mut self, converted: &Converted) -> Option<String> {
        if self.plausible == Some(converted.file) {
            return None;
        }
        let mut implausible = converted.refused.iter().filter_map(|(_, why)| match why {
            NotInCoins::Implausible(why) => Some(why),
            _ => None,
        });
        let first = implausible.next();
        let count = implausible.count() + usize::from(first.is_some());
        let plausible = converted.places.len();
        if count > plausible {
            return first.cloned();
        }
        if plausible > 0 {
            self.plausible = Some(converted.file);
        }
        None
    }
}
