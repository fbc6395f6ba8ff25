//! What has been observed, durably and in order of time.
//!
//! An archive is a folder. What is new lies in a *journal* (`SQLite`, one writer): a batch is acknowledged once its
//! transaction is durable. Days that are over are *rolled* into a tree of Parquet files that other engines read as it
//! is. Reads see both as one, each row once, and readers are welcome beside the writer.
//!
//! Beside the rows the archive keeps what is known of their completeness: *runs* (when which exchange was listened to),
//! *gaps* (what was missed, and why) and a checksum of every file. Nothing is rounded, and a damaged file is named
//! beside the rows that are left, and in the log.
//!
//! # Examples
//!
//! ```
//! use liqdata::archive::{Archive, BarRow, Batch, Filter};
//! use liqdata::model::Millis;
//!
//! # let folder = std::env::temp_dir().join(format!("liqdata-doc-{}", std::process::id()));
//! let mut writer = Archive::create_or_open(&folder)?;
//! let bars = (0..60).map(|minute| BarRow {
//!     exchange: "binance".to_owned(),
//!     symbol: "BTC".to_owned(),
//!     timestamp: Millis(minute * Millis::MINUTE),
//!     interval: Millis::MINUTE,
//!     open: 100.into(),
//!     high: (101 + minute).into(),
//!     low: 99.into(),
//!     close: 100.into(),
//!     volume: 2.into(),
//!     received_at: Millis((minute + 1) * Millis::MINUTE),
//! });
//! let acknowledged = writer.append(&Batch { bars: bars.collect(), ..Batch::default() })?;
//! assert_eq!(acknowledged.bars, 60);
//!
//! let reader = Archive::read(&folder)?;
//! let hour = reader.bars(&Filter::default(), Millis::HOUR)?.rows;
//! assert_eq!((hour.len(), hour[0].high, hour[0].volume), (1, 160.into(), 120.into()));
//! # drop((reader, writer));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bars;
mod brief;
mod coverage;
mod error;
mod exact;
mod fold;
mod journal;
mod keeper;
mod known;
mod lock;
mod manifest;
mod maps;
mod open_interest;
mod orders;
mod parquet;
mod recent;
mod resize;
mod roll;
mod rolling;
mod row;
mod scan;
mod verify;

use std::collections::HashMap;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

pub use bars::BarRow;
pub use coverage::{Gap, Run, RunId, VenueCoverage};
pub use error::ArchiveError;
pub use fold::Gather;
pub use journal::{Acknowledged, Batch};
pub use keeper::{Inbox, Keeper, KeeperStatus, NotKept, Pace, Receipt};
pub use known::{Known, KnownCoin, Place};
pub use maps::MapRow;
pub use open_interest::OpenInterestRow;
pub use orders::{Completeness, OrderRow};
pub use recent::News;
pub use resize::SizedBar;
pub use roll::{RollStep, Rolled};
pub use scan::{DamagedPart, Filter, OrderDays, Scan};
pub use verify::Verification;

use crate::model::Millis;
use lock::Lock;
use manifest::Part;
use row::Row;
use verify::Stamp;

/// An archive, open for reading; as many as there may be, beside one [`Writer`] or none.
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    opened_by: u32,
    journal: Mutex<Connection>,
    sound: Mutex<HashMap<String, Stamp>>,
    /// What is wrong with the files that were warned of.
    warned: Arc<Mutex<HashMap<String, String>>>,
}

