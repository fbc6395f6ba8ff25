//! Open interest in USD in coins, at the prices of an archive's own bars: read a day at a time, those of the coins that are asked
//! for, and once for all readings of that day.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::archive::{Archive, ArchiveError, Filter};
use crate::engine::{TableFault, each_in_base_units};
use crate::model::{Bar, Millis, NotInCoins, ObservedBar, ObservedOpenInterest, Symbol};

/// A bar is the price of a reading for a day after its close, and none is longer than a day.
const DAYS_BEFORE: i64 = 2;

/// Bars of a coin, of each exchange and length.
type Series = BTreeMap<(String, i64), Vec<Bar>>;

/// What a reading is in coins, or why it is not brought to them.
pub type InCoins = Result<ObservedOpenInterest, NotInCoins>;

/// Why nothing is brought to coins.
#[derive(Debug, thiserror::Error)]
pub enum NoPrices {
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Its bars are none.
    #[error(transparent)]
    Bars(#[from] TableFault),
}

/// The prices of an archive.
#[derive(Debug)]
pub struct Prices {
    archive: Option<Archive>,
    /// The coins of which bars are held.
    coins: BTreeSet<String>,
    /// Bars of the last days, by the day's number and the coin.
    days: BTreeMap<i64, BTreeMap<String, Series>>,
}

impl Prices {
    /// Those of the archive in the folder `path`, which has none before it is begun.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where it cannot be read.
    pub fn of(path: &Path) -> Result<Self, ArchiveError> {
        Ok(Self {
            archive: Archive::read_if_begun(path)?,
            coins: BTreeSet::new(),
            days: BTreeMap::new(),
        })
    }

    /// The readings of these files in coins, each file's in its order; of each day and file they are held against each other
    /// and the volume. `None` where `goes_on` says that it is enough.
    ///
    /// # Errors
    ///
    /// [`NoPrices`] where the archive's bars cannot be read.
    pub fn in_coins(
        &mut self,
        files: Vec<Vec<ObservedOpenInterest>>,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Vec<InCoins>>>, NoPrices> {
        let coins: BTreeSet<String> = files.iter().flatten().map(coin_of).collect();
        if !coins.is_subset(&self.coins) {
            self.coins = coins;
            self.days.clear();
        }
        let mut made: Vec<Vec<Option<InCoins>>> = files
            .iter()
            .map(|file| file.iter().map(|_| None).collect())
            .collect();
        let mut days: BTreeMap<i64, BTreeMap<usize, Vec<(usize, ObservedOpenInterest)>>> =
            BTreeMap::new();
        for (number, file) in files.into_iter().enumerate() {
            for (row, reading) in file.into_iter().enumerate() {
                let day = days.entry(day_of(reading.timestamp)).or_default();
                day.entry(number).or_default().push((row, reading));
            }
        }
        for (day, files) in days {
            if !goes_on() {
                return Ok(None);
            }
            self.read(day)?;
            for (number, readings) in files {
                let (rows, readings): (Vec<usize>, Vec<_>) = readings.into_iter().unzip();
                let coins: BTreeSet<String> = readings.iter().map(coin_of).collect();
                let bars = coins.iter().flat_map(|coin| self.bars(coin));
                let each = each_in_base_units(readings, bars.collect())?;
                for (row, reading) in rows.into_iter().zip(each) {
                    if let Some(place) = made.get_mut(number).and_then(|file| file.get_mut(row)) {
                        *place = Some(reading);
                    }
                }
            }
        }
        let made = made
            .into_iter()
            .map(|file| file.into_iter().flatten().collect());
        Ok(Some(made.collect()))
    }

    /// Reads what tells the prices of a day, and lets go of what does not.
    fn read(&mut self, day: i64) -> Result<(), ArchiveError> {
        let wanted = day.saturating_sub(DAYS_BEFORE)..=day;
        self.days.retain(|day, _| wanted.contains(day));
        let Some(archive) = &self.archive else {
            return Ok(());
        };
        let alone = self.coins.first().filter(|_| self.coins.len() == 1);
        for day in wanted {
            if self.days.contains_key(&day) {
                continue;
            }
            let start = Millis(day.saturating_mul(Millis::DAY));
            let filter = Filter {
                start: Some(start),
                end: Some(start.on(Millis::DAY)),
                coin: alone.cloned(),
                ..Filter::default()
            };
            let mut coins: BTreeMap<String, Series> = BTreeMap::new();
            for row in archive.observed_bars(&filter)?.rows {
                if !self.coins.contains(&row.symbol) {
                    continue;
                }
                let bar = Bar::nearest(
                    row.timestamp,
                    row.interval,
                    [row.open, row.high, row.low, row.close, row.volume],
                );
                let series = coins.entry(row.symbol).or_default();
                series
                    .entry((row.exchange, row.interval))
                    .or_default()
                    .push(bar);
            }
            self.days.insert(day, coins);
        }
        Ok(())
    }

    /// The bars of a coin of one exchange and length: of which there are most, of equals the first by name.
    fn bars(&self, coin: &str) -> Vec<ObservedBar> {
        let held = || self.days.values().filter_map(|coins| coins.get(coin));
        let mut counts: BTreeMap<&(String, i64), usize> = BTreeMap::new();
        for (series, bars) in held().flatten() {
            *counts.entry(series).or_default() += bars.len();
        }
        let Some((most, _)) = counts.into_iter().rev().max_by_key(|(_, count)| *count) else {
            return Vec::new();
        };
        let bars = held().filter_map(|series| series.get(most)).flatten();
        bars.map(|bar| bar.of_coin(coin)).collect()
    }
}

fn day_of(at: Millis) -> i64 {
    at.0.div_euclid(Millis::DAY)
}

/// The coin that a reading is of.
fn coin_of(reading: &ObservedOpenInterest) -> String {
    let read = Symbol::read(&reading.symbol);
    read.map_or_else(|| reading.symbol.clone(), |symbol| symbol.coin().to_owned())
}
