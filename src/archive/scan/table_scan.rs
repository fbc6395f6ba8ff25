//! Reads a time range from the journal and the segments, each row once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::vec;

use rusqlite::Connection;

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, Partition, SegmentEntry, SegmentState};
use crate::archive::catalog::stats;
use crate::archive::filter::{Filter, MemoryBudget};
use crate::archive::integrity::segment_check;
use crate::archive::journal::database;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::scan::bar_resampling;
use crate::archive::scan::bar_resampling::ResampledBar;
use crate::archive::scan::finest_bars::finest;
use crate::archive::segment::parquet;
use crate::archive::store::damaged_part::DamagedPart;
use crate::archive::store::store::Store;
use crate::model::{GroupedOrder, Millis, PeriodLength};

/// Result of a read: the rows, and the damaged segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan<R> {
    /// The rows.
    pub rows: Vec<R>,
    /// Damaged segments; their rows are missing from `rows`.
    pub damaged: Vec<DamagedPart>,
}

impl<R> Default for Scan<R> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            damaged: Vec::new(),
        }
    }
}

/// Iterator over the matching orders, one UTC day at a time; see `Archive::order_days`.
#[derive(Debug)]
pub struct OrderDays<'a> {
    archive: &'a Store,
    filter: Filter,
    days: vec::IntoIter<Day>,
}

impl Iterator for OrderDays<'_> {
    type Item = Result<Scan<OrderRow>, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let day = self.days.next()?;
        Some(read_day(self.archive, day, &self.filter).map(|mut scan| {
            OrderRow::sort_for_file(&mut scan.rows);
            scan
        }))
    }
}

/// Implements `Archive::orders`.
pub(crate) fn orders(store: &Store, filter: &Filter) -> Result<Scan<OrderRow>, ArchiveError> {
    let mut all = Scan::default();
    for day in order_days(store, filter)? {
        let day = day?;
        all.rows.extend(day.rows);
        all.damaged.extend(day.damaged);
    }
    Ok(all)
}

/// Implements `Archive::order_days`.
pub(crate) fn order_days<'a>(
    store: &'a Store,
    filter: &Filter,
) -> Result<OrderDays<'a>, ArchiveError> {
    filter.check()?;
    Ok(OrderDays {
        archive: store,
        days: days_with_rows::<OrderRow>(store, filter)?.into_iter(),
        filter: filter.clone(),
    })
}

/// Implements `Archive::days_with_orders`.
pub(crate) fn days_with_orders(
    store: &Store,
    filter: &Filter,
) -> Result<Vec<Millis>, ArchiveError> {
    filter.check()?;
    let days = days_with_rows::<OrderRow>(store, filter)?;
    Ok(days.into_iter().map(Day::start).collect())
}

/// Implements `Archive::days_of_rows`.
pub(crate) fn days_of_rows(store: &Store, filter: &Filter) -> Result<Vec<Millis>, ArchiveError> {
    filter.check()?;
    let mut days = days_with_rows::<OrderRow>(store, filter)?;
    days.extend(days_with_rows::<BarRow>(store, filter)?);
    days.extend(days_with_rows::<OpenInterestRow>(store, filter)?);
    days.sort_unstable();
    days.dedup();
    Ok(days.into_iter().map(Day::start).collect())
}

/// Implements `Archive::day_of_orders`.
pub(crate) fn day_of_orders(
    store: &Store,
    at: Millis,
    filter: &Filter,
) -> Result<Vec<GroupedOrder>, ArchiveError> {
    Ok(in_order(read_day(store, Day::of(at), filter)?.rows))
}

/// Implements `Archive::part_of_orders`.
pub(crate) fn part_of_orders(
    store: &Store,
    at: Millis,
    filter: &Filter,
    most: usize,
) -> Result<Option<Vec<GroupedOrder>>, ArchiveError> {
    let mut room = MemoryBudget::of(most);
    let rows = day_within::<OrderRow>(store, Day::of(at), filter, &mut room)?;
    Ok((!room.is_exceeded()).then(|| in_order(rows.rows)))
}

