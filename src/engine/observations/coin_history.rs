//! The history of one coin: bars with derived values, open interest and orders.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::engine::TableFault;
use crate::engine::coverage::feed_coverage::FeedCoverage;
use crate::engine::observations::bar_sources::{BarCounts, BarSources};
use crate::engine::observations::period_liquidations::PeriodLiquidations;
use crate::engine::observations::table_checks::TableRow;
use crate::model::{Bar, Millis, ObservedBar, ObservedOpenInterest};

/// Maximum age of an open interest reading in a sum, in milliseconds.
const FRESH: i64 = 15 * Millis::MINUTE;

/// Window of the average volume, in milliseconds.
const TRAILING: i64 = 7 * Millis::DAY;

/// All observations of one coin, in order of time.
#[derive(Debug, Default)]
pub(crate) struct CoinHistory {
    pub(crate) bars: Vec<Bar>,
    /// One entry per bar.
    pub(crate) derived: Vec<DerivedBar>,
    pub(crate) open_interest: OpenInterestSeries,
    /// Exchanges of the bars, if known.
    pub(crate) sources: BarSources,
    /// Places of the coin's orders in the ring, oldest first.
    pub(crate) orders: Vec<u32>,
    /// The last receipt of an order after the UTC day of its event.
    pub(crate) last_late_receipt: Option<Millis>,
    /// Liquidated USD by period, if given instead of orders.
    pub(crate) liquidations: Option<PeriodLiquidations>,
    /// Recorded share of the order feeds.
    pub(crate) exposure: FeedCoverage,
}

/// Values computed once per bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DerivedBar {
    /// Volume over the mean of the bars opened in the previous seven days; 1 without such bars.
    pub(crate) volume_ratio: f64,
    /// Mean volume per day of those bars, else of this bar. It replaces unknown open interest.
    pub(crate) volume_per_day: f64,
    /// Open interest at the close, if a fresh reading exists.
    pub(crate) open_interest: Option<f64>,
    /// Whether the sum lacks an exchange with an outdated reading.
    pub(crate) partial: bool,
    /// Factor from the previous set of summed exchanges to the present one, if the set changed.
    pub(crate) regrouped: Option<f64>,
}

impl CoinHistory {
    /// Builds the history from sorted bars and readings.
    pub(crate) fn new(bars: Vec<Bar>, open_interest: OpenInterestSeries) -> Self {
        let mut derived = Vec::with_capacity(bars.len());
        let mut cursor = open_interest.cursor(bars.first().map_or(Millis(0), Bar::close_time));
        let mut before = TrailingVolume::default();
        for bar in &bars {
            before.forget_until(bar.open_time.back(TRAILING));
            let (mean, per_day) = before.volume();
            let open_interest = cursor.at(bar.close_time());
            derived.push(DerivedBar {
                volume_ratio: mean.map_or(1.0, |mean| bar.volume / mean),
                volume_per_day: per_day.unwrap_or_else(|| bar.volume / days(bar.interval)),
                open_interest,
                partial: open_interest.is_some() && cursor.lacks_a_venue(bar.close_time()),
                regrouped: cursor.regroup(bar.close_time()),
            });
            before.push(bar);
        }
        Self {
            bars,
            derived,
            open_interest,
            sources: BarSources::default(),
            orders: Vec::new(),
            last_late_receipt: None,
            liquidations: None,
            exposure: FeedCoverage::default(),
        }
    }
}

impl CoinHistory {
    /// Readings and derived values of one exchange; bars and volume stay those of the coin.
    pub(crate) fn of_venue(&self, exchange: &str) -> (OpenInterestSeries, Vec<DerivedBar>) {
        let readings = self.open_interest.of(exchange);
        let mut cursor = readings.cursor(self.bars.first().map_or(Millis(0), Bar::close_time));
        let pairs = self.bars.iter().zip(&self.derived);
        let derived = pairs.map(|(bar, derived)| DerivedBar {
            open_interest: cursor.at(bar.close_time()),
            partial: false,
            regrouped: None,
            ..*derived
        });
        let derived = derived.collect();
        (readings, derived)
    }
}

/// Converts milliseconds to days.
#[expect(
    clippy::cast_precision_loss,
    reason = "a length in milliseconds below 2^53 is exact, and longer ones are nearest"
)]
pub(crate) fn days(millis: i64) -> f64 {
    millis as f64 / Millis::DAY as f64
}

/// Volume in a sliding window.
///
/// Sums are never reduced by subtraction, so a huge bar leaves no rounding error when it drops out. Two stacks hold
/// suffix sums of the older bars and a running sum of the newer ones.
#[derive(Default)]
struct TrailingVolume {
    /// Open time and length of each bar in the window, oldest first.
    bars: VecDeque<(Millis, i64)>,
    /// Sum of the lengths.
    length: i64,
    /// Suffix sums of the older bars; the oldest bar is last.
    front: Vec<f64>,
    /// Volumes of the newer bars, oldest first.
    back: Vec<f64>,
    back_sum: f64,
}

