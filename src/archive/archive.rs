//! The archive as its readers have it.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::archive::catalog::manifest::Part;
use crate::archive::catalog::stats::{Known, KnownCoin, known};
use crate::archive::files;
use crate::archive::files::Identity;
use crate::archive::integrity::damage_state;
use crate::archive::integrity::damage_state::{Stamp, Warned};
use crate::archive::integrity::damaged_part::DamagedPart;
use crate::archive::integrity::repair;
use crate::archive::journal::{database, table};
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::{ArchiveError, lock};
use crate::model::Millis;

/// What says whether to go on, asked from whichever thread is at work.
pub type GoesOn = Arc<dyn Fn() -> bool + Send + Sync>;

/// An archive, open for reading; as many as there may be, beside one [`Writer`](crate::archive::Writer) or none.
#[derive(Debug)]
pub struct Archive {
    pub(crate) folder: PathBuf,
    pub(crate) opened_by: u32,
    /// Of the journal that was opened.
    identity: Mutex<Identity>,
    journal: Mutex<Connection>,
    sound: Arc<Mutex<HashMap<String, Stamp>>>,
    warned: Arc<Mutex<Warned>>,
    /// Whether damage of the journal that a question meets is noted, so that all who have the archive open know of it: not
    /// before it was found sound.
    notes: bool,
    /// Up to which number the orders of a journal were found to be as they were written; readers of one archive share it.
    pub(crate) held: Arc<Mutex<Option<(Identity, i64)>>>,
}

/// What makes another reader of an archive that is open, in a thread of its own, say.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    folder: PathBuf,
    sound: Arc<Mutex<HashMap<String, Stamp>>>,
    warned: Arc<Mutex<Warned>>,
    held: Arc<Mutex<Option<(Identity, i64)>>>,
}

impl Twin {
    /// Opens it.
    pub(crate) fn open(&self) -> Result<Archive, ArchiveError> {
        let Self {
            folder,
            sound,
            warned,
            held,
        } = self.clone();
        let opened = Archive::of(&folder).inspect_err(|fault| note(&folder, &warned, fault))?;
        Ok(Archive {
            sound,
            warned,
            held,
            notes: true,
            ..opened
        })
    }

    /// The archive's folder, and what is known of its damage.
    pub(crate) fn known(&self) -> (&Path, &Mutex<Warned>) {
        (&self.folder, &self.warned)
    }
}

/// Notes that the journal is damaged, where that is what a fault means, and says so where it is news.
fn note(folder: &Path, warned: &Mutex<Warned>, fault: &ArchiveError) {
    let journal = folder.join(database::FILE);
    match fault {
        ArchiveError::Damaged { path, message } | ArchiveError::NotAnArchive { path, message }
            if *path == journal =>
        {
            note_journal(folder, warned, message);
        }
        _ => {}
    }
}

fn note_journal(folder: &Path, warned: &Mutex<Warned>, reason: &str) {
    let is_news = damage_state::known(warned).note_journal(reason);
    if is_news {
        log::error!(
            target: "liqdata::archive",
            "{} is damaged: {reason}; see what `liqdata verify` says of it",
            folder.join(database::FILE).display()
        );
    }
}

