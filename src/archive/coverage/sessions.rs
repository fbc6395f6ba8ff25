//! Sessions and gaps of exchanges: two tables of the journal.

use rusqlite::{Connection, OptionalExtension, params};

use crate::archive::journal::table;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::{Fault, Row as _, check_name, check_text, check_time};
use crate::model::{Completeness, Millis, Record, Vocabulary, record, value};

/// SQL that creates the tables.
pub(crate) fn create() -> String {
    // The statement declares the first column, `id`, separately as the primary key.
    let run = Session::COLUMNS.get(1..).unwrap_or_default();
    format!(
        "CREATE TABLE gaps (id INTEGER PRIMARY KEY AUTOINCREMENT, {}, silent_from INTEGER NOT NULL,
                            UNIQUE (exchange, start, \"end\", reason)) STRICT;
         CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, {}, ingest TEXT, undone INTEGER) STRICT;
         CREATE INDEX runs_by_exchange ON runs (exchange, seen);",
        table::definitions(Gap::COLUMNS, None),
        table::definitions(run, None)
    )
}

/// Why a gap exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GapCause {
    /// The collector observed the gap; `reason` says what happened.
    #[default]
    Observed,
    /// The exchange was not connected.
    NoSession,
    /// The collector has not connected to the exchange since it started.
    Pending,
    /// The exchange's sequence numbers show that messages are missing.
    SequenceHole,
    /// The unit check failed, so the rows of the exchange may be wrong.
    Doubtful,
    /// A file or a row of the archive is damaged.
    Damage,
}

impl Vocabulary for GapCause {
    const ALL: &'static [Self] = &[
        Self::Observed,
        Self::NoSession,
        Self::Pending,
        Self::SequenceHole,
        Self::Doubtful,
        Self::Damage,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::NoSession => "no_session",
            Self::Pending => "pending",
            Self::SequenceHole => "sequence_hole",
            Self::Doubtful => "doubtful",
            Self::Damage => "damage",
        }
    }
}

value!(GapCause as words);

record! {
    /// A time range in which rows of an exchange may be missing.
    #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Gap {
        /// Exchange, lower case.
        pub exchange: String,
        /// Start of the gap.
        pub start: Millis,
        /// End of the gap, exclusive.
        pub end: Millis,
        /// Why the gap exists.
        pub cause: GapCause,
        /// Table in which rows are missing; `None` means orders.
        pub holds: Option<String>,
        /// Short description of what happened.
        pub reason: String,
        /// When the gap was recorded.
        pub recorded_at: Millis,
    }
}

/// Reason of a gap between two sessions that no other gap explains.
const NOT_CONNECTED: &str = "not listening";

/// Tables other than `orders`.
pub(crate) const OTHER_TABLES: [&str; 4] = ["bars", "open_interest", "maps", "positions"];

/// SQL condition: the ingest of the session was not undone.
pub(crate) const IN_USE: &str = "undone IS NULL";

/// SQL condition: the ingest of the session was not undone by the instant in `parameter`.
pub(crate) fn in_use_at(parameter: &str) -> String {
    format!("(undone IS NULL OR undone > {parameter})")
}

/// SQL condition: a gap concerns orders.
const OF_ORDERS: &str = "holds IS NULL";

/// The gap left by damaged rows of a table.
pub(crate) fn damaged_rows(
    table: &str,
    exchange: String,
    (start, end): (Millis, Millis),
    recorded_at: Millis,
) -> Gap {
    let is_of_orders = table == OrderRow::TABLE;
    Gap {
        exchange,
        start,
        end,
        cause: GapCause::Damage,
        holds: (!is_of_orders).then(|| table.to_owned()),
        reason: if is_of_orders {
            "damaged row".to_owned()
        } else {
            format!("damaged row of {table}")
        },
        recorded_at,
    }
}

/// Gaps of damaged rows of tables other than `orders`, each with its table.
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
            .find(|table| gap.holds.as_deref() == Some(table));
        lost.extend(of.map(|table| (table, gap)));
    }
    Ok(lost)
}

/// Identifier of a session, returned by [`Writer::begin_session`](crate::archive::Writer::begin_session).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub(crate) i64);

value!(SessionId as Int, run => run.0, number => Some(Self(number)));

record! {
    /// A time range in which an exchange was connected.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Session {
        /// Identifier of the session.
        pub id: SessionId,
        /// Exchange, lower case.
        pub exchange: String,
        /// Whether the channel reports every order.
        pub completeness: Completeness,
        /// When the session began.
        pub started: Millis,
        /// Last instant at which the exchange was known to be connected.
        pub seen: Millis,
    }
}

/// A time range for which an imported file contains the orders of an exchange.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportedSession {
    /// Exchange, lower case.
    pub exchange: String,
    /// Whether the file contains every order.
    pub completeness: Completeness,
    /// Start of the range.
    pub start: Millis,
    /// End of the range, exclusive.
    pub end: Millis,
}

