//! All public methods for writing an archive.

use std::path::Path;
use std::sync::Arc;

use crate::archive::archive::Archive;
use crate::archive::compaction::{compactor, retention, supersede, undo};
use crate::archive::coverage::damage_gaps;
use crate::archive::coverage_log::pending;
use crate::archive::import::{collected, importer};
use crate::archive::integrity::verify;
use crate::archive::journal::database;
use crate::archive::rows::row::{check_name, check_time};
use crate::archive::store::write_store::WriteStore;
use crate::archive::{
    Acknowledged, ArchiveError, Batch, CompactionReport, Completeness, DayCorrection, GoesOn,
    ImportOutcome, ImportScope, Retained, Retention, SegmentStep, SessionId, Tables, UndoRow,
    Verification,
};
use crate::model::Millis;

/// Write and read access to an archive.
///
/// Only one writer may exist at a time.
#[derive(Debug)]
pub struct Writer {
    archive: Archive,
    pub(crate) write: WriteStore,
}

impl Archive {
    /// Opens or creates the archive in the folder `path` for writing.
    ///
    /// Creates the archive if the folder is missing or empty. If the last writer was killed, this removes the segments
    /// that it left unfinished.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Locked`] while another process has the archive open for writing, [`ArchiveError::NotAnArchive`]
    /// if the folder contains other files, [`ArchiveError::NetworkFileSystem`], [`ArchiveError::ReadOnly`],
    /// [`ArchiveError::Damaged`], [`ArchiveError::DiskFull`] and [`ArchiveError::Io`] as documented there.
    pub fn create_or_open(path: impl AsRef<Path>) -> Result<Writer, ArchiveError> {
        let write = WriteStore::create_or_open(path.as_ref())?;
        damage_gaps::warn_of_damage(&write.store)?;
        let store = Arc::clone(&write.store);
        Ok(Writer {
            archive: Self { store },
            write,
        })
    }
}

impl Writer {
    /// Read access to the archive, which sees all that was appended.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Moves the rows of every day that ended by `until` into segments.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a segment or the journal cannot be written. Rows that were moved before the error stay in
    /// segments; the other rows stay in the journal.
    pub fn compact(&mut self, until: Millis) -> Result<CompactionReport, ArchiveError> {
        compactor::compact(&mut self.write, until)
    }

    /// As [`Writer::compact`]; calls `done` after every [`SegmentStep`] of every segment.
    ///
    /// # Errors
    ///
    /// As [`Writer::compact`].
    pub fn compact_observed(
        &mut self,
        until: Millis,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<CompactionReport, ArchiveError> {
        compactor::compact_observed(&mut self.write, until, done)
    }

    /// Deletes the rows of whole days that exceed `limits` at the instant `now`.
    ///
    /// The rows leave all answers at once. A run at least ten minutes later deletes their files.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a file cannot be deleted, or the journal cannot be read or written. The next run continues.
    pub fn retain(&mut self, limits: &Retention, now: Millis) -> Result<Retained, ArchiveError> {
        retention::retain(&mut self.write, limits, now)
    }

    /// Corrects the orders of the day that begins at `day`, in one transaction.
    ///
    /// Returns the instant from which the correction is valid. Reads as of an earlier instant still return the old
    /// rows.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRow`] if a row cannot be stored exactly, else [`ArchiveError`] if a segment or the journal
    /// cannot be read or written. On an error the archive is unchanged.
    pub fn supersede(
        &mut self,
        day: Millis,
        correction: &DayCorrection,
    ) -> Result<Millis, ArchiveError> {
        supersede::supersede(&mut self.write, day, correction)
    }

    /// As [`Writer::supersede`]; calls `done` after every [`SegmentStep`] of every segment.
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
        supersede::supersede_observed(&mut self.write, day, correction, done)
    }

