//! What was observed, row by row, as a table, an archive or a simulation hands it to the engine.

use super::{Millis, Order};

/// One liquidation order with what is known beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedOrder {
    /// The order.
    pub order: Order,
    /// Its coin; derived from the pair where absent.
    pub coin: Option<String>,
    /// When it was received; the event time where absent.
    pub received_at: Option<Millis>,
}

/// One price bar of a coin.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedBar {
    /// Coin symbol.
    pub symbol: String,
    /// Time of the open.
    pub timestamp: Millis,
    /// Length in milliseconds; inferred from the spacing of the coin's bars where absent.
    pub interval: Option<i64>,
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

/// One reading of a coin's open interest.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedOpenInterest {
    /// Coin symbol.
    pub symbol: String,
    /// The exchange it was read on; absent where the reading is a total.
    pub exchange: Option<String>,
    /// Instant of the reading.
    pub timestamp: Millis,
    /// Open interest in base units, one side.
    pub open_interest: f64,
}

/// One open position of a simulated market: the truth an estimate can be held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// Coin symbol.
    pub symbol: String,
    /// Side of the position.
    pub side: super::Side,
    /// Leverage at entry.
    pub leverage: f64,
    /// Entry price.
    pub entry_price: f64,
    /// Mark price at which it is liquidated.
    pub liquidation_price: f64,
    /// Quantity in base units.
    pub qty: f64,
}
