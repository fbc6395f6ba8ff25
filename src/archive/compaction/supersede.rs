//! Replacing orders of a day, for example after raw frames were decoded again.
//!
//! A segment never changes and is never deleted. Corrected rows go into new segments, and one transaction
//! supersedes the old ones: they stay, for reads as of an earlier instant. Superseded journal rows are moved
//! into such segments too. After a crash at any step, either all rows of the day are corrected or none.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction};
use uuid::Uuid;

use crate::archive::ArchiveError;
use crate::archive::catalog::file_versions;
use crate::archive::catalog::file_versions::Generation;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, Partition, SegmentEntry, SegmentState, Venues};
use crate::archive::catalog::stats;
use crate::archive::catalog::stats::StatsUpdate;
use crate::archive::clock::wall_clock;
use crate::archive::compaction::compactor::{divide, of_fault};
use crate::archive::files::SegmentStep;
use crate::archive::filter::Filter;
use crate::archive::integrity::crc;
use crate::archive::integrity::segment_check;
use crate::archive::journal::{database, table};
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::segment::atomic_write::place_all;
use crate::archive::segment::parquet;
use crate::archive::write_store::WriteStore;
use crate::model::Millis;

/// Corrections to the orders of one day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayCorrection {
    /// Rows that replace those of the same exchange and dedupe key.
    ///
    /// `received_at` and `raw` of the old row stay.
    pub corrected: Vec<OrderRow>,
    /// Rows that the archive does not have.
    pub new: Vec<OrderRow>,
    /// Rows to remove, by exchange and dedupe key.
    pub removed: Vec<(String, String)>,
}

impl DayCorrection {
    /// Whether there is nothing to correct.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.corrected.is_empty() && self.new.is_empty() && self.removed.is_empty()
    }
}

/// Number of segments that are written together.
const TOGETHER: usize = 16;

/// A new segment. It holds either valid rows or superseded rows from the journal.
struct NewSegment {
    part: SegmentEntry,
    venues: Venues,
    is_superseded: bool,
    relative: PathBuf,
    bytes: Vec<u8>,
}

/// The replacement of each row by key; `None` removes the row.
type Replacements<'a> = HashMap<String, Option<&'a OrderRow>>;

/// The segments and journal rows that a correction changes.
#[derive(Default)]
struct SupersedePlan {
    /// Segments to supersede.
    replaced: Vec<String>,
    /// New rows of each superseded segment.
    files: Vec<Vec<OrderRow>>,
    /// Ids of the journal rows to replace. `before` holds the rows among them that reads return until then.
    journaled: Vec<i64>,
    before: Vec<OrderRow>,
    /// Corrected and new rows that are in no segment yet.
    loose: Vec<OrderRow>,
}

/// Implements `Writer::supersede`.
pub(crate) fn supersede(
    writer: &mut WriteStore,
    day: Millis,
    correction: &DayCorrection,
) -> Result<Millis, ArchiveError> {
    supersede_observed(writer, day, correction, &mut |_, _| ())
}

