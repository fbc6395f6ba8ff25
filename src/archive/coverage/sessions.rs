//! When which exchange was listened to, and when something was missed: two tables of the journal.

use rusqlite::{Connection, OptionalExtension, params};

use crate::archive::journal::table;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::{Fault, Row as _, check_name, check_text, check_time};
use crate::model::{Completeness, Millis, Record, Vocabulary, record, value};

/// The tables in SQL.
pub(crate) fn create() -> String {
    // A run's own column is its number.
    let run = Session::COLUMNS.get(1..).unwrap_or_default();
    format!(
        "CREATE TABLE gaps (id INTEGER PRIMARY KEY AUTOINCREMENT, {}, silent_from INTEGER NOT NULL,
                            UNIQUE (exchange, start, \"end\", reason)) STRICT;
         CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, {}) STRICT;
         CREATE INDEX runs_by_exchange ON runs (exchange, seen);",
        table::definitions(Gap::COLUMNS, None),
        table::definitions(run, None)
    )
}

/// The reason of a gap between two runs that nobody gave another reason for.
const NOT_CONNECTED: &str = "not listening";
record! {
    /// A stretch of time in which orders of an exchange may have been missed.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Gap {
        /// Exchange, lower case.
        pub exchange: String,
        /// When it began.
        pub start: Millis,
        /// When it was over.
        pub end: Millis,
        /// Why, in a few words.
        pub reason: String,
        /// When it became known.
        pub recorded_at: Millis,
    }
}

/// The tables whose rows are no orders.
pub(crate) const OTHER_TABLES: [&str; 4] = ["bars", "open_interest", "maps", "positions"];

/// What a gap's reason begins with where rows of one of those tables are lost: no order is.
const DAMAGED_ROW: &str = "damaged row of ";

/// The condition that orders may be lost.
const OF_ORDERS: &str = "reason NOT GLOB 'damaged row of *'";

/// The reason of a gap that damaged rows of a table leave.
pub(crate) fn damaged_row_reason(table: &str) -> String {
    if table == OrderRow::TABLE {
        "damaged row".to_owned()
    } else {
        format!("{DAMAGED_ROW}{table}")
    }
}

/// The gaps that damaged rows of other tables than that of orders left, with their tables.
pub(crate) fn damaged_row_gaps(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<(&'static str, Gap)>> {
    let mut lost = Vec::new();
    let mut statement = journal.prepare_cached(&format!(
        "SELECT {} FROM gaps
         WHERE start < ?2 AND \"end\" > ?1 AND recorded_at <= ?3 AND NOT ({OF_ORDERS})",
        table::columns::<Gap>()
    ))?;
    let mut rows = statement.query([start.0, end.0, known_by(as_of)])?;
    while let Some(row) = rows.next()? {
        let gap: Gap = table::read(row, 0)?;
        let of = OTHER_TABLES
            .into_iter()
            .find(|table| gap.reason == damaged_row_reason(table));
        lost.extend(of.map(|table| (table, gap)));
    }
    Ok(lost)
}

/// The name of a stretch of listening, as [`Writer::begin_session`](crate::archive::Writer::begin_session) gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub(crate) i64);

value!(SessionId as Int, run => run.0, number => Some(Self(number)));

record! {
    /// A stretch of time in which an exchange was listened to.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Session {
        /// Its name.
        pub id: SessionId,
        /// Exchange, lower case.
        pub exchange: String,
        /// Whether the channel tells every order.
        pub completeness: Completeness,
        /// When the listening began.
        pub started: Millis,
        /// Until when it is known to have gone on.
        pub seen: Millis,
    }
}

/// A stretch of time of which somebody else's record tells an exchange's orders.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportedSession {
    /// Exchange, lower case.
    pub exchange: String,
    /// Whether it tells every order.
    pub completeness: Completeness,
    /// From when.
    pub start: Millis,
    /// Until before when.
    pub end: Millis,
}

/// Writes down of which time somebody else's record tells: as a run of its own, or as more of one that it continues.
pub(crate) fn add_imported(
    journal: &Connection,
    imported: &ImportedSession,
) -> rusqlite::Result<()> {
    let cells = params![
        imported.exchange,
        imported.completeness.name(),
        imported.start.0,
        imported.end.0
    ];
    let joined = journal
        .prepare_cached(
            "UPDATE runs SET seen = max(seen, ?4), started = min(started, ?3)
             WHERE id = (SELECT id FROM runs WHERE exchange = ?1 AND completeness = ?2
                         AND started <= ?4 AND seen >= ?3 ORDER BY started LIMIT 1)",
        )?
        .execute(cells)?;
    if joined == 0 {
        journal
            .prepare_cached(
                "INSERT INTO runs (exchange, completeness, started, seen) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(cells)?;
    }
    Ok(())
}

/// Refuses a gap that says nothing.
pub(crate) fn check(gap: &Gap) -> Result<(), Fault> {
    check_name("exchange", &gap.exchange)?;
    check_text("reason", &gap.reason)?;
    check_time("start", gap.start)?;
    check_time("end", gap.end)?;
    check_time("recorded_at", gap.recorded_at)?;
    if gap.start < gap.end {
        Ok(())
    } else {
        Err(("end", format!("{} is not after {}", gap.end, gap.start)))
    }
}

/// Writes a gap down.
///
/// Beside it stands from when nobody had seen that its exchange was being listened to, at the time it was recorded:
/// whoever asked in between could not know of the gap, and knew of no listening either.
pub(crate) fn add_gap(journal: &Connection, gap: &Gap) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO gaps (exchange, start, \"end\", reason, recorded_at, silent_from)
             VALUES (?1, ?2, ?3, ?4, ?5,
                     max(?2, coalesce((SELECT max(seen) FROM runs WHERE exchange = ?1 AND started <= ?5), ?2)))
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            gap.exchange,
            gap.start.0,
            gap.end.0,
            gap.reason,
            gap.recorded_at.0
        ])
        .map(drop)
}

