//! Conversion of open interest from USD to base units, with a plausibility check.
//!
//! A reading in the wrong unit is wrong by a factor equal to the price. Therefore each open interest reading is
//! compared with the daily volume of the coin's bars. A reading is *doubted* if it is implausible in the stated unit
//! and plausible in the other unit. Doubted readings are refused.

use std::collections::BTreeMap;
use std::convert::Infallible;

use crate::engine::TableFault;
use crate::engine::observations::bar_intervals::{bars_by_coin, days};
use crate::engine::observations::excursions::Excursions;
use crate::engine::observations::table_checks::{ReadNames, TableRow, shown};
use crate::model::{Bar, Millis, NotInCoins, ObservedBar, ObservedOpenInterest};

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
    let mut made = Vec::with_capacity(readings.len());
    in_base_units_of(readings, unit, &bars_by_coin(bars)?, |reading| {
        made.push(reading);
        Ok(())
    })?;
    Ok(made)
}

/// As [`in_base_units`], with bars that are sorted already. Passes each converted reading to `take`.
pub fn in_base_units_of(
    readings: impl IntoIterator<Item = ObservedOpenInterest>,
    unit: OpenInterestUnit,
    bars: &BTreeMap<String, Vec<Bar>>,
    mut take: impl FnMut(ObservedOpenInterest) -> Result<(), TableFault>,
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
    bars: &BTreeMap<String, Vec<Bar>>,
) -> Vec<Result<f64, NotInCoins>> {
    let mut each = Vec::with_capacity(readings.len());
    let Ok(()) = converted::<Infallible>(readings, unit, bars, &mut |row, made| {
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
    &'a mut dyn FnMut(usize, Result<ObservedOpenInterest, RefusedReading>) -> Result<(), E>;

/// Converts readings, and passes each to `take`, in order of rows. Afterwards passes those that are implausible again.
///
/// If `take` returns an error, the conversion stops.
fn converted<E>(
    readings: impl IntoIterator<Item = ObservedOpenInterest>,
    unit: OpenInterestUnit,
    bars: &BTreeMap<String, Vec<Bar>>,
    take: ConvertedReading<'_, E>,
) -> Result<(), E> {
    let markets: BTreeMap<String, CoinMarket<'_>> = bars
        .iter()
        .map(|(coin, bars)| (coin.clone(), CoinMarket::of(bars)))
        .collect();
    let mut names = ReadNames::default();
    let mut priced: BTreeMap<String, BTreeMap<Option<String>, Vec<PricedReading>>> =
        BTreeMap::new();
    for (row, reading) in readings.into_iter().enumerate() {
        let given = reading.open_interest;
        match in_base(row, reading, unit, &markets, &mut names) {
            Ok((reading, price)) => {
                let market = markets.get(&reading.symbol);
                if let Some(price) = price
                    && market.is_some_and(|market| market.volume_per_day > 0.0)
                {
                    let priced_reading = PricedReading { row, given, price };
                    let known = priced.get_mut(&reading.symbol);
                    if let Some(readings) =
                        known.and_then(|venues| venues.get_mut(&reading.exchange))
                    {
                        readings.push(priced_reading);
                    } else {
                        let venues = priced.entry(reading.symbol.clone()).or_default();
                        venues.insert(reading.exchange.clone(), vec![priced_reading]);
                    }
                }
                take(row, Ok(reading))?;
            }
            Err(refused) => take(row, Err(refused))?,
        }
    }
    for (coin, venues) in priced {
        if let Some(market) = markets.get(&coin) {
            market.judge(&coin, unit, venues, &mut |fault| {
                take(fault.row, Err((fault, NotInCoins::Implausible)))
            })?;
        }
    }
    Ok(())
}

/// Converts one reading to base units, and returns its price if known.
fn in_base(
    row: usize,
    reading: ObservedOpenInterest,
    unit: OpenInterestUnit,
    markets: &BTreeMap<String, CoinMarket<'_>>,
    names: &mut ReadNames,
) -> Result<(ObservedOpenInterest, Option<f64>), RefusedReading> {
    let place = TableRow::of_open_interest(row);
    let given = reading.open_interest;
    let no_amount = |fault| -> RefusedReading { (fault, NotInCoins::NoAmount) };
    place.amount(unit.column(), given).map_err(no_amount)?;
    let mut reading = place.reading(reading, names).map_err(no_amount)?;
    let price = markets
        .get(&reading.symbol)
        .ok_or(NoPrice::NoBars)
        .and_then(|market| market.price(reading.timestamp));
    let price = match (unit, price) {
        (OpenInterestUnit::Base, price) => return Ok((reading, price.ok())),
        (OpenInterestUnit::Usd, Ok(price)) => price,
        (OpenInterestUnit::Usd, Err(why)) => {
            let fault = place.fault(unit.column(), why.said(given, &reading));
            return Err((fault, NotInCoins::Unpriced));
        }
    };
    reading.open_interest = given / price;
    place
        .amount(unit.column(), reading.open_interest)
        .map_err(no_amount)?;
    Ok((reading, Some(price)))
}

/// Why a reading has no price.
enum NoPrice {
    NoBars,
    Before(Millis),
    After(Millis),
}

impl NoPrice {
    fn said(&self, usd: f64, reading: &ObservedOpenInterest) -> String {
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
}

impl<'a> CoinMarket<'a> {
    fn of(bars: &'a [Bar]) -> Self {
        let length = days(bars.iter().map(|bar| bar.interval).sum());
        let volume: f64 = bars.iter().map(|bar| bar.volume).sum();
        Self {
            in_doubt: Excursions::of_bars(bars).in_doubt().collect(),
            bars,
            volume_per_day: if length > 0.0 { volume / length } else { 0.0 },
            most: if length < 1.0 { MOST_OF_LITTLE } else { MOST },
        }
    }

    /// The last price known at `at`.
    fn price(&self, at: Millis) -> Result<f64, NoPrice> {
        let opened = self.bars.partition_point(|bar| bar.open_time <= at);
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
        venues: BTreeMap<Option<String>, Vec<PricedReading>>,
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
            let priced = priced.iter().filter(|priced| stands_out(usual, priced));
            for priced in priced.filter(|priced| is_doubted(priced)) {
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
    let mut priced: Vec<&PricedReading> = priced.iter().collect();
    priced.sort_by(|one, other| one.given.total_cmp(&other.given));
    priced.get(priced.len() / 2).copied().copied()
}