/// Implements `Archive::observed_bars`.
pub(crate) fn observed_bars(store: &Store, filter: &Filter) -> Result<Scan<BarRow>, ArchiveError> {
    let mut scan = scan::<BarRow>(store, filter)?;
    scan.rows.sort_by(|a, b| {
        (&a.exchange, &a.symbol, a.interval, a.timestamp).cmp(&(
            &b.exchange,
            &b.symbol,
            b.interval,
            b.timestamp,
        ))
    });
    Ok(scan)
}

/// Implements `Archive::last_bar`.
pub(crate) fn last_bar(store: &Store, filter: &Filter) -> Result<Option<BarRow>, ArchiveError> {
    filter.check()?;
    for day in days_with_rows::<BarRow>(store, filter)?.into_iter().rev() {
        let bars = read_day::<BarRow>(store, day, filter)?.rows;
        if let Some(last) = bars.into_iter().max_by_key(BarRow::close_time) {
            return Ok(Some(last));
        }
    }
    Ok(None)
}

/// Implements `Archive::first_bar`.
pub(crate) fn first_bar(store: &Store, filter: &Filter) -> Result<Option<BarRow>, ArchiveError> {
    filter.check()?;
    for day in days_with_rows::<BarRow>(store, filter)? {
        let bars = read_day::<BarRow>(store, day, filter)?.rows;
        if let Some(first) = bars.into_iter().min_by_key(|bar| bar.timestamp) {
            return Ok(Some(first));
        }
    }
    Ok(None)
}

/// Implements `Archive::bars`.
pub(crate) fn bars(
    store: &Store,
    filter: &Filter,
    size: PeriodLength,
) -> Result<Scan<ResampledBar>, ArchiveError> {
    bar_resampling::check(size)?;
    filter.check()?;
    let whole = Filter {
        start: filter.start.map(|start| {
            let open = size.open(start);
            if open < start {
                size.close(start)
            } else {
                open
            }
        }),
        end: filter.end.map(|end| size.open(end)),
        ..filter.clone()
    };
    // No whole bar fits into the requested range.
    if whole.start.zip(whole.end).is_some_and(|(a, b)| a >= b) {
        return Ok(Scan::default());
    }
    let scan = scan::<BarRow>(store, &whole)?;
    let mut rows = bar_resampling::resize(scan.rows, size)?;
    if let Some(as_of) = filter.as_of {
        rows.retain(|bar| bar.timestamp.on(bar.interval) <= as_of);
    }
    Ok(Scan {
        rows,
        damaged: scan.damaged,
    })
}

/// Implements `Archive::finest_bars`.
pub(crate) fn finest_bars(
    store: &Store,
    filter: &Filter,
    size: Option<i64>,
) -> Result<Scan<ResampledBar>, ArchiveError> {
    size.map_or(Ok(()), |size| {
        bar_resampling::check(PeriodLength::Fixed(size))
    })?;
    let mut scan = scan::<BarRow>(store, filter)?;
    if let Some(end) = filter.end {
        scan.rows.retain(|bar| bar.close_time() <= end);
    }
    let mut rows = finest(scan.rows, size)?;
    rows.retain(|bar| {
        let close = bar.timestamp.on(bar.interval);
        filter.start.is_none_or(|start| bar.timestamp >= start)
            && filter.end.is_none_or(|end| close <= end)
            && filter.as_of.is_none_or(|as_of| close <= as_of)
    });
    Ok(Scan {
        rows,
        damaged: scan.damaged,
    })
}

/// Implements `Archive::open_interest`.
pub(crate) fn open_interest(
    store: &Store,
    filter: &Filter,
) -> Result<Scan<OpenInterestRow>, ArchiveError> {
    let mut scan = scan::<OpenInterestRow>(store, filter)?;
    scan.rows.sort_by(|a, b| {
        (a.timestamp, &a.symbol, &a.exchange).cmp(&(b.timestamp, &b.symbol, &b.exchange))
    });
    Ok(scan)
}

