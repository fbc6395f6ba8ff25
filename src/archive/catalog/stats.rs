//! Statistics that are read without a scan: newest instant, coins and row ids.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use crate::archive::catalog::file_versions;
use crate::archive::catalog::manifest::Day;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::totals::TotalRow;
use crate::archive::sql::table;
use crate::model::{ALL_EXCHANGES, Millis, record};

pub(crate) const CREATE: &str = "
    CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
    CREATE TABLE coins (symbol TEXT PRIMARY KEY, known_from INTEGER NOT NULL, last_close INTEGER NOT NULL,
                        gone_at INTEGER) STRICT;";

/// Random number that identifies this archive's sequence of row ids.
const SERIES: &str = "series";
/// Name of the newest instant; see [`ArchiveSummary::newest`].
const NEWEST: &str = "newest";
/// Number of times that rows were removed from the journal.
const REMOVALS: &str = "removals";
/// End of the last exported day; set only in an exported copy.
const CLOSED: &str = "closed";
/// When the snapshot of a backup was taken; set only until something is written to the copy.
const BACKED_UP: &str = "backed_up";

record! {
    /// A coin that has bars.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct KnownCoin {
        /// Coin symbol.
        pub symbol: String,
        /// Instant from which its first bar was both closed and received.
        pub known_from: Millis,
        /// Close time of its last bar.
        pub last_close: Millis,
    }
}

/// Position in the order of arrival: the last row id of each table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalPosition {
    /// Id of the last order.
    pub orders: i64,
    /// Id of the last bar.
    pub bars: i64,
    /// Id of the last open interest reading.
    pub open_interest: i64,
    /// Id of the last total of a period.
    pub totals: i64,
}

/// Row ids and newest instant of an archive, which identify its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveSummary {
    /// Identifies the archive's sequence of row ids.
    pub series: u64,
    /// Newest instant of all rows.
    ///
    /// For orders and open interest readings this is their time, for bars and totals the end.
    pub newest: Option<Millis>,
    /// The last row id of each table. Rows that arrive later have larger ids.
    pub end: ArrivalPosition,
    /// Largest row ids that may have left the journal. Rows with these or lower ids may be in segments.
    pub rolled: ArrivalPosition,
    /// Number of times that rows were removed from the journal.
    pub removals: i64,
}

/// Size of the stored maps by day, in bytes: compressed in segments and in the journal.
pub(crate) fn map_bytes_by_day(journal: &Connection) -> rusqlite::Result<Vec<(Day, u64)>> {
    journal
        .prepare_cached(
            "SELECT day, sum(bytes) FROM (
                 SELECT day, bytes FROM manifest WHERE holds = 'maps' AND state <> 'pending'
                 UNION ALL SELECT timestamp / 86400000, length(reply) FROM maps)
             GROUP BY day ORDER BY day",
        )?
        .query_map([], |line| {
            let bytes: i64 = line.get(1)?;
            Ok((Day(line.get(0)?), u64::try_from(bytes).unwrap_or_default()))
        })?
        .collect()
}

/// Size of the files of each table in bytes, by table name; superseded files are one of the entries.
pub(crate) fn file_bytes(journal: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    journal
        .prepare_cached(
            "SELECT CASE WHEN superseded_at IS NULL THEN holds ELSE 'superseded' END AS part, sum(bytes)
             FROM manifest LEFT JOIN generations USING (path) GROUP BY part",
        )?
        .query_map([], |line| {
            let bytes: i64 = line.get(1)?;
            Ok((line.get(0)?, u64::try_from(bytes).unwrap_or_default()))
        })?
        .collect()
}

/// The smallest instant `at` of the rows of a query; `?1` in it is the latest instant.
fn first(journal: &Connection, rows: &str) -> rusqlite::Result<Option<Millis>> {
    let first: Option<i64> = journal
        .prepare_cached(&format!("SELECT min(at) FROM ({rows})"))?
        .query_row([file_versions::at(None)], |line| line.get(0))?;
    Ok(first.map(Millis))
}

/// When the first session began, or of the first order, from the manifest and the journal.
pub(crate) fn orders_from(journal: &Connection) -> rusqlite::Result<Option<Millis>> {
    let is_valid = file_versions::is_valid("?1");
    first(
        journal,
        &format!(
            "SELECT min(started) AS at FROM sessions WHERE undone IS NULL
             UNION ALL SELECT min(first) FROM manifest WHERE state = 'active' AND holds = 'orders' AND {is_valid}
             UNION ALL SELECT min(timestamp) FROM orders"
        ),
    )
}

