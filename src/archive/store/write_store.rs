//! State of an archive that is open for writing, internal to the crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use crate::archive::batch::{Acknowledged, Batch};
use crate::archive::catalog::manifest::SegmentState;
use crate::archive::catalog::{file_versions, manifest, stats, version_file};
use crate::archive::clock::wall_clock;
use crate::archive::coverage_log::sessions::Gap;
use crate::archive::journal::database;
use crate::archive::lock::{self, Lock};
use crate::archive::segment::atomic_write;
use crate::archive::sql::row_kind::ROW_KINDS;
use crate::archive::store::store::{self, Store};
use crate::archive::{ArchiveError, files};

/// The writing connection, the lock and the [`Store`] of an archive.
#[derive(Debug)]
pub(crate) struct WriteStore {
    // Rust drops fields in this order, so the journal is closed before the lock is released.
    pub(crate) store: Arc<Store>,
    connection: Option<Connection>,
    lock: Lock,
}

/// Segment files that were removed, before the removal is durable.
#[derive(Debug)]
pub(crate) struct Unlinked<'a> {
    parts: Vec<&'a str>,
    /// Folders that contained the files.
    folders: BTreeSet<PathBuf>,
    /// The first error, if a file could not be removed.
    outcome: Result<(), ArchiveError>,
}

impl WriteStore {
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
        Self::locked(folder, lock)
    }

    /// Opens the archive under `lock`.
    fn locked(folder: &Path, lock: Lock) -> Result<Self, ArchiveError> {
        let path = folder.join(database::FILE);
        let connection = database::open_to_write(&path)?;
        files::sync_folder(folder)?;
        let store = Store::opened(folder, database::open_to_read(&path)?)?;
        let mut writer = Self {
            store: Arc::new(store),
            connection: Some(connection),
            lock,
        };
        writer.recover()?;
        writer.change(|journal| stats::unmark_backup(journal))?;
        writer.copy_versions();
        let superseded = writer.store.ask(file_versions::superseded)?;
        writer.move_superseded(superseded.iter().map(String::as_str));
        Ok(writer)
    }

    /// Removes the unfinished segments of interrupted compactions.
    fn recover(&mut self) -> Result<(), ArchiveError> {
        let pending = self
            .store
            .ask(|journal| manifest::all(journal, SegmentState::Pending))?;
        // The retention deletes expired segments.
        let unfinished = pending
            .iter()
            .filter(|part| part.reason.as_deref() != Some(manifest::EXPIRED));
        self.withdraw(unfinished.map(|part| part.path.as_str()))
    }

    /// Removes the unfinished segments among `parts`, with their manifest entries.
    ///
    /// Active segments stay. Syncs the folders of all segments first, then commits once to the journal. A segment that
    /// cannot be removed stays in the manifest.
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
        // Also syncs the folder of a file that did not exist: an earlier removal of that file may not be durable yet.
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

    /// Removes unfinished segments without a sync; the next open removes their manifest entries.
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
            // The query uses the writing connection. After a failed commit this is a new connection, which sees the
            // state that was actually committed.
            if !self.change(|journal| manifest::is_pending(journal, part))? {
                continue;
            }
            let mut outcome = Ok(());
            for path in [part, &files::superseded(part)] {
                outcome = outcome
                    .and_then(|()| files::refuse_link(&self.store.folder, Path::new(path)))
                    .and_then(|()| {
                        files::unlink(&self.store.folder.join(path), &mut unlinked.folders)
                    });
            }
            if outcome.is_ok() {
                unlinked.parts.push(part);
            }
            unlinked.outcome = unlinked.outcome.and(outcome);
        }
        Ok(unlinked)
    }

    /// Writes the time ranges of superseded segments to a file.
    ///
    /// A failure is logged: the change is committed, and the next open writes the file again.
    pub(crate) fn copy_versions(&self) {
        let copied = self
            .store
            .ask(file_versions::all)
            .and_then(|versions| version_file::write(&self.store.folder, &versions));
        if let Err(fault) = copied {
            log::warn!(target: "liqdata::archive", "the list of superseded files was not written: {fault}");
        }
    }

    /// Moves superseded segments out of the folders that other engines read.
    ///
    /// A failure is logged: the change is committed, and the next open moves the files.
    pub(crate) fn move_superseded<'a>(&self, segments: impl IntoIterator<Item = &'a str>) {
        if let Err(fault) = files::move_superseded(&self.store.folder, segments) {
            log::warn!(target: "liqdata::archive", "superseded files were not moved: {fault}");
        }
    }

    /// Appends checked batches in one transaction, and records `gaps` or extends existing ones.
    pub(crate) fn append_all(
        &mut self,
        batches: &[Batch],
        gaps: &[Gap],
    ) -> Result<Vec<Acknowledged>, ArchiveError> {
        self.change(|journal| database::append(journal, batches, gaps, &[]))
    }

    /// Runs `change` on the writing connection of the journal.
    ///
    /// After an I/O error the connection is closed, and the next change opens a new one. The old connection is unsafe:
    /// after a failed fsync, the next fsync may succeed although data was lost.
    pub(crate) fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        self.store.check_process()?;
        self.lock.check()?;
        self.store.check_journal()?;
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

    /// Opens a new connection after an I/O error.
    ///
    /// Writes the journal's write-ahead log to the database file. Later commits must not depend on pages that were
    /// never synced.
    fn reopened(&self) -> Result<Connection, ArchiveError> {
        let connection = database::open_to_write(&self.store.folder.join(database::FILE))?;
        let busy = database::checkpoint(&connection);
        if busy.map_err(|source| self.store.of_journal(source))? {
            Ok(connection)
        } else {
            Err(self.blocked_by_reader())
        }
    }

    fn blocked_by_reader(&self) -> ArchiveError {
        let message =
            "a write failed, and a reader prevents the checkpoint of the journal; try again";
        ArchiveError::Io {
            path: self.store.folder.join(database::FILE),
            source: std::io::Error::new(std::io::ErrorKind::ResourceBusy, message),
        }
    }
}

