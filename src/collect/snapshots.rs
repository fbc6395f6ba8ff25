//! Snapshots of positions that a table has, on their way into an archive.
//!
//! What a table leaves out is filled in where it follows from the rest. A snapshot whose price is not that of the market is
//! of no market, such as one that was made up to try something out: none of its rows is taken.

use std::collections::{BTreeMap, HashMap};

use rust_decimal::{Decimal, RoundingStrategy};

use super::ingest::Refused;
use crate::model::{Millis, ObservedPosition, PositionRow, Symbol, exchange_name, nearest_f64};

/// A price that is farther from the market's, as a share of it, is another market's.
const APART: f64 = 0.10;
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
    let mut prices: BTreeMap<Snapshot, (Decimal, f64)> = BTreeMap::new();
    for (place, one) in given.into_iter().enumerate() {
        let (row, price) = row(place, one, exchange, &mut numbers)?;
        // The largest tells the price best.
        let known = prices.entry(of(&row)).or_default();
        if row.value_usd > known.0 || known.1 <= 0.0 {
            *known = (row.value_usd, price);
        }
        rows.push(row);
    }
    let foreign = foreign(&prices, price_at);
    let mut refused: Vec<Refused> = Vec::new();
    let mut place = 0;
    rows.retain(|row| {
        let at = place;
        place += 1;
        let Some((price, market)) = foreign.get(&of(row)) else {
            return true;
        };
        let reason = "positions: the price of the snapshot is not the market's";
        match refused.first_mut() {
            Some(known) => known.count += 1,
            None => refused.push(Refused {
                reason: reason.to_owned(),
                count: 1,
                place: format!("positions:{at}"),
                shown: format!(
                    "{price} at {}, where the market's was {market}",
                    row.timestamp
                ),
            }),
        }
        false
    });
    Ok((rows, refused))
}

fn of(row: &PositionRow) -> Snapshot {
    (row.exchange.clone(), row.coin.clone(), row.timestamp)
}

/// A row, and the price that it is valued at.
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

/// The snapshots whose price is not the market's, with both.
fn foreign(
    prices: &BTreeMap<Snapshot, (Decimal, f64)>,
    price_at: &mut dyn FnMut(&str, Millis) -> Option<f64>,
) -> BTreeMap<Snapshot, (f64, f64)> {
    let mut found = BTreeMap::new();
    for (snapshot, (_, price)) in prices {
        let (_, coin, at) = snapshot;
        let market = price_at(coin, *at).or_else(|| around(prices, snapshot));
        if let Some(market) = market
            && *price > 0.0
            && (price / market - 1.0).abs() > APART
        {
            found.insert(snapshot.clone(), (*price, market));
        }
    }
    found
}

/// The middle price of the snapshots around one, itself among them, where there are several.
fn around(
    prices: &BTreeMap<Snapshot, (Decimal, f64)>,
    (exchange, coin, at): &Snapshot,
) -> Option<f64> {
    let (from, to) = (at.back(NEAR), at.on(NEAR));
    let range = (exchange.clone(), coin.clone(), from)..=(exchange.clone(), coin.clone(), to);
    let mut near: Vec<f64> = prices.range(range).map(|(_, (_, price))| *price).collect();
    near.retain(|price| *price > 0.0);
    near.sort_by(f64::total_cmp);
    if near.len() < SEVERAL {
        return None;
    }
    near.get(near.len() / 2).copied()
}
