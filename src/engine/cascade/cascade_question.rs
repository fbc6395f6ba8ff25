//! The filter and limits of a cascade question.

use rust_decimal::Decimal;

use crate::model::{Millis, Symbol};

/// Time range of the earlier events that an event is compared with, in milliseconds.
pub const COMPARED: i64 = 7 * Millis::DAY;

/// Which events to return.
#[derive(Clone, Debug, PartialEq)]
pub struct CascadeQuestion {
    /// Events that start at or after this instant.
    pub start: Millis,
    /// Events that start before this instant. Their later orders are included.
    pub end: Millis,
    /// Maximum time between consecutive orders of an event, in milliseconds.
    pub gap: i64,
    /// Events of at least this many USD.
    pub least: Decimal,
    /// Orders of these pairs, or of any pair of these coins. If empty, all orders.
    pub symbols: Vec<Symbol>,
    /// Maximum number of events.
    pub most: usize,
}

impl CascadeQuestion {
    /// The instant from which orders are needed for complete first events and percentiles.
    #[must_use]
    pub fn known_from(&self) -> Millis {
        self.start.back(COMPARED).back(self.gap)
    }
}
