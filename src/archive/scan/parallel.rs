//! Parallel scan of orders for aggregates, reading only the columns they need.
//!
//! The journal is split into shares: ranges of row ids or of time. Each thread has a separate connection and takes one
//! share after another. All threads must read the same orders. A thread does not take part if a compaction changed the
//! journal after the first thread's snapshot. Rows that were appended after the first thread's snapshot are excluded by
//! their row id.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, OptionalExtension, ToSql};

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, SegmentEntry, SegmentState};
use crate::archive::catalog::stats::{ArchiveSummary, known};
use crate::archive::filter::{Filter, MemoryBudget};
use crate::archive::integrity::row_check;
use crate::archive::integrity::row_check::OrderIds;
use crate::archive::integrity::segment_check;
use crate::archive::integrity::segment_check::SoundFile;
use crate::archive::journal::database;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::scan::segment_scan;
use crate::archive::scan::table_scan;
use crate::archive::segment::parquet;
use crate::archive::segment::projection;
use crate::archive::store::store::Store;
use crate::model::{FiledColumns, FiledOrders, Listings, Millis, OrderBrief, sort_small};

/// Maximum number of threads; more threads would only wait for the disk.
const THREADS: usize = 8;
/// Number of shares of the journal per thread.
///
/// With many small shares, all threads finish at nearly the same time.
const SHARES: i64 = 8;
/// Maximum number of pieces into which the verification of row checksums is split.
const PIECES: i64 = 4096;
/// Minimum number of orders per share.
const LEAST: i64 = 16_384;
/// Number of orders that are sampled to estimate the share of matching orders.
const PROBES: i64 = 64;
/// Maximum number of attempts of a read that a compaction disturbs.
const ATTEMPTS: u32 = 4;

/// An aggregate of orders; see `Archive::fold_orders`.
pub trait OrderFold: Send + 'static {
    /// Adds an order.
    fn take(&mut self, order: OrderBrief<'_>);
    /// Columns that the fold needs to process orders of segments column by column.
    ///
    /// `None` by default. Columns are several times as fast as single orders. If `None`, the fold gets each order
    /// through [`take`](OrderFold::take).
    fn columns(&self) -> Option<FiledColumns> {
        None
    }
    /// Adds orders of a segment as columns; called only if [`columns`](OrderFold::columns) returns some.
    fn take_columns(&mut self, orders: &FiledOrders<'_>) {
        let _ = orders;
    }
    /// Called after the last order, on the same thread.
    fn end(&mut self) {}
}

/// A part of the journal that one thread reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanShare {
    /// A range of row ids, first and last, both inclusive; read in table order.
    Numbers(i64, i64),
    /// A time range, with exclusive end; read through the time index.
    Instants(Millis, Millis),
}

/// The data that a scan reads, according to one snapshot of the journal.
#[derive(Debug)]
struct ScanPlan {
    known: ArchiveSummary,
    /// Days that have segments, each with its segments.
    filed: Vec<(Day, Vec<SegmentEntry>)>,
    /// Quarantined segments of those days.
    quarantined: Vec<SegmentEntry>,
    /// Late orders: journal rows of those days, which arrived after compaction or are duplicates.
    late: Vec<OrderRow>,
}

/// Positions in `late` of the late orders, by dedupe key.
type LateOrderIndex<'a> = HashMap<&'a str, Vec<usize>>;

fn span(filter: &Filter) -> (Millis, Millis) {
    (
        filter.start.unwrap_or(Millis(i64::MIN)),
        filter.end.unwrap_or(Millis(i64::MAX)),
    )
}

/// Converts an optional name to a statement parameter.
fn name(name: Option<&String>) -> Option<&dyn ToSql> {
    name.map(|name| name as &dyn ToSql)
}

/// Days that overlap the time range of `filter` and have segments, each with its segments.
fn files(journal: &Connection, filter: &Filter) -> rusqlite::Result<Vec<(Day, Vec<SegmentEntry>)>> {
    let (start, end) = span(filter);
    let days = manifest::days(journal, OrderRow::TABLE)?.into_iter();
    days.filter(|day| day.end() > start && day.start() < end)
        .map(|day| {
            let state = SegmentState::Active;
            let parts = manifest::of_day_at(journal, OrderRow::TABLE, day, state, filter.as_of)?;
            Ok((day, parts))
        })
        .collect()
}

