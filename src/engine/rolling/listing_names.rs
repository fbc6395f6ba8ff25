//! Names in a ring: listed pairs, and the keys of running sums.

use std::collections::HashMap;

use crate::model::{Interner, Listings, Millis, coin_of_pair, count};

/// Key of a running sum: exchange and coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SumKey {
    pub exchange: u32,
    pub coin: u32,
}

/// A pair listed on an exchange.
#[derive(Clone, Copy, Debug)]
struct ListedPair {
    /// Number of its sum key.
    sum: u32,
    /// Units of the coin per unit of the pair, such as 1000 for 1000PEPE.
    scale: u32,
}

/// All names that occur in a ring. Each pair on an exchange has a number.
#[derive(Debug, Default)]
pub struct ListingNames {
    listings: Listings,
    pairs: Vec<ListedPair>,
    sums: Vec<SumKey>,
    /// Number of each sum key.
    places: HashMap<SumKey, u32>,
    exchanges: Interner,
    coins: Interner,
    /// Event time of the last order per exchange, up to now.
    last_seen: Vec<Option<Millis>>,
    /// When the first order per exchange was known.
    first_known: Vec<Option<Millis>>,
}

impl ListingNames {
    /// The number of a pair, which is added if new.
    pub fn pair(&mut self, exchange: &str, symbol: &str, coin: &str) -> u32 {
        let number = self.listings.number([exchange, symbol, coin]);
        if self.pairs.len() < self.listings.len() {
            // If the coin differs from the one in the pair's name, its unit is that of the pair.
            let (own, scale) = coin_of_pair(symbol);
            let scale = if own == coin { scale } else { 1 };
            let name = SumKey {
                exchange: self.exchanges.code(exchange),
                coin: self.coins.code(coin),
            };
            self.last_seen.resize(self.exchanges().len(), None);
            self.first_known.resize(self.exchanges().len(), None);
            let next = count(self.sums.len());
            let sum = *self.places.entry(name).or_insert(next);
            if sum == next {
                self.sums.push(name);
            }
            self.pairs.push(ListedPair { sum, scale });
        }
        number
    }

    /// Number of sum keys.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Number of the sum key of a pair.
    pub fn sum_of(&self, pair: u32) -> usize {
        let pair = self.pairs.get(pair as usize);
        pair.map_or(usize::MAX, |pair| pair.sum as usize)
    }

    /// Units of the coin per unit of a pair.
    pub fn scale(&self, pair: u32) -> u32 {
        self.pairs.get(pair as usize).map_or(1, |pair| pair.scale)
    }

    /// Exchange, symbol and coin of a pair.
    pub fn of(&self, pair: u32) -> [&str; 3] {
        self.listings.get(pair).unwrap_or_default()
    }

    /// Exchange, symbol and coin of every pair.
    pub fn listings(&self) -> impl Iterator<Item = [&str; 3]> {
        (0..count(self.pairs.len())).map(|pair| self.of(pair))
    }

    /// Sum key of a pair.
    pub fn sum_name(&self, pair: u32) -> Option<SumKey> {
        self.sums.get(self.sum_of(pair)).copied()
    }

    pub fn sums(&self) -> impl Iterator<Item = SumKey> + '_ {
        self.sums.iter().copied()
    }

    /// Records that a pair had an order at `timestamp`.
    pub fn saw(&mut self, pair: u32, timestamp: Millis) {
        let sum = self.sum_name(pair);
        if let Some(last) = sum.and_then(|sum| self.last_seen.get_mut(sum.exchange as usize)) {
            *last = (*last).max(Some(timestamp));
        }
    }

    pub fn last_seen(&self) -> &[Option<Millis>] {
        &self.last_seen
    }

    /// Records that an order of a pair was known at `known_at`.
    pub fn knew(&mut self, pair: u32, known_at: Millis) {
        let sum = self.sum_name(pair);
        if let Some(first) = sum.and_then(|sum| self.first_known.get_mut(sum.exchange as usize)) {
            *first = Some(first.map_or(known_at, |first| first.min(known_at)));
        }
    }

    /// Whether an order of each exchange was known by an instant.
    pub fn known_by(&self, instant: Option<Millis>) -> impl Iterator<Item = bool> {
        let known = move |first: Millis| instant.is_none_or(|at| first <= at);
        self.first_known
            .iter()
            .map(move |first| first.is_none_or(known))
    }

    pub fn exchanges(&self) -> &[String] {
        self.exchanges.texts()
    }

    pub fn coins(&self) -> &[String] {
        self.coins.texts()
    }

    /// Adds all names of `other` with their last event times.
    ///
    /// Returns the number in `self` of each pair of `other`.
    pub fn absorb(&mut self, other: &Self) -> Vec<u32> {
        (0..count(other.pairs.len()))
            .map(|theirs| {
                let [exchange, symbol, coin] = other.of(theirs);
                let ours = self.pair(exchange, symbol, coin);
                let seen = other.sum_name(theirs);
                let seen = seen.and_then(|sum| other.last_seen.get(sum.exchange as usize));
                if let Some(last) = seen.copied().flatten() {
                    self.saw(ours, last);
                }
                let known = other.sum_name(theirs);
                let known = known.and_then(|sum| other.first_known.get(sum.exchange as usize));
                if let Some(first) = known.copied().flatten() {
                    self.knew(ours, first);
                }
                ours
            })
            .collect()
    }

    /// Per pair, whether `wanted` accepts its exchange, symbol and coin.
    pub fn pairs_with(&self, wanted: impl Fn([&str; 3]) -> bool) -> Vec<bool> {
        (0..count(self.pairs.len()))
            .map(|pair| wanted(self.of(pair)))
            .collect()
    }
}
