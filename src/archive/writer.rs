//! The archive as its one writer uses it: every public method, in one file.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use crate::archive::archive::Archive;
use crate::archive::compaction::{compactor, supersede, undo};
use crate::archive::coverage::pending;
use crate::archive::import::importer;
use crate::archive::integrity::verify;
use crate::archive::journal::database;
use crate::archive::rows::row::{check_name, check_time};
use crate::archive::write_store::WriteStore;
use crate::archive::{
    Acknowledged, ArchiveError, Batch, CompactionReport, Completeness, DayCorrection, GoesOn,
    ImportOutcome, ImportScope, SegmentStep, SessionId, Tables, UndoRow, Verification,
};
use crate::model::Millis;

/// An archive that is open for writing, and for reading; one at a time.
#[derive(Debug)]
pub struct Writer {
    archive: Archive,
    pub(crate) write: WriteStore,
}

impl Deref for Writer {
    type Target = Archive;

    fn deref(&self) -> &Archive {
        &self.archive
    }
}

impl Archive {
    /// Opens the archive in the folder `path` for writing; creates it if the folder is missing or empty.
    ///
    /// If the last writer was killed, its unfinished segments are removed first.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Locked`] while another process writes, [`ArchiveError::NotAnArchive`] if the folder contains
    /// something else, [`ArchiveError::NetworkFileSystem`], [`ArchiveError::ReadOnly`], [`ArchiveError::Damaged`],
    /// [`ArchiveError::DiskFull`] and [`ArchiveError::Io`] as they are described.
    pub fn create_or_open(path: impl AsRef<Path>) -> Result<Writer, ArchiveError> {
        let write = WriteStore::create_or_open(path.as_ref())?;
        let store = Arc::clone(&write.store);
        Ok(Writer {
            archive: Self { store },
            write,
        })
    }
}

impl Writer {
    /// Moves every day that ended by `until` into segments.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a segment or the journal cannot be written. Moved rows stay moved, the others stay in
    /// the journal.
    pub fn compact(&mut self, until: Millis) -> Result<CompactionReport, ArchiveError> {
        compactor::compact(&mut self.write, until)
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
        compactor::compact_observed(&mut self.write, until, done)
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
        supersede::supersede(&mut self.write, day, correction)
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
        supersede::supersede_observed(&mut self.write, day, correction, done)
    }

    /// Stores tables of historical data, several days at a time.
    ///
    /// Rows of days that are over become segments, other rows go to the journal. Each lot of days is stored completely or
    /// not at all, with its sessions. `goes_on` gets the number of rows that are processed, and may end the import. Returns
    /// what was stored, and whether it is everything.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a segment or the journal cannot be written, or a segment of one of the days cannot be
    /// read.
    pub fn import(
        &mut self,
        tables: Tables,
        scope: ImportScope<'_>,
        goes_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(ImportOutcome, bool), ArchiveError> {
        self.import_observed(tables, scope, goes_on, &mut |_, _| ())
    }

    /// As [`Writer::import`]; calls `done` after every step of every segment.
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

    /// Takes an ingest back: its rows are superseded, and its sessions no longer count as covered.
    ///
    /// Reads as of an earlier instant return the rows. Collected rows stay, also those that the ingest brought first.
    /// Returns the ingest, and then the ingests to run again because they repeated its rows.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRange`] if there is no such ingest or it was undone already, else [`ArchiveError`] if a segment or
    /// the journal cannot be read or written. Nothing has changed then.
    pub fn undo(&mut self, ingest: &str) -> Result<Vec<UndoRow>, ArchiveError> {
        undo::undo(&mut self.write, ingest)
    }

    /// Moves damaged files to the folder `quarantine` and records what is missing as gaps.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a file cannot be read or moved, or the journal cannot be written.
    pub fn quarantine(&mut self) -> Result<Verification, ArchiveError> {
        verify::quarantine(&mut self.write)
    }

    /// As [`Archive::look_while`], for writes as well.
    ///
    /// # Errors
    ///
    /// As [`Archive::look_while`].
    pub fn look_while(&mut self, goes_on: &GoesOn) -> Result<(), ArchiveError> {
        self.archive.look_while(goes_on)?;
        self.write
            .change(|journal| database::look_while(journal, goes_on))
    }

    /// Appends a batch and returns once all of it is durable; on an error nothing is stored.
    ///
    /// A row that is stored already stays as it is, so sending a batch again is safe. A repeated row of a day in
    /// segments counts as new here; reads return it once.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRow`] if a value cannot be stored exactly, [`ArchiveError::DiskFull`] if the disk is full
    /// (append again once there is space), else [`ArchiveError`] if the journal cannot be written.
    pub fn append(&mut self, batch: &Batch) -> Result<Acknowledged, ArchiveError> {
        batch.check()?;
        let acknowledged = self.write.append_all(std::slice::from_ref(batch), &[])?;
        Ok(acknowledged.into_iter().next().unwrap_or_default())
    }

    /// Starts a session of an exchange; records the time since its last session as a gap, unless one covers it.
    ///
    /// Extend the session with [`Batch::seen`].
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a name is blank, the instant has no date, or the journal cannot be written.
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
        self.write
            .change(|journal| pending::begin(journal, exchange, completeness, at))
    }
}