pub(crate) fn scan<R: Row>(store: &Store, filter: &Filter) -> Result<Scan<R>, ArchiveError> {
    filter.check()?;
    let mut all = Scan::default();
    for day in days_with_rows::<R>(store, filter)? {
        let day = read_day(store, day, filter)?;
        all.rows.extend(day.rows);
        all.damaged.extend(day.damaged);
    }
    Ok(all)
}

/// Days that may have matching rows, oldest first.
pub(crate) fn days_with_rows<R: Row>(
    store: &Store,
    filter: &Filter,
) -> Result<Vec<Day>, ArchiveError> {
    let start = filter.start.unwrap_or(Millis(i64::MIN));
    let end = filter.end.unwrap_or(Millis(i64::MAX));
    store.ask(|journal| {
        let mut days = database::days::<R>(journal, start, end)?;
        days.extend(
            manifest::days(journal, R::TABLE)?
                .into_iter()
                .filter(|day| day.end() > start && day.start() < end),
        );
        days.sort_unstable();
        days.dedup();
        Ok(days)
    })
}

/// Matching rows of one day, in no particular order.
///
/// Journal rows and manifest are read in one transaction. Segments never change, so a compaction during the read
/// neither hides nor repeats a row.
pub(crate) fn read_day<R: Row>(
    store: &Store,
    day: Day,
    filter: &Filter,
) -> Result<Scan<R>, ArchiveError> {
    day_within(store, day, filter, &mut MemoryBudget::unlimited())
}

/// As [`read_day`]; stops once the memory budget `room` is exceeded.
pub(crate) fn day_within<R: Row>(
    store: &Store,
    day: Day,
    filter: &Filter,
    room: &mut MemoryBudget,
) -> Result<Scan<R>, ArchiveError> {
    let start = filter.start.map_or(day.start(), |at| at.max(day.start()));
    let end = filter.end.map_or(day.end(), |at| at.min(day.end()));
    let (rows, (in_use, quarantined)) =
        journal_rows::<R, _>(store, (start, end), filter, room, |journal| {
            let of = |state| manifest::of_day_at(journal, R::TABLE, day, state, filter.as_of);
            Ok((of(SegmentState::Active)?, of(SegmentState::Quarantined)?))
        })?;
    together(store, day, filter, rows, (in_use, &quarantined), room)
}

/// Journal rows of a time range that match `filter`, and the result of `also` in the state of the journal in which the
/// read begins.
///
/// Each transaction copies one batch of rows. If rows leave the journal meanwhile, the read starts again.
pub(crate) fn journal_rows<R: Row, T>(
    store: &Store,
    range: (Millis, Millis),
    filter: &Filter,
    room: &mut MemoryBudget,
    also: impl Fn(&Connection) -> rusqlite::Result<T>,
) -> Result<(Vec<R>, T), ArchiveError> {
    loop {
        let mut left = *room;
        let (removals, made, (mut rows, mut next)) = store.ask(|journal| {
            let rows =
                database::rows_within::<R>(journal, range, filter, (None, i64::MAX), &mut left)?;
            Ok((stats::known(journal)?.removals, also(journal)?, rows))
        })?;
        let mut is_whole = true;
        while next.is_some() && is_whole {
            let more = store.ask(|journal| {
                if stats::known(journal)?.removals != removals {
                    return Ok(None);
                }
                database::rows_within::<R>(journal, range, filter, (next, i64::MAX), &mut left)
                    .map(Some)
            })?;
            is_whole = more.is_some();
            if let Some((more, behind)) = more {
                rows.extend(more);
                next = behind;
            }
        }
        if is_whole {
            *room = left;
            return Ok((rows, made));
        }
    }
}

