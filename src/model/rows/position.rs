//! Open positions of single accounts, as they were seen on a venue that shows them.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::record;
use crate::model::{Millis, Side};

/// A leverage above this is none that an exchange gives.
const MOST_LEVERAGE: f64 = 1000.0;

record! {
    /// One open position of an account, as a snapshot of the accounts that were asked for has it.
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
        /// Average price at which it was opened, where that is told.
        #[unit("quote currency")]
        pub entry_price: Option<Decimal>,
        /// Leverage that the account has set for the coin, where that is told.
        pub leverage: Option<f64>,
        /// Whose margin stands behind it: `cross`, the account's, or `isolated`, its own.
        pub margin_mode: Option<String>,
        /// Price at which the exchange says it is liquidated; none where the margin is enough for any price.
        #[unit("quote currency")]
        pub liquidation_price: Option<Decimal>,
        /// What it is worth at the price of the snapshot.
        #[unit("USD")]
        pub value_usd: Decimal,
        /// When the account was looked at.
        pub observed_at: Millis,
        /// When the snapshot that it is of was complete: all rows of one snapshot have the same.
        pub timestamp: Millis,
        /// The share of the coin's open interest, both sides of it, that the positions of the snapshot make up, 0 to 1; none
        /// where open interest was not known.
        pub seen_share: Option<f64>,
    }
}

/// What no position can be.
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

// The numbers that may have fractions are told ones.
impl Eq for PositionRow {}

record! {
    /// One open position as a table of measured ones has it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ObservedPosition {
        /// Exchange; that of the caller where absent.
        pub exchange: Option<String>,
        /// The account; numbered within its snapshot where absent.
        pub account: Option<String>,
        /// Coin symbol; absent where `symbol` tells it.
        pub coin: Option<String>,
        /// Coin, or a pair of it, as other tables name what their rows are of.
        pub symbol: Option<String>,
        /// Side of the position.
        pub side: Side,
        /// Quantity in base units; what it is worth over the price of the snapshot where absent.
        #[unit("base units")]
        pub qty: Option<Decimal>,
        /// Average price at which it was opened.
        #[unit("quote currency")]
        pub entry_price: Option<Decimal>,
        /// Leverage.
        pub leverage: Option<f64>,
        /// `cross` or `isolated`.
        pub margin_mode: Option<String>,
        /// Price at which it is liquidated.
        #[unit("quote currency")]
        pub liquidation_price: Option<Decimal>,
        /// What it is worth.
        #[unit("USD")]
        pub value_usd: Decimal,
        /// When the account was looked at; the instant of the snapshot where absent.
        pub observed_at: Option<Millis>,
        /// The instant of the snapshot.
        pub timestamp: Millis,
        /// The share of the coin's open interest that the snapshot shows.
        pub seen_share: Option<f64>,
        /// The price of the snapshot; the middle of what its positions are worth over their quantities where absent.
        #[unit("quote currency")]
        pub current_price: Option<Decimal>,
    }
}