/// Implements `Writer::supersede_observed`.
pub(crate) fn supersede_observed(
    writer: &mut WriteStore,
    day: Millis,
    correction: &DayCorrection,
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<Millis, ArchiveError> {
    crate::archive::rows::row::check_all(OrderRow::TABLE, &correction.corrected, Row::check)?;
    crate::archive::rows::row::check_all(OrderRow::TABLE, &correction.new, Row::check)?;
    let partition = Partition {
        day: Day::of(day),
        interval: 0,
    };
    let draft = draft(writer, partition, correction)?;
    let mut made = Vec::new();
    for (rows, is_superseded) in (draft
        .files
        .iter()
        .chain(&in_segments(draft.loose))
        .map(|rows| (rows, false)))
    .chain(in_segments(draft.before).iter().map(|rows| (rows, true)))
    {
        if !rows.is_empty() {
            made.push(make(writer, partition, rows, is_superseded)?);
        }
    }
    let outcome = put(writer, &mut made, done).and_then(|()| {
        let mut noted = StatsUpdate::default();
        noted.take(&correction.new);
        writer.change(|journal| {
            let transaction = journal.transaction()?;
            let at = commit(&transaction, &made, &draft.replaced, &draft.journaled)?;
            noted.write(&transaction)?;
            transaction.commit()?;
            Ok(at)
        })
    });
    match outcome {
        Ok(at) => {
            for one in &made {
                done(
                    SegmentStep::Committed,
                    &writer.store.folder.join(&one.relative),
                );
            }
            Ok(at)
        }
        Err(fault) => {
            // The pending files are removed now, or when the archive is next opened.
            let _ = writer.withdraw(made.iter().map(|one| one.part.path.as_str()));
            Err(fault)
        }
    }
}

/// Sorts rows and divides them into segments.
fn in_segments(mut rows: Vec<OrderRow>) -> Vec<Vec<OrderRow>> {
    OrderRow::sort_for_file(&mut rows);
    divide(rows, |row| row.order.exchange.clone())
}

/// Finds the rows to replace in the segments of the day and in the journal.
fn draft(
    writer: &WriteStore,
    partition: Partition,
    correction: &DayCorrection,
) -> Result<SupersedePlan, ArchiveError> {
    let mut replacements: Replacements<'_> = HashMap::new();
    for row in &correction.corrected {
        replacements.insert(row.key(), Some(row));
    }
    for (exchange, key) in &correction.removed {
        replacements.insert(format!("{exchange}\n{key}"), None);
    }
    let mut draft = SupersedePlan::default();
    let mut filed = HashSet::new();
    if !replacements.is_empty() {
        let day = partition.day;
        let parts = writer
            .store
            .ask(|journal| manifest::of_day(journal, OrderRow::TABLE, day, SegmentState::Active))?;
        for part in parts {
            // The correction skips damaged segments: it neither reads nor supersedes them.
            if segment_check::fault_of(&writer.store, &part)?.is_some() {
                continue;
            }
            let Ok(file) = segment_check::file(&writer.store, &part)? else {
                continue;
            };
            let path = writer.store.folder.join(&part.path);
            let rows = parquet::rows::<OrderRow>(file, 0, &Filter::default())
                .map_err(|fault| of_fault(&path, fault))?;
            let known = filed.len();
            let rows = rows
                .into_iter()
                .filter_map(|row| {
                    replace(row, &replacements, &mut |key| {
                        filed.insert(key);
                    })
                })
                .collect();
            if filed.len() > known {
                draft.replaced.push(part.path);
                draft.files.push(rows);
            }
        }
        for (id, row) in writer
            .store
            .ask(|journal| journaled(journal, day, &replacements))?
        {
            draft.journaled.push(id);
            // A journal row that a segment contains too is a duplicate. No read has ever returned it, so it is only
            // removed.
            if !filed.contains(&row.key()) {
                draft.before.push(row.clone());
                draft.loose.extend(replace(row, &replacements, &mut |_| ()));
            }
        }
    }
    draft.loose.extend(correction.new.iter().cloned());
    Ok(draft)
}

fn make(
    writer: &WriteStore,
    partition: Partition,
    rows: &[OrderRow],
    is_superseded: bool,
) -> Result<NewSegment, ArchiveError> {
    let name = format!("part-{}.parquet", Uuid::now_v7());
    let relative = partition.folder::<OrderRow>().join(name);
    let path = writer.store.folder.join(&relative);
    let bytes = parquet::bytes(rows).map_err(|fault| of_fault(&path, fault))?;
    Ok(NewSegment {
        part: SegmentEntry::of(rows, partition, &relative, &bytes),
        venues: manifest::venues(rows),
        is_superseded,
        relative,
        bytes,
    })
}

/// Writes the new segments.
fn put(
    writer: &mut WriteStore,
    made: &mut [NewSegment],
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<(), ArchiveError> {
    let base = writer.store.folder.clone();
    let now = wall_clock();
    for some in made.chunks_mut(TOGETHER) {
        writer.change(|journal| {
            let transaction = journal.transaction()?;
            for one in some.iter() {
                manifest::intend(&transaction, &one.part, now)?;
            }
            transaction.commit()
        })?;
        let bytes: Vec<Vec<u8>> = some
            .iter_mut()
            .map(|one| mem::take(&mut one.bytes))
            .collect();
        let files: Vec<(&Path, &[u8])> = some
            .iter()
            .zip(&bytes)
            .map(|(one, bytes)| (one.relative.as_path(), bytes.as_slice()))
            .collect();
        for (relative, _) in &files {
            done(SegmentStep::Intended, &base.join(relative));
        }
        place_all(&base, &files, done)?;
    }
    Ok(())
}

/// The row after the correction, if any.
///
/// Passes the keys of replaced rows to `seen`.
fn replace(
    row: OrderRow,
    replacements: &Replacements<'_>,
    seen: &mut dyn FnMut(String),
) -> Option<OrderRow> {
    let key = row.key();
    let Some(other) = replacements.get(&key) else {
        return Some(row);
    };
    seen(key);
    other.map(|other| OrderRow {
        received_at: row.received_at,
        raw: row.raw,
        ..other.clone()
    })
}

/// Journal rows that are replaced, with their ids.
fn journaled(
    journal: &Connection,
    day: Day,
    replacements: &Replacements<'_>,
) -> rusqlite::Result<Vec<(i64, OrderRow)>> {
    let columns = table::columns::<OrderRow>();
    let mut statement = journal.prepare_cached(&format!(
        "SELECT id, {} IS {}({columns}), {columns} FROM orders WHERE timestamp >= ?1 AND timestamp < ?2",
        crc::COLUMN,
        crc::FUNCTION,
    ))?;
    let rows = statement.query_map([day.start().0, day.end().0], |line| {
        Ok((line.get(0)?, database::checked_row::<OrderRow>(line)?))
    })?;
    rows.filter(|row| {
        row.as_ref()
            .map_or(true, |(_, row)| replacements.contains_key(&row.key()))
    })
    .collect()
}

/// Marks the new segments as valid.
///
/// Returns the instant from which they are.
fn commit(
    transaction: &Transaction<'_>,
    made: &[NewSegment],
    replaced: &[String],
    journaled: &[i64],
) -> rusqlite::Result<Millis> {
    // Two corrections never have the same instant, even if the clock was set back.
    let last = file_versions::last(transaction)?;
    let at = last.map_or_else(wall_clock, |last| wall_clock().max(last.on(1)));
    let superseded = Generation {
        since: None,
        superseded_at: Some(at),
    };
    let fresh = Generation {
        since: Some(at),
        superseded_at: None,
    };
    let mut rows = 0;
    for one in made {
        let path = &one.part.path;
        manifest::mark(transaction, path, SegmentState::Active, None)?;
        manifest::list_venues(transaction, path, &one.venues)?;
        let generation = if one.is_superseded {
            superseded
        } else {
            rows += one.part.rows;
            fresh
        };
        file_versions::set(transaction, path, generation)?;
    }
    for path in replaced {
        file_versions::set(transaction, path, superseded)?;
    }
    database::delete(transaction, OrderRow::TABLE, journaled)?;
    // Readers that follow the journal by row id must read this day again.
    stats::skip_ids(transaction, OrderRow::TABLE, rows.max(1))?;
    Ok(at)
}
