//! All public methods for reading an archive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::archive::catalog::ingests;
use crate::archive::catalog::stats;
use crate::archive::coverage::damage_gaps;
use crate::archive::coverage::gap_status;
use crate::archive::coverage::liveness;
use crate::archive::coverage::report;
use crate::archive::disk_use;
use crate::archive::export::merge;
use crate::archive::export::{closed_days, snapshot};
use crate::archive::integrity::{relist, verify};
use crate::archive::journal::database;
use crate::archive::ledger_files;
use crate::archive::raw::line;
use crate::archive::scan::maps_reader;
use crate::archive::scan::parallel;
use crate::archive::scan::snapshots;
use crate::archive::scan::snapshots::PositionsOfDay;
use crate::archive::scan::table_scan;
use crate::archive::scan::tail;
use crate::archive::store::store::{GoesOn, Store};
use crate::archive::{
    ArchiveContents, ArchiveError, ArchiveSummary, ArrivalPosition, BarRow, DamagedPart, DiskSpace,
    ExportSelection, Filter, Gap, GapOutcome, IngestRow, KnownCoin, MapRow, OpenInterestRow,
    OrderDays, OrderFold, OrderRow, PositionRow, RawFileEntry, RawLines, Relisted, ResampledBar,
    Scan, Session, TailUpdate, TopicGap, TotalRow, VenueCoverage, Verification,
};
use crate::model::{CoverageGap, GroupedOrder, Millis, OrderBrief, PeriodLength, TimeRange};

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

/// Contents.
impl Archive {
    /// Row counts and latest time of the archive, read without a scan.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn summary(&self) -> Result<ArchiveSummary, ArchiveError> {
        self.store.ask(stats::known)
    }

    /// Coins with bars, sorted by name.
    ///
    /// If `as_of` is given, only coins with a bar that had closed and been received by then.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn coins(&self, as_of: Option<Millis>) -> Result<Vec<KnownCoin>, ArchiveError> {
        self.store.ask(|journal| stats::coins(journal, as_of))
    }

    /// Exchanges with rows in the archive, sorted by name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn exchanges(&self) -> Result<BTreeSet<String>, ArchiveError> {
        self.store.ask(stats::exchanges)
    }
}

/// Ingests: imports of historical data.
impl Archive {
    /// All ingests, oldest first.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn ingests(&self) -> Result<Vec<IngestRow>, ArchiveError> {
        self.store.ask(ingests::all)
    }

    /// Ids of the ingests that may lack rows in the archive.
    ///
    /// These are the undone ingests, and the ingests that repeated rows of an undone one.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn incomplete_ingests(&self) -> Result<Vec<String>, ArchiveError> {
        self.store.ask(ingests::incomplete)
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

    /// End of the last day that has order segments, if any.
    ///
    /// An order in the journal with an earlier time may be a duplicate of an order in a segment.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn compacted_until(&self) -> Result<Option<Millis>, ArchiveError> {
        parallel::compacted_until(&self.store)
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

    /// Whether the archive has totals of periods.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn has_totals(&self) -> Result<bool, ArchiveError> {
        self.store.ask(stats::has_totals)
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

    /// The state of the positions of a day that match `filter`, whose start and end are those of the day.
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

    /// Compressed size, in bytes, of all maps of the day that contains `at`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn map_bytes(&self, at: Millis) -> Result<u64, ArchiveError> {
        maps_reader::map_bytes(&self.store, at)
    }
}

/// Coverage and gaps.
impl Archive {
    /// Known gaps of orders that overlap `start` to `end`, sorted by start.
    ///
    /// Includes the gaps of segments that are damaged now, whether or not a writer has quarantined those segments.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the journal cannot be read.
    pub fn gaps(&self, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
        report::gaps(&self.store, start, end)
    }

