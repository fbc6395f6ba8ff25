//! All public methods for reading an archive.

use std::path::Path;
use std::sync::Arc;

use crate::archive::coverage::damage_gaps;
use crate::archive::export::merge;
use crate::archive::export::{closed_days, snapshot};
use crate::archive::integrity::{relist, verify};
use crate::archive::journal::database;
use crate::archive::ledger_files;
use crate::archive::scan::maps_reader;
use crate::archive::scan::parallel;
use crate::archive::scan::snapshots;
use crate::archive::scan::snapshots::PositionsOfDay;
use crate::archive::scan::table_scan;
use crate::archive::scan::tail;
use crate::archive::store::store::{GoesOn, Store};
use crate::archive::views::catalog::CatalogView;
use crate::archive::views::coverage::CoverageView;
use crate::archive::views::integrity::IntegrityView;
use crate::archive::views::raw::RawView;
use crate::archive::{
    ArchiveContents, ArchiveError, ArchiveSummary, ArrivalPosition, BarRow, ExportSelection,
    Filter, MapRow, OpenInterestRow, OrderDays, OrderFold, OrderRow, PositionRow, Relisted,
    ResampledBar, Scan, TailUpdate, TotalRow, Verification,
};
use crate::model::{GroupedOrder, Millis, OrderBrief, PeriodLength};

/// Read access to an archive.
///
/// Any number of readers may be open at the same time as one [`Writer`](crate::archive::Writer).
#[derive(Debug)]
pub struct Archive {
    pub(crate) store: Arc<Store>,
}

/// Opening and reopening.
impl Archive {
    fn of(store: Store) -> Self {
        Self {
            store: Arc::new(store),
        }
    }

    /// Opens the archive in the folder `path` for reading. Logs missing, truncated and quarantined files.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::NotAnArchive`] if the folder contains no archive, [`ArchiveError::Damaged`] if the journal is
    /// damaged (checked only for journals of up to 64 MiB), else the errors of [`Archive::create_or_open`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ArchiveError> {
        let mut store = Store::open(path.as_ref())?;
        verify::refuse_damaged_journal(&store)?;
        store.notes = true;
        damage_gaps::warn_of_damage(&store)?;
        Ok(Self::of(store))
    }

    /// Opens an archive as [`Archive::read`] does.
    ///
    /// Returns `None` if its journal does not exist or is empty.
    ///
    /// # Errors
    ///
    /// As [`Archive::read`], except for a missing or empty journal.
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

    /// Opens the archive in the folder `path` to [`verify`](Self::verify) it, even if it is damaged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::NotAnArchive`] if the folder contains no archive, else as [`Archive::create_or_open`].
    pub fn to_verify(path: impl AsRef<Path>) -> Result<Self, ArchiveError> {
        Store::open(path.as_ref()).map(Self::of)
    }

    /// Moves damaged files to the folder `damaged`, and records the time ranges of their rows as gaps.
    ///
    /// Calls `goes_on` with the number of files that are done and the total number of files. If it returns false, the
    /// remaining files are not checked.
    ///
    /// # Errors
    ///
    /// As [`Archive::create_or_open`], and [`ArchiveError::Damaged`] if the journal is damaged.
    pub fn repair(
        path: impl AsRef<Path>,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Verification, ArchiveError> {
        verify::repair(path.as_ref(), goes_on)
    }

    /// If the archive has segments but no journal, creates a journal that lists them.
    ///
    /// The rows of the lost journal, its sessions, gaps and ingests are not restored. All time until now becomes a gap.
    /// Calls `goes_on` with the number of files that are done and the total number of files. If it returns false, no
    /// journal is created. Returns `None` if no journal was created.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Locked`] while another process writes to the archive, else [`ArchiveError`] if a file cannot be
    /// read or written.
    pub fn replace_missing_journal(
        path: impl AsRef<Path>,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Option<Relisted>, ArchiveError> {
        relist::replace_missing_journal(path.as_ref(), goes_on)
    }

    /// Merges archives into a new archive in the folder `into`.
    ///
    /// `goes_on` gets the number of days merged so far and the total number of days. If it returns false, the merge
    /// stops and this function returns false.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if an archive cannot be read, or the new archive cannot be written.
    pub fn merge(
        archives: &[Self],
        into: &Path,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<bool, ArchiveError> {
        let archives: Vec<&Store> = archives.iter().map(|archive| &*archive.store).collect();
        merge::merge(&archives, into, goes_on)
    }

    /// Opens another reader of the same archive. Both readers share the record of sound and damaged files.
    ///
    /// # Errors
    ///
    /// As [`Archive::read`].
    pub fn another(&self) -> Result<Self, ArchiveError> {
        self.store.another().map(Self::of)
    }

    /// Reopens the journal after its file was replaced, for example by a restore.
    ///
    /// # Errors
    ///
    /// As [`Archive::read`], and [`ArchiveError::Replaced`] if the journal changes during the call. In that case the
    /// reader still uses the old journal.
    pub fn reopen(&self) -> Result<(), ArchiveError> {
        self.store
            .reopen(&|fresh| verify::refuse_damaged_journal(fresh))
    }

    /// Returns an error if the journal file was deleted or replaced since it was opened.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Replaced`] if it was, and [`ArchiveError`] if the file cannot be inspected.
    pub fn check_journal(&self) -> Result<(), ArchiveError> {
        self.store.check_journal()
    }

    /// Makes every later query of the journal interruptible.
    ///
    /// A query calls `goes_on` every few milliseconds. If it returns false, the query fails.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn look_while(&self, goes_on: &GoesOn) -> Result<(), ArchiveError> {
        self.store.look_while(goes_on)
    }

    /// The archive's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.store.folder
    }

    /// A number that changes with every commit of another connection.
    ///
    /// Compare two such numbers of the same reader to detect changes.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn version(&self) -> Result<i64, ArchiveError> {
        self.store.version()
    }
}

