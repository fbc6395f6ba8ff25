//! The journal: connections, tables, inserts and queries of the `SQLite` database.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use crate::archive::batch::{Acknowledged, Batch};
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, Partition};
use crate::archive::catalog::stats::{self, StatsUpdate};
use crate::archive::catalog::{file_versions, ingests};
use crate::archive::checksums::crc;
use crate::archive::coverage_log::events;
use crate::archive::coverage_log::pending;
use crate::archive::coverage_log::sessions;
use crate::archive::coverage_log::sessions::Gap;
use crate::archive::filter::{Filter, MemoryBudget};
use crate::archive::journal::row_checksums;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::sql::row_kind::{ROW_KINDS, RowKind};
use crate::archive::sql::table;
use crate::archive::{ArchiveError, files};
use crate::model::Millis;

/// File name of the journal in the archive's folder.
pub(crate) const FILE: &str = "journal.sqlite";
/// Error message for a journal without tables.
///
/// Such a journal remains if the process is killed while it creates the archive.
pub(crate) const EMPTY: &str = "the journal is empty";
/// Oldest allowed `SQLite` version.
///
/// Older versions may lose a transaction when they reset the write-ahead log.
const OLDEST_SQLITE: i32 = 3_051_003;
/// The `application_id` of the database: `liqd` in ASCII.
const APPLICATION: i32 = 0x6C69_7164;
/// Format version of the archive's layout; the first release has version 1.
const VERSION: i32 = 1;
/// SQL that brings the journal to the next format version: the first entry from version 1 to version 2, and so on.
///
/// An entry never changes after its release. [`VERSION`] is one more than their number.
const MIGRATIONS: [&str; 0] = [];
/// Number of `SQLite` virtual machine steps between two calls of a progress handler.
///
/// These steps take a few milliseconds.
const LOOK: i32 = 100_000;
/// Maximum time that a call waits for another process's lock on the journal.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns an error for a `SQLite` version that may lose commits.
fn check_sqlite(path: &Path) -> Result<(), ArchiveError> {
    if rusqlite::version_number() >= OLDEST_SQLITE {
        Ok(())
    } else {
        Err(ArchiveError::ReadOnly {
            path: path.to_owned(),
            message: format!(
                "this build contains SQLite {}; 3.51.3 or newer is needed",
                rusqlite::version()
            ),
        })
    }
}

/// Returns an error if the journal or a companion file is not a plain file.
///
/// `SQLite` would follow a link and wait for a pipe.
fn refuse_others(journal: &Path) -> Result<(), ArchiveError> {
    files::refuse_other_than_file(journal)?;
    for ending in ["-wal", "-shm", "-journal"] {
        files::refuse_other_than_file(&companion(journal, ending))?;
    }
    Ok(())
}

