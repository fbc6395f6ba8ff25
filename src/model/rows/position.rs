//! Open positions of single accounts, on exchanges that publish them.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::record;
use crate::model::{Millis, Side};

/// Highest leverage that a row may have; no exchange offers a higher one.
const MOST_LEVERAGE: f64 = 1000.0;

record! {
    /// One open position of an account, from a snapshot of the watched accounts.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    #[checked(fault)]
    pub struct PositionRow {
        /// Exchange, lower case.
        pub exchange: String,
        /// The account, as the exchange names it.
        pub account: String,
        /// Coin symbol.
        pub coin: String,
        /// Side of the position.
        pub side: Side,
        /// Quantity in base units.
        #[unit("base units")]
        pub qty: Decimal,
        /// Average entry price, if published.
        #[unit("quote currency")]
        pub entry_price: Option<Decimal>,
        /// Leverage setting of the account for the coin, if published.
        pub leverage: Option<f64>,
        /// Margin mode: `cross` (margin of the account) or `isolated` (margin of the position).
        pub margin_mode: Option<String>,
        /// Liquidation price that the exchange publishes; absent if the margin covers every price.
        #[unit("quote currency")]
        pub liquidation_price: Option<Decimal>,
        /// Notional at the price of the snapshot.
        #[unit("USD")]
        pub value_usd: Decimal,
        /// When the account was queried.
        pub observed_at: Millis,
        /// Completion time of the snapshot, equal for all its rows.
        pub timestamp: Millis,
        /// Share of the coin's open interest, both sides, that the snapshot's positions make up, 0 to 1; none if open
        /// interest is unknown.
        pub seen_share: Option<f64>,
    }
}

/// The name of the first invalid column, and a message with its value and the allowed values.
fn fault(row: &PositionRow) -> Option<(&'static str, String)> {
    let amounts = [
        ("qty", Some(row.qty)),
        ("entry_price", row.entry_price),
        ("liquidation_price", row.liquidation_price),
        ("value_usd", Some(row.value_usd)),
    ];
    for (column, amount) in amounts {
        if let Some(amount) = amount.filter(|amount| *amount < Decimal::ZERO) {
            return Some((column, format!("{amount} is not 0 or above")));
        }
    }
    if let Some(leverage) = row.leverage
        && !(leverage > 0.0 && leverage <= MOST_LEVERAGE)
    {
        let message = format!("{leverage:?} is not above 0 and at most {MOST_LEVERAGE}");
        return Some(("leverage", message));
    }
    if let Some(share) = row.seen_share
        && !(0.0..=1.0).contains(&share)
    {
        return Some(("seen_share", format!("{share:?} is not from 0 to 1")));
    }
    (row.observed_at > row.timestamp).then(|| {
        let (seen, complete) = (row.observed_at, row.timestamp);
        let message = format!("{seen} is after the snapshot, {complete}");
        ("observed_at", message)
    })
}

// Checked numbers are never NaN.
impl Eq for PositionRow {}

record! {
    /// One open position from a caller's table of positions.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ObservedPosition {
        /// Exchange; if absent, the exchange that the caller passes.
        pub exchange: Option<String>,
        /// The account; numbered within its snapshot if absent.
        pub account: Option<String>,
        /// Coin symbol; absent if `symbol` is present.
        pub coin: Option<String>,
        /// A coin or a trading pair, as in other tables.
        pub symbol: Option<String>,
        /// Side of the position.
        pub side: Side,
        /// Quantity in base units; notional divided by the price of the snapshot if absent.
        #[unit("base units")]
        pub qty: Option<Decimal>,
        /// Average entry price.
        #[unit("quote currency")]
        pub entry_price: Option<Decimal>,
        /// Leverage.
        pub leverage: Option<f64>,
        /// `cross` or `isolated`.
        pub margin_mode: Option<String>,
        /// Liquidation price.
        #[unit("quote currency")]
        pub liquidation_price: Option<Decimal>,
        /// Notional in USD.
        #[unit("USD")]
        pub value_usd: Decimal,
        /// When the account was queried; the time of the snapshot if absent.
        pub observed_at: Option<Millis>,
        /// Time of the snapshot.
        pub timestamp: Millis,
        /// Share of the coin's open interest that the snapshot covers.
        pub seen_share: Option<f64>,
        /// Price of the snapshot; the median notional per quantity of its positions if absent.
        #[unit("quote currency")]
        pub current_price: Option<Decimal>,
    }
}
