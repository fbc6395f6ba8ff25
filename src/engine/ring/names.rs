//! The names of orders, each kept once and known by a small number.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::model::{Millis, Short};

/// A pair on an exchange.
#[derive(Debug)]
pub(super) struct PairName {
    pub(super) symbol: String,
    /// Number of its exchange and coin together.
    sum: u32,
    /// All its names, where they are short.
    short: Option<Shorts>,
}

/// An exchange and a coin together.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumName {
    pub(super) exchange: u32,
    pub(super) coin: u32,
}

/// The names that are known.
#[derive(Debug, Default)]
pub(super) struct Names {
    pairs: Vec<PairName>,
    sums: Vec<SumName>,
    exchanges: Vec<String>,
    /// Event time of each exchange's last order by now.
    last_seen: Vec<Option<Millis>>,
    coins: Vec<String>,
    /// Numbers of pairs by the hash of their three names, which may be borrowed.
    known: HashMap<u64, Vec<u32>>,
    hasher: RandomState,
    /// Numbers of the pairs that were asked for last.
    recent: Vec<u32>,
}

/// Places for pairs that were asked for last.
const RECENT: usize = 4096;

impl Names {
    /// The number of a pair of an exchange whose coin is `coin`.
    pub(super) fn pair(&mut self, exchange: &str, symbol: &str, coin: &str) -> u32 {
        // Longer names take the longer way.
        let Some(short) = shorts(exchange, symbol, coin) else {
            return self.number(exchange, symbol, coin);
        };
        let place = Short::place(&short) % RECENT;
        if let Some(&number) = self.recent.get(place)
            && let Some(pair) = self.pairs.get(number as usize)
            && pair.short == Some(short)
        {
            return number;
        }
        let number = self.number(exchange, symbol, coin);
        self.recent.resize(RECENT, u32::MAX);
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = number;
        }
        number
    }

    fn number(&mut self, exchange: &str, symbol: &str, coin: &str) -> u32 {
        let short = shorts(exchange, symbol, coin);
        let hash = self.hasher.hash_one((exchange, symbol, coin));
        let known = self.known.get(&hash).into_iter().flatten().copied();
        for number in known {
            if self.is(number, exchange, symbol, coin) {
                return number;
            }
        }
        let (exchange, coin) = (
            number_of(&mut self.exchanges, exchange),
            number_of(&mut self.coins, coin),
        );
        self.last_seen.resize(self.exchanges.len(), None);
        let sum = self
            .sums
            .iter()
            .position(|sum| sum.exchange == exchange && sum.coin == coin);
        let sum = sum.unwrap_or_else(|| {
            self.sums.push(SumName { exchange, coin });
            self.sums.len() - 1
        });
        let number = count(self.pairs.len());
        self.pairs.push(PairName {
            symbol: symbol.to_owned(),
            sum: count(sum),
            short,
        });
        self.known.entry(hash).or_default().push(number);
        number
    }

    fn is(&self, number: u32, exchange: &str, symbol: &str, coin: &str) -> bool {
        let pair = self.pairs.get(number as usize);
        let sum = self.sums.get(self.sum_of(number));
        pair.is_some_and(|pair| pair.symbol == symbol)
            && sum.is_some_and(|sum| self.exchange(*sum) == exchange && self.coin(*sum) == coin)
    }

    /// How many pairs of exchange and coin there are.
    pub(super) fn len(&self) -> usize {
        self.sums.len()
    }

    /// Place of the sums of a pair.
    pub(super) fn sum_of(&self, pair: u32) -> usize {
        self.pairs
            .get(pair as usize)
            .map_or(usize::MAX, |pair| pair.sum as usize)
    }

    pub(super) fn symbol(&self, pair: u32) -> &str {
        self.pairs
            .get(pair as usize)
            .map_or("", |pair| pair.symbol.as_str())
    }

    /// The exchange of a pair.
    pub(super) fn venue(&self, pair: u32) -> &str {
        self.sums
            .get(self.sum_of(pair))
            .map_or("", |sum| self.exchange(*sum))
    }

    pub(super) fn sums(&self) -> impl Iterator<Item = SumName> + '_ {
        self.sums.iter().copied()
    }

    /// Takes note that a pair had an order at `timestamp`.
    pub(super) fn saw(&mut self, pair: u32, timestamp: Millis) {
        let sum = self.sums.get(self.sum_of(pair)).copied();
        if let Some(last) = sum.and_then(|sum| self.last_seen.get_mut(sum.exchange as usize)) {
            *last = (*last).max(Some(timestamp));
        }
    }

    pub(super) fn last_seen(&self) -> &[Option<Millis>] {
        &self.last_seen
    }

    pub(super) fn exchanges(&self) -> &[String] {
        &self.exchanges
    }

    pub(super) fn coins(&self) -> &[String] {
        &self.coins
    }

    fn exchange(&self, sum: SumName) -> &str {
        self.exchanges
            .get(sum.exchange as usize)
            .map_or("", String::as_str)
    }

    fn coin(&self, sum: SumName) -> &str {
        self.coins.get(sum.coin as usize).map_or("", String::as_str)
    }

    /// Takes in every name of `other`, and what was seen of it; gives our numbers of its pairs.
    pub(super) fn absorb(&mut self, other: &Self) -> Vec<u32> {
        (0..count(other.pairs.len()))
            .map(|theirs| {
                let sum = other.sums.get(other.sum_of(theirs)).copied();
                let coin = sum.map_or("", |sum| other.coin(sum));
                let ours = self.pair(other.venue(theirs), other.symbol(theirs), coin);
                let seen = sum.and_then(|sum| other.last_seen.get(sum.exchange as usize));
                if let Some(last) = seen.copied().flatten() {
                    self.saw(ours, last);
                }
                ours
            })
            .collect()
    }

    /// The pairs of this symbol, on whichever exchange.
    pub(super) fn pairs_of(&self, symbol: &str) -> impl Iterator<Item = u32> {
        let pairs = self.pairs.iter().enumerate();
        pairs
            .filter(move |(_, pair)| pair.symbol == symbol)
            .map(|(number, _)| count(number))
    }

    /// Which pairs, by number, `wanted` is true of.
    pub(super) fn pairs_with(&self, wanted: impl Fn(&str, &str) -> bool) -> Vec<bool> {
        (0..count(self.pairs.len()))
            .map(|pair| wanted(self.venue(pair), self.symbol(pair)))
            .collect()
    }
}

