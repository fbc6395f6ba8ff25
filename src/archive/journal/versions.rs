//! The versions of the journal's tables, and what a journal of an earlier one does not have.

use rusqlite::Connection;

use crate::archive::journal::table;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;

/// The version of the tables.
pub(crate) const VERSION: i32 = 9;
/// The version of those that had no positions.
pub(crate) const WITHOUT_POSITIONS: i32 = 8;
/// The version of those whose orders were of no group.
pub(crate) const WITHOUT_GROUPS: i32 = 7;
/// The version of those whose files had one generation.
pub(crate) const WITHOUT_GENERATIONS: i32 = 6;
/// The version of those that knew of no topics, outcomes, tallies and marks.
pub(crate) const WITHOUT_NOTES: i32 = 5;
/// The version of those that had no checksums.
pub(crate) const WITHOUT_SUMS: i32 = 4;
/// The version of those that had no version of a map either.
pub(crate) const WITHOUT_VERSIONS: i32 = 3;

/// The column of orders that came last.
pub(crate) const GROUP: &str = "\"group_id\"";

/// The columns of orders as they were before they had groups.
pub(crate) fn without_groups() -> String {
    table::columns::<OrderRow>().replace(&format!(", {GROUP}"), "")
}

/// The columns of a kind of rows as this journal has them: as they are asked for, and as checksums are of them.
pub(crate) fn columns<R: Row>(journal: &Connection) -> rusqlite::Result<(String, String)> {
    columns_of(journal, R::TABLE, table::columns::<R>())
}

/// As [`columns`], of a table that has `all` of them now.
pub(crate) fn columns_of(
    journal: &Connection,
    table: &str,
    all: String,
) -> rusqlite::Result<(String, String)> {
    if table != OrderRow::TABLE || version(journal)? > WITHOUT_GROUPS {
        return Ok((all.clone(), all));
    }
    Ok((all.replace(GROUP, "NULL"), without_groups()))
}

/// The version of the tables of this journal.
pub(crate) fn version(journal: &Connection) -> rusqlite::Result<i32> {
    journal
        .prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))
}

/// Whether the lines of the journal have checksums.
pub(crate) fn is_summed(journal: &Connection) -> rusqlite::Result<bool> {
    let version: i32 = journal.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(version > WITHOUT_SUMS)
}

/// Whether the journal has the table of a kind of rows: one of an earlier version has none of what came later.
pub(crate) fn has<R: Row>(journal: &Connection) -> rusqlite::Result<bool> {
    has_since(journal, R::SINCE)
}

/// Whether the journal has what came with a version.
pub(crate) fn has_since(journal: &Connection, since: i32) -> rusqlite::Result<bool> {
    Ok(since == 0 || version(journal)? >= since)
}

/// Whether some of the files may have taken the place of others.
pub(crate) fn has_generations(journal: &Connection) -> rusqlite::Result<bool> {
    Ok(version(journal)? > WITHOUT_GENERATIONS)
}
