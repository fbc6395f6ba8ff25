//! Open interest readings of a coin on all exchanges, and their sum at an instant.
//!
//! A reading is *fresh* if it is at most 15 minutes old. Outliers are readings that leave the usual level and return to
//! it later (see `excursions`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Peekable;

use crate::engine::TableFault;
use crate::engine::observations::bar_sources::BarCounts;
use crate::engine::observations::excursions::{Excursions, without};
use crate::engine::observations::row_store::{RowIter, RowNumbers, RowSlice, RowStore, StoredRow};
use crate::engine::observations::table_checks::{ByCoin, ExchangeNames, TableRow};
use crate::model::{Bar, Millis, ObservedOpenInterest, RunMap};

/// Maximum age of an open interest reading in a sum, in milliseconds.
pub const FRESH: i64 = 15 * Millis::MINUTE;

/// Minimum number of readings that show a steady factor between two levels.
const STEADY: usize = 10;

/// Maximum difference of the logarithms of a steady factor.
const ALIKE: f64 = 0.06;

#[derive(Clone, Copy, Debug)]
struct Reading {
    timestamp: Millis,
    /// The number of its exchange.
    venue: u32,
    open_interest: f64,
    /// Whether the reading changes the level without positions that opened or closed.
    is_break: bool,
}

impl StoredRow for Reading {
    fn numbers(&self) -> RowNumbers {
        let is_break = f64::from(u8::from(self.is_break));
        (
            [self.timestamp.0, self.venue.into()],
            [self.open_interest, is_break, 0.0, 0.0, 0.0],
        )
    }

    fn of_numbers(([timestamp, venue], numbers): RowNumbers) -> Self {
        let [open_interest, is_break, ..] = numbers;
        Self {
            timestamp: Millis(timestamp),
            venue: u32::try_from(venue).unwrap_or(u32::MAX),
            open_interest,
            is_break: is_break > 0.0,
        }
    }
}

/// Open interest readings of a coin on all exchanges, in order of time.
#[derive(Clone, Debug, Default)]
pub struct OpenInterestSeries {
    /// Exchanges by number. `None` stands for readings that are a total over exchanges.
    venues: Vec<Option<String>>,
    /// Readings without outliers.
    readings: RowStore<Reading>,
    /// All readings, if some are outliers.
    observed: Option<RowStore<Reading>>,
    pub excursions: Excursions,
}

impl OpenInterestSeries {
    /// Returns the series with its outliers separated. `bars` are the bars of the coin.
    pub fn judged(self, bars: RowSlice<'_, Bar>) -> Self {
        let mut readings = self.readings.rows().to_vec();
        let values = readings.iter();
        let values = values.map(|one| (one.venue as usize, one.timestamp, one.open_interest));
        let excursions = Excursions::of_open_interest(self.venues.len(), values, bars);
        let outliers = excursions.left_out(None);
        for place in excursions.breaks() {
            if let Some(reading) = readings.get_mut(*place) {
                reading.is_break = true;
            }
        }
        if outliers.is_empty() {
            return Self {
                readings: readings.into(),
                excursions,
                ..self
            };
        }
        Self {
            readings: without(&readings, &outliers).into(),
            observed: Some(readings.into()),
            excursions,
            ..self
        }
    }

    /// The same series in little memory.
    pub fn packed(self) -> Self {
        Self {
            readings: self.readings.packed(),
            observed: self.observed.map(RowStore::packed),
            ..self
        }
    }

