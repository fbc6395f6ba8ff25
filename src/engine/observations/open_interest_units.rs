//! Conversion of open interest from USD to base units, with a plausibility check.
//!
//! A reading in the wrong unit is wrong by a factor equal to the price. Therefore each open interest reading is
//! compared with the daily volume of the coin's bars. A reading is *doubted* if it is implausible in the stated unit
//! and plausible in the other unit. Doubted readings are refused.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;

use crate::engine::TableFault;
use crate::engine::observations::bar_intervals::{bars_by_coin, days};
use crate::engine::observations::excursions::JudgedBars;
use crate::engine::observations::table_checks::{ByCoin, ExchangeNames, TableRow, shown};
use crate::model::{Bar, Millis, NotInCoins, ObservedBar, ObservedOpenInterest, RunMap};

/// The unit of an open interest table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenInterestUnit {
    /// Base units of the coin.
    Base,
    /// USD.
    Usd,
}

impl OpenInterestUnit {
    /// The column with numbers in this unit.
    #[must_use]
    pub fn column(self) -> &'static str {
        match self {
            Self::Base => "open_interest",
            Self::Usd => "open_interest_usd",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Base => Self::Usd,
            Self::Usd => Self::Base,
        }
    }
}

/// Usual ratio of open interest to the volume of a day.
const USUAL: f64 = 0.3;
/// Maximum number of daily volumes. A reading above it is doubted if the other unit is far more plausible.
const MOST: f64 = 20.0;
/// Maximum number of daily volumes if the bars cover less than a day. Their daily volume is less certain.
const MOST_OF_LITTLE: f64 = 100.0;
/// Minimum number of daily volumes. A reading below it is doubted if the other unit is far more plausible. The limit is
/// low, because the exchange of a reading may be small compared with the exchange of the bars.
const LEAST: f64 = 1.0 / 2000.0;
/// Minimum factor between the units (the price or its inverse) at which they can be distinguished.
const APART: f64 = 30.0;
/// Maximum age of a price, in milliseconds. If bars are longer than that, the maximum age is one bar length.
const OLDEST: i64 = Millis::DAY;
/// Number of bars after the last one that are searched first.
const NEXT: usize = 64;

/// Converts readings to base units.
///
/// A reading in USD is divided by the last known price. This is the close of the last closed bar, or the open of a bar
/// that opened after that close.
///
/// # Errors
///
/// [`TableFault`] for an invalid number; a coin without bars; a reading before the first bar, or more than a day (or a
/// bar length) after the last; an implausible reading that is plausible in the other unit; and for faults of `bars`.
pub fn in_base_units(
    readings: Vec<ObservedOpenInterest>,
    unit: OpenInterestUnit,
    bars: Vec<ObservedBar>,
) -> Result<Vec<ObservedOpenInterest>, TableFault> {
    if readings.is_empty() {
        return Ok(Vec::new());
    }
    let bars = JudgedBars::of_coins(bars_by_coin(bars)?);
    let mut made = Vec::with_capacity(readings.len());
    in_base_units_of(readings, unit, &bars, |reading| {
        made.push(reading.owned());
        Ok(())
    })?;
    Ok(made)
}

/// As [`in_base_units`], with bars that are sorted already. Passes each converted reading to `take`.
pub fn in_base_units_of<S: AsRef<str>>(
    readings: impl IntoIterator<Item = ObservedOpenInterest<S>>,
    unit: OpenInterestUnit,
    bars: &BTreeMap<String, JudgedBars>,
    mut take: impl FnMut(ObservedOpenInterest<&str>) -> Result<(), TableFault>,
) -> Result<(), TableFault> {
    converted(readings, unit, bars, &mut |_, made| match made {
        Ok(reading) => take(reading),
        Err((fault, _)) => Err(fault),
    })
}

/// Converts or checks readings as [`in_base_units_of`] does, with the amount of each reading.
pub fn each_in_base_units(
    readings: Vec<ObservedOpenInterest>,
    unit: OpenInterestUnit,
    bars: BTreeMap<String, Vec<Bar>>,
) -> Vec<Result<f64, NotInCoins>> {
    let bars = JudgedBars::of_coins(bars);
    let mut each = Vec::with_capacity(readings.len());
    let Ok(()) = converted::<_, Infallible>(readings, unit, &bars, &mut |row, made| {
        let made = made.map(|reading| reading.open_interest);
        let made = made.map_err(|(fault, of_kind)| of_kind(fault.message));
        match each.get_mut(row) {
            Some(converted) => *converted = made,
            None => each.push(made),
        }
        Ok(())
    });
    each
}

