//! The first duplicate check, in memory: recent dedupe keys from all connections of one exchange.
//!
//! The final check is `insert` in `src/archive/journal/table.rs`, which ignores rows with an existing key.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::model::Millis;

/// Recent dedupe keys, oldest first, stored as 128 bits of a keyed hash.
///
/// The final check is `insert` in `src/archive/journal/table.rs`. This set stops most repeats (an overlap of two
/// connections, a snapshot after a reconnect, a backfill of received events) before that check.
#[derive(Debug)]
pub(crate) struct RecentKeys {
    keys: HashSet<u128>,
    order: VecDeque<(Millis, u128)>,
    hashers: [RandomState; 2],
    /// How long a key is remembered, in milliseconds.
    memory: i64,
    /// Maximum number of keys that are remembered.
    most: usize,
}

impl RecentKeys {
    pub(crate) fn new(memory: i64, most: usize) -> Self {
        Self {
            keys: HashSet::new(),
            order: VecDeque::new(),
            hashers: [RandomState::new(), RandomState::new()],
            memory,
            most,
        }
    }

    fn hash(&self, key: &str) -> u128 {
        let [high, low] = &self.hashers;
        u128::from(high.hash_one(key)) << 64 | u128::from(low.hash_one(key))
    }

    /// Adds a key and returns whether it is new.
    pub(crate) fn insert(&mut self, key: &str, now: Millis) -> bool {
        while self.order.len() >= self.most
            || self
                .order
                .front()
                .is_some_and(|(added, _)| added.0 < now.0.saturating_sub(self.memory))
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

    /// Removes the key of an event that was not stored, so that a repeat counts as new.
    pub(crate) fn remove(&mut self, key: &str) {
        let hash = self.hash(key);
        // The entry in `order` expires later; only `keys` decides.
        self.keys.remove(&hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_once_until_it_expires() {
        let mut recent = RecentKeys::new(100, 10);
        assert!(recent.insert("a", Millis(0)));
        assert!(recent.insert("b", Millis(50)));
        assert!(!recent.insert("a", Millis(100)));
        assert!(recent.insert("a", Millis(101)));
        assert!(!recent.insert("b", Millis(101)));
    }

    #[test]
    fn a_removed_key_is_new_again() {
        let mut recent = RecentKeys::new(100, 10);
        assert!(recent.insert("a", Millis(0)));
        recent.remove("a");
        assert!(recent.insert("a", Millis(1)));
        assert!(!recent.insert("a", Millis(2)));
    }

    #[test]
    fn the_set_does_not_grow_beyond_its_bound() {
        let mut recent = RecentKeys::new(i64::MAX, 3);
        for key in 0..1000 {
            assert!(recent.insert(&key.to_string(), Millis(key)));
        }
        assert_eq!(recent.order.len(), 3);
        assert_eq!(recent.keys.len(), 3);
        assert!(!recent.insert("999", Millis(1000)));
    }
}