/// The same, or of the first reading or position, or the close of the first bar or total.
pub(crate) fn observed_from(journal: &Connection) -> rusqlite::Result<Option<Millis>> {
    let is_valid = file_versions::is_valid("?1");
    let others = first(
        journal,
        &format!(
            "SELECT min(first + interval) AS at FROM manifest
                 WHERE state = 'active' AND holds NOT IN ('orders', 'maps') AND {is_valid}
             UNION ALL SELECT * FROM (SELECT timestamp + interval FROM bars ORDER BY timestamp LIMIT 1)
             UNION ALL SELECT * FROM (SELECT timestamp + interval FROM totals ORDER BY timestamp LIMIT 1)
             UNION ALL SELECT min(timestamp) FROM open_interest
             UNION ALL SELECT min(timestamp) FROM positions"
        ),
    )?;
    Ok(orders_from(journal)?.into_iter().chain(others).min())
}

/// Whether there are totals of periods, in the journal or in a segment; superseded segments count.
pub(crate) fn has_totals(journal: &Connection) -> rusqlite::Result<bool> {
    journal
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM totals) OR EXISTS (SELECT 1 FROM manifest WHERE holds = 'totals')",
        )?
        .query_row([], |line| line.get(0))
}

impl ArrivalPosition {
    /// Returns the field for `table`, if there is one.
    fn of(&mut self, table: &str) -> Option<&mut i64> {
        match table {
            OrderRow::TABLE => Some(&mut self.orders),
            BarRow::TABLE => Some(&mut self.bars),
            OpenInterestRow::TABLE => Some(&mut self.open_interest),
            TotalRow::TABLE => Some(&mut self.totals),
            _ => None,
        }
    }
}

fn put(journal: &Connection, name: &str, value: i64) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO state (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
        )?
        .execute(params![name, value])
        .map(drop)
}

/// Stores a random series number in a new archive.
pub(crate) fn begin(journal: &Connection) -> rusqlite::Result<()> {
    // The last bits of a version 7 UUID are random; 62 of them give a positive number.
    let (_, random) = Uuid::now_v7().as_u64_pair();
    put(
        journal,
        SERIES,
        i64::try_from(random & (u64::MAX >> 2)).unwrap_or_default(),
    )
}

/// Stores the series number and the statistics of the source archive in its exported copy.
pub(crate) fn begin_as(
    journal: &Connection,
    series: u64,
    newest: Option<Millis>,
    closed: Option<Millis>,
) -> rusqlite::Result<()> {
    journal.execute("DELETE FROM state", [])?;
    put(journal, SERIES, i64::try_from(series).unwrap_or_default())?;
    for (name, at) in [(NEWEST, newest), (CLOSED, closed)] {
        if let Some(at) = at {
            put(journal, name, at.0)?;
        }
    }
    Ok(())
}

/// End of the last exported day, if the archive is an exported copy.
pub(crate) fn closed(journal: &Connection) -> rusqlite::Result<Option<Millis>> {
    instant(journal, CLOSED)
}

/// When the snapshot was taken, if the journal is that of a backup.
pub(crate) fn backed_up(journal: &Connection) -> rusqlite::Result<Option<Millis>> {
    instant(journal, BACKED_UP)
}

fn instant(journal: &Connection, name: &str) -> rusqlite::Result<Option<Millis>> {
    journal
        .prepare_cached("SELECT value FROM state WHERE name = ?1")?
        .query_row([name], |line| line.get(0).map(Millis))
        .optional()
}

/// Marks a journal as that of a backup; the copy of a backup keeps its instant.
pub(crate) fn mark_backup(journal: &Connection, taken_at: Millis) -> rusqlite::Result<()> {
    if backed_up(journal)?.is_some() {
        return Ok(());
    }
    put(journal, BACKED_UP, taken_at.0)
}

/// Removes the mark of a backup.
pub(crate) fn unmark_backup(journal: &Connection) -> rusqlite::Result<()> {
    journal
        .execute("DELETE FROM state WHERE name = ?1", [BACKED_UP])
        .map(drop)
}

/// Number of rows that ever were in the journal.
pub(crate) fn arrived(journal: &Connection) -> rusqlite::Result<u64> {
    let rows: i64 = journal.query_row(
        "SELECT coalesce(sum(seq), 0) FROM sqlite_sequence
         WHERE name IN ('orders', 'bars', 'open_interest', 'maps', 'positions', 'totals')",
        [],
        |line| line.get(0),
    )?;
    Ok(u64::try_from(rows).unwrap_or_default())
}

