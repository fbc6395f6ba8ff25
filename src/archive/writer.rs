//! The archive as its one writer has it.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::batch::{Acknowledged, Batch};
use super::clock::wall_clock;
use super::lock::{self, Lock};
use super::{ArchiveError, Completeness, files};
use crate::archive::archive::Archive;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::State;
use crate::archive::compaction::{compactor, supersede};
use crate::archive::coverage::damage_gaps;
use crate::archive::coverage::pending;
use crate::archive::coverage::sessions::{Gap, SessionId};
use crate::archive::import::{filing, filing_tables};
use crate::archive::integrity::verify;
use crate::archive::journal::{database, swap};
use crate::archive::rows::row::{check_name, check_time};
use crate::archive::rows::row_kind::ROW_KINDS;
use crate::archive::segment::atomic_write;
use crate::archive::store::{GoesOn, Store};
use crate::archive::{
    CompactionReport, DayCorrection, Filed, ImportedSession, SegmentStep, Tables, Verification,
};
use crate::model::Millis;

/// An archive, open for writing, and for reading as well; there is one at a time.
#[derive(Debug)]
pub struct Writer {
    // Dropped in this order: the journal is closed before another may write.
    archive: Archive,
    connection: Option<Connection>,
    lock: Lock,
}

impl Deref for Writer {
    type Target = Archive;

    fn deref(&self) -> &Archive {
        &self.archive
    }
}

/// Files that have been removed, which is not durable yet.
#[derive(Debug)]
pub(crate) struct Unlinked<'a> {
    parts: Vec<&'a str>,
    /// The folders they were in.
    folders: BTreeSet<PathBuf>,
    /// The first fault, of one that could not be removed.
    outcome: Result<(), ArchiveError>,
}

impl Writer {
    /// Implements `Archive::create_or_open`.
    pub(crate) fn create_or_open(path: &Path) -> Result<Self, ArchiveError> {
        let folder = &files::settled(path)?;
        match fs::create_dir(folder) {
            Ok(()) => {
                if let Some(above) = folder
                    .parent()
                    .filter(|above| !above.as_os_str().is_empty())
                {
                    files::sync_folder(above)?;
                }
            }
            Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(ArchiveError::of_file(folder, source)),
        }
        check_folder(folder)?;
        lock::refuse_network(folder)?;
        let lock = Lock::take(folder, wall_clock())?;
        Self::locked(folder, lock, false)
    }

    /// Opens the archive whose lock is taken; after a repair unfinished files go to the quarantine.
    pub(crate) fn locked(
        folder: &Path,
        lock: Lock,
        is_repaired: bool,
    ) -> Result<Self, ArchiveError> {
        let path = folder.join(database::FILE);
        let connection = database::open_to_write(&path)?;
        files::sync_folder(folder)?;
        let store = Store::opened(folder, database::open_to_read(&path)?)?;
        let mut writer = Self {
            archive: Archive { store },
            connection: Some(connection),
            lock,
        };
        if is_repaired {
            writer.keep_pending()?;
        }
        writer.recover()?;
        damage_gaps::warn_of_damage(&writer.store)?;
        Ok(writer)
    }

    /// Moves every day that ended by `until` into segments.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a segment or the journal cannot be written. Moved rows stay moved, the others stay in
    /// the journal.
    pub fn compact(&mut self, until: Millis) -> Result<CompactionReport, ArchiveError> {
        compactor::compact(self, until)
    }

