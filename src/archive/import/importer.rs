//! Import of tables into segments and the journal.
//!
//! Rows of finished days go to new segments, rows of other days to the journal.
//!
//! The import commits its rows in lots of about [`LOT`] rows. A segment is listed as *pending* before its file exists.
//! One transaction makes all segments of a lot active and appends the rows of other days, so a lot is never stored
//! partially. Stored rows are not changed. A row that differs from the stored row with its key is rejected.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::{Path, PathBuf};

use crate::archive::ArchiveError;
use crate::archive::batch::Batch;
use crate::archive::catalog::file_versions;
use crate::archive::catalog::file_versions::Generation;
use crate::archive::catalog::ingests::{IngestCounts, IngestOrigin};
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, Partition, SegmentEntry, SegmentState, Venues};
use crate::archive::catalog::stats;
use crate::archive::catalog::stats::StatsUpdate;
use crate::archive::clock::wall_clock;
use crate::archive::compaction::compactor::{divide, of_fault};
use crate::archive::coverage_log::sessions;
use crate::archive::coverage_log::sessions::ImportedSession;
use crate::archive::files::SegmentStep;
use crate::archive::filter::Filter;
use crate::archive::import::bars::BarTable;
use crate::archive::import::column_table::{ColumnTable, NameIndex, partition};
use crate::archive::import::existing_rows::{Comparison, PartitionRows, RowOrigin};
use crate::archive::import::open_interest::InterestTable;
use crate::archive::import::orders::OrderTable;
use crate::archive::import::outcome::{ImportOutcome, RejectedRow};
use crate::archive::import::row_table::RowTable;
use crate::archive::import::undone_rows::UndoneRows;
use crate::archive::journal::database;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::{Fault, Row, check_name, check_time};
use crate::archive::rows::totals::TotalRow;
use crate::archive::segment::atomic_write::AtomicWrites;
use crate::archive::segment::parquet;
use crate::archive::sql::table;
use crate::archive::store::write_store::WriteStore;
use crate::model::Millis;

/// Number of rows from which on a lot is committed.
const LOT: usize = 250_000;
/// Number of rows checked between two calls of `goes_on`.
const CHECK_EVERY: usize = 1 << 14;
/// Number of segments that are written together.
///
/// They share a wait for the disk, during which the next segments are encoded.
const TOGETHER: usize = 32;

/// Tables of historical data.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Liquidation orders.
    pub orders: OrderTable,
    /// Closed price bars.
    pub bars: BarTable,
    /// Open interest readings.
    pub open_interest: InterestTable,
    /// Trading positions of single accounts, in complete snapshots.
    pub positions: Vec<PositionRow>,
    /// Liquidated USD by period.
    pub totals: Vec<TotalRow>,
}

impl Tables {
    /// Number of rows of all tables.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.orders.len()
            + self.bars.len()
            + self.open_interest.len()
            + self.positions.len()
            + self.totals.len()
    }
}

/// Parameters of an import besides its rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportScope<'a> {
    /// Time ranges for which the tables contain the orders of an exchange.
    pub sessions: &'a [ImportedSession],
    /// Rows of days that ended by this instant become segments.
    ///
    /// Other rows go to the journal.
    pub until: Millis,
    /// The ingest that the rows belong to; without one, the import cannot be undone.
    pub ingest: Option<&'a IngestOrigin>,
}

