//! The names of a ring's orders: pairs on their exchanges, and what they are summed under.

use std::collections::HashMap;

use crate::model::{Interner, Listings, Millis, coin_of_pair, count};

/// An exchange and a coin together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct SumName {
    pub(in crate::engine) exchange: u32,
    pub(in crate::engine) coin: u32,
}

/// What is known of a pair.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// Number of its exchange and coin together.
    sum: u32,
    /// So many of the coin are one listed unit.
    scale: u32,
}

/// The names that are known; a pair on an exchange has the number of its listing.
#[derive(Debug, Default)]
pub(in crate::engine) struct Names {
    listings: Listings,
    pairs: Vec<Pair>,
    sums: Vec<SumName>,
    /// Places of the sums.
    places: HashMap<SumName, u32>,
    exchanges: Interner,
    coins: Interner,
    /// Event time of each exchange's last order by now.
    last_seen: Vec<Option<Millis>>,
}

impl Names {
    /// The number of a pair of an exchange whose coin is `coin`.
    pub(crate) fn pair(&mut self, exchange: &str, symbol: &str, coin: &str) -> u32 {
        let number = self.listings.number([exchange, symbol, coin]);
        if self.pairs.len() < self.listings.len() {
            // A coin given by another name than the pair's own is taken to be counted in listed units.
            let (own, scale) = coin_of_pair(symbol);
            let scale = if own == coin { scale } else { 1 };
            let name = SumName {
                exchange: self.exchanges.code(exchange),
                coin: self.coins.code(coin),
            };
            self.last_seen.resize(self.exchanges().len(), None);
            let next = count(self.sums.len());
            let sum = *self.places.entry(name).or_insert(next);
            if sum == next {
                self.sums.push(name);
            }
            self.pairs.push(Pair { sum, scale });
        }
        number
    }

    /// How many pairs of exchange and coin there are.
    pub(in crate::engine) fn len(&self) -> usize {
        self.sums.len()
    }

    /// Place of the sums of a pair.
    pub(in crate::engine) fn sum_of(&self, pair: u32) -> usize {
        let pair = self.pairs.get(pair as usize);
        pair.map_or(usize::MAX, |pair| pair.sum as usize)
    }

    /// How many of its coin one listed unit of a pair holds.
    pub(in crate::engine) fn scale(&self, pair: u32) -> u32 {
        self.pairs.get(pair as usize).map_or(1, |pair| pair.scale)
    }

    /// Exchange, symbol and coin of a pair.
    pub(in crate::engine) fn of(&self, pair: u32) -> [&str; 3] {
        self.listings.get(pair).unwrap_or_default()
    }

    /// Exchange, symbol and coin of every pair.
    pub(in crate::engine) fn listings(&self) -> impl Iterator<Item = [&str; 3]> {
        (0..count(self.pairs.len())).map(|pair| self.of(pair))
    }

    /// The exchange and coin of a pair.
    pub(in crate::engine) fn sum_name(&self, pair: u32) -> Option<SumName> {
        self.sums.get(self.sum_of(pair)).copied()
    }

    pub(in crate::engine) fn sums(&self) -> impl Iterator<Item = SumName> + '_ {
        self.sums.iter().copied()
    }

    /// Takes note that a pair had an order at `timestamp`.
    pub(crate) fn saw(&mut self, pair: u32, timestamp: Millis) {
        let sum = self.sum_name(pair);
        if let Some(last) = sum.and_then(|sum| self.last_seen.get_mut(sum.exchange as usize)) {
            *last = (*last).max(Some(timestamp));
        }
    }

    pub(in crate::engine) fn last_seen(&self) -> &[Option<Millis>] {
        &self.last_seen
    }

    pub(in crate::engine) fn exchanges(&self) -> &[String] {
        self.exchanges.texts()
    }

    pub(in crate::engine) fn coins(&self) -> &[String] {
        self.coins.texts()
    }

    /// Takes in every name of `other`, and what was seen of it; gives our numbers of its pairs.
    pub(crate) fn absorb(&mut self, other: &Self) -> Vec<u32> {
        (0..count(other.pairs.len()))
            .map(|theirs| {
                let [exchange, symbol, coin] = other.of(theirs);
                let ours = self.pair(exchange, symbol, coin);
                let seen = other.sum_name(theirs);
                let seen = seen.and_then(|sum| other.last_seen.get(sum.exchange as usize));
                if let Some(last) = seen.copied().flatten() {
                    self.saw(ours, last);
                }
                ours
            })
            .collect()
    }

    /// Of each pair, by number, whether `wanted` is true of its exchange, symbol and coin.
    pub(in crate::engine) fn pairs_with(&self, wanted: impl Fn([&str; 3]) -> bool) -> Vec<bool> {
        (0..count(self.pairs.len()))
            .map(|pair| wanted(self.of(pair)))
            .collect()
    }
}
