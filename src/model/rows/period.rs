//! One row of liquidations over time.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::Millis;
use crate::model::record;

record! {
    /// What was liquidated in one period, of one group.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct PeriodRow {
        /// Open of the period.
        pub timestamp: Millis,
        /// Coin, where rows are grouped by it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub coin: Option<String>,
        /// Trading pair, where rows are grouped by it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub symbol: Option<String>,
        /// Exchange, where rows are grouped by it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub exchange: Option<String>,
        /// Side of the liquidated positions, where rows are grouped by it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub side: Option<String>,
        /// USD of longs.
        #[unit("USD")]
        pub long_usd: Decimal,
        /// USD of shorts.
        #[unit("USD")]
        pub short_usd: Decimal,
        /// USD of both.
        #[unit("USD")]
        pub total_usd: Decimal,
        /// Orders.
        pub cnt: u64,
        /// USD of the largest order.
        #[unit("USD")]
        pub largest_usd: Decimal,
        /// Share of the time asked about in which somebody listened and nothing is known to be missing; absent where
        /// nobody kept a record.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub covered: Option<f64>,
    }
}