impl TrailingVolume {
    fn push(&mut self, bar: &Bar) {
        self.bars.push_back((bar.open_time, bar.interval));
        self.length = self.length.saturating_add(bar.interval);
        self.back.push(bar.volume);
        self.back_sum += bar.volume;
    }

    /// Drops bars opened before `start`.
    fn forget_until(&mut self, start: Millis) {
        while let Some(&(open, interval)) = self.bars.front()
            && open < start
        {
            self.bars.pop_front();
            self.length -= interval;
            if self.front.is_empty() {
                let mut sum = 0.0;
                self.front.extend(self.back.drain(..).rev().map(|volume| {
                    sum += volume;
                    sum
                }));
                self.back_sum = 0.0;
            }
            self.front.pop();
        }
    }

    /// Mean volume per bar (`None` if zero or without bars) and per day (`None` without bars).
    #[expect(clippy::cast_precision_loss, reason = "bars are counted in thousands")]
    fn volume(&self) -> (Option<f64>, Option<f64>) {
        if self.bars.is_empty() {
            return (None, None);
        }
        let sum = self.front.last().copied().unwrap_or(0.0) + self.back_sum;
        let mean = sum / self.bars.len() as f64;
        ((mean > 0.0).then_some(mean), Some(sum / days(self.length)))
    }
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    timestamp: Millis,
    venue: usize,
    open_interest: f64,
}

/// Open interest readings of a coin on all exchanges, in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenInterestSeries {
    /// Exchanges by number; `None` for readings of a total.
    venues: Vec<Option<String>>,
    readings: Vec<Reading>,
}

impl OpenInterestSeries {
    /// Readings of one exchange.
    fn of(&self, exchange: &str) -> Self {
        let wanted = |venue: &Option<String>| venue.as_deref() == Some(exchange);
        let number = self.venues.iter().position(wanted);
        let readings = self.readings.iter();
        Self {
            venues: vec![Some(exchange.to_owned())],
            readings: readings
                .filter(|reading| Some(reading.venue) == number)
                .map(|reading| Reading {
                    venue: 0,
                    ..*reading
                })
                .collect(),
        }
    }

    /// Names of the exchanges with a reading by `instant`.
    pub(crate) fn venues_by(&self, instant: Millis) -> Vec<String> {
        let mut read = vec![false; self.venues.len()];
        let known = self.readings.iter();
        for reading in known.take_while(|reading| reading.timestamp <= instant) {
            if let Some(read) = read.get_mut(reading.venue) {
                *read = true;
            }
        }
        let named = self.venues.iter().zip(read).filter(|(_, read)| *read);
        named.filter_map(|(venue, _)| venue.clone()).collect()
    }

    /// Time of the first reading.
    pub(crate) fn first(&self) -> Option<Millis> {
        self.readings.first().map(|reading| reading.timestamp)
    }

    /// Readings as table rows.
    pub(crate) fn rows(&self, coin: &str) -> impl Iterator<Item = ObservedOpenInterest> {
        self.readings
            .iter()
            .map(move |reading| ObservedOpenInterest {
                symbol: coin.to_owned(),
                exchange: self.venues.get(reading.venue).cloned().flatten(),
                timestamp: reading.timestamp,
                open_interest: reading.open_interest,
            })
    }

    /// Sum over exchanges of the last fresh reading by `instant`.
    pub(crate) fn at(&self, instant: Millis) -> Option<f64> {
        self.cursor(instant).at(instant)
    }

    /// Time of the last reading by `instant`, fresh or not.
    pub(crate) fn last_by(&self, instant: Millis) -> Option<Millis> {
        let known = self
            .readings
            .partition_point(|reading| reading.timestamp <= instant);
        Some(self.readings.get(known.checked_sub(1)?)?.timestamp)
    }

    /// Starts counting, from `start` on, how often each exchange has a fresh reading.
    pub(crate) fn fresh_from(&self, start: Millis) -> FreshReadings<'_> {
        FreshReadings {
            venues: &self.venues,
            cursor: self.cursor(start),
            counts: vec![0; self.venues.len()],
        }
    }

    /// Time of the last reading.
    pub(crate) fn last(&self) -> Option<Millis> {
        self.readings.last().map(|reading| reading.timestamp)
    }

    /// A cursor for instants from `start` on.
    fn cursor(&self, start: Millis) -> OpenInterestCursor<'_> {
        let skipped = self
            .readings
            .partition_point(|reading| reading.timestamp < start.back(FRESH));
        OpenInterestCursor {
            rest: self.readings.get(skipped..).unwrap_or_default(),
            latest: vec![None; self.venues.len()],
            summed: vec![None; self.venues.len()],
        }
    }
}

