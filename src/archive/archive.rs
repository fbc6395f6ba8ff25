//! The archive as its readers use it: every public method, in one file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::archive::catalog::ingests;
use crate::archive::catalog::stats;
use crate::archive::coverage::damage_gaps;
use crate::archive::coverage::gap_status;
use crate::archive::coverage::liveness;
use crate::archive::coverage::report;
use crate::archive::export::closed_days;
use crate::archive::export::merge;
use crate::archive::integrity::{repair, scrub, verify};
use crate::archive::journal::database;
use crate::archive::raw::line;
use crate::archive::scan::maps_reader;
use crate::archive::scan::parallel;
use crate::archive::scan::snapshots;
use crate::archive::scan::table_scan;
use crate::archive::scan::tail;
use crate::archive::store::{GoesOn, Store};
use crate::archive::{
    ArchiveContents, ArchiveError, ArchiveSummary, ArrivalPosition, BarRow, DamagedPart,
    ExportSelection, Filter, Gap, GapOutcome, IngestRow, KnownCoin, MapRow, OpenInterestRow,
    OrderDays, OrderFold, OrderRow, PositionRow, RawFileEntry, RawLines, ResampledBar, Scan,
    Scrubber, Session, TailUpdate, TopicGap, VenueCoverage, Verification,
};
use crate::model::{CoverageGap, GroupedOrder, Millis, OrderBrief, TimeRange};

/// An archive that is open for reading.
///
/// Any number of readers may be open next to one [`Writer`](crate::archive::Writer).
#[derive(Debug)]
pub struct Archive {
    pub(crate) store: Arc<Store>,
}

/// Opening.
impl Archive {
    fn of(store: Store) -> Self {
        Self {
            store: Arc::new(store),
        }
    }

    /// Opens the archive in the folder `path` for reading. Files that are missing, cut short or quarantined are logged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::NotAnArchive`] if there is none, [`ArchiveError::Damaged`] where a journal of up to 64 MiB is
    /// damaged, else as [`Archive::create_or_open`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ArchiveError> {
        let mut store = Store::open(path.as_ref())?;
        verify::refuse_damaged_journal(&store)?;
        store.notes = true;
        damage_gaps::warn_of_damage(&store)?;
        Ok(Self::of(store))
    }

    /// Opens an archive as [`Archive::read`] does; returns none where nothing has been written yet.
    ///
    /// # Errors
    ///
    /// As [`Archive::read`], but for a journal that is missing or empty.
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

    /// Opens the archive in the folder `path` to [`verify`](Self::verify) it; a damaged one is not refused.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::NotAnArchive`] if there is none, else as [`Archive::create_or_open`].
    pub fn to_verify(path: impl AsRef<Path>) -> Result<Self, ArchiveError> {
        Store::open(path.as_ref()).map(Self::of)
    }

    /// Quarantines damaged files, replaces a damaged journal, and records what is lost as gaps.
    ///
    /// # Errors
    ///
    /// As [`Archive::create_or_open`], and [`ArchiveError::Damaged`] where the journal's catalog cannot be read.
    pub fn repair(path: impl AsRef<Path>) -> Result<Verification, ArchiveError> {
        let goes_on: GoesOn = Arc::new(|| true);
        Self::repair_while(path, &goes_on, &|_, _| ())
    }

    /// As [`Archive::repair`]; stops if `goes_on` returns false, and passes the done and total number of files to
    /// `progress`.
    ///
    /// # Errors
    ///
    /// As [`Archive::repair`].
    pub fn repair_while(
        path: impl AsRef<Path>,
        goes_on: &GoesOn,
        progress: &dyn Fn(usize, usize),
    ) -> Result<Verification, ArchiveError> {
        repair::repair(path.as_ref(), goes_on, progress)
    }

    /// Finishes a repair that was interrupted while it replaced the journal.
    ///
    /// # Errors
    ///
    /// As [`Archive::repair`].
    pub fn finish_repair(path: impl AsRef<Path>) -> Result<(), ArchiveError> {
        repair::finish_repair(path.as_ref())
    }

    /// Merges archives into a new one in the folder `into`. Returns false if `goes_on` stopped the merge.
    ///
    /// `goes_on` gets the number of merged days and of all days.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where an archive cannot be read, or the new one cannot be written.
    pub fn merge(
        archives: &[Self],
        into: &Path,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<bool, ArchiveError> {
        let archives: Vec<&Store> = archives.iter().map(|archive| &*archive.store).collect();
        merge::merge(&archives, into, goes_on)
    }

    /// Opens another reader of the same archive. Both share what they know of sound and damaged files.
    ///
    /// # Errors
    ///
    /// As [`Archive::read`].
    pub fn another(&self) -> Result<Self, ArchiveError> {
        self.store.another().map(Self::of)
    }

    /// Switches to the journal that replaced the one that was opened, after a restore for example.
    ///
    /// # Errors
    ///
    /// As [`Archive::read`], and [`ArchiveError::Replaced`] where the journal changed meanwhile; nothing has happened then.
    pub fn reopen(&self) -> Result<(), ArchiveError> {
        self.store
            .reopen(&|fresh| verify::refuse_damaged_journal(fresh))
    }

    /// Fails where the journal is no longer the one that was opened.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Replaced`] where it is not, and [`ArchiveError`] where it cannot be looked at.
    pub fn check_journal(&self) -> Result<(), ArchiveError> {
        self.store.check_journal()
    }

    /// Calls `goes_on` every few milliseconds while the journal is read. If it returns false, the read fails.
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

    /// A number that changes with every commit; compare two of them to detect changes.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn version(&self) -> Result<i64, ArchiveError> {
        self.store.version()
    }
}

