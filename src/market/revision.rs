//! What answers depend on, and where it stands: an answer is right for as long as that has not moved.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::model::Millis;

/// What answers depend on: while the number is the same, equal questions have equal answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Another one after every change.
    pub number: u64,
    /// When the last change could first be seen in an answer, by this machine's clock.
    pub changed_at: Millis,
}

impl Revision {
    /// The one of what is made now.
    pub(crate) fn first() -> Self {
        Self {
            number: 0,
            changed_at: wall_clock(),
        }
    }

    /// The one after a change.
    pub(crate) fn next(self, changed_at: Millis) -> Self {
        Self {
            number: self.number + 1,
            changed_at,
        }
    }
}

/// The part of a market that an answer depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dependency {
    /// The observations.
    Observations,
    /// The observations, and what is recorded of how they were made.
    Record,
    /// The closed bars of a coin, and what else its estimates are made of.
    Coin(String),
}

/// Where a part of a market stands, as of one look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceState {
    pub(crate) revision: Revision,
    /// The instant every window ends at. It moves with the observations, never with the clock alone.
    pub(crate) now: Millis,
}

/// Length of the bars that estimates are made of.
const BAR: i64 = 5 * Millis::MINUTE;

/// The last instant by `at` at which a bar may have closed.
pub(crate) fn last_close(at: Millis) -> Millis {
    Millis(at.0.div_euclid(BAR).saturating_mul(BAR))
}

/// The instant it is, by this machine's clock.
pub(crate) fn wall_clock() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