    /// The series without the readings that were known to be outliers at `at`.
    pub fn judged_at(&self, at: Millis) -> Cow<'_, Self> {
        if self.excursions.is_settled(at) {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self {
            venues: self.venues.clone(),
            readings: without(
                &self.observed().to_vec(),
                &self.excursions.left_out(Some(at)),
            )
            .into(),
            observed: None,
            excursions: self.excursions.clone(),
        })
    }

    /// All readings, outliers included.
    fn observed(&self) -> RowSlice<'_, Reading> {
        self.observed.as_ref().unwrap_or(&self.readings).rows()
    }

    /// Bytes of the readings.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.readings.bytes() + self.observed.as_ref().map_or(0, RowStore::bytes)
    }

    /// Number of outliers by exchange, without zeros.
    ///
    /// Counts readings from `start` on that were judged outliers by `end`, and those that changed the level without
    /// positions that opened or closed.
    pub fn outliers(&self, start: Millis, end: Millis) -> BarCounts {
        let mut counts = BarCounts::new();
        let left_out = self.excursions.left_out(Some(end));
        for place in left_out.into_iter().chain(self.excursions.rescaled(end)) {
            let reading = self.observed().get(place);
            let reading = reading.filter(|reading| reading.timestamp >= start);
            let venue =
                reading.and_then(|reading| self.venues.get(reading.venue as usize)?.as_ref());
            if let Some(venue) = venue {
                *counts.entry(venue.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// The factor between the levels of each exchange of which many readings left the level by one steady factor, as those of
    /// two sources do.
    ///
    /// Counts readings from `start` on that were judged outliers by `end`.
    pub fn factors(&self, start: Millis, end: Millis) -> BTreeMap<String, f64> {
        let left_out = self.excursions.left_out(Some(end));
        if left_out.len() < STEADY {
            return BTreeMap::new();
        }
        let mut left_out = left_out.into_iter().peekable();
        let mut levels: Vec<Option<f64>> = vec![None; self.venues.len()];
        let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); self.venues.len()];
        for (place, reading) in self.observed().iter().enumerate() {
            let is_left_out = left_out.next_if_eq(&place).is_some();
            let (Some(level), Some(ratios)) = (
                levels.get_mut(reading.venue as usize),
                ratios.get_mut(reading.venue as usize),
            ) else {
                continue;
            };
            match level {
                Some(level) if is_left_out && reading.timestamp >= start => {
                    let ratio = (reading.open_interest / *level).ln().abs();
                    ratios.push(ratio);
                }
                level if !is_left_out => *level = Some(reading.open_interest),
                _ => {}
            }
        }
        let of_venues = self.venues.iter().zip(ratios);
        let steady = of_venues.filter_map(|(venue, mut ratios)| {
            ratios.sort_by(f64::total_cmp);
            let (least, most) = (ratios.first()?, ratios.last()?);
            let is_steady = ratios.len() >= STEADY && most - least <= ALIKE;
            let usual = ratios.get(ratios.len() / 2).filter(|_| is_steady)?;
            Some((venue.clone()?, usual.exp()))
        });
        steady.collect()
    }

    /// Readings of one exchange, judged separately. `bars` are the bars of the coin.
    pub fn of(&self, exchange: &str, bars: RowSlice<'_, Bar>) -> Self {
        let wanted = |venue: &Option<String>| venue.as_deref() == Some(exchange);
        let number = self.venues.iter().position(wanted);
        let readings = self.observed().iter();
        let readings: Vec<Reading> = readings
            .filter(|reading| Some(reading.venue as usize) == number)
            .map(|reading| Reading {
                venue: 0,
                is_break: false,
                ..reading
            })
            .collect();
        let exchange = Self {
            venues: vec![Some(exchange.to_owned())],
            readings: readings.into(),
            ..Self::default()
        };
        exchange.judged(bars)
    }

    /// Names of the exchanges with a reading by `instant`.
    pub fn venues_by(&self, instant: Millis) -> Vec<String> {
        let mut read = vec![false; self.venues.len()];
        let known = self.readings.rows().iter();
        for reading in known.take_while(|reading| reading.timestamp <= instant) {
            if let Some(read) = read.get_mut(reading.venue as usize) {
                *read = true;
            }
            if read.iter().all(|read| *read) {
                break;
            }
        }
        let named = self.venues.iter().zip(read).filter(|(_, read)| *read);
        named.filter_map(|(venue, _)| venue.clone()).collect()
    }

    /// Time from which on each of these exchanges has been read; `None` if one of them never was.
    pub fn all_read_from(&self, exchanges: &[&str]) -> Option<Millis> {
        let mut last = None;
        for exchange in exchanges {
            let named = |venue: &Option<String>| venue.as_deref() == Some(*exchange);
            let number = self.venues.iter().position(named)?;
            let mut readings = self.readings.rows().iter();
            let first = readings
                .find(|reading| reading.venue as usize == number)?
                .timestamp;
            last = last.max(Some(first));
        }
        last
    }

    /// Time of the first reading.
    pub fn first(&self) -> Option<Millis> {
        Some(self.readings.rows().first()?.timestamp)
    }

    /// Readings as table rows, outliers included.
    pub fn rows(&self, coin: &str) -> impl Iterator<Item = ObservedOpenInterest> {
        self.observed()
            .iter()
            .map(move |reading| ObservedOpenInterest {
                symbol: coin.to_owned(),
                exchange: self.venues.get(reading.venue as usize).cloned().flatten(),
                timestamp: reading.timestamp,
                open_interest: reading.open_interest,
            })
    }

    /// Sum of the last reading of each exchange by `instant`, without readings that are not fresh.
    pub fn at(&self, instant: Millis) -> Option<f64> {
        self.cursor(instant).at(instant)
    }

    /// Time of the last reading by `instant`, fresh or not.
    pub fn last_by(&self, instant: Millis) -> Option<Millis> {
        let readings = self.readings.rows();
        let known = readings.partition_point(|reading| reading.timestamp <= instant);
        Some(readings.get(known.checked_sub(1)?)?.timestamp)
    }

    /// Creates a counter of instants with fresh readings, per exchange.
    ///
    /// Counted instants must not precede `start`.
    pub fn fresh_from(&self, start: Millis) -> FreshReadings<'_> {
        FreshReadings {
            venues: &self.venues,
            cursor: self.cursor(start),
            counts: vec![0; self.venues.len()],
        }
    }

    /// Time of the last reading.
    pub fn last(&self) -> Option<Millis> {
        Some(self.readings.rows().last()?.timestamp)
    }

    /// The exchanges; `None` stands for readings that are a total over exchanges.
    pub fn exchanges(&self) -> impl Iterator<Item = Option<&str>> {
        self.venues.iter().map(Option::as_deref)
    }

    /// Creates a cursor for instants from `start` on.
    pub fn cursor(&self, start: Millis) -> OpenInterestCursor<'_> {
        self.cursor_back(start, FRESH)
    }

    /// Creates a cursor for instants from `start` on that knows readings up to the age `oldest`.
    pub fn cursor_back(&self, start: Millis, oldest: i64) -> OpenInterestCursor<'_> {
        let readings = self.readings.rows();
        let skipped = readings.partition_point(|reading| reading.timestamp < start.back(oldest));
        OpenInterestCursor {
            rest: readings.within(skipped..readings.len()).iter().peekable(),
            latest: vec![None; self.venues.len()],
            summed: vec![None; self.venues.len()],
            before: Vec::new(),
            is_broken: vec![false; self.venues.len()],
        }
    }
}

