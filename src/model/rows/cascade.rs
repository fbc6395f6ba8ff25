//! One row of cascades.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::record;
use crate::model::{Millis, Side};

record! {
    /// Orders of one coin and side that followed each other closely, as one event.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct CascadeRow {
        /// Event time of its first order.
        pub start: Millis,
        /// Event time of its last order.
        pub end: Millis,
        /// Coin symbol.
        pub coin: String,
        /// Side of the liquidated positions.
        pub side: Side,
        /// USD of its orders.
        #[unit("USD")]
        pub usd: Decimal,
        /// Orders.
        pub cnt: u64,
        /// Exchanges that had any of them.
        pub venues: u64,
        /// USD of the largest order.
        #[unit("USD")]
        pub largest_usd: Decimal,
        /// Close of the last bar that had closed by the start.
        #[unit("quote currency")]
        pub price_before: Option<f64>,
        /// Close of the first bar that closed at the end or after it.
        #[unit("quote currency")]
        pub price_after: Option<f64>,
        /// Change of the price over the minute behind the price after.
        #[unit("share")]
        pub change_1m: Option<f64>,
        /// The same over five minutes.
        #[unit("share")]
        pub change_5m: Option<f64>,
        /// The same over an hour.
        #[unit("share")]
        pub change_1h: Option<f64>,
        /// Share of the coin's own events of the 7 days before its start that had less USD.
        #[unit("share")]
        pub percentile_7d: Option<f64>,
    }
}