/// Opens the journal for writing; creates it if it is missing.
pub(crate) fn open_to_write(path: &Path) -> Result<Connection, ArchiveError> {
    check_sqlite(path)?;
    refuse_others(path)?;
    let fault = |source| ArchiveError::of_journal(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut journal =
        Connection::open_with_flags(path, flags).map_err(|source| not_opened(path, source))?;
    journal.busy_timeout(PATIENCE).map_err(fault)?;
    let version = check_application(&journal, path, true)?;
    let mode: String = journal
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(fault)?;
    // On macOS, a plain fsync writes only to the drive's cache, so `fullfsync` is needed. On other systems the two
    // settings have no effect.
    journal
        .execute_batch(
            "PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             PRAGMA foreign_keys = ON;
             PRAGMA trusted_schema = OFF;
             PRAGMA cell_size_check = ON;
             PRAGMA journal_size_limit = 67108864;",
        )
        .map_err(fault)?;
    let synchronous: i64 = journal
        .query_row("PRAGMA synchronous", [], |row| row.get(0))
        .map_err(fault)?;
    if mode != "wal" || synchronous != 2 {
        return Err(ArchiveError::ReadOnly {
            path: path.to_owned(),
            message: format!(
                "the file system does not allow a durable journal (journal_mode {mode}, synchronous {synchronous}; \
                 wal and 2 are needed)"
            ),
        });
    }
    reject_unknown_names(&journal).map_err(fault)?;
    crc::register(&journal).map_err(fault)?;
    migrate(&mut journal, version, &MIGRATIONS).map_err(fault)?;
    create(&mut journal).map_err(fault)?;
    Ok(journal)
}

/// Brings a journal of an earlier format version to that of this build, each step in one transaction.
fn migrate(journal: &mut Connection, from: i32, steps: &[&str]) -> rusqlite::Result<()> {
    for (version, step) in (1..).zip(steps).skip_while(|(version, _)| *version < from) {
        let transaction = journal.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", version + 1)?;
        transaction.commit()?;
        log::info!(target: "liqdata::archive", "the archive was migrated from format {version} to {}", version + 1);
    }
    Ok(())
}

/// Makes an unknown quoted name in SQL an error.
///
/// By default `SQLite` treats it as a string.
fn reject_unknown_names(journal: &Connection) -> rusqlite::Result<()> {
    journal
        .set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)
        .map(drop)
}

/// A connection for reading.
pub(crate) struct Reader {
    pub(crate) connection: Connection,
    /// State of the journal's files when the journal was opened as immutable.
    ///
    /// `SQLite` never looks for new commits then, so the files must be compared before each query.
    immutable: Option<FileState>,
    /// See [`look_while`].
    goes_on: Option<Arc<GoesOn>>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Reader");
        shown
            .field("immutable", &self.immutable)
            .finish_non_exhaustive()
    }
}

/// Callback that returns false to stop a query.
type GoesOn = dyn Fn() -> bool + Send + Sync;

/// Size and modification time of the journal, and size of its write-ahead log.
type FileState = (u64, Option<SystemTime>, u64);

/// Time within which two changes of a file may have the same modification time.
const CLOCK_STEP: Duration = Duration::from_secs(1);

fn file_state(path: &Path) -> Option<FileState> {
    let found = fs::metadata(path).ok()?;
    let log = fs::metadata(companion(path, "-wal")).map_or(0, |log| log.len());
    Some((found.len(), found.modified().ok(), log))
}

impl Reader {
    /// Whether the journal was opened as immutable and may have changed since.
    pub(crate) fn is_outdated(&self, path: &Path) -> bool {
        let Some((_, modified, _)) = self.immutable else {
            return false;
        };
        let is_fresh = modified.is_none_or(|at| at.elapsed().is_ok_and(|age| age < CLOCK_STEP));
        is_fresh || file_state(path) != self.immutable
    }

    /// Opens the journal again; queries stay as interruptible as before.
    pub(crate) fn renew(&mut self, path: &Path) -> Result<(), ArchiveError> {
        let mut fresh = open_to_read(path)?;
        if let Some(goes_on) = &self.goes_on {
            fresh
                .look_while(goes_on)
                .map_err(|source| ArchiveError::of_journal(path, source))?;
        }
        *self = fresh;
        Ok(())
    }

    /// As [`look_while`].
    pub(crate) fn look_while(&mut self, goes_on: &Arc<GoesOn>) -> rusqlite::Result<()> {
        look_while(&mut self.connection, goes_on)?;
        self.goes_on = Some(Arc::clone(goes_on));
        Ok(())
    }

    /// Returns an error if an immutable journal was written to since it was opened, so that a query may have read parts
    /// of two states.
    pub(crate) fn refuse_mixture(&self, path: &Path) -> Result<(), ArchiveError> {
        let file = |(size, modified, _)| (size, modified);
        if self.immutable.is_none() || file_state(path).map(file) == self.immutable.map(file) {
            return Ok(());
        }
        let message = "it was written to during the query, and cannot be locked; try again";
        Err(ArchiveError::Io {
            path: path.to_owned(),
            source: std::io::Error::new(std::io::ErrorKind::ResourceBusy, message),
        })
    }
}

