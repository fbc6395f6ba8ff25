//! What the estimate is made from: price bars and open interest.

use super::{Millis, ObservedBar};

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
    /// The instant the bar closes; it counts from then on.
    #[must_use]
    pub fn close_time(&self) -> Millis {
        self.open_time.on(self.interval)
    }

    /// The bar as a row of the table of `coin`'s bars.
    #[must_use]
    pub fn of_coin(&self, coin: &str) -> ObservedBar {
        ObservedBar {
            symbol: coin.to_owned(),
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
