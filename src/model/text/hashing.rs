//! Fast hashing of untrusted text.

use std::hash::{BuildHasher as _, RandomState};

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;

/// A hasher with a random seed, so that crafted input cannot cause collisions.
///
/// The seed protects against files prepared in advance, but not against an attacker who can measure timing.
#[must_use]
pub fn seeded() -> SeedableRandomState {
    let drawn = RandomState::new().hash_one(0);
    SeedableRandomState::with_seed(drawn, SharedSeed::global_random())
}
