//! Totals of liquidation orders: per window, per coin and per exchange.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::{Vocabulary, Window};

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

/// Totals of the four windows; a window that a service omits is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TotalsByWindow {
    /// Totals of each window, in the order of [`Window::ALL`].
    pub windows: [Option<WindowTotals>; 4],
}

impl TotalsByWindow {
    /// The windows that are present, shortest first.
    pub fn present(&self) -> impl Iterator<Item = (Window, WindowTotals)> + '_ {
        Window::ALL
            .iter()
            .zip(&self.windows)
            .filter_map(|(&window, totals)| Some((window, (*totals)?)))
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