/// Implements `Writer::import_observed`.
pub(crate) fn import_tables(
    writer: &mut WriteStore,
    tables: Tables,
    scope: ImportScope<'_>,
    goes_on: &mut dyn FnMut(usize) -> bool,
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<(ImportOutcome, bool), ArchiveError> {
    let mut import = Import::new(writer, scope, goes_on, done)?;
    let is_whole = import.tables(tables);
    import.end(is_whole)
}

/// Returns an error for a session without an exchange or with invalid times.
fn check_session(session: &ImportedSession) -> Result<(), Fault> {
    check_name("exchange", &session.exchange)?;
    check_time("started", session.start)?;
    check_time("seen", session.end)?;
    check_time("known_at", session.known_at)?;
    if session.start <= session.end {
        Ok(())
    } else {
        let message = format!("{} is before {}", session.end, session.start);
        Err(("seen", message))
    }
}

/// A segment that is not active yet.
struct PendingSegment {
    entry: SegmentEntry,
    venues: Venues,
    /// Whether its rows replace undone rows.
    ///
    /// Reads as of an earlier instant still return the undone rows instead.
    replaces: bool,
}

/// A segment that is encoded but not written yet.
struct EncodedSegment {
    pending: PendingSegment,
    bytes: Vec<u8>,
}

/// Function that selects the rows of one kind in a batch.
type RowsOf<R> = fn(&mut Batch) -> &mut Vec<R>;

/// The row numbers of each partition, and the partitions with rows that [`ColumnTable::is_valid`] did not accept.
type Partitions = (BTreeMap<Partition, Vec<usize>>, BTreeSet<Partition>);

/// An import in progress.
struct Import<'a> {
    writer: &'a mut WriteStore,
    scope: ImportScope<'a>,
    goes_on: &'a mut dyn FnMut(usize) -> bool,
    done: &'a mut dyn FnMut(SegmentStep, &Path),
    encoded: Vec<EncodedSegment>,
    writes: AtomicWrites,
    pending: Vec<PendingSegment>,
    /// Rows of days after `scope.until`, which go to the journal.
    open: Batch,
    stats: StatsUpdate,
    /// The statistics of rows that replace undone ones.
    replacing: StatsUpdate,
    /// Exchanges of the new orders that replace undone ones, and of the other new orders.
    exchanges: [BTreeSet<String>; 2],
    counts: IngestCounts,
    outcome: ImportOutcome,
    /// The outcome up to the last commit.
    committed: ImportOutcome,
    /// Number of rows processed so far: stored, repeated or rejected.
    processed: usize,
    /// Number of rows processed since the last commit.
    gathered: usize,
    /// End of the last day of the processed orders.
    orders_until: Option<Millis>,
}

impl<'a> Import<'a> {
    fn new(
        writer: &'a mut WriteStore,
        scope: ImportScope<'a>,
        goes_on: &'a mut dyn FnMut(usize) -> bool,
        done: &'a mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<Self, ArchiveError> {
        for (row, session) in scope.sessions.iter().enumerate() {
            check_session(session).map_err(|(column, message)| ArchiveError::BadRow {
                table: "sessions",
                column,
                row,
                message,
            })?;
        }
        Ok(Self {
            writer,
            scope,
            goes_on,
            done,
            encoded: Vec::new(),
            writes: AtomicWrites::default(),
            pending: Vec::new(),
            open: Batch::default(),
            stats: StatsUpdate::default(),
            replacing: StatsUpdate::default(),
            exchanges: [BTreeSet::new(), BTreeSet::new()],
            counts: IngestCounts::default(),
            outcome: ImportOutcome::default(),
            committed: ImportOutcome::default(),
            processed: 0,
            gathered: 0,
            orders_until: None,
        })
    }

    /// Ends the import: returns the committed outcome, and whether the import is complete.
    ///
    /// If the import is not complete, removes the pending segments.
    fn end(
        mut self,
        is_whole: Result<bool, ArchiveError>,
    ) -> Result<(ImportOutcome, bool), ArchiveError> {
        if matches!(is_whole, Ok(true)) {
            return Ok((self.outcome, true));
        }
        self.writes.give_up();
        // Pending files are removed now, or when the archive is next opened; an interrupted import does not wait for a
        // sync.
        let pending = mem::take(&mut self.pending);
        let paths = pending.iter().map(|one| one.entry.path.as_str());
        let _ = self.writer.unlink(paths);
        is_whole.map(|_| (self.committed, false))
    }