/// Opens the journal for reading.
pub(crate) fn open_to_read(path: &Path) -> Result<Reader, ArchiveError> {
    check_sqlite(path)?;
    refuse_others(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |name: PathBuf, flags| -> rusqlite::Result<Connection> {
        let journal = Connection::open_with_flags(name, flags)?;
        journal.busy_timeout(PATIENCE)?;
        journal.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")?;
        reject_unknown_names(&journal)?;
        crc::register(&journal)?;
        // The first read opens the shared memory file, so it reveals a missing permission.
        journal.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(journal)
    };
    let mut state = None;
    let connection = match open(path.to_owned(), flags) {
        Ok(connection) => connection,
        Err(source) if needs_to_write(&source) => {
            state = file_state(path);
            if state.is_some_and(|(_, _, log)| log > 0) {
                return Err(ArchiveError::ReadOnly {
                    path: path.to_owned(),
                    message: "the journal was not closed and its folder cannot be written to, so its last rows \
                              cannot be read; copy the archive to a writable folder, allow writing, or free disk space"
                        .to_owned(),
                });
            }
            // The shared memory file cannot be made and the write-ahead log is empty, so the database file is complete.
            open(immutable(path), flags | OpenFlags::SQLITE_OPEN_URI)
                .map_err(|source| not_opened(path, source))?
        }
        Err(source) => return Err(not_opened(path, source)),
    };
    check_application(&connection, path, false)?;
    Ok(Reader {
        connection,
        immutable: state,
        goes_on: None,
    })
}

fn needs_to_write(source: &rusqlite::Error) -> bool {
    matches!(
        source.sqlite_error_code(),
        // `DiskFull` and `SystemIoFailure` mean that the disk has no space for the shared memory file.
        Some(
            rusqlite::ErrorCode::ReadOnly
                | rusqlite::ErrorCode::CannotOpen
                | rusqlite::ErrorCode::DiskFull
                | rusqlite::ErrorCode::SystemIoFailure
        )
    )
}

/// Path of a companion file of the journal, such as its write-ahead log.
pub(crate) fn companion(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Size of the write-ahead log of the archive in a folder, in bytes.
///
/// It exceeds 64 MiB only while a read transaction, such as that of a stopped process, keeps the log from being emptied.
#[must_use]
pub fn log_bytes(folder: &Path) -> u64 {
    fs::metadata(companion(&folder.join(FILE), "-wal")).map_or(0, |log| log.len())
}

/// URI that opens the journal as immutable: `SQLite` then assumes that no process writes to the file.
fn immutable(path: &Path) -> PathBuf {
    let path = path
        .to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    PathBuf::from(format!("file:{path}?immutable=1"))
}

fn not_opened(path: &Path, source: rusqlite::Error) -> ArchiveError {
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => ArchiveError::NotAnArchive {
            path: path.to_owned(),
            message: "the file is not a SQLite database".to_owned(),
        },
        Some(rusqlite::ErrorCode::CannotOpen) => ArchiveError::Denied {
            path: path.to_owned(),
            message: why_not_opened(path).unwrap_or_else(|| source.to_string()),
        },
        _ => ArchiveError::of_journal(path, source),
    }
}

/// The operating system's error message for a file that `SQLite` cannot open.
fn why_not_opened(path: &Path) -> Option<String> {
    files::refuse_other_than_file(path).ok()?;
    fs::File::open(path).err().map(|source| source.to_string())
}

/// Returns the format version of a journal; an error for a database of another program or an unknown version.
///
/// A writer accepts an empty database and an earlier version, which it migrates.
fn check_application(
    journal: &Connection,
    path: &Path,
    is_writer: bool,
) -> Result<i32, ArchiveError> {
    let number = |pragma| journal.query_row(pragma, [], |row| row.get::<_, i32>(0));
    let refused = |message| {
        Err(ArchiveError::NotAnArchive {
            path: path.to_owned(),
            message,
        })
    };
    let (application, version, tables) = number("PRAGMA application_id")
        .and_then(|application| {
            Ok((
                application,
                number("PRAGMA user_version")?,
                number("SELECT count(*) FROM sqlite_schema")?,
            ))
        })
        .map_err(|source| not_opened(path, source))?;
    if tables == 0 && application == 0 {
        return if is_writer {
            Ok(VERSION)
        } else {
            refused(EMPTY.to_owned())
        };
    }
    if application != APPLICATION {
        return refused("the database belongs to another program".to_owned());
    }
    if version == VERSION || is_writer && (1..VERSION).contains(&version) {
        Ok(version)
    } else {
        Err(ArchiveError::OtherVersion {
            path: path.to_owned(),
            version,
            known: VERSION,
        })
    }
}

/// Makes all statements of this connection call `goes_on` while they run.
///
/// If it returns false, the running statement fails.
pub(crate) fn look_while(journal: &mut Connection, goes_on: &Arc<GoesOn>) -> rusqlite::Result<()> {
    let goes_on = Arc::clone(goes_on);
    journal.progress_handler(LOOK, Some(move || !goes_on()))
}

/// Writes the write-ahead log to the database file.
///
/// Returns false if a reader prevents it.
pub(crate) fn checkpoint(journal: &Connection) -> rusqlite::Result<bool> {
    journal.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
        Ok(row.get::<_, i64>(0)? == 0)
    })
}

