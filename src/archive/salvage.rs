//! Saving what can be reached of a table of the journal whose pages are damaged: its lines move into a tree of their own, and
//! those that are out of reach leave gaps.
//!
//! A page that is damaged hides the lines in it, without a word or by an error, and the index by time still knows when they
//! happened. Nothing is saved of a line that is not as it was written.

use rusqlite::{Connection, ErrorCode, Transaction};

use super::bars::BarRow;
use super::maps::MapRow;
use super::mend::{exchanges, reason};
use super::open_interest::OpenInterestRow;
use super::orders::OrderRow;
use super::positions::PositionRow;
use super::row::Row;
use super::runs::{Gap, add_gap};
use super::sums::{COLUMN, FUNCTION};
use super::{table, versions};
use crate::model::Millis;

/// Lines that are lost within so many milliseconds of each other leave one gap: a page holds the neighbours of a line.
const TOGETHER: i64 = Millis::MINUTE;

/// A stretch of time, its end included.
type Stretch = (Millis, Millis);

/// What is left of a table, whose sound lines wait in a table of the handle's own.
struct Left {
    columns: String,
    /// When the lines happened that are lost.
    lost: Vec<Stretch>,
    /// Whose they may have been.
    exchanges: Vec<String>,
}

/// Makes the tables anew of which something is damaged, their indexes included, of what can be reached. Nobody else writes meanwhile.
pub(super) fn save(journal: &mut Connection, now: Millis) -> rusqlite::Result<()> {
    // Within a transaction nothing can be read any more once a damaged page was met.
    let orders = left::<OrderRow>(journal)?;
    let bars = left::<BarRow>(journal)?;
    let open_interest = left::<OpenInterestRow>(journal)?;
    let maps = left::<MapRow>(journal)?;
    let positions = left::<PositionRow>(journal)?;
    let transaction = journal.transaction()?;
    move_over::<OrderRow>(&transaction, orders, now)?;
    move_over::<BarRow>(&transaction, bars, now)?;
    move_over::<OpenInterestRow>(&transaction, open_interest, now)?;
    move_over::<MapRow>(&transaction, maps, now)?;
    move_over::<PositionRow>(&transaction, positions, now)?;
    transaction.commit()?;
    // The pages of the former trees are nobody's now, which no statement can tell: all others move together.
    journal.execute_batch("VACUUM")?;
    journal.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// What is left of a table of which something is damaged; `None` of one that is whole.
fn left<R: Row>(journal: &Connection) -> rusqlite::Result<Option<Left>> {
    if !versions::has::<R>(journal)? || !is_damaged::<R>(journal)? {
        return Ok(None);
    }
    let columns = columns_of::<R>(journal)?;
    let is_whole = keep_reached::<R>(journal, &columns)? && has_as_many::<R>(journal)?;
    Ok(Some(Left {
        columns: columns.join(", "),
        lost: if is_whole {
            Vec::new()
        } else {
            lost::<R>(journal)?
        },
        exchanges: exchanges(journal, R::TABLE, &kept::<R>())?,
    }))
}

/// The table of the handle's own in which sound lines wait.
fn kept<R: Row>() -> String {
    format!("temp.kept_{}", R::TABLE)
}

/// Makes a table anew of what is left of it, if that is all that can be had.
fn move_over<R: Row>(
    journal: &Transaction<'_>,
    left: Option<Left>,
    now: Millis,
) -> rusqlite::Result<()> {
    let Some(Left {
        columns,
        lost,
        exchanges,
    }) = left
    else {
        return Ok(());
    };
    for exchange in exchanges {
        for (start, end) in &lost {
            let gap = Gap {
                exchange: exchange.clone(),
                start: *start,
                end: end.on(1),
                reason: reason::<R>(),
                recorded_at: now,
            };
            add_gap(journal, &gap)?;
        }
    }
    forget::<R>(journal)?;
    journal.execute_batch(&format!(
        "{}
         ALTER TABLE {table} ADD COLUMN {COLUMN} INTEGER;
         INSERT INTO {table} ({columns}) SELECT {columns} FROM {kept} ORDER BY id;
         DROP TABLE {kept};",
        table::create::<R>(),
        table = R::TABLE,
        kept = kept::<R>(),
    ))
}

/// Whether `SQLite` finds anything wrong with a table or its indexes.
fn is_damaged<R: Row>(journal: &Connection) -> rusqlite::Result<bool> {
    let found = journal
        .prepare(&format!("PRAGMA integrity_check({})", R::TABLE))
        .and_then(|mut check| check.query_row([], |line| line.get::<_, String>(0)));
    match found {
        Ok(found) => Ok(found != "ok"),
        Err(fault) if is_damage(&fault) => Ok(true),
        Err(fault) => Err(fault),
    }
}

fn is_damage(fault: &rusqlite::Error) -> bool {
    fault.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
}

/// The columns of a table in its order, the number of a line first.
fn columns_of<R: Row>(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare("SELECT '\"' || name || '\"' FROM pragma_table_info(?1) ORDER BY cid")?
        .query_map([R::TABLE], |line| line.get(0))?
        .collect()
}

/// Puts the lines of a table that can be reached and are as they were written into [`kept`]; gives whether that met no error.
fn keep_reached<R: Row>(journal: &Connection, columns: &[String]) -> rusqlite::Result<bool> {
    let table = R::TABLE;
    let numbered = columns.iter().map(|column| match column.as_str() {
        "\"id\"" => "id INTEGER PRIMARY KEY",
        other => other,
    });
    let numbered = numbered.collect::<Vec<_>>().join(", ");
    journal.execute_batch(&format!(
        "DROP TABLE IF EXISTS {kept}; CREATE TABLE {kept} ({numbered});",
        kept = kept::<R>(),
    ))?;
    let last = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1";
    let last: i64 = journal.query_row(last, [table], |line| line.get(0))?;
    // A number that is damaged may be another line's, which is as it was written.
    let mut keep = journal.prepare(&format!(
        "INSERT OR IGNORE INTO {} SELECT {} FROM main.{table} NOT INDEXED
         WHERE id BETWEEN ?1 AND ?2 AND {COLUMN} IS {FUNCTION}({})",
        kept::<R>(),
        columns.join(", "),
        versions::columns::<R>(journal)?.1,
    ))?;
    let mut met_none = true;
    // Numbers are given one after the other, so that each line can be asked for by itself.
    let mut stretches = vec![(1, last)];
    while let Some((first, last)) = stretches.pop() {
        match keep.execute([first, last]) {
            Ok(_) => {}
            Err(fault) if !is_damage(&fault) => return Err(fault),
            // What is damaged is in one half of them, or in both.
            Err(_) => {
                met_none = false;
                if first < last {
                    let middle = first + (last - first) / 2;
                    stretches.extend([(middle + 1, last), (first, middle)]);
                }
            }
        }
    }
    Ok(met_none)
}

/// Whether as many lines are [`kept`] as the index of what tells them apart knows of; one that cannot be read knows of none.
fn has_as_many<R: Row>(journal: &Connection) -> rusqlite::Result<bool> {
    let count = |of: &str| -> rusqlite::Result<i64> {
        let count = format!("SELECT count(*) FROM {of}");
        journal.query_row(&count, [], |line| line.get(0))
    };
    let found = count(&kept::<R>())?;
    let known = count(&format!("{0} INDEXED BY sqlite_autoindex_{0}_1", R::TABLE));
    Ok(known.is_ok_and(|known| known == found))
}

/// When the lines happened that are not [`kept`]: by the index by time, whatever became of their numbers.
fn lost<R: Row>(journal: &Connection) -> rusqlite::Result<Vec<Stretch>> {
    let listed = || -> rusqlite::Result<Vec<Stretch>> {
        let mut lost: Vec<Stretch> = Vec::new();
        let mut lines = journal.prepare(&format!(
            "SELECT timestamp FROM {0} INDEXED BY {0}_by_time
             WHERE NOT EXISTS (SELECT 1 FROM {1} AS kept WHERE kept.id = {0}.id) ORDER BY timestamp",
            R::TABLE,
            kept::<R>()
        ))?;
        for at in lines.query_map([], |line| Ok(Millis(line.get(0)?)))? {
            let at = at?;
            match lost.last_mut() {
                Some((_, end)) if at.0.saturating_sub(end.0) <= TOGETHER => *end = at,
                _ => lost.push((at, at)),
            }
        }
        Ok(lost)
    };
    match listed() {
        // Nothing tells when they happened but that it was listened.
        Err(fault) if is_damage(&fault) => {
            let ends = "SELECT min(started), max(seen) FROM runs";
            let ends = journal.query_row(ends, [], |line| Ok((line.get(0)?, line.get(1)?)))?;
            Ok(match ends {
                (Some(start), Some(end)) => vec![(Millis(start), Millis(end))],
                _ => Vec::new(),
            })
        }
        listed => listed,
    }
}

/// Takes a table and its indexes out of the list of tables without a look at their pages.
fn forget<R: Row>(journal: &Connection) -> rusqlite::Result<()> {
    journal.execute_batch("PRAGMA writable_schema = ON")?;
    journal.execute("DELETE FROM sqlite_schema WHERE tbl_name = ?1", [R::TABLE])?;
    journal.execute_batch("PRAGMA writable_schema = RESET")
}