/// Writes down a gap of another archive, with the instant from which nobody knew that there was listening.
pub(crate) fn add_gap_as(
    journal: &Connection,
    gap: &Gap,
    silent_from: Millis,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO gaps (exchange, start, \"end\", reason, recorded_at, silent_from)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            gap.exchange,
            gap.start.0,
            gap.end.0,
            gap.reason,
            gap.recorded_at.0,
            silent_from.0
        ])
        .map(drop)
}

/// Writes down a gap that may have been shorter when it was last written down; known it was since then.
pub(crate) fn grow_gap(journal: &Connection, gap: &Gap) -> rusqlite::Result<()> {
    let known: Option<i64> = journal
        .prepare_cached(
            "DELETE FROM gaps WHERE exchange = ?1 AND start = ?2 AND \"end\" < ?3 AND reason = ?4
             RETURNING recorded_at",
        )?
        .query_row(
            params![gap.exchange, gap.start.0, gap.end.0, gap.reason],
            |row| row.get(0),
        )
        .optional()?;
    add_gap(
        journal,
        &Gap {
            recorded_at: known.map_or(gap.recorded_at, Millis),
            ..gap.clone()
        },
    )
}

/// Writes down that a run still goes on; it never moves back.
pub(crate) fn extend(journal: &Connection, run: SessionId, at: Millis) -> rusqlite::Result<()> {
    journal
        .prepare_cached("UPDATE runs SET seen = max(seen, ?2) WHERE id = ?1")?
        .execute([run.0, at.0])
        .map(drop)
}

/// Begins a run; the time since the exchange's last run is a gap, unless one is on record that covers it.
pub(crate) fn begin(
    journal: &Connection,
    exchange: &str,
    completeness: Completeness,
    at: Millis,
) -> rusqlite::Result<SessionId> {
    let seen: Option<i64> = journal.query_row(
        "SELECT max(seen) FROM runs WHERE exchange = ?1",
        [exchange],
        |row| row.get(0),
    )?;
    if let Some(seen) = seen.filter(|seen| *seen < at.0) {
        let covered = journal
            .query_row(
                &format!(
                    "SELECT 1 FROM gaps WHERE exchange = ?1 AND start <= ?2 AND \"end\" >= ?3
                     AND {OF_ORDERS} LIMIT 1"
                ),
                params![exchange, seen, at.0],
                |_| Ok(()),
            )
            .optional()?
            .is_some();
        if !covered {
            add_gap(
                journal,
                &Gap {
                    exchange: exchange.to_owned(),
                    start: Millis(seen),
                    end: at,
                    reason: NOT_CONNECTED.to_owned(),
                    recorded_at: at,
                },
            )?;
        }
    }
    journal.execute(
        "INSERT INTO runs (exchange, completeness, started, seen) VALUES (?1, ?2, ?3, ?3)",
        params![exchange, completeness.name(), at.0],
    )?;
    Ok(SessionId(journal.last_insert_rowid()))
}

/// The gaps of orders that reach into a stretch and were known at `as_of`.
pub(crate) fn gaps(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<Gap>> {
    journal
        .prepare_cached(&format!(
            "SELECT {} FROM gaps
             WHERE start < ?2 AND \"end\" > ?1 AND recorded_at <= ?3 AND {OF_ORDERS}
             ORDER BY start, exchange, \"end\", reason",
            table::columns::<Gap>()
        ))?
        .query_map([start.0, end.0, known_by(as_of)], |row| table::read(row, 0))?
        .collect()
}

/// The stretches of which nobody knew at `as_of` that an exchange was being listened to, although its run went on later.
pub(crate) fn silent_ranges(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<(String, Millis, Millis)>> {
    journal
        .prepare_cached(&format!(
            "SELECT exchange, silent_from, \"end\" FROM gaps
             WHERE silent_from < ?2 AND \"end\" > ?1 AND recorded_at > ?3 AND {OF_ORDERS}"
        ))?
        .query_map([start.0, end.0, known_by(as_of)], |row| {
            Ok((row.get(0)?, Millis(row.get(1)?), Millis(row.get(2)?)))
        })?
        .collect()
}

/// The last instant at which something may have become known.
pub(crate) fn known_by(as_of: Option<Millis>) -> i64 {
    as_of.map_or(i64::MAX, |at| at.0)
}

pub(crate) fn sessions(
    journal: &Connection,
    start: Millis,
    end: Millis,
) -> rusqlite::Result<Vec<Session>> {
    journal
        .prepare_cached(&format!(
            "SELECT {} FROM runs WHERE started < ?2 AND seen >= ?1 ORDER BY started, id",
            table::columns::<Session>()
        ))?
        .query_map([start.0, end.0], |row| table::read(row, 0))?
        .collect()
}
