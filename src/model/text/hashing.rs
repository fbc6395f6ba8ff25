//! Fast hashing of untrusted text.

use std::hash::{BuildHasher as _, RandomState};

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;

/// A hasher with a random seed, so that crafted input cannot cause collisions.
///
/// It resists files prepared in advance, not an attacker who can observe timing.
#[must_use]
pub(crate) fn seeded() -> SeedableRandomState {
    let drawn = RandomState::new().hash_one(0);
    SeedableRandomState::with_seed(drawn, SharedSeed::global_random())
}