    /// Imports all tables; returns false if `goes_on` stopped it.
    fn tables(&mut self, tables: Tables) -> Result<bool, ArchiveError> {
        let positions = RowTable(tables.positions);
        let totals = RowTable(tables.totals);
        let is_whole = self.table(&tables.orders, |open| &mut open.orders)?
            && self.table(&tables.bars, |open| &mut open.bars)?
            && self.table(&tables.open_interest, |open| &mut open.open_interest)?
            && self.table(&positions, |open| &mut open.positions)?
            && self.table(&totals, |open| &mut open.totals)?
            && self.goes_on();
        if is_whole {
            self.commit(self.scope.sessions)?;
        }
        Ok(is_whole)
    }

    fn goes_on(&mut self) -> bool {
        (self.goes_on)(self.processed)
    }

    fn table<T: ColumnTable>(
        &mut self,
        table: &T,
        open: RowsOf<T::Row>,
    ) -> Result<bool, ArchiveError> {
        let names = table.names();
        let Some((partitions, unchecked)) = self.partitions(table, &names) else {
            return Ok(false);
        };
        for (partition, rows) in &partitions {
            let (partition, mut rows) = (*partition, rows.clone());
            let near = || {
                let is_near = |day: Day| day.0.abs_diff(partition.day.0) <= 1;
                let near = partitions.iter().filter(move |(of, _)| is_near(of.day));
                near.flat_map(|(_, rows)| rows.iter().copied())
            };
            if !self.goes_on() {
                return Ok(false);
            }
            let count = rows.len();
            let mut is_new = !unchecked.contains(&partition) && !self.has::<T::Row>(partition)?;
            if is_new {
                table.arrange(&names, &mut rows);
                is_new = table.has_unique_keys(&rows);
            }
            if is_new {
                if !self.store(table, partition, rows, open)? {
                    return Ok(false);
                }
            } else {
                // Of several rows with the same key, the first one is stored.
                rows.sort_unstable();
                for (number, rows) in rows.chunks(LOT).enumerate() {
                    // The comparison of the next rows reads stored rows, so the rows before them must be committed.
                    if number > 0 {
                        self.commit_lot()?;
                    }
                    let names = (&names, !unchecked.contains(&partition));
                    let (new, replacing) = self.new_rows(table, names, partition, rows, near())?;
                    if !self.store(table, partition, new, open)?
                        || !self.segments(table, partition, replacing, true)?
                    {
                        return Ok(false);
                    }
                }
            }
            self.processed += count;
            self.gathered += count;
            if T::Row::TABLE == OrderRow::TABLE {
                self.orders_until = Some(partition.day.end());
            }
            if self.gathered >= LOT {
                self.commit_lot()?;
            }
        }
        Ok(true)
    }

    /// Divides the valid rows by partition and rejects the other rows.
    ///
    /// Returns `None` if `goes_on` stopped the import.
    fn partitions<T: ColumnTable>(&mut self, table: &T, names: &NameIndex) -> Option<Partitions> {
        let mut places: BTreeMap<Partition, usize> = BTreeMap::new();
        let mut divided: Vec<Vec<usize>> = Vec::new();
        let mut unchecked = BTreeSet::new();
        let mut latest: Option<(Partition, usize)> = None;
        for row in 0..table.len() {
            if row % CHECK_EVERY == CHECK_EVERY - 1 && !self.goes_on() {
                return None;
            }
            let Some(of) = partition(table, row) else {
                continue;
            };
            if !table.is_valid(names, row) {
                if let Some(Err((column, message))) = table.row(row).map(|row| row.check()) {
                    self.reject::<T::Row>(row, column, message, false);
                    self.processed += 1;
                    continue;
                }
                unchecked.insert(of);
            }
            // Usually, adjacent rows are of the same partition.
            let number = match latest {
                Some((partition, number)) if partition == of => number,
                _ => *places.entry(of).or_insert(divided.len()),
            };
            latest = Some((of, number));
            match divided.get_mut(number) {
                Some(rows) => rows.push(row),
                None => divided.push(vec![row]),
            }
        }
        let mut rows_of = |number: usize| divided.get_mut(number).map(mem::take);
        let partitions = places
            .into_iter()
            .filter_map(|(partition, number)| Some((partition, rows_of(number)?)));
        Some((partitions.collect(), unchecked))
    }

