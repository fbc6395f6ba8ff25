//! What an archive contains, and how large it is.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::catalog::{ingests, stats};
use crate::archive::coverage::liveness;
use crate::archive::disk_use;
use crate::archive::export::closed_days;
use crate::archive::journal::database;
use crate::archive::scan::{maps_reader, parallel};
use crate::archive::store::store::Store;
use crate::archive::{
    ArchiveContents, ArchiveError, ArchiveSummary, DiskSpace, IngestRow, KnownCoin,
};
use crate::model::Millis;

/// What an archive contains, and how large it is.
#[derive(Clone, Copy, Debug)]
pub struct CatalogView<'a>(pub(crate) &'a Store);

impl CatalogView<'_> {
    /// Row counts and latest time of the archive, read without a scan.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn summary(self) -> Result<ArchiveSummary, ArchiveError> {
        self.0.ask(stats::known)
    }

    /// Coins with bars, sorted by name.
    ///
    /// If `as_of` is given, only coins with a bar that had closed and been received by then.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn coins(self, as_of: Option<Millis>) -> Result<Vec<KnownCoin>, ArchiveError> {
        self.0.ask(|journal| stats::coins(journal, as_of))
    }

    /// Exchanges with rows in the archive, sorted by name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn exchanges(self) -> Result<BTreeSet<String>, ArchiveError> {
        self.0.ask(stats::exchanges)
    }

    /// All ingests, oldest first.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn ingests(self) -> Result<Vec<IngestRow>, ArchiveError> {
        self.0.ask(ingests::all)
    }

    /// Ids of the ingests that may lack rows in the archive.
    ///
    /// These are the undone ingests, and the ingests that repeated rows of an undone one.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn incomplete_ingests(self) -> Result<Vec<String>, ArchiveError> {
        self.0.ask(ingests::incomplete)
    }

    /// Size of the parts of the archive in bytes: files by table, `superseded` files, the `journal`, `raw` frames and
    /// other folders.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn bytes_by_part(self) -> Result<BTreeMap<String, u64>, ArchiveError> {
        disk_use::bytes_by_part(self.0)
    }

    /// Size and free space of the archive's disk; `None` if the system does not say.
    #[must_use]
    pub fn disk_space(self) -> Option<DiskSpace> {
        DiskSpace::of(&self.0.folder)
    }

    /// Size of the write-ahead log, in bytes; see [`log_bytes`](crate::archive::log_bytes).
    #[must_use]
    pub fn log_bytes(self) -> u64 {
        database::log_bytes(&self.0.folder)
    }

    /// Lists the segments, journal rows and other contents of the archive.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Damaged`] if the journal is damaged, else [`ArchiveError`] if it cannot be read.
    pub fn lists(self) -> Result<ArchiveContents, ArchiveError> {
        closed_days::lists(self.0)
    }

    /// Compressed size, in bytes, of all maps of the day that contains `at`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn map_bytes(self, at: Millis) -> Result<u64, ArchiveError> {
        maps_reader::map_bytes(self.0, at)
    }

    /// End of the last day that has order segments, if any.
    ///
    /// An order in the journal with an earlier time may be a duplicate of an order in a segment.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn compacted_until(self) -> Result<Option<Millis>, ArchiveError> {
        parallel::compacted_until(self.0)
    }

    /// Whether the archive has totals of periods.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn has_totals(self) -> Result<bool, ArchiveError> {
        self.0.ask(stats::has_totals)
    }

    /// Whether any process, including this one, has the archive open for writing.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the lock cannot be inspected.
    pub fn has_writer(self) -> Result<bool, ArchiveError> {
        liveness::has_writer(self.0)
    }
}
