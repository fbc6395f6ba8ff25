//! Taking rows that are not as they were written out of the journal, and writing down what that leaves unknown.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension};

use crate::archive::coverage::sessions::{Gap, add_gap, lost_row};
use crate::archive::integrity::crc::{COLUMN, FUNCTION};
use crate::archive::journal::database;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row as _;
use crate::archive::rows::row_kind::{ROW_KINDS, RowKind};
use crate::model::Millis;

/// The reason of a gap that a damaged row of a table leaves.
pub(crate) fn reason(table: &str) -> String {
    if table == OrderRow::TABLE {
        "damaged row".to_owned()
    } else {
        lost_row(table)
    }
}

/// Takes the rows that are not as they were written out of the journal. What a row was is not known any more, so that the
/// time between its neighbours is a gap of every exchange, which says of what, and so is the time that the index still has of it. All
/// indexes are made anew.
pub(crate) fn let_go(journal: &Connection, now: Millis) -> rusqlite::Result<()> {
    let found = ROW_KINDS
        .iter()
        .map(|kind| {
            let ids = damaged(journal, kind)?;
            let times = indexed(journal, kind, &ids);
            Ok((kind, ids, times))
        })
        .collect::<rusqlite::Result<Vec<_>>>()?;
    journal.execute_batch("REINDEX")?;
    for (kind, ids, times) in found {
        for id in &ids {
            miss(journal, kind, *id, times.get(id).copied(), now)?;
        }
        database::delete(journal, kind.table, &ids)?;
    }
    Ok(())
}

/// When rows happened by the index by time, which is another copy of that; none where it cannot be read.
fn indexed(journal: &Connection, kind: &RowKind, ids: &[i64]) -> HashMap<i64, Millis> {
    if ids.is_empty() {
        return HashMap::new();
    }
    let wanted: HashSet<i64> = ids.iter().copied().collect();
    let table = kind.table;
    let all = || -> rusqlite::Result<HashMap<i64, Millis>> {
        journal
            .prepare(&format!(
                "SELECT id, timestamp FROM {table} INDEXED BY {table}_by_time"
            ))?
            .query_map([], |line| Ok((line.get(0)?, Millis(line.get(1)?))))?
            .filter(|one| one.as_ref().map_or(true, |(id, _)| wanted.contains(id)))
            .collect()
    };
    all().unwrap_or_default()
}

/// The condition that a row is as it was written.
fn is_sound(kind: &RowKind) -> String {
    format!("{COLUMN} IS {FUNCTION}({})", kind.columns())
}

fn damaged(journal: &Connection, kind: &RowKind) -> rusqlite::Result<Vec<i64>> {
    journal
        .prepare(&format!(
            "SELECT id FROM {} NOT INDEXED WHERE NOT ({})",
            kind.table,
            is_sound(kind)
        ))?
        .query_map([], |line| line.get(0))?
        .collect()
}

fn miss(
    journal: &Connection,
    kind: &RowKind,
    id: i64,
    told: Option<Millis>,
    now: Millis,
) -> rusqlite::Result<()> {
    let sound = is_sound(kind);
    let table = kind.table;
    let beside = |condition: &str| -> rusqlite::Result<Option<i64>> {
        journal
            .query_row(
                &format!(
                    "SELECT timestamp FROM {table} NOT INDEXED WHERE {condition} AND {sound} LIMIT 1"
                ),
                [id],
                |line| line.get(0),
            )
            .optional()
    };
    let runs = |end: &str| -> rusqlite::Result<Option<i64>> {
        journal.query_row(&format!("SELECT {end} FROM runs"), [], |line| line.get(0))
    };
    // Where it was the first or the last, any time of listening may be its own.
    let before = match beside(&format!("id = (SELECT max(id) FROM {table} WHERE id < ?1)"))? {
        None => runs("min(started)")?,
        found => found,
    };
    let behind = match beside(&format!("id = (SELECT min(id) FROM {table} WHERE id > ?1)"))? {
        None => runs("max(seen)")?,
        found => found,
    };
    let (before, behind) = (before.or(behind), behind.or(before));
    let between = before.zip(behind).map(|(before, behind)| {
        let (start, end) = (before.min(behind), before.max(behind));
        (Millis(start), Millis(end).on(1))
    });
    // Rows that are brought in later lie between others than their time does.
    let length = if kind.has_interval { Millis::DAY } else { 1 };
    let told = told
        .map(|at| (at, at.on(length)))
        .filter(|(start, end)| between.is_none_or(|(from, until)| *start < from || until < *end));
    for exchange in exchanges(journal, table, table)? {
        for (start, end) in between.into_iter().chain(told) {
            let gap = Gap {
                exchange: exchange.clone(),
                start,
                end,
                reason: reason(table),
                recorded_at: now,
            };
            add_gap(journal, &gap)?;
        }
    }
    Ok(())
}

/// Everybody of whom anything is known.
pub(crate) fn known_exchanges(journal: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for kind in &ROW_KINDS {
        if kind.table != MapRow::TABLE && kind.is_in(journal)? {
            all.extend(exchanges(journal, kind.table, kind.table)?);
        }
    }
    for of in ["gaps", "part_venues"] {
        all.extend(exchanges(journal, OrderRow::TABLE, of)?);
    }
    all.remove("");
    Ok(all)
}

/// Writes down that rows of every kind may be missing, of everybody who is known and at all times.
pub(crate) fn miss_everything(journal: &Connection, now: Millis) -> rusqlite::Result<()> {
    let known = known_exchanges(journal)?;
    for kind in &ROW_KINDS {
        if !kind.is_in(journal)? {
            continue;
        }
        let of_maps = [String::new()];
        let exchanges: Vec<&String> = if kind.table == MapRow::TABLE {
            of_maps.iter().collect()
        } else {
            known.iter().collect()
        };
        for exchange in exchanges {
            let gap = Gap {
                exchange: exchange.clone(),
                start: Millis(0),
                end: now,
                reason: reason(kind.table),
                recorded_at: now,
            };
            add_gap(journal, &gap)?;
        }
    }
    Ok(())
}

/// Whose a row of a table may have been: any exchange's that was listened to, or of which `rows` has some.
pub(crate) fn exchanges(
    journal: &Connection,
    table: &str,
    rows: &str,
) -> rusqlite::Result<Vec<String>> {
    let listed = if table == MapRow::TABLE {
        // Maps are of no exchange.
        "SELECT ''".to_owned()
    } else {
        format!("SELECT exchange FROM runs UNION SELECT exchange FROM {rows}")
    };
    journal
        .prepare(&listed)?
        .query_map([], |line| line.get(0))?
        .collect()
}
