//! Which events are asked for.

use rust_decimal::Decimal;

use crate::model::{Millis, Symbol};

/// How far back an event is compared with others of its coin.
pub(crate) const COMPARED: i64 = 7 * Millis::DAY;

/// Which events are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct CascadeQuestion {
    /// Events that began at this instant or later.
    pub start: Millis,
    /// Events that began before this instant; they are followed to their ends.
    pub end: Millis,
    /// The most milliseconds between one order of an event and the next.
    pub gap: i64,
    /// Only events of at least so many USD.
    pub least: Decimal,
    /// Only orders of these pairs, and of all pairs of these coins; all where there are none.
    pub symbols: Vec<Symbol>,
    /// More events than this are not put together.
    pub most: usize,
}

impl CascadeQuestion {
    /// The instant from which on orders have to be known: what began there or later began nowhere else.
    #[must_use]
    pub fn known_from(&self) -> Millis {
        self.start.back(COMPARED).back(self.gap)
    }
}
