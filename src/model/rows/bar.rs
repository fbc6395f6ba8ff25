//! Inputs of the estimate: price bars and open interest.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::model::{Millis, ObservedBar, nearest_f64};

/// One price bar of a coin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Time of the open.
    pub open_time: Millis,
    /// Length in milliseconds.
    pub interval: i64,
    /// First price.
    pub open: f64,
    /// Highest price.
    pub high: f64,
    /// Lowest price.
    pub low: f64,
    /// Last price.
    pub close: f64,
    /// Traded volume in base units.
    pub volume: f64,
}

impl Bar {
    /// Converts exact open, high, low, close and volume to the nearest doubles.
    #[must_use]
    pub fn nearest(open_time: Millis, interval: i64, figures: [Decimal; 5]) -> Self {
        let [open, high, low, close, volume] = figures.map(nearest_f64);
        Self {
            open_time,
            interval,
            open,
            high,
            low,
            close,
            volume,
        }
    }

    /// Close time; queries as of an instant see the bar from then on.
    #[must_use]
    pub fn close_time(&self) -> Millis {
        self.open_time.on(self.interval)
    }

    /// The bar as a row for `coin`.
    #[must_use]
    pub fn of_coin<S>(&self, coin: S) -> ObservedBar<S> {
        ObservedBar {
            symbol: coin,
            timestamp: self.open_time,
            closes_at: Some(self.close_time()),
            open: self.open,
            high: self.high,
            low: self.low,
            close: self.close,
            volume: self.volume,
            interval: Some(self.interval),
        }
    }
}

/// Open interest of a coin on one exchange at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenInterest {
    /// Instant of the reading.
    pub timestamp: Millis,
    /// Open interest in base units, one side.
    pub open_interest: f64,
}

crate::model::record! {
    /// One closed price bar of a coin, as the API returns it.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct ClosedBar {
        /// Coin symbol.
        pub symbol: String,
        /// Time of the open.
        pub timestamp: Millis,
        /// Close time; the bar is known from then on. A running bar is known from the close of its last source bar on.
        pub closes_at: Millis,
        /// First price.
        #[unit("quote currency")]
        pub open: f64,
        /// Highest price.
        #[unit("quote currency")]
        pub high: f64,
        /// Lowest price.
        #[unit("quote currency")]
        pub low: f64,
        /// Last price.
        #[unit("quote currency")]
        pub close: f64,
        /// Traded volume in base units.
        #[unit("base units")]
        pub volume: f64,
        /// Length.
        #[unit("ms")]
        pub interval: i64,
    }
}

/// The bar of a period that has not ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningBar {
    /// The prices and the volume so far; its length is that of the whole period.
    pub bar: Bar,
    /// The close of the last bar that it is made of.
    pub known_at: Millis,
}

/// A bar before the first bar of a reply, with a different length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierBar {
    /// Time of the open.
    pub timestamp: Millis,
    /// Length in milliseconds.
    pub interval: i64,
}

impl ClosedBar {
    /// A running bar as a reply row for the coin `symbol`.
    #[must_use]
    pub fn running(symbol: &str, running: &RunningBar) -> Self {
        Self {
            closes_at: running.known_at,
            ..Self::of(symbol, &running.bar)
        }
    }

    /// The bar as a reply row for the coin `symbol`.
    #[must_use]
    pub fn of(symbol: &str, bar: &Bar) -> Self {
        Self {
            symbol: symbol.to_owned(),
            timestamp: bar.open_time,
            closes_at: bar.close_time(),
            open: bar.open,
            high: bar.high,
            low: bar.low,
            close: bar.close,
            volume: bar.volume,
            interval: bar.interval,
        }
    }
}
