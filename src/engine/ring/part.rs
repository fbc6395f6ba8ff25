//! Filling a ring at once: its orders are taken in by parts, each by a thread of its own, and joined in one pass.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::decimals::Decimals;
use super::{Key, Ring, RingFault, Sums, WINDOWS};
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
    last: Option<Key>,
    sorted: bool,
}

/// Where an order lies among parts; orders are counted in millions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spot {
    pub(super) part: u32,
    place: u32,
}

/// A column of every part.
pub(super) fn each<'a, P, T>(
    parts: &[&'a P],
    column: impl Fn(&'a P) -> &'a VecDeque<T>,
) -> Vec<&'a VecDeque<T>> {
    parts.iter().map(|part| column(part)).collect()
}

/// The values of some columns at some places.
pub(super) fn pick<T: Copy + Default>(columns: &[&VecDeque<T>], spots: &[Spot]) -> VecDeque<T> {
    let at = |spot: &Spot| {
        let column = columns.get(spot.part as usize)?;
        column.get(spot.place as usize).copied()
    };
    let mut picked: Vec<T> = Vec::with_capacity(spots.len());
    let together = |a: &Spot, b: &Spot| a.part == b.part && a.place + 1 == b.place;
    for run in spots.chunk_by(together) {
        // What lies together is taken together.
        match run
            .first()
            .and_then(|first| values(columns, *first, run.len()))
        {
            Some(values) => picked.extend_from_slice(values),
            None => picked.extend(run.iter().map(|spot| at(spot).unwrap_or_default())),
        }
    }
    picked.into()
}

/// So many values of a column from a place on, where they lie in one piece and are worth the look.
fn values<'a, T>(columns: &[&'a VecDeque<T>], first: Spot, len: usize) -> Option<&'a [T]> {
    const WORTH: usize = 16;
    if len < WORTH {
        return None;
    }
    let (values, _) = columns.get(first.part as usize)?.as_slices();
    let start = first.place as usize;
    values.get(start..start.checked_add(len)?)
}

impl RingPart {
    /// A part without orders, of a ring at an instant.
    #[must_use]
    pub fn new(now: Millis) -> Self {
        Self {
            ring: Ring::new(now),
            known: Vec::new(),
            last: None,
            sorted: true,
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
        let row = ring.row_of(pair, order);
        if row.timestamp <= ring.now {
            ring.count(&row, usd);
        }
        ring.push_row(row);
        let key = (row.timestamp, Reverse(row.received_at));
        // Of equals the last to arrive stands first.
        self.sorted &= self.last.is_none_or(|last| last < key);
        self.last = Some(key);
        Ok(())
    }

    /// The number of an order's pair.
    fn pair(&mut self, order: &OrderBrief<'_>) -> u32 {
        let names = order.names;
        let known = names.and_then(|names| self.known.get(names as usize).copied());
        if let Some(pair) = known.filter(|pair| *pair != u32::MAX) {
            return pair;
        }
        let pair = self
            .ring
            .names
            .pair(order.exchange, order.symbol, order.coin);
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
        if self.sorted {
            return;
        }
        let ring = &mut self.ring;
        let spots = in_order(&[ring], |_, place| Reverse(place));
        let columns = Columns::picked(&[ring], &spots);
        columns.put(ring);
        self.sorted = true;
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
        let parts: Vec<Ring> = parts.into_iter().map(|part| part.ring).collect();
        let parts: Vec<&Ring> = parts.iter().collect();
        Columns::picked(
            &parts,
            &in_order(&parts, |part, place| (Reverse(part), place)),
        )
        .put(&mut ring);
        for place in 0..ring.len() {
            ring.peaks.push_back(ring.usds.units_at(place));
        }
        ring.find_cursors();
        Ok(ring)
    }

    /// Takes in everything of `part` but its rows, which get our names.
    fn absorb(&mut self, part: &mut Self) -> Result<(), RingFault> {
        let total = self.total.checked_add(part.total);
        self.total = total.ok_or(RingFault::Sum)?;
        let pairs = self.names.absorb(&part.names);
        self.sums
            .resize(self.names.len(), [Sums::default(); WINDOWS]);
        // Pairs of one exchange and coin share their sums.
        let mut places = vec![usize::MAX; part.sums.len()];
        for (theirs, ours) in (0..).zip(&pairs) {
            self.hours.merge(*ours, part.hours.of(theirs));
            if let Some(place) = places.get_mut(part.names.sum_of(theirs)) {
                *place = self.names.sum_of(*ours);
            }
        }
        for (place, theirs) in places.into_iter().zip(&part.sums) {
            let ours = self.sums.get_mut(place).into_iter().flatten();
            for (sums, more) in ours.zip(theirs) {
                sums.merge(more);
            }
        }
        for kind in &mut part.kinds {
            let ours = pairs.get((*kind >> 1) as usize).copied();
            *kind = ours.unwrap_or_default() << 1 | *kind & 1;
        }
        Ok(())
    }
}

/// The places of all orders of some parts, in order; of equals the one whose `rank` is the least stands first.
fn in_order<K: Ord>(parts: &[&Ring], rank: impl Fn(u32, u32) -> K + Copy) -> Vec<Spot> {
    let all = parts.iter().map(|part| part.len()).sum();
    let mut keys: Vec<(Millis, Spot)> = Vec::with_capacity(all);
    for (number, part) in (0..).zip(parts) {
        let times = part.timestamps.iter().zip(0..);
        keys.extend(times.map(|(at, place)| {
            let spot = Spot {
                part: number,
                place,
            };
            (*at, spot)
        }));
    }
    // Nearly all differ in time, which is quick to sort by. What is nearly in order, it is quicker to sort like this.
    keys.sort_by_key(|(at, _)| *at);
    let received = |spot: &Spot| {
        let part = parts.get(spot.part as usize);
        let received = part.and_then(|part| part.received.get(spot.place as usize));
        Reverse(received.copied())
    };
    for equals in keys.chunk_by_mut(|a, b| a.0 == b.0) {
        if equals.len() > 1 {
            equals.sort_by_cached_key(|(_, spot)| (received(spot), rank(spot.part, spot.place)));
        }
    }
    keys.into_iter().map(|(_, spot)| spot).collect()
}

/// The columns of a ring.
struct Columns {
    timestamps: VecDeque<Millis>,
    received: VecDeque<Millis>,
    kinds: VecDeque<u32>,
    prices: Decimals,
    qtys: Decimals,
    usds: Decimals,
}

impl Columns {
    fn picked(parts: &[&Ring], spots: &[Spot]) -> Self {
        let decimals = |column: fn(&Ring) -> &Decimals| {
            let columns: Vec<&Decimals> = parts.iter().map(|part| column(part)).collect();
            Decimals::picked(&columns, spots)
        };
        Self {
            timestamps: pick(&each(parts, |part| &part.timestamps), spots),
            received: pick(&each(parts, |part| &part.received), spots),
            kinds: pick(&each(parts, |part| &part.kinds), spots),
            prices: decimals(|part| &part.prices),
            qtys: decimals(|part| &part.qtys),
            usds: decimals(|part| &part.usds),
        }
    }

    fn put(self, ring: &mut Ring) {
        ring.timestamps = self.timestamps;
        ring.received = self.received;
        ring.kinds = self.kinds;
        ring.prices = self.prices;
        ring.qtys = self.qtys;
        ring.usds = self.usds;
    }
}
