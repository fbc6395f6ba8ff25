//! Checks of the journal's pages, tables, row ids and line checksums.
//!
//! `SQLite` stores the schema as text without a checksum, and does not detect damage that leaves the schema valid SQL.
//! The schema is therefore compared with that of a new journal.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::archive::catalog::stats;
use crate::archive::checksums::crc;
use crate::archive::journal::database;
use crate::archive::journal::row_checksums;
use crate::archive::sql::row_kind::{ROW_KINDS, RowKind};

/// Lists all faults of the journal; empty if it is sound.
pub(crate) fn faults(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut all = journal
        .prepare("PRAGMA integrity_check")?
        .query_map([], |row| row.get::<_, String>(0))?
        .filter(|fault| !fault.as_ref().is_ok_and(|fault| fault == "ok"))
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let of_tables = schema_faults(journal)?;
    if of_tables.is_empty() {
        for kind in &ROW_KINDS {
            all.extend(number_fault(journal, kind)?);
        }
        all.extend(row_checksums::faults(journal)?);
    }
    all.extend(of_tables);
    Ok(all)
}

/// Lists the columns, indexes and triggers that a new journal has and this journal lacks.
pub(crate) fn schema_faults(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut new = Connection::open_in_memory()?;
    crc::register(&new)?;
    database::create(&mut new)?;
    let there = described(journal)?;
    let missing = described(&new)?.into_iter();
    let missing = missing.filter(|one| !there.contains(one));
    Ok(missing
        .map(|one| format!("the journal has no {one}"))
        .collect())
}

/// Describes each column of a table or an index, and each trigger, as a text.
fn described(journal: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    journal
        .prepare(
            "SELECT 'column ' || s.name || '.' || c.name || ' ' || c.type
             FROM sqlite_schema AS s, pragma_table_info(s.name, 'main') AS c WHERE s.type = 'table'
             UNION ALL
             SELECT 'index ' || s.name || ' of ' || s.tbl_name || '.' || c.name || ' in place ' || c.seqno
             FROM sqlite_schema AS s, pragma_index_info(s.name, 'main') AS c WHERE s.type = 'index'
             UNION ALL
             SELECT 'trigger ' || name || ' of ' || tbl_name FROM sqlite_schema WHERE type = 'trigger'",
        )?
        .query_map([], |line| line.get(0))?
        .collect()
}

/// Returns a fault if a table could use an earlier row id again.
///
/// A reader that follows the table by row id would miss a row with such an id.
fn number_fault(journal: &Connection, kind: &RowKind) -> rusqlite::Result<Option<String>> {
    let number =
        |query: &str| -> rusqlite::Result<i64> { journal.query_row(query, [], |line| line.get(0)) };
    let table = kind.table;
    let remembered = number(&format!(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{table}'"
    ))?;
    let last = number(&format!("SELECT coalesce(max(id), 0) FROM {table}"))?;
    let last = last.max(stats::last_id(journal, table)?);
    let what = || {
        format!("the last row id of table {table} is {last}, but the journal records {remembered}")
    };
    Ok((remembered < last).then(what))
}
