//! Totals of liquidation orders: per window, per coin and per exchange.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::{TotalsRange, Vocabulary};

crate::model::record! {
    /// Long, short and total USD and the number of orders in one window.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
    pub struct WindowTotals {
        /// USD of liquidated longs.
        #[unit("USD")]
        pub long_usd: f64,
        /// USD of liquidated shorts.
        #[unit("USD")]
        pub short_usd: f64,
        /// USD of both sides.
        #[unit("USD")]
        pub total_usd: f64,
        /// Number of orders.
        pub cnt: u64,
    }
}

/// Totals by time range: the four windows, and a further range if it is asked for. A range that a service omits is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TotalsByWindow {
    /// Totals of each range, in the order of [`TotalsByWindow::keys`]. The first are those of the four windows.
    pub windows: [Option<WindowTotals>; TotalsRange::ALL.len() + 1],
}

impl TotalsByWindow {
    /// The key of the totals between two instants.
    pub const PERIOD: &'static str = "period";

    /// The keys of a reply: the names of the ranges, shortest first, then that of the time between two instants.
    pub fn keys() -> impl Iterator<Item = &'static str> {
        let ranges = TotalsRange::ALL.iter().map(|range| range.name());
        ranges.chain([Self::PERIOD])
    }

    /// Sets the totals of the range `key`; without effect for any other key.
    pub fn set(&mut self, key: &str, totals: WindowTotals) {
        let named = Self::keys().zip(&mut self.windows);
        named
            .filter(|(name, _)| *name == key)
            .for_each(|(_, slot)| *slot = Some(totals));
    }

    /// The ranges that are present, shortest first.
    pub fn present(&self) -> impl Iterator<Item = (&'static str, WindowTotals)> + '_ {
        Self::keys()
            .zip(&self.windows)
            .filter_map(|(key, totals)| Some((key, (*totals)?)))
    }
}

crate::model::record! {
    /// One row of the coin ranking.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct CoinTotals {
        /// Coin symbol, such as `BTC`.
        pub coin: String,
        /// USD of liquidated longs.
        #[unit("USD")]
        pub long_usd: f64,
        /// USD of liquidated shorts.
        #[unit("USD")]
        pub short_usd: f64,
        /// USD of both sides.
        #[unit("USD")]
        pub total_usd: f64,
        /// Number of orders.
        pub cnt: u64,
    }
}

crate::model::record! {
    /// One row of the exchange totals; amounts are decimal strings on the wire.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct ExchangeTotals {
        /// Exchange, lower case.
        pub exchange: String,
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
    }
}
