//! Revisions: versions of the data that a reply depends on.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::model::Millis;

/// A version of the data. Equal queries have equal replies while the number is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Changes with each change of the data.
    pub number: u64,
    /// The wall-clock time at which the last change became visible.
    pub changed_at: Millis,
}

impl Revision {
    /// The revision of a new market.
    pub(crate) fn first() -> Self {
        Self {
            number: 0,
            changed_at: wall_clock(),
        }
    }

    /// The revision after a change.
    pub(crate) fn next(self, changed_at: Millis) -> Self {
        Self {
            number: self.number + 1,
            changed_at,
        }
    }
}

/// A part of a market's data that a reply depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dependency {
    /// All observations.
    Observations,
    /// All observations and the coverage records.
    Record,
    /// The closed bars of a coin and the other inputs of its estimates.
    Coin(String),
    /// The recorded maps of a source.
    Recording(String),
}

/// The state of a part of a market's data after a check for new rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceState {
    pub(crate) revision: Revision,
    /// The instant at which every window ends; it moves with new observations, not with the clock.
    pub(crate) now: Millis,
}

/// Shortest length of a bar in an estimate, in milliseconds.
const BAR: i64 = 5 * Millis::MINUTE;

/// The last multiple of five minutes at or before `at`, when a bar may have closed.
pub(crate) fn last_close(at: Millis) -> Millis {
    Millis(at.0.div_euclid(BAR).saturating_mul(BAR))
}

/// The current time of the wall clock.
pub(crate) fn wall_clock() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