/// Returns an error if the folder contains files but no archive.
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
    let entries = fs::read_dir(folder).map_err(|source| ArchiveError::of_file(folder, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| ArchiveError::of_file(folder, source))?;
        let name = entry.file_name();
        if ROW_KINDS.iter().any(|kind| name == kind.table) {
            return refused(store::no_journal(folder));
        }
        // A lock file alone is allowed: it remains if a writer is killed before it creates the journal.
        if name != lock::FILE {
            return refused(format!(
                "it already contains {:?}; name a folder that is empty or does not exist",
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
    use crate::model::Millis;

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
    fn after_a_failed_fsync_the_connection_is_closed_and_the_log_written_out() {
        let folder = std::env::temp_dir().join(format!("liqdata-fsync-{}", std::process::id()));
        let mut writer = WriteStore::create_or_open(&folder).unwrap();
        writer.append_all(&[reading(1)], &[]).unwrap();
        let log = database::companion(&folder.join(database::FILE), "-wal");
        assert!(fs::metadata(&log).unwrap().len() > 0);

        let failed = ffi::Error::new(ffi::SQLITE_IOERR_FSYNC);
        let fault = writer
            .change(|_| Err::<(), _>(rusqlite::Error::SqliteFailure(failed, None)))
            .unwrap_err();
        assert!(fault.is_io(), "{fault}");
        assert!(writer.connection.is_none());
        drop(writer.reopened().unwrap());
        assert_eq!(fs::metadata(&log).unwrap().len(), 0);
        writer.append_all(&[reading(2)], &[]).unwrap();
        assert!(writer.connection.is_some());
        let last = writer.store.ask(database::last::<OpenInterestRow>).unwrap();
        assert_eq!(last, 2);

        // An error other than an I/O error leaves the connection open.
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
        let mut writer = WriteStore::create_or_open(&folder).unwrap();
        // Simulates a forked child process.
        Arc::get_mut(&mut writer.store).unwrap().opened_by = std::process::id() + 1;
        for fault in [
            writer
                .store
                .ask(database::last::<OpenInterestRow>)
                .map(drop)
                .unwrap_err(),
            writer.append_all(&[reading(1)], &[]).map(drop).unwrap_err(),
        ] {
            assert!(matches!(fault, ArchiveError::Forked { .. }), "{fault}");
        }
        drop(writer);
        fs::remove_dir_all(&folder).unwrap();
    }
}