    /// As [`Writer::compact`]; calls `done` after every step of every segment.
    ///
    /// # Errors
    ///
    /// As [`Writer::compact`].
    pub fn compact_observed(
        &mut self,
        until: Millis,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<CompactionReport, ArchiveError> {
        compactor::compact_observed(self, until, done)
    }

    /// Applies a correction to the orders of the day that begins at `day`, completely or not at all.
    ///
    /// Reads as of an earlier instant return the old rows. Returns the instant from which the correction is
    /// valid.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRow`] if a row cannot be stored exactly, else [`ArchiveError`] if a segment or the
    /// journal cannot be read or written. Nothing has changed then.
    pub fn supersede(
        &mut self,
        day: Millis,
        correction: &DayCorrection,
    ) -> Result<Millis, ArchiveError> {
        supersede::supersede(self, day, correction)
    }

    /// As [`Writer::supersede`]; calls `done` after every step of every segment.
    ///
    /// # Errors
    ///
    /// As [`Writer::supersede`].
    pub fn supersede_observed(
        &mut self,
        day: Millis,
        correction: &DayCorrection,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<Millis, ArchiveError> {
        supersede::supersede_observed(self, day, correction, done)
    }

    /// Keeps rows of the past: those of days that were over at `until` in files of their own, the others in the journal.
    /// `told` says of which time they tell. All of it is there afterwards, or none of it: `None` where `goes_on`, which is
    /// asked before each file, says that it is enough.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where a file or the journal cannot be written, or a file of one of the days not be read.
    pub fn file(
        &mut self,
        rows: Batch,
        told: &[ImportedSession],
        until: Millis,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Filed>, ArchiveError> {
        filing::file(self, rows, told, until, goes_on)
    }

    /// As [`Writer::file`], and tells of every step of every file once it is done.
    ///
    /// # Errors
    ///
    /// As [`Writer::file`].
    pub fn file_observed(
        &mut self,
        rows: Batch,
        told: &[ImportedSession],
        until: Millis,
        goes_on: &mut dyn FnMut() -> bool,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<Option<Filed>, ArchiveError> {
        filing::file_observed(self, rows, told, until, goes_on, done)
    }

    /// Keeps tables of the past as [`Writer::file`] does their rows, a lot of days after the other: each is there whole or not
    /// at all, and so is what `told` tells of their time. `goes_on` is told how many rows have been kept or handed back, and says
    /// whether to go on; gives what is kept, and whether it came to the end.
    ///
    /// # Errors
    ///
    /// As [`Writer::file`].
    pub fn file_tables(
        &mut self,
        tables: Tables,
        told: &[ImportedSession],
        until: Millis,
        goes_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(Filed, bool), ArchiveError> {
        filing_tables::file_tables(self, tables, told, until, goes_on)
    }

    /// Moves every damaged file to the folder `quarantine` and records what is missing as a gap; the rest is served on.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where a file cannot be read or moved, or the journal cannot be written.
    pub fn quarantine(&mut self) -> Result<Verification, ArchiveError> {
        verify::quarantine(self)
    }

    /// As [`Archive::look_while`], and while the journal is written.
    ///
    /// # Errors
    ///
    /// As [`Archive::look_while`].
    pub fn look_while(&mut self, goes_on: &GoesOn) -> Result<(), ArchiveError> {
        self.archive.look_while(goes_on)?;
        self.change(|journal| database::look_while(journal, goes_on))
    }

    /// Moves unfinished files to the quarantine: the journal may have lost their rows.
    fn keep_pending(&mut self) -> Result<(), ArchiveError> {
        for part in self
            .store
            .ask(|journal| manifest::all(journal, State::Pending))?
        {
            let path = Path::new(&part.path);
            let from = self.store.folder.join(path);
            files::refuse_link(&self.store.folder, path)?;
            let to = files::place_aside(&self.store.folder, path, &from)?;
            if let (true, Some(target)) = (from.exists(), to.parent()) {
                files::make_folder(&self.store.folder, target)?;
                fs::rename(&from, &to).map_err(|source| ArchiveError::of_file(&from, source))?;
                files::sync_folder(target)?;
            }
        }
        Ok(())
    }

    /// Removes the files of rolls that were cut short.
    fn recover(&mut self) -> Result<(), ArchiveError> {
        let pending = self
            .store
            .ask(|journal| manifest::all(journal, State::Pending))?;
        self.withdraw(pending.iter().map(|part| part.path.as_str()))
    }

    /// Removes files that were never kept, and forgets them; those that are kept stay. However many they are, the disk is waited
    /// for twice: for their folders, and for the journal. One that cannot be removed is not forgotten.
    pub(crate) fn withdraw<'a>(
        &mut self,
        parts: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), ArchiveError> {
        let Unlinked {
            parts,
            mut folders,
            outcome,
        } = self.unlink(parts)?;
        if parts.is_empty() {
            return outcome;
        }
        // Of files that were gone already that is not durable either.
        let above = parts
            .iter()
            .filter_map(|part| self.store.folder.join(part).parent().map(Path::to_owned));
        folders.extend(above.filter(|folder| folder.is_dir()));
        atomic_write::sync_all(folders)?;
        self.change(|journal| {
            let transaction = journal.transaction()?;
            for part in &parts {
                manifest::forget(&transaction, part)?;
            }
            transaction.commit()
        })?;
        outcome
    }

    /// Removes files that were never kept, and does not wait for the disk: that they are gone is written down when the archive
    /// is opened next.
    pub(crate) fn unlink<'a>(
        &mut self,
        parts: impl IntoIterator<Item = &'a str>,
    ) -> Result<Unlinked<'a>, ArchiveError> {
        let mut unlinked = Unlinked {
            parts: Vec::new(),
            folders: BTreeSet::new(),
            outcome: Ok(()),
        };
        for part in parts {
            // Asked of the handle that writes: after a failed commit it is a new one, which knows what became of it.
            if !self.change(|journal| manifest::is_pending(journal, part))? {
                continue;
            }
            let outcome = files::refuse_link(&self.store.folder, Path::new(part))
                .and_then(|()| files::unlink(&self.store.folder.join(part), &mut unlinked.folders));
            if outcome.is_ok() {
                unlinked.parts.push(part);
            }
            unlinked.outcome = unlinked.outcome.and(outcome);
        }
        Ok(unlinked)
    }

    /// Appends a batch and returns once it is durable: all of it, or in case of an error nothing.
    ///
    /// A row that was appended before is left as it was, so sending again is safe. Of a day that has been rolled a row
    /// that is sent again counts as new here, and is told once by every read nevertheless.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRow`] where a value cannot be kept exactly, [`ArchiveError::DiskFull`] where space ran out
    /// (append again once there is some), else [`ArchiveError`] where the journal cannot be written.
    pub fn append(&mut self, batch: &Batch) -> Result<Acknowledged, ArchiveError> {
        batch.check()?;
        let acknowledged = self.append_all(std::slice::from_ref(batch), &[])?;
        Ok(acknowledged.into_iter().next().unwrap_or_default())
    }

    /// Appends batches that have been checked, and gaps that may have grown, in one transaction.
    pub(crate) fn append_all(
        &mut self,
        batches: &[Batch],
        gaps: &[Gap],
    ) -> Result<Vec<Acknowledged>, ArchiveError> {
        self.change(|journal| database::append(journal, batches, gaps))
    }

    /// Begins to listen to an exchange: the time since it was last seen becomes a gap, if none covers it yet.
    ///
    /// Say with [`Batch::seen`] that the listening goes on.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where a name is blank, the instant has no date, or the journal cannot be written.
    pub fn begin_session(
        &mut self,
        exchange: &str,
        completeness: Completeness,
        at: Millis,
    ) -> Result<SessionId, ArchiveError> {
        check_name("exchange", exchange)
            .and_then(|()| check_time("started", at))
            .map_err(|(column, message)| ArchiveError::BadRow {
                table: "runs",
                column,
                row: 0,
                message,
            })?;
        self.change(|journal| pending::begin(journal, exchange, completeness, at))
    }

    /// Changes the journal. After a failed read or write of the disk the handle is given up: an fsync that is tried
    /// again may succeed without the data, so the next change opens the journal anew.
    pub(crate) fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        self.store.check_process()?;
        self.lock.check()?;
        self.archive.check_journal()?;
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.reopened()?,
        };
        let outcome = change(&mut connection).map_err(|source| self.store.of_journal(source));
        if !outcome.as_ref().is_err_and(ArchiveError::is_io) {
            self.connection = Some(connection);
        }
        outcome
    }

