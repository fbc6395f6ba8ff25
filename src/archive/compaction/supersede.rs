//! Replacement of orders of a day, for example after raw frames were decoded again.
//!
//! Corrected rows go into new segments that supersede the old ones ([`Rewrite`]). After a crash at any step, either the
//! whole correction is stored or none of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use rusqlite::Connection;

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, Partition, SegmentState};
use crate::archive::catalog::stats::StatsUpdate;
use crate::archive::compaction::compactor::of_fault;
use crate::archive::compaction::rewrite::Rewrite;
use crate::archive::files::SegmentStep;
use crate::archive::filter::Filter;
use crate::archive::integrity::segment_check;
use crate::archive::journal::database;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::{Row, check_all};
use crate::archive::segment::parquet;
use crate::archive::sql::table;
use crate::archive::store::write_store::WriteStore;
use crate::model::{Millis, Record as _};

/// Corrections to the orders of one day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayCorrection {
    /// Rows that replace stored rows with the same exchange and dedupe key.
    ///
    /// `received_at` and `raw` of the stored row are preserved.
    pub corrected: Vec<OrderRow>,
    /// Rows that the archive does not contain yet.
    pub new: Vec<OrderRow>,
    /// Exchange and dedupe key of the rows to remove.
    pub removed: Vec<(String, String)>,
}

impl DayCorrection {
    /// Whether the correction is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.corrected.is_empty() && self.new.is_empty() && self.removed.is_empty()
    }
}

/// Maps the key of a row to its replacement; `None` removes the row.
type Replacements<'a> = HashMap<String, Option<&'a OrderRow>>;

/// Orders by the id of their ingest; `None` for collected orders.
type OrdersByIngest = BTreeMap<Option<String>, Vec<OrderRow>>;

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
    check_all(OrderRow::TABLE, &correction.corrected, Row::check)?;
    check_all(OrderRow::TABLE, &correction.new, Row::check)?;
    let partition = Partition {
        day: Day::of(day),
        interval: 0,
    };
    let rewrite = rewrite(writer, partition, correction)?;
    rewrite.commit(writer, done, |journal, _| {
        let mut noted = StatsUpdate::default();
        noted.take(&correction.new);
        noted.write(journal)
    })
}

/// Finds the rows to replace in the day's segments and in the journal.
fn rewrite(
    writer: &WriteStore,
    partition: Partition,
    correction: &DayCorrection,
) -> Result<Rewrite, ArchiveError> {
    let mut replacements: Replacements<'_> = HashMap::new();
    for row in &correction.corrected {
        replacements.insert(row.key(), Some(row));
    }
    for (exchange, key) in &correction.removed {
        replacements.insert(format!("{exchange}\n{key}"), None);
    }
    let mut rewrite = Rewrite::default();
    let mut filed = HashSet::new();
    // `before` contains the superseded journal rows, `loose` the corrected journal rows and the new rows.
    let (mut before, mut loose) = (OrdersByIngest::new(), OrdersByIngest::new());
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
                rewrite.add(writer, partition, rows, part.ingest.as_deref(), false)?;
                rewrite.replace::<OrderRow>(part.path);
            }
        }
        for (id, ingest, row) in writer
            .store
            .ask(|journal| journaled(journal, day, &replacements))?
        {
            rewrite.delete::<OrderRow>(vec![id]);
            // A journal row that a segment also contains is a duplicate. No read has ever returned it, so it is deleted
            // without a superseded copy.
            if !filed.contains(&row.key()) {
                before.entry(ingest.clone()).or_default().push(row.clone());
                let after = replace(row, &replacements, &mut |_| ());
                loose.entry(ingest).or_default().extend(after);
            }
        }
    }
    let new = correction.new.iter().cloned();
    loose.entry(None).or_default().extend(new);
    for (orders, is_superseded) in [(loose, false), (before, true)] {
        for (ingest, rows) in orders {
            rewrite.add(writer, partition, rows, ingest.as_deref(), is_superseded)?;
        }
    }
    Ok(rewrite)
}

/// Applies the correction to a row; returns `None` if the row is removed.
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

/// Journal rows that the correction replaces or removes, with their row ids and ingest ids.
fn journaled(
    journal: &Connection,
    day: Day,
    replacements: &Replacements<'_>,
) -> rusqlite::Result<Vec<(i64, Option<String>, OrderRow)>> {
    let mut statement = journal.prepare_cached(&format!(
        "SELECT {}, ingest FROM orders WHERE timestamp >= ?1 AND timestamp < ?2",
        table::checked::<OrderRow>(),
    ))?;
    let rows = statement.query_map([day.start().0, day.end().0], |line| {
        let row = database::checked_row::<OrderRow>(line)?;
        Ok((line.get(0)?, line.get(2 + OrderRow::COLUMNS.len())?, row))
    })?;
    rows.filter(|row| {
        row.as_ref()
            .map_or(true, |(_, _, row)| replacements.contains_key(&row.key()))
    })
    .collect()
}
