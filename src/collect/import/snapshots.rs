//! Snapshots of positions that a table has, on their way into an archive.
//!
//! What a table leaves out is filled in where it follows from the rest. A snapshot whose price is not that of the market is
//! of no market, such as one that was made up to try something out: none of its rows is taken. Nor is a row that is not worth
//! its quantity at the price of its snapshot: one of the two is not what it says.

use std::collections::{BTreeMap, HashMap};

use rust_decimal::{Decimal, RoundingStrategy};

use crate::collect::import::refused::{Refused, refuse};
use crate::model::{Millis, ObservedPosition, PositionRow, Symbol, exchange_name, nearest_f64};

/// A price that is farther from the market's, as a share of it, is another market's.
const APART: f64 = 0.10;
/// A row may be so many USD off its snapshot's price: what is worth cents is rounded to them.
const ROUNDED: f64 = 1.0;
/// Snapshots that are no farther apart are compared where the market's price is not known.
const NEAR: i64 = 3 * Millis::HOUR;
/// So many of them tell which one is out of line.
const SEVERAL: usize = 3;
/// Digits of a quantity behind the point, where it is divided.
const DIGITS: u32 = 8;

/// A row that cannot be understood: its place, its column, and why.
pub type Unclear = (usize, &'static str, String);

/// A snapshot: whose, of which coin, and when.
type Snapshot = (String, String, Millis);

/// The rows of a table as an archive keeps them, and those that are not taken, by their reasons. `exchange` is whose rows are
/// that do not say so; `price_at` tells the market's price of a coin at an instant, where that is known.
///
/// # Errors
///
/// The first row that cannot be understood.
pub fn snapshots(
    given: Vec<ObservedPosition>,
    exchange: Option<&str>,
    price_at: &mut dyn FnMut(&str, Millis) -> Option<f64>,
) -> Result<(Vec<PositionRow>, Vec<Refused>), Unclear> {
    let mut rows = Vec::with_capacity(given.len());
    let mut numbers: HashMap<Snapshot, u32> = HashMap::new();
    let mut prices: BTreeMap<Snapshot, Vec<(f64, f64)>> = BTreeMap::new();
    for (place, one) in given.into_iter().enumerate() {
        let (row, price) = row(place, one, exchange, &mut numbers)?;
        let known = prices.entry(of(&row)).or_default();
        let value = nearest_f64(row.value_usd);
        known.extend((price > 0.0).then_some((price, value)));
        rows.push(row);
    }
    let agreed: BTreeMap<Snapshot, Option<f64>> = (prices.into_iter())
        .map(|(snapshot, told)| (snapshot, agreed(told)))
        .collect();
    let judged: BTreeMap<&Snapshot, Judged> = (agreed.iter())
        .map(|(snapshot, price)| (snapshot, judge(&agreed, snapshot, *price, price_at)))
        .collect();
    let mut refused: Vec<Refused> = Vec::new();
    let mut place = 0;
    rows.retain(|row| {
        let at = place;
        place += 1;
        let fault = judged.get(&of(row)).and_then(|judged| judged.fault(row));
        let Some((reason, shown)) = fault else {
            return true;
        };
        refuse(
            &mut refused,
            (&format!("positions: {reason}"), &shown),
            &format!("positions:{at}"),
        );
        false
    });
    Ok((rows, refused))
}

/// What is known of the price of a snapshot.
#[derive(Clone, Copy, Debug)]
enum Judged {
    /// It is this.
    At(f64),
    /// It is this, and the market's is that.
    Foreign(f64, f64),
    /// Its rows do not agree, and nothing else tells.
    Unknown,
}

impl Judged {
    /// Why a row is not taken, and what it shows, if it is not.
    fn fault(self, row: &PositionRow) -> Option<(&'static str, String)> {
        match self {
            Self::Foreign(price, market) => Some((
                "the price of the snapshot is not the market's",
                format!(
                    "{price} at {}, where the market's was {market}",
                    row.timestamp
                ),
            )),
            Self::Unknown => Some((
                "the rows of the snapshot do not agree on its price, and nothing else tells it",
                format!(
                    "value_usd {} for qty {} at {}",
                    row.value_usd, row.qty, row.timestamp
                ),
            )),
            Self::At(price) => {
                let (value, qty) = (nearest_f64(row.value_usd), nearest_f64(row.qty));
                let (due, off) = (price * qty, (value - price * qty).abs());
                // What is below nothing is refused for that where it is kept.
                (qty >= 0.0 && value >= 0.0 && off > APART * due && off > ROUNDED).then(|| {
                    (
                        "value_usd over qty is not the price of the snapshot",
                        format!(
                            "value_usd {} for qty {} at {}, where the price was {price}",
                            row.value_usd, row.qty, row.timestamp
                        ),
                    )
                })
            }
        }
    }
}

fn of(row: &PositionRow) -> Snapshot {
    (row.exchange.clone(), row.coin.clone(), row.timestamp)
}

/// A row, and the price that it tells of its snapshot.
fn row(
    place: usize,
    one: ObservedPosition,
    exchange: Option<&str>,
    numbers: &mut HashMap<Snapshot, u32>,
) -> Result<(PositionRow, f64), Unclear> {
    let unclear = |column, message: &str| (place, column, message.to_owned());
    let exchange = one.exchange.as_deref().or(exchange).map(exchange_name);
    let exchange = exchange.ok_or_else(|| {
        unclear(
            "exchange",
            "is missing, and no exchange= says whose all of them are",
        )
    })?;
    let coin = coin(one.coin, one.symbol).map_err(|(column, message)| (place, column, message))?;
    let told = one.current_price.filter(|price| *price > Decimal::ZERO);
    let qty = match (one.qty, told) {
        (Some(qty), _) => qty,
        (None, Some(price)) => one
            .value_usd
            .checked_div(price)
            .map(|qty| qty.round_dp_with_strategy(DIGITS, RoundingStrategy::MidpointNearestEven))
            .ok_or_else(|| unclear("value_usd", "is too large for its price"))?,
        (None, None) => {
            return Err(unclear(
                "qty",
                "is missing, and no current_price tells it from value_usd",
            ));
        }
    };
    let price = told.map_or_else(
        || nearest_f64(one.value_usd) / nearest_f64(qty),
        nearest_f64,
    );
    let account = one.account.unwrap_or_else(|| {
        let number = numbers
            .entry((exchange.clone(), coin.clone(), one.timestamp))
            .or_default();
        *number += 1;
        format!("unnamed {number}")
    });
    let row = PositionRow {
        exchange,
        account,
        coin,
        side: one.side,
        qty,
        entry_price: one.entry_price,
        leverage: one.leverage,
        margin_mode: one.margin_mode,
        liquidation_price: one.liquidation_price,
        value_usd: one.value_usd,
        observed_at: one.observed_at.unwrap_or(one.timestamp),
        timestamp: one.timestamp,
        seen_share: one.seen_share,
    };
    Ok((row, if price.is_finite() { price } else { 0.0 }))
}

/// The coin that a row names in the one column or the other, or in both.
fn coin(coin: Option<String>, symbol: Option<String>) -> Result<String, (&'static str, String)> {
    let read = |name: &String| {
        Symbol::read(name).map_or_else(|| name.clone(), |symbol| symbol.coin().to_owned())
    };
    match (coin, symbol) {
        (Some(coin), Some(symbol)) if read(&coin) != read(&symbol) => {
            let message = format!(
                "{coin:?} is another coin than symbol says, {symbol:?}; one of the two columns is allowed, or the same coin in \
                 both"
            );
            Err(("coin", message))
        }
        (Some(name), _) | (None, Some(name)) => Ok(read(&name)),
        (None, None) => {
            let message = "is missing, and so is symbol; one of the two is needed";
            Err(("coin", message.to_owned()))
        }
    }
}

/// The middle one of the prices that the rows of a snapshot tell, each beside what it is worth, where most of them agree
/// with it.
fn agreed(told: Vec<(f64, f64)>) -> Option<f64> {
    // What is worth cents tells no price, unless nothing else is there.
    let is_all_dust = told.iter().all(|(_, value)| *value <= ROUNDED);
    let prices = told.into_iter();
    let mut prices: Vec<f64> = prices
        .filter(|(_, value)| is_all_dust || *value > ROUNDED)
        .map(|(price, _)| price)
        .collect();
    let middle = middle(&mut prices)?;
    let with_it = prices.iter().filter(|price| !is_apart(**price, middle));
    (with_it.count() * 2 > prices.len()).then_some(middle)
}

fn middle(prices: &mut [f64]) -> Option<f64> {
    prices.sort_by(f64::total_cmp);
    prices.get(prices.len() / 2).copied()
}

fn is_apart(price: f64, from: f64) -> bool {
    (price / from - 1.0).abs() > APART
}

/// What is known of the price of a snapshot whose rows agree on `price`.
fn judge(
    agreed: &BTreeMap<Snapshot, Option<f64>>,
    snapshot: &Snapshot,
    price: Option<f64>,
    price_at: &mut dyn FnMut(&str, Millis) -> Option<f64>,
) -> Judged {
    let (_, coin, at) = snapshot;
    let market = price_at(coin, *at).or_else(|| around(agreed, snapshot));
    match (price, market) {
        (Some(price), Some(market)) if is_apart(price, market) => Judged::Foreign(price, market),
        (Some(price), _) | (None, Some(price)) => Judged::At(price),
        (None, None) => Judged::Unknown,
    }
}

/// The middle price of the snapshots around one, itself among them, where there are several.
fn around(
    agreed: &BTreeMap<Snapshot, Option<f64>>,
    (exchange, coin, at): &Snapshot,
) -> Option<f64> {
    let (from, to) = (at.back(NEAR), at.on(NEAR));
    let range = (exchange.clone(), coin.clone(), from)..=(exchange.clone(), coin.clone(), to);
    let mut near: Vec<f64> = agreed
        .range(range)
        .filter_map(|(_, price)| *price)
        .collect();
    if near.len() < SEVERAL {
        return None;
    }
    middle(&mut near)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::collect::import::snapshots::*;
    use crate::model::Side;

    /// Rows of one snapshot, each of a quantity and what it is worth.
    fn of_one(rows: &[(f64, f64)]) -> Vec<ObservedPosition> {
        let rows = rows.iter().map(|(qty, value)| ObservedPosition {
            exchange: Some("hyperliquid".to_owned()),
            account: None,
            coin: Some("BTC".to_owned()),
            symbol: None,
            side: Side::Long,
            qty: Decimal::try_from(*qty).ok(),
            entry_price: None,
            leverage: None,
            margin_mode: None,
            liquidation_price: None,
            value_usd: Decimal::try_from(*value).unwrap(),
            observed_at: None,
            timestamp: Millis(1_700_000_000_000),
            seen_share: None,
            current_price: None,
        });
        rows.collect()
    }

    /// The quantities that are taken, and why others are not and how many.
    fn taken(rows: &[(f64, f64)], market: Option<f64>) -> (Vec<f64>, Vec<(String, u64)>) {
        let (rows, refused) = snapshots(of_one(rows), None, &mut |_, _| market).unwrap();
        (
            rows.iter().map(|row| nearest_f64(row.qty)).collect(),
            (refused.into_iter().map(|one| (one.reason, one.count))).collect(),
        )
    }

    const OFF: &str = "positions: value_usd over qty is not the price of the snapshot";

    #[test]
    fn a_row_that_is_not_worth_its_quantity_at_the_price_of_the_others_is_not_taken() {
        // Ten times the quantity that its value is of, in a small row and in the largest.
        let rows = [(1.0, 100.0), (2.0, 201.0), (30.0, 300.0), (50.0, 4950.0)];
        let refused = vec![(OFF.to_owned(), 1)];
        assert_eq!(taken(&rows, None), (vec![1.0, 2.0, 50.0], refused.clone()));
        let rows = [(1.0, 100.0), (2.0, 201.0), (900.0, 9000.0)];
        assert_eq!(taken(&rows, None), (vec![1.0, 2.0], refused.clone()));
        // Nothing of it is nothing.
        let rows = [(1.0, 100.0), (2.0, 201.0), (0.0, 9000.0)];
        assert_eq!(taken(&rows, None), (vec![1.0, 2.0], refused));
    }

    #[test]
    fn where_few_rows_disagree_the_market_tells_or_none_is_taken() {
        let rows = [(1.0, 100.0), (20.0, 200.0)];
        let refused = vec![(OFF.to_owned(), 1)];
        assert_eq!(taken(&rows, Some(101.0)), (vec![1.0], refused));
        let (kept, refused) = taken(&rows, None);
        let (reason, count) = refused.first().unwrap();
        assert_eq!((kept.len(), *count), (0, 2));
        assert!(reason.contains("do not agree"), "{refused:?}");
        // One, or two that agree, speak for themselves.
        assert_eq!(taken(&[(20.0, 200.0)], None).0, [20.0]);
        assert_eq!(taken(&[(20.0, 200.0), (1.0, 10.5)], None).0, [20.0, 1.0]);
    }

    #[test]
    fn what_is_worth_cents_may_be_rounded_to_them() {
        let rows = [(1.0, 100.0), (2.0, 200.0), (0.0004, 0.05), (0.001, 0.0)];
        assert_eq!(taken(&rows, None).0.len(), 4);
        // Dust does not tell the price.
        let rows = [(0.0004, 0.08), (0.0003, 0.05), (0.0001, 0.02), (1.0, 100.0)];
        assert_eq!(taken(&rows, Some(100.0)).0.len(), 4);
    }

    #[test]
    fn a_price_that_is_told_is_held_against_value_and_quantity() {
        let mut rows = of_one(&[(10.0, 100.0), (20.0, 200.0)]);
        for row in &mut rows {
            row.current_price = Some(Decimal::ONE_HUNDRED);
        }
        let (rows, refused) = snapshots(rows, None, &mut |_, _| None).unwrap();
        let reasons: Vec<&str> = refused.iter().map(|one| one.reason.as_str()).collect();
        assert_eq!((rows.len(), reasons), (0, vec![OFF]));
    }
}