/// A fault of a reading, and the [`NotInCoins`] variant for it.
type RefusedReading = (TableFault, fn(String) -> NotInCoins);

/// The row of a reading, and its conversion.
type ConvertedReading<'a, E> =
    &'a mut dyn FnMut(usize, Result<ObservedOpenInterest<&str>, RefusedReading>) -> Result<(), E>;

/// The readings of a coin that have a price, by exchange.
type PricedReadings = RunMap<String, Vec<PricedReading>>;

/// Converts readings, and passes each to `take`, in order of rows. Afterwards passes those that are implausible again.
///
/// If `take` returns an error, the conversion stops.
fn converted<S: AsRef<str>, E>(
    readings: impl IntoIterator<Item = ObservedOpenInterest<S>>,
    unit: OpenInterestUnit,
    bars: &BTreeMap<String, JudgedBars>,
    take: ConvertedReading<'_, E>,
) -> Result<(), E> {
    let markets: BTreeMap<&str, CoinMarket<'_>> = bars
        .iter()
        .map(|(coin, bars)| (coin.as_str(), CoinMarket::of(bars)))
        .collect();
    let mut exchanges = ExchangeNames::default();
    let mut coins: ByCoin<PricedReadings> = ByCoin::default();
    for (row, reading) in readings.into_iter().enumerate() {
        let place = TableRow::of_open_interest(row);
        let reading = reading.borrowed();
        let amount = place.amount(unit.column(), reading.open_interest);
        let named = amount.and_then(|()| {
            let (coin, priced) = coins.of(reading.symbol, place)?;
            Ok((coin, priced, exchanges.of(reading.exchange, place)?))
        });
        let made = named
            .map_err(|fault| -> RefusedReading { (fault, NotInCoins::NoAmount) })
            .and_then(|(coin, priced, exchange)| {
                let market = markets.get(coin);
                let given = reading.open_interest;
                let reading = ObservedOpenInterest {
                    symbol: coin,
                    exchange: reading.exchange.map(|_| exchange),
                    ..reading
                };
                let (open_interest, price) = in_base(place, &reading, unit, market)?;
                if let Some(price) = price
                    && market.is_some_and(|market| market.volume_per_day > 0.0)
                {
                    priced
                        .at(exchange)
                        .push(PricedReading { row, given, price });
                }
                Ok(ObservedOpenInterest {
                    open_interest,
                    ..reading
                })
            });
        take(row, made)?;
    }
    for (coin, priced) in coins.into_map() {
        if let Some(market) = markets.get(coin.as_str()) {
            let venues = priced.into_map().into_iter().collect();
            market.judge(&coin, unit, venues, &mut |fault| {
                take(fault.row, Err((fault, NotInCoins::Implausible)))
            })?;
        }
    }
    Ok(())
}

/// The open interest of a reading in base units, and its price if known.
fn in_base(
    place: TableRow,
    reading: &ObservedOpenInterest<&str>,
    unit: OpenInterestUnit,
    market: Option<&CoinMarket<'_>>,
) -> Result<(f64, Option<f64>), RefusedReading> {
    let given = reading.open_interest;
    let price = market
        .ok_or(NoPrice::NoBars)
        .and_then(|market| market.price(reading.timestamp));
    let price = match (unit, price) {
        (OpenInterestUnit::Base, price) => return Ok((given, price.ok())),
        (OpenInterestUnit::Usd, Ok(price)) => price,
        (OpenInterestUnit::Usd, Err(why)) => {
            let fault = place.fault(unit.column(), why.said(given, reading));
            return Err((fault, NotInCoins::Unpriced));
        }
    };
    let base = given / price;
    place
        .amount(unit.column(), base)
        .map_err(|fault| -> RefusedReading { (fault, NotInCoins::NoAmount) })?;
    Ok((base, Some(price)))
}

/// Why a reading has no price.
enum NoPrice {
    NoBars,
    Before(Millis),
    After(Millis),
}

