//! Filling a ring at once: its orders are taken in by parts, each by a thread of its own, and joined in one pass.

use crate::engine::rolling::ring::{Ring, RingFault};
use crate::engine::rolling::ring_columns::Columns;
use crate::model::{Millis, OrderBrief, Window};

/// Orders on their way into a [`Ring`], which are taken in apart from others.
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
    /// Everything but the order of its rows and its cursors is as in a ring.
    ring: Ring,
    /// Our numbers of pairs by those of whoever hands orders over.
    known: Vec<u32>,
    /// Whether the orders are in order: of equals the last to arrive stands first then, which must not be turned again.
    settled: bool,
}

impl RingPart {
    /// A part without orders, of a ring at an instant.
    #[must_use]
    pub fn new(now: Millis) -> Self {
        Self {
            ring: Ring::new(now),
            known: Vec::new(),
            settled: true,
        }
    }

    /// Takes in one order, which has arrived after all others of this part; one too old for any window is left out. Where
    /// its names have a number, no others of this part have it.
    ///
    /// # Errors
    ///
    /// [`RingFault`] where its amount cannot be counted exactly; it is not taken in then.
    pub fn push(&mut self, order: &OrderBrief<'_>) -> Result<(), RingFault> {
        let (usd, total) = self.ring.with_amount(order.value_usd)?;
        let pair = self.pair(order);
        let ring = &mut self.ring;
        if order.timestamp <= ring.now.back(Window::H24.millis()) {
            // Its names are known all the same.
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

    /// The number of an order's pair.
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

    /// Brings the orders into the order of a ring; [`Ring::of_parts`] does so, too, but for one part after the other.
    pub fn settle(&mut self) {
        if !self.settled {
            self.ring.columns.sort();
            self.settled = true;
        }
    }
}

impl Ring {
    /// The ring of the orders of some parts, each of which arrived after all of the part before it.
    ///
    /// It is the ring that they would make if they were inserted one by one. It is at `now`, or at the latest instant of
    /// its parts where that is later.
    ///
    /// # Errors
    ///
    /// [`RingFault::Sum`] where the sum of all amounts cannot be counted exactly.
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
        let columns: Vec<&Columns> = parts.iter().map(|part| &part.ring.columns).collect();
        ring.columns = Columns::together(&columns);
        ring.put_together();
        Ok(ring)
    }

    /// Takes in everything of `part` but its rows, which get our names.
    fn absorb(&mut self, part: &mut Self) -> Result<(), RingFault> {
        self.total = self.with_total(part.total)?;
        let pairs = self.names.absorb(&part.names);
        self.room_for_names();
        // Pairs of one exchange and coin share their sums.
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
