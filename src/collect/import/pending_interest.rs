//! Converts open-interest readings of files to coins, the unit of an archive, and checks those in coins.
//!
//! The caller supplies the conversion, because it uses the prices and volumes of the archive's bars. Readings of several
//! files are converted together, so that the bars are read only once.

use crate::collect::import::files::Place;
use crate::model::{NotInCoins, ObservedOpenInterest};
use crate::tables::{AmountColumn, InterestColumns, decimal, observed_interest};

/// Number of readings that are converted together.
const TOGETHER: usize = 50_000;

/// For each file, its readings in coins, or the reason why a reading could not be converted.
pub type FilesInCoins = Vec<Vec<Result<f64, NotInCoins>>>;

/// Converts the readings of files to coins if the flag says that they are in USD, else checks them; the results have the
/// order of the readings. Returns `None` once the callback returns false, and an error message if the archive's bars cannot be read.
pub type ToCoins<'a> = dyn FnMut(
        Vec<Vec<ObservedOpenInterest>>,
        bool,
        &mut dyn FnMut() -> bool,
    ) -> Result<Option<FilesInCoins>, String>
    + 'a;

/// Readings of a file, each with its place.
#[derive(Debug, Default)]
struct OfFile {
    number: usize,
    readings: InterestColumns,
    places: Vec<Place>,
}

impl OfFile {
    /// The readings in coins. An amount that is given in coins stays exactly as it is.
    fn converted(self, made: Vec<Result<f64, NotInCoins>>) -> Converted {
        let mut good = Vec::new();
        let (mut refused, mut coins) = (Vec::new(), AmountColumn::default());
        for (row, made) in made.into_iter().enumerate() {
            let made = made.and_then(|value| {
                if self.readings.in_usd {
                    coins.push(decimal("open_interest", value).map_err(NotInCoins::NoAmount)?);
                }
                Ok(())
            });
            match (made, self.places.get(row)) {
                (Ok(()), _) => good.push(row),
                (Err(why), Some(place)) => refused.push((*place, why)),
                (Err(_), None) => {}
            }
        }
        let mut readings = self.readings.take(&good);
        if readings.in_usd {
            readings.open_interest = coins;
            readings.in_usd = false;
        }
        let places = good.iter().filter_map(|row| self.places.get(*row).copied());
        Converted {
            file: self.number,
            readings,
            places: places.collect(),
            refused,
        }
    }
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

/// Readings that wait for their conversion.
#[derive(Debug, Default)]
pub(crate) struct PendingInterest {
    files: Vec<OfFile>,
    count: usize,
    /// The last file in which most readings were plausible.
    plausible: Option<usize>,
}

impl PendingInterest {
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
        let (in_usd, in_coins): (Vec<OfFile>, Vec<OfFile>) =
            files.into_iter().partition(|file| file.readings.in_usd);
        let mut all = Vec::new();
        for (files, is_usd) in [(in_coins, false), (in_usd, true)] {
            let Some(first) = files.first().map(|file| file.number) else {
                continue;
            };
            let observed = files
                .iter()
                .map(|file| {
                    let readings = observed_interest(&file.readings);
                    readings.map(|reading| reading.owned()).collect()
                })
                .collect();
            let made = to_coins(observed, is_usd, should_continue).map_err(|why| (first, why))?;
            let Some(made) = made else {
                return Ok(None);
            };
            let files = files.into_iter().zip(made);
            all.extend(files.map(|(file, made)| file.converted(made)));
        }
        Ok(Some(all))
    }

    /// Returns a reason if the readings of a file have another unit. In that case, most are implausible, and no earlier
    /// batch of the file was plausible.
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