impl Archive {
    /// Opens the archive in the folder `path` for writing; makes it where the folder is missing or empty.
    ///
    /// What a killed writer left unfinished is put right first.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Locked`] while another process writes, [`ArchiveError::NotAnArchive`] where the folder holds
    /// something else, [`ArchiveError::NetworkFileSystem`], [`ArchiveError::ReadOnly`], [`ArchiveError::Damaged`],
    /// [`ArchiveError::DiskFull`] and [`ArchiveError::Io`] as they are described.
    pub fn create_or_open(path: impl AsRef<Path>) -> Result<Writer, ArchiveError> {
        let folder = path.as_ref();
        match fs::create_dir(folder) {
            Ok(()) => {
                if let Some(above) = folder
                    .parent()
                    .filter(|above| !above.as_os_str().is_empty())
                {
                    roll::sync_folder(above)?;
                }
            }
            Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(ArchiveError::of_file(folder, source)),
        }
        check_folder(folder)?;
        lock::refuse_network(folder)?;
        let lock = Lock::take(folder, wall_clock())?;
        let path = folder.join(journal::FILE);
        let connection = journal::open_to_write(&path)?;
        roll::sync_folder(folder)?;
        let mut writer = Writer {
            archive: Self::opened(folder, journal::open_to_read(&path)?),
            connection: Some(connection),
            _lock: lock,
        };
        writer.recover()?;
        Ok(writer)
    }