/// Counts the instants at which each exchange has a fresh reading.
pub struct FreshReadings<'a> {
    venues: &'a [Option<String>],
    cursor: OpenInterestCursor<'a>,
    counts: Vec<usize>,
}

impl FreshReadings<'_> {
    /// Counts an instant, which must not precede the instant counted before it.
    pub fn count(&mut self, instant: Millis) {
        self.cursor.advance(instant);
        for (count, fresh) in self.counts.iter_mut().zip(self.cursor.fresh(instant)) {
            *count += usize::from(fresh);
        }
    }

    /// Counts of the named exchanges, without zeros.
    pub fn counts(&self) -> BarCounts {
        let named = self.venues.iter().zip(&self.counts);
        named
            .filter(|(_, count)| **count > 0)
            .filter_map(|(venue, count)| Some((venue.clone()?, *count)))
            .collect()
    }
}

/// Sums open interest at ascending instants.
pub struct OpenInterestCursor<'a> {
    rest: Peekable<RowIter<'a, Reading>>,
    /// Time and value of the last reading per exchange.
    latest: Vec<Option<(Millis, f64)>>,
    /// Open interest of each exchange at the last call of [`OpenInterestCursor::regroup`], if it was fresh.
    summed: Vec<Option<f64>>,
    /// The same at the call before.
    before: Vec<Option<f64>>,
    /// Whether the level of each exchange was broken since that call.
    is_broken: Vec<bool>,
}