    fn reject<R: Row>(&mut self, row: usize, column: &'static str, message: String, differs: bool) {
        self.outcome.rejected.push(RejectedRow {
            table: R::TABLE,
            row,
            column,
            message,
            differs,
        });
    }

    /// Whether the archive has, or had, rows that may be of a partition, or undone rows of the days next to it.
    fn has<R: Row>(&self, partition: Partition) -> Result<bool, ArchiveError> {
        let (start, end) = (partition.day.start(), partition.day.end());
        self.writer.store.ask(|journal| {
            Ok(manifest::has(journal, R::TABLE, partition)?
                || database::has_within::<R>(journal, start, end)?
                || !manifest::undone(journal, R::TABLE, partition.day)?.is_empty())
        })
    }

    /// Times of the first and the last row of each stored segment of a partition.
    ///
    /// `None` if there may be other stored rows, or undone rows.
    fn stored_times<R: Row>(
        &self,
        partition: Partition,
    ) -> Result<Option<Vec<(Millis, Millis)>>, ArchiveError> {
        let day = partition.day;
        self.writer.store.ask(|journal| {
            if database::has_within::<R>(journal, day.start(), day.end())?
                || !manifest::undone(journal, R::TABLE, day)?.is_empty()
            {
                return Ok(None);
            }
            let segments = manifest::of_day(journal, R::TABLE, day, SegmentState::Active)?;
            let segments = segments.iter().filter(|one| one.partition == partition);
            Ok(Some(segments.map(|one| (one.first, one.last)).collect()))
        })
    }

    /// Divides rows into rows at times without stored rows, and the others.
    ///
    /// No stored row has the key or the values of the first ones. The others are compared with the stored rows that
    /// match the returned filter. All rows are among the others if their keys do not contain their times.
    fn apart<T: ColumnTable>(
        &self,
        table: &T,
        names: &NameIndex,
        partition: Partition,
        rows: &[usize],
    ) -> Result<(Vec<usize>, Vec<usize>, Filter), ArchiveError> {
        let stored = if rows.iter().all(|row| table.has_time_in_key(*row)) {
            self.stored_times::<T::Row>(partition)?
        } else {
            None
        };
        let Some(stored) = stored else {
            return Ok((Vec::new(), rows.to_vec(), Filter::default()));
        };
        let is_apart = |row: &usize| {
            let at = table.timestamp(*row).unwrap_or_default();
            !stored
                .iter()
                .any(|(first, last)| *first <= at && at <= *last)
        };
        let (mut apart, mut others): (Vec<usize>, Vec<usize>) =
            rows.iter().partition(|row| is_apart(row));
        table.arrange(names, &mut apart);
        if !table.has_unique_keys(&apart) {
            apart.clear();
            others = rows.to_vec();
        }
        let (first, last) = ends(table, &others);
        let filter = Filter {
            start: Some(first),
            end: Some(last.on(1)),
            ..Filter::default()
        };
        Ok((apart, others, filter))
    }