/// Turns a finished journal into a single file without a write-ahead log.
pub(crate) fn finish(journal: &Connection) -> rusqlite::Result<()> {
    journal.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
}

/// Creates the tables in one transaction, if the database has none.
pub(crate) fn create(journal: &mut Connection) -> rusqlite::Result<()> {
    let transaction = journal.transaction()?;
    let tables: i64 =
        transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        let of_rows = ROW_KINDS.iter().map(RowKind::create);
        let others = [
            sessions::create(),
            events::create(),
            manifest::CREATE.to_owned(),
            file_versions::CREATE.to_owned(),
            ingests::CREATE.to_owned(),
            stats::CREATE.to_owned(),
        ];
        for table in of_rows.chain(others) {
            transaction.execute_batch(&table)?;
        }
        row_checksums::add(&transaction)?;
        stats::begin(&transaction)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

/// A stored order that a collector now delivered under another key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CollectedAgain {
    /// The id of a row of the journal.
    InJournal(i64),
    /// The path of a segment and the key of its row.
    InSegment(String, String),
}

/// Orders of the journal at some instants, with their row ids. Leaves out damaged rows.
pub(crate) fn orders_at<'a>(
    journal: &Connection,
    instants: impl IntoIterator<Item = &'a Millis>,
) -> rusqlite::Result<Vec<(i64, OrderRow)>> {
    let mut statement = journal.prepare_cached(&format!(
        "SELECT {} FROM orders INDEXED BY orders_by_time WHERE timestamp = ?1",
        table::checked::<OrderRow>()
    ))?;
    let mut orders = Vec::new();
    for at in instants {
        let rows = statement.query_map([at.0], |line| {
            Ok((line.get(0)?, checked_row::<OrderRow>(line).ok()))
        })?;
        for row in rows {
            let (id, row) = row?;
            orders.extend(row.map(|row| (id, row)));
        }
    }
    Ok(orders)
}

