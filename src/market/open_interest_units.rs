//! Open interest in USD in coins, at the prices of an archive's own bars: read a day at a time, those of the coins that are asked
//! for, and once for all readings of that day as long as what is held is little.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

use crate::archive::{Archive, ArchiveError, Filter};
use crate::engine::{TableFault, each_in_base_units};
use crate::model::{Bar, Millis, NotInCoins, ObservedBar, ObservedOpenInterest, Symbol};

/// A bar is the price of a reading for a day after its close, and none is longer than a day.
const DAYS_BEFORE: i64 = 2;
/// Bars that are held beyond those of the days that are looked at.
const MOST: usize = 1 << 19;

/// Bars of a coin, of each exchange and length.
type Series = BTreeMap<(String, i64), Vec<Bar>>;

/// Days by their numbers, from the first to the last.
type Days = RangeInclusive<i64>;

/// What a reading is in coins, or why it is not brought to them.
pub type CoinReading = Result<ObservedOpenInterest, NotInCoins>;

/// Why nothing is brought to coins.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Its bars are none.
    #[error(transparent)]
    Bars(#[from] TableFault),
}

/// The prices of an archive.
#[derive(Debug)]
pub struct PriceHistory {
    archive: Option<Archive>,
    /// Bars by the day's number and the coin; none of a coin that has none.
    days: BTreeMap<i64, BTreeMap<String, Series>>,
    /// How much is held: bars, and series that may have none.
    loaded: usize,
}

impl PriceHistory {
    /// Those of the archive in the folder `path`, which has none before it is begun.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where it cannot be read.
    pub fn of(path: &Path) -> Result<Self, ArchiveError> {
        Ok(Self {
            archive: Archive::read_if_begun(path)?,
            days: BTreeMap::new(),
            loaded: 0,
        })
    }

    /// The readings of these files in coins, each file's in its order; of each day and file they are held against each other
    /// and the volume. `None` where `goes_on` says that it is enough.
    ///
    /// # Errors
    ///
    /// [`PriceError`] where the archive's bars cannot be read.
    pub fn in_coins(
        &mut self,
        files: Vec<Vec<ObservedOpenInterest>>,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Vec<CoinReading>>>, PriceError> {
        let coins: BTreeSet<String> = files.iter().flatten().map(coin_of).collect();
        let mut made: Vec<Vec<Option<CoinReading>>> = files
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
            let wanted = day.saturating_sub(DAYS_BEFORE)..=day;
            self.read(&wanted, &coins)?;
            for (number, readings) in files {
                let (rows, readings): (Vec<usize>, Vec<_>) = readings.into_iter().unzip();
                let coins: BTreeSet<String> = readings.iter().map(coin_of).collect();
                let bars = coins.iter().flat_map(|coin| self.bars(&wanted, coin));
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

    /// Reads what tells the prices of these coins on these days and is not held, and lets go of other days where that is much.
    fn read(&mut self, wanted: &Days, coins: &BTreeSet<String>) -> Result<(), ArchiveError> {
        let Some(archive) = &self.archive else {
            return Ok(());
        };
        for day in wanted.clone() {
            let loaded = self.days.entry(day).or_default();
            let missing = coins.iter().filter(|coin| !loaded.contains_key(*coin));
            let mut read: BTreeMap<String, Series> =
                missing.map(|coin| (coin.clone(), Series::new())).collect();
            let Some(first) = read.keys().next() else {
                continue;
            };
            let start = Millis(day.saturating_mul(Millis::DAY));
            let filter = Filter {
                start: Some(start),
                end: Some(start.on(Millis::DAY)),
                coin: (read.len() == 1).then(|| first.clone()),
                ..Filter::default()
            };
            for row in archive.observed_bars(&filter)?.rows {
                let Some(series) = read.get_mut(&row.symbol) else {
                    continue;
                };
                let bar = Bar::nearest(
                    row.timestamp,
                    row.interval,
                    [row.open, row.high, row.low, row.close, row.volume],
                );
                series
                    .entry((row.exchange, row.interval))
                    .or_default()
                    .push(bar);
            }
            self.loaded += size(&read);
            loaded.append(&mut read);
        }
        if self.loaded > MOST {
            self.days.retain(|day, _| wanted.contains(day));
            self.loaded = self.days.values().map(size).sum();
        }
        Ok(())
    }

    /// The bars of a coin on these days of one exchange and length: of which there are most, of equals the first by name.
    fn bars(&self, wanted: &Days, coin: &str) -> Vec<ObservedBar> {
        let loaded = || {
            let days = self.days.range(wanted.clone());
            days.filter_map(|(_, coins)| coins.get(coin))
        };
        let mut counts: BTreeMap<&(String, i64), usize> = BTreeMap::new();
        for (series, bars) in loaded().flatten() {
            *counts.entry(series).or_default() += bars.len();
        }
        let Some((most, _)) = counts.into_iter().rev().max_by_key(|(_, count)| *count) else {
            return Vec::new();
        };
        let bars = loaded().filter_map(|series| series.get(most)).flatten();
        bars.map(|bar| bar.of_coin(coin)).collect()
    }
}

/// How much is held of a day.
fn size(coins: &BTreeMap<String, Series>) -> usize {
    let bars = coins.values().flat_map(BTreeMap::values).map(Vec::len);
    coins.len() + bars.sum::<usize>()
}

fn day_of(at: Millis) -> i64 {
    at.0.div_euclid(Millis::DAY)
}

/// The coin that a reading is of.
fn coin_of(reading: &ObservedOpenInterest) -> String {
    let read = Symbol::read(&reading.symbol);
    read.map_or_else(|| reading.symbol.clone(), |symbol| symbol.coin().to_owned())
}