/// Combines the matching journal rows of a day with those of its segments.
///
/// Stops once the memory budget `room` is exceeded.
fn together<R: Row>(
    store: &Store,
    day: Day,
    filter: &Filter,
    mut rows: Vec<R>,
    (in_use, quarantined): (Vec<SegmentEntry>, &[SegmentEntry]),
    room: &mut MemoryBudget,
) -> Result<Scan<R>, ArchiveError> {
    let start = filter.start.map_or(day.start(), |at| at.max(day.start()));
    let end = filter.end.map_or(day.end(), |at| at.min(day.end()));
    let mut damaged: Vec<DamagedPart> = quarantined
        .iter()
        .map(|part| DamagedPart::of(&store.folder, part, part.reason.clone().unwrap_or_default()))
        .collect();
    warn_of_quarantined(store, quarantined, start, end);
    // If a row was sent again after compaction, the journal and a segment both contain it. The row of the segment is
    // returned.
    let again: HashMap<String, usize> = if in_use.is_empty() {
        HashMap::new()
    } else {
        rows.iter()
            .enumerate()
            .map(|(place, row)| (row.key(), place))
            .collect()
    };
    let mut repeated = HashSet::new();
    let mut filed = Vec::new();
    for part in in_use {
        if !part.may_match(filter) {
            continue;
        }
        if room.is_exceeded() {
            break;
        }
        let before = filed.len();
        let mut same = Vec::new();
        let outcome = read_part::<R>(store, &part, filter, &mut |row| {
            if !again.is_empty() {
                same.extend(again.get(&row.key()).copied());
            }
            if filter.admits(&row) && room.take(&row) {
                filed.push(row);
            }
            !room.is_exceeded()
        })?;
        match outcome {
            Ok(()) => repeated.extend(same),
            Err(reason) => {
                // The rows of a damaged segment are not returned, not even those read before the fault.
                filed.truncate(before);
                store.warn(&part, &reason);
                damaged.push(DamagedPart::of(&store.folder, &part, reason));
            }
        }
    }
    if !repeated.is_empty() {
        let mut place = 0;
        rows.retain(|_| {
            place += 1;
            !repeated.contains(&(place - 1))
        });
    }
    rows.retain(|row| filter.admits(row));
    rows.extend(filed);
    Ok(Scan { rows, damaged })
}

/// Matching rows of a partition by the id of their ingest; `None` means collected rows.
///
/// The rows of damaged segments are left out.
pub(crate) fn rows_by_ingest<R: Row>(
    store: &Store,
    partition: Partition,
    filter: &Filter,
) -> Result<BTreeMap<Option<String>, Vec<R>>, ArchiveError> {
    let day = partition.day;
    let (journaled, segments) = store.ask(|journal| {
        Ok((
            database::rows_by_ingest::<R>(journal, day.start(), day.end())?,
            manifest::of_day(journal, R::TABLE, day, SegmentState::Active)?,
        ))
    })?;
    let mut again: HashSet<String> = HashSet::new();
    let is_journaled = !journaled.is_empty();
    let mut rows: BTreeMap<Option<String>, Vec<R>> = BTreeMap::new();
    for segment in segments {
        if segment.partition != partition || !segment.may_match(filter) {
            continue;
        }
        let mut found = Vec::new();
        let outcome = read_part::<R>(store, &segment, filter, &mut |row| {
            if filter.admits(&row) {
                found.push(row);
            }
            true
        })?;
        if let Err(reason) = outcome {
            store.warn(&segment, &reason);
            continue;
        }
        if is_journaled {
            again.extend(found.iter().map(Row::key));
        }
        rows.entry(segment.ingest).or_default().extend(found);
    }
    for (ingest, mut found) in journaled {
        found.retain(|row| {
            row.interval() == partition.interval
                && filter.admits(row)
                && !again.contains(&row.key())
        });
        rows.entry(ingest).or_default().extend(found);
    }
    Ok(rows)
}