/// Counts the instants at which each exchange has a fresh reading.
pub(crate) struct FreshReadings<'a> {
    venues: &'a [Option<String>],
    cursor: OpenInterestCursor<'a>,
    counts: Vec<usize>,
}

impl FreshReadings<'_> {
    /// Counts an instant, which must not precede the last one.
    pub(crate) fn count(&mut self, instant: Millis) {
        self.cursor.advance(instant);
        for (count, fresh) in self.counts.iter_mut().zip(self.cursor.fresh(instant)) {
            *count += usize::from(fresh);
        }
    }

    /// Counts of the named exchanges, without zeros.
    pub(crate) fn counts(&self) -> BarCounts {
        let named = self.venues.iter().zip(&self.counts);
        named
            .filter(|(_, count)| **count > 0)
            .filter_map(|(venue, count)| Some((venue.clone()?, *count)))
            .collect()
    }
}

/// Sums open interest at ascending instants.
struct OpenInterestCursor<'a> {
    rest: &'a [Reading],
    /// Time and value of the last reading per exchange.
    latest: Vec<Option<(Millis, f64)>>,
    /// Contribution of each exchange to the last sum.
    summed: Vec<Option<f64>>,
}

impl OpenInterestCursor<'_> {
    /// Reads up to `instant`.
    fn advance(&mut self, instant: Millis) {
        while let Some((reading, rest)) = self.rest.split_first()
            && reading.timestamp <= instant
        {
            if let Some(latest) = self.latest.get_mut(reading.venue) {
                *latest = Some((reading.timestamp, reading.open_interest));
            }
            self.rest = rest;
        }
    }

    /// Whether the last reading of each exchange is fresh at `instant`.
    fn fresh(&self, instant: Millis) -> impl Iterator<Item = bool> {
        let oldest = instant.back(FRESH);
        self.latest
            .iter()
            .map(move |latest| latest.is_some_and(|(timestamp, _)| timestamp >= oldest))
    }

    fn at(&mut self, instant: Millis) -> Option<f64> {
        self.advance(instant);
        let oldest = instant.back(FRESH);
        self.latest
            .iter()
            .flatten()
            .filter(|(timestamp, _)| *timestamp >= oldest)
            .map(|&(_, value)| value)
            .reduce(|sum, value| sum + value)
    }

    /// Factor from the last sum to the set of exchanges that are fresh at `instant`.
    ///
    /// It removes exchanges without a fresh reading and adds returning ones. Positions neither close nor open when a
    /// feed stops or resumes.
    fn regroup(&mut self, instant: Millis) -> Option<f64> {
        let oldest = instant.back(FRESH);
        let fresh = |latest: &Option<(Millis, f64)>| {
            latest
                .filter(|(timestamp, _)| *timestamp >= oldest)
                .map(|(_, value)| value)
        };
        let now: Vec<Option<f64>> = self.latest.iter().map(fresh).collect();
        if now.iter().all(Option::is_none) {
            return None;
        }
        let before = std::mem::replace(&mut self.summed, now);
        let pairs = || before.iter().zip(&self.summed);
        if pairs().all(|(before, now)| before.is_some() == now.is_some()) {
            return None;
        }
        let was: f64 = before.iter().flatten().sum();
        let of_these = pairs().filter_map(|(before, now)| now.map(|now| before.unwrap_or(now)));
        let factor = of_these.sum::<f64>() / was;
        // No factor without a previous sum or without open interest.
        (factor.is_finite() && factor > 0.0).then_some(factor)
    }

    /// Whether an exchange with an earlier reading is missing from the sum at `instant`.
    fn lacks_a_venue(&self, instant: Millis) -> bool {
        let oldest = instant.back(FRESH);
        self.latest
            .iter()
            .flatten()
            .any(|(timestamp, _)| *timestamp < oldest)
    }
}

/// Sorts bars per coin and infers missing lengths.
///
/// A missing length is the most common spacing of the coin's bars; of equally common ones the smallest. Lengths are
/// whole minutes.
pub(crate) fn bars_by_coin(
    rows: Vec<ObservedBar>,
) -> Result<BTreeMap<String, Vec<Bar>>, TableFault> {
    let mut by_coin: BTreeMap<String, Vec<(usize, ObservedBar)>> = BTreeMap::new();
    for (row, bar) in rows.into_iter().enumerate() {
        let bar = TableRow::of_bars(row).bar(bar)?;
        by_coin
            .entry(bar.symbol.clone())
            .or_default()
            .push((row, bar));
    }
    by_coin
        .into_iter()
        .map(|(coin, mut rows)| {
            rows.sort_by_key(|(_, bar)| bar.timestamp);
            let bars = spaced(&coin, &rows)?;
            Ok((coin, bars))
        })
        .collect()
}

