//! Open interest as tables give it, in base units or in USD: turned into base units, and held against price and volume.
//!
//! Readings in one unit that are taken for the other are wrong by the price. They are refused where the day's volume of
//! the coin's bars can tell: where open interest would be far beyond what is held anywhere beside such a volume, and
//! would be usual in the other unit.

use std::collections::BTreeMap;

use crate::engine::TableFault;
use crate::engine::observations::coin_history::{bars_by_coin, days};
use crate::engine::observations::table_checks::{Row, shown};
use crate::model::{Bar, Millis, NotInCoins, ObservedBar, ObservedOpenInterest};

/// What the numbers of a table of open interest count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterestUnit {
    /// Base units of the coin.
    Base,
    /// USD.
    Usd,
}

impl InterestUnit {
    /// The column that holds such numbers.
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

/// What is held of a coin is usually around so many days' volumes.
const USUAL: f64 = 0.3;
/// More days' volumes than these are doubted where the other unit is by far more usual.
const MOST: f64 = 20.0;
/// The same where the bars are of less than a day, whose volume is known less well.
const MOST_OF_LITTLE: f64 = 100.0;
/// Fewer days' volumes than these are, too; a small exchange has some beside the volume of a large one.
const LEAST: f64 = 1.0 / 2000.0;
/// Units that differ by less than this cannot be told apart.
const APART: f64 = 30.0;
/// A price older than this, or than a bar is long, is none of the reading's time.
const OLDEST: i64 = Millis::DAY;

/// Readings of `unit` in base units, each USD over the last price known at its time: the close of the last bar of the
/// coin that had closed by then, or the open of one that had opened after it.
///
/// # Errors
///
/// [`TableFault`] for a number that is no amount; USD of a coin that has no bars, or from before the first or more than a
/// day (or the bar's length) after the last of them; readings that are implausible beside the volume of the coin's bars
/// and would not be in the other unit; and for faults of `bars`.
pub fn in_base_units(
    readings: Vec<ObservedOpenInterest>,
    unit: InterestUnit,
    bars: Vec<ObservedBar>,
) -> Result<Vec<ObservedOpenInterest>, TableFault> {
    let made = converted(readings, unit, bars, &mut |(fault, _)| Err(fault))?;
    Ok(made.into_iter().flatten().collect())
}

/// As [`in_base_units`] of readings in USD, each of which may be refused alone.
///
/// # Errors
///
/// [`TableFault`] for faults of `bars`.
pub fn each_in_base_units(
    readings: Vec<ObservedOpenInterest>,
    bars: Vec<ObservedBar>,
) -> Result<Vec<Result<ObservedOpenInterest, NotInCoins>>, TableFault> {
    let mut refused: BTreeMap<usize, NotInCoins> = BTreeMap::new();
    let made = converted(readings, InterestUnit::Usd, bars, &mut |(
        fault,
        of_kind,
    )| {
        refused.insert(fault.row, of_kind(fault.message));
        Ok(())
    })?;
    let each = made.into_iter().enumerate();
    let each = each.filter_map(|(row, made)| match refused.remove(&row) {
        Some(why) => Some(Err(why)),
        None => made.map(Ok),
    });
    Ok(each.collect())
}

/// A fault of a reading, and of which kind it is.
type Refused = (TableFault, fn(String) -> NotInCoins);

/// Readings in base units; `None` for one that `refuse` lets be refused alone.
fn converted(
    readings: Vec<ObservedOpenInterest>,
    unit: InterestUnit,
    bars: Vec<ObservedBar>,
    refuse: &mut dyn FnMut(Refused) -> Result<(), TableFault>,
) -> Result<Vec<Option<ObservedOpenInterest>>, TableFault> {
    if readings.is_empty() {
        return Ok(Vec::new());
    }
    let markets: BTreeMap<String, Market> = bars_by_coin(bars)?
        .into_iter()
        .map(|(coin, bars)| (coin, Market::of(bars)))
        .collect();
    let mut held: BTreeMap<String, BTreeMap<Option<String>, Vec<Held>>> = BTreeMap::new();
    let mut made = Vec::with_capacity(readings.len());
    for (row, reading) in readings.into_iter().enumerate() {
        let given = reading.open_interest;
        match in_base(row, reading, unit, &markets) {
            Ok((reading, price)) => {
                let market = markets.get(&reading.symbol);
                if let Some(price) = price
                    && market.is_some_and(|market| market.volume_per_day > 0.0)
                {
                    let venues = held.entry(reading.symbol.clone()).or_default();
                    let readings = venues.entry(reading.exchange.clone()).or_default();
                    readings.push(Held { row, given, price });
                }
                made.push(Some(reading));
            }
            Err(refused) => {
                refuse(refused)?;
                made.push(None);
            }
        }
    }
    for (coin, venues) in held {
        if let Some(market) = markets.get(&coin) {
            market.judge(&coin, unit, venues, &mut |fault| {
                refuse((fault, NotInCoins::Implausible))
            })?;
        }
    }
    Ok(made)
}

/// A reading in base units, and the price of its time where that is known.
fn in_base(
    row: usize,
    reading: ObservedOpenInterest,
    unit: InterestUnit,
    markets: &BTreeMap<String, Market>,
) -> Result<(ObservedOpenInterest, Option<f64>), Refused> {
    let place = Row::of_open_interest(row);
    let given = reading.open_interest;
    let no_amount = |fault| -> Refused { (fault, NotInCoins::NoAmount) };
    place.amount(unit.column(), given).map_err(no_amount)?;
    let mut reading = place.reading(reading).map_err(no_amount)?;
    let price = markets
        .get(&reading.symbol)
        .ok_or(NoPrice::NoBars)
        .and_then(|market| market.price(reading.timestamp));
    let price = match (unit, price) {
        (InterestUnit::Base, price) => return Ok((reading, price.ok())),
        (InterestUnit::Usd, Ok(price)) => price,
        (InterestUnit::Usd, Err(why)) => {
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

/// Why there is no price for a reading.
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
            "{usd:?} USD at {at} has no price to be turned into base units with: {why}; give bars of its time, leave the \
             row out, or give open_interest in base units"
        )
    }
}

/// One reading beside the price of its time.
#[derive(Clone, Copy)]
struct Held {
    row: usize,
    given: f64,
    price: f64,
}

impl Held {
    /// How many base units it is, were it given in `unit`.
    fn base(&self, unit: InterestUnit) -> f64 {
        match unit {
            InterestUnit::Base => self.given,
            InterestUnit::Usd => self.given / self.price,
        }
    }
}

/// The bars of a coin and their volume.
struct Market {
    bars: Vec<Bar>,
    volume_per_day: f64,
    most: f64,
}

impl Market {
    fn of(bars: Vec<Bar>) -> Self {
        let length = days(bars.iter().map(|bar| bar.interval).sum());
        let volume: f64 = bars.iter().map(|bar| bar.volume).sum();
        Self {
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
            return Ok(last.close);
        }
        // The bar has not closed by then: what closed as it opened is the last price, else its open is.
        let before = opened
            .checked_sub(2)
            .and_then(|before| self.bars.get(before));
        Ok(before
            .filter(|bar| bar.close_time() == last.open_time)
            .map_or(last.open, |bar| bar.close))
    }

