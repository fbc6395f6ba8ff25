//! One row of liquidations over time.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::Millis;
use crate::model::record;

record! {
    /// Liquidations of one period and group.
    ///
    /// Amounts are zero if the period was covered and nothing was liquidated. They are null if no part of it was covered
    /// and no order is known.
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
        /// USD of liquidated longs; null if nothing is known of the period.
        #[unit("USD")]
        pub long_usd: Option<Decimal>,
        /// USD of liquidated shorts; null if nothing is known of the period.
        #[unit("USD")]
        pub short_usd: Option<Decimal>,
        /// USD of both sides; null if nothing is known of the period.
        #[unit("USD")]
        pub total_usd: Option<Decimal>,
        /// Number of orders; null if nothing is known of the period, or only totals.
        pub cnt: Option<u64>,
        /// USD of the largest order; null if nothing is known of the period, or only totals.
        #[unit("USD")]
        pub largest_usd: Option<Decimal>,
        /// Share of the period that was covered: a collector was connected and no gap is known, a table of orders
        /// reaches over it, or a total is known. The mean over exchanges unless rows are grouped by exchange.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub covered: Option<f64>,
    }
}
