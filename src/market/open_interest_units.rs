//! Converts open-interest readings from USD to coins, and checks those in coins, with the bars of an archive as prices.
//!
//! Bars are read one day at a time for the coins of the readings, and cached up to a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

use crate::archive::{Archive, ArchiveError, Filter};
use crate::engine::{OpenInterestUnit, each_in_base_units};
use crate::model::{Bar, Millis, NotInCoins, ObservedOpenInterest, Symbol};

/// How many earlier days of bars a reading needs: a bar prices readings for a day after its close and lasts up to a
/// day.
const DAYS_BEFORE: i64 = 2;
/// Maximum number of cached bars, not counting the days in use.
const MOST: usize = 1 << 19;

/// The bars of a coin, by exchange and by length in milliseconds.
type Series = BTreeMap<(String, i64), Vec<Bar>>;

/// A range of day numbers.
type Days = RangeInclusive<i64>;

/// The amount of an open-interest reading in coins, or the reason why it cannot be converted.
pub type CoinReading = Result<f64, NotInCoins>;

/// Prices from the bars of an archive.
#[derive(Debug)]
pub struct PriceHistory {
    archive: Option<Archive>,
    /// Bars by day number and coin. A coin without bars has an empty entry.
    days: BTreeMap<i64, BTreeMap<String, Series>>,
    /// Size of the cache: one for each bar, and one for each coin and day.
    loaded: usize,
}

impl PriceHistory {
    /// Opens the archive in the folder `path`; an archive that does not exist yet has no bars.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the archive cannot be read.
    pub fn of(path: &Path) -> Result<Self, ArchiveError> {
        Ok(Self {
            archive: Archive::read_if_begun(path)?,
            days: BTreeMap::new(),
            loaded: 0,
        })
    }

    /// Converts readings in USD of several files, or checks readings in coins. Each result list has the order of its file.
    ///
    /// The readings of one file and day are checked against each other and against the traded volume. `goes_on` is
    /// called before each day; if it returns false, the result is `None`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the bars cannot be read.
    pub fn in_coins(
        &mut self,
        files: Vec<Vec<ObservedOpenInterest>>,
        unit: OpenInterestUnit,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Vec<CoinReading>>>, ArchiveError> {
        let coins = coins_of(files.iter().flatten());
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
                let coins = coins_of(&readings);
                let bars = coins
                    .into_iter()
                    .map(|coin| (self.bars(&wanted, &coin), coin));
                let bars = bars.filter(|(bars, _)| !bars.is_empty());
                let bars = bars.map(|(bars, coin)| (coin, bars)).collect();
                let each = each_in_base_units(readings, unit, bars);
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

    /// Reads the bars of these coins and days that are not cached. Evicts all other days if the cache is too large.
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

    /// The bars of a coin on these days in order of time, from the exchange and bar length with the most bars.
    ///
    /// Ties go to the exchange that comes first by name.
    fn bars(&self, wanted: &Days, coin: &str) -> Vec<Bar> {
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
        let mut bars = Vec::new();
        for series in loaded().filter_map(|series| series.get(most)) {
            bars.extend_from_slice(series);
        }
        bars.sort_by_key(|bar: &Bar| bar.open_time);
        bars
    }
}

/// The size of a cached day, as `loaded` counts it.
fn size(coins: &BTreeMap<String, Series>) -> usize {
    let bars = coins.values().flat_map(BTreeMap::values).map(Vec::len);
    coins.len() + bars.sum::<usize>()
}

fn day_of(at: Millis) -> i64 {
    at.0.div_euclid(Millis::DAY)
}

/// The coins of open-interest readings.
fn coins_of<'a>(readings: impl IntoIterator<Item = &'a ObservedOpenInterest>) -> BTreeSet<String> {
    let symbols: BTreeSet<&str> = (readings.into_iter())
        .map(|reading| reading.symbol.as_str())
        .collect();
    let coin = |symbol: &str| {
        let read = Symbol::read(symbol);
        read.map_or_else(|| symbol.to_owned(), |symbol| symbol.coin().to_owned())
    };
    symbols.into_iter().map(coin).collect()
}