    /// Whether so many base units are doubted where the other unit would make them so many.
    fn doubts(&self, base: f64, other: f64, price: f64) -> bool {
        let [here, there] = [base, other].map(|base| base / self.volume_per_day);
        let far = |days: f64| (days / USUAL).ln().abs();
        let apart = !(1.0 / APART..=APART).contains(&price);
        apart && (here > self.most || here < LEAST) && far(there) < far(here) / 2.0
    }

    /// Refuses the readings of a coin that are doubted in `unit`: where what all exchanges hold together is, those of the one
    /// that has most, and so on with the others, but for those that stand out and are not doubted themselves; and those that are
    /// and stand out from the rest of their exchange, by more than half of what parts the units.
    fn judge(
        &self,
        coin: &str,
        unit: InterestUnit,
        venues: BTreeMap<Option<String>, Vec<Held>>,
        refuse: &mut dyn FnMut(TableFault) -> Result<(), TableFault>,
    ) -> Result<(), TableFault> {
        let mut refuse = |held: &Held| {
            let fault = Row::of_open_interest(held.row);
            refuse(fault.fault(unit.column(), self.said(coin, unit, held)))
        };
        let mut venues: Vec<(Held, Vec<Held>)> = venues
            .into_values()
            .filter_map(|held| Some((median(&held)?, held)))
            .collect();
        venues.sort_by(|(one, _), (other, _)| one.given.total_cmp(&other.given));
        let stands_out = |usual: &Held, held: &Held| {
            let far = (held.given / usual.given).ln().abs();
            usual.given > 0.0 && far > held.price.ln().abs() / 2.0
        };
        let is_doubted =
            |held: &Held| self.doubts(held.base(unit), held.base(unit.other()), held.price);
        let sum = |venues: &[(Held, Vec<Held>)], unit| {
            venues.iter().map(|(usual, _)| usual.base(unit)).sum()
        };
        while let Some((most, _)) = venues.last()
            && self.doubts(sum(&venues, unit), sum(&venues, unit.other()), most.price)
        {
            refuse(most)?;
            if let Some((most, held)) = venues.pop() {
                let is_alike = |held: &&Held| !stands_out(&most, held) || is_doubted(held);
                for held in held
                    .iter()
                    .filter(|held| held.row != most.row)
                    .filter(is_alike)
                {
                    refuse(held)?;
                }
            }
        }
        for (usual, held) in &venues {
            let held = held.iter().filter(|held| stands_out(usual, held));
            for held in held.filter(|held| is_doubted(held)) {
                refuse(held)?;
            }
        }
        Ok(())
    }

    fn said(&self, coin: &str, unit: InterestUnit, held: &Held) -> String {
        let times = |base: f64| shown(base / self.volume_per_day);
        let (given, price) = (shown(held.given), shown(held.price));
        let (base, other) = (held.base(unit), held.base(unit.other()));
        let (here, there) = (times(base), times(other));
        match unit {
            InterestUnit::Base => format!(
                "{given} {coin} would be {} USD at {price} and {here} times the volume of a day; as USD it would be {} \
                 {coin}, {there} times; if it is USD, name the column open_interest_usd",
                shown(held.given * held.price),
                shown(other),
            ),
            InterestUnit::Usd => format!(
                "{given} USD would be {} {coin} at {price} and {here} times the volume of a day; as base units it would \
                 be {there} times; if it is in {coin}, name the column open_interest",
                shown(base),
            ),
        }
    }
}

/// The one in the middle by what was given.
fn median(held: &[Held]) -> Option<Held> {
    let mut held: Vec<&Held> = held.iter().collect();
    held.sort_by(|one, other| one.given.total_cmp(&other.given));
    held.get(held.len() / 2).copied().copied()
}
