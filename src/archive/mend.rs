//! Taking rows that are not as they were written out of the journal, and writing down what that leaves unknown.

use rusqlite::{Connection, OptionalExtension};

use super::journal;
use super::maps::MapRow;
use super::orders::OrderRow;
use super::row::Row as _;
use super::row_kind::{ROW_KINDS, RowKind};
use super::runs::{Gap, add_gap, lost_row};
use super::sums::{COLUMN, FUNCTION};
use crate::model::Millis;

/// The reason of a gap that a damaged row of a table leaves.
pub(super) fn reason(table: &str) -> String {
    if table == OrderRow::TABLE {
        "damaged row".to_owned()
    } else {
        lost_row(table)
    }
}

/// Takes the rows that are not as they were written out of the journal. What a row was is not known any more, so that the
/// time between its neighbours is a gap of every exchange, which says of what.
pub(super) fn let_go(journal: &Connection, now: Millis) -> rusqlite::Result<()> {
    for kind in &ROW_KINDS {
        let ids = damaged(journal, kind)?;
        for id in &ids {
            miss(journal, kind, *id, now)?;
        }
        journal::delete(journal, kind.table, &ids)?;
    }
    Ok(())
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

fn miss(journal: &Connection, kind: &RowKind, id: i64, now: Millis) -> rusqlite::Result<()> {
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
    let (Some(before), Some(behind)) = (before, behind) else {
        return Ok(());
    };
    for exchange in exchanges(journal, table, table)? {
        add_gap(
            journal,
            &Gap {
                exchange,
                start: Millis(before.min(behind)),
                end: Millis(before.max(behind)).on(1),
                reason: reason(table),
                recorded_at: now,
            },
        )?;
    }
    Ok(())
}

/// Writes down that rows of every kind may be missing from an instant on.
pub(super) fn miss_since(journal: &Connection, since: Millis, now: Millis) -> rusqlite::Result<()> {
    for kind in &ROW_KINDS {
        if !kind.is_in(journal)? {
            continue;
        }
        for exchange in exchanges(journal, kind.table, kind.table)? {
            let gap = Gap {
                exchange,
                start: since,
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
pub(super) fn exchanges(
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
