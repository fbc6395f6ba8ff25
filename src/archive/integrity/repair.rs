//! Repair: moves damaged files to the quarantine and replaces a damaged journal by a fresh one.
//!
//! A line is an SQL row of any journal table. The fresh journal gets every line that SQL can read and that has a
//! matching checksum. Row ids are preserved. If a table may have lost rows, each day with journal rows of that table
//! becomes a gap of every known exchange; if those days cannot be read, all time until now does.
//!
//! The fresh journal is built under a temporary name and synced. Then the damaged journal moves to the folder `damaged` and the
//! fresh one takes its name. If a repair is interrupted between the two renames, the next repair finishes it.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, params_from_iter};

use crate::archive::catalog::manifest::Day;
use crate::archive::catalog::{ingests, stats};
use crate::archive::clock::wall_clock;
use crate::archive::coverage::sessions::{add_gap, damaged_rows};
use crate::archive::integrity::crc::{self, COLUMN, FUNCTION};
use crate::archive::integrity::journal_check;
use crate::archive::integrity::row_checksums::{self, Summed};
use crate::archive::integrity::verify;
use crate::archive::integrity::verify::Verification;
use crate::archive::journal::{database, swap};
use crate::archive::lock::{self, Lock};
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::row::Row as _;
use crate::archive::rows::row_kind::{ROW_KINDS, RowKind};
use crate::archive::store::{GoesOn, Store};
use crate::archive::write_store::WriteStore;
use crate::archive::{ArchiveError, files};
use crate::model::Millis;

/// Largest plausible row id; a line with a larger row id counts as damaged.
const LARGEST_NUMBER: i64 = 1 << 52;
/// Number of lines read between two calls of `goes_on`.
const CHECK_EVERY: u32 = 4096;

/// Quarantines damaged files, replaces a damaged journal, and records the lost time ranges as gaps.
pub(crate) fn repair(
    folder: &Path,
    goes_on: &GoesOn,
    progress: &dyn Fn(usize, usize),
) -> Result<Verification, ArchiveError> {
    let folder = &files::settled(folder)?;
    finish_repair(folder)?;
    let store = Store::open(folder)?;
    let lock = Lock::take(folder, wall_clock())?;
    store.look_while(goes_on)?;
    let mut faults = verify::journal_faults(&store)?;
    let is_journal_damaged = !faults.is_empty();
    if is_journal_damaged {
        if !build_fresh(&store, goes_on)? {
            return Ok(Verification {
                journal: faults,
                ..Verification::default()
            });
        }
        drop(store);
        let moved_to = swap::replace_journal(folder)?;
        let advice = format!(
            "the damaged journal is now {moved}; `sqlite3 {moved} .recover` may read more of it",
            moved = moved_to.display()
        );
        log::error!(target: "liqdata::archive", "{}: {advice}", folder.display());
        if let Some(first) = faults.first_mut() {
            *first = format!("{first}; {advice}");
        }
    }
    let mut writer = WriteStore::locked(folder, lock, is_journal_damaged)?;
    writer.look_while(goes_on)?;
    let mut found = verify::quarantine_observed(&mut writer, &mut |read, of| {
        progress(read, of);
        goes_on()
    })?;
    found.repaired = faults;
    Ok(found)
}

/// Finishes a repair that was interrupted while it replaced the journal.
pub(crate) fn finish_repair(folder: &Path) -> Result<(), ArchiveError> {
    let folder = &files::settled(folder)?;
    if !swap::is_interrupted(folder) {
        return Ok(());
    }
    lock::refuse_network(folder)?;
    let _lock = Lock::take(folder, wall_clock())?;
    swap::replace_journal(folder).map(drop)
}

/// Builds the fresh journal of a damaged archive. Returns false if `goes_on` returned false.
fn build_fresh(store: &Store, goes_on: &GoesOn) -> Result<bool, ArchiveError> {
    let path = swap::fresh_path(&store.folder);
    files::refuse_other_than_file(&path)?;
    files::remove_if_there(&path)?;
    let refused = |what: &str| {
        let message = format!(
            "{what}; restore the archive from a copy, or see what `sqlite3 {} .recover` reads",
            database::FILE
        );
        ArchiveError::Damaged {
            path: store.folder.join(database::FILE),
            message,
        }
    };
    let built = store.ask_in_steps(|damaged| build(damaged, &path, goes_on));
    let end = match built {
        Ok(Built::Whole) => {
            let synced = File::open(&path).and_then(|fresh| fresh.sync_all());
            synced.map_err(|source| ArchiveError::of_file(&path, source))?;
            files::sync_folder(&store.folder)?;
            return Ok(true);
        }
        Ok(Built::Stopped) => Ok(false),
        Ok(Built::Refused(what)) => Err(refused(&what)),
        Err(ArchiveError::Damaged { message, .. }) => Err(refused(&format!(
            "the journal's catalog cannot be read ({message})"
        ))),
        Err(fault) => Err(fault),
    };
    files::remove_if_there(&path)?;
    end
}

/// Outcome of building a fresh journal.
enum Built {
    Whole,
    Stopped,
    Refused(String),
}

