//! Index that finds rows by the hash of their key, without storing the key strings.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher};

use foldhash::quality::SeedableRandomState;

use crate::archive::rows::row::Row;
use crate::model::seeded;

/// Hasher for values that already are hashes.
#[derive(Default)]
struct PrehashedHasher(u64);

impl Hasher for PrehashedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Maps the hash of a key to the positions of the rows with that hash.
pub(crate) struct KeyIndex {
    hashing: SeedableRandomState,
    last: HashMap<u64, usize, BuildHasherDefault<PrehashedHasher>>,
    /// For each position, the previous position with the same hash.
    before: Vec<Option<usize>>,
}

impl KeyIndex {
    /// Creates an index with capacity for `rows` rows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            last: HashMap::with_capacity_and_hasher(rows, BuildHasherDefault::default()),
            before: Vec::with_capacity(rows),
            hashing: seeded(),
        }
    }

    /// Hashes the key of a row.
    pub(crate) fn hash<R: Row>(&self, row: &R) -> u64 {
        let mut hasher = self.hashing.build_hasher();
        row.hash_key(&mut hasher);
        hasher.finish()
    }

    /// Hashes the values by which rows of different sources are compared.
    pub(crate) fn hash_event<R: Row>(&self, row: &R) -> u64 {
        let mut hasher = self.hashing.build_hasher();
        row.hash_event(&mut hasher);
        hasher.finish()
    }

    /// Adds the next row.
    ///
    /// The position of a row is the number of rows added before it.
    pub(crate) fn add(&mut self, hash: u64) {
        let before = self.last.insert(hash, self.before.len());
        self.before.push(before);
    }

    /// Positions of rows with this hash, in descending order.
    pub(crate) fn of(&self, hash: u64) -> impl Iterator<Item = usize> {
        std::iter::successors(self.last.get(&hash).copied(), |place| {
            self.before.get(*place).copied().flatten()
        })
    }
}
