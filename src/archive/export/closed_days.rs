//! Export of selected days: writes a journal that forms an archive together with copied segments.
//!
//! The exported journal contains the manifest, coverage and statistics of the selected days, and the rows of these days
//! that are in no segment. Every query about these days, coverage included, therefore gives the same result for the
//! copy. The exported journal is a single file without a write-ahead log.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, params};

use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, SegmentState};
use crate::archive::catalog::{file_versions, ingests, manifest_entry, stats};
use crate::archive::coverage_log::events;
use crate::archive::filter::Filter;
use crate::archive::integrity::verify;
use crate::archive::journal::database;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::totals::TotalRow;
use crate::archive::scan::table_scan;
use crate::archive::sql::row_kind::ROW_KINDS;
use crate::archive::sql::table;
use crate::archive::store::store::Store;
use crate::archive::{ArchiveError, files};
use crate::model::Millis;

/// The part of an archive to export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportSelection {
    /// Start of the first day; `None` means no limit.
    pub from: Option<Millis>,
    /// End of the last day, exclusive; `None` means no limit.
    pub until: Option<Millis>,
    /// Tables to export; all if empty.
    pub kinds: Vec<String>,
}

/// A segment in the manifest of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// Path in the manifest, with `/` as separator.
    pub path: String,
    /// Path below the archive's folder; differs from `path` if the segment is superseded.
    pub place: String,
    /// Table of the rows: `orders`, `bars`, `open_interest`, `maps`, `positions` or `totals`.
    pub holds: String,
    /// Number of rows in the segment.
    pub rows: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Whether the segment is active; false if it is quarantined.
    pub in_use: bool,
}

/// Segments and number of journal rows of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveContents {
    /// Random number that identifies the archive.
    ///
    /// An exported copy has the number of its source.
    pub series: u64,
    /// End of the last exported day, if the archive is an exported copy.
    pub closed: Option<Millis>,
    /// When the snapshot was taken, if the archive is a backup to which nothing was written since.
    pub backed_up: Option<Millis>,
    /// Number of rows that ever were in the journal. It never decreases.
    pub arrived: u64,
    /// Active and quarantined segments.
    pub files: Vec<ExportedFile>,
    /// Number of rows in the journal.
    pub journaled: u64,
}

/// Error of reading the source journal or of writing the exported journal.
enum ExportFault {
    Read(rusqlite::Error),
    Written(rusqlite::Error),
}

impl ExportSelection {
    /// Returns an error for an invalid selection.
    ///
    /// The instants must be starts of days, and the tables must exist.
    fn check(&self) -> Result<(), ArchiveError> {
        let refused = |parameter, message| Err(ArchiveError::BadRange { parameter, message });
        for (parameter, at) in [("start", self.from), ("end", self.until)] {
            if let Some(at) = at.filter(|at| Day::of(*at).start() != *at) {
                return refused(parameter, format!("{at} is not the start of a UTC day"));
            }
        }
        if let (Some(from), Some(until)) = (self.from, self.until)
            && from >= until
        {
            return refused("end", format!("{until} is not after the start, {from}"));
        }
        let known = ROW_KINDS.each_ref().map(|kind| kind.table);
        for kind in &self.kinds {
            if !known.contains(&kind.as_str()) {
                return refused(
                    "tables",
                    format!("{kind:?} is not allowed; allowed: {}", known.join(", ")),
                );
            }
        }
        Ok(())
    }

    fn has(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|named| named == kind)
    }

    fn first(&self) -> Millis {
        self.from.unwrap_or(Millis(i64::MIN))
    }

    fn end(&self) -> Millis {
        self.until.unwrap_or(Millis(i64::MAX))
    }
}

/// Implements `CatalogView::lists`.
pub(crate) fn lists(store: &Store) -> Result<ArchiveContents, ArchiveError> {
    refuse_faults(store)?;
    store.ask(|journal| {
        let mut lists = ArchiveContents {
            series: stats::known(journal)?.series,
            closed: stats::closed(journal)?,
            backed_up: stats::backed_up(journal)?,
            arrived: stats::arrived(journal)?,
            ..ArchiveContents::default()
        };
        let superseded: BTreeSet<String> =
            file_versions::superseded(journal)?.into_iter().collect();
        for state in [SegmentState::Active, SegmentState::Quarantined] {
            for part in manifest::all(journal, state)? {
                let place = if superseded.contains(&part.path) {
                    files::superseded(&part.path)
                } else {
                    part.path.clone()
                };
                lists.files.push(ExportedFile {
                    path: part.path,
                    place,
                    holds: part.holds,
                    rows: part.rows,
                    bytes: part.bytes,
                    sha256: part.sha256,
                    in_use: state == SegmentState::Active,
                });
            }
        }
        for kind in &ROW_KINDS {
            lists.journaled += kind.count(journal)?;
        }
        Ok(lists)
    })
}