/// The result of copying the lines of a table.
#[derive(Default)]
struct Copied {
    /// Whether the last pass over the table found a damaged page.
    met_damage: bool,
    /// Whether the copy may lack lines of the table.
    is_lossy: bool,
    /// The days of all lines read. The time of a damaged line, and therefore its day, may be wrong.
    days: BTreeSet<Day>,
    is_stopped: bool,
}

/// Fills a fresh journal at `path` with the sound lines of the damaged one.
fn build(damaged: &Connection, path: &Path, goes_on: &GoesOn) -> rusqlite::Result<Built> {
    let schema = journal_check::schema_faults(damaged)?;
    if let Some(fault) = schema.first() {
        return Ok(Built::Refused(fault.clone()));
    }
    let mut fresh = Connection::open(path)?;
    crc::register(&fresh)?;
    // The copy needs no crash safety: no process reads the file before it is complete and synced.
    fresh.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF;",
    )?;
    database::create(&mut fresh)?;
    let transaction = fresh.transaction()?;
    transaction.execute("DELETE FROM state", [])?;
    let mut is_catalog_lossy = false;
    let mut lossy: Vec<(&RowKind, Copied)> = Vec::new();
    for summed in row_checksums::tables() {
        let table = summed.table;
        let mut copied = copy(damaged, &transaction, &summed, goes_on)?;
        if copied.is_stopped {
            return Ok(Built::Stopped);
        }
        copied.is_lossy |= !is_table_whole(damaged, table)?;
        if !copied.is_lossy {
            continue;
        }
        if let Some(kind) = ROW_KINDS.iter().find(|kind| kind.table == table) {
            lossy.push((kind, copied));
        } else if ["state", "generations"].contains(&table)
            || table == "manifest" && copied.met_damage
        {
            return Ok(Built::Refused(format!(
                "table {table} of the journal is damaged"
            )));
        } else if !ingests::TABLES.iter().any(|(one, _)| *one == table) {
            // A lost line of the ingest tables loses no row; the ingest can just no longer be undone.
            is_catalog_lossy = true;
        }
    }
    transaction.execute_batch(
        "DELETE FROM part_venues WHERE path NOT IN (SELECT path FROM manifest);
         DELETE FROM generations WHERE path NOT IN (SELECT path FROM manifest);",
    )?;
    for kind in &ROW_KINDS {
        let copied = stats::last_id(&transaction, kind.table)?;
        match stats::last_id(damaged, kind.table)?
            .min(LARGEST_NUMBER)
            .max(copied)
        {
            0 => {}
            last => stats::set_last_id(&transaction, kind.table, last)?,
        }
    }
    let now = wall_clock();
    let everything = [(Millis(0), now)];
    let mut exchanges = known_exchanges(&transaction)?;
    for (kind, _) in &lossy {
        exchanges.extend(exchanges_by_name(damaged, kind)?);
    }
    exchanges.remove("");
    if exchanges.is_empty() && (is_catalog_lossy || lossy.iter().any(|(kind, _)| !is_of_maps(kind)))
    {
        let what = "rows are lost, but no exchange is known for which to record a gap";
        return Ok(Built::Refused(what.to_owned()));
    }
    for kind in &ROW_KINDS {
        let spans = match lossy.iter().find(|(one, _)| one.table == kind.table) {
            _ if is_catalog_lossy => everything.to_vec(),
            None => continue,
            Some((_, copied)) => match days_by_index(damaged, kind)? {
                None => everything.to_vec(),
                Some(days) => spans(&(&days | &copied.days), now),
            },
        };
        record_gaps(&transaction, kind, &exchanges, &spans, now)?;
    }
    transaction.commit()?;
    fresh.close().map_err(|(_, fault)| fault)?;
    Ok(Built::Whole)
}