/// What the archive holds.
impl Archive {
    /// Summary of the whole archive.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn summary(&self) -> Result<ArchiveSummary, ArchiveError> {
        self.store.ask(stats::known)
    }

    /// Coins with a bar that had closed and been received by `as_of`, by name; all coins if it is absent.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn coins(&self, as_of: Option<Millis>) -> Result<Vec<KnownCoin>, ArchiveError> {
        self.store.ask(|journal| stats::coins(journal, as_of))
    }

    /// Exchanges with rows in the archive, by name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn exchanges(&self) -> Result<BTreeSet<String>, ArchiveError> {
        self.store.ask(stats::exchanges)
    }
}

/// Ingests.
impl Archive {
    /// All ingests, the first one first.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn ingests(&self) -> Result<Vec<IngestRow>, ArchiveError> {
        self.store.ask(ingests::all)
    }

    /// Ids of the ingests that the archive no longer has completely: undone ones, and those that repeated rows of them.
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
    /// Orders that match `filter`, by time, exchange and dedupe key.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the filter ends before it starts, or the archive cannot be read. Damaged segments are
    /// no error: they are listed in the result.
    pub fn orders(&self, filter: &Filter) -> Result<Scan<OrderRow>, ArchiveError> {
        table_scan::orders(&self.store, filter)
    }

    /// Orders that match `filter`, one day at a time, for results that exceed memory.
    ///
    /// Each day is read when it is requested.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn order_days(&self, filter: &Filter) -> Result<OrderDays<'_>, ArchiveError> {
        table_scan::order_days(&self.store, filter)
    }

    /// Start of each day that may have matching orders.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn days_with_orders(&self, filter: &Filter) -> Result<Vec<Millis>, ArchiveError> {
        table_scan::days_with_orders(&self.store, filter)
    }

    /// Start of each day that may have matching orders, bars or open interest.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn days_of_rows(&self, filter: &Filter) -> Result<Vec<Millis>, ArchiveError> {
        table_scan::days_of_rows(&self.store, filter)
    }

    /// Matching orders of the day of `at`, newest first.
    ///
    /// Orders of one instant are in order of receipt, then of arrival. Damaged segments are skipped and logged.
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

    /// As [`Archive::day_of_orders`]; `None` if they take more than about `most` bytes.
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

    /// Matching bars of every length as they were observed, by exchange, coin, length and time.
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

    /// Bars of `size` milliseconds, a whole number of minutes, by exchange, coin and time.
    ///
    /// A bar opens at a multiple of its size. It is returned if it lies completely between the filter's start
    /// and end and had closed by `as_of`. [`ResampledBar::observed`] is smaller than the size if source bars are
    /// missing.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRange`] if the size is invalid, else as [`Archive::orders`].
    pub fn bars(&self, filter: &Filter, size: i64) -> Result<Scan<ResampledBar>, ArchiveError> {
        table_scan::bars(&self.store, filter, size)
    }

    /// Matching bars of the shortest length available at each time.
    ///
    /// A longer bar is returned where no exchange has a shorter one. If `size` is given, bars of that size are
    /// resampled from the lengths that divide it, and come first.
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

    /// Matching open interest readings, by time, coin and exchange.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn open_interest(&self, filter: &Filter) -> Result<Scan<OpenInterestRow>, ArchiveError> {
        table_scan::open_interest(&self.store, filter)
    }

    /// Folds all matching orders into values that `new` makes, and returns these with the state of the archive.
    ///
    /// The orders are split among threads, each share with its own fold. Folds are returned in order: first the
    /// journal in order of arrival, then the segments, each in order of time.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`]; a damaged segment is skipped and logged.
    pub fn fold_orders<G: OrderFold>(
        &self,
        filter: &Filter,
        new: impl Fn() -> G + Sync,
    ) -> Result<(Vec<G>, ArchiveSummary), ArchiveError> {
        parallel::fold_orders(&self.store, filter, new)
    }

    /// End of the last day that has order segments, if any.
    ///
    /// A late order of an earlier time may be a duplicate of one in a segment.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn compacted_until(&self) -> Result<Option<Millis>, ArchiveError> {
        parallel::compacted_until(&self.store)
    }

    /// Passes all matching orders to `sink` in no particular order; returns the state of the archive.
    ///
    /// Use it for few orders, or for an aggregate that cannot be split; otherwise [`Archive::fold_orders`] is
    /// faster.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`]; a damaged segment is skipped and logged.
    pub fn visit_orders(
        &self,
        filter: &Filter,
        sink: &mut dyn FnMut(OrderBrief<'_>),
    ) -> Result<ArchiveSummary, ArchiveError> {
        parallel::visit_orders(&self.store, filter, sink)
    }

    /// Passes the orders after `place` to `sink` in order of arrival, unless there are more than `most`.
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

    /// Passes up to `limit` journal orders with an id above `after` to `sink`, in order of arrival.
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

    /// Positions that match `filter`, by snapshot, exchange, coin and account.
    ///
    /// # Errors
    ///
    /// As [`Archive::orders`].
    pub fn positions(&self, filter: &Filter) -> Result<Scan<PositionRow>, ArchiveError> {
        snapshots::positions(&self.store, filter)
    }

    /// Positions of a coin in the last snapshot of each exchange, by exchange and account.
    ///
    /// Uses snapshots up to `as_of`, and only `exchange` if it is given. An exchange with a last snapshot more
    /// than an hour older than the newest is left out. An empty snapshot returns no positions.
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

    /// The maps that match `filter` and `kind`, by time, coin, kind, parameters and time of computation.
    ///
    /// `start` and `end` apply to the close of the last bar, `as_of` to the time of computation.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRange`] if the filter ends before it starts, or the maps are larger than 1 GiB; else
    /// [`ArchiveError`] if the archive cannot be read. Damaged segments are no error: they are listed in the
    /// result.
    pub fn maps(&self, filter: &Filter, kind: Option<&str>) -> Result<Scan<MapRow>, ArchiveError> {
        maps_reader::maps(&self.store, filter, kind)
    }

    /// As [`Archive::maps`], with a limit of `most` bytes, at most 1 GiB.
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

    /// Compressed size of the maps of the day of `at`, in bytes.
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
    /// Known gaps between `start` and `end`, by start.
    ///
    /// Includes the gaps of segments that are damaged now, whether a writer has quarantined them or not.
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

    /// Sessions that overlap the range from `start` to `end`, by start.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the journal cannot be read.
    pub fn sessions(&self, start: Millis, end: Millis) -> Result<Vec<Session>, ArchiveError> {
        report::sessions(&self.store, start, end)
    }

    /// Coverage of each exchange from `start` to `end`, by name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the archive cannot be read.
    pub fn coverage(&self, start: Millis, end: Millis) -> Result<Vec<VenueCoverage>, ArchiveError> {
        report::coverage(&self.store, start, end)
    }

    /// As [`Archive::coverage`], with given order counts and last event times, and as of an instant.
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

    /// Time ranges in which each exchange was connected and no gap is known, in order and disjoint.
    ///
    /// Lists every exchange that ever had a session. Gaps that were recovered by `as_of` count as covered; so
    /// does a gap of a single topic.
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

    /// As [`Archive::covered`], of complete channels only, and without the gaps of single topics.
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

    /// Gaps of single topics between `start` and `end`, by start, as recorded by `as_of`.
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

    /// Gap outcomes between `start` and `end`, by start, as recorded by `as_of`.
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

    /// Gaps of exchanges and of single topics between `start` and `end`, each with its status, by start.
    ///
    /// The status is the one that was known at `as_of`. If one request covered several gaps, all orders that it
    /// recovered are counted for each of them.
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

    /// Open gaps of exchanges that have never connected, if no exchange has connected since the first of these
    /// gaps began.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn pending_gaps(&self) -> Result<Vec<Gap>, ArchiveError> {
        gap_status::pending_gaps(&self.store)
    }

    /// Parts of an exchange's gaps that are neither recovered nor lost, in order and disjoint.
    ///
    /// Gaps of damaged segments are included if they end after `damaged_since`, because finding them reads the
    /// files.
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

    /// Gaps that damaged order segments leave between `start` and `end`, by start.
    ///
    /// Includes quarantined segments and damaged ones that no writer has quarantined yet. The rows are missing
    /// from every answer, so no `as_of` hides these gaps.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal or a segment cannot be read.
    pub fn damage_gaps(&self, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
        damage_gaps::damage_gaps(&self.store, start, end)
    }

    /// Known damaged segments of these tables that had rows between `start` and `end`.
    ///
    /// Includes the journal if it is damaged, because it may have held such rows. No file is read: only damage
    /// that earlier reads and checks found is reported.
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

    /// All quarantined and all known damaged segments.
    ///
    /// A segment is known to be damaged if it is missing, if its length has changed, or if a read or a check
    /// found it damaged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Replaced`] if the journal is no longer the one that was opened, else [`ArchiveError`] if
    /// it or a segment cannot be read.
    pub fn damage(&self) -> Result<Vec<DamagedPart>, ArchiveError> {
        damage_gaps::damage(&self.store)
    }

    /// Whether any process, this one included, has the archive open for writing.
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
    /// Reads every file and the journal and compares them with what was written.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a file or the journal cannot be read at all.
    pub fn verify(&self) -> Result<Verification, ArchiveError> {
        verify::verify(&self.store)
    }

    /// As [`Archive::verify`]; calls `goes_on` after each file with the number of files read and in all.
    ///
    /// If it returns false, the remaining files are not checked.
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

    /// Checks the journal and every file, newest first, and logs damage; returns how many files were read.
    ///
    /// Asks `goes_on` before each file and while it is read. A file that this process found sound less than an hour
    /// ago is skipped.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read. A file that cannot be opened is skipped.
    pub fn check_files(&self, goes_on: &mut dyn FnMut() -> bool) -> Result<usize, ArchiveError> {
        scrub::check_files(&self.store, goes_on)
    }

    /// Starts a thread that checks all files at once and again every hour.
    #[must_use]
    pub fn scrub_hourly(&self) -> Scrubber {
        Scrubber::hourly(&self.store)
    }

    /// Starts a thread that checks all files once, after a second.
    #[must_use]
    pub fn scrub_once(&self) -> Scrubber {
        Scrubber::once(&self.store)
    }

    /// How many files are known to be damaged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Forked`] in another process than the one that opened the archive.
    pub fn damaged_files(&self) -> Result<usize, ArchiveError> {
        self.store.damaged_files()
    }

    /// Number of changes to the known damage since the archive was opened, and the time of the last one.
    #[must_use]
    pub fn changes_of_damage(&self) -> (u64, Millis) {
        self.store.changes_of_damage()
    }

    /// Clears the known damage. Logs again the files that are missing, cut short or quarantined.
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

    /// Number of times that a journal marked as damaged was found sound by a later check.
    pub(crate) fn journal_recoveries(&self) -> u64 {
        self.store.journal_recoveries()
    }

    /// Checks a damaged journal again, if its files have changed since the damage was found.
    pub(crate) fn recheck_journal(&self) {
        scrub::recheck_journal(&self.store);
    }
}

