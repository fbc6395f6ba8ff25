//! Quick hashes of what others wrote, such as the lines of a file.

use std::hash::{BuildHasher as _, RandomState};

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;

/// What hashes by a seed that the system draws anew for each: nobody foresees which keys come to stand together, so that no
/// file can be made of keys that all do. It is no secret to who can try keys and watch.
#[must_use]
pub(crate) fn seeded() -> SeedableRandomState {
    let drawn = RandomState::new().hash_one(0);
    SeedableRandomState::with_seed(drawn, SharedSeed::global_random())
}