    /// Imports tables of historical data, several days at a time.
    ///
    /// Rows of past days become segments, other rows go to the journal. Each group of days is stored in one
    /// transaction, together with its sessions. `goes_on` gets the number of rows processed so far; if it returns
    /// false, the import stops. Returns what was stored, and whether the import is complete.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a segment or the journal cannot be written, or an existing segment of an imported day cannot
    /// be read.
    pub fn import(
        &mut self,
        tables: Tables,
        scope: ImportScope<'_>,
        goes_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(ImportOutcome, bool), ArchiveError> {
        self.import_observed(tables, scope, goes_on, &mut |_, _| ())
    }

    /// As [`Writer::import`]; calls `done` after every [`SegmentStep`] of every segment.
    ///
    /// # Errors
    ///
    /// As [`Writer::import`].
    pub fn import_observed(
        &mut self,
        tables: Tables,
        scope: ImportScope<'_>,
        goes_on: &mut dyn FnMut(usize) -> bool,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<(ImportOutcome, bool), ArchiveError> {
        importer::import_tables(&mut self.write, tables, scope, goes_on, done)
    }

    /// Undoes an ingest: supersedes its rows, and no longer counts its sessions as covered.
    ///
    /// Reads as of an earlier instant still return the rows. Rows that the collector also received stay, even if the
    /// ingest stored them first. Returns the undone ingest, followed by the ingests that must be run again because they
    /// repeated its rows.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRange`] if there is no such ingest or it was undone already, else [`ArchiveError`] if a
    /// segment or the journal cannot be read or written. On an error the archive is unchanged.
    pub fn undo(&mut self, ingest: &str) -> Result<Vec<UndoRow>, ArchiveError> {
        undo::undo(&mut self.write, ingest)
    }

    /// Moves damaged files to the folder `damaged`.
    ///
    /// Records the time ranges of the missing rows as gaps.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a file cannot be read or moved, or the journal cannot be written.
    pub fn quarantine(&mut self) -> Result<Verification, ArchiveError> {
        verify::quarantine(&mut self.write)
    }

    /// As [`Archive::look_while`], for statements that write as well.
    ///
    /// # Errors
    ///
    /// As [`Archive::look_while`].
    pub fn look_while(&mut self, goes_on: &GoesOn) -> Result<(), ArchiveError> {
        self.archive.look_while(goes_on)?;
        self.write
            .change(|journal| database::look_while(journal, goes_on))
    }

    /// Appends a batch and returns once it is durable. On an error nothing is stored.
    ///
    /// A row that is already stored is not changed, so appending a batch again is safe. An order that an ingest stored
    /// from another source is repeated, too. A repeated row of a compacted
    /// day is counted as new in [`Acknowledged`]; reads return the row once.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRow`] if a value cannot be stored exactly, [`ArchiveError::DiskFull`] if the disk is full
    /// (append again once there is space), else [`ArchiveError`] if the journal cannot be written.
    pub fn append(&mut self, batch: &Batch) -> Result<Acknowledged, ArchiveError> {
        batch.check()?;
        let batches = std::slice::from_ref(batch);
        let acknowledged = collected::append_all(&mut self.write, batches, &[])?;
        Ok(acknowledged.into_iter().next().unwrap_or_default())
    }

    /// Starts a session of an exchange.
    ///
    /// Records the time since the exchange's last session as a gap, unless an existing gap covers it. Extend the
    /// session with [`Batch::seen`].
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the name is blank, the instant is outside the years 1970 to 9999, or the journal cannot be
    /// written.
    pub fn begin_session(
        &mut self,
        exchange: &str,
        completeness: Completeness,
        at: Millis,
    ) -> Result<SessionId, ArchiveError> {
        self.begin_late_session(exchange, completeness, at, 0)
    }

    /// As [`Writer::begin_session`], for a session that is extended to an instant at most `late` milliseconds after it.
    ///
    /// A read as of an instant uses the session up to `late` milliseconds before. So a later extension does not change
    /// its result.
    ///
    /// # Errors
    ///
    /// As [`Writer::begin_session`].
    pub fn begin_late_session(
        &mut self,
        exchange: &str,
        completeness: Completeness,
        at: Millis,
        late: i64,
    ) -> Result<SessionId, ArchiveError> {
        check_name("exchange", exchange)
            .and_then(|()| check_time("started", at))
            .map_err(|(column, message)| ArchiveError::BadRow {
                table: "sessions",
                column,
                row: 0,
                message,
            })?;
        self.write
            .change(|journal| pending::begin(journal, exchange, completeness, at, late))
    }
}
