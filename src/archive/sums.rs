//! Checksums of what the journal holds: each line of each of its tables carries one over its cells, so that a line that
//! is not as it was written is told from one that is.
//!
//! `SQLite` checks the log it has not written out yet, and nothing of its database. A line's CRC-32 finds every change of
//! up to 32 neighbouring bits; that lines and indexes are complete is what `PRAGMA integrity_check` looks at.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use super::bars::BarRow;
use super::maps::MapRow;
use super::open_interest::OpenInterestRow;
use super::orders::OrderRow;
use super::row::Row;
use super::runs::{Gap, add_gap};
use super::{journal, table};
use crate::model::Millis;

/// The column of the checksum.
pub(super) const COLUMN: &str = "sum";
/// The function of SQL that makes one of any number of cells.
pub(super) const FUNCTION: &str = "cells_sum";
/// The reason of a gap that a damaged order leaves.
const LOST: &str = "damaged row";
/// How many lines of a table are named at most.
const NAMED: i64 = 20;

/// A table and the columns that its checksum is of.
struct Summed {
    table: &'static str,
    columns: String,
    /// Whether lines are changed by statements of their own; they are summed by triggers.
    changes: bool,
}

fn tables() -> [Summed; 10] {
    fn of<R: Row>() -> Summed {
        Summed {
            table: R::TABLE,
            columns: table::columns::<R>(),
            changes: false,
        }
    }
    let changing = |table, columns: &str| Summed {
        table,
        columns: columns.to_owned(),
        changes: true,
    };
    [
        of::<OrderRow>(),
        of::<BarRow>(),
        of::<OpenInterestRow>(),
        of::<MapRow>(),
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
    ]
}

/// Makes the function known to a connection.
pub(super) fn register(journal: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    journal.create_scalar_function(FUNCTION, -1, flags, |cells| Ok(of(cells)))
}

/// The checksum of cells, each with its kind and length.
fn of(cells: &Context<'_>) -> i64 {
    let mut sum = libdeflater::Crc::new();
    for place in 0..cells.len() {
        let mut add = |kind: u8, bytes: &[u8]| {
            sum.update(&[kind]);
            sum.update(&bytes.len().to_le_bytes());
            sum.update(bytes);
        };
        match cells.get_raw(place) {
            ValueRef::Null => add(0, &[]),
            ValueRef::Integer(value) => add(1, &value.to_le_bytes()),
            ValueRef::Real(value) => add(2, &value.to_bits().to_le_bytes()),
            ValueRef::Text(text) => add(3, text),
            ValueRef::Blob(bytes) => add(4, bytes),
        }
    }
    i64::from(sum.sum())
}

/// Gives every table its checksums, those of the lines that are there included.
pub(super) fn add(journal: &Connection) -> rusqlite::Result<()> {
    for Summed {
        table,
        columns,
        changes,
    } in tables()
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
pub(super) fn faults(journal: &Connection) -> rusqlite::Result<Vec<String>> {
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

/// Takes the rows that are not as they were written out of the journal. What an order was is not known any more, so that
/// the time between its neighbours is a gap of every exchange.
pub(super) fn let_go(journal: &Connection, now: Millis) -> rusqlite::Result<()> {
    let orders = damaged::<OrderRow>(journal)?;
    for id in &orders {
        miss(journal, *id, now)?;
    }
    delete::<OrderRow>(journal, &orders)?;
    delete::<BarRow>(journal, &damaged::<BarRow>(journal)?)?;
    delete::<OpenInterestRow>(journal, &damaged::<OpenInterestRow>(journal)?)?;
    delete::<MapRow>(journal, &damaged::<MapRow>(journal)?)
}

/// The condition that a row is as it was written.
fn is_sound<R: Row>() -> String {
    format!("{COLUMN} IS {FUNCTION}({})", table::columns::<R>())
}

fn damaged<R: Row>(journal: &Connection) -> rusqlite::Result<Vec<i64>> {
    journal
        .prepare(&format!(
            "SELECT id FROM {} NOT INDEXED WHERE NOT ({})",
            R::TABLE,
            is_sound::<R>()
        ))?
        .query_map([], |line| line.get(0))?
        .collect()
}

fn delete<R: Row>(journal: &Connection, ids: &[i64]) -> rusqlite::Result<()> {
    journal::delete::<R>(journal, ids).map(drop)
}

fn miss(journal: &Connection, id: i64, now: Millis) -> rusqlite::Result<()> {
    let sound = is_sound::<OrderRow>();
    let beside = |condition: &str| -> rusqlite::Result<Option<i64>> {
        journal
            .query_row(
                &format!(
                    "SELECT timestamp FROM orders NOT INDEXED WHERE {condition} AND {sound} LIMIT 1"
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
    let before = match beside("id = (SELECT max(id) FROM orders WHERE id < ?1)")? {
        None => runs("min(started)")?,
        found => found,
    };
    let behind = match beside("id = (SELECT min(id) FROM orders WHERE id > ?1)")? {
        None => runs("max(seen)")?,
        found => found,
    };
    let (before, behind) = (before.or(behind), behind.or(before));
    let (Some(before), Some(behind)) = (before, behind) else {
        return Ok(());
    };
    let exchanges: Vec<String> = journal
        .prepare("SELECT exchange FROM runs UNION SELECT exchange FROM orders")?
        .query_map([], |line| line.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for exchange in exchanges {
        add_gap(
            journal,
            &Gap {
                exchange,
                start: Millis(before.min(behind)),
                end: Millis(before.max(behind)).on(1),
                reason: LOST.to_owned(),
                recorded_at: now,
            },
        )?;
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn cells_that_differ_in_kind_length_or_value_have_other_sums() {
        let journal = Connection::open_in_memory().unwrap();
        register(&journal).unwrap();
        let sum = |cells: &str| -> i64 {
            journal
                .query_row(&format!("SELECT {FUNCTION}({cells})"), [], |line| {
                    line.get(0)
                })
                .unwrap()
        };
        let all = [
            "1",
            "2",
            "'1'",
            "1.0",
            "x'31'",
            "NULL",
            "NULL, NULL",
            "'a', 'bc'",
            "'ab', 'c'",
        ];
        let mut sums: Vec<i64> = all.into_iter().map(sum).collect();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), all.len());
    }
}
