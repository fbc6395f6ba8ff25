//! The traders' open positions in one coin, ordered by the prices that close them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::coins::VENUE_COUNT;
use super::traders::{Exits, PositionTerms};
use crate::model::{Millis, Side};

/// An open position.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenPosition {
    pub(super) terms: PositionTerms,
    pub(super) venue: usize,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "tests hold the bars since against it")
    )]
    pub(super) opened: Millis,
    alive: bool,
    number: u32,
}

/// A position: its number, in the order in which positions opened, and its index in the book.
///
/// The index is reused when the position is closed; the number is not.
type PositionId = (u32, u32);

/// Number of entries of closed positions in a heap that cause no removal.
const FEW: usize = 1024;

/// A closed position.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedPosition {
    pub(super) side: Side,
    pub(super) venue: usize,
    pub(super) lots: i64,
    /// Price at which the position closed.
    pub(super) trigger: f64,
    pub(super) liquidated: bool,
}

/// All positions of a coin, with two heaps of the prices that close them.
///
/// A price is stored as the bits of a positive double; these bits sort like the number. Positions with equal prices
/// close in a fixed order, so every run gives the same result. Heap entries of positions that are already closed are
/// skipped, and removed once they are the larger part.
#[derive(Debug)]
pub(super) struct PositionBook {
    positions: Vec<OpenPosition>,
    /// Indexes of closed positions.
    closed: Vec<u32>,
    /// Number of positions so far.
    entered: u32,
    falling: BinaryHeap<(u64, PositionId)>,
    rising: BinaryHeap<Reverse<(u64, PositionId)>>,
    /// For each bar, the positions that expire in it.
    due: Vec<Vec<PositionId>>,
    /// Lots in open positions, by exchange and side.
    open_lots: [[i64; 2]; VENUE_COUNT],
}

impl PositionBook {
    /// Creates an empty book for a simulation of `bars` bars.
    pub(super) fn new(bars: usize) -> Self {
        Self {
            positions: Vec::new(),
            closed: Vec::new(),
            entered: 0,
            falling: BinaryHeap::new(),
            rising: BinaryHeap::new(),
            due: vec![Vec::new(); bars],
            open_lots: [[0; 2]; VENUE_COUNT],
        }
    }

    /// Returns the lots in open positions of traders on an exchange: long, short.
    pub(super) fn open_lots(&self, venue: usize) -> (i64, i64) {
        self.open_lots
            .get(venue)
            .map_or((0, 0), |&[long, short]| (long, short))
    }

    /// The open positions, oldest first.
    pub(super) fn open(&self) -> impl Iterator<Item = &OpenPosition> {
        let open = self.positions.iter().filter(|position| position.alive);
        let mut open: Vec<&OpenPosition> = open.collect();
        open.sort_unstable_by_key(|position| position.number);
        open.into_iter()
    }

    /// Opens a position that closes at the start of bar `due` at the latest.
    pub(super) fn enter(
        &mut self,
        terms: PositionTerms,
        exits: Exits,
        venue: usize,
        opened: Millis,
        due: usize,
    ) {
        let number = self.entered;
        let position = OpenPosition {
            terms,
            venue,
            opened,
            alive: true,
            number,
        };
        let free = self.closed.pop();
        // A simulation opens fewer than 2³² positions.
        let index = free.or_else(|| u32::try_from(self.positions.len()).ok());
        let Some(index) = index else { return };
        match self.positions.get_mut(index as usize) {
            Some(closed) => *closed = position,
            None => self.positions.push(position),
        }
        self.entered += 1;
        let id = (number, index);
        if let Some(due) = self.due.get_mut(due) {
            due.push(id);
        }
        let most = FEW + 2 * (self.positions.len() - self.closed.len());
        let positions = &self.positions;
        let is_open = |id: PositionId| Self::is_open(positions, id);
        if let Some(down) = exits.down {
            self.falling.push((down.to_bits(), id));
            if self.falling.len() > most {
                self.falling.retain(|(_, id)| is_open(*id));
            }
        }
        if let Some(up) = exits.up {
            self.rising.push(Reverse((up.to_bits(), id)));
            if self.rising.len() > most {
                self.rising.retain(|Reverse((_, id))| is_open(*id));
            }
        }
        self.add(venue, terms.side, terms.lots);
    }

