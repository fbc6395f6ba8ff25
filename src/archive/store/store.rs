//! State of an open archive, internal to the crate: folder, journal connection and known damage.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{SegmentEntry, SegmentState};
use crate::archive::files::Identity;
use crate::archive::journal::database;
use crate::archive::journal::database::Reader;
use crate::archive::sql::row_kind::ROW_KINDS;
use crate::archive::store::damage_state;
use crate::archive::store::damage_state::{DamageState, Stamp};
use crate::archive::store::damaged_part::DamagedPart;
use crate::archive::{ArchiveError, files, lock};
use crate::model::Millis;

/// Callback that returns false to stop a long operation. Any thread may call it.
pub type GoesOn = Arc<dyn Fn() -> bool + Send + Sync>;

/// Identity of a journal file, and a row id.
///
/// The checksums of the journal's orders up to this id were verified.
type CheckedOrders = Option<(Identity, i64)>;

/// An archive that this process has open for reading.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) folder: PathBuf,
    pub(crate) opened_by: u32,
    /// Identity of the journal that was opened.
    identity: Mutex<Identity>,
    journal: Mutex<Reader>,
    /// How often an outdated connection was replaced.
    renewals: AtomicI64,
    /// State shared with readers that were opened through [`Store::another`] or a [`Twin`].
    shared: Shared,
    /// Whether a query that finds the journal damaged records this for all readers.
    ///
    /// Set only after a check on opening found the journal sound.
    pub(crate) notes: bool,
}

/// State shared by readers of one archive: sound files, known damage and checked orders.
#[derive(Clone, Debug, Default)]
struct Shared {
    sound: Arc<Mutex<HashMap<String, Stamp>>>,
    damage: Arc<Mutex<DamageState>>,
    checked_orders: Arc<Mutex<CheckedOrders>>,
}

/// Factory for further readers of the same archive, for example on another thread.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    folder: PathBuf,
    shared: Shared,
}

impl Twin {
    /// Opens a reader that shares known damage with the original.
    pub(crate) fn open(&self) -> Result<Store, ArchiveError> {
        let Self { folder, shared } = self.clone();
        let opened = Store::open(&folder).inspect_err(|fault| note(&folder, &shared, fault))?;
        Ok(Store {
            shared,
            notes: true,
            ..opened
        })
    }
}

/// Records that the journal is damaged, if `fault` is the error of a damaged journal.
fn note(folder: &Path, shared: &Shared, fault: &ArchiveError) {
    let journal = folder.join(database::FILE);
    match fault {
        ArchiveError::Damaged { path, message } | ArchiveError::NotAnArchive { path, message }
            if *path == journal =>
        {
            note_journal(folder, shared, message);
        }
        _ => {}
    }
}

