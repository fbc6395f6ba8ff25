//! The orders of one coin with their receipt.

use crate::engine::View;
use crate::model::{ExactSum, Millis, Side, TimeRange};

/// An order of a coin, for sums of any window as of any instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivedOrder {
    /// Event time.
    pub timestamp: Millis,
    /// When the order was received.
    pub received_at: Millis,
    /// Side of the liquidated position.
    pub side: Side,
    /// USD of the order.
    pub usd: ExactSum,
}

/// Returns the visible orders of a coin in `range`, oldest first; of one exchange if named.
#[must_use]
pub fn arrived_orders(
    view: &View<'_>,
    coin: &str,
    exchange: Option<&str>,
    range: TimeRange,
) -> Vec<ArrivedOrder> {
    let ring = view.ring();
    let wanted = ring
        .names()
        .pairs_with(|[name, _, of]| of == coin && exchange.is_none_or(|wanted| wanted == name));
    let orders = view.seen_between(range).filter_map(|place| {
        let (kind, usd) = ring.amount(place);
        let is_wanted = wanted.get(kind.pair() as usize).copied()?;
        is_wanted.then(|| ArrivedOrder {
            timestamp: ring.timestamp(place),
            received_at: ring.received_at(place),
            side: kind.side(),
            usd,
        })
    });
    orders.collect()
}