/// The cache of ledgers.
impl Archive {
    /// The instants of the cached states of a ledger, the latest first.
    #[must_use]
    pub fn ledger_instants(&self, name: &str) -> Vec<Millis> {
        ledger_files::instants(self.path(), name)
    }

    /// The cached state of a ledger of `coin` at an instant; `None` unless it has all rows before `until`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn ledger(
        &self,
        (name, coin): (&str, &str),
        at: Millis,
        until: Millis,
    ) -> Result<Option<Vec<u8>>, ArchiveError> {
        let rows = self
            .store
            .ask(|journal| ledger_files::digest(journal, coin, until))?;
        Ok(rows.and_then(|rows| ledger_files::read(self.path(), name, at, &rows)))
    }

    /// Caches the state of a ledger of `coin` at an instant, unless rows before `until` are still in the journal.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read, or the file cannot be written.
    pub fn put_ledger(
        &self,
        (name, coin): (&str, &str),
        at: Millis,
        until: Millis,
        state: &[u8],
    ) -> Result<(), ArchiveError> {
        let rows = self
            .store
            .ask(|journal| ledger_files::digest(journal, coin, until))?;
        let Some(rows) = rows else {
            return Ok(());
        };
        ledger_files::write(self.path(), name, at, &rows, state)
            .map_err(|source| ArchiveError::of_file(self.path(), source))
    }
}

/// Reading rows.
impl Archive {
    /// Orders that match `filter`, sorted by time, exchange and dedupe key.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the filter ends before it starts, or the archive cannot be read. Damaged segments are no
    /// error: they are listed in the result.
    pub fn orders(&self, filter: &Filter) -> Result<Scan<OrderRow>, ArchiveError> {
        table_scan::orders(&self.store, filter)
    }

