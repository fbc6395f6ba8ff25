//! Liquidated USD of one period, without its orders.

use rust_decimal::Decimal;

use crate::model::record;
use crate::model::{Millis, TimeRange};

record! {
    /// Liquidated USD of a coin in one period, on one exchange or on all exchanges together.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TotalRow {
        /// Exchange, lower case; [`ALL_EXCHANGES`](crate::model::ALL_EXCHANGES) for the sum of all exchanges.
        pub exchange: String,
        /// Coin symbol.
        pub symbol: String,
        /// Length in milliseconds: a whole number of minutes that divides a day.
        #[unit("ms")]
        pub interval: i64,
        /// Start of the period.
        pub timestamp: Millis,
        /// Liquidated longs.
        #[unit("USD")]
        pub long_usd: Decimal,
        /// Liquidated shorts.
        #[unit("USD")]
        pub short_usd: Decimal,
        /// When the total was received, after the end of the period.
        pub received_at: Millis,
    }
}

impl TotalRow {
    /// The period.
    #[must_use]
    pub fn range(&self) -> TimeRange {
        TimeRange::new(self.timestamp, self.timestamp.on(self.interval))
    }
}
