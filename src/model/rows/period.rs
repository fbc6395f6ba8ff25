//! One row of liquidations over time.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::Millis;
use crate::model::record;

record! {
    /// Liquidations of one period and group.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct PeriodRow {
        /// Start of the period.
        pub timestamp: Millis,
        /// Coin, if rows are grouped by it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub coin: Option<String>,
        /// Trading pair, if rows are grouped by it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub symbol: Option<String>,
        /// Exchange, if rows are grouped by it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub exchange: Option<String>,
        /// Side of the liquidated positions, if rows are grouped by it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub side: Option<String>,
        /// USD of liquidated longs.
        #[unit("USD")]
        pub long_usd: Decimal,
        /// USD of liquidated shorts.
        #[unit("USD")]
        pub short_usd: Decimal,
        /// USD of both sides.
        #[unit("USD")]
        pub total_usd: Decimal,
        /// Number of orders.
        pub cnt: u64,
        /// USD of the largest order.
        #[unit("USD")]
        pub largest_usd: Decimal,
        /// Share of the period that was covered: a collector was connected and no gap is known. Absent if no collector
        /// ran.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub covered: Option<f64>,
    }
}
