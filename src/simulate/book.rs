//! The open positions, and which of them end when the mark price moves.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::coins::VENUE_COUNT;
use super::traders::{Exits, Terms};
use crate::model::{Millis, Side};

/// An open position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) terms: Terms,
    pub(super) venue: usize,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "tests hold the bars since against it")
    )]
    pub(super) opened: Millis,
    alive: bool,
    /// The next position that ends in the same bar.
    next: Option<u32>,
}

/// A position that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) side: Side,
    pub(super) venue: usize,
    pub(super) lots: i64,
    /// The price that ended it.
    pub(super) trigger: f64,
    pub(super) liquidated: bool,
}

/// All positions of a coin, by the prices that end them.
///
/// A trigger price is kept by its bits, whose order is that of positive numbers, so equal prices are broken by age
/// and every run pops the same order. Entries of positions that ended otherwise are dropped when they come up.
#[derive(Debug)]
pub(super) struct Book {
    positions: Vec<Open>,
    falling: BinaryHeap<(u64, u32)>,
    rising: BinaryHeap<Reverse<(u64, u32)>>,
    /// By bar, the first of a chain of positions whose time is up.
    due: Vec<Option<u32>>,
    /// Lots held by venue and side.
    held: [[i64; 2]; VENUE_COUNT],
}

impl Book {
    /// An empty book for so many bars.
    pub(super) fn new(bars: usize) -> Self {
        Self {
            positions: Vec::new(),
            falling: BinaryHeap::new(),
            rising: BinaryHeap::new(),
            due: vec![None; bars],
            held: [[0; 2]; VENUE_COUNT],
        }
    }

    /// Lots the traders of a venue hold long and short.
    pub(super) fn held(&self, venue: usize) -> (i64, i64) {
        self.held
            .get(venue)
            .map_or((0, 0), |&[long, short]| (long, short))
    }

    /// The positions still open, oldest first.
    pub(super) fn open(&self) -> impl Iterator<Item = &Open> {
        self.positions.iter().filter(|position| position.alive)
    }

    /// Opens a position that ends at the start of bar `due` at the latest.
    pub(super) fn enter(
        &mut self,
        terms: Terms,
        exits: Exits,
        venue: usize,
        opened: Millis,
        due: usize,
    ) {
        // A run opens fewer than a million positions.
        let Ok(id) = u32::try_from(self.positions.len()) else {
            return;
        };
        let mut next = None;
        if let Some(first) = self.due.get_mut(due) {
            next = first.replace(id);
        }
        self.positions.push(Open {
            terms,
            venue,
            opened,
            alive: true,
            next,
        });
        if let Some(down) = exits.down {
            self.falling.push((down.to_bits(), id));
        }
        if let Some(up) = exits.up {
            self.rising.push(Reverse((up.to_bits(), id)));
        }
        self.add(venue, terms.side, terms.lots);
    }

    /// Ends every position whose trigger the mark price reaches on its way to `to`, in the order it reaches them.
    pub(super) fn cross(&mut self, to: f64, mut on_end: impl FnMut(Ended)) {
        while let Some(&(bits, id)) = self.falling.peek()
            && f64::from_bits(bits) >= to
        {
            self.falling.pop();
            if let Some(ended) = self.end(id, f64::from_bits(bits)) {
                on_end(ended);
            }
        }
        while let Some(&Reverse((bits, id))) = self.rising.peek()
            && f64::from_bits(bits) <= to
        {
            self.rising.pop();
            if let Some(ended) = self.end(id, f64::from_bits(bits)) {
                on_end(ended);
            }
        }
    }

    /// Ends the positions whose time is up in bar `bar` at `price`, and returns their lots.
    pub(super) fn expire(&mut self, bar: usize, price: f64) -> i64 {
        let mut lots = 0_i64;
        let mut next = self.due.get_mut(bar).and_then(Option::take);
        while let Some(id) = next {
            next = usize::try_from(id)
                .ok()
                .and_then(|id| self.positions.get(id))
                .and_then(|position| position.next);
            if let Some(ended) = self.end(id, price) {
                lots = lots.saturating_add(ended.lots);
            }
        }
        lots
    }

    fn end(&mut self, id: u32, trigger: f64) -> Option<Ended> {
        let position = self.positions.get_mut(usize::try_from(id).ok()?)?;
        if !std::mem::take(&mut position.alive) {
            return None;
        }
        let Open { terms, venue, .. } = *position;
        self.add(venue, terms.side, -terms.lots);
        Some(Ended {
            side: terms.side,
            venue,
            lots: terms.lots,
            trigger,
            liquidated: trigger.to_bits() == terms.liquidation.to_bits(),
        })
    }

    fn add(&mut self, venue: usize, side: Side, lots: i64) {
        if let Some(held) = self
            .held
            .get_mut(venue)
            .and_then(|sides| sides.get_mut(side.index()))
        {
            *held = held.saturating_add(lots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(entry: f64, liquidation: f64, stop: Option<f64>) -> (Terms, Exits) {
        let terms = Terms {
            side: Side::Long,
            leverage: 10.0,
            entry,
            lots: 3,
            liquidation,
        };
        let exits = Exits {
            down: Some(stop.unwrap_or(liquidation)),
            up: Some(entry * 1.1),
        };
        (terms, exits)
    }

    fn enter(book: &mut Book, (terms, exits): (Terms, Exits), venue: usize, due: usize) {
        book.enter(terms, exits, venue, Millis(0), due);
    }

    fn crossed(book: &mut Book, to: f64) -> Vec<(f64, bool)> {
        let mut ended = Vec::new();
        book.cross(to, |end| ended.push((end.trigger, end.liquidated)));
        ended
    }

    #[test]
    fn a_falling_price_ends_longs_from_the_nearest_on_and_touching_is_enough() {
        let mut book = Book::new(4);
        enter(&mut book, long(100.0, 91.0, None), 0, 9);
        enter(&mut book, long(100.0, 95.0, None), 1, 9);
        enter(&mut book, long(100.0, 90.0, Some(93.0)), 2, 9);
        assert_eq!(crossed(&mut book, 95.5), []);
        assert_eq!(
            crossed(&mut book, 91.0),
            [(95.0, true), (93.0, false), (91.0, true)]
        );
        assert_eq!(book.open().count(), 0);
        assert_eq!(book.held(0), (0, 0));
        assert_eq!(
            crossed(&mut book, 200.0),
            [],
            "a profit taken after the end"
        );
    }

    #[test]
    fn a_position_whose_time_is_up_leaves_once() {
        let mut book = Book::new(4);
        enter(&mut book, long(100.0, 91.0, None), 0, 2);
        enter(&mut book, long(100.0, 92.0, None), 0, 2);
        assert_eq!(book.held(0), (6, 0));
        assert_eq!(book.expire(1, 100.0), 0);
        assert_eq!(crossed(&mut book, 92.0), [(92.0, true)]);
        assert_eq!(book.expire(2, 100.0), 3);
        assert_eq!(book.expire(2, 100.0), 0);
        assert_eq!(book.held(0), (0, 0));
    }
}