/// Appends batches in one transaction, and records `gaps` or extends existing ones.
///
/// The stored orders `again` count as collected from then on. Returns once the transaction is durable.
pub(crate) fn append(
    journal: &mut Connection,
    batches: &[Batch],
    gaps: &[Gap],
    again: &[CollectedAgain],
) -> rusqlite::Result<Vec<Acknowledged>> {
    let transaction = journal.transaction()?;
    let acknowledged = batches
        .iter()
        .map(|batch| {
            let orders = table::insert(&transaction, &batch.orders)?;
            let bars = table::insert(&transaction, &batch.bars)?;
            let open_interest = table::insert(&transaction, &batch.open_interest)?;
            let maps = table::insert(&transaction, &batch.maps)?;
            let positions = table::insert(&transaction, &batch.positions)?;
            let totals = table::insert(&transaction, &batch.totals)?;
            for gap in &batch.gaps {
                sessions::add_gap(&transaction, gap)?;
            }
            for (run, at) in &batch.seen {
                sessions::extend(&transaction, *run, *at)?;
            }
            for one in &batch.pending {
                pending::record(&transaction, one)?;
            }
            for gap in &batch.topic_gaps {
                events::add_topic_gap(&transaction, gap)?;
            }
            for outcome in &batch.outcomes {
                events::add_outcome(&transaction, outcome)?;
            }
            for tally in &batch.counters {
                events::add_counter(&transaction, tally)?;
            }
            for mark in &batch.measurements {
                events::add_measurement(&transaction, mark)?;
            }
            let mut noted = StatsUpdate::default();
            noted.take(&batch.orders);
            noted.take(&batch.bars);
            noted.take(&batch.open_interest);
            noted.take(&batch.totals);
            noted.write(&transaction)?;
            Ok(Acknowledged {
                orders,
                bars,
                open_interest,
                maps,
                positions,
                totals,
                repeated: batch.rows() - orders - bars - open_interest - maps - positions - totals,
            })
        })
        .collect::<rusqlite::Result<Vec<_>>>()?;
    for gap in gaps {
        sessions::grow_gap(&transaction, gap)?;
    }
    for one in again {
        match one {
            CollectedAgain::InJournal(id) => table::release_id::<OrderRow>(&transaction, *id)?,
            CollectedAgain::InSegment(path, key) => {
                ingests::add_collected(&transaction, path, key)?;
            }
        }
    }
    transaction.commit()?;
    Ok(acknowledged)
}

/// Maximum number of rows that a read transaction copies.
///
/// The write-ahead log cannot be emptied during a read transaction, even if its process is stopped.
pub(crate) const BATCH: u32 = 50_000;

/// Time and id of a row, as a position in a read by time.
pub(crate) type RowPosition = (Millis, i64);

/// Whether there is a row between `start` and `end`.
pub(crate) fn has_within<R: Row>(
    journal: &Connection,
    start: Millis,
    end: Millis,
) -> rusqlite::Result<bool> {
    journal
        .prepare_cached(&format!(
            "SELECT EXISTS (SELECT 1 FROM {} WHERE timestamp >= ?1 AND timestamp < ?2)",
            R::TABLE
        ))?
        .query_row([start.0, end.0], |row| row.get(0))
}