    /// Closes every position that the price reaches on its way to `to`.
    ///
    /// Positions close in the order in which the price reaches them.
    pub(super) fn cross(&mut self, to: f64, mut on_end: impl FnMut(ClosedPosition)) {
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

    /// Closes the positions that expire in bar `bar` at `price`; returns the closed lots.
    pub(super) fn expire(&mut self, bar: usize, price: f64) -> i64 {
        let due = self.due.get_mut(bar).map(std::mem::take);
        let ended = due.unwrap_or_default().into_iter();
        ended.fold(0, |lots: i64, id| {
            let ended = self.end(id, price);
            lots.saturating_add(ended.map_or(0, |ended| ended.lots))
        })
    }

    /// Drops everything but the open positions, which no longer change.
    pub(super) fn finish(&mut self) {
        self.positions.retain(|position| position.alive);
        self.positions.shrink_to_fit();
        self.closed = Vec::new();
        self.falling = BinaryHeap::new();
        self.rising = BinaryHeap::new();
        self.due = Vec::new();
    }

    fn is_open(positions: &[OpenPosition], (number, index): PositionId) -> bool {
        let position = positions.get(index as usize);
        position.is_some_and(|position| position.alive && position.number == number)
    }

    fn end(&mut self, id: PositionId, trigger: f64) -> Option<ClosedPosition> {
        if !Self::is_open(&self.positions, id) {
            return None;
        }
        let position = self.positions.get_mut(id.1 as usize)?;
        position.alive = false;
        let OpenPosition { terms, venue, .. } = *position;
        self.closed.push(id.1);
        self.add(venue, terms.side, -terms.lots);
        Some(ClosedPosition {
            side: terms.side,
            venue,
            lots: terms.lots,
            trigger,
            liquidated: trigger.to_bits() == terms.liquidation.to_bits(),
        })
    }

    fn add(&mut self, venue: usize, side: Side, lots: i64) {
        if let Some(open_lots) = self
            .open_lots
            .get_mut(venue)
            .and_then(|sides| sides.get_mut(side.index()))
        {
            *open_lots = open_lots.saturating_add(lots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(entry: f64, liquidation: f64, stop: Option<f64>) -> (PositionTerms, Exits) {
        let terms = PositionTerms {
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

    fn enter(
        book: &mut PositionBook,
        (terms, exits): (PositionTerms, Exits),
        venue: usize,
        due: usize,
    ) {
        book.enter(terms, exits, venue, Millis(0), due);
    }

    fn crossed(book: &mut PositionBook, to: f64) -> Vec<(f64, bool)> {
        let mut ended = Vec::new();
        book.cross(to, |end| ended.push((end.trigger, end.liquidated)));
        ended
    }

    #[test]
    fn a_falling_price_ends_longs_from_the_nearest_on_and_touching_is_enough() {
        let mut book = PositionBook::new(4);
        enter(&mut book, long(100.0, 91.0, None), 0, 9);
        enter(&mut book, long(100.0, 95.0, None), 1, 9);
        enter(&mut book, long(100.0, 90.0, Some(93.0)), 2, 9);
        assert_eq!(crossed(&mut book, 95.5), []);
        assert_eq!(
            crossed(&mut book, 91.0),
            [(95.0, true), (93.0, false), (91.0, true)]
        );
        assert_eq!(book.open().count(), 0);
        assert_eq!(book.open_lots(0), (0, 0));
        assert_eq!(
            crossed(&mut book, 200.0),
            [],
            "a profit taken after the end"
        );
    }

    #[test]
    fn an_expired_position_closes_once() {
        let mut book = PositionBook::new(4);
        enter(&mut book, long(100.0, 91.0, None), 0, 2);
        enter(&mut book, long(100.0, 92.0, None), 0, 2);
        assert_eq!(book.open_lots(0), (6, 0));
        assert_eq!(book.expire(1, 100.0), 0);
        assert_eq!(crossed(&mut book, 92.0), [(92.0, true)]);
        assert_eq!(book.expire(2, 100.0), 3);
        assert_eq!(book.expire(2, 100.0), 0);
        assert_eq!(book.open_lots(0), (0, 0));
    }
}