impl NoPrice {
    fn said(&self, usd: f64, reading: &ObservedOpenInterest<&str>) -> String {
        let (coin, at) = (&reading.symbol, reading.timestamp);
        let why = match self {
            Self::NoBars => format!("{coin} has no bars"),
            Self::Before(first) => format!("the first bar of {coin} opens at {first}"),
            Self::After(last) => format!("the last bar of {coin} before it closes at {last}"),
        };
        format!(
            "{usd:?} USD at {at} cannot be converted to base units, because no price is known: {why}; give bars of \
             that time, leave the row out, or give open_interest in base units"
        )
    }
}

/// A reading with its price.
#[derive(Clone, Copy)]
struct PricedReading {
    row: usize,
    given: f64,
    price: f64,
}

impl PricedReading {
    /// The reading in base units, on the assumption that it is given in `unit`.
    fn base(&self, unit: OpenInterestUnit) -> f64 {
        match unit {
            OpenInterestUnit::Base => self.given,
            OpenInterestUnit::Usd => self.given / self.price,
        }
    }
}

/// Bars and daily volume of a coin.
struct CoinMarket<'a> {
    bars: &'a [Bar],
    /// Indexes of the bars that left the price level, each with the instant until which the bar is unjudged or an
    /// outlier.
    in_doubt: BTreeMap<usize, Millis>,
    volume_per_day: f64,
    most: f64,
    /// The last bar that had opened at the reading before.
    last_opened: Cell<usize>,
}

impl<'a> CoinMarket<'a> {
    fn of(JudgedBars { bars, excursions }: &'a JudgedBars) -> Self {
        let length = days(bars.iter().map(|bar| bar.interval).sum());
        let volume: f64 = bars.iter().map(|bar| bar.volume).sum();
        Self {
            in_doubt: excursions.in_doubt().collect(),
            bars,
            volume_per_day: if length > 0.0 { volume / length } else { 0.0 },
            most: if length < 1.0 { MOST_OF_LITTLE } else { MOST },
            last_opened: Cell::new(0),
        }
    }

    /// Number of bars that have opened by `at`.
    fn opened(&self, at: Millis) -> usize {
        let is_open = |bar: &Bar| bar.open_time <= at;
        // Most readings are in order of time.
        let start = self.last_opened.get();
        let next = self.bars.get(start..).unwrap_or_default();
        let next = next.get(..NEXT).unwrap_or(next);
        let opened = if next.first().is_some_and(is_open) && !next.last().is_some_and(is_open) {
            start + next.partition_point(is_open)
        } else {
            self.bars.partition_point(is_open)
        };
        self.last_opened.set(opened.saturating_sub(1));
        opened
    }

    /// The last price known at `at`.
    fn price(&self, at: Millis) -> Result<f64, NoPrice> {
        let opened = self.opened(at);
        let first = self.bars.first().ok_or(NoPrice::NoBars)?.open_time;
        let last = opened.checked_sub(1).and_then(|last| self.bars.get(last));
        let last = last.ok_or(NoPrice::Before(first))?;
        if last.close_time() <= at {
            if at.0.saturating_sub(last.close_time().0) > OLDEST.max(last.interval) {
                return Err(NoPrice::After(last.close_time()));
            }
            return Ok(self.close(opened - 1, at).unwrap_or(last.close));
        }
        // Inside an unclosed bar, the last known price is the close of the previous bar if it is adjacent, else the
        // open.
        let before = opened.checked_sub(2).filter(|before| {
            let before = self.bars.get(*before);
            before.is_some_and(|bar| bar.close_time() == last.open_time)
        });
        let before = before.and_then(|before| self.close(before, at));
        Ok(before.unwrap_or(last.open))
    }

    /// The close of the bar at `place`.
    ///
    /// If that bar is unjudged or an outlier at `at`, the close of the last bar before it that is neither.
    fn close(&self, place: usize, at: Millis) -> Option<f64> {
        let is_sure = |place: &usize| self.in_doubt.get(place).is_none_or(|until| *until <= at);
        let sure = (0..=place).rev().find(is_sure).unwrap_or(place);
        self.bars.get(sure).map(|bar| bar.close)
    }