impl ScanPlan {
    /// The plan without its late orders.
    fn of(journal: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let known = known(journal)?;
        let filed = files(journal, filter)?;
        let mut quarantined = Vec::new();
        for (day, _) in &filed {
            let state = SegmentState::Quarantined;
            let parts = manifest::of_day_at(journal, OrderRow::TABLE, *day, state, filter.as_of)?;
            quarantined.extend(parts);
        }
        Ok(Self {
            known,
            filed,
            quarantined,
            late: Vec::new(),
        })
    }

    /// Reads the late orders that arrived by the state of the plan; returns whether every order of the plan was still in its place.
    fn read_late(&mut self, journal: &Connection, filter: &Filter) -> rusqlite::Result<bool> {
        let (start, end) = span(filter);
        let mut room = MemoryBudget::unlimited();
        let days: Vec<Day> = self.filed.iter().map(|(day, _)| *day).collect();
        for day in days {
            let range = (start.max(day.start()), end.min(day.end()));
            let (mut behind, mut is_read) = (None, false);
            while !is_read {
                let batch = self.in_transaction(journal, |view| {
                    let place = (behind, self.known.end.orders);
                    database::rows_within::<OrderRow>(view, range, filter, place, &mut room)
                })?;
                let Some((late, next)) = batch else {
                    return Ok(false);
                };
                self.late.extend(late);
                (behind, is_read) = (next, next.is_none());
            }
        }
        Ok(true)
    }

    /// Calls `read` in a transaction of its own; `None` if an order of this plan may have left the journal.
    fn in_transaction<T>(
        &self,
        journal: &Connection,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        in_transaction(journal, |view| {
            let later = known(view)?;
            let is_like =
                later.series == self.known.series && later.removals == self.known.removals;
            is_like.then(|| read(view)).transpose()
        })
    }

    /// The first part of a share, of at most [`BATCH`](database::BATCH) orders unless more have the same time, and the rest.
    fn first_part(
        journal: &Connection,
        share: ScanShare,
    ) -> rusqlite::Result<(ScanShare, Option<ScanShare>)> {
        match share {
            ScanShare::Numbers(first, last) => {
                let end = first
                    .saturating_add(i64::from(database::BATCH) - 1)
                    .min(last);
                let rest = (end < last).then(|| ScanShare::Numbers(end + 1, last));
                Ok((ScanShare::Numbers(first, end), rest))
            }
            ScanShare::Instants(first, end) => {
                let cut: Option<i64> = journal
                    .prepare_cached(&format!(
                        "SELECT timestamp FROM orders INDEXED BY orders_by_time
                         WHERE timestamp >= ?1 AND timestamp < ?2
                         ORDER BY timestamp LIMIT 1 OFFSET {}",
                        database::BATCH
                    ))?
                    .query_row([first.0, end.0], |line| line.get(0))
                    .optional()?;
                let cut = cut.map(|at| Millis(at).max(first.on(1)));
                Ok(match cut.filter(|cut| *cut < end) {
                    Some(cut) => (
                        ScanShare::Instants(first, cut),
                        Some(ScanShare::Instants(cut, end)),
                    ),
                    None => (share, None),
                })
            }
        }
    }

    /// Segments that overlap the time range of the filter.
    fn parts(&self, filter: &Filter) -> Vec<&SegmentEntry> {
        let (start, end) = span(filter);
        let days = self.filed.iter();
        days.flat_map(|(day, parts)| {
            let (start, end) = (start.max(day.start()), end.min(day.end()));
            let parts = parts.iter();
            parts.filter(move |part| part.last >= start && part.first < end)
        })
        .collect()
    }

    /// Whether there are late orders of the segment's day.
    fn is_late_on(&self, part: &SegmentEntry) -> bool {
        let day = part.partition.day;
        let mut late = self.late.iter();
        late.any(|row| Day::of(row.order.timestamp) == day)
    }

