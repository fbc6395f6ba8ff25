//! Upper bounds per block of orders, to find the largest orders with few reads.

use std::collections::VecDeque;
use std::ops::Range;

use crate::model::ExactSum;

/// Orders per block.
const BLOCK: usize = 1024;

/// Upper bounds of the amounts in each block.
///
/// A bound may belong to an order that has already been removed from the block. In that case a search may read the
/// block in vain.
#[derive(Debug, Default)]
pub struct BlockBounds {
    bounds: VecDeque<ExactSum>,
    /// Number of orders that were removed from the first block.
    gone: usize,
    len: usize,
}

impl BlockBounds {
    /// Appends an order.
    pub fn push_back(&mut self, usd: ExactSum) {
        let end = self.gone + self.len;
        self.len += 1;
        match self.bounds.back_mut() {
            Some(bound) if !end.is_multiple_of(BLOCK) => *bound = usd.max(*bound),
            _ => self.bounds.push_back(usd),
        }
    }

    /// Removes the first order.
    pub fn pop_front(&mut self) {
        let Some(len) = self.len.checked_sub(1) else {
            return;
        };
        self.len = len;
        self.gone += 1;
        if self.gone == BLOCK {
            self.gone = 0;
            self.bounds.pop_front();
        }
    }

    /// Removes the orders with index `place` and above.
    pub fn truncate(&mut self, place: usize) {
        if place < self.len {
            self.len = place;
            self.bounds.truncate((self.gone + place).div_ceil(BLOCK));
        }
    }

    /// The blocks that overlap `places`.
    ///
    /// Each block has its bound, and the indexes in both the block and `places`.
    pub fn blocks(&self, places: &Range<usize>) -> impl Iterator<Item = (ExactSum, Range<usize>)> {
        let first = (places.start + self.gone) / BLOCK;
        let end = (places.end + self.gone).div_ceil(BLOCK);
        let gone = self.gone;
        let within = places.clone();
        let blocks = self.bounds.iter().enumerate().take(end).skip(first);
        blocks.map(move |(block, bound)| {
            let start = (block * BLOCK).saturating_sub(gone).max(within.start);
            let end = ((block + 1) * BLOCK - gone).min(within.end);
            (*bound, start..end)
        })
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use crate::engine::rolling::block_bounds::*;

    #[test]
    fn blocks_cover_every_place_once_and_none_is_above_its_bound() {
        let mut peaks = BlockBounds::default();
        let mut all: VecDeque<ExactSum> = VecDeque::new();
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..400 {
            for _ in 0..random.usize(..2000) {
                let usd = ExactSum::of_nanos(random.u32(..1000).into());
                peaks.push_back(usd);
                all.push_back(usd);
            }
            for _ in 0..random.usize(..2000).min(all.len()) {
                peaks.pop_front();
                all.pop_front();
            }
            if round % 3 == 0 && !all.is_empty() {
                let place = random.usize(..all.len());
                peaks.truncate(place);
                all.truncate(place);
            }
            let end = random.usize(..=all.len());
            let places = random.usize(..=end)..end;
            let mut covered = Vec::new();
            for (bound, block) in peaks.blocks(&places) {
                for place in block {
                    assert!(all[place] <= bound);
                    covered.push(place);
                }
            }
            assert!(covered.into_iter().eq(places));
            assert!(peaks.bounds.len() <= all.len() / BLOCK + 2);
        }
        // Removing from an empty list changes nothing.
        peaks.truncate(0);
        peaks.pop_front();
        assert!(peaks.blocks(&(0..0)).all(|(_, block)| block.is_empty()));
        peaks.push_back(ExactSum::of_nanos(7));
        let last = peaks.blocks(&(0..1)).last();
        assert!(
            last.is_some_and(|(bound, block)| bound >= ExactSum::of_nanos(7) && block == (0..1))
        );
    }
}
