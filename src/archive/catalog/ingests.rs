//! The list of ingests: imports, each with the number of rows that it added.
//!
//! Each segment and each journal row of an import has the id of its ingest. A row that is imported again is stored only
//! once. The later ingest records how many rows it repeated, and of which ingest.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::archive::rows::bars::BarRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::totals::TotalRow;
use crate::archive::sql::table;
use crate::model::{Millis, record};

pub(crate) const CREATE: &str = "
    CREATE TABLE ingests (
        id TEXT PRIMARY KEY,
        source TEXT,
        files TEXT NOT NULL,
        first INTEGER,
        last INTEGER,
        received_at INTEGER NOT NULL,
        orders INTEGER NOT NULL,
        bars INTEGER NOT NULL,
        open_interest INTEGER NOT NULL,
        positions INTEGER NOT NULL,
        totals INTEGER NOT NULL,
        undone INTEGER
    ) STRICT;
    CREATE TABLE ingest_repeats (
        ingest TEXT NOT NULL,
        original TEXT NOT NULL,
        rows INTEGER NOT NULL,
        PRIMARY KEY (ingest, original)
    ) STRICT;
    CREATE TABLE collected_again (
        path TEXT NOT NULL,
        key TEXT NOT NULL,
        PRIMARY KEY (path, key)
    ) STRICT;";

/// Tables about ingests, each with the columns that its checksums cover.
pub(crate) const TABLES: [(&str, &str); 3] = [
    ("ingests", COLUMNS),
    ("ingest_repeats", "ingest, original, rows"),
    ("collected_again", "path, key"),
];

const COLUMNS: &str = "id, source, files, first, last, received_at, orders, bars, open_interest, positions, totals, undone";

/// Identity and origin of an ingest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestOrigin {
    /// Id of the ingest; see [`IngestOrigin::new_id`].
    pub id: String,
    /// Source of the data, as the user described it.
    pub source: Option<String>,
    /// Names of the imported files.
    pub files: Vec<String>,
}

impl IngestOrigin {
    /// Returns a new id: a UUID of version 7, so that ids sort by time.
    #[must_use]
    pub fn new_id() -> String {
        uuid::Uuid::now_v7().to_string()
    }
}

record! {
    /// An ingest and the number of rows that it added.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct IngestRow {
        /// Id of the ingest.
        pub id: String,
        /// Source of the data, as the user described it.
        pub source: Option<String>,
        /// Names of the imported files, separated by line breaks.
        pub files: String,
        /// Time of the first new row.
        pub first: Option<Millis>,
        /// Time of the last new row.
        pub last: Option<Millis>,
        /// When the ingest began to store rows.
        pub received_at: Millis,
        /// Number of new orders.
        pub orders: u64,
        /// Number of new bars.
        pub bars: u64,
        /// Number of new open interest readings.
        pub open_interest: u64,
        /// Number of new trading positions.
        pub positions: u64,
        /// Number of new totals of periods.
        pub totals: u64,
        /// When the ingest was undone, if it was.
        pub undone: Option<Millis>,
    }
}

impl IngestRow {
    /// Number of new rows of all tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.orders + self.bars + self.open_interest + self.positions + self.totals
    }
}

record! {
    /// An undone ingest, or an ingest to run again after an undo.
    ///
    /// An ingest must run again if it repeated rows of the undone ingest.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct UndoRow {
        /// Id of the ingest.
        pub id: String,
        /// Source of the data, as the user described it.
        pub source: Option<String>,
        /// Names of the imported files, separated by line breaks.
        pub files: String,
        /// Number of new rows of all tables.
        pub rows: u64,
        /// When the ingest was undone; absent for an ingest to run again.
        pub undone: Option<Millis>,
        /// Number of rows of the undone ingest that this ingest repeated; running it again restores them.
        pub run_again: u64,
    }
}

impl UndoRow {
    fn of(ingest: IngestRow, run_again: u64) -> Self {
        let rows = ingest.rows();
        Self {
            id: ingest.id,
            source: ingest.source,
            files: ingest.files,
            rows,
            undone: ingest.undone,
            run_again,
        }
    }
}

/// Row counts that an ingest adds with one commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct IngestCounts {
    /// Times of the first and the last new row.
    ends: Option<(Millis, Millis)>,
    /// Number of new rows by table.
    new: BTreeMap<&'static str, u64>,
    /// Number of repeated rows by the id of the ingest that stored them first.
    ///
    /// An empty id means a collector.
    repeats: BTreeMap<String, u64>,
}

impl IngestCounts {
    /// Adds a number of new rows of a table.
    ///
    /// `first` and `last` are the times of the first and the last row.
    pub(crate) fn add_new(
        &mut self,
        table: &'static str,
        rows: u64,
        (first, last): (Millis, Millis),
    ) {
        if rows == 0 {
            return;
        }
        *self.new.entry(table).or_default() += rows;
        let (start, end) = self.ends.unwrap_or((first, last));
        self.ends = Some((start.min(first), end.max(last)));
    }

    /// Counts a row that is already stored.
    ///
    /// `original` is the ingest that stored it; `None` means a collector.
    pub(crate) fn add_repeat(&mut self, original: Option<&str>) {
        let original = original.unwrap_or_default();
        match self.repeats.get_mut(original) {
            Some(rows) => *rows += 1,
            None => drop(self.repeats.insert(original.to_owned(), 1)),
        }
    }

