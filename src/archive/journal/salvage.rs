//! Saving what can be reached of a table of the journal of which a page or an index is damaged: its lines move into a tree of
//! their own, and those that are out of reach leave gaps.
//!
//! A page that is damaged hides the lines in it, without a word or by an error, and the index by time still knows when they
//! happened. A line is believed by its checksum, which says nothing of its number: that may be damaged as well, and then the
//! line gets another that is nobody's.

use std::collections::BTreeSet;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ErrorCode, Statement, Transaction, params_from_iter};

use crate::archive::catalog::stats;
use crate::archive::coverage::sessions::{Gap, add_gap};
use crate::archive::integrity::crc::{COLUMN, FUNCTION};
use crate::archive::journal::mend::{exchanges, reason};
use crate::archive::journal::table;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::row::Row as _;
use crate::archive::rows::row_kind::{ROW_KINDS, RowKind};
use crate::model::Millis;

/// Lines that are lost within so many milliseconds of each other leave one gap: a page holds the neighbours of a line.
const TOGETHER: i64 = Millis::MINUTE;

/// A stretch of time, its end not included.
type Stretch = (Millis, Millis);

/// What is left of a table, whose sound lines wait in a table of the handle's own.
struct Left {
    columns: Vec<String>,
    /// The last number that was given.
    last: i64,
    /// Numbers that an index knows of and no sound line has.
    free: Vec<i64>,
    /// When the lines happened that are lost.
    lost: Vec<Stretch>,
    /// Whose they may have been.
    exchanges: BTreeSet<String>,
}

/// Makes the tables anew of which something is damaged, their indexes included, of what can be reached, and puts right which
/// numbers are next. Nobody else writes meanwhile.
pub(crate) fn save(journal: &mut Connection, now: Millis) -> rusqlite::Result<()> {
    // Within a transaction nothing can be read any more once a damaged page was met.
    let left = ROW_KINDS
        .iter()
        .map(|kind| left(journal, kind, now))
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let is_any_damaged = left.iter().any(Option::is_some);
    let transaction = journal.transaction()?;
    for (kind, left) in ROW_KINDS.iter().zip(left) {
        if let Some(left) = left {
            move_over(&transaction, kind, left, now)?;
        }
    }
    for kind in &ROW_KINDS {
        number_on(&transaction, kind)?;
    }
    transaction.commit()?;
    if is_any_damaged {
        // The pages of the former trees are nobody's now, which no statement can tell: all others move together.
        journal.execute_batch("VACUUM")?;
        journal.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    Ok(())
}

/// Lets the next rows have numbers behind all that were given: those are remembered where no checksum is.
fn number_on(journal: &Connection, kind: &RowKind) -> rusqlite::Result<()> {
    if !kind.is_in(journal)? {
        return Ok(());
    }
    let last = format!("SELECT coalesce(max(id), 0) FROM {}", kind.table);
    let last: i64 = journal.query_row(&last, [], |line| line.get(0))?;
    match last.max(stats::last_given(journal, kind.table)?) {
        0 => Ok(()),
        last => stats::give_behind(journal, kind.table, last),
    }
}

/// What is left of a table of which something is damaged; `None` of one that is whole.
fn left(journal: &Connection, kind: &RowKind, now: Millis) -> rusqlite::Result<Option<Left>> {
    let table = kind.table;
    if !kind.is_in(journal)? || !is_damaged(journal, table)? {
        return Ok(None);
    }
    let columns = columns_of(journal, table)?;
    let by_name = format!("sqlite_autoindex_{table}_1");
    let by_time = format!("{table}_by_time");
    let read_whole = keep_reached(journal, kind, &columns, [&by_name, &by_time])?;
    let count = |of: &str| -> rusqlite::Result<i64> {
        let count = format!("SELECT count(*) FROM {of}");
        journal.query_row(&count, [], |line| line.get(0))
    };
    // A page that is a copy of another tells its lines twice.
    let found = count(&format!("(SELECT DISTINCT id FROM {})", kept(kind)))?;
    // As many as the index of what tells them apart knows of; one that cannot be read knows of none.
    let all = count(&format!("{table} INDEXED BY {by_name}")).is_ok_and(|all| all == found);
    let lost = if read_whole && all {
        Vec::new()
    } else {
        lost(journal, kind, &by_time, now)?
    };
    let exchanges = exchanges_of(journal, kind, &by_name)?;
    if !lost.is_empty() && exchanges.is_empty() {
        // A gap is some exchange's.
        return Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
            Some(format!(
                "nothing tells whose the lost lines of {table} were"
            )),
        ));
    }
    let mut free = known_to(journal, kind, &by_name)?;
    free.extend(known_to(journal, kind, &by_time)?);
    free.sort_unstable();
    free.dedup();
    Ok(Some(Left {
        last: stats::last_given(journal, table)?,
        columns,
        free,
        lost,
        exchanges,
    }))
}

