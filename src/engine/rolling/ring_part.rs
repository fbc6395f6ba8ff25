//! Parallel construction of a ring from parts.

use crate::engine::rolling::ring::{Ring, RingFault};
use crate::engine::rolling::ring_columns::RingColumns;
use crate::model::{Millis, OrderBrief, Window};

/// A part of a [`Ring`] that one thread fills.
///
/// # Examples
///
/// ```
/// use liqdata::engine::{Observations, Ring, RingPart, overview};
/// use liqdata::model::{Millis, OrderBrief, Side};
///
/// let now = Millis(1_781_136_000_000);
/// let order = OrderBrief {
///     number: 0, names: None, exchange: "okx", symbol: "BTCUSDT", coin: "BTC", side: Side::Long,
///     price: 60_000.into(), qty: 2.into(), value_usd: 120_000.into(),
///     timestamp: now, received_at: now,
/// };
/// let (mut first, mut second) = (RingPart::new(now), RingPart::new(now));
/// first.push(&order)?;
/// second.push(&order)?;
/// let ring = Ring::of_parts(now, vec![first, second])?;
/// let nothing = Observations::new(Vec::new(), Vec::new(), Vec::new(), Some(now))?;
/// assert!(overview(&ring.view(&nothing)).present().all(|(_, totals)| totals.cnt == 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RingPart {
    /// A ring with unsorted rows and without cursors.
    ring: Ring,
    /// Maps the pair numbers that the source uses to the numbers in this part.
    known: Vec<u32>,
    /// Whether the orders are sorted. A second sort would reverse orders with equal keys.
    settled: bool,
}

impl RingPart {
    /// Creates an empty part at an instant.
    #[must_use]
    pub fn new(now: Millis) -> Self {
        Self {
            ring: Ring::new(now),
            known: Vec::new(),
            settled: true,
        }
    }

    /// Adds an order. An order that is too old for all windows is dropped.
    ///
    /// Orders must be given in order of arrival. If an order has a number for its names, this number must stand for
    /// the same names in the whole part.
    ///
    /// # Errors
    ///
    /// [`RingFault`] if the amount cannot be counted exactly. In that case the order is not added.
    pub fn push(&mut self, order: &OrderBrief<'_>) -> Result<(), RingFault> {
        let (usd, total) = self.ring.with_amount(order.value_usd)?;
        let pair = self.pair(order);
        let ring = &mut self.ring;
        if order.timestamp <= ring.now.back(Window::H24.millis()) {
            // The order is dropped, but its names are already registered.
            return Ok(());
        }
        ring.total = total;
        let row = ring.row(pair, order);
        if row.timestamp <= ring.now {
            ring.count(row.kind, row.timestamp, usd);
        }
        ring.columns.push(row);
        self.settled = false;
        Ok(())
    }

    /// The number of an order's trading pair in this part.
    fn pair(&mut self, order: &OrderBrief<'_>) -> u32 {
        let names = order.names;
        let known = names.and_then(|names| self.known.get(names as usize).copied());
        if let Some(pair) = known.filter(|pair| *pair != u32::MAX) {
            return pair;
        }
        let pair = self.ring.pair(order);
        if let Some(names) = names {
            let place = names as usize;
            if self.known.len() <= place {
                self.known.resize(place + 1, u32::MAX);
            }
            if let Some(known) = self.known.get_mut(place) {
                *known = pair;
            }
        }
        pair
    }

    /// Sorts the orders.
    ///
    /// [`Ring::of_parts`] sorts unsorted parts too, but one after another on one thread.
    pub fn settle(&mut self) {
        if !self.settled {
            self.ring.columns.sort();
            self.settled = true;
        }
    }
}

impl Ring {
    /// Merges parts. The orders of each part arrived after those of the part before it.
    ///
    /// The result equals a ring with the same orders inserted one by one. Its windows end at `now`, or at the end of a
    /// part's windows if that is later.
    ///
    /// # Errors
    ///
    /// [`RingFault::Sum`] if the sum of all amounts exceeds the limit.
    pub fn of_parts(now: Millis, mut parts: Vec<RingPart>) -> Result<Self, RingFault> {
        let now = parts
            .iter()
            .map(|part| part.ring.now)
            .fold(now, Millis::max);
        let mut ring = Self::new(now);
        for part in &mut parts {
            part.settle();
            part.ring.find_cursors();
            part.ring.advance(now);
            ring.absorb(&mut part.ring)?;
        }
        let columns: Vec<&RingColumns> = parts.iter().map(|part| &part.ring.columns).collect();
        ring.columns = RingColumns::together(&columns);
        ring.rebuild_bounds();
        Ok(ring)
    }

    /// Adds the sums and names of `part`, and renumbers its rows.
    fn absorb(&mut self, part: &mut Self) -> Result<(), RingFault> {
        self.total = self.with_total(part.total)?;
        let pairs = self.names.absorb(&part.names);
        self.grow_sums();
        // Pairs with the same exchange and coin have one sum in common.
        let mut places = vec![usize::MAX; part.names.len()];
        for (theirs, ours) in (0..).zip(&pairs) {
            self.hours.merge(*ours, part.hours.of(theirs));
            if let Some(place) = places.get_mut(part.names.sum_of(theirs)) {
                *place = self.names.sum_of(*ours);
            }
        }
        for (sums, theirs) in self.sums.iter_mut().zip(&part.sums) {
            for (place, more) in places.iter().zip(&theirs.named) {
                sums.merge(*place, more);
            }
        }
        part.columns.rename(&pairs);
        Ok(())
    }
}