    /// Whether there is nothing to record.
    pub(crate) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.repeats.is_empty()
    }

    /// Adds the counts to the list of ingests.
    pub(crate) fn write(
        &self,
        journal: &Connection,
        origin: &IngestOrigin,
        now: Millis,
    ) -> rusqlite::Result<()> {
        let new = |table| {
            let rows = self.new.get(table).copied().unwrap_or_default();
            i64::try_from(rows).unwrap_or(i64::MAX)
        };
        journal
            .prepare_cached(&format!(
                "INSERT INTO ingests ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, NULL)
                 ON CONFLICT (id) DO UPDATE SET
                     first = min(coalesce(first, excluded.first), coalesce(excluded.first, first)),
                     last = max(coalesce(last, excluded.last), coalesce(excluded.last, last)),
                     orders = orders + excluded.orders, bars = bars + excluded.bars,
                     open_interest = open_interest + excluded.open_interest,
                     positions = positions + excluded.positions, totals = totals + excluded.totals"
            ))?
            .execute(params![
                origin.id,
                origin.source,
                origin.files.join("\n"),
                self.ends.map(|(first, _)| first.0),
                self.ends.map(|(_, last)| last.0),
                now.0,
                new(OrderRow::TABLE),
                new(BarRow::TABLE),
                new(OpenInterestRow::TABLE),
                new(PositionRow::TABLE),
                new(TotalRow::TABLE),
            ])?;
        let mut repeats = journal.prepare_cached(
            "INSERT INTO ingest_repeats (ingest, original, rows) VALUES (?1, ?2, ?3)
             ON CONFLICT (ingest, original) DO UPDATE SET rows = rows + excluded.rows",
        )?;
        for (original, rows) in &self.repeats {
            let rows = i64::try_from(*rows).unwrap_or(i64::MAX);
            repeats.execute(params![origin.id, original, rows])?;
        }
        Ok(())
    }
}

/// All ingests, oldest first.
pub(crate) fn all(journal: &Connection) -> rusqlite::Result<Vec<IngestRow>> {
    journal
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM ingests ORDER BY received_at, id"
        ))?
        .query_map([], |line| table::read(line, 0))?
        .collect()
}

/// Finds the ingest with an id.
pub(crate) fn find(journal: &Connection, id: &str) -> rusqlite::Result<Option<IngestRow>> {
    journal
        .prepare_cached(&format!("SELECT {COLUMNS} FROM ingests WHERE id = ?1"))?
        .query_row([id], |line| table::read(line, 0))
        .optional()
}

/// An undone ingest, and the ingests to run again because they repeated its rows.
pub(crate) fn undo_rows(journal: &Connection, id: &str) -> rusqlite::Result<Vec<UndoRow>> {
    let undone = find(journal, id)?.map(|ingest| UndoRow::of(ingest, 0));
    let mut rows: Vec<UndoRow> = undone.into_iter().collect();
    let repeated: Vec<(String, i64)> = journal
        .prepare_cached(
            "SELECT ingest, rows FROM ingest_repeats JOIN ingests ON id = ingest
             WHERE original = ?1 AND undone IS NULL ORDER BY received_at, id",
        )?
        .query_map([id], |line| Ok((line.get(0)?, line.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (other, count) in repeated {
        let other = find(journal, &other)?;
        rows.extend(other.map(|other| UndoRow::of(other, u64::try_from(count).unwrap_or(0))));
    }
    Ok(rows)
}

/// Ids of the undone ingests, and of the ingests that repeated rows of an undone one.
pub(crate) fn incomplete(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare_cached(
            "SELECT id FROM ingests WHERE undone IS NOT NULL
             UNION SELECT ingest FROM ingest_repeats JOIN ingests ON id = original WHERE undone IS NOT NULL",
        )?
        .query_map([], |line| line.get(0))?
        .collect()
}

/// Whether an ingest may have orders between two instants, both inclusive; includes undone ingests.
pub(crate) fn has_orders(
    journal: &Connection,
    first: Millis,
    last: Millis,
) -> rusqlite::Result<bool> {
    journal
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM ingests WHERE orders > 0 AND first <= ?2 AND last >= ?1)",
        )?
        .query_row([first.0, last.0], |line| line.get(0))
}

/// Records that an ingest was undone.
pub(crate) fn set_undone(journal: &Connection, id: &str, at: Millis) -> rusqlite::Result<()> {
    journal
        .prepare_cached("UPDATE ingests SET undone = ?2 WHERE id = ?1")?
        .execute(params![id, at.0])
        .map(drop)
}

/// Records that a collector also delivered a row of an ingest's segment.
pub(crate) fn add_collected(journal: &Connection, path: &str, key: &str) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO collected_again (path, key) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute([path, key])
        .map(drop)
}

/// Keys of the rows of a segment that a collector also delivered.
pub(crate) fn collected(journal: &Connection, path: &str) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare_cached("SELECT key FROM collected_again WHERE path = ?1")?
        .query_map([path], |line| line.get(0))?
        .collect()
}