/// Updates the statistics of a coin for new bars.
pub(crate) fn note_coin(
    journal: &Connection,
    symbol: &str,
    known_from: i64,
    last_close: i64,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO coins (symbol, known_from, last_close) VALUES (?1, ?2, ?3)
             ON CONFLICT (symbol) DO UPDATE SET known_from = min(known_from, excluded.known_from),
                                                last_close = max(last_close, excluded.last_close),
                                                gone_at = NULL",
        )?
        .execute(params![symbol, known_from, last_close])
        .map(drop)
}

/// Updates the statistics of a coin after bars of it were undone.
///
/// `last_close` is the close time of the last remaining bar; `None` if no bar remains.
pub(crate) fn recall_coin(
    journal: &Connection,
    symbol: &str,
    last_close: Option<Millis>,
    at: Millis,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "UPDATE coins SET last_close = coalesce(?2, last_close), gone_at = CASE WHEN ?2 IS NULL THEN ?3 END
             WHERE symbol = ?1",
        )?
        .execute(params![symbol, last_close.map(|at| at.0), at.0])
        .map(drop)
}

/// Recomputes the newest instant after rows were undone.
pub(crate) fn recompute_newest(journal: &Connection) -> rusqlite::Result<()> {
    let is_valid = file_versions::is_valid("?1");
    let newest: Option<Option<i64>> = journal
        .query_row(
            &format!(
                "SELECT min(value, (SELECT max(at) FROM (
                     SELECT max(last + interval) AS at FROM manifest
                         WHERE state = 'active' AND holds <> 'maps' AND {is_valid}
                     UNION ALL SELECT max(timestamp) FROM orders
                     UNION ALL SELECT max(timestamp + interval) FROM bars
                     UNION ALL SELECT max(timestamp + interval) FROM totals
                     UNION ALL SELECT max(timestamp) FROM open_interest
                     UNION ALL SELECT max(timestamp) FROM positions)))
                 FROM state WHERE name = ?2"
            ),
            params![file_versions::at(None), NEWEST],
            |line| line.get(0),
        )
        .optional()?;
    journal.execute("DELETE FROM state WHERE name = ?1", [NEWEST])?;
    newest
        .flatten()
        .map_or(Ok(()), |newest| put(journal, NEWEST, newest))
}

/// Changes of the statistics that new rows cause.
#[derive(Debug, Default)]
pub(crate) struct StatsUpdate {
    newest: Option<Millis>,
    /// For each coin with new bars, the values of [`KnownCoin::known_from`] and [`KnownCoin::last_close`].
    coins: BTreeMap<String, (Millis, Millis)>,
}

impl StatsUpdate {
    /// Adds new rows.
    pub(crate) fn take<R: Row>(&mut self, rows: &[R]) {
        for row in rows {
            let final_at = row.known_at();
            self.take_newest(final_at);
            if R::HAS_PRICES {
                self.take_coin(row.symbol(), final_at.max(row.received_at()), final_at);
            }
        }
    }

    /// Adds new rows.
    ///
    /// `final_at` is the instant at which the newest of these rows became final.
    pub(crate) fn take_newest(&mut self, final_at: Millis) {
        self.newest = self.newest.max(Some(final_at));
    }

    /// Adds new bars of a coin; the parameters are those of [`KnownCoin`].
    pub(crate) fn take_coin(&mut self, symbol: &str, known_from: Millis, last_close: Millis) {
        if let Some(coin) = self.coins.get_mut(symbol) {
            *coin = (coin.0.min(known_from), coin.1.max(last_close));
        } else {
            self.coins
                .insert(symbol.to_owned(), (known_from, last_close));
        }
    }

    /// Writes the changes to the journal.
    pub(crate) fn write(&self, journal: &Connection) -> rusqlite::Result<()> {
        self.write_known_from(journal, Millis::default())
    }

    /// As [`write`](Self::write), for rows that count only from `at` on.
    pub(crate) fn write_known_from(
        &self,
        journal: &Connection,
        at: Millis,
    ) -> rusqlite::Result<()> {
        if let Some(newest) = self.newest {
            put(journal, NEWEST, newest.0)?;
        }
        self.coins.iter().try_for_each(|(symbol, (from, last))| {
            note_coin(journal, symbol, at.max(*from).0, last.0)
        })
    }
}