    /// The journal on a new handle, with everything in its log moved into the database and synced there: what the lost
    /// handle failed to sync must not lie below what is acknowledged from now on.
    fn reopened(&self) -> Result<Connection, ArchiveError> {
        let connection = database::open_to_write(&self.store.folder.join(database::FILE))?;
        let busy = database::write_out(&connection);
        if busy.map_err(|source| self.store.of_journal(source))? {
            Ok(connection)
        } else {
            Err(self.kept_by_reader())
        }
    }

    fn kept_by_reader(&self) -> ArchiveError {
        let message = "a write failed, and a reader keeps the journal's log from being written out; try again";
        ArchiveError::Io {
            path: self.store.folder.join(database::FILE),
            source: std::io::Error::new(std::io::ErrorKind::ResourceBusy, message),
        }
    }
}

/// Refuses a folder that holds something else than an archive.
fn check_folder(folder: &Path) -> Result<(), ArchiveError> {
    let refused = |message| {
        Err(ArchiveError::NotAnArchive {
            path: folder.to_owned(),
            message,
        })
    };
    if !folder.is_dir() {
        return refused("it is not a folder".to_owned());
    }
    if folder.join(database::FILE).exists() {
        return Ok(());
    }
    if swap::is_interrupted(folder) {
        return refused(swap::INTERRUPTED.to_owned());
    }
    let entries = fs::read_dir(folder).map_err(|source| ArchiveError::of_file(folder, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| ArchiveError::of_file(folder, source))?;
        let name = entry.file_name();
        if ROW_KINDS.iter().any(|kind| name == kind.table) {
            return refused(format!(
                "it holds rows in {:?} and no {}; restore that file",
                name.to_string_lossy(),
                database::FILE
            ));
        }
        // A writer that was killed before it made the journal leaves its lock.
        if name != lock::FILE {
            return refused(format!(
                "it holds {:?} already; name a folder that is empty or does not exist",
                name.to_string_lossy()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use rusqlite::ffi;

    use super::*;
    use crate::archive::OpenInterestRow;
    use crate::archive::filter::Filter;

    fn reading(timestamp: i64) -> Batch {
        Batch {
            open_interest: vec![OpenInterestRow {
                exchange: "okx".to_owned(),
                symbol: "BTC".to_owned(),
                timestamp: Millis(timestamp),
                open_interest: 5.into(),
                received_at: Millis(timestamp),
            }],
            ..Batch::default()
        }
    }

    #[test]
    fn after_a_failed_fsync_the_handle_is_given_up_and_the_log_written_out_anew() {
        let folder = std::env::temp_dir().join(format!("liqdata-fsync-{}", std::process::id()));
        let mut writer = Archive::create_or_open(&folder).unwrap();
        writer.append(&reading(1)).unwrap();
        let log = database::beside(&folder.join(database::FILE), "-wal");
        assert!(fs::metadata(&log).unwrap().len() > 0);

        let failed = ffi::Error::new(ffi::SQLITE_IOERR_FSYNC);
        let fault = writer
            .change(|_| Err::<(), _>(rusqlite::Error::SqliteFailure(failed, None)))
            .unwrap_err();
        assert!(fault.is_io(), "{fault}");
        assert!(writer.connection.is_none());
        drop(writer.reopened().unwrap());
        assert_eq!(fs::metadata(&log).unwrap().len(), 0);
        writer.append(&reading(2)).unwrap();
        assert!(writer.connection.is_some());
        let rows = writer.open_interest(&Filter::default()).unwrap().rows;
        assert_eq!(rows.len(), 2);

        // Another failure leaves the handle as it is.
        let full = ffi::Error::new(ffi::SQLITE_FULL);
        let fault = writer
            .change(|_| Err::<(), _>(rusqlite::Error::SqliteFailure(full, None)))
            .unwrap_err();
        assert!(matches!(fault, ArchiveError::DiskFull { .. }), "{fault}");
        assert!(writer.connection.is_some());
        drop(writer);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_handle_from_another_process_answers_nothing() {
        let folder = std::env::temp_dir().join(format!("liqdata-fork-{}", std::process::id()));
        let mut writer = Archive::create_or_open(&folder).unwrap();
        // As it is in the child of a fork.
        writer.archive.store.opened_by = std::process::id() + 1;
        for fault in [
            writer.orders(&Filter::default()).map(drop).unwrap_err(),
            writer.append(&reading(1)).map(drop).unwrap_err(),
        ] {
            assert!(matches!(fault, ArchiveError::Forked { .. }), "{fault}");
        }
        drop(writer);
        fs::remove_dir_all(&folder).unwrap();
    }
}