impl OpenInterestCursor<'_> {
    /// Advances the cursor past all readings up to `instant`.
    fn advance(&mut self, instant: Millis) {
        while let Some(reading) = self.rest.next_if(|reading| reading.timestamp <= instant) {
            if let Some(latest) = self.latest.get_mut(reading.venue as usize) {
                *latest = Some((reading.timestamp, reading.open_interest));
            }
            if reading.is_break
                && let Some(is_broken) = self.is_broken.get_mut(reading.venue as usize)
            {
                *is_broken = true;
            }
        }
    }

    /// Whether the last reading of each exchange is fresh at `instant`.
    fn fresh(&self, instant: Millis) -> impl Iterator<Item = bool> {
        let oldest = instant.back(FRESH);
        self.latest
            .iter()
            .map(move |latest| latest.is_some_and(|(timestamp, _)| timestamp >= oldest))
    }

    /// Last reading of each exchange with a fresh one; of each with one up to the age `oldest` if none is fresh.
    pub fn levels(&mut self, instant: Millis, oldest: i64) -> Vec<Option<f64>> {
        self.advance(instant);
        let age = if self.fresh(instant).any(|fresh| fresh) {
            FRESH
        } else {
            oldest
        };
        let since = instant.back(age);
        let level = |latest: &Option<(Millis, f64)>| {
            latest
                .filter(|(timestamp, _)| *timestamp >= since)
                .map(|(_, value)| value)
        };
        self.latest.iter().map(level).collect()
    }

    pub fn at(&mut self, instant: Millis) -> Option<f64> {
        self.advance(instant);
        let oldest = instant.back(FRESH);
        self.latest
            .iter()
            .flatten()
            .filter(|(timestamp, _)| *timestamp >= oldest)
            .map(|&(_, value)| value)
            .reduce(|sum, value| sum + value)
    }

    /// Factor from the previous set of exchanges to the present one.
    ///
    /// The present set are the exchanges with a fresh reading at `instant`. The factor converts the previous sum to
    /// this set.
    ///
    /// It removes exchanges that no longer have a fresh reading, and adds exchanges that have one again. `None` if the
    /// set is unchanged. Positions neither close nor open when a feed stops or resumes, or when its level is broken.
    pub fn regroup(&mut self, instant: Millis) -> Option<f64> {
        let oldest = instant.back(FRESH);
        let fresh = |latest: &Option<(Millis, f64)>| {
            latest
                .filter(|(timestamp, _)| *timestamp >= oldest)
                .map(|(_, value)| value)
        };
        if self.latest.iter().all(|latest| fresh(latest).is_none()) {
            return None;
        }
        // Both lists are reused, because this runs for each bar.
        std::mem::swap(&mut self.before, &mut self.summed);
        self.summed.clear();
        self.summed.extend(self.latest.iter().map(fresh));
        let before = &self.before;
        let is_broken = self.is_broken.contains(&true);
        let pairs = || before.iter().zip(&self.summed);
        if !is_broken && pairs().all(|(before, now)| before.is_some() == now.is_some()) {
            return None;
        }
        let was: f64 = before.iter().flatten().sum();
        // An exchange with a broken level counts as one that stopped and resumed.
        let broken = std::mem::replace(&mut self.is_broken, vec![false; self.latest.len()]);
        let of_these = pairs()
            .zip(broken)
            .filter_map(|((before, now), is_broken)| {
                now.map(|now| before.filter(|_| !is_broken).unwrap_or(now))
            });
        let factor = of_these.sum::<f64>() / was;
        // There is no factor if the previous sum is missing or zero.
        (factor.is_finite() && factor > 0.0).then_some(factor)
    }

    /// Whether the sum at `instant` lacks an exchange, because its last reading is not fresh.
    pub fn lacks_a_venue(&self, instant: Millis) -> bool {
        let oldest = instant.back(FRESH);
        self.latest
            .iter()
            .flatten()
            .any(|(timestamp, _)| *timestamp < oldest)
    }
}

