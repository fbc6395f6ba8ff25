//! Checksums of what the journal holds: each line of each of its tables carries one over its cells, so that a line that
//! is not as it was written is told from one that is.
//!
//! `SQLite` checks the log it has not written out yet, and nothing of its database. A line's CRC-32 finds every change of
//! up to 32 neighbouring bits; that lines and indexes are complete is what `PRAGMA integrity_check` looks at.

use rusqlite::Connection;

use crate::archive::catalog::file_versions;
use crate::archive::coverage::events::{GapOutcome, Measurement, TopicGap};
use crate::archive::integrity::crc::{COLUMN, FUNCTION};
use crate::archive::journal::table;
use crate::archive::rows::row_kind::ROW_KINDS;

/// How many lines of a table are named at most.
const NAMED: i64 = 20;

/// A table and the columns that its checksum is of.
pub(super) struct Summed {
    pub(super) table: &'static str,
    pub(super) columns: String,
    /// Whether lines are changed by statements of their own; they are summed by triggers.
    changes: bool,
}

/// Every table whose lines have checksums.
pub(super) fn tables() -> Vec<Summed> {
    let of_rows = ROW_KINDS.iter().map(|kind| Summed {
        table: kind.table,
        columns: kind.columns(),
        changes: false,
    });
    let changing = |table, columns: &str| Summed {
        table,
        columns: columns.to_owned(),
        changes: true,
    };
    let others = [
        changing(
            "gaps",
            "exchange, start, \"end\", cause, holds, reason, recorded_at, silent_from",
        ),
        changing("runs", "id, exchange, completeness, started, seen"),
        changing(
            "manifest",
            "path, holds, day, interval, state, rows, bytes, sha256, first, last, rolled_at, reason",
        ),
        changing("part_venues", "path, exchange, rows, last"),
        changing("state", "name, value"),
        changing("coins", "symbol, known_from, last_close"),
        changing("topic_gaps", &table::columns::<TopicGap>()),
        changing("outcomes", &table::columns::<GapOutcome>()),
        changing("tallies", "exchange, day, kind, count"),
        changing("marks", &table::columns::<Measurement>()),
        changing("generations", file_versions::COLUMNS),
    ];
    of_rows.chain(others).collect()
}

/// Gives every table its column of checksums.
pub(crate) fn add(journal: &Connection) -> rusqlite::Result<()> {
    for Summed {
        table,
        columns,
        changes,
    } in tables()
    {
        journal.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {COLUMN} INTEGER"))?;
        if changes {
            let new: Vec<String> = columns
                .split(", ")
                .map(|column| format!("NEW.{column}"))
                .collect();
            let again = format!(
                "BEGIN UPDATE {table} SET {COLUMN} = {FUNCTION}({}) WHERE rowid = NEW.rowid; END;",
                new.join(", ")
            );
            journal.execute_batch(&format!(
                "CREATE TRIGGER {table}_summed AFTER INSERT ON {table} {again}
                 CREATE TRIGGER {table}_summed_again AFTER UPDATE OF {columns} ON {table} {again}"
            ))?;
        }
    }
    Ok(())
}

/// The lines that are not as they were written, table by table.
pub(crate) fn faults(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    for Summed { table, columns, .. } in tables() {
        let mut lines = journal.prepare(&format!(
            "SELECT rowid FROM {table} NOT INDEXED WHERE {COLUMN} IS NOT {FUNCTION}({columns}) LIMIT {NAMED}"
        ))?;
        let lines = lines.query_map([], |line| line.get::<_, i64>(0))?;
        for line in lines {
            found.push(format!(
                "line {} of {table} is not as it was written (its checksum differs)",
                line?
            ));
        }
    }
    Ok(found)
}
