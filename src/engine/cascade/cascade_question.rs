//! The filter and limits of a cascade question.

use rust_decimal::Decimal;

use crate::model::{Millis, Symbol};

/// Time range of the percentile, in milliseconds.
pub(crate) const COMPARED: i64 = 7 * Millis::DAY;

/// Which events to return.
#[derive(Clone, Debug, PartialEq)]
pub struct CascadeQuestion {
    /// Events that start at or after this instant.
    pub start: Millis,
    /// Events that start before this instant; they are followed to their ends.
    pub end: Millis,
    /// Largest time between consecutive orders of an event, in milliseconds.
    pub gap: i64,
    /// Events of at least so many USD.
    pub least: Decimal,
    /// Orders of these pairs, and of all pairs of these coins; all orders if empty.
    pub symbols: Vec<Symbol>,
    /// Maximum number of events.
    pub most: usize,
}

impl CascadeQuestion {
    /// The first instant of which orders are needed, so that percentiles and the first events are complete.
    #[must_use]
    pub fn known_from(&self) -> Millis {
        self.start.back(COMPARED).back(self.gap)
    }
}
