//! Holding the tables of the journal against those that are made: their list is text, in which a bit may flip as anywhere.
//!
//! What `SQLite` can still read it takes for true, such as another name of a column. Journals of earlier versions have their
//! columns in another order, and those of other versions are not looked at.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::{journal, sums, versions};

/// What is not there of the tables, columns and indexes that a journal has.
pub(super) fn faults(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    if versions::version(journal)? != versions::VERSION {
        return Ok(Vec::new());
    }
    let mut whole = Connection::open_in_memory()?;
    sums::register(&whole)?;
    journal::create(&mut whole)?;
    let there = described(journal)?;
    let missing = described(&whole)?.into_iter();
    let missing = missing.filter(|one| !there.contains(one));
    Ok(missing
        .map(|one| format!("{one} is not among the tables"))
        .collect())
}

/// The columns of tables and of indexes, and the triggers, each by its name.
fn described(journal: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    journal
        .prepare(
            "SELECT 'column ' || s.name || '.' || c.name || ' ' || c.type
             FROM sqlite_schema AS s, pragma_table_info(s.name) AS c WHERE s.type = 'table'
             UNION ALL
             SELECT 'index ' || s.name || ' of ' || s.tbl_name || '.' || c.name || ' in place ' || c.seqno
             FROM sqlite_schema AS s, pragma_index_info(s.name) AS c WHERE s.type = 'index'
             UNION ALL
             SELECT 'trigger ' || name || ' of ' || tbl_name FROM sqlite_schema WHERE type = 'trigger'",
        )?
        .query_map([], |line| line.get(0))?
        .collect()
}