    /// Opens the archive in the folder `path` for reading.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::NotAnArchive`] where there is none, else as [`Archive::create_or_open`] gives.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ArchiveError> {
        let folder = path.as_ref();
        let journal = folder.join(journal::FILE);
        match fs::metadata(&journal) {
            Ok(_) => {}
            Err(source) if is_absent(&source) => {
                return Err(ArchiveError::NotAnArchive {
                    path: folder.to_owned(),
                    message: format!("there is no {} in it", journal::FILE),
                });
            }
            Err(source) => return Err(ArchiveError::of_file(&journal, source)),
        }
        lock::refuse_network(folder)?;
        Ok(Self::opened(folder, journal::open_to_read(&journal)?))
    }

    fn opened(folder: &Path, journal: Connection) -> Self {
        Self {
            folder: folder.to_owned(),
            opened_by: std::process::id(),
            journal: Mutex::new(journal),
            sound: Mutex::default(),
            warned: Arc::default(),
        }
    }

    /// Another reader of the same archive; a damaged file that one of them has warned of the other does not name again.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] as [`Archive::read`] gives.
    pub fn another(&self) -> Result<Self, ArchiveError> {
        Ok(Self {
            warned: Arc::clone(&self.warned),
            ..Self::read(&self.folder)?
        })
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
        version.map_err(|source| self.of_journal(source))
    }

    /// The journal, for one question at a time.
    fn journal(&self) -> Result<MutexGuard<'_, Connection>, ArchiveError> {
        self.check_process()?;
        Ok(self.journal.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the journal, in one transaction, so that all answers are of one instant.
    fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        let mut journal = self.journal()?;
        let transaction = journal
            .transaction()
            .map_err(|source| self.of_journal(source))?;
        let answer = question(&transaction).map_err(|source| self.of_journal(source))?;
        transaction
            .finish()
            .map_err(|source| self.of_journal(source))?;
        Ok(answer)
    }

    fn of_journal(&self, source: rusqlite::Error) -> ArchiveError {
        ArchiveError::of_journal(&self.folder.join(journal::FILE), source)
    }

    /// A database handle must not cross a fork: its locks would be taken for another's.
    fn check_process(&self) -> Result<(), ArchiveError> {
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
    fn known(&self, path: &str) -> Option<Stamp> {
        let sound = self.sound.lock().unwrap_or_else(PoisonError::into_inner);
        sound.get(path).copied()
    }

    /// Remembers the stamp at which a file is sound, or that it is not.
    fn learn(&self, path: &str, stamp: Option<Stamp>) {
        let mut sound = self.sound.lock().unwrap_or_else(PoisonError::into_inner);
        match stamp {
            Some(stamp) => {
                sound.insert(path.to_owned(), stamp);
                // Should it be damaged again, that is news.
                self.warned().remove(path);
            }
            None => {
                sound.remove(path);
            }
        }
    }

    fn warned(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.warned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Warns that a read does without a damaged file, once for what is wrong with it.
    fn warn(&self, part: &Part, reason: &str) {
        let mut warned = self.warned();
        if warned.get(&part.path).is_some_and(|known| known == reason) {
            return;
        }
        warned.insert(part.path.clone(), reason.to_owned());
        drop(warned);
        log::warn!(
            target: "liqdata::archive",
            "{} rows of {} are missing: {}: {reason}",
            part.rows,
            part.holds,
            self.folder.join(&part.path).display()
        );
    }
}

/// An archive, open for writing, and for reading as well; there is one at a time.
#[derive(Debug)]
pub struct Writer {
    // Dropped in this order: the journal is closed before another may write.
    archive: Archive,
    connection: Option<Connection>,
    _lock: Lock,
}

impl Deref for Writer {
    type Target = Archive;

    fn deref(&self) -> &Archive {
        &self.archive
    }
}

impl Writer {
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
        journal::check(batch)?;
        let acknowledged = self.append_all(std::slice::from_ref(batch), &[])?;
        Ok(acknowledged.into_iter().next().unwrap_or_default())
    }

    /// Appends batches that have been checked, and gaps that may have grown, in one transaction.
    fn append_all(
        &mut self,
        batches: &[Batch],
        gaps: &[Gap],
    ) -> Result<Vec<Acknowledged>, ArchiveError> {
        self.change(|journal| journal::append(journal, batches, gaps))
    }

    /// Begins to listen to an exchange: the time since it was last seen becomes a gap, if none covers it yet.
    ///
    /// Say with [`Batch::seen`] that the listening goes on.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where a name is blank, the instant has no date, or the journal cannot be written.
    pub fn begin_run(
        &mut self,
        exchange: &str,
        completeness: Completeness,
        at: Millis,
    ) -> Result<RunId, ArchiveError> {
        row::check_name("exchange", exchange)
            .and_then(|()| row::check_time("started", at))
            .map_err(|(column, message)| ArchiveError::BadRow {
                table: "runs",
                column,
                row: 0,
                message,
            })?;
        self.change(|journal| coverage::begin(journal, exchange, completeness, at))
    }

    /// Changes the journal. After a failed read or write of the disk the handle is given up: an fsync that is tried
    /// again may succeed without the data, so the next change opens the journal anew.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        self.archive.check_process()?;
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.reopened()?,
        };
        let outcome = change(&mut connection).map_err(|source| self.archive.of_journal(source));
        if !outcome.as_ref().is_err_and(ArchiveError::is_io) {
            self.connection = Some(connection);
        }
        outcome
    }

    /// The journal on a new handle, with everything in its log moved into the database and synced there: what the lost
    /// handle failed to sync must not lie below what is acknowledged from now on.
    fn reopened(&self) -> Result<Connection, ArchiveError> {
        let connection = journal::open_to_write(&self.folder.join(journal::FILE))?;
        let busy: i64 = connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(|source| self.archive.of_journal(source))?;
        if busy != 0 {
            return Err(ArchiveError::Io {
                path: self.folder.join(journal::FILE),
                source: std::io::Error::new(
                    std::io::ErrorKind::ResourceBusy,
                    "a write failed, and a reader keeps the journal from being written out anew; try again",
                ),
            });
        }
        Ok(connection)
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
    if folder.join(journal::FILE).exists() {
        return Ok(());
    }
    let entries = fs::read_dir(folder).map_err(|source| ArchiveError::of_file(folder, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| ArchiveError::of_file(folder, source))?;
        let name = entry.file_name();
        let kinds = [
            OrderRow::TABLE,
            BarRow::TABLE,
            OpenInterestRow::TABLE,
            MapRow::TABLE,
        ];
        if kinds.iter().any(|kind| name == *kind) {
            return refused(format!(
                "it holds rows in {:?} and no {}; restore that file",
                name.to_string_lossy(),
                journal::FILE
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

fn is_absent(source: &std::io::Error) -> bool {
    matches!(
        source.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}

/// The instant it is, by this machine's clock.
fn wall_clock() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use rusqlite::ffi;

    use super::*;

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
        let log = journal::beside(&folder.join(journal::FILE), "-wal");
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
        writer.archive.opened_by = std::process::id() + 1;
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