/// Up to [`BATCH`] rows from `start` (inclusive) to `end` (exclusive) that match `filter`, by time.
///
/// Begins behind a position, and returns the one at which the next batch begins. Rows with an id above `last` came later
/// and are left out. Stops when the memory budget `room` is used up.
pub(crate) fn rows_within<R: Row>(
    journal: &Connection,
    (start, end): (Millis, Millis),
    filter: &Filter,
    (behind, last): (Option<RowPosition>, i64),
    room: &mut MemoryBudget,
) -> rusqlite::Result<(Vec<R>, Option<RowPosition>)> {
    // If the table has no column for the exchange or the kind, a filter on it matches no row.
    if filter.exchange.is_some() && R::APART != "exchange"
        || filter.kind.is_some() && R::KIND.is_none()
    {
        return Ok((Vec::new(), None));
    }
    // The statement compares only the names that the filter contains, so that `SQLite` can use an index.
    let named = [
        ("exchange", 3, &filter.exchange),
        ("symbol", 4, &filter.symbol),
        (R::COIN, 5, &filter.coin),
        (R::KIND.unwrap_or_default(), 6, &filter.kind),
    ];
    let conditions: String = named
        .into_iter()
        .map(|(column, place, name)| match name {
            Some(_) => format!(" AND {column} = ?{place}"),
            None => format!(" AND ?{place} IS NULL"),
        })
        .collect();
    let mut statement = journal.prepare_cached(&format!(
        "SELECT {} FROM {} WHERE timestamp >= ?1 AND timestamp < ?2{conditions}
         AND (timestamp > ?1 OR id > ?7) AND id <= ?8 ORDER BY timestamp, id LIMIT {BATCH}",
        table::checked::<R>(),
        R::TABLE,
    ))?;
    let (start, above) = behind.unwrap_or((start, i64::MIN));
    let found = statement.query_map(
        params![
            start.0,
            end.0,
            filter.exchange,
            filter.symbol,
            filter.coin,
            filter.kind,
            above,
            last
        ],
        |line| Ok((line.get::<_, i64>(0)?, checked_row::<R>(line)?)),
    )?;
    let mut rows = Vec::new();
    let (mut count, mut position) = (0, None);
    for row in found {
        let (id, row) = row?;
        count += 1;
        position = Some((row.timestamp(), id));
        // The statement checks only some conditions of the filter.
        if !filter.admits(&row) {
            continue;
        }
        if !room.take(&row) {
            return Ok((rows, None));
        }
        rows.push(row);
    }
    Ok((rows, position.filter(|_| count == BATCH)))
}

/// Rows from `start` (inclusive) to `end` (exclusive), by the id of their ingest.
pub(crate) fn rows_by_ingest<R: Row>(
    journal: &Connection,
    start: Millis,
    end: Millis,
) -> rusqlite::Result<BTreeMap<Option<String>, Vec<R>>> {
    let mut statement = journal.prepare_cached(&format!(
        "SELECT {}, ingest FROM {} WHERE timestamp >= ?1 AND timestamp < ?2 ORDER BY id",
        table::checked::<R>(),
        R::TABLE,
    ))?;
    let mut found = statement.query([start.0, end.0])?;
    let mut rows: BTreeMap<Option<String>, Vec<R>> = BTreeMap::new();
    while let Some(line) = found.next()? {
        let row = checked_row(line)?;
        rows.entry(line.get(2 + R::COLUMNS.len())?)
            .or_default()
            .push(row);
    }
    Ok(rows)
}

/// Rows of an ingest, with their row ids.
pub(crate) fn rows_of_ingest<R: Row>(
    journal: &Connection,
    ingest: &str,
) -> rusqlite::Result<Vec<(i64, R)>> {
    journal
        .prepare_cached(&format!(
            "SELECT {} FROM {} WHERE ingest = ?1",
            table::checked::<R>(),
            R::TABLE
        ))?
        .query_map([ingest], |line| Ok((line.get(0)?, checked_row(line)?)))?
        .collect()
}

/// Reads a row from a result line of a query for [`table::checked`].
///
/// The line consists of the row id, whether the checksum matches, and the cells. Returns an error if the checksum is
/// wrong.
pub(crate) fn checked_row<R: Row>(line: &rusqlite::Row<'_>) -> rusqlite::Result<R> {
    if line.get(1)? {
        return table::read::<R>(line, 2);
    }
    let id: i64 = line.get(0)?;
    let what = format!("row {id} of table {} has a wrong checksum", R::TABLE);
    Err(table::not_readable(1, what))
}