/// Open interest readings per coin.
#[derive(Default)]
pub struct ReadingsByCoin {
    exchanges: ExchangeNames,
    coins: ByCoin<CoinReadings>,
    rows: usize,
}

/// The readings of a coin, with their table rows.
#[derive(Default)]
struct CoinReadings {
    /// The exchanges, numbered from one in the order of the table. An empty name stands for totals.
    venues: RunMap<String, u32>,
    /// Number of exchanges.
    count: u32,
    readings: Vec<(usize, Reading)>,
}

impl ReadingsByCoin {
    /// Adds the next row of the table.
    ///
    /// # Errors
    ///
    /// [`TableFault`] for an invalid name or number.
    pub fn push(&mut self, reading: &ObservedOpenInterest<&str>) -> Result<(), TableFault> {
        let row = self.rows;
        self.rows += 1;
        let place = TableRow::of_open_interest(row);
        let (_, coin) = self.coins.of(reading.symbol, place)?;
        let exchange = self.exchanges.of(reading.exchange, place)?;
        place.amount("open_interest", reading.open_interest)?;
        let venue = coin.venues.at(exchange);
        if *venue == 0 {
            coin.count += 1;
            *venue = coin.count;
        }
        let reading = Reading {
            timestamp: reading.timestamp,
            venue: *venue,
            open_interest: reading.open_interest,
            is_break: false,
        };
        coin.readings.push((row, reading));
        Ok(())
    }

    /// The readings of each coin in order of time.
    ///
    /// # Errors
    ///
    /// [`TableFault`] for duplicate readings, and for a coin with readings both with and without an exchange.
    pub fn series(self) -> Result<BTreeMap<String, OpenInterestSeries>, TableFault> {
        self.coins
            .into_map()
            .into_iter()
            .map(|(coin, readings)| {
                let readings = readings.summable(&coin)?;
                Ok((coin, readings))
            })
            .collect()
    }
}

impl CoinReadings {
    fn summable(self, coin: &str) -> Result<OpenInterestSeries, TableFault> {
        let Self {
            venues,
            readings: mut rows,
            ..
        } = self;
        // Exchanges of a sum are in the order of their names.
        let venues: BTreeMap<String, u32> = venues.into_map().into_iter().collect();
        let number = venues.get("").copied();
        let is_total = |(_, reading): &&(usize, Reading)| Some(reading.venue) == number;
        let total = rows.iter().find(is_total);
        let venue = rows.iter().find(|row| !is_total(row));
        if let (Some((total, _)), Some((venue, _))) = (total, venue) {
            return Err(TableRow::of_open_interest(*total).fault(
                "exchange",
                format!(
                    "{coin} has readings with an exchange (row {venue}) and without one; they would be counted twice"
                ),
            ));
        }
        let mut ranks = vec![0; venues.len() + 1];
        for (rank, number) in (0..).zip(venues.values()) {
            if let Some(known) = ranks.get_mut(*number as usize) {
                *known = rank;
            }
        }
        let named = venues.into_keys();
        let venues: Vec<Option<String>> = named
            .map(|name| Some(name).filter(|name| !name.is_empty()))
            .collect();
        for (_, reading) in &mut rows {
            let rank = ranks.get(reading.venue as usize);
            reading.venue = rank.copied().unwrap_or_default();
        }
        rows.sort_by_key(|(_, reading)| (reading.timestamp, reading.venue));
        for ((earlier_row, earlier), (row, later)) in rows.iter().zip(rows.iter().skip(1)) {
            if earlier.timestamp == later.timestamp && earlier.venue == later.venue {
                let exchange = venues.get(later.venue as usize).cloned().flatten();
                return Err(TableRow::of_open_interest(*row).fault(
                    "timestamp",
                    format!(
                        "{coin} has a reading{} at {} already, in row {earlier_row}",
                        exchange
                            .map(|exchange| format!(" of {exchange}"))
                            .unwrap_or_default(),
                        later.timestamp
                    ),
                ));
            }
        }
        let readings: Vec<Reading> = rows.into_iter().map(|(_, reading)| reading).collect();
        Ok(OpenInterestSeries {
            venues,
            readings: readings.into(),
            ..OpenInterestSeries::default()
        })
    }
}