/// Raw frames and export.
impl Archive {
    /// Files of raw frames, by day and creation.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the folder cannot be read.
    pub fn raw_files(&self) -> Result<Vec<RawFileEntry>, ArchiveError> {
        line::raw_files(&self.store)
    }

    /// Links in the folder of raw frames; they are not followed.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the folder cannot be read.
    pub fn raw_links(&self) -> Result<Vec<PathBuf>, ArchiveError> {
        line::raw_links(&self.store)
    }

    /// Lines of a file of raw frames.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the file cannot be opened. Damage is no error; see [`RawLines::fault`].
    pub fn raw_lines(&self, part: &RawFileEntry) -> Result<RawLines, ArchiveError> {
        line::raw_lines(part)
    }

    /// Lists the contents of the archive.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Damaged`] if the journal is damaged, else [`ArchiveError`] if it cannot be read.
    pub fn lists(&self) -> Result<ArchiveContents, ArchiveError> {
        closed_days::lists(&self.store)
    }

    /// Writes a journal for the selected part of this archive into the folder `into`, and lists its contents.
    ///
    /// This archive is only read, and its writer may go on.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRange`] if the selection does not start and end at day boundaries,
    /// [`ArchiveError::Damaged`] if the journal is damaged, else [`ArchiveError`] if it cannot be read, or the
    /// copy cannot be written or exists already.
    pub fn export_journal(
        &self,
        into: &Path,
        selection: &ExportSelection,
    ) -> Result<ArchiveContents, ArchiveError> {
        closed_days::export_journal(&self.store, into, selection)
    }
}