/// The short names of a pair: its exchange, symbol and coin.
type Shorts = [Short; 3];

fn shorts(exchange: &str, symbol: &str, coin: &str) -> Option<Shorts> {
    Some([
        Short::of(exchange.as_bytes())?,
        Short::of(symbol.as_bytes())?,
        Short::of(coin.as_bytes())?,
    ])
}

fn number_of(names: &mut Vec<String>, name: &str) -> u32 {
    let known = names.iter().position(|known| known == name);
    count(known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }))
}

/// Names are counted in thousands.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_anywhere_have_numbers_of_their_own() {
        let long = "ABCDEFGHIJKLMNOPQRST";
        let mut all: Vec<String> = vec![String::new()];
        for len in 1..=long.len() {
            let name = long.get(..len).unwrap();
            all.push(name.to_owned());
            for place in 0..len {
                for other in ["x", "y", "\0"] {
                    let mut name = name.to_owned();
                    name.replace_range(place..=place, other);
                    all.push(name);
                }
            }
        }
        let mut names = Names::default();
        let pairs = |name: &String| {
            [
                (name.clone(), "BTCUSDT".to_owned(), "BTC".to_owned()),
                ("okx".to_owned(), name.clone(), "BTC".to_owned()),
                ("okx".to_owned(), "BTCUSDT".to_owned(), name.clone()),
            ]
        };
        let all: Vec<_> = all.iter().flat_map(pairs).collect();
        let numbers: Vec<u32> = all.iter().map(|(a, b, c)| names.pair(a, b, c)).collect();
        let again: Vec<u32> = all.iter().map(|(a, b, c)| names.pair(a, b, c)).collect();
        assert_eq!(numbers, again);
        let mut apart: Vec<_> = all.iter().zip(&numbers).collect();
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), names.pairs.len());
        for ((exchange, symbol, _), number) in apart {
            assert_eq!(names.symbol(*number), symbol);
            assert_eq!(names.venue(*number), exchange);
        }
    }
}