/// Copies the sound lines of a table, in ascending order.
///
/// If a damaged page ends this pass, a second pass copies lines in descending order.
fn copy(
    damaged: &Connection,
    fresh: &Connection,
    summed: &Summed,
    goes_on: &GoesOn,
) -> rusqlite::Result<Copied> {
    let table = summed.table;
    let names: Vec<String> = fresh
        .prepare("SELECT '\"' || name || '\"' FROM pragma_table_info(?1) ORDER BY cid")?
        .query_map([table], |line| line.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let timestamp = names.iter().position(|name| name == "\"timestamp\"");
    let (columns, places) = (names.join(", "), vec!["?"; names.len()].join(", "));
    let mut insert = fresh.prepare(&format!(
        "INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})"
    ))?;
    let mut copied = Copied::default();
    let mut read = 0_u32;
    for order in ["ASC", "DESC"] {
        let lines = damaged.prepare(&format!(
            "SELECT {columns}, {COLUMN} IS {FUNCTION}({}) AND rowid BETWEEN 1 AND {LARGEST_NUMBER}
             FROM {table} NOT INDEXED ORDER BY rowid {order}",
            summed.columns
        ));
        let mut lines = match lines {
            Err(fault) if is_damage(&fault) => {
                copied.met_damage = true;
                break;
            }
            lines => lines?,
        };
        let mut lines = lines.query([])?;
        copied.met_damage = false;
        loop {
            let line = match lines.next() {
                Err(fault) if is_damage(&fault) => {
                    copied.met_damage = true;
                    break;
                }
                line => line?,
            };
            let Some(line) = line else { break };
            read = read.wrapping_add(1);
            if read.is_multiple_of(CHECK_EVERY) && !goes_on() {
                copied.is_stopped = true;
                return Ok(copied);
            }
            if let Some(timestamp) = timestamp
                && let ValueRef::Integer(at) = line.get_ref(timestamp)?
            {
                copied.days.insert(Day::of(Millis(at)));
            }
            if line.get(names.len())? {
                let cells =
                    (0..names.len()).map(|cell| line.get_ref(cell).map(ToSqlOutput::Borrowed));
                let cells = cells.collect::<rusqlite::Result<Vec<_>>>()?;
                insert.execute(params_from_iter(cells))?;
            } else {
                copied.is_lossy = true;
            }
        }
        if !copied.met_damage {
            break;
        }
    }
    copied.is_lossy |= copied.met_damage;
    Ok(copied)
}

fn is_damage(fault: &rusqlite::Error) -> bool {
    fault.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
}

/// Converts the error of a damaged page to `None`.
fn unless_damaged<T>(asked: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match asked {
        Err(fault) if is_damage(&fault) => Ok(None),
        asked => asked.map(Some),
    }
}

/// Whether the integrity check of `SQLite` finds no fault in a table and its indexes.
fn is_table_whole(journal: &Connection, table: &str) -> rusqlite::Result<bool> {
    let found = journal
        .prepare(&format!("PRAGMA integrity_check({table})"))
        .and_then(|mut check| check.query_row([], |line| line.get::<_, String>(0)));
    Ok(unless_damaged(found)?.is_some_and(|found| found == "ok"))
}

/// The days with rows according to the table's time index.
///
/// `None` if the index is damaged.
fn days_by_index(journal: &Connection, kind: &RowKind) -> rusqlite::Result<Option<BTreeSet<Day>>> {
    let days = || -> rusqlite::Result<BTreeSet<Day>> {
        journal
            .prepare(&format!(
                "SELECT timestamp FROM {table} INDEXED BY {table}_by_time",
                table = kind.table
            ))?
            .query_map([], |line| line.get(0).map(|at| Day::of(Millis(at))))?
            .collect()
    };
    unless_damaged(days())
}

/// The exchanges in the table's unique index; empty if the index is damaged.
fn exchanges_by_name(journal: &Connection, kind: &RowKind) -> rusqlite::Result<BTreeSet<String>> {
    if is_of_maps(kind) {
        return Ok(BTreeSet::new());
    }
    let names = || -> rusqlite::Result<BTreeSet<String>> {
        journal
            .prepare(&format!(
                "SELECT DISTINCT exchange FROM {table} INDEXED BY sqlite_autoindex_{table}_1",
                table = kind.table
            ))?
            .query_map([], |line| line.get(0))?
            .collect()
    };
    unless_damaged(names()).map(Option::unwrap_or_default)
}

/// All exchanges that have a row, a session, a gap or a segment in the journal.
fn known_exchanges(journal: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let of_rows = ROW_KINDS.iter().filter(|kind| !is_of_maps(kind));
    let tables = of_rows.map(|kind| kind.table);
    let mut all = BTreeSet::new();
    for table in tables.chain(["sessions", "gaps", "part_venues"]) {
        let mut names = journal.prepare(&format!("SELECT DISTINCT exchange FROM {table}"))?;
        for name in names.query_map([], |line| line.get(0))? {
            all.insert(name?);
        }
    }
    Ok(all)
}

fn is_of_maps(kind: &RowKind) -> bool {
    kind.table == MapRow::TABLE
}

/// Joins days up to `now` into time ranges.
fn spans(days: &BTreeSet<Day>, now: Millis) -> Vec<(Millis, Millis)> {
    let mut spans: Vec<(Millis, Millis)> = Vec::new();
    for day in days.iter().filter(|day| day.0 >= 0 && day.start() < now) {
        let end = day.end().min(now);
        match spans.last_mut() {
            Some((_, last)) if *last == day.start() => *last = end,
            _ => spans.push((day.start(), end)),
        }
    }
    spans
}

/// Records that rows of a table may be missing in the time ranges `spans`.
fn record_gaps(
    journal: &Connection,
    kind: &RowKind,
    exchanges: &BTreeSet<String>,
    spans: &[(Millis, Millis)],
    now: Millis,
) -> rusqlite::Result<()> {
    // Maps have no exchange, so the exchange of their gaps is empty.
    let of_maps = BTreeSet::from([String::new()]);
    let exchanges = if is_of_maps(kind) {
        &of_maps
    } else {
        exchanges
    };
    for exchange in exchanges {
        for (start, end) in spans {
            let gap = damaged_rows(kind.table, exchange.clone(), (*start, *end), now);
            add_gap(journal, &gap)?;
        }
    }
    Ok(())
}
