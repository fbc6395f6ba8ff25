//! Rows by what tells them apart, found without a text for each.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher};

use foldhash::quality::SeedableRandomState;

use crate::archive::rows::row::Row;
use crate::model::seeded;

/// What is hashed already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
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

/// Places of rows by the hashes of their keys.
pub(crate) struct Keys {
    hashing: SeedableRandomState,
    last: HashMap<u64, usize, BuildHasherDefault<AsItIs>>,
    /// For each place the one before it of a row of the same hash.
    before: Vec<Option<usize>>,
}

impl Keys {
    /// Room for so many.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            last: HashMap::with_capacity_and_hasher(rows, BuildHasherDefault::default()),
            before: Vec::with_capacity(rows),
            hashing: seeded(),
        }
    }

    /// The hash of a row's key.
    pub(crate) fn hash<R: Row>(&self, row: &R) -> u64 {
        let mut hasher = self.hashing.build_hasher();
        row.tell_key(&mut hasher);
        hasher.finish()
    }

    /// Adds the next row, whose place is the number of those before it.
    pub(crate) fn add(&mut self, hash: u64) {
        let before = self.last.insert(hash, self.before.len());
        self.before.push(before);
    }

    /// The places of rows of this hash, the last first.
    pub(crate) fn of(&self, hash: u64) -> impl Iterator<Item = usize> {
        std::iter::successors(self.last.get(&hash).copied(), |place| {
            self.before.get(*place).copied().flatten()
        })
    }
}