impl Archive {
    /// Opens the archive in the folder `path` for reading. Files that are missing, cut short or out of use are logged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::NotAnArchive`] where there is none, [`ArchiveError::Damaged`] where a journal of up to 64 MiB is not
    /// as it was written, else as [`Archive::create_or_open`] gives.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ArchiveError> {
        let mut archive = Self::to_verify(path)?;
        archive.refuse_damaged_journal()?;
        archive.notes = true;
        archive.warn_of_damage()?;
        Ok(archive)
    }

    /// As [`Archive::read`]; none where nothing has been written yet, though a writer may have been killed before it did.
    ///
    /// # Errors
    ///
    /// As [`Archive::read`], but for a journal that is not there or empty.
    pub fn read_if_begun(path: impl AsRef<Path>) -> Result<Option<Self>, ArchiveError> {
        let path = path.as_ref();
        if !path.join(database::FILE).exists() {
            return Ok(None);
        }
        match Self::read(path) {
            Err(ArchiveError::NotAnArchive { message, .. }) if message == database::EMPTY => {
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// Opens the archive in the folder `path` to [`verify`](Self::verify) it: nothing that is damaged is refused yet.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::NotAnArchive`] where there is none, else as [`Archive::create_or_open`] gives.
    pub fn to_verify(path: impl AsRef<Path>) -> Result<Self, ArchiveError> {
        Self::of(path.as_ref())
    }

    /// The archive in a folder, before anything of it is looked at.
    fn of(folder: &Path) -> Result<Self, ArchiveError> {
        let folder = &files::settled(folder)?;
        let journal = folder.join(database::FILE);
        match fs::metadata(&journal) {
            Ok(_) => {}
            Err(source) if is_absent(&source) => {
                return Err(ArchiveError::NotAnArchive {
                    path: folder.to_owned(),
                    message: if repair::is_interrupted(folder) {
                        repair::INTERRUPTED.to_owned()
                    } else {
                        format!("there is no {} in it", database::FILE)
                    },
                });
            }
            Err(source) => return Err(ArchiveError::of_file(&journal, source)),
        }
        lock::refuse_network(folder)?;
        Self::opened(folder, database::open_to_read(&journal)?)
    }

    pub(crate) fn opened(folder: &Path, journal: Connection) -> Result<Self, ArchiveError> {
        let path = folder.join(database::FILE);
        let found =
            fs::symlink_metadata(&path).map_err(|source| ArchiveError::of_file(&path, source))?;
        Ok(Self {
            folder: folder.to_owned(),
            opened_by: std::process::id(),
            identity: Mutex::new(files::identity(&found)),
            journal: Mutex::new(journal),
            sound: Arc::default(),
            warned: Arc::default(),
            notes: false,
            held: Arc::default(),
        })
    }

    /// Refuses to go on where the journal is no longer the one that was opened.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Replaced`] where it is not, and [`ArchiveError`] where that cannot be looked at.
    pub fn check_journal(&self) -> Result<(), ArchiveError> {
        files::refuse_another(&self.folder.join(database::FILE), self.identity())
    }

    /// That of the journal that was opened.
    pub(crate) fn identity(&self) -> Identity {
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads on in the journal that lies where the one lay that was opened: a restore put it there, say. Which
    /// files were found sound is forgotten.
    ///
    /// # Errors
    ///
    /// As [`Archive::read`], and [`ArchiveError::Replaced`] where the journal changed while it was looked at; nothing
    /// has happened then.
    pub fn reopen(&self) -> Result<(), ArchiveError> {
        self.check_process()?;
        let path = self.folder.join(database::FILE);
        // One that is still being copied may look like a whole one.
        let look = || fs::metadata(&path).map(|found| (found.len(), found.modified().ok()));
        let before = look().ok();
        let fresh = Self::of(&self.folder)?;
        fresh.refuse_damaged_journal()?;
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
        *self.journal.lock().unwrap_or_else(PoisonError::into_inner) =
            journal.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner) = identity
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.sound
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        Ok(())
    }

    /// Forgets what was known of damage, and warns anew of the files that are missing, cut short or out of use.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn look_anew(&self) -> Result<(), ArchiveError> {
        self.warned().forget_all();
        self.warn_of_damage()
    }

    /// Another reader of the same archive; a damaged file that one of them has warned of the other does not name again, and
    /// one that is sound it need not read to know.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] as [`Archive::read`] gives.
    pub fn another(&self) -> Result<Self, ArchiveError> {
        self.twin().open()
    }

    /// What makes another reader of it.
    pub(crate) fn twin(&self) -> Twin {
        Twin {
            folder: self.folder.clone(),
            sound: Arc::clone(&self.sound),
            warned: Arc::clone(&self.warned),
            held: Arc::clone(&self.held),
        }
    }

    /// The archive's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// A number that is another one whenever something has been committed since it was last asked for here.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn version(&self) -> Result<i64, ArchiveError> {
        // Asked before nearly every answer: one statement is a transaction by itself.
        let journal = self.journal()?;
        let version = journal
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        drop(journal);
        version.map_err(|source| self.met(source))
    }

    /// Asks `goes_on` now and then while the journal is read, every some milliseconds; where it says that it is enough what is
    /// asked of the journal ends with an error.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn look_while(&self, goes_on: &GoesOn) -> Result<(), ArchiveError> {
        let looked = database::look_while(&mut *self.journal()?, goes_on);
        looked.map_err(|source| self.of_journal(source))
    }

    /// The journal, for one question at a time; none of one that was put in its place, by a restore, say.
    fn journal(&self) -> Result<MutexGuard<'_, Connection>, ArchiveError> {
        self.check_process()?;
        self.check_journal()?;
        Ok(self.journal.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the journal, in one transaction, so that all answers are of one instant.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        let mut journal = self.journal()?;
        let answered = journal.transaction().and_then(|transaction| {
            let answer = question(&transaction)?;
            transaction.finish()?;
            Ok(answer)
        });
        drop(journal);
        answered.map_err(|source| self.met(source))
    }

    /// Asks the journal of an archive that this process has the lock of, one statement at a time: after a statement that
    /// meets a damaged page the others of its transaction fail as well.
    pub(crate) fn ask_in_steps<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        let journal = self.journal()?;
        question(&journal).map_err(|source| self.of_journal(source))
    }

    /// The error of a question to the journal; where that is damaged, it is known to be from then on.
    fn met(&self, source: rusqlite::Error) -> ArchiveError {
        let fault = self.of_journal(source);
        self.note(&fault);
        fault
    }

    /// Notes damage of the journal that a fault tells of.
    pub(crate) fn note(&self, fault: &ArchiveError) {
        if self.notes {
            note(&self.folder, &self.warned, fault);
        }
    }

    pub(crate) fn of_journal(&self, source: rusqlite::Error) -> ArchiveError {
        ArchiveError::of_journal(&self.folder.join(database::FILE), source)
    }

    /// A database handle must not cross a fork: its locks would be taken for another's.
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

    /// The stamp of a file at which it was last found sound.
    pub(crate) fn known(&self, path: &str) -> Option<Stamp> {
        let sound = self.sound.lock().unwrap_or_else(PoisonError::into_inner);
        sound.get(path).copied()
    }

    /// Remembers the stamp at which a file is sound, or that it is not.
    pub(crate) fn learn(&self, path: &str, stamp: Option<Stamp>) {
        let mut sound = self.sound.lock().unwrap_or_else(PoisonError::into_inner);
        match stamp {
            Some(stamp) => {
                sound.insert(path.to_owned(), stamp);
                self.warned().forget(path);
            }
            None => {
                sound.remove(path);
            }
        }
    }

    fn warned(&self) -> MutexGuard<'_, Warned> {
        damage_state::known(&self.warned)
    }

    /// How many files are known to be damaged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Forked`] in another process than it was opened in, where a thread that is not there may have the lock.
    pub fn damaged_files(&self) -> Result<usize, ArchiveError> {
        self.check_process()?;
        Ok(self.warned().files())
    }

    /// How often what is known of damage has changed since the archive was opened, and when it did last.
    #[must_use]
    pub fn changes_of_damage(&self) -> (u64, Millis) {
        self.warned().changes()
    }

    /// What was said to be wrong with a file, if anything was.
    pub(crate) fn warned_of(&self, part: &Part) -> Option<String> {
        self.warned().of(&part.path).cloned()
    }

    /// Warns that the journal is not as it was written, once however much is wrong with it.
    pub(crate) fn warn_of_journal(&self, reason: &str) {
        note_journal(&self.folder, &self.warned, reason);
    }

    /// Notes that the journal is as it was written.
    pub(crate) fn clear_journal(&self) {
        self.warned().mend_journal();
    }

    /// How often the journal was damaged and turned out to be sound since the archive was opened.
    pub(crate) fn times_mended(&self) -> u64 {
        self.warned().mended()
    }

    /// Whether the journal is known to be damaged.
    pub(crate) fn has_damaged_journal(&self) -> bool {
        self.warned().of_journal().is_some()
    }

    /// The journal, where it was found to be damaged since it was opened.
    pub(crate) fn damaged_journal(&self) -> Option<DamagedPart> {
        let reason = self.warned().of_journal().cloned()?;
        Some(DamagedPart {
            path: self.folder.join(database::FILE),
            holds: "journal".to_owned(),
            rows: 0,
            first: Millis::default(),
            last: Millis::default(),
            reason,
        })
    }

    /// Warns that a read does without a damaged file, once for what is wrong with it.
    pub(crate) fn warn(&self, part: &Part, reason: &str) {
        if !self.warned().note(&part.path, reason) {
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

impl Archive {
    /// What is known of the whole archive.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn summary(&self) -> Result<Known, ArchiveError> {
        self.ask(known)
    }

    /// The coins of which a bar had closed and been received by `as_of`, by name; all that have bars where it is absent.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn coins(&self, as_of: Option<Millis>) -> Result<Vec<KnownCoin>, ArchiveError> {
        self.ask(|journal| {
            journal
                .prepare_cached(&format!(
                    "SELECT {} FROM coins WHERE ?1 IS NULL OR known_from <= ?1 ORDER BY symbol",
                    table::columns::<KnownCoin>()
                ))?
                .query_map([as_of.map(|at| at.0)], |row| table::read(row, 0))?
                .collect()
        })
    }

    /// The exchanges that it has rows of, by name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn exchanges(&self) -> Result<BTreeSet<String>, ArchiveError> {
        self.ask(|journal| {
            let mut found = BTreeSet::new();
            for table in [
                "part_venues",
                OrderRow::TABLE,
                BarRow::TABLE,
                OpenInterestRow::TABLE,
                PositionRow::TABLE,
            ] {
                let mut names =
                    journal.prepare(&format!("SELECT DISTINCT exchange FROM {table}"))?;
                for name in names.query_map([], |row| row.get(0))? {
                    found.insert(name?);
                }
            }
            Ok(found)
        })
    }
}

fn is_absent(source: &std::io::Error) -> bool {
    matches!(
        source.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}
