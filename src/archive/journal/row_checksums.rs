//! Checksums of the journal's lines.
//!
//! A line is an SQL row of any journal table, including the catalog. Each line has a CRC-32 over its cells.
//!
//! `SQLite` has checksums in its write-ahead log, but not in the database file. A CRC-32 detects every change of up to
//! 32 adjacent bits. `PRAGMA integrity_check` detects missing lines and index entries.

use rusqlite::Connection;

use crate::archive::catalog::{file_versions, ingests};
use crate::archive::checksums::crc::{COLUMN, FUNCTION};
use crate::archive::coverage_log::events::{GapOutcome, Measurement, TopicGap};
use crate::archive::sql::row_kind::ROW_KINDS;
use crate::archive::sql::table;

/// Maximum number of lines with wrong checksums to list per table.
const NAMED: i64 = 20;

/// A table and the columns that its checksum covers.
pub(super) struct Summed {
    pub(super) table: &'static str,
    pub(super) columns: String,
    /// Whether lines may be updated after the insert. If so, triggers compute the checksum.
    changes: bool,
}

/// All tables with checksums.
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
            "exchange, start, \"end\", cause, holds, reason, recorded_at, silent_from, withdrawn",
        ),
        changing(
            "sessions",
            "id, exchange, completeness, started, seen, known_at, late, ingest, undone",
        ),
        changing(
            "manifest",
            "path, holds, day, interval, state, rows, bytes, sha256, first, last, rolled_at, reason, ingest",
        ),
        changing("part_venues", "path, exchange, rows, last"),
        changing("state", "name, value"),
        changing("coins", "symbol, known_from, last_close, gone_at"),
        changing("topic_gaps", &table::columns::<TopicGap>()),
        changing("outcomes", &table::columns::<GapOutcome>()),
        changing("counters", "exchange, day, kind, count"),
        changing("measurements", &table::columns::<Measurement>()),
        changing("generations", file_versions::COLUMNS),
    ];
    let of_ingests = ingests::TABLES.map(|(table, columns)| changing(table, columns));
    of_rows.chain(others).chain(of_ingests).collect()
}

/// Adds the checksum column and its triggers to every table.
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

/// Lists the lines with wrong checksums, table by table.
pub(crate) fn faults(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    for Summed { table, columns, .. } in tables() {
        let mut lines = journal.prepare(&format!(
            "SELECT rowid FROM {table} NOT INDEXED WHERE {COLUMN} IS NOT {FUNCTION}({columns}) LIMIT {NAMED}"
        ))?;
        let lines = lines.query_map([], |line| line.get::<_, i64>(0))?;
        for line in lines {
            found.push(format!(
                "row {} of table {table} has a wrong checksum",
                line?
            ));
        }
    }
    Ok(found)
}
