//! Liquidation orders ("force orders") of Binance and of exchanges with the same API.
//!
//! The files come from programs that log the socket, or contain replies of the REST endpoint. The side is that of the
//! closing order. The price is the average fill price if the row has one, otherwise the order price. The quantity is
//! the filled quantity. Logging programs compute `usd_size` from the order price.

use crate::feeds::dumps::binance::coin_margined;
use crate::feeds::dumps::cells::{RowError, column, columns};
use crate::feeds::dumps::format::Format;
use crate::feeds::dumps::layouts::known_layout::KnownLayout;

/// Columns of a logging program's file, in order.
const LOGGER: [&str; 12] = [
    "symbol",
    "side",
    "order_type",
    "time_in_force",
    "original_quantity",
    "price",
    "average_price",
    "order_status",
    "order_last_filled_quantity",
    "order_filled_accumulated_quantity",
    "order_trade_time",
    "usd_size",
];

const COLUMNS: [&[&str]; 6] = [
    &["order_trade_time", "time"],
    &["symbol"],
    &["side"],
    &["price"],
    &["average_price", "averageprice", "avgprice"],
    &[
        "order_filled_accumulated_quantity",
        "order_last_accumulated_quantity",
        "executedqty",
    ],
];

/// Returns the header for a logging program's file that has no header line.
pub(crate) fn bare_header(first: &[String]) -> Option<Vec<String>> {
    let is = |place: usize, words: &[&str]| {
        first
            .get(place)
            .is_some_and(|cell| words.contains(&cell.as_str()))
    };
    let is_logged = first.len() == LOGGER.len()
        && is(1, &["BUY", "SELL"])
        && is(7, &["FILLED", "PARTIALLY_FILLED", "NEW", "EXPIRED"]);
    is_logged.then(|| LOGGER.map(str::to_owned).to_vec())
}

/// Returns the layout if the header is that of force orders.
pub(super) fn layout(header: &[String]) -> Option<KnownLayout> {
    let [time, symbol, side, price, average, filled] = columns(header, COLUMNS)?;
    let value = column(header, &["usd_size"]);
    let mut names = vec!["timestamp", "symbol", "side", "price", "qty"];
    names.extend(value.map(|_| "value_usd"));
    let read = move |line: crate::feeds::dumps::cells::DumpLine<'_>| {
        let contract = line.text(symbol)?;
        if coin_margined(&contract.to_uppercase()).is_some() {
            let reason = "the contract is coin-margined, and its quantity is in contracts";
            return Err(RowError::new(reason, contract));
        }
        if line.amount(filled)?.is_zero() {
            let reason = format!("{}: no part of the order was filled", filled.name);
            return Err(RowError::new(reason, contract));
        }
        let paid = if line.amount(average)?.is_zero() {
            price
        } else {
            average
        };
        let mut cells = vec![
            line.text(time)?,
            contract,
            line.text(side)?,
            line.text(paid)?,
            line.text(filled)?,
        ];
        if let Some(value) = value {
            cells.push(line.text(value)?);
        }
        Ok(cells.into_iter().map(str::to_owned).collect())
    };
    let writer = "force orders of Binance with the side of the order";
    Some(KnownLayout::new(writer, Format::ForceOrders, &names, read))
}
