//! Checksums of what the journal holds: each line of each of its tables carries one over its cells, so that a line that
//! is not as it was written is told from one that is.
//!
//! `SQLite` checks the log it has not written out yet, and nothing of its database. A line's CRC-32 finds every change of
//! up to 32 neighbouring bits; that lines and indexes are complete is what `PRAGMA integrity_check` looks at.

use rusqlite::Connection;

use crate::archive::catalog::file_versions;
use crate::archive::coverage::events::{GapOutcome, Measurement, TopicGap};
use crate::archive::integrity::crc::{COLUMN, FUNCTION};
use crate::archive::journal::{table, versions};
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row as _;
use crate::archive::rows::row_kind::ROW_KINDS;

/// How many lines of a table are named at most.
const NAMED: i64 = 20;

/// A table and the columns that its checksum is of.
struct Summed {
    table: &'static str,
    columns: String,
    /// Whether lines are changed by statements of their own; they are summed by triggers.
    changes: bool,
    /// The version of the tables that it came with.
    since: i32,
}

/// The version in which lines got their checksums.
const FIRST: i32 = 5;
/// The version in which what is noted of the listening got its tables.
const NOTED: i32 = 6;
/// The version in which files got generations.
const GENERATIONS: i32 = 7;

fn tables() -> Vec<Summed> {
    fn noted(table: &'static str, columns: String) -> Summed {
        Summed {
            table,
            columns,
            changes: true,
            since: NOTED,
        }
    }
    let of_rows = ROW_KINDS.iter().map(|kind| Summed {
        table: kind.table,
        columns: kind.columns(),
        changes: false,
        since: FIRST.max(kind.since),
    });
    let generations = Summed {
        table: "generations",
        columns: file_versions::COLUMNS.to_owned(),
        changes: true,
        since: GENERATIONS,
    };
    let changing = |table, columns: &str| Summed {
        table,
        columns: columns.to_owned(),
        changes: true,
        since: FIRST,
    };
    let others = [
        changing(
            "gaps",
            "exchange, start, \"end\", reason, recorded_at, silent_from",
        ),
        changing("runs", "id, exchange, completeness, started, seen"),
        changing(
            "manifest",
            "path, holds, day, interval, state, rows, bytes, sha256, first, last, rolled_at, reason",
        ),
        changing("part_venues", "path, exchange, rows, last"),
        changing("state", "name, value"),
        changing("coins", "symbol, known_from, last_close"),
        noted("topic_gaps", table::columns::<TopicGap>()),
        noted("outcomes", table::columns::<GapOutcome>()),
        noted("tallies", "exchange, day, kind, count".to_owned()),
        noted("marks", table::columns::<Measurement>()),
        generations,
    ];
    of_rows.chain(others).collect()
}

/// Gives every table that came after the version `summed` its checksums, those of the lines that are there included.
pub(crate) fn add(journal: &Connection, summed: i32) -> rusqlite::Result<()> {
    let without = tables().into_iter().filter(|table| table.since > summed);
    for Summed {
        table,
        columns,
        changes,
        ..
    } in without
    {
        journal.execute_batch(&format!(
            "ALTER TABLE {table} ADD COLUMN {COLUMN} INTEGER;
             UPDATE {table} SET {COLUMN} = {FUNCTION}({columns});"
        ))?;
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
    let version: i32 = journal.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let there = tables().into_iter().filter(|table| table.since <= version);
    for Summed { table, columns, .. } in there {
        let columns = if table == OrderRow::TABLE {
            versions::columns::<OrderRow>(journal)?.1
        } else {
            columns
        };
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