fn spaced(coin: &str, rows: &[(usize, ObservedBar)]) -> Result<Vec<Bar>, TableFault> {
    let mut spacings: HashMap<i64, usize> = HashMap::new();
    for ((earlier_row, earlier), (row, later)) in rows.iter().zip(rows.iter().skip(1)) {
        let spacing = later.timestamp.0.saturating_sub(earlier.timestamp.0);
        if spacing == 0 {
            return Err(TableRow::of_bars(*row).fault(
                "timestamp",
                format!(
                    "{coin} has a bar at {} already, in row {earlier_row}",
                    later.timestamp
                ),
            ));
        }
        *spacings.entry(spacing).or_default() += 1;
    }
    let commonest = spacings
        .into_iter()
        .max_by_key(|&(spacing, count)| (count, std::cmp::Reverse(spacing)))
        .map(|(spacing, _)| spacing);
    let mut bars: Vec<Bar> = Vec::with_capacity(rows.len());
    let mut end: Option<(usize, Millis)> = None;
    for (row, bar) in rows {
        let place = TableRow::of_bars(*row);
        let interval = bar.length().or(commonest).ok_or_else(|| {
            place.fault(
                "interval",
                format!("{coin} has one bar only, so its interval cannot be inferred; give it"),
            )
        })?;
        if interval % Millis::MINUTE != 0 {
            // A given length has been checked before.
            return Err(place.fault(
                "interval",
                format!(
                    "the commonest spacing of {coin}'s bars is {interval} ms; whole minutes are allowed"
                ),
            ));
        }
        if let Some((earlier, close)) = end
            && bar.timestamp < close
        {
            return Err(place.fault(
                "timestamp",
                format!(
                    "the bar opens at {}, before the bar of row {earlier} closes at {close}",
                    bar.timestamp
                ),
            ));
        }
        end = Some((*row, place.close(bar.timestamp, interval)?));
        bars.push(Bar {
            open_time: bar.timestamp,
            interval,
            open: bar.open,
            high: bar.high,
            low: bar.low,
            close: bar.close,
            volume: bar.volume,
        });
    }
    Ok(bars)
}

/// Sorts open interest readings per coin.
pub(crate) fn open_interest_by_coin(
    rows: Vec<ObservedOpenInterest>,
) -> Result<BTreeMap<String, OpenInterestSeries>, TableFault> {
    let mut by_coin: BTreeMap<String, Vec<(usize, ObservedOpenInterest)>> = BTreeMap::new();
    for (row, reading) in rows.into_iter().enumerate() {
        let reading = TableRow::of_open_interest(row).reading(reading)?;
        by_coin
            .entry(reading.symbol.clone())
            .or_default()
            .push((row, reading));
    }
    by_coin
        .into_iter()
        .map(|(coin, rows)| {
            let readings = summable(&coin, rows)?;
            Ok((coin, readings))
        })
        .collect()
}

fn summable(
    coin: &str,
    mut rows: Vec<(usize, ObservedOpenInterest)>,
) -> Result<OpenInterestSeries, TableFault> {
    let total = rows.iter().find(|(_, reading)| reading.exchange.is_none());
    let venue = rows.iter().find(|(_, reading)| reading.exchange.is_some());
    if let (Some((total, _)), Some((venue, _))) = (total, venue) {
        return Err(TableRow::of_open_interest(*total).fault(
            "exchange",
            format!(
                "{coin} has readings with an exchange (row {venue}) and without one; they would be counted twice"
            ),
        ));
    }
    rows.sort_by(|(_, a), (_, b)| (a.timestamp, &a.exchange).cmp(&(b.timestamp, &b.exchange)));
    for ((earlier_row, earlier), (row, later)) in rows.iter().zip(rows.iter().skip(1)) {
        if earlier.timestamp == later.timestamp && earlier.exchange == later.exchange {
            return Err(TableRow::of_open_interest(*row).fault(
                "timestamp",
                format!(
                    "{coin} has a reading{} at {} already, in row {earlier_row}",
                    later
                        .exchange
                        .as_ref()
                        .map(|exchange| format!(" of {exchange}"))
                        .unwrap_or_default(),
                    later.timestamp
                ),
            ));
        }
    }
    let mut venues: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for (_, reading) in &rows {
        venues.entry(reading.exchange.clone()).or_default();
    }
    for (place, venue) in venues.values_mut().enumerate() {
        *venue = place;
    }
    Ok(OpenInterestSeries {
        readings: rows
            .iter()
            .map(|(_, reading)| Reading {
                timestamp: reading.timestamp,
                venue: venues.get(&reading.exchange).copied().unwrap_or_default(),
                open_interest: reading.open_interest,
            })
            .collect(),
        venues: venues.into_keys().collect(),
    })
}
