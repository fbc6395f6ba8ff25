//! The known damage of an archive, shared by its readers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::archive::clock::wall_clock;
use crate::archive::journal::database;
use crate::model::Millis;

/// Size and modification time of a file. While both are unchanged, its checksum is not computed again.
pub(crate) type Stamp = (u64, Option<SystemTime>);

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

    /// Records that a file is sound.
    pub(crate) fn forget(&mut self, path: &str) {
        if self.reasons.remove(path).is_some() {
            self.change();
        }
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
        self.note(database::FILE, reason)
    }
}