    /// Orders that match `filter`, one UTC day at a time.
    ///
    /// Use this for results that are too large for memory: each day is read only when the iterator reaches it.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn order_days(&self, filter: &Filter) -> Result<OrderDays<'_>, ArchiveError> {
        table_scan::order_days(&self.store, filter)
    }

    /// Start of each UTC day that may have matching orders, in order.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn days_with_orders(&self, filter: &Filter) -> Result<Vec<Millis>, ArchiveError> {
        table_scan::days_with_orders(&self.store, filter)
    }

    /// Start of each UTC day that may have matching orders, bars or open interest, in order.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn days_of_rows(&self, filter: &Filter) -> Result<Vec<Millis>, ArchiveError> {
        table_scan::days_of_rows(&self.store, filter)
    }

    /// Matching orders of the day that contains `at`, newest first.
    ///
    /// Orders with the same time are sorted by time of receipt, then by order of arrival. Damaged segments are skipped
    /// and logged.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn day_of_orders(
        &self,
        at: Millis,
        filter: &Filter,
    ) -> Result<Vec<GroupedOrder>, ArchiveError> {
        table_scan::day_of_orders(&self.store, at, filter)
    }

    /// As [`Archive::day_of_orders`].
    ///
    /// Returns `None` if the orders need more than about `most` bytes of memory.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn part_of_orders(
        &self,
        at: Millis,
        filter: &Filter,
        most: usize,
    ) -> Result<Option<Vec<GroupedOrder>>, ArchiveError> {
        table_scan::part_of_orders(&self.store, at, filter, most)
    }

    /// Matching bars of every length, as received.
    ///
    /// They are sorted by exchange, coin, length and time.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn observed_bars(&self, filter: &Filter) -> Result<Scan<BarRow>, ArchiveError> {
        table_scan::observed_bars(&self.store, filter)
    }

    /// The matching bar that closes last.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn last_bar(&self, filter: &Filter) -> Result<Option<BarRow>, ArchiveError> {
        table_scan::last_bar(&self.store, filter)
    }

    /// The matching bar that opens first.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn first_bar(&self, filter: &Filter) -> Result<Option<BarRow>, ArchiveError> {
        table_scan::first_bar(&self.store, filter)
    }

    /// Bars of `size` milliseconds, resampled from shorter bars.
    ///
    /// A fixed `size` must be a whole number of minutes. The bars are sorted by exchange, coin and time. A bar is one
    /// period of `size`. It is returned if it lies completely between the filter's start and end and had closed by
    /// `as_of`. [`ResampledBar::observed`] is smaller than the size if source bars are missing.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRange`] if the size is invalid, else as [`Archive::orders`].
    pub fn bars(
        &self,
        filter: &Filter,
        size: PeriodLength,
    ) -> Result<Scan<ResampledBar>, ArchiveError> {
        table_scan::bars(&self.store, filter, size)
    }

    /// For each time, the matching bars of the shortest length that is stored.
    ///
    /// Where no exchange has a shorter bar, a longer one is returned. If `size` is given, bars of that many
    /// milliseconds are resampled from the lengths that divide it, and are preferred to all stored lengths.
    ///
    /// # Errors
    ///
    /// As [`Archive::bars`].
    pub fn finest_bars(
        &self,
        filter: &Filter,
        size: Option<i64>,
    ) -> Result<Scan<ResampledBar>, ArchiveError> {
        table_scan::finest_bars(&self.store, filter, size)
    }

    /// Matching open interest readings, sorted by time, coin and exchange.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn open_interest(&self, filter: &Filter) -> Result<Scan<OpenInterestRow>, ArchiveError> {
        table_scan::open_interest(&self.store, filter)
    }

    /// Aggregates all matching orders into [`OrderFold`] values that `new` creates.
    ///
    /// The orders are split into shares that run on several threads, and each share has its own fold. Returns the
    /// folds, and the [`ArchiveSummary`] of the state that was read. The folds of the journal come first, in order of
    /// arrival. The folds of the segments follow, in order of time.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`]. A damaged segment is skipped and logged.
    pub fn fold_orders<G: OrderFold>(
        &self,
        filter: &Filter,
        new: impl Fn() -> G + Sync,
    ) -> Result<(Vec<G>, ArchiveSummary), ArchiveError> {
        parallel::fold_orders(&self.store, filter, new)
    }

    /// Passes all matching orders to `sink`, in no particular order.
    ///
    /// Returns the state that `sink` has changed, and the [`ArchiveSummary`] of the archive that was read. If a
    /// compaction disturbs the read, it starts again with a `new` state. For many orders [`Archive::fold_orders`] is
    /// faster, if the aggregate can be split among threads.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`]; a damaged segment is skipped and logged.
    pub fn visit_orders<S>(
        &self,
        filter: &Filter,
        new: impl Fn() -> S,
        sink: impl FnMut(&mut S, OrderBrief<'_>),
    ) -> Result<(S, ArchiveSummary), ArchiveError> {
        parallel::visit_orders(&self.store, filter, new, sink)
    }

    /// Passes the orders that arrived after `place` to `sink`, in order of arrival.
    ///
    /// Passes no orders if there are more than `most`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn tail(
        &self,
        place: ArrivalPosition,
        most: i64,
        sink: &mut dyn FnMut(OrderBrief<'_>),
    ) -> Result<TailUpdate, ArchiveError> {
        tail::tail(&self.store, place, most, sink)
    }

    /// Passes journal orders with an id above `after` to `sink`, in order of arrival.
    ///
    /// Passes at most `limit` orders. Returns the [`ArchiveSummary`] of the state that was read.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn arrivals(
        &self,
        after: i64,
        limit: usize,
        sink: &mut dyn FnMut(OrderBrief<'_>),
    ) -> Result<ArchiveSummary, ArchiveError> {
        tail::arrivals(&self.store, after, limit, sink)
    }

    /// Liquidated USD by period that match `filter`, in no particular order.
    ///
    /// `start` and `end` apply to the start of a period.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn totals(&self, filter: &Filter) -> Result<Scan<TotalRow>, ArchiveError> {
        table_scan::scan(&self.store, filter)
    }

    /// Trading positions that match `filter`, sorted by snapshot, exchange, coin and account.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn positions(&self, filter: &Filter) -> Result<Scan<PositionRow>, ArchiveError> {
        snapshots::positions(&self.store, filter)
    }

    /// Trading positions of a coin in the last snapshot of each exchange.
    ///
    /// They are sorted by exchange and account. Uses only snapshots up to `as_of`, and only those of `exchange` if it
    /// is given. An exchange is left out if its last snapshot is more than an hour older than the newest snapshot of
    /// all exchanges. An empty snapshot returns no positions.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn last_positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Scan<PositionRow>, ArchiveError> {
        snapshots::last_positions(&self.store, coin, exchange, as_of)
    }

    /// The state of the positions that match `filter` on the day between its start and its end.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn positions_of_day(&self, filter: &Filter) -> Result<PositionsOfDay, ArchiveError> {
        snapshots::positions_of_day(&self.store, filter)
    }

    /// Estimated maps that match `filter` and `kind`.
    ///
    /// They are sorted by time, coin, kind, parameters and time of computation. `start` and `end` apply to the close
    /// time of the last bar that a map uses, `as_of` to the time of computation.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRange`] if the filter ends before it starts, or the maps need more than 1 GiB; else
    /// [`ArchiveError`] if the archive cannot be read. Damaged segments are no error: they are listed in the result.
    pub fn maps(&self, filter: &Filter, kind: Option<&str>) -> Result<Scan<MapRow>, ArchiveError> {
        maps_reader::maps(&self.store, filter, kind)
    }

    /// As [`Archive::maps`], with a memory limit of `most` bytes, at most 1 GiB.
    ///
    /// # Errors
    ///
    /// As [`Archive::maps`].
    pub fn maps_within(
        &self,
        filter: &Filter,
        kind: Option<&str>,
        most: usize,
    ) -> Result<Scan<MapRow>, ArchiveError> {
        maps_reader::maps_within(&self.store, filter, kind, most)
    }
}