/// Partitions with rows in the journal, in order.
pub(crate) fn partitions<R: Row>(journal: &Connection) -> rusqlite::Result<Vec<Partition>> {
    let mut found = Vec::new();
    for day in days::<R>(journal, Millis(i64::MIN), Millis(i64::MAX))? {
        if R::HAS_INTERVAL {
            let intervals = journal
                .prepare_cached(&format!(
                    "SELECT DISTINCT interval FROM {} WHERE timestamp >= ?1 AND timestamp < ?2 ORDER BY interval",
                    R::TABLE
                ))?
                .query_map([day.start().0, day.end().0], |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<i64>>>()?;
            found.extend(
                intervals
                    .into_iter()
                    .map(|interval| Partition { day, interval }),
            );
        } else {
            found.push(Partition { day, interval: 0 });
        }
    }
    Ok(found)
}

/// Days between `start` and `end` with rows in the journal, in order.
///
/// Uses one index lookup per day.
pub(crate) fn days<R: Row>(
    journal: &Connection,
    start: Millis,
    end: Millis,
) -> rusqlite::Result<Vec<Day>> {
    let mut statement = journal.prepare_cached(&format!(
        "SELECT min(timestamp) FROM {} WHERE timestamp >= ?1 AND timestamp < ?2",
        R::TABLE
    ))?;
    let mut days = Vec::new();
    let mut from = start;
    while let Some(next) =
        statement.query_row([from.0, end.0], |row| row.get::<_, Option<i64>>(0))?
    {
        let day = Day::of(Millis(next));
        days.push(day);
        from = day.end();
    }
    Ok(days)
}

/// Time of the last row between `start` and `end`.
pub(crate) fn newest<R: Row>(
    journal: &Connection,
    start: Millis,
    end: Millis,
) -> rusqlite::Result<Option<Millis>> {
    journal
        .prepare_cached(&format!(
            "SELECT max(timestamp) FROM {} WHERE timestamp >= ?1 AND timestamp < ?2",
            R::TABLE
        ))?
        .query_row([start.0, end.0], |row| {
            row.get::<_, Option<i64>>(0).map(|at| at.map(Millis))
        })
}

/// Number of rows between `start` and `end`, and the largest of their ids.
pub(crate) fn extent<R: Row>(
    journal: &Connection,
    start: Millis,
    end: Millis,
) -> rusqlite::Result<(i64, i64)> {
    journal
        .prepare_cached(&format!(
            "SELECT count(*), ifnull(max(rowid), 0) FROM {} WHERE timestamp >= ?1 AND timestamp < ?2",
            R::TABLE
        ))?
        .query_row([start.0, end.0], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Row counts by ingest id, for each exchange or kind of map.
pub(crate) type RowCounts = BTreeMap<Option<String>, Vec<(String, u64)>>;

/// Counts the rows of a partition per ingest, and per exchange or kind of map.
pub(crate) fn groups<R: Row>(
    journal: &Connection,
    partition: Partition,
) -> rusqlite::Result<RowCounts> {
    let mut statement = journal.prepare_cached(&format!(
        "SELECT {apart}, count(*), ingest FROM {} WHERE timestamp >= ?1 AND timestamp < ?2 AND {}
             GROUP BY ingest, {apart} ORDER BY {apart}",
        R::TABLE,
        of_interval::<R>(),
        apart = R::APART,
    ))?;
    let (start, end) = (partition.day.start().0, partition.day.end().0);
    let mut rows = statement.query(params![start, end, partition.interval])?;
    let mut groups = RowCounts::new();
    while let Some(row) = rows.next()? {
        let count: i64 = row.get(1)?;
        let group = (row.get(0)?, u64::try_from(count).unwrap_or(0));
        groups.entry(row.get(2)?).or_default().push(group);
    }
    Ok(groups)
}

/// SQL condition: the bar length is `?3`.
///
/// True for rows without a length, for which `?3` is 0.
fn of_interval<R: Row>() -> &'static str {
    if R::HAS_INTERVAL {
        "interval = ?3"
    } else {
        "?3 = 0"
    }
}

/// Id of the last row of a table, or 0.
pub(crate) fn last<R: Row>(journal: &Connection) -> rusqlite::Result<i64> {
    journal
        .prepare_cached(&format!("SELECT coalesce(max(id), 0) FROM {}", R::TABLE))?
        .query_row([], |row| row.get(0))
}

/// Up to `limit` rows of a partition with ids up to `last`, for the next segment.
///
/// Returns only rows of `ingest`, and only rows of `group` if it is given. Stops once the rows take `weight` bytes. The
/// rows are in the order in which the partition is divided into segments.
pub(crate) fn to_compact<R: Row>(
    journal: &Connection,
    partition: Partition,
    (ingest, group): (Option<&str>, Option<&str>),
    last: i64,
    (limit, weight): (usize, usize),
) -> rusqlite::Result<Vec<(i64, R)>> {
    let mut statement = journal.prepare_cached(&format!(
        "SELECT {checked} FROM {table} INDEXED BY {table}_by_time
         WHERE timestamp >= ?1 AND timestamp < ?2 AND {} AND (?4 IS NULL OR {} = ?4) AND id <= ?6 AND ingest IS ?7
         ORDER BY {}, id LIMIT ?5",
        of_interval::<R>(),
        R::APART,
        R::DIVIDED,
        checked = table::checked::<R>(),
        table = R::TABLE,
    ))?;
    let rows = statement.query_map(
        params![
            partition.day.start().0,
            partition.day.end().0,
            partition.interval,
            group,
            i64::try_from(limit).unwrap_or(i64::MAX),
            last,
            ingest,
        ],
        |row| Ok((row.get(0)?, checked_row::<R>(row)?)),
    )?;
    let mut found: Vec<(i64, R)> = Vec::new();
    let mut taken = 0_usize;
    for row in rows {
        let row = row?;
        taken = taken.saturating_add(row.1.weight());
        found.push(row);
        if taken >= weight {
            break;
        }
    }
    Ok(found)
}

/// Deletes rows of a table by id; returns the number of deleted rows.
pub(crate) fn delete(journal: &Connection, table: &str, ids: &[i64]) -> rusqlite::Result<usize> {
    stats::record_removed(journal, table, ids)?;
    let mut statement = journal.prepare_cached(&format!("DELETE FROM {table} WHERE id = ?1"))?;
    ids.iter().map(|id| statement.execute([id])).sum()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn each_migration_runs_once_and_in_order() {
        assert_eq!(usize::try_from(VERSION).unwrap(), 1 + MIGRATIONS.len());
        let mut journal = Connection::open_in_memory().unwrap();
        let version = |journal: &Connection| -> i32 {
            journal
                .query_row("PRAGMA user_version", [], |row| row.get(0))
                .unwrap()
        };
        journal
            .execute_batch(
                "CREATE TABLE one (a); INSERT INTO one VALUES (1); PRAGMA user_version = 1;",
            )
            .unwrap();
        let steps = [
            "ALTER TABLE one ADD COLUMN b; UPDATE one SET b = a + 1;",
            "ALTER TABLE one ADD COLUMN c; UPDATE one SET c = b + 1;",
        ];
        migrate(&mut journal, 1, &steps[..1]).unwrap();
        assert_eq!(version(&journal), 2);
        migrate(&mut journal, 2, &steps).unwrap();
        migrate(&mut journal, 3, &steps).unwrap();
        assert_eq!(version(&journal), 3);
        let row: (i32, i32, i32) = journal
            .query_row("SELECT a, b, c FROM one", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap();
        assert_eq!(row, (1, 2, 3));
        // A step that fails changes nothing.
        assert!(
            migrate(
                &mut journal,
                3,
                &[steps[0], steps[1], "DELETE FROM one; SELECT nothing;"]
            )
            .is_err()
        );
        assert_eq!(version(&journal), 3);
        let rows: i32 = journal
            .query_row("SELECT count(*) FROM one", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 1);
    }
}