/// Implements `Archive::export_journal`.
pub(crate) fn export_journal(
    store: &Store,
    into: &Path,
    selection: &ExportSelection,
) -> Result<ArchiveContents, ArchiveError> {
    selection.check()?;
    let path = into.join(database::FILE);
    refuse_faults(store)?;
    if path.exists() {
        return Err(ArchiveError::NotAnArchive {
            path,
            message: "the target already contains a journal".to_owned(),
        });
    }
    let coins = coins_within(store, selection)?;
    fs::create_dir_all(into).map_err(|source| ArchiveError::of_file(into, source))?;
    let mut copy = database::open_to_write(&path)?;
    let written = |source| ArchiveError::of_journal(&path, source);
    let transaction = copy.transaction().map_err(written)?;
    match store.ask(|journal| Ok(fill(journal, &transaction, selection, &coins)))? {
        Ok(()) => {}
        Err(ExportFault::Read(source)) => return Err(store.of_journal(source)),
        Err(ExportFault::Written(source)) => return Err(written(source)),
    }
    transaction.commit().map_err(written)?;
    database::finish(&copy).map_err(written)?;
    drop(copy);
    files::sync_folder(into)?;
    lists(&Store::open(into)?)
}

pub(crate) fn refuse_faults(store: &Store) -> Result<(), ArchiveError> {
    match verify::journal_faults(store)?.into_iter().next() {
        None => Ok(()),
        Some(message) => Err(ArchiveError::Damaged {
            path: store.path().join(database::FILE),
            message,
        }),
    }
}

/// Coins that have bars in the selected days.
fn coins_within(
    store: &Store,
    selection: &ExportSelection,
) -> Result<BTreeSet<String>, ArchiveError> {
    let mut within = BTreeSet::new();
    if !selection.has(BarRow::TABLE) {
        return Ok(within);
    }
    for coin in store.ask(|journal| stats::coins(journal, None))? {
        if coin.last_close <= selection.first() {
            continue;
        }
        // The filter limits the open time of the bars, not the time of receipt. A bar of a selected day may have been
        // received after that day.
        let filter = Filter {
            end: selection.until,
            symbol: Some(coin.symbol.clone()),
            ..Filter::default()
        };
        if coin.known_from < selection.end() || table_scan::first_bar(store, &filter)?.is_some() {
            within.insert(coin.symbol);
        }
    }
    Ok(within)
}

