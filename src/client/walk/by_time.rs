//! Walks over older rows by time range. The range of each request ends with the oldest instant read so far.
//!
//! A page may end between two rows of one instant, so the next page includes that instant again. Each of its rows is
//! then skipped as often as it was read before. Equal rows are thus neither lost nor returned twice.

use crate::client::error::Error;
use crate::client::walk::feed::LARGEST;
use crate::model::{Millis, Order, OrderColumns};

/// A page to request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimePageRequest {
    pub(super) start: Option<Millis>,
    pub(super) end: Option<Millis>,
    pub(super) limit: usize,
}

/// Why the walk cannot continue.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TimeWalkError {
    #[error(
        "more than {LARGEST} orders share the instant {at}, which is more than a page can hold; request one exchange \
         or symbol at a time"
    )]
    Instant { at: Millis },
    #[error("row {row} has the time {at}, outside the requested range")]
    Outside { row: usize, at: Millis },
    #[error(
        "row {row} has the time {at}, later than the row before it; newest first was requested"
    )]
    Disorder { row: usize, at: Millis },
}

impl From<TimeWalkError> for Error {
    fn from(lost: TimeWalkError) -> Self {
        let path = match &lost {
            TimeWalkError::Instant { .. } => "data".to_owned(),
            TimeWalkError::Outside { row, .. } | TimeWalkError::Disorder { row, .. } => {
                format!("data[{row}].timestamp")
            }
        };
        Self::UnexpectedReply {
            path,
            message: lost.to_string(),
        }
    }
}

/// The oldest instant read so far, and all its rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Oldest {
    at: Option<Millis>,
    rows: Vec<Order>,
}

impl Oldest {
    /// Updates the oldest instant with rows that were read.
    pub(super) fn note(&mut self, rows: &OrderColumns) {
        let Some(least) = rows.timestamp.iter().min().copied() else {
            return;
        };
        if self.at.is_some_and(|at| at < least) {
            return;
        }
        if self.at != Some(least) {
            self.rows.clear();
            self.at = Some(least);
        }
        let times = rows.timestamp.iter().enumerate();
        let of_it = times.filter(|(_, at)| **at == least);
        self.rows.extend(of_it.filter_map(|(row, _)| rows.get(row)));
    }
}

/// The state of a walk by time range.
#[derive(Debug)]
pub(super) struct Behind {
    page: usize,
    /// Number of rows that the walk may still return.
    wanted: u64,
    start: Option<Millis>,
    end: Option<Millis>,
    oldest: Oldest,
    ended: bool,
}

impl Behind {
    /// Creates a walk over at most `wanted` rows from `start` up to but excluding `end`, in pages of `page` rows.
    pub(super) fn new(
        page: usize,
        wanted: u64,
        (start, end): (Option<Millis>, Option<Millis>),
    ) -> Self {
        Self {
            page,
            wanted,
            // If there are no bounds, the start is 0, because a request counts as one by time range only if it has a
            // bound.
            start: start.or(end.is_none().then_some(Millis(0))),
            end,
            oldest: Oldest::default(),
            ended: false,
        }
    }

    /// Creates a walk over the rows that are older than those of the feed. `oldest` describes the feed's oldest rows.
    pub(super) fn after(page: usize, wanted: u64, oldest: Oldest) -> Self {
        Self {
            start: oldest.at.is_none().then_some(Millis(0)),
            oldest,
            ..Self::new(page, wanted, (None, None))
        }
    }

    /// Returns the next page to request. `None` at the end.
    pub(super) fn ask(&self) -> Option<TimePageRequest> {
        if self.ended || self.wanted == 0 {
            return None;
        }
        let wanted = usize::try_from(self.wanted).unwrap_or(usize::MAX);
        let fresh = self.page.min(wanted);
        Some(TimePageRequest {
            start: self.start,
            end: self.oldest.at.map_or(self.end, |at| Some(at.on(1))),
            limit: fresh.saturating_add(self.oldest.rows.len()).min(LARGEST),
        })
    }