/// Skips one row id for each row that was written directly to a segment.
///
/// A reader that follows the table by row id thus detects that it has missed rows.
pub(crate) fn skip_ids(journal: &Connection, table: &str, rows: u64) -> rusqlite::Result<()> {
    let by = i64::try_from(rows).unwrap_or(i64::MAX);
    let moved = journal
        .prepare_cached("UPDATE sqlite_sequence SET seq = seq + ?2 WHERE name = ?1")?
        .execute(params![table, by])?;
    if moved == 0 {
        journal
            .prepare_cached("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)")?
            .execute(params![table, by])?;
    }
    let last: i64 = journal
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = ?1")?
        .query_row([table], |line| line.get(0))?;
    put(journal, table, last)
}

/// Last row id that a table has used.
///
/// `SQLite` stores this id without a checksum. The largest id of removed rows is stored separately with a checksum. The
/// larger of the two ids is returned.
pub(crate) fn last_id(journal: &Connection, table: &str) -> rusqlite::Result<i64> {
    let remembered = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1";
    let left = "SELECT coalesce(max(value), 0) FROM state WHERE name = ?1";
    let mut last = 0;
    for query in [remembered, left] {
        let number: i64 = journal.query_row(query, [table], |line| line.get(0))?;
        last = last.max(number);
    }
    Ok(last)
}

/// Records the largest id of the rows that are being removed from a table.
pub(crate) fn record_removed(
    journal: &Connection,
    table: &str,
    ids: &[i64],
) -> rusqlite::Result<()> {
    match ids.iter().max() {
        Some(last) => {
            put(journal, table, *last)?;
            journal
                .prepare_cached(
                    "INSERT INTO state (name, value) VALUES (?1, 1)
                     ON CONFLICT (name) DO UPDATE SET value = value + 1",
                )?
                .execute([REMOVALS])
                .map(drop)
        }
        None => Ok(()),
    }
}

/// Reads the summary. Call this function in the transaction that reads the rows, so that rows and summary describe the
/// same state.
pub(crate) fn known(journal: &Connection) -> rusqlite::Result<ArchiveSummary> {
    let mut known = ArchiveSummary::default();
    let mut sequences = journal.prepare_cached("SELECT name, seq FROM sqlite_sequence")?;
    let mut rows = sequences.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(number) = known.end.of(row.get_ref(0)?.as_str()?) {
            *number = row.get(1)?;
        }
    }
    let mut states = journal.prepare_cached("SELECT name, value FROM state")?;
    let mut rows = states.query([])?;
    while let Some(row) = rows.next()? {
        let value: i64 = row.get(1)?;
        match row.get_ref(0)?.as_str()? {
            SERIES => known.series = u64::try_from(value).unwrap_or_default(),
            NEWEST => known.newest = Some(Millis(value)),
            REMOVALS => known.removals = value,
            table => {
                if let Some(number) = known.rolled.of(table) {
                    *number = value;
                }
            }
        }
    }
    Ok(known)
}

/// Coins with a bar that had closed and been received by `as_of`, sorted by name.
///
/// Returns all coins if `as_of` is absent.
pub(crate) fn coins(
    journal: &Connection,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<KnownCoin>> {
    journal
        .prepare_cached(&format!(
            "SELECT {} FROM coins WHERE (?1 IS NULL OR known_from <= ?1) AND (gone_at IS NULL OR gone_at > ?1)
             ORDER BY symbol",
            table::columns::<KnownCoin>()
        ))?
        .query_map([as_of.map(|at| at.0)], |row| table::read(row, 0))?
        .collect()
}

/// Exchanges that have rows in the journal or in a segment.
pub(crate) fn exchanges(journal: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let is_valid = file_versions::is_valid("?1");
    let mut found: BTreeSet<String> = journal
        .prepare(&format!(
            "SELECT DISTINCT exchange FROM part_venues JOIN manifest USING (path) WHERE {is_valid}"
        ))?
        .query_map([file_versions::at(None)], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for table in [
        OrderRow::TABLE,
        BarRow::TABLE,
        OpenInterestRow::TABLE,
        PositionRow::TABLE,
        TotalRow::TABLE,
    ] {
        let mut names = journal.prepare(&format!("SELECT DISTINCT exchange FROM {table}"))?;
        for name in names.query_map([], |row| row.get(0))? {
            found.insert(name?);
        }
    }
    found.remove(ALL_EXCHANGES);
    Ok(found)
}