    /// Compares rows with the stored rows.
    ///
    /// Returns new rows, and rows that replace undone rows, in the order of a segment. Counts repeated rows, and rejects
    /// rows that differ from the stored row with the same key. `names` says, too, whether all rows are valid. `near`
    /// are the rows of the day and of the days next to it.
    fn new_rows<T: ColumnTable>(
        &mut self,
        table: &T,
        (names, are_valid): (&NameIndex, bool),
        partition: Partition,
        rows: &[usize],
        near: impl Iterator<Item = usize>,
    ) -> Result<(Vec<usize>, Vec<usize>), ArchiveError> {
        let (mut new, rows, filter) = if are_valid {
            self.apart(table, names, partition, rows)?
        } else {
            (Vec::new(), rows.to_vec(), Filter::default())
        };
        let rows = rows.as_slice();
        let mut replacing = Vec::new();
        if rows.is_empty() {
            return Ok((new, replacing));
        }
        let own = self.scope.ingest.map(|ingest| ingest.id.as_str());
        let mut known =
            PartitionRows::<T::Row>::read(self.writer, partition, &filter, rows.len(), own)?;
        let place = |row: &usize| {
            let (exchange, coin) = (table.exchange(*row)?, table.coin(*row)?);
            Some((exchange, coin, table.timestamp(*row)?))
        };
        let given: Vec<(&str, &str, Millis)> = rows.iter().filter_map(place).collect();
        let near = near.filter_map(|row| place(&row));
        let mut undone = UndoneRows::read::<T::Row>(self.writer, partition.day, &given, near)?;
        let mut unmatched = Vec::new();
        // Rows with known keys take their stored rows first, then rows of other sources take the rest.
        for (numbers, has_keys) in [(rows, true), (&[][..], false)] {
            let later = mem::take(&mut unmatched);
            for number in numbers.iter().chain(&later) {
                let Some(row) = table.row(*number) else {
                    continue;
                };
                let replaces = undone.are_replaced_by(&row);
                let compared = if has_keys {
                    known.compare(row)
                } else {
                    known.match_source(row)
                };
                match compared {
                    Comparison::New if replaces => replacing.push(*number),
                    Comparison::New => new.push(*number),
                    Comparison::OfAnotherSource => unmatched.push(*number),
                    Comparison::Repeated(origin) => {
                        self.outcome.repeated += 1;
                        if let RowOrigin::Stored(ingest) = origin
                            && (ingest.is_none() || ingest.as_deref() != own)
                        {
                            self.counts.add_repeat(ingest.as_deref());
                        }
                    }
                    Comparison::Different(message) => {
                        self.reject::<T::Row>(*number, T::Row::COIN, message, true);
                    }
                }
            }
        }
        table.arrange(names, &mut new);
        table.arrange(names, &mut replacing);
        Ok((new, replacing))
    }

    /// Stores new rows of a partition.
    ///
    /// Rows of a finished day go to segments, other rows to the journal. The rows must be in the order of a segment.
    /// Returns false if `goes_on` stopped the import.
    fn store<T: ColumnTable>(
        &mut self,
        table: &T,
        partition: Partition,
        rows: Vec<usize>,
        open: RowsOf<T::Row>,
    ) -> Result<bool, ArchiveError> {
        if partition.day.end() > self.scope.until {
            self.note(table, partition, &rows, false);
            let rows = rows.iter().filter_map(|row| table.row(*row));
            open(&mut self.open).extend(rows);
            return Ok(true);
        }
        self.segments(table, partition, rows, false)
    }

    /// Stores new rows of a partition in segments.
    ///
    /// Returns false if `goes_on` stopped the import.
    fn segments<T: ColumnTable>(
        &mut self,
        table: &T,
        partition: Partition,
        rows: Vec<usize>,
        replaces: bool,
    ) -> Result<bool, ArchiveError> {
        self.note(table, partition, &rows, replaces);
        let exchange = |row: &usize| table.exchange(*row).unwrap_or_default().to_owned();
        for rows in divide(rows, exchange) {
            if !self.goes_on() {
                return Ok(false);
            }
            self.encode(table, partition, &rows, replaces)?;
        }
        Ok(true)
    }

