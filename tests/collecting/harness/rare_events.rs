//! Checks that the random schedules reached each rare event.

use std::collections::BTreeSet;
use std::ops::AddAssign;

use super::oracle::Happened;
use crate::bench::{OrderContent, true_of};

/// The rare events of the schedules.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    pub(super) events: usize,
    /// Events with the same content as one before.
    pub(super) equal: usize,
    /// Lost frames of numbered streams.
    pub(super) skipped: usize,
    /// Pages behind the first that were refused.
    pub(super) pages_refused: usize,
}

impl Met {
    pub(super) fn of(happened: &Happened) -> Self {
        let contents = happened.truths.iter().map(|(_, truth)| true_of(truth));
        let different: BTreeSet<OrderContent> = contents.collect();
        Self {
            events: happened.truths.len(),
            equal: happened.truths.len() - different.len(),
            skipped: happened.skipped.len(),
            pages_refused: happened.pages_refused,
        }
    }

    /// Whether there was some of everything.
    pub(super) fn is_some_of_all(&self) -> bool {
        [self.events, self.equal, self.skipped, self.pages_refused]
            .iter()
            .all(|count| *count > 0)
    }
}

impl AddAssign for Met {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.equal += other.equal;
        self.skipped += other.skipped;
        self.pages_refused += other.pages_refused;
    }
}
