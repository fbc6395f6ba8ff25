//! The columns of a ring, sorted by event time.
//!
//! Among orders with equal event times, the one received last comes first.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;

use crate::engine::rolling::decimal_queue::{DecimalQueue, QueuedDecimal};
use crate::engine::rolling::gather::{PartPlace, each, pick};
use crate::model::{ExactSum, Millis, Side};

/// Number of a listed pair and side of an order, in 32 bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairSide(u32);

impl PairSide {
    pub fn new(pair: u32, side: Side) -> Self {
        Self(pair << 1 | u32::from(side == Side::Short))
    }

    pub fn pair(self) -> u32 {
        self.0 >> 1
    }

    pub fn side(self) -> Side {
        if self.0 & 1 == 0 {
            Side::Long
        } else {
            Side::Short
        }
    }
}

/// One order, as a row of the columns.
#[derive(Clone, Copy, Debug)]
pub struct RingRow {
    pub timestamp: Millis,
    pub received_at: Millis,
    pub kind: PairSide,
    pub price: QueuedDecimal,
    pub qty: QueuedDecimal,
    pub usd: QueuedDecimal,
}

/// Sort key: event time, then latest receipt first, because replies read from the end.
type Key = (Millis, Reverse<Millis>);

impl RingRow {
    pub fn key(&self) -> Key {
        (self.timestamp, Reverse(self.received_at))
    }
}

#[derive(Debug, Default)]
pub struct RingColumns {
    pub timestamps: VecDeque<Millis>,
    pub received: VecDeque<Millis>,
    pub kinds: VecDeque<PairSide>,
    pub prices: DecimalQueue,
    pub qtys: DecimalQueue,
    pub usds: DecimalQueue,
}

impl RingColumns {
    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Appends a row.
    pub fn push(&mut self, row: RingRow) {
        self.timestamps.push_back(row.timestamp);
        self.received.push_back(row.received_at);
        self.kinds.push_back(row.kind);
        self.prices.push_back(row.price);
        self.qtys.push_back(row.qty);
        self.usds.push_back(row.usd);
    }

    /// Removes the first row and returns its amount.
    pub fn pop_front(&mut self) -> Option<ExactSum> {
        self.timestamps.pop_front();
        self.received.pop_front();
        self.kinds.pop_front();
        self.prices.pop_front();
        self.qtys.pop_front();
        self.usds.pop_front()
    }

    /// Discards a row that was never added to the columns, and returns its amount.
    pub fn forget(&mut self, row: RingRow) -> ExactSum {
        self.prices.forget(row.price);
        self.qtys.forget(row.qty);
        self.usds.forget(row.usd)
    }

    /// Number of rows up to `at`, inclusive.
    pub fn until(&self, at: Millis) -> usize {
        self.timestamps
            .partition_point(|timestamp| *timestamp <= at)
    }

    /// Pair, side and amount of a row.
    #[inline]
    pub fn amount(&self, place: usize) -> (PairSide, ExactSum) {
        let kind = self.kinds.get(place).copied().unwrap_or_default();
        (kind, self.usds.amount_at(place))
    }

    /// Index of the first row that does not sort before `key`. This is nearly always the end.
    pub fn place(&self, key: Key) -> usize {
        let mut place = self.timestamps.partition_point(|at| *at < key.0);
        while self.timestamps.get(place) == Some(&key.0)
            && self
                .received
                .get(place)
                .is_some_and(|received| Reverse(*received) < key.1)
        {
            place += 1;
        }
        place
    }

    /// Removes and returns the rows from `place` on.
    pub fn tail(&mut self, place: usize) -> Vec<RingRow> {
        let rows = self
            .timestamps
            .drain(place..)
            .zip(self.received.drain(place..))
            .zip(self.kinds.drain(place..))
            .zip(self.prices.drain(place))
            .zip(self.qtys.drain(place))
            .zip(self.usds.drain(place));
        rows.map(
            |(((((timestamp, received_at), kind), price), qty), usd)| RingRow {
                timestamp,
                received_at,
                kind,
                price,
                qty,
                usd,
            },
        )
        .collect()
    }

    /// Sorts the rows, which must be in order of arrival.
    pub fn sort(&mut self) {
        // Among rows with equal keys, the last to arrive comes first.
        let keys = self.timestamps.iter().zip(&self.received);
        if keys.is_sorted_by(|a, b| (a.0, Reverse(a.1)) < (b.0, Reverse(b.1))) {
            return;
        }
        let spots = in_order(&[self], |_, place| Reverse(place));
        *self = Self::picked(&[self], &spots);
    }

    /// Merges sorted columns. The rows of each arrived after the rows of the columns before it.
    pub fn together(parts: &[&Self]) -> Self {
        Self::picked(
            parts,
            &in_order(parts, |part, place| (Reverse(part), place)),
        )
    }

    fn picked(parts: &[&Self], spots: &[PartPlace]) -> Self {
        let decimals = |column: fn(&Self) -> &DecimalQueue| {
            let columns: Vec<&DecimalQueue> = parts.iter().map(|part| column(part)).collect();
            DecimalQueue::picked(&columns, spots)
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

    /// Replaces each pair number by the value at that index of `pairs`.
    pub fn rename(&mut self, pairs: &[u32]) {
        for kind in &mut self.kinds {
            let ours = pairs.get(kind.pair() as usize).copied();
            *kind = PairSide::new(ours.unwrap_or_default(), kind.side());
        }
    }

    /// Indexes of the rows in `(start, end]`.
    pub fn within(&self, start: Millis, end: Millis) -> Range<usize> {
        let end = self.until(end);
        self.until(start).min(end)..end
    }
}

/// Sorts the rows of all parts.
///
/// Among rows with equal keys, the lowest `rank` comes first.
fn in_order<K: Ord>(parts: &[&RingColumns], rank: impl Fn(u32, u32) -> K + Copy) -> Vec<PartPlace> {
    let all = parts.iter().map(|part| part.len()).sum();
    let mut keys: Vec<(Millis, PartPlace)> = Vec::with_capacity(all);
    for (number, part) in (0..).zip(parts) {
        let times = part.timestamps.iter().zip(0..);
        keys.extend(times.map(|(at, place)| {
            let spot = PartPlace {
                part: number,
                place,
            };
            (*at, spot)
        }));
    }
    // Most keys differ in time. A stable sort is fast on nearly sorted input.
    keys.sort_by_key(|(at, _)| *at);
    let received = |spot: &PartPlace| {
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