/// The table of the handle's own in which sound lines wait.
fn kept(kind: &RowKind) -> String {
    format!("temp.kept_{}", kind.table)
}

/// Makes a table anew of what is left of it.
fn move_over(
    journal: &Transaction<'_>,
    kind: &RowKind,
    left: Left,
    now: Millis,
) -> rusqlite::Result<()> {
    let (table, kept) = (kind.table, kept(kind));
    for exchange in left.exchanges {
        for (start, end) in &left.lost {
            let gap = Gap {
                exchange: exchange.clone(),
                start: *start,
                end: *end,
                reason: reason(table),
                recorded_at: now,
            };
            add_gap(journal, &gap)?;
        }
    }
    forget(journal, table)?;
    journal.execute_batch(&format!(
        "{} ALTER TABLE {table} ADD COLUMN {COLUMN} INTEGER;",
        kind.create()
    ))?;
    // Of two of one number the first stays, of two that tell the same as well.
    let moving = format!(
        "INSERT OR IGNORE INTO {table} ({columns}) SELECT {columns} FROM {kept}",
        columns = left.columns.join(", "),
    );
    journal.execute(
        &format!("{moving} WHERE id BETWEEN 1 AND ?1 ORDER BY rowid"),
        [left.last],
    )?;
    let unplaced: Vec<i64> = journal
        .prepare(&format!(
            "SELECT rowid FROM {kept} AS kept WHERE NOT EXISTS (
                 SELECT 1 FROM {table} WHERE {table}.id = kept.id
                 AND {table}.timestamp = kept.timestamp AND {table}.{COLUMN} IS kept.{COLUMN})"
        ))?
        .query_map([], |line| line.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut free = left.free.into_iter();
    for line in unplaced {
        let number = free.next().ok_or_else(|| {
            let what = format!("no number is free for a line of {table}");
            table::not_readable(0, what)
        })?;
        let renumber = format!("UPDATE {kept} SET id = ?1 WHERE rowid = ?2");
        journal.execute(&renumber, [number, line])?;
        journal.execute(&format!("{moving} WHERE rowid = ?1"), [line])?;
    }
    journal.execute_batch(&format!("DROP TABLE {kept}"))?;
    stats::give_behind(journal, table, left.last)
}

