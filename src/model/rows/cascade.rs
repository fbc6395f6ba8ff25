//! One row of cascades.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::record;
use crate::model::{Millis, Side};

record! {
    /// Consecutive orders of one coin and side within a short time, as one event.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct CascadeRow {
        /// Event time of the first order.
        pub start: Millis,
        /// Event time of the last order.
        pub end: Millis,
        /// Coin symbol.
        pub coin: String,
        /// Side of the liquidated positions.
        pub side: Side,
        /// USD of all orders.
        #[unit("USD")]
        pub usd: Decimal,
        /// Number of orders.
        pub cnt: u64,
        /// Number of exchanges with orders in the event.
        pub exchanges: u64,
        /// USD of the largest order.
        #[unit("USD")]
        pub largest_usd: Decimal,
        /// Close of the last bar that closed at or before the start.
        #[unit("quote currency")]
        pub price_before: Option<f64>,
        /// Close of the first bar that closed at or after the end.
        #[unit("quote currency")]
        pub price_after: Option<f64>,
        /// Price change in the minute after `price_after`.
        #[unit("share")]
        pub change_1m: Option<f64>,
        /// Price change in the five minutes after `price_after`.
        #[unit("share")]
        pub change_5m: Option<f64>,
        /// Price change in the hour after `price_after`.
        #[unit("share")]
        pub change_1h: Option<f64>,
        /// Share of the coin's events of the previous 7 days that were smaller in USD.
        #[unit("share")]
        pub percentile_7d: Option<f64>,
    }
}