    fn late(&self) -> LateOrderIndex<'_> {
        let mut late = LateOrderIndex::new();
        for (place, row) in self.late.iter().enumerate() {
            late.entry(&row.dedupe_key).or_default().push(place);
        }
        late
    }

    /// Passes the matching late orders to `sink`, except those that a segment contains (`repeated`).
    fn show_late(
        &self,
        filter: &Filter,
        repeated: &HashSet<usize>,
        sink: &mut dyn FnMut(OrderBrief<'_>),
    ) {
        for (place, row) in self.late.iter().enumerate() {
            if !repeated.contains(&place) && filter.admits(row) {
                sink(OrderBrief::from(row));
            }
        }
    }

    /// Passes the matching orders of a share to `sink`, except orders of days that have segments.
    fn show(
        &self,
        journal: &Connection,
        share: ScanShare,
        filter: &Filter,
        sink: &mut dyn FnMut(OrderBrief<'_>),
    ) -> rusqlite::Result<()> {
        self.query(
            share,
            filter,
            &projection::columns(),
            |query, parameters| {
                let mut statement = journal.prepare_cached(query)?;
                projection::show(&mut statement, parameters, &mut |brief| {
                    let day = Day::of(brief.timestamp);
                    if !self.filed.iter().any(|(filed, _)| *filed == day) {
                        sink(brief);
                    }
                })
            },
        )
    }

    /// As [`ScanPlan::show`], but faster for large shares.
    ///
    /// `SQLite` calls the fold as an aggregate function, which is faster than fetching each row.
    fn show_many<G: OrderFold>(
        &self,
        journal: &Connection,
        share: ScanShare,
        filter: &Filter,
        gather: G,
    ) -> rusqlite::Result<G> {
        let slot = SharedFold::of(gather);
        let filed = self.filed.iter().map(|(day, _)| *day).collect();
        let gathering = FoldTask {
            slot: Arc::clone(&slot),
            filed,
        };
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
        journal.create_aggregate_function(GATHER, projection::COUNT, flags, gathering)?;
        let called = format!("{GATHER}({})", projection::columns());
        let outcome = self.query(share, filter, &called, |query, parameters| {
            journal.query_row(query, parameters, |_| Ok(()))
        });
        journal.remove_function(GATHER, projection::COUNT)?;
        let mut slot = slot.lock();
        // The error that the fold stored is more specific than the error of the SQL statement.
        slot.fault.take().map_or(outcome, Err)?;
        slot.gather.take().ok_or(rusqlite::Error::InvalidQuery)
    }

    /// Builds the query for the matching orders of a share, and passes it to `run`.
    fn query<T>(
        &self,
        share: ScanShare,
        filter: &Filter,
        columns: &str,
        run: impl FnOnce(&str, &[&dyn ToSql]) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let (start, end) = span(filter);
        let (hint, numbers, (start, end)) = match share {
            ScanShare::Numbers(first, last) => ("NOT INDEXED", (first, last), (start, end)),
            ScanShare::Instants(first, end) => (
                "INDEXED BY orders_by_time",
                (i64::MIN, self.known.end.orders),
                (first, end),
            ),
        };
        let known_by = filter.as_of.map(|as_of| as_of.0);
        let mut query = format!("SELECT {columns} FROM orders {hint} WHERE id >= ?1 AND id <= ?2");
        let mut parameters: Vec<&dyn ToSql> = vec![&numbers.0, &numbers.1];
        // Conditions that the filter does not need are left out, because `SQLite` evaluates each condition for every
        // order.
        for (condition, value) in [
            (
                "timestamp >=",
                (start.0 > i64::MIN).then_some(&start.0 as &dyn ToSql),
            ),
            ("timestamp <", (end.0 < i64::MAX).then_some(&end.0)),
            ("timestamp <=", known_by.as_ref().map(|at| at as &dyn ToSql)),
            (
                "received_at <=",
                known_by.as_ref().map(|at| at as &dyn ToSql),
            ),
            ("exchange =", name(filter.exchange.as_ref())),
            ("symbol =", name(filter.symbol.as_ref())),
            ("coin =", name(filter.coin.as_ref())),
        ] {
            if let Some(value) = value {
                parameters.push(value);
                query.extend([" AND ", condition, " ?"]);
                query.push_str(&parameters.len().to_string());
            }
        }
        run(&query, &parameters)
    }
}

/// Name of the SQL aggregate function that calls a fold.
const GATHER: &str = "liqdata_gather";

/// The fold of a share before and after the query, and the error of the query.
struct FoldSlot<G> {
    gather: Option<G>,
    fault: Option<rusqlite::Error>,
}

/// A [`FoldSlot`] shared by the aggregate function and its caller.
struct SharedFold<G>(Mutex<FoldSlot<G>>);

impl<G> SharedFold<G> {
    fn of(gather: G) -> Arc<Self> {
        Arc::new(Self(Mutex::new(FoldSlot {
            gather: Some(gather),
            fault: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, FoldSlot<G>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The aggregate function [`GATHER`].
struct FoldTask<G> {
    slot: Arc<SharedFold<G>>,
    /// Days that have segments.
    filed: Vec<Day>,
}

/// State of the aggregate function during a query: the fold and the names read so far.
///
/// It is discarded on a panic.
type FoldState<G> = AssertUnwindSafe<(Option<G>, Listings)>;

impl<G: OrderFold> Aggregate<FoldState<G>, bool> for FoldTask<G> {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<FoldState<G>> {
        let gather = self.slot.lock().gather.take();
        Ok(AssertUnwindSafe((gather, Listings::default())))
    }

    fn step(&self, row: &mut Context<'_>, in_hand: &mut FoldState<G>) -> rusqlite::Result<()> {
        let (gather, names) = &mut in_hand.0;
        match projection::brief(|column| Ok(row.get_raw(column)), names) {
            Ok(brief) => {
                let day = Day::of(brief.timestamp);
                if let Some(gather) = gather
                    && !self.filed.contains(&day)
                {
                    gather.take(brief);
                }
                Ok(())
            }
            Err(fault) => {
                let message = fault.to_string();
                self.slot.lock().fault = Some(fault);
                Err(rusqlite::Error::UserFunctionError(message.into()))
            }
        }
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        in_hand: Option<FoldState<G>>,
    ) -> rusqlite::Result<bool> {
        // If the query had no rows, there is no state and the fold is still in the slot.
        if let Some(AssertUnwindSafe((gather, _))) = in_hand {
            self.slot.lock().gather = gather;
        }
        Ok(true)
    }
}

/// Splits the part of the journal that may match into shares for a number of threads.
fn shares(
    journal: &Connection,
    end: i64,
    filter: &Filter,
    threads: usize,
) -> rusqlite::Result<Vec<ScanShare>> {
    let number = |query: &str| -> rusqlite::Result<Option<i64>> {
        journal
            .prepare_cached(query)?
            .query_row([], |row| row.get(0))
    };
    let (Some(first), Some(oldest), Some(newest)) = (
        number("SELECT min(id) FROM orders")?,
        number("SELECT min(timestamp) FROM orders")?,
        number("SELECT max(timestamp) FROM orders")?,
    ) else {
        return Ok(Vec::new());
    };
    let most = i64::try_from(threads).unwrap_or(1).saturating_mul(SHARES);
    let (start, stop) = span(filter);
    // If many rows match, reading in table order is several times as fast as using the index.
    if wanted(journal, first..end.saturating_add(1), start..stop)? * 4 > PROBES {
        let len = (end.saturating_sub(first) / most + 1).max(LEAST);
        let firsts = (0..most).map_while(|share| first.checked_add(share.checked_mul(len)?));
        return Ok(firsts
            .take_while(|first| *first <= end)
            .map(|first| ScanShare::Numbers(first, first.saturating_add(len - 1).min(end)))
            .collect());
    }
    let (start, stop) = (start.0.max(oldest), stop.0.min(newest.saturating_add(1)));
    let len = (stop.saturating_sub(start) / most + 1).max(1);
    let starts = (0..most).map(|share| start + share * len);
    Ok(starts
        .take_while(|start| *start < stop)
        .map(|start| ScanShare::Instants(Millis(start), Millis((start + len).min(stop))))
        .collect())
}

/// Samples [`PROBES`] evenly spaced orders and counts those in a time range.
fn wanted(
    journal: &Connection,
    numbers: Range<i64>,
    times: Range<Millis>,
) -> rusqlite::Result<i64> {
    let mut statement = journal
        .prepare_cached("SELECT timestamp FROM orders WHERE id >= ?1 ORDER BY id LIMIT 1")?;
    let mut wanted = 0;
    for probe in 0..PROBES {
        let number = numbers.start + (numbers.end - numbers.start) / PROBES * probe;
        let at: Option<i64> = statement.query_row([number], |row| row.get(0)).optional()?;
        wanted += i64::from(at.is_some_and(|at| times.contains(&Millis(at))));
    }
    Ok(wanted)
}

/// Splits a range of row ids into pieces that threads verify independently.
///
/// The number of pieces is limited, even if the ids have large gaps.
fn pieces((before, last): OrderIds) -> Vec<OrderIds> {
    let length = (last.saturating_sub(before) / PIECES).max(LEAST);
    let mut pieces = Vec::new();
    let mut start = before;
    while start < last {
        let end = start.saturating_add(length).min(last);
        pieces.push((start, end));
        start = end;
    }
    pieces
}

/// Results of the shares that one thread processed, each with the number of the share.
type ShareResults<G> = Vec<(usize, G)>;

/// Takes the next element to process, with its number.
fn taken<'a, T>(next: &AtomicUsize, all: &'a [T]) -> (usize, Option<&'a T>) {
    let number = next.fetch_add(1, Ordering::Relaxed);
    (number, all.get(number))
}

/// Runs `first` on this thread and `other` on `more` other threads.
///
/// Returns the results of all threads, sorted by share number.
fn side_by_side<G: Send, E: Send>(
    more: usize,
    first: impl FnOnce() -> Result<ShareResults<G>, E>,
    other: impl Fn() -> Result<ShareResults<G>, E> + Sync,
) -> Result<Vec<G>, E> {
    let mut made = thread::scope(|scope| {
        // If a thread cannot be started, the other threads process its shares.
        let others: Vec<_> = (0..more)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, &other).ok())
            .collect();
        let mut made = first();
        for other in others {
            let more = other.join().unwrap_or_else(|panic| resume_unwind(panic));
            made = made.and_then(|mut made| {
                made.extend(more?);
                Ok(made)
            });
        }
        made
    })?;
    sort_small(&mut made, |(one, _), (other, _)| one.cmp(other));
    Ok(made.into_iter().map(|(_, made)| made).collect())
}

/// Calls `read` in a transaction of its own, or in the one that has begun.
fn in_transaction<T>(
    journal: &Connection,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    if !journal.is_autocommit() {
        return read(journal);
    }
    let transaction = journal.unchecked_transaction()?;
    let made = read(&transaction)?;
    transaction.finish()?;
    Ok(made)
}

/// Calls `attempt` until it finds every order in its place.
///
/// An attempt makes a transaction for each batch. It fails if orders leave the journal in between, as in a compaction.
/// The last attempt has one transaction for everything.
fn attempts<T>(
    store: &Store,
    mut attempt: impl FnMut(&Connection) -> rusqlite::Result<Option<T>>,
) -> Result<T, ArchiveError> {
    for _ in 1..ATTEMPTS {
        if let Some(made) = store.read(&mut attempt)? {
            return Ok(made);
        }
    }
    let made = store.ask(attempt)?;
    made.ok_or_else(|| store.of_journal(rusqlite::Error::InvalidQuery))
}

/// Passes the orders of the journal to folds; `None` if orders of the plan may have left it.
fn fold_journal<G: OrderFold>(
    store: &Store,
    journal: &Connection,
    filter: &Filter,
    new: &(impl Fn() -> G + Sync),
    threads: usize,
) -> rusqlite::Result<Option<(ScanPlan, Vec<G>)>> {
    // Other connections would not see the snapshot of a transaction that has begun.
    let threads = if journal.is_autocommit() { threads } else { 1 };
    let (mut plan, unchecked, shares) = in_transaction(journal, |view| {
        let plan = ScanPlan::of(view, filter)?;
        let shares = shares(view, plan.known.end.orders, filter, threads)?;
        Ok((plan, row_check::unchecked(store, view)?, shares))
    })?;
    if !plan.read_late(journal, filter)? {
        return Ok(None);
    }
    let plan = plan;
    let pieces = pieces(unchecked);
    let (found, has_moved) = (AtomicI64::new(0), AtomicBool::new(false));
    let (next_piece, next) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let read = |journal: &Connection| -> rusqlite::Result<ShareResults<G>> {
        let mut made = Vec::new();
        let moved = || {
            has_moved.store(true, Ordering::Relaxed);
            Ok(Vec::new())
        };
        while let (_, Some(piece)) = taken(&next_piece, &pieces) {
            let check = |view: &Connection| row_check::refuse_changed(view, *piece);
            match plan.in_transaction(journal, check)? {
                Some(more) => found.fetch_add(more, Ordering::Relaxed),
                None => return moved(),
            };
        }
        while let (number, Some(share)) = taken(&next, &shares) {
            let (mut one, mut left) = (new(), Some(*share));
            while let Some(share) = left {
                if has_moved.load(Ordering::Relaxed) {
                    return Ok(Vec::new());
                }
                let part = plan.in_transaction(journal, |view| {
                    let (part, rest) = ScanPlan::first_part(view, share)?;
                    Ok((plan.show_many(view, part, filter, one)?, rest))
                })?;
                match part {
                    Some((fold, rest)) => (one, left) = (fold, rest),
                    None => return moved(),
                }
            }
            one.end();
            made.push((number, one));
        }
        Ok(made)
    };
    // A thread that cannot open a connection processes no shares; the other threads process them.
    let other = || {
        let path = store.folder.join(database::FILE);
        database::open_to_read(&path)
            .map_or_else(|_| Ok(Vec::new()), |journal| read(&journal.connection))
    };
    let most = shares.len().max(pieces.len());
    let more = threads.min(most).saturating_sub(1);
    // If a row is damaged, this returns an error and discards the results of all threads.
    let gathered = side_by_side(more, || read(journal), other)?;
    if has_moved.into_inner() {
        return Ok(None);
    }
    let checked = plan.in_transaction(journal, |view| {
        row_check::finish(store, view, unchecked, found.into_inner())
    })?;
    Ok(checked.map(|()| (plan, gathered)))
}

/// Implements `Archive::fold_orders`.
pub(crate) fn fold_orders<G: OrderFold>(
    store: &Store,
    filter: &Filter,
    new: impl Fn() -> G + Sync,
) -> Result<(Vec<G>, ArchiveSummary), ArchiveError> {
    filter.check()?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(THREADS);
    let (plan, mut gathered) = attempts(store, |journal| {
        fold_journal(store, journal, filter, &new, threads)
    })?;

    let (start, end) = span(filter);
    table_scan::warn_of_quarantined(store, &plan.quarantined, start, end);
    // Segments never change, so they can be read after the end of the journal transaction.
    let parts = plan.parts(filter);
    let late = plan.late();
    let next = AtomicUsize::new(0);
    let read = || -> Result<ShareResults<(G, Vec<usize>)>, ArchiveError> {
        let mut made = Vec::new();
        while let (number, Some(part)) = taken(&next, &parts) {
            let mut one = new();
            let mut repeated = Vec::new();
            // If there are late orders, single orders with dedupe keys are needed to detect duplicates.
            let columns = one.columns().filter(|_| !plan.is_late_on(part));
            let sound = if let Some(columns) = columns {
                let mut show = |orders: &FiledOrders<'_>| one.take_columns(orders);
                show_columns(store, part, filter, &columns, &mut show)?
            } else {
                let mut show = |brief: OrderBrief<'_>| one.take(brief);
                show_part(
                    store,
                    part,
                    filter,
                    (&plan, &late),
                    &mut repeated,
                    &mut show,
                )?
            };
            if !sound {
                // The orders of a damaged segment are not counted, not even those read before the fault.
                (one, repeated) = (new(), Vec::new());
            }
            one.end();
            made.push((number, (one, repeated)));
        }
        Ok(made)
    };
    let more = threads.min(parts.len()).saturating_sub(1);
    let mut repeated = HashSet::new();
    for (one, places) in side_by_side(more, read, read)? {
        gathered.push(one);
        repeated.extend(places);
    }
    if !plan.late.is_empty() {
        let mut one = new();
        plan.show_late(filter, &repeated, &mut |brief| one.take(brief));
        one.end();
        gathered.push(one);
    }
    Ok((gathered, plan.known))
}

/// Implements `CatalogView::compacted_until`.
pub(crate) fn compacted_until(store: &Store) -> Result<Option<Millis>, ArchiveError> {
    store.ask(|journal| {
        let days = manifest::days(journal, OrderRow::TABLE)?.into_iter();
        Ok(days.map(Day::end).max())
    })
}

/// Passes the orders of the journal to `sink`; `None` if orders of the plan may have left it.
fn visit_journal(
    store: &Store,
    journal: &Connection,
    filter: &Filter,
    sink: &mut dyn FnMut(OrderBrief<'_>),
) -> rusqlite::Result<Option<ScanPlan>> {
    let (mut plan, unchecked, shares) = in_transaction(journal, |view| {
        let plan = ScanPlan::of(view, filter)?;
        let shares = shares(view, plan.known.end.orders, filter, 1)?;
        Ok((plan, row_check::unchecked(store, view)?, shares))
    })?;
    if !plan.read_late(journal, filter)? {
        return Ok(None);
    }
    let mut found = 0;
    for piece in pieces(unchecked) {
        let check = |view: &Connection| row_check::refuse_changed(view, piece);
        match plan.in_transaction(journal, check)? {
            Some(more) => found += more,
            None => return Ok(None),
        }
    }
    let finish = |view: &Connection| row_check::finish(store, view, unchecked, found);
    if plan.in_transaction(journal, finish)?.is_none() {
        return Ok(None);
    }
    for share in shares {
        let mut left = Some(share);
        while let Some(share) = left {
            let part = plan.in_transaction(journal, |view| {
                let (part, rest) = ScanPlan::first_part(view, share)?;
                plan.show(view, part, filter, sink)?;
                Ok(rest)
            })?;
            match part {
                Some(rest) => left = rest,
                None => return Ok(None),
            }
        }
    }
    Ok(Some(plan))
}

/// Implements `Archive::visit_orders`.
pub(crate) fn visit_orders<S>(
    store: &Store,
    filter: &Filter,
    new: impl Fn() -> S,
    mut sink: impl FnMut(&mut S, OrderBrief<'_>),
) -> Result<(S, ArchiveSummary), ArchiveError> {
    filter.check()?;
    let (plan, mut state) = attempts(store, |journal| {
        let mut state = new();
        let plan = visit_journal(store, journal, filter, &mut |brief| sink(&mut state, brief))?;
        Ok(plan.map(|plan| (plan, state)))
    })?;
    let sink = &mut |brief: OrderBrief<'_>| sink(&mut state, brief);
    let (start, end) = span(filter);
    table_scan::warn_of_quarantined(store, &plan.quarantined, start, end);
    let late = plan.late();
    let mut repeated = Vec::new();
    for part in plan.parts(filter) {
        show_part(store, part, filter, (&plan, &late), &mut repeated, sink)?;
    }
    plan.show_late(filter, &repeated.into_iter().collect(), sink);
    Ok((state, plan.known))
}

/// Passes the matching orders of a segment to `sink`.
///
/// Adds the positions of late orders that the segment contains to `repeated`. Returns whether the segment is sound.
fn show_part(
    store: &Store,
    part: &SegmentEntry,
    filter: &Filter,
    (plan, late): (&ScanPlan, &LateOrderIndex<'_>),
    repeated: &mut Vec<usize>,
    sink: &mut dyn FnMut(OrderBrief<'_>),
) -> Result<bool, ArchiveError> {
    let day = part.partition.day;
    let is_late = |row: &OrderRow| Day::of(row.order.timestamp) == day;
    let keyed = plan.is_late_on(part);
    let mut show = |brief: OrderBrief<'_>, key: &str| {
        if keyed {
            let same = |place: &&usize| {
                plan.late
                    .get(**place)
                    .is_some_and(|row| is_late(row) && row.order.exchange == brief.exchange)
            };
            repeated.extend(late.get(key).into_iter().flatten().filter(same));
        }
        if filter.admits_brief(&brief) {
            sink(brief);
        }
    };
    let fault = match segment_check::sound_bytes(store, part)? {
        Ok(bytes) => parquet::briefs(bytes, filter, keyed, &mut show)
            .err()
            .map(|fault| parquet::unreadable(&fault)),
        Err(reason) => Some(reason),
    };
    if let Some(reason) = &fault {
        store.warn(part, reason);
    }
    Ok(fault.is_none())
}

/// Passes the matching orders of a segment to `sink` as columns.
///
/// Returns whether the segment is sound.
fn show_columns(
    store: &Store,
    part: &SegmentEntry,
    filter: &Filter,
    wanted: &FiledColumns,
    sink: &mut dyn FnMut(&FiledOrders<'_>),
) -> Result<bool, ArchiveError> {
    let fault = match segment_check::sound(store, part)? {
        Ok(SoundFile::File(file)) => segment_scan::show(file, filter, wanted, sink).err(),
        Ok(SoundFile::Bytes(bytes)) => segment_scan::show(bytes, filter, wanted, sink).err(),
        Err(reason) => {
            store.warn(part, &reason);
            return Ok(false);
        }
    };
    if let Some(fault) = &fault {
        store.warn(part, &parquet::unreadable(fault));
    }
    Ok(fault.is_none())
}
