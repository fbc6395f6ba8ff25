//! Holding the tables of the journal against those that are made: their list is text, in which a bit may flip as anywhere.
//!
//! What `SQLite` can still read it takes for true, such as another name of a column. Journals of earlier versions have their
//! columns in another order, and those of other versions are not looked at.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::archive::catalog::stats;
use crate::archive::integrity::crc;
use crate::archive::journal::{database, versions};
use crate::archive::rows::row_kind::{ROW_KINDS, RowKind};

/// What is not there of the tables, columns and indexes that a journal has.
pub(crate) fn faults(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    if versions::version(journal)? != versions::VERSION {
        return Ok(Vec::new());
    }
    let mut whole = Connection::open_in_memory()?;
    crc::register(&whole)?;
    database::create(&mut whole)?;
    let there = described(journal)?;
    let missing = described(&whole)?.into_iter();
    let missing = missing.filter(|one| !there.contains(one));
    Ok(missing
        .map(|one| format!("{one} is not among the tables"))
        .collect())
}

/// What is wrong with the numbers that rows are to get: a row that got the number of one that has left the journal would be told
/// to nobody who reads on.
pub(crate) fn faults_of_numbers(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut all = Vec::new();
    for kind in &ROW_KINDS {
        all.extend(fault_of_numbers(journal, kind)?);
    }
    Ok(all)
}

fn fault_of_numbers(journal: &Connection, kind: &RowKind) -> rusqlite::Result<Option<String>> {
    if !kind.is_in(journal)? {
        return Ok(None);
    }
    let number =
        |query: &str| -> rusqlite::Result<i64> { journal.query_row(query, [], |line| line.get(0)) };
    let table = kind.table;
    let remembered = number(&format!(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{table}'"
    ))?;
    let last = number(&format!("SELECT coalesce(max(id), 0) FROM {table}"))?;
    let last = last.max(stats::last_given(journal, table)?);
    let what = || format!("the last number of {table} is {last}, and not {remembered}");
    Ok((remembered < last).then(what))
}

/// The columns of tables and of indexes, and the triggers, each by its name.
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
