//! Which events of a venue have been heard lately, across sockets and reconnects.
//!
//! The archive has the last word: its keys are unique. This keeps the bulk of repetitions (two sockets at a rotation,
//! a partial after a reconnect, a back-fill of what was heard) from getting that far. Keys are remembered as 128 bits of
//! a keyed hash.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::model::Millis;

/// Keys in the order they were heard.
#[derive(Debug)]
pub(crate) struct HeardKeys {
    keys: HashSet<u128>,
    order: VecDeque<(Millis, u128)>,
    hashers: [RandomState; 2],
    keep: i64,
    most: usize,
}

impl HeardKeys {
    /// Remembers keys for `keep` milliseconds, and `most` of them.
    pub(crate) fn new(keep: i64, most: usize) -> Self {
        Self {
            keys: HashSet::new(),
            order: VecDeque::new(),
            hashers: [RandomState::new(), RandomState::new()],
            keep,
            most,
        }
    }

    fn hash(&self, key: &str) -> u128 {
        let [high, low] = &self.hashers;
        u128::from(high.hash_one(key)) << 64 | u128::from(low.hash_one(key))
    }

    /// Whether `key` is new; it is not from now on.
    pub(crate) fn is_new(&mut self, key: &str, now: Millis) -> bool {
        while self.order.len() >= self.most
            || self
                .order
                .front()
                .is_some_and(|(heard, _)| heard.0 < now.0.saturating_sub(self.keep))
        {
            match self.order.pop_front() {
                Some((_, old)) => self.keys.remove(&old),
                None => break,
            };
        }
        let hash = self.hash(key);
        let new = self.keys.insert(hash);
        if new {
            self.order.push_back((now, hash));
        }
        new
    }

    /// Forgets all keys: the archive has the last word.
    pub(crate) fn forget_all(&mut self) {
        self.keys.clear();
        self.order.clear();
    }

    /// Forgets a key whose event was not kept, so that it counts when it comes again.
    pub(crate) fn forget(&mut self, key: &str) {
        let hash = self.hash(key);
        // Its place in the order stays until its time is over; only the set is asked.
        self.keys.remove(&hash);
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::intake::dedupe::*;

    #[test]
    fn a_key_is_new_once_until_its_time_is_over() {
        let mut heard = HeardKeys::new(100, 10);
        assert!(heard.is_new("a", Millis(0)));
        assert!(heard.is_new("b", Millis(50)));
        assert!(!heard.is_new("a", Millis(100)));
        assert!(heard.is_new("a", Millis(101)));
        assert!(!heard.is_new("b", Millis(101)));
    }

    #[test]
    fn what_was_not_kept_counts_again() {
        let mut heard = HeardKeys::new(100, 10);
        assert!(heard.is_new("a", Millis(0)));
        heard.forget("a");
        assert!(heard.is_new("a", Millis(1)));
        assert!(!heard.is_new("a", Millis(2)));
    }

    #[test]
    fn it_does_not_grow_beyond_its_bound() {
        let mut heard = HeardKeys::new(i64::MAX, 3);
        for key in 0..1000 {
            assert!(heard.is_new(&key.to_string(), Millis(key)));
        }
        assert_eq!(heard.order.len(), 3);
        assert_eq!(heard.keys.len(), 3);
        assert!(!heard.is_new("999", Millis(1000)));
    }
}
