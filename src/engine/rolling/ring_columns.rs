//! The columns of a ring: orders by time, and of one instant the last to have been received first.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;

use crate::engine::rolling::decimal_queue::{Decimals, Kept};
use crate::engine::rolling::gather::{Spot, each, pick};
use crate::model::{ExactSum, Millis, Side};

/// Which pair on which exchange an order is of, and which side.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Kind(u32);

impl Kind {
    pub(crate) fn new(pair: u32, side: Side) -> Self {
        Self(pair << 1 | u32::from(side == Side::Short))
    }

    pub(in crate::engine) fn pair(self) -> u32 {
        self.0 >> 1
    }

    pub(in crate::engine) fn side(self) -> Side {
        if self.0 & 1 == 0 {
            Side::Long
        } else {
            Side::Short
        }
    }
}

/// One order of the columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) timestamp: Millis,
    pub(crate) received_at: Millis,
    pub(crate) kind: Kind,
    pub(crate) price: Kept,
    pub(crate) qty: Kept,
    pub(crate) usd: Kept,
}

/// Rows stand by time; those of one instant stand latest first, because answers are read from the end.
type Key = (Millis, Reverse<Millis>);

impl Row {
    pub(crate) fn key(&self) -> Key {
        (self.timestamp, Reverse(self.received_at))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) timestamps: VecDeque<Millis>,
    pub(crate) received: VecDeque<Millis>,
    pub(crate) kinds: VecDeque<Kind>,
    pub(crate) prices: Decimals,
    pub(crate) qtys: Decimals,
    pub(crate) usds: Decimals,
}

impl Columns {
    pub(crate) fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Puts a row at the end.
    pub(crate) fn push(&mut self, row: Row) {
        self.timestamps.push_back(row.timestamp);
        self.received.push_back(row.received_at);
        self.kinds.push_back(row.kind);
        self.prices.push_back(row.price);
        self.qtys.push_back(row.qty);
        self.usds.push_back(row.usd);
    }

    /// Lets go of the first row, and gives its amount.
    pub(crate) fn pop_front(&mut self) -> Option<ExactSum> {
        self.timestamps.pop_front();
        self.received.pop_front();
        self.kinds.pop_front();
        self.prices.pop_front();
        self.qtys.pop_front();
        self.usds.pop_front()
    }

    /// Lets go of a row that is in no column, and gives its amount.
    pub(crate) fn forget(&mut self, row: Row) -> ExactSum {
        self.prices.forget(row.price);
        self.qtys.forget(row.qty);
        self.usds.forget(row.usd)
    }

    /// How many rows are of `at` or before.
    pub(crate) fn until(&self, at: Millis) -> usize {
        self.timestamps
            .partition_point(|timestamp| *timestamp <= at)
    }

    /// Kind and amount of a row.
    #[inline]
    pub(crate) fn amount(&self, place: usize) -> (Kind, ExactSum) {
        let kind = self.kinds.get(place).copied().unwrap_or_default();
        (kind, self.usds.amount_at(place))
    }

    /// The place of the first row that is not before `key`; nearly always the end.
    pub(crate) fn place(&self, key: Key) -> usize {
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

    /// Takes out the rows from `place` on.
    pub(crate) fn tail(&mut self, place: usize) -> Vec<Row> {
        let rows = self
            .timestamps
            .drain(place..)
            .zip(self.received.drain(place..))
            .zip(self.kinds.drain(place..))
            .zip(self.prices.drain(place))
            .zip(self.qtys.drain(place))
            .zip(self.usds.drain(place));
        rows.map(
            |(((((timestamp, received_at), kind), price), qty), usd)| Row {
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

    /// Brings rows that were put in as they arrived into order.
    pub(crate) fn sort(&mut self) {
        // Of equals the last to arrive stands first.
        let keys = self.timestamps.iter().zip(&self.received);
        if keys.is_sorted_by(|a, b| (a.0, Reverse(a.1)) < (b.0, Reverse(b.1))) {
            return;
        }
        let spots = in_order(&[self], |_, place| Reverse(place));
        *self = Self::picked(&[self], &spots);
    }

    /// All rows of some columns, each of which is in order and arrived after all of the ones before it.
    pub(crate) fn together(parts: &[&Self]) -> Self {
        Self::picked(
            parts,
            &in_order(parts, |part, place| (Reverse(part), place)),
        )
    }

    fn picked(parts: &[&Self], spots: &[Spot]) -> Self {
        let decimals = |column: fn(&Self) -> &Decimals| {
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

    /// Gives every pair the number that stands for it in `pairs`.
    pub(crate) fn rename(&mut self, pairs: &[u32]) {
        for kind in &mut self.kinds {
            let ours = pairs.get(kind.pair() as usize).copied();
            *kind = Kind::new(ours.unwrap_or_default(), kind.side());
        }
    }

    /// The places behind `start` and up to `end`.
    pub(crate) fn within(&self, start: Millis, end: Millis) -> Range<usize> {
        let end = self.until(end);
        self.until(start).min(end)..end
    }
}

/// The places of all rows of some parts, in order; of equals the one whose `rank` is the least stands first.
fn in_order<K: Ord>(parts: &[&Columns], rank: impl Fn(u32, u32) -> K + Copy) -> Vec<Spot> {
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
