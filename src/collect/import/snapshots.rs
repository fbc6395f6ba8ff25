//! Completes and checks snapshots of trading positions in a table, for an archive.
//!
//! A snapshot is the set of all rows with the same exchange, coin and time. Missing values are derived from the other
//! values of their row. A snapshot with a price far from the market price is refused, because such data is made up,
//! perhaps as a test. A row is refused if its value differs too much from its quantity times the price of the snapshot.

use std::collections::{BTreeMap, HashMap};

use rust_decimal::{Decimal, RoundingStrategy};

use crate::collect::import::refused::{Refused, refuse};
use crate::model::{
    Millis, ObservedPosition, PositionRow, Symbol, exchange_name, nearest_f64, product,
};

/// Maximum difference between a price and the market price, as a fraction of the market price.
const APART: f64 = 0.10;
/// Allowed difference between a value and price times quantity, in USD: small values are rounded to cents.
const ROUNDED: f64 = 1.0;
/// Maximum distance of snapshots with prices that replace an unknown market price, in milliseconds.
const NEAR: i64 = 3 * Millis::HOUR;
/// Minimum number of snapshots with prices that replace an unknown market price.
const SEVERAL: usize = 3;
/// Number of decimal places of a derived quantity.
const DIGITS: u32 = 8;

/// A row that cannot be read: its index, the column at fault, and the reason.
pub(crate) type Unclear = (usize, &'static str, String);

/// The accepted rows, the index of each in its table, and the refused rows by reason.
pub(crate) type JudgedPositions = (Vec<PositionRow>, Vec<usize>, Vec<Refused>);

/// The key of a snapshot: exchange, coin and time.
type Snapshot = (String, String, Millis);

/// Converts the rows of a table to the form that an archive stores. Also returns their indexes in the table, and the
/// refused rows by reason. Rows
/// without an exchange get `exchange`. `price_at` returns the market price of a coin at an instant if it is known.
///
/// # Errors
///
/// The first row that cannot be read.
pub(crate) fn snapshots(
    given: Vec<ObservedPosition>,
    exchange: Option<&str>,
    price_at: &mut dyn FnMut(&str, Millis) -> Option<f64>,
) -> Result<JudgedPositions, Unclear> {
    let mut rows = Vec::with_capacity(given.len());
    let mut numbers: HashMap<Snapshot, u32> = HashMap::new();
    let mut prices: BTreeMap<Snapshot, Vec<(f64, f64)>> = BTreeMap::new();
    for (place, one) in given.into_iter().enumerate() {
        let (row, price) = row(place, one, exchange, &mut numbers)?;
        let known = prices.entry(snapshot_of(&row)).or_default();
        let value = nearest_f64(row.value_usd);
        known.extend((price > 0.0).then_some((price, value)));
        rows.push(row);
    }
    let agreed: BTreeMap<Snapshot, Option<f64>> = (prices.into_iter())
        .map(|(snapshot, prices)| (snapshot, agreed(prices)))
        .collect();
    let judged: BTreeMap<&Snapshot, Judged> = (agreed.iter())
        .map(|(snapshot, price)| (snapshot, judge(&agreed, snapshot, *price, price_at)))
        .collect();
    let mut refused: Vec<Refused> = Vec::new();
    let mut places = Vec::with_capacity(rows.len());
    let mut place = 0;
    rows.retain(|row| {
        let at = place;
        place += 1;
        let fault = judged
            .get(&snapshot_of(row))
            .and_then(|judged| judged.fault(row));
        let Some((reason, shown)) = fault else {
            places.push(at);
            return true;
        };
        refuse(
            &mut refused,
            (&format!("positions: {reason}"), &shown),
            &format!("positions:{at}"),
        );
        false
    });
    Ok((rows, places, refused))
}

/// The result of the check of a snapshot's price.
#[derive(Clone, Copy, Debug)]
enum Judged {
    /// The price of the snapshot is known.
    At(f64),
    /// The price of the snapshot is far from the market price: both prices.
    Foreign(f64, f64),
    /// The rows disagree on the price, and no other price is known.
    Unknown,
}

impl Judged {
    /// Why a row is refused, and its values as text; `None` if it is accepted.
    fn fault(self, row: &PositionRow) -> Option<(&'static str, String)> {
        match self {
            Self::Foreign(price, market) => Some((
                "the price of the snapshot differs from the market price",
                format!(
                    "{price} at {}, but the market price was {market}",
                    row.timestamp
                ),
            )),
            Self::Unknown => Some((
                "the rows of the snapshot have different prices, and no other price is known",
                format!(
                    "value_usd {} for qty {} at {}",
                    row.value_usd, row.qty, row.timestamp
                ),
            )),
            Self::At(price) => {
                let (value, qty) = (nearest_f64(row.value_usd), nearest_f64(row.qty));
                let (due, off) = (price * qty, (value - price * qty).abs());
                // Negative numbers pass here, because the archive refuses them with a clearer reason.
                (qty >= 0.0 && value >= 0.0 && off > APART * due && off > ROUNDED).then(|| {
                    (
                        "value_usd divided by qty differs from the price of the snapshot",
                        format!(
                            "value_usd {} for qty {} at {}, but the price was {price}",
                            row.value_usd, row.qty, row.timestamp
                        ),
                    )
                })
            }
        }
    }
}

fn snapshot_of(row: &PositionRow) -> Snapshot {
    (row.exchange.clone(), row.coin.clone(), row.timestamp)
}

/// Completes a row. Also returns the price of the snapshot that follows from the row, or 0 if none does.
fn row(
    place: usize,
    one: ObservedPosition,
    exchange: Option<&str>,
    numbers: &mut HashMap<Snapshot, u32>,
) -> Result<(PositionRow, f64), Unclear> {
    let unclear = |column, message: &str| (place, column, message.to_owned());
    let exchange = one.exchange.as_deref().or(exchange).map(exchange_name);
    let exchange =
        exchange.ok_or_else(|| unclear("exchange", "is missing, and exchange= is not given"))?;
    let (coin, scale) =
        coin(one.coin, one.symbol).map_err(|(column, message)| (place, column, message))?;
    let of_one = |price: Decimal| {
        let of_one = price.checked_div(Decimal::from(scale));
        of_one.unwrap_or(price).normalize()
    };
    let stated = one.current_price.filter(|price| *price > Decimal::ZERO);
    let stated = stated.map(of_one);
    let scaled = one.qty.map(|qty| {
        product(qty, Decimal::from(scale)).ok_or_else(|| unclear("qty", "is too large"))
    });
    let qty = match (scaled.transpose()?, stated) {
        (Some(qty), _) => qty,
        (None, Some(price)) => one
            .value_usd
            .checked_div(price)
            .map(|qty| qty.round_dp_with_strategy(DIGITS, RoundingStrategy::MidpointNearestEven))
            .ok_or_else(|| unclear("value_usd", "is too large for its price"))?,
        (None, None) => {
            return Err(unclear(
                "qty",
                "is missing, and current_price is missing, too",
            ));
        }
    };
    let price = stated.map_or_else(
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
        entry_price: one.entry_price.map(of_one),
        leverage: one.leverage,
        margin_mode: one.margin_mode,
        liquidation_price: one.liquidation_price.map(of_one),
        value_usd: one.value_usd,
        observed_at: one.observed_at.unwrap_or(one.timestamp),
        timestamp: one.timestamp,
        seen_share: one.seen_share,
    };
    Ok((row, if price.is_finite() { price } else { 0.0 }))
}

/// The coin of a row, and the coins per listed unit, from its columns `coin` and `symbol`, which must agree if both are
/// present.
fn coin(
    coin: Option<String>,
    symbol: Option<String>,
) -> Result<(String, u32), (&'static str, String)> {
    for (column, name) in [("coin", &coin), ("symbol", &symbol)] {
        let name = name.as_deref().unwrap_or_default();
        if let Some(why) = Symbol::read(name).and_then(|symbol| symbol.unclear(name)) {
            let message = format!("{name:?} is {why}");
            return Err((column, message));
        }
    }
    let scale = [&symbol, &coin].into_iter().flatten().next();
    let scale = scale.and_then(|name| Symbol::read(name));
    let scale = scale.map_or(1, |symbol| symbol.scale());
    let read = |name: &String| {
        Symbol::read(name).map_or_else(|| name.clone(), |symbol| symbol.coin().to_owned())
    };
    match (coin, symbol) {
        (Some(coin), Some(symbol)) if read(&coin) != read(&symbol) => {
            let message = format!(
                "{coin:?} contradicts the column symbol, {symbol:?}; allowed: one of the columns, or the same coin in \
                 both"
            );
            Err(("coin", message))
        }
        (Some(name), _) | (None, Some(name)) => Ok((read(&name), scale)),
        (None, None) => {
            let message = "is missing, and so is symbol; one of the two is needed";
            Err(("coin", message.to_owned()))
        }
    }
}

/// The median price of a snapshot's rows, if most rows agree with it. Each element is the price and the value of a row.
fn agreed(rows: Vec<(f64, f64)>) -> Option<f64> {
    // Rows with a value of at most one USD give no exact price. They count only if all rows are that small.
    let is_all_dust = rows.iter().all(|(_, value)| *value <= ROUNDED);
    let mut prices: Vec<f64> = rows
        .into_iter()
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

/// Checks the price of a snapshot. `price` is the price on which its rows agree, if they agree.
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

/// The median price of the snapshots near `snapshot`, itself included; `None` if there are too few.
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

    /// Creates the rows of one snapshot, each from its quantity and its value.
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

    /// Returns the accepted quantities, and the number of refused rows by reason.
    fn judged(rows: &[(f64, f64)], market: Option<f64>) -> (Vec<f64>, Vec<(String, u64)>) {
        let (rows, _, refused) = snapshots(of_one(rows), None, &mut |_, _| market).unwrap();
        (
            rows.iter().map(|row| nearest_f64(row.qty)).collect(),
            (refused.into_iter().map(|one| (one.reason, one.count))).collect(),
        )
    }

    const OFF: &str = "positions: value_usd divided by qty differs from the price of the snapshot";

    #[test]
    fn a_row_with_a_value_far_from_its_quantity_at_the_common_price_is_refused() {
        // A row with ten times the quantity that its value allows is refused: first a small row, then the largest row.
        let rows = [(1.0, 100.0), (2.0, 201.0), (30.0, 300.0), (50.0, 4950.0)];
        let refused = vec![(OFF.to_owned(), 1)];
        assert_eq!(judged(&rows, None), (vec![1.0, 2.0, 50.0], refused.clone()));
        let rows = [(1.0, 100.0), (2.0, 201.0), (900.0, 9000.0)];
        assert_eq!(judged(&rows, None), (vec![1.0, 2.0], refused.clone()));
        // A row with a value but without a quantity is refused.
        let rows = [(1.0, 100.0), (2.0, 201.0), (0.0, 9000.0)];
        assert_eq!(judged(&rows, None), (vec![1.0, 2.0], refused));
    }

    #[test]
    fn the_market_price_decides_between_two_rows_and_without_it_both_are_refused() {
        let rows = [(1.0, 100.0), (20.0, 200.0)];
        let refused = vec![(OFF.to_owned(), 1)];
        assert_eq!(judged(&rows, Some(101.0)), (vec![1.0], refused));
        let (accepted, refused) = judged(&rows, None);
        let (reason, count) = refused.first().unwrap();
        assert_eq!((accepted.len(), *count), (0, 2));
        assert!(reason.contains("different prices"), "{refused:?}");
        // One row, or two rows that agree on the price, need no market price.
        assert_eq!(judged(&[(20.0, 200.0)], None).0, [20.0]);
        assert_eq!(judged(&[(20.0, 200.0), (1.0, 10.5)], None).0, [20.0, 1.0]);
    }

    #[test]
    fn small_values_may_be_rounded_to_cents() {
        let rows = [(1.0, 100.0), (2.0, 200.0), (0.0004, 0.05), (0.001, 0.0)];
        assert_eq!(judged(&rows, None).0.len(), 4);
        // Rows with values of a few cents do not decide the price.
        let rows = [(0.0004, 0.08), (0.0003, 0.05), (0.0001, 0.02), (1.0, 100.0)];
        assert_eq!(judged(&rows, Some(100.0)).0.len(), 4);
    }

    #[test]
    fn value_and_quantity_are_checked_against_a_stated_price() {
        let mut rows = of_one(&[(10.0, 100.0), (20.0, 200.0)]);
        for row in &mut rows {
            row.current_price = Some(Decimal::ONE_HUNDRED);
        }
        let (rows, _, refused) = snapshots(rows, None, &mut |_, _| None).unwrap();
        let reasons: Vec<&str> = refused.iter().map(|one| one.reason.as_str()).collect();
        assert_eq!((rows.len(), reasons), (0, vec![OFF]));
    }
}
