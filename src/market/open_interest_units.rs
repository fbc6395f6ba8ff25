//! Converts open interest in USD to coins, with the bars of an archive as prices.
//!
//! Bars are read one day at a time for the coins of the readings, and cached within a bound.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

use crate::archive::{Archive, ArchiveError, Filter};
use crate::engine::{TableFault, each_in_base_units};
use crate::model::{Bar, Millis, NotInCoins, ObservedBar, ObservedOpenInterest, Symbol};

/// A bar prices readings for a day after its close, and no bar is longer than a day.
const DAYS_BEFORE: i64 = 2;
/// Bars that stay cached in addition to the days in use.
const MOST: usize = 1 << 19;

/// Bars of a coin by exchange and length.
type Series = BTreeMap<(String, i64), Vec<Bar>>;

/// A range of day numbers.
type Days = RangeInclusive<i64>;

/// A reading in coins, or the reason why it cannot be converted.
pub type CoinReading = Result<ObservedOpenInterest, NotInCoins>;

/// Why no reading can be converted.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The bars are invalid.
    #[error(transparent)]
    Bars(#[from] TableFault),
}

/// The bars of an archive as prices.
#[derive(Debug)]
pub struct PriceHistory {
    archive: Option<Archive>,
    /// Bars by day number and coin; empty for a coin without bars.
    days: BTreeMap<i64, BTreeMap<String, Series>>,
    /// The number of cached bars and series.
    loaded: usize,
}

impl PriceHistory {
    /// The bars of the archive in the folder `path`; an archive that does not exist yet has none.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if it cannot be read.
    pub fn of(path: &Path) -> Result<Self, ArchiveError> {
        Ok(Self {
            archive: Archive::read_if_begun(path)?,
            days: BTreeMap::new(),
            loaded: 0,
        })
    }

    /// Converts the readings of several files, each file in its order.
    ///
    /// The readings of one day and file are checked against each other and the volume. Returns `None` once `goes_on`
    /// returns false.
    ///
    /// # Errors
    ///
    /// [`PriceError`] if the bars cannot be read.
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

    /// Reads the missing bars of these coins and days, and evicts other days if the cache is full.
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

    /// The bars of a coin on these days, of the exchange and length with the most bars.
    ///
    /// A tie goes to the first by name.
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

/// The size of a cached day.
fn size(coins: &BTreeMap<String, Series>) -> usize {
    let bars = coins.values().flat_map(BTreeMap::values).map(Vec::len);
    coins.len() + bars.sum::<usize>()
}

fn day_of(at: Millis) -> i64 {
    at.0.div_euclid(Millis::DAY)
}

/// The coin of a reading.
fn coin_of(reading: &ObservedOpenInterest) -> String {
    let read = Symbol::read(&reading.symbol);
    read.map_or_else(|| reading.symbol.clone(), |symbol| symbol.coin().to_owned())
}