fn note_journal(folder: &Path, shared: &Shared, reason: &str) {
    let is_news = damage_state::known(&shared.damage).note_journal(reason);
    if is_news {
        log::error!(
            target: "liqdata::archive",
            "{} is damaged: {reason}; run `liqdata verify` to see everything that is wrong with it",
            folder.join(database::FILE).display()
        );
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Opens the archive in a folder without an integrity check.
    pub(crate) fn open(folder: &Path) -> Result<Self, ArchiveError> {
        let folder = &files::settled(folder)?;
        let journal = folder.join(database::FILE);
        match fs::metadata(&journal) {
            Ok(_) => {}
            Err(source) if is_absent(&source) => {
                return Err(ArchiveError::NotAnArchive {
                    path: folder.to_owned(),
                    message: no_journal(folder),
                });
            }
            Err(source) => return Err(ArchiveError::of_file(&journal, source)),
        }
        lock::refuse_network(folder)?;
        Self::opened(folder, database::open_to_read(&journal)?)
    }

    /// Creates a store for a folder, with an open connection to its journal.
    pub(crate) fn opened(folder: &Path, journal: Reader) -> Result<Self, ArchiveError> {
        let path = folder.join(database::FILE);
        let found =
            fs::symlink_metadata(&path).map_err(|source| ArchiveError::of_file(&path, source))?;
        Ok(Self {
            folder: folder.to_owned(),
            opened_by: std::process::id(),
            identity: Mutex::new(files::identity(&found)),
            journal: Mutex::new(journal),
            renewals: AtomicI64::new(0),
            shared: Shared::default(),
            notes: false,
        })
    }

    /// The archive's folder.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Returns an error if the journal file was deleted or replaced since it was opened.
    pub(crate) fn check_journal(&self) -> Result<(), ArchiveError> {
        files::refuse_another(&self.folder.join(database::FILE), self.identity())
    }

    /// Identity of the journal that was opened.
    pub(crate) fn identity(&self) -> Identity {
        *locked(&self.identity)
    }

    /// Reopens the journal after its file was replaced, if `check` accepts the new file.
    ///
    /// Clears the record of files that were found sound.
    pub(crate) fn reopen(
        &self,
        check: &dyn Fn(&Self) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        self.check_process()?;
        let path = self.folder.join(database::FILE);
        // A journal that is still being copied may look complete. Its size and modification time must therefore be the
        // same before and after the check.
        let look = || fs::metadata(&path).map(|found| (found.len(), found.modified().ok()));
        let before = look().ok();
        let fresh = Self::open(&self.folder)?;
        check(&fresh)?;
        fresh.check_journal()?;
        if look().ok() != before {
            return Err(ArchiveError::Replaced {
                path,
                what: "replaced",
            });
        }
        let Self {
            identity, journal, ..
        } = fresh;
        *locked(&self.journal) = journal.into_inner().unwrap_or_else(PoisonError::into_inner);
        *locked(&self.identity) = identity
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        *locked(&self.shared.checked_orders) = None;
        locked(&self.shared.sound).clear();
        Ok(())
    }

    /// Opens another reader of the same archive.
    pub(crate) fn another(&self) -> Result<Self, ArchiveError> {
        self.twin().open()
    }

    /// Returns a [`Twin`], which opens another reader of the same archive.
    pub(crate) fn twin(&self) -> Twin {
        Twin {
            folder: self.folder.clone(),
            shared: self.shared.clone(),
        }
    }

    /// A number that changes with every commit of another connection.
    ///
    /// Compare two such numbers of the same reader to detect changes.
    pub(crate) fn version(&self) -> Result<i64, ArchiveError> {
        // Nearly every request to the archive reads the version, so this code opens no explicit transaction: a single
        // statement is a transaction anyway.
        let journal = self.journal()?;
        let version: rusqlite::Result<i64> = journal
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        drop(journal);
        // A new connection counts from the beginning.
        let renewals = self.renewals.load(Ordering::Acquire) << 32;
        version
            .map(|version| version.wrapping_add(renewals))
            .map_err(|source| self.met(source))
    }

    /// Makes every later query of the journal call `goes_on` every few milliseconds.
    ///
    /// If it returns false, the query fails.
    pub(crate) fn look_while(&self, goes_on: &GoesOn) -> Result<(), ArchiveError> {
        let looked = self.journal()?.look_while(goes_on);
        looked.map_err(|source| self.of_journal(source))
    }

    /// Locks the journal for one query. Returns an error if another file has replaced the journal.
    ///
    /// Opens the journal again if the connection does not see its new commits.
    fn journal(&self) -> Result<MutexGuard<'_, Reader>, ArchiveError> {
        self.check_process()?;
        self.check_journal()?;
        let path = self.folder.join(database::FILE);
        let mut journal = locked(&self.journal);
        if journal.is_outdated(&path) {
            journal.renew(&path)?;
            self.check_journal()?;
            self.renewals.fetch_add(1, Ordering::AcqRel);
        }
        Ok(journal)
    }

    /// Queries the journal in one transaction, so that all results describe the same state.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        let mut journal = self.journal()?;
        let answered = journal.connection.transaction().and_then(|transaction| {
            let answer = question(&transaction)?;
            transaction.finish()?;
            Ok(answer)
        });
        journal.refuse_mixture(&self.folder.join(database::FILE))?;
        drop(journal);
        answered.map_err(|source| self.met(source))
    }

    /// Queries the journal without a common transaction; `question` makes its own ones.
    pub(crate) fn read<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        let journal = self.journal()?;
        let answered = question(&journal.connection);
        journal.refuse_mixture(&self.folder.join(database::FILE))?;
        drop(journal);
        answered.map_err(|source| self.met(source))
    }

    /// Lists the active segments and the quarantined segments, as two vectors.
    pub(crate) fn segments(&self) -> Result<(Vec<SegmentEntry>, Vec<SegmentEntry>), ArchiveError> {
        self.ask(|journal| {
            Ok((
                manifest::all(journal, SegmentState::Active)?,
                manifest::all(journal, SegmentState::Quarantined)?,
            ))
        })
    }

    /// Converts the error of a query; records the damage if the journal is damaged.
    fn met(&self, source: rusqlite::Error) -> ArchiveError {
        let fault = self.of_journal(source);
        self.note(&fault);
        fault
    }

    /// Records that the journal is damaged, if `fault` is the error of a damaged journal.
    pub(crate) fn note(&self, fault: &ArchiveError) {
        if self.notes {
            note(&self.folder, &self.shared, fault);
        }
    }

    /// Converts an error of the journal.
    pub(crate) fn of_journal(&self, source: rusqlite::Error) -> ArchiveError {
        ArchiveError::of_journal(&self.folder.join(database::FILE), source)
    }

    /// Returns an error in a forked process, where a `SQLite` connection must not be used.
    pub(crate) fn check_process(&self) -> Result<(), ArchiveError> {
        if self.opened_by == std::process::id() {
            Ok(())
        } else {
            Err(ArchiveError::Forked {
                path: self.folder.clone(),
                opened_by: self.opened_by,
            })
        }
    }

    /// The row id up to which the checksums of this journal's orders were verified.
    pub(crate) fn checked_orders(&self) -> i64 {
        let identity = self.identity();
        match *locked(&self.shared.checked_orders) {
            // On a system without file identities, earlier checks do not count.
            Some((of, until)) if of == identity && identity.is_some() => until,
            _ => 0,
        }
    }

    /// Records that all orders up to a row id were verified.
    pub(crate) fn set_checked_orders(&self, until: i64) {
        *locked(&self.shared.checked_orders) = Some((self.identity(), until));
    }

    /// Size and modification time of a file when it was last found sound.
    pub(crate) fn known(&self, path: &str) -> Option<Stamp> {
        locked(&self.shared.sound).get(path).copied()
    }

    /// Records the stamp (size and modification time) of a sound file. `None` removes the stamp, because the file is
    /// not sound.
    pub(crate) fn learn(&self, path: &str, stamp: Option<Stamp>) {
        let mut sound = locked(&self.shared.sound);
        match stamp {
            Some(stamp) => {
                sound.insert(path.to_owned(), stamp);
                self.damage().forget(path);
            }
            None => {
                sound.remove(path);
            }
        }
    }

    fn damage(&self) -> MutexGuard<'_, DamageState> {
        damage_state::known(&self.shared.damage)
    }

    /// Number of files that are known to be damaged.
    ///
    /// Returns an error in a forked process, where the mutex may be locked by a thread that the fork did not copy.
    pub(crate) fn damaged_files(&self) -> Result<usize, ArchiveError> {
        self.check_process()?;
        Ok(self.damage().files())
    }

    /// Number of changes to the known damage, and the time of the last one.
    pub(crate) fn changes_of_damage(&self) -> (u64, Millis) {
        self.damage().changes()
    }

    /// Clears the record of known damage.
    pub(crate) fn forget_damage(&self) {
        self.damage().forget_all();
    }

    /// Reason why a segment is known to be damaged, if it is.
    pub(crate) fn warned_of(&self, part: &SegmentEntry) -> Option<String> {
        self.damage().of(&part.path).cloned()
    }

    /// The journal as a [`DamagedPart`], if it is known to be damaged.
    pub(crate) fn damaged_journal(&self) -> Option<DamagedPart> {
        let reason = self.damage().of_journal().cloned()?;
        Some(DamagedPart {
            path: self.folder.join(database::FILE),
            holds: "journal".to_owned(),
            rows: 0,
            first: Millis::default(),
            last: Millis::default(),
            reason,
        })
    }

    /// Logs that rows of a damaged file are missing.
    ///
    /// Logs nothing if the file was logged for the same reason before.
    pub(crate) fn warn(&self, part: &SegmentEntry, reason: &str) {
        if !self.damage().note(&part.path, reason) {
            return;
        }
        log::warn!(
            target: "liqdata::archive",
            "{} rows of {} are missing: {}: {reason}",
            part.rows,
            part.holds,
            self.folder.join(&part.path).display()
        );
    }
}

fn is_absent(source: &std::io::Error) -> bool {
    matches!(
        source.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}

/// Says that a folder has no journal, and what to do if it has segments.
pub(crate) fn no_journal(folder: &Path) -> String {
    let segments = ROW_KINDS
        .iter()
        .find(|kind| folder.join(kind.table).is_dir());
    match segments {
        None => format!("there is no {} in it", database::FILE),
        Some(kind) => format!(
            "it has the segment folder {:?} but no {}; restore that file from a copy, or list the Parquet files in a new \
             journal: `liqdata verify --repair`",
            kind.table,
            database::FILE
        ),
    }
}
