//! What readers of one archive know of its damage, and when a journal that is damaged is worth another look.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::archive::clock::wall_clock;
use crate::archive::journal::database;
use crate::model::Millis;

/// The shortest pause before another look through a damaged journal.
const REST: Duration = Duration::from_secs(2);
/// The pause is so many times what the last look took: answers come first.
const IDLE: u32 = 10;

/// A file's size and time of change: while they stay, its checksum is not computed again.
pub(crate) type Stamp = (u64, Option<SystemTime>);
/// How a journal and its log lie on the disk.
pub(crate) type Lie = [Option<Stamp>; 2];

/// What is known of damage.
#[derive(Debug, Default)]
pub(crate) struct Warned {
    /// What is wrong with the files that were warned of.
    reasons: HashMap<String, String>,
    /// How often that has changed, and when it did last.
    changes: u64,
    changed_at: Millis,
    /// How often a journal that was damaged turned out to be sound.
    mended: u64,
    /// The last look at a journal that is damaged.
    look: Option<Look>,
}

/// A look through a journal, or what met its damage.
#[derive(Clone, Copy, Debug)]
struct Look {
    began: Instant,
    /// How long nobody looks again.
    rest: Duration,
    /// How it lay; none where nobody has looked through it since its damage was met.
    lay: Option<Lie>,
}

/// What is known to the readers of one archive.
pub(crate) fn known(warned: &Mutex<Warned>) -> MutexGuard<'_, Warned> {
    warned.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Warned {
    fn change(&mut self) {
        self.changes += 1;
        self.changed_at = wall_clock();
    }

    /// How many files are damaged.
    pub(crate) fn files(&self) -> usize {
        self.reasons.len()
    }

    /// How often what is known has changed, and when it did last.
    pub(crate) fn changes(&self) -> (u64, Millis) {
        (self.changes, self.changed_at)
    }

    /// What is wrong with a file.
    pub(crate) fn of(&self, path: &str) -> Option<&String> {
        self.reasons.get(path)
    }

    /// Notes what is wrong with a file; gives whether that is news.
    pub(crate) fn note(&mut self, path: &str, reason: &str) -> bool {
        if self.of(path).is_some_and(|known| known == reason) {
            return false;
        }
        self.reasons.insert(path.to_owned(), reason.to_owned());
        self.change();
        true
    }

    /// Notes that a file is sound: should it be damaged again, that is news. Gives whether it was damaged.
    pub(crate) fn forget(&mut self, path: &str) -> bool {
        let was_damaged = self.reasons.remove(path).is_some();
        if was_damaged {
            self.change();
        }
        was_damaged
    }

    /// Notes that the journal is sound.
    pub(crate) fn mend_journal(&mut self) {
        self.mended += u64::from(self.forget(database::FILE));
    }

    /// How often the journal was damaged and turned out to be sound.
    pub(crate) fn mended(&self) -> u64 {
        self.mended
    }

    /// Forgets all of it.
    pub(crate) fn forget_all(&mut self) {
        self.reasons.clear();
        self.change();
    }

    /// What is wrong with the journal.
    pub(crate) fn of_journal(&self) -> Option<&String> {
        self.of(database::FILE)
    }

    /// Notes what is wrong with the journal; gives whether that is news. Each question may meet another part of the same
    /// damage, so that only the first is.
    pub(crate) fn note_journal(&mut self, reason: &str) -> bool {
        if self.of_journal().is_some() {
            return false;
        }
        self.look = Some(Look {
            began: Instant::now(),
            rest: REST,
            lay: None,
        });
        self.note(database::FILE, reason)
    }

    /// Whether a journal that is damaged and lies so is worth another look; whoever is told so is to look.
    pub(crate) fn begin_look(&mut self, lies: Lie) -> bool {
        if self.of_journal().is_none() {
            return false;
        }
        let is_worth = self
            .look
            .is_none_or(|look| look.began.elapsed() >= look.rest && look.lay != Some(lies));
        if is_worth {
            self.look = Some(Look {
                began: Instant::now(),
                rest: REST,
                lay: Some(lies),
            });
        }
        is_worth
    }

    /// Notes that a look through the journal is over.
    pub(crate) fn end_look(&mut self) {
        if let Some(look) = &mut self.look {
            look.rest = REST.max(look.began.elapsed() * IDLE);
        }
    }
}