    /// Returns the rows of a page that were not read before.
    pub(super) fn take(
        &mut self,
        ask: TimePageRequest,
        rows: &OrderColumns,
    ) -> Result<OrderColumns, TimeWalkError> {
        let mut read = self.oldest.rows.clone();
        let mut before: Option<Millis> = None;
        let mut fresh = OrderColumns::default();
        for (row, order) in rows.iter().enumerate() {
            let at = order.timestamp;
            if ask.start.is_some_and(|start| at < start) || ask.end.is_some_and(|end| at >= end) {
                return Err(TimeWalkError::Outside { row, at });
            }
            if before.is_some_and(|before| at > before) {
                return Err(TimeWalkError::Disorder { row, at });
            }
            before = Some(at);
            match read.iter().position(|known| *known == order) {
                Some(place) => drop(read.swap_remove(place)),
                None if fresh.len() as u64 == self.wanted => break,
                None => {
                    let group = rows.group_id.get(row).cloned().flatten();
                    fresh.push_grouped(&order, group);
                }
            }
        }
        if fresh.is_empty() {
            if let Some(at) = before
                && rows.len() >= LARGEST
            {
                return Err(TimeWalkError::Instant { at });
            }
            self.ended = true;
        }
        self.oldest.note(&fresh);
        self.wanted -= fresh.len() as u64;
        Ok(fresh)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use crate::client::walk::by_time::*;
    use crate::model::Side;

    fn order(at: i64, kind: i64) -> Order {
        Order {
            exchange: "okx".to_owned(),
            symbol: "BTCUSDT".to_owned(),
            side: Side::Long,
            price: kind.into(),
            qty: 1.into(),
            value_usd: 1.into(),
            timestamp: Millis(at),
        }
    }

    /// Returns the rows that a service returns for a request, newest first.
    fn served(orders: &[Order], ask: TimePageRequest) -> OrderColumns {
        let asked = orders.iter().filter(|order| {
            ask.start.is_none_or(|start| order.timestamp >= start)
                && ask.end.is_none_or(|end| order.timestamp < end)
        });
        asked.take(ask.limit).collect()
    }

    fn newest_first(mut orders: Vec<Order>) -> Vec<Order> {
        orders.sort_by_key(|order| std::cmp::Reverse(order.timestamp));
        orders
    }

    proptest! {
        /// Rows arrive during the walk, also rows of the instant that the walk is reading.
        #[test]
        fn all_rows_come_once(
            rows in prop::collection::vec((1..20_i64, 0..3_i64), 0..80),
            late in prop::collection::vec((1..20_i64, 0..3_i64), 0..10),
            page in 1..9_usize,
            head in 0..6_usize,
        ) {
            let mut orders = newest_first(rows.iter().map(|(at, kind)| order(*at, *kind)).collect());
            let at_first = orders.clone();
            let mut oldest = Oldest::default();
            let mut all: Vec<Order> = orders.iter().take(head).cloned().collect();
            oldest.note(&all.iter().collect());
            let mut walk = Behind::after(page, u64::MAX, oldest);
            let mut late = late.into_iter();
            while let Some(ask) = walk.ask() {
                let fresh = walk.take(ask, &served(&orders, ask)).unwrap();
                all.extend(fresh.iter());
                if let Some((at, kind)) = late.next() {
                    orders.push(order(at, kind));
                    orders = newest_first(orders);
                }
            }
            // Rows are returned in descending order of time. Rows of one instant may have any order.
            prop_assert!(all.is_sorted_by_key(|order| std::cmp::Reverse(order.timestamp)));
            let mut left = orders;
            for order in &all {
                let place = left.iter().position(|known| known == order);
                prop_assert!(place.is_some(), "doubled: {order:?}");
                left.swap_remove(place.unwrap());
            }
            for order in &at_first {
                let given = all.iter().filter(|known| *known == order).count();
                let there = at_first.iter().filter(|known| *known == order).count();
                prop_assert!(given >= there, "lost: {order:?}");
            }
        }
    }

    #[test]
    fn an_instant_of_more_rows_than_a_page_is_refused_rather_than_asked_for_ever() {
        let orders: Vec<Order> = (0..1500).map(|_| order(7, 1)).collect();
        let mut walk = Behind::new(400, u64::MAX, (None, Some(Millis(8))));
        let mut given = 0;
        let lost = loop {
            let ask = walk.ask().unwrap();
            match walk.take(ask, &served(&orders, ask)) {
                Ok(fresh) => given += fresh.len(),
                Err(lost) => break lost,
            }
        };
        assert_eq!(
            (given, lost),
            (1000, TimeWalkError::Instant { at: Millis(7) })
        );
    }

    #[test]
    fn rows_that_were_not_asked_for_are_refused() {
        let mut walk = Behind::new(5, 10, (Some(Millis(3)), Some(Millis(6))));
        let ask = walk.ask().unwrap();
        for (at, row) in [([6, 5], 0), ([5, 2], 1)] {
            let rows = at.iter().map(|at| order(*at, 1)).collect::<Vec<_>>();
            let lost = walk.take(ask, &rows.iter().collect()).unwrap_err();
            assert!(matches!(lost, TimeWalkError::Outside { row: found, .. } if found == row));
        }
        let rows = [order(4, 1), order(5, 1)];
        let lost = walk.take(ask, &rows.iter().collect()).unwrap_err();
        assert_eq!(
            lost,
            TimeWalkError::Disorder {
                row: 1,
                at: Millis(5)
            }
        );
    }
}
