//! The known damage of an archive, shared by its readers.
//!
//! It also decides when a damaged journal is checked again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::archive::clock::wall_clock;
use crate::archive::journal::database;
use crate::model::Millis;

/// Minimum pause before a damaged journal is checked again.
const REST: Duration = Duration::from_secs(2);
/// Minimum ratio of the pause to the duration of the last check.
///
/// It limits how much the checks slow down queries.
const IDLE: u32 = 10;

/// Size and modification time of a file. While both are unchanged, its checksum is not computed again.
pub(crate) type Stamp = (u64, Option<SystemTime>);
/// Stamps of the journal and of its write-ahead log.
pub(crate) type JournalStamps = [Option<Stamp>; 2];

/// Known damage of an archive.
#[derive(Debug, Default)]
pub(crate) struct DamageState {
    /// Reason why each damaged file is damaged, by path.
    reasons: HashMap<String, String>,
    /// Number of changes to the known damage.
    ///
    /// `changed_at` is the time of the last change.
    changes: u64,
    changed_at: Millis,
    /// Number of checks that found a damaged journal sound.
    recoveries: u64,
    /// The last check of the damaged journal, if it is damaged.
    look: Option<Look>,
}

/// A check of a damaged journal, or the read that found the damage.
#[derive(Clone, Copy, Debug)]
struct Look {
    began: Instant,
    /// Pause before the next check.
    rest: Duration,
    /// Stamps of the journal's files at that check.
    ///
    /// `None` if no check has run since the damage was found.
    stamps: Option<JournalStamps>,
}

/// Locks the known damage.
pub(crate) fn known(warned: &Mutex<DamageState>) -> MutexGuard<'_, DamageState> {
    warned.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DamageState {
    fn change(&mut self) {
        self.changes += 1;
        self.changed_at = wall_clock();
    }

    /// Number of damaged files.
    pub(crate) fn files(&self) -> usize {
        self.reasons.len()
    }

    /// Number of changes to the known damage, and time of the last change.
    pub(crate) fn changes(&self) -> (u64, Millis) {
        (self.changes, self.changed_at)
    }

    /// Returns the reason why a file is known to be damaged.
    pub(crate) fn of(&self, path: &str) -> Option<&String> {
        self.reasons.get(path)
    }

    /// Records that a file is damaged; returns whether the reason is new.
    pub(crate) fn note(&mut self, path: &str, reason: &str) -> bool {
        if self.of(path).is_some_and(|known| known == reason) {
            return false;
        }
        self.reasons.insert(path.to_owned(), reason.to_owned());
        self.change();
        true
    }

    /// Records that a file is sound; returns whether it was known to be damaged.
    pub(crate) fn forget(&mut self, path: &str) -> bool {
        let was_damaged = self.reasons.remove(path).is_some();
        if was_damaged {
            self.change();
        }
        was_damaged
    }

    /// Records that the journal is sound.
    pub(crate) fn clear_journal(&mut self) {
        self.recoveries += u64::from(self.forget(database::FILE));
    }

    /// Number of checks that found a damaged journal sound.
    pub(crate) fn recoveries(&self) -> u64 {
        self.recoveries
    }

    /// Clears all known damage.
    pub(crate) fn forget_all(&mut self) {
        self.reasons.clear();
        self.change();
    }

    /// Returns the reason why the journal is known to be damaged.
    pub(crate) fn of_journal(&self) -> Option<&String> {
        self.of(database::FILE)
    }

    /// Records that the journal is damaged; returns whether this was unknown.
    ///
    /// Queries may find different parts of the same damage, so only the first reason is recorded.
    pub(crate) fn note_journal(&mut self, reason: &str) -> bool {
        if self.of_journal().is_some() {
            return false;
        }
        self.look = Some(Look {
            began: Instant::now(),
            rest: REST,
            stamps: None,
        });
        self.note(database::FILE, reason)
    }

    /// Whether to check the damaged journal again, given the current stamps of its files.
    ///
    /// If this returns true, the caller must run the check, because it counts as begun.
    pub(crate) fn begin_look(&mut self, stamps: JournalStamps) -> bool {
        if self.of_journal().is_none() {
            return false;
        }
        let is_worth = self
            .look
            .is_none_or(|look| look.began.elapsed() >= look.rest && look.stamps != Some(stamps));
        if is_worth {
            self.look = Some(Look {
                began: Instant::now(),
                rest: REST,
                stamps: Some(stamps),
            });
        }
        is_worth
    }

    /// Records that a check of the journal has ended.
    pub(crate) fn end_look(&mut self) {
        if let Some(look) = &mut self.look {
            look.rest = REST.max(look.began.elapsed() * IDLE);
        }
    }
}