/// Whether `SQLite` finds anything wrong with a table or its indexes.
fn is_damaged(journal: &Connection, table: &str) -> rusqlite::Result<bool> {
    let found = journal
        .prepare(&format!("PRAGMA integrity_check({table})"))
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
fn columns_of(journal: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare("SELECT '\"' || name || '\"' FROM pragma_table_info(?1, 'main') ORDER BY cid")?
        .query_map([table], |line| line.get(0))?
        .collect()
}

/// Puts the lines of a table that can be reached and are as they were written into [`kept`]; gives whether that met no error.
fn keep_reached(
    journal: &Connection,
    kind: &RowKind,
    columns: &[String],
    indexes: [&str; 2],
) -> rusqlite::Result<bool> {
    let (kept, names) = (kept(kind), columns.join(", "));
    // An index is used where what is compared is of one kind.
    let typed = names.replacen("\"id\"", "\"id\" INTEGER", 1);
    let bare = kept.trim_start_matches("temp.");
    journal.execute_batch(&format!(
        "DROP TABLE IF EXISTS {kept}; CREATE TABLE {kept} ({typed});
         CREATE INDEX {kept}_by_id ON {bare} (id);"
    ))?;
    let sound = format!(
        "SELECT {names} FROM main.{} NOT INDEXED WHERE {COLUMN} IS {FUNCTION}({})",
        kind.table,
        kind.summed(journal)?,
    );
    match journal.execute(&format!("INSERT INTO {kept} {sound}"), []) {
        Ok(_) => return Ok(true),
        Err(fault) if !is_damage(&fault) => return Err(fault),
        Err(_) => {}
    }
    // Up to the first page that is damaged, and back to the last; between them what an index knows of, line by line.
    let places = vec!["?"; columns.len()].join(", ");
    let mut keep = journal.prepare(&format!("INSERT INTO {kept} VALUES ({places})"))?;
    keep_up_to_damage(&mut journal.prepare(&sound)?, &mut keep)?;
    let back = format!("{sound} ORDER BY id DESC");
    keep_up_to_damage(&mut journal.prepare(&back)?, &mut keep)?;
    let mut line = journal.prepare(&format!("INSERT INTO {kept} {sound} AND id = ?1"))?;
    for index in indexes {
        for id in known_to(journal, kind, index)? {
            match line.execute([id]) {
                Err(fault) if !is_damage(&fault) => return Err(fault),
                _ => {}
            }
        }
    }
    Ok(false)
}

/// Puts what `reading` gives into a table, up to where it meets damage.
fn keep_up_to_damage(
    reading: &mut Statement<'_>,
    keep: &mut Statement<'_>,
) -> rusqlite::Result<()> {
    let count = reading.column_count();
    let mut lines = reading.query([])?;
    loop {
        match lines.next() {
            Ok(Some(line)) => {
                let cells = (0..count).map(|cell| line.get_ref(cell).map(ToSqlOutput::Borrowed));
                let cells = cells.collect::<rusqlite::Result<Vec<_>>>()?;
                keep.execute(params_from_iter(cells))?;
            }
            Ok(None) => return Ok(()),
            Err(fault) if is_damage(&fault) => return Ok(()),
            Err(fault) => return Err(fault),
        }
    }
}

/// The numbers that an index knows of and no line has that is [`kept`]; one that cannot be read knows of none.
fn known_to(journal: &Connection, kind: &RowKind, index: &str) -> rusqlite::Result<Vec<i64>> {
    let ids = || -> rusqlite::Result<Vec<i64>> {
        journal
            .prepare(&format!(
                "SELECT id FROM {table} INDEXED BY {index}
                 WHERE NOT EXISTS (SELECT 1 FROM {kept} AS kept WHERE kept.id = {table}.id)",
                table = kind.table,
                kept = kept(kind)
            ))?
            .query_map([], |line| line.get(0))?
            .collect()
    };
    match ids() {
        Err(fault) if is_damage(&fault) => Ok(Vec::new()),
        ids => ids,
    }
}

/// When the lines happened that are not [`kept`]: by the index by time, each for as long as it may be. Of a line whose number is
/// damaged that is told too, though it is there.
fn lost(
    journal: &Connection,
    kind: &RowKind,
    by_time: &str,
    now: Millis,
) -> rusqlite::Result<Vec<Stretch>> {
    let length = if kind.has_interval {
        let longest = format!("SELECT max(interval) FROM {}", kept(kind));
        let longest: Option<i64> = journal.query_row(&longest, [], |line| line.get(0))?;
        longest.unwrap_or(Millis::DAY)
    } else {
        1
    };
    let listed = || -> rusqlite::Result<Vec<Stretch>> {
        let mut lost: Vec<Stretch> = Vec::new();
        let mut lines = journal.prepare(&format!(
            "SELECT timestamp FROM {table} INDEXED BY {by_time}
             WHERE NOT EXISTS (SELECT 1 FROM {kept} AS kept
                               WHERE kept.id = {table}.id AND kept.timestamp = {table}.timestamp)
             ORDER BY timestamp",
            table = kind.table,
            kept = kept(kind)
        ))?;
        for at in lines.query_map([], |line| line.get(0))? {
            let at = Millis(at?);
            match lost.last_mut() {
                Some((_, end)) if at.0.saturating_sub(end.0) <= TOGETHER => *end = at.on(length),
                _ => lost.push((at, at.on(length))),
            }
        }
        Ok(lost)
    };
    match listed() {
        // Nothing tells when they happened.
        Err(fault) if is_damage(&fault) => Ok(vec![(Millis(0), now)]),
        listed => listed,
    }
}

/// Whose the lost lines may have been: everybody's of whom anything is known.
fn exchanges_of(
    journal: &Connection,
    kind: &RowKind,
    by_name: &str,
) -> rusqlite::Result<BTreeSet<String>> {
    let mut all: BTreeSet<String> = BTreeSet::new();
    all.extend(exchanges(journal, kind.table, &kept(kind))?);
    if kind.table == MapRow::TABLE {
        return Ok(all);
    }
    let indexed = format!("{} INDEXED BY {by_name}", kind.table);
    for of in [indexed.as_str(), "gaps", "part_venues"] {
        let named = || -> rusqlite::Result<Vec<String>> {
            journal
                .prepare(&format!("SELECT DISTINCT exchange FROM {of}"))?
                .query_map([], |line| line.get(0))?
                .collect()
        };
        match named() {
            Err(fault) if is_damage(&fault) => {}
            named => all.extend(named?),
        }
    }
    Ok(all)
}

/// Takes a table and its indexes out of the list of tables without a look at their pages.
fn forget(journal: &Connection, table: &str) -> rusqlite::Result<()> {
    journal.execute_batch("PRAGMA writable_schema = ON")?;
    let gone = journal.execute("DELETE FROM sqlite_schema WHERE tbl_name = ?1", [table]);
    journal.execute_batch("PRAGMA writable_schema = RESET")?;
    gone.map(drop)
}