    /// Adds new rows to the outcome and the statistics.
    fn note<T: ColumnTable>(
        &mut self,
        table: &T,
        partition: Partition,
        rows: &[usize],
        replaces: bool,
    ) {
        let [of_replacing, of_others] = &mut self.exchanges;
        let (stats, exchanges) = if replaces {
            (&mut self.replacing, of_replacing)
        } else {
            (&mut self.stats, of_others)
        };
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        self.outcome.new += count;
        self.counts.add_new(T::Row::TABLE, count, ends(table, rows));
        let known_at = |row: &usize| table.timestamp(*row).map(|at| at.on(partition.interval));
        if let Some(newest) = rows.iter().filter_map(known_at).max() {
            stats.take_newest(newest);
        }
        if T::Row::TABLE == OrderRow::TABLE {
            let exchange = |row: &usize| table.exchange(*row);
            for rows in rows.chunk_by(|one, other| exchange(one) == exchange(other)) {
                if let Some(name) = rows.first().and_then(exchange)
                    && !exchanges.contains(name)
                {
                    exchanges.insert(name.to_owned());
                }
            }
        }
        if !T::Row::HAS_PRICES {
            return;
        }
        for rows in rows.chunk_by(|one, other| table.coin(*one) == table.coin(*other)) {
            let coin = rows.first().and_then(|row| table.coin(*row));
            let received = |row: &usize| Some(known_at(row)?.max(table.received_at(*row)?));
            let first = rows.iter().filter_map(received).min();
            let last = rows.iter().filter_map(known_at).max();
            if let (Some(coin), Some(first), Some(last)) = (coin, first, last) {
                stats.take_coin(coin, first, last);
            }
        }
    }

    /// Encodes a segment; once [`TOGETHER`] segments are encoded, starts to write them.
    fn encode<T: ColumnTable>(
        &mut self,
        table: &T,
        partition: Partition,
        rows: &[usize],
        replaces: bool,
    ) -> Result<(), ArchiveError> {
        let groups = rows.chunks(T::Row::GROUP);
        let groups = groups.map(|rows| table.arrays(partition, rows));
        let bytes = parquet::encode::<T::Row>(groups).map_err(|fault| {
            let folder = partition.folder::<T::Row>();
            of_fault(&self.writer.store.path().join(folder), fault)
        })?;
        let ends = ends(table, rows);
        let entry = SegmentEntry {
            ingest: self.scope.ingest.map(|ingest| ingest.id.clone()),
            ..SegmentEntry::holding::<T::Row>(rows.len(), ends, partition, &bytes)
        };
        let venues = venues(table, rows);
        self.encoded.push(EncodedSegment {
            pending: PendingSegment {
                entry,
                venues,
                replaces,
            },
            bytes,
        });
        if self.encoded.len() >= TOGETHER {
            self.write()?;
        }
        Ok(())
    }

    /// Lists the encoded segments as pending and starts to write them.
    fn write(&mut self) -> Result<(), ArchiveError> {
        let encoded = mem::take(&mut self.encoded);
        if encoded.is_empty() {
            return Ok(());
        }
        let base = self.writer.store.path().to_owned();
        let now = wall_clock();
        self.writer.change(|journal| {
            let transaction = journal.transaction()?;
            for one in &encoded {
                manifest::intend(&transaction, &one.pending.entry, now)?;
            }
            transaction.commit()
        })?;
        let mut files = Vec::with_capacity(encoded.len());
        for EncodedSegment { pending, bytes } in encoded {
            let relative = PathBuf::from(&pending.entry.path);
            self.pending.push(pending);
            (self.done)(SegmentStep::Intended, &base.join(&relative));
            files.push((relative, bytes));
        }
        let files: Vec<(&Path, &[u8])> = files
            .iter()
            .map(|(relative, bytes)| (relative.as_path(), bytes.as_slice()))
            .collect();
        self.writes.write(&base, &files, self.done)
    }

    /// Commits the processed rows.
    ///
    /// Also commits the part of the sessions up to the end of the last processed day of orders.
    fn commit_lot(&mut self) -> Result<(), ArchiveError> {
        self.gathered = 0;
        let sessions: Vec<ImportedSession> = match self.orders_until {
            None => Vec::new(),
            Some(until) => {
                let begun = self.scope.sessions.iter();
                begun
                    .filter(|session| session.start < until)
                    .map(|session| ImportedSession {
                        end: session.end.min(until),
                        ..session.clone()
                    })
                    .collect()
            }
        };
        self.commit(&sessions)
    }