    /// As [`Archive::gaps`], limited to gaps that were recorded by `as_of`.
    ///
    /// # Errors
    ///
    /// As [`Archive::gaps`].
    pub fn gaps_known(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<Gap>, ArchiveError> {
        report::gaps_known(&self.store, start, end, as_of)
    }

    /// Sessions that overlap the range from `start` to `end`, sorted by start.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the journal cannot be read.
    pub fn sessions(&self, start: Millis, end: Millis) -> Result<Vec<Session>, ArchiveError> {
        report::sessions(&self.store, start, end)
    }

    /// Coverage of each exchange from `start` to `end`, sorted by exchange name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the archive cannot be read.
    pub fn coverage(&self, start: Millis, end: Millis) -> Result<Vec<VenueCoverage>, ArchiveError> {
        report::coverage(&self.store, start, end)
    }

    /// As [`Archive::coverage`] as of an instant, with order counts from the caller.
    ///
    /// `counts` maps an exchange to its number of orders and the time of its last order.
    ///
    /// # Errors
    ///
    /// As [`Archive::coverage`].
    pub fn coverage_of(
        &self,
        start: Millis,
        end: Millis,
        counts: &BTreeMap<String, (u64, Millis)>,
        as_of: Option<Millis>,
    ) -> Result<Vec<VenueCoverage>, ArchiveError> {
        report::coverage_of(&self.store, start, end, counts, as_of)
    }

    /// Time ranges in which each exchange was connected and has no known gap.
    ///
    /// The ranges are sorted and disjoint. Lists every exchange that ever had a session. Gaps that were recovered by
    /// `as_of` count as covered. Gaps of single topics also count as covered.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the archive cannot be read.
    pub fn covered(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
        report::covered(&self.store, start, end, as_of)
    }

    /// As [`Archive::covered`]. In an archive without sessions each exchange is covered between its first and its last
    /// order.
    ///
    /// # Errors
    ///
    /// As [`Archive::covered`].
    pub fn recorded(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
        report::recorded(&self.store, start, end, as_of)
    }

    /// When the first session began, or of the first order.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn orders_from(&self) -> Result<Option<Millis>, ArchiveError> {
        self.store.ask(stats::orders_from)
    }

    /// The first instant at which anything was observed: as [`Archive::orders_from`], or of the first reading, position
    /// or close of a bar.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn observed_from(&self) -> Result<Option<Millis>, ArchiveError> {
        self.store.ask(stats::observed_from)
    }

    /// As [`Archive::covered`], but only for channels that report every order.
    ///
    /// Gaps of single topics do not count as covered.
    ///
    /// # Errors
    ///
    /// As [`Archive::covered`].
    pub fn fully_covered(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
        report::fully_covered(&self.store, start, end, as_of)
    }

    /// Gaps of single topics, as known at `as_of`, sorted by start.
    ///
    /// Returns the gaps that overlap `start` to `end`.
    ///
    /// # Errors
    ///
    /// As [`Archive::gaps`].
    pub fn topic_gaps(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<TopicGap>, ArchiveError> {
        report::topic_gaps(&self.store, start, end, as_of)
    }

    /// Gap outcomes, as known at `as_of`, sorted by start.
    ///
    /// Returns the outcomes that overlap `start` to `end`.
    ///
    /// # Errors
    ///
    /// As [`Archive::gaps`].
    pub fn outcomes(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<GapOutcome>, ArchiveError> {
        report::outcomes(&self.store, start, end, as_of)
    }

    /// Gaps of exchanges and of single topics, each with its status, sorted by start.
    ///
    /// Lists the gaps that overlap `start` to `end`. The status is the one known at `as_of`. If one recovery request
    /// covered several gaps, each of these gaps counts all orders that the request recovered.
    ///
    /// # Errors
    ///
    /// As [`Archive::gaps`].
    pub fn gap_statuses(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<CoverageGap>, ArchiveError> {
        gap_status::gap_statuses(&self.store, start, end, as_of)
    }

    /// Gaps of exchanges to which the collector has not connected yet.
    ///
    /// Returns no gaps if any exchange has been connected since the first of these gaps began.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn pending_gaps(&self) -> Result<Vec<Gap>, ArchiveError> {
        gap_status::pending_gaps(&self.store)
    }

    /// Parts of an exchange's gaps that are neither recovered nor lost, sorted and disjoint.
    ///
    /// Gaps of damaged segments are included only if they end after `damaged_since`. The limit is needed because the
    /// search for damage reads the segment files.
    ///
    /// # Errors
    ///
    /// As [`Archive::gaps`].
    pub fn open_ranges(
        &self,
        exchange: &str,
        damaged_since: Millis,
    ) -> Result<Vec<TimeRange>, ArchiveError> {
        gap_status::open_ranges(&self.store, exchange, damaged_since)
    }

    /// Gaps left by damaged order segments from `start` to `end`, sorted by start.
    ///
    /// Includes quarantined segments and damaged ones that no writer has quarantined yet. The rows are missing from
    /// every result, so these gaps do not depend on `as_of`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal or a segment cannot be read.
    pub fn damage_gaps(&self, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
        damage_gaps::damage_gaps(&self.store, start, end)
    }

    /// Known damaged segments of the tables `kinds` that had rows between `start` and `end`.
    ///
    /// Includes a damaged journal, because it may contain such rows. Reads no segment: reports only damage that earlier
    /// reads and checks found.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn damage_within(
        &self,
        kinds: &[&str],
        start: Millis,
        end: Millis,
    ) -> Result<Vec<DamagedPart>, ArchiveError> {
        damage_gaps::damage_within(&self.store, kinds, start, end)
    }

    /// All quarantined segments, and all other parts that are known to be damaged.
    ///
    /// A segment counts as damaged if it is missing or its length has changed. It also counts as damaged if a read or a
    /// check found it damaged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Replaced`] if the journal file was replaced since it was opened, else [`ArchiveError`] if the
    /// journal or a segment cannot be read.
    pub fn damage(&self) -> Result<Vec<DamagedPart>, ArchiveError> {
        damage_gaps::damage(&self.store)
    }

    /// Size of the parts of the archive in bytes: files by table, `superseded` files, the `journal`, `raw` frames and
    /// other folders.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn bytes_by_part(&self) -> Result<BTreeMap<String, u64>, ArchiveError> {
        disk_use::bytes_by_part(&self.store)
    }

    /// Size and free space of the archive's disk; `None` if the system does not say.
    #[must_use]
    pub fn disk_space(&self) -> Option<DiskSpace> {
        DiskSpace::of(self.path())
    }

    /// Size of the write-ahead log, in bytes; see [`log_bytes`](crate::archive::log_bytes).
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        database::log_bytes(&self.store.folder)
    }

    /// Whether any process, including this one, has the archive open for writing.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the lock cannot be inspected.
    pub fn has_writer(&self) -> Result<bool, ArchiveError> {
        liveness::has_writer(&self.store)
    }

    /// The end of each exchange's last session.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn connected_until(&self) -> Result<BTreeMap<String, Millis>, ArchiveError> {
        liveness::connected_until(&self.store)
    }
}