    /// Whether a reading is doubted.
    ///
    /// `base` is its amount in base units if the stated unit is right, `other` if the other unit is right.
    fn doubts(&self, base: f64, other: f64, price: f64) -> bool {
        let [here, there] = [base, other].map(|base| base / self.volume_per_day);
        let far = |days: f64| (days / USUAL).ln().abs();
        let apart = !(1.0 / APART..=APART).contains(&price);
        apart && (here > self.most || here < LEAST) && far(there) < far(here) / 2.0
    }

    /// Refuses the doubted readings of a coin.
    ///
    /// The medians of the exchanges are summed. While the sum is doubted, the readings of the largest exchange are
    /// refused, except for readings that stand out and are not doubted. Then the exchange is removed from the sum. Of
    /// the remaining exchanges, readings that stand out and are doubted are refused. A reading stands out if it differs
    /// from the median of its exchange by more than half of the log distance between the units.
    fn judge<E>(
        &self,
        coin: &str,
        unit: OpenInterestUnit,
        venues: BTreeMap<String, Vec<PricedReading>>,
        refuse: &mut dyn FnMut(TableFault) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut refuse = |priced: &PricedReading| {
            let fault = TableRow::of_open_interest(priced.row);
            refuse(fault.fault(unit.column(), self.said(coin, unit, priced)))
        };
        let mut venues: Vec<(PricedReading, Vec<PricedReading>)> = venues
            .into_values()
            .filter_map(|priced| Some((median(&priced)?, priced)))
            .collect();
        venues.sort_by(|(one, _), (other, _)| one.given.total_cmp(&other.given));
        let stands_out = |usual: &PricedReading, priced: &PricedReading| {
            let far = (priced.given / usual.given).ln().abs();
            usual.given > 0.0 && far > priced.price.ln().abs() / 2.0
        };
        let is_doubted = |priced: &PricedReading| {
            self.doubts(priced.base(unit), priced.base(unit.other()), priced.price)
        };
        let sum = |venues: &[(PricedReading, Vec<PricedReading>)], unit| {
            venues.iter().map(|(usual, _)| usual.base(unit)).sum()
        };
        while let Some((most, _)) = venues.last()
            && self.doubts(sum(&venues, unit), sum(&venues, unit.other()), most.price)
        {
            refuse(most)?;
            if let Some((most, priced)) = venues.pop() {
                let is_alike =
                    |priced: &&PricedReading| !stands_out(&most, priced) || is_doubted(priced);
                for priced in priced
                    .iter()
                    .filter(|priced| priced.row != most.row)
                    .filter(is_alike)
                {
                    refuse(priced)?;
                }
            }
        }
        for (usual, priced) in &venues {
            // Few are doubted, and that takes no logarithm of the others.
            let priced = priced.iter().filter(|priced| is_doubted(priced));
            for priced in priced.filter(|priced| stands_out(usual, priced)) {
                refuse(priced)?;
            }
        }
        Ok(())
    }

    fn said(&self, coin: &str, unit: OpenInterestUnit, priced: &PricedReading) -> String {
        let times = |base: f64| shown(base / self.volume_per_day);
        let (given, price) = (shown(priced.given), shown(priced.price));
        let (base, other) = (priced.base(unit), priced.base(unit.other()));
        let (here, there) = (times(base), times(other));
        match unit {
            OpenInterestUnit::Base => format!(
                "{given} {coin} at the price {price} is {} USD, {here} times the daily volume; read as USD it is {} \
                 {coin}, {there} times the daily volume; if it is USD, name the column open_interest_usd",
                shown(priced.given * priced.price),
                shown(other),
            ),
            OpenInterestUnit::Usd => format!(
                "{given} USD at the price {price} is {} {coin}, {here} times the daily volume; read as base units it \
                 is {there} times the daily volume; if it is in {coin}, name the column open_interest",
                shown(base),
            ),
        }
    }
}

/// The reading with the median value.
fn median(priced: &[PricedReading]) -> Option<PricedReading> {
    let mut priced = priced.to_vec();
    let middle = priced.len() / 2;
    let by_amount = |one: &PricedReading, other: &PricedReading| {
        let amounts = one.given.total_cmp(&other.given);
        amounts.then(one.row.cmp(&other.row))
    };
    (!priced.is_empty()).then(|| *priced.select_nth_unstable_by(middle, by_amount).1)
}