/// Copies the selected rows of every table.
fn fill(
    from: &Connection,
    into: &Transaction<'_>,
    selection: &ExportSelection,
    coins: &BTreeSet<String>,
) -> Result<(), ExportFault> {
    known_of(from, into, selection, coins)?;
    ingests_of(from, into)?;
    // Coverage concerns only orders.
    if selection.has(OrderRow::TABLE) {
        let range = params![selection.first().0, selection.end().0];
        lines(
            (
                from,
                "SELECT id, exchange, completeness, max(started, ?1), min(seen, ?2), known_at, late, ingest, undone FROM sessions
                 WHERE started < ?2 AND seen >= ?1 ORDER BY id",
                range,
            ),
            (
                into,
                "INSERT INTO sessions (id, exchange, completeness, started, seen, known_at, late, ingest, undone)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            ),
        )?;
        // Cutting gaps to the selected days may make them equal. Equal gaps are stored once, with the earliest
        // `recorded_at`.
        lines(
            (
                from,
                "SELECT exchange, max(start, ?1), min(\"end\", ?2), cause, holds, reason, recorded_at, max(silent_from, ?1),
                        withdrawn
                 FROM gaps WHERE start < ?2 AND \"end\" > ?1 ORDER BY recorded_at, id",
                range,
            ),
            (
                into,
                "INSERT INTO gaps (exchange, start, \"end\", cause, holds, reason, recorded_at, silent_from, withdrawn)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
            ),
        )?;
        notes(from, into, selection)?;
    }
    kind::<OrderRow>(from, into, selection)?;
    kind::<BarRow>(from, into, selection)?;
    kind::<OpenInterestRow>(from, into, selection)?;
    kind::<MapRow>(from, into, selection)?;
    kind::<PositionRow>(from, into, selection)?;
    kind::<TotalRow>(from, into, selection)
}

/// Copies the list of ingests.
fn ingests_of(from: &Connection, into: &Connection) -> Result<(), ExportFault> {
    for (table, columns) in ingests::TABLES {
        let places = vec!["?"; columns.split(", ").count()].join(", ");
        let select = format!("SELECT {columns} FROM {table}");
        let insert = format!("INSERT INTO {table} ({columns}) VALUES ({places})");
        lines((from, &select, &[]), (into, &insert))?;
    }
    Ok(())
}

/// Copies topic gaps, outcomes, counters and measurements.
fn notes(
    from: &Connection,
    into: &Transaction<'_>,
    selection: &ExportSelection,
) -> Result<(), ExportFault> {
    let (first, end) = (selection.first(), selection.end());
    let within = |start: &mut Millis, until: &mut Millis| {
        (*start, *until) = ((*start).max(first), (*until).min(end));
    };
    for mut gap in events::topic_gaps(from, first, end, None).map_err(ExportFault::Read)? {
        within(&mut gap.start, &mut gap.end);
        events::add_topic_gap(into, &gap).map_err(ExportFault::Written)?;
    }
    for mut outcome in events::outcomes(from, first, end, None).map_err(ExportFault::Read)? {
        within(&mut outcome.start, &mut outcome.end);
        events::add_outcome(into, &outcome).map_err(ExportFault::Written)?;
    }
    for tally in events::daily_counters(from, first, end).map_err(ExportFault::Read)? {
        events::add_counter(into, &tally).map_err(ExportFault::Written)?;
    }
    for mark in events::all_measurements(from, end).map_err(ExportFault::Read)? {
        events::add_measurement(into, &mark).map_err(ExportFault::Written)?;
    }
    Ok(())
}

/// Runs an insert statement with each row of a query.
fn lines(
    (from, select, parameters): (&Connection, &str, &[&dyn rusqlite::ToSql]),
    (into, insert): (&Connection, &str),
) -> Result<(), ExportFault> {
    let mut select = from.prepare(select).map_err(ExportFault::Read)?;
    let mut insert = into.prepare(insert).map_err(ExportFault::Written)?;
    let width = select.column_count();
    let mut found = select.query(parameters).map_err(ExportFault::Read)?;
    while let Some(line) = found.next().map_err(ExportFault::Read)? {
        let cells = (0..width)
            .map(|place| line.get::<_, Value>(place))
            .collect::<rusqlite::Result<Vec<_>>>()
            .map_err(ExportFault::Read)?;
        insert
            .execute(rusqlite::params_from_iter(cells))
            .map_err(ExportFault::Written)?;
    }
    Ok(())
}

/// Copies the series number, newest instant and coins of the archive.
fn known_of(
    from: &Connection,
    into: &Connection,
    selection: &ExportSelection,
    coins: &BTreeSet<String>,
) -> Result<(), ExportFault> {
    let all = stats::known(from).map_err(ExportFault::Read)?;
    let before = stats::closed(from).map_err(ExportFault::Read)?;
    let closed = match (before, selection.until) {
        (Some(before), Some(until)) => Some(before.min(until)),
        (before, until) => before.or(until),
    };
    let newest = all.newest.map(|newest| newest.min(selection.end()));
    stats::begin_as(into, all.series, newest, closed).map_err(ExportFault::Written)?;
    let mut select = from
        .prepare("SELECT symbol, known_from, last_close FROM coins ORDER BY symbol")
        .map_err(ExportFault::Read)?;
    let mut found = select.query([]).map_err(ExportFault::Read)?;
    while let Some(line) = found.next().map_err(ExportFault::Read)? {
        let read = || Ok::<(String, i64, i64), _>((line.get(0)?, line.get(1)?, line.get(2)?));
        let (symbol, known_from, last_close) = read().map_err(ExportFault::Read)?;
        if coins.contains(&symbol) {
            let last_close = last_close.min(selection.end().0);
            stats::note_coin(into, &symbol, known_from, last_close)
                .map_err(ExportFault::Written)?;
        }
    }
    Ok(())
}

/// Copies the manifest entries of one table, and its journal rows.
fn kind<R: Row>(
    from: &Connection,
    into: &Transaction<'_>,
    selection: &ExportSelection,
) -> Result<(), ExportFault> {
    if !selection.has(R::TABLE) {
        return Ok(());
    }
    let (first, end) = (selection.first(), selection.end());
    for day in manifest::days(from, R::TABLE).map_err(ExportFault::Read)? {
        if day.start() >= first && day.end() <= end {
            for line in manifest_entry::of_day(from, R::TABLE, day).map_err(ExportFault::Read)? {
                manifest_entry::add(into, &line).map_err(ExportFault::Written)?;
            }
        }
    }
    for day in database::days::<R>(from, first, end).map_err(ExportFault::Read)? {
        let rows = database::rows_by_ingest::<R>(from, day.start(), day.end());
        for (ingest, rows) in rows.map_err(ExportFault::Read)? {
            table::insert_of(into, &rows, ingest.as_deref()).map_err(ExportFault::Written)?;
        }
    }
    Ok(())
}
