//! Liquidated quantities of bars, as known at the close of each bar.

use std::iter::Peekable;

use crate::engine::ledger::ledger_state::BarQuantities;
use crate::engine::observations::coin_history::{CoinHistory, KnownOrder};
use crate::engine::{FeedCoverage, View};
use crate::model::{Bar, Millis, TimeRange};

/// A feed without an order for longer than this, and without recorded time, is unknown.
const SILENCE: i64 = Millis::DAY;

/// Sums orders by bar. Bars must be passed in order of time.
///
/// An order counts only if it was received by the close of its bar, so that no later row changes a bar. Quantities are
/// known if the feed had an order in the day before the close, or if part of that day was recorded.
pub struct BarLiquidations<'a> {
    orders: Peekable<Box<dyn Iterator<Item = KnownOrder> + 'a>>,
    /// Receipt and event time of the orders that were not received by the last close.
    late: Vec<(Millis, Millis)>,
    /// Event time of the newest order that was received by the last close.
    newest: Option<Millis>,
    coverage: &'a FeedCoverage,
    exchange: Option<&'a str>,
}

impl<'a> BarLiquidations<'a> {
    /// Starts before a bar that opens at `start`.
    pub fn new(view: View<'a>, history: &'a CoinHistory, start: Millis) -> Self {
        let orders: Box<dyn Iterator<Item = KnownOrder> + 'a> =
            Box::new(view.orders_from(history, start.back(SILENCE)));
        Self {
            orders: orders.peekable(),
            late: Vec::new(),
            newest: None,
            coverage: &history.exposure,
            exchange: view.venue(),
        }
    }

    /// The quantities of the next bar.
    pub fn of(&mut self, bar: &Bar) -> BarQuantities {
        let close = bar.close_time();
        let mut sums = [0.0; 2];
        while let Some(order) = self.orders.next_if(|order| order.timestamp < close) {
            if order.known_at > close {
                self.late.push((order.known_at, order.timestamp));
                continue;
            }
            self.newest = self.newest.max(Some(order.timestamp));
            if order.timestamp >= bar.open_time
                && let Some(sum) = sums.get_mut(order.side.index())
            {
                *sum += order.qty;
            }
        }
        let newest = &mut self.newest;
        self.late.retain(|(known_at, timestamp)| {
            let is_late = *known_at > close;
            if !is_late {
                *newest = (*newest).max(Some(*timestamp));
            }
            is_late
        });
        let day = TimeRange::new(close.back(SILENCE), close);
        let is_known = self.newest.is_some_and(|newest| newest >= day.start)
            || self.coverage.is_recorded(self.exchange, day);
        if is_known { sums.map(Some) } else { [None; 2] }
    }
}