/// Verification and damage.
impl Archive {
    /// Reads the journal and every file, and compares their contents with the stored checksums.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a file or the journal cannot be read at all.
    pub fn verify(&self) -> Result<Verification, ArchiveError> {
        verify::verify(&self.store)
    }

    /// As [`Archive::verify`], with progress reports.
    ///
    /// Calls `goes_on` after each file with the number of files read so far and the total number of files. If it
    /// returns false, the remaining files are not checked.
    ///
    /// # Errors
    ///
    /// As [`Archive::verify`].
    pub fn verify_observed(
        &self,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Verification, ArchiveError> {
        verify::verify_observed(&self.store, goes_on)
    }

    /// Number of files that are known to be damaged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Forked`] in a process forked from the one that opened the archive.
    pub fn damaged_files(&self) -> Result<usize, ArchiveError> {
        self.store.damaged_files()
    }

    /// Number of changes to the known damage, and the time of the last change.
    ///
    /// Counts the changes since the archive was opened.
    #[must_use]
    pub fn changes_of_damage(&self) -> (u64, Millis) {
        self.store.changes_of_damage()
    }

    /// Clears the record of known damage, then logs missing, truncated and quarantined files again.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn recheck_damage(&self) -> Result<(), ArchiveError> {
        self.store.forget_damage();
        damage_gaps::warn_of_damage(&self.store)
    }

    /// Records that the journal is damaged, if `fault` is the error of a damaged journal.
    pub(crate) fn note(&self, fault: &ArchiveError) {
        self.store.note(fault);
    }
}

/// Raw frames and export.
impl Archive {
    /// Files of raw frames, sorted by day and time of creation.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the folder cannot be read.
    pub fn raw_files(&self) -> Result<Vec<RawFileEntry>, ArchiveError> {
        line::raw_files(&self.store)
    }

    /// Symbolic links in the folder of raw frames. Reads do not follow them.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the folder cannot be read.
    pub fn raw_links(&self) -> Result<Vec<PathBuf>, ArchiveError> {
        line::raw_links(&self.store)
    }

    /// Opens a file of raw frames and iterates over its lines.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the file cannot be opened. Damage is no error; see [`RawLines::fault`].
    pub fn raw_lines(&self, part: &RawFileEntry) -> Result<RawLines, ArchiveError> {
        line::raw_lines(part)
    }

    /// Lists the segments, journal rows and other contents of the archive.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Damaged`] if the journal is damaged, else [`ArchiveError`] if it cannot be read.
    pub fn lists(&self) -> Result<ArchiveContents, ArchiveError> {
        closed_days::lists(&self.store)
    }

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