/// Raw frames and export.
impl Archive {
    /// Copies the whole journal into the folder `into`, as at one instant, and lists its contents.
    ///
    /// Only reads this archive; its writer may continue to write. Together with the listed files the copy is an archive.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Damaged`] if the journal is damaged, else [`ArchiveError`] if it cannot be read, or the copy
    /// cannot be written or exists already.
    pub fn snapshot(&self, into: &Path) -> Result<ArchiveContents, ArchiveError> {
        snapshot::snapshot(&self.store, into)
    }

    /// Copies the selected part of the journal into the folder `into` and lists its contents.
    ///
    /// Only reads this archive; its writer may continue to write.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRange`] if the selection does not start and end at day boundaries,
    /// [`ArchiveError::Damaged`] if the journal is damaged, else [`ArchiveError`] if it cannot be read, or the copy
    /// cannot be written or exists already.
    pub fn export_journal(
        &self,
        into: &Path,
        selection: &ExportSelection,
    ) -> Result<ArchiveContents, ArchiveError> {
        closed_days::export_journal(&self.store, into, selection)
    }
}

/// Views of the parts that are no rows.
impl Archive {
    /// The sessions, the coverage and the gaps of an archive.
    #[must_use]
    pub fn coverage(&self) -> CoverageView<'_> {
        CoverageView(&self.store)
    }

    /// Verification and known damage of an archive.
    #[must_use]
    pub fn integrity(&self) -> IntegrityView<'_> {
        IntegrityView(&self.store)
    }

    /// What an archive contains, and how large it is.
    #[must_use]
    pub fn catalog(&self) -> CatalogView<'_> {
        CatalogView(&self.store)
    }

    /// The raw frames of an archive.
    #[must_use]
    pub fn raw(&self) -> RawView<'_> {
        RawView(&self.store)
    }
}