/// Passes the rows of a segment that may match to `sink`, until it returns false.
///
/// Returns the fault if the segment cannot be read.
fn read_part<R: Row>(
    store: &Store,
    part: &SegmentEntry,
    filter: &Filter,
    sink: &mut dyn FnMut(R) -> bool,
) -> Result<Result<(), String>, ArchiveError> {
    if let Some(reason) = segment_check::fault_of(store, part)? {
        return Ok(Err(reason));
    }
    let file = match segment_check::file(store, part)? {
        Ok(file) => file,
        Err(reason) => return Ok(Err(reason)),
    };
    Ok(
        parquet::show_rows(file, part.partition.interval, filter, sink)
            .map_err(|fault| parquet::unreadable(&fault)),
    )
}

/// Logs a warning for quarantined segments that had rows between `start` and `end`.
pub(crate) fn warn_of_quarantined(
    store: &Store,
    parts: &[SegmentEntry],
    start: Millis,
    end: Millis,
) {
    for part in parts {
        if part.last >= start && part.first < end {
            store.warn(part, part.reason.as_deref().unwrap_or_default());
        }
    }
}

/// Sorts orders newest first.
///
/// Orders with the same time are sorted by time of receipt.
fn in_order(mut rows: Vec<OrderRow>) -> Vec<GroupedOrder> {
    // The sort is stable, so orders with equal times stay in order of arrival.
    rows.sort_by_key(|row| (Reverse(row.order.timestamp), row.received_at));
    rows.into_iter().map(Into::into).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::archive::archive::Archive;
    use crate::archive::batch::Batch;
    use crate::archive::scan::table_scan::*;
    use crate::archive::{Counter, CounterKind};

    fn reading(number: i64) -> OpenInterestRow {
        OpenInterestRow {
            exchange: "okx".to_owned(),
            symbol: "BTC".to_owned(),
            timestamp: Millis(number),
            open_interest: number.into(),
            received_at: Millis(number),
        }
    }

    #[test]
    fn a_long_read_has_several_transactions_and_starts_again_once_rows_were_removed() {
        let folder = std::env::temp_dir().join(format!("liqdata-batches-{}", std::process::id()));
        let mut writer = Archive::create_or_open(&folder).unwrap();
        let count = i64::from(2 * database::BATCH + 7);
        let open_interest = (0..count).map(reading).collect();
        writer
            .append(&Batch {
                open_interest,
                ..Batch::default()
            })
            .unwrap();
        let reader = Archive::read(&folder).unwrap();
        let times = std::cell::Cell::new(0);
        let read = |also: &mut dyn FnMut()| {
            let also = std::cell::RefCell::new(also);
            let (filter, mut room) = (Filter::default(), MemoryBudget::unlimited());
            let range = (Millis(0), Millis(Millis::DAY));
            let read = journal_rows::<OpenInterestRow, _>(
                &reader.store,
                range,
                &filter,
                &mut room,
                |_| {
                    times.set(times.get() + 1);
                    also.borrow_mut()();
                    Ok(())
                },
            );
            read.unwrap().0
        };
        let all: Vec<OpenInterestRow> = (0..count).map(reading).collect();
        assert_eq!(read(&mut || ()), all);
        // During the read, a writer appends a counter and removes rows. The removal makes the read start again, once.
        let mut done = 0;
        let left = read(&mut || {
            done += 1;
            if done == 1 {
                let counter = Counter {
                    exchange: "okx".to_owned(),
                    at: Millis(5),
                    kind: CounterKind::Rejected,
                    count: 1,
                };
                let counters = vec![counter];
                let batch = Batch {
                    counters,
                    ..Batch::default()
                };
                writer.append(&batch).unwrap();
                let ids: Vec<i64> = (1..=9).collect();
                let table = OpenInterestRow::TABLE;
                let removed = writer
                    .write
                    .change(|journal| database::delete(journal, table, &ids));
                assert_eq!(removed.unwrap(), 9);
            }
        });
        assert_eq!((left.as_slice(), times.get()), (all.get(9..).unwrap(), 3));
        drop((reader, writer));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