/// Records an imported time range as a session.
///
/// If a session of the same ingest overlaps it, extends that session instead.
pub(crate) fn add_imported(
    journal: &Connection,
    imported: &ImportedSession,
    ingest: Option<&str>,
) -> rusqlite::Result<()> {
    let cells = params![
        imported.exchange,
        imported.completeness.name(),
        imported.start.0,
        imported.end.0
    ];
    let is_covered = journal
        .prepare_cached(&format!(
            "SELECT 1 FROM runs WHERE exchange = ?1 AND completeness = ?2
             AND started <= ?3 AND seen >= ?4 AND {IN_USE}"
        ))?
        .exists(cells)?;
    if is_covered {
        return Ok(());
    }
    let cells = params![
        imported.exchange,
        imported.completeness.name(),
        imported.start.0,
        imported.end.0,
        ingest
    ];
    let joined = journal
        .prepare_cached(&format!(
            "UPDATE runs SET seen = max(seen, ?4), started = min(started, ?3)
             WHERE id = (SELECT id FROM runs WHERE exchange = ?1 AND completeness = ?2
                         AND started <= ?4 AND seen >= ?3 AND ingest IS ?5 AND {IN_USE}
                         ORDER BY started LIMIT 1)"
        ))?
        .execute(cells)?;
    if joined == 0 {
        journal
            .prepare_cached(
                "INSERT INTO runs (exchange, completeness, started, seen, ingest) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(cells)?;
    }
    Ok(())
}

/// Marks the sessions of an undone ingest as no longer in use.
pub(crate) fn undo(journal: &Connection, ingest: &str, at: Millis) -> rusqlite::Result<()> {
    journal
        .prepare_cached("UPDATE runs SET undone = ?2 WHERE ingest = ?1")?
        .execute(params![ingest, at.0])
        .map(drop)
}

/// Returns an error for a gap with blank fields or an empty time range.
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

/// Records a gap.
///
/// Also stores `silent_from`: the end of the exchange's last session, as known when the gap was recorded. A read as of
/// an instant before `recorded_at` sees neither the gap nor a connection after `silent_from`.
pub(crate) fn add_gap(journal: &Connection, gap: &Gap) -> rusqlite::Result<()> {
    journal
        .prepare_cached(&format!(
            "INSERT INTO gaps (exchange, start, \"end\", reason, recorded_at, cause, holds, silent_from)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
                     max(?2, coalesce((SELECT max(seen) FROM runs WHERE exchange = ?1 AND started <= ?5 AND {IN_USE}), ?2)))
             ON CONFLICT DO NOTHING"
        ))?
        .execute(params![
            gap.exchange,
            gap.start.0,
            gap.end.0,
            gap.reason,
            gap.recorded_at.0,
            gap.cause.name(),
            gap.holds
        ])
        .map(drop)
}

/// Records a gap of another archive, with the `silent_from` from there.
pub(crate) fn add_gap_as(
    journal: &Connection,
    gap: &Gap,
    silent_from: Millis,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO gaps (exchange, start, \"end\", reason, recorded_at, cause, holds, silent_from)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            gap.exchange,
            gap.start.0,
            gap.end.0,
            gap.reason,
            gap.recorded_at.0,
            gap.cause.name(),
            gap.holds,
            silent_from.0
        ])
        .map(drop)
}

/// Records a gap that may have grown since it was last recorded.
///
/// The original `recorded_at` is preserved.
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

/// Extends a session; its end never moves back.
pub(crate) fn extend(journal: &Connection, run: SessionId, at: Millis) -> rusqlite::Result<()> {
    journal
        .prepare_cached("UPDATE runs SET seen = max(seen, ?2) WHERE id = ?1")?
        .execute([run.0, at.0])
        .map(drop)
}

/// Begins a session.
///
/// The time since the exchange's last session becomes a gap, unless a recorded gap covers it.
pub(crate) fn begin(
    journal: &Connection,
    exchange: &str,
    completeness: Completeness,
    at: Millis,
) -> rusqlite::Result<SessionId> {
    let seen: Option<i64> = journal.query_row(
        &format!("SELECT max(seen) FROM runs WHERE exchange = ?1 AND {IN_USE}"),
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
                    cause: GapCause::NoSession,
                    holds: None,
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

/// Gaps of orders that overlap a time range and were known at `as_of`.
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

/// Time ranges in which an exchange was not known, at `as_of`, to be connected.
///
/// Each range begins at the `silent_from` and ends at the end of a gap that was recorded after `as_of`.
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

/// Latest `recorded_at` that a read as of `as_of` accepts.
///
/// There is no limit if `as_of` is `None`.
pub(crate) fn known_by(as_of: Option<Millis>) -> i64 {
    as_of.map_or(i64::MAX, |at| at.0)
}

/// Sessions that overlap a time range, without those of ingests that were undone by `as_of`.
pub(crate) fn sessions(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<Session>> {
    journal
        .prepare_cached(&format!(
            "SELECT {} FROM runs WHERE started < ?2 AND seen >= ?1 AND {} ORDER BY started, id",
            table::columns::<Session>(),
            in_use_at("?3")
        ))?
        .query_map([start.0, end.0, known_by(as_of)], |row| table::read(row, 0))?
        .collect()
}