    fn commit(&mut self, sessions: &[ImportedSession]) -> Result<(), ArchiveError> {
        self.write()?;
        self.writes.finish(self.done)?;
        let (pending, open, stats, counts) = (&self.pending, &self.open, &self.stats, &self.counts);
        let (replacing, [replaced, others]) = (&self.replacing, &self.exchanges);
        let ingest = self.scope.ingest;
        let is_counted = ingest.is_some() && !counts.is_empty();
        if is_counted || !(pending.is_empty() && open.is_empty() && sessions.is_empty()) {
            self.writer.change(|journal| {
                let transaction = journal.transaction()?;
                let at = file_versions::next_instant(&transaction)?;
                for one in pending {
                    let path = &one.entry.path;
                    manifest::mark(&transaction, path, SegmentState::Active, None)?;
                    manifest::list_venues(&transaction, path, &one.venues)?;
                    stats::skip_ids(&transaction, &one.entry.holds, one.entry.rows)?;
                    let generation = Generation {
                        since: one.replaces.then_some(at),
                        superseded_at: None,
                    };
                    file_versions::set(&transaction, path, generation)?;
                }
                let id = ingest.map(|ingest| ingest.id.as_str());
                table::insert_of(&transaction, &open.orders, id)?;
                table::insert_of(&transaction, &open.bars, id)?;
                table::insert_of(&transaction, &open.open_interest, id)?;
                table::insert_of(&transaction, &open.positions, id)?;
                table::insert_of(&transaction, &open.totals, id)?;
                stats.write(&transaction)?;
                replacing.write_known_from(&transaction, at)?;
                for session in sessions {
                    let exchange = &session.exchange;
                    let is_replaced = replaced.contains(exchange) && !others.contains(exchange);
                    let mut session = session.clone();
                    if is_replaced {
                        session.known_at = session.known_at.max(at);
                    }
                    sessions::add_imported(&transaction, &session, id)?;
                }
                if let Some(ingest) = ingest {
                    counts.write(&transaction, ingest, wall_clock())?;
                }
                transaction.commit()
            })?;
        }
        if self.pending.iter().any(|one| one.replaces) {
            self.writer.copy_versions();
        }
        self.open = Batch::default();
        self.stats = StatsUpdate::default();
        self.replacing = StatsUpdate::default();
        self.counts = IngestCounts::default();
        for PendingSegment { entry, .. } in mem::take(&mut self.pending) {
            let path = self.writer.store.path().join(&entry.path);
            (self.done)(SegmentStep::Committed, &path);
            self.outcome.segments.push(path);
        }
        self.committed = self.outcome.clone();
        Ok(())
    }
}

/// Times of the first and the last row.
fn ends<T: ColumnTable>(table: &T, rows: &[usize]) -> (Millis, Millis) {
    let times = || rows.iter().filter_map(|row| table.timestamp(*row));
    times().min().zip(times().max()).unwrap_or_default()
}

/// Row count and time of the last row, per exchange.
fn venues<T: ColumnTable>(table: &T, rows: &[usize]) -> Venues {
    let mut venues = Venues::new();
    let exchange = |row: &usize| table.exchange(*row);
    for rows in rows.chunk_by(|one, other| exchange(one) == exchange(other)) {
        let Some(exchange) = rows.first().and_then(exchange) else {
            continue;
        };
        let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let last = rows.iter().filter_map(|row| table.timestamp(*row)).max();
        let last = last.unwrap_or_default();
        match venues.get_mut(exchange) {
            Some(venue) => *venue = (venue.0 + count, venue.1.max(last)),
            None => drop(venues.insert(exchange.to_owned(), (count, last))),
        }
    }
    venues
}
