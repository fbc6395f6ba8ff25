//! Sessions and gaps of exchanges: two tables of the journal.

use rusqlite::{Connection, OptionalExtension, params};

use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::{Fault, Row as _, check_name, check_text, check_time};
use crate::archive::sql::table;
use crate::model::{Completeness, Millis, Record, Vocabulary, record, value};

/// SQL that creates the tables.
pub(crate) fn create() -> String {
    // The statement declares the first column, `id`, separately as the primary key.
    let run = Session::COLUMNS.get(1..).unwrap_or_default();
    format!(
        "CREATE TABLE gaps (id INTEGER PRIMARY KEY AUTOINCREMENT, {}, silent_from INTEGER NOT NULL, withdrawn INTEGER,
                            UNIQUE (exchange, start, \"end\", reason)) STRICT;
         CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, {}, ingest TEXT, undone INTEGER) STRICT;
         CREATE INDEX sessions_by_exchange ON sessions (exchange, seen);",
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
    /// The side of the rows was in doubt. Only earlier versions record this cause.
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
pub(crate) const OTHER_TABLES: [&str; 5] = ["bars", "open_interest", "maps", "positions", "totals"];

/// SQL condition: the ingest of the session was not undone.
pub(crate) const IN_USE: &str = "undone IS NULL";

/// SQL condition: the ingest of the session was not undone by the instant in `parameter`.
pub(crate) fn in_use_at(parameter: &str) -> String {
    format!("(undone IS NULL OR undone > {parameter})")
}

/// SQL condition: a gap concerns orders.
const OF_ORDERS: &str = "holds IS NULL";

/// SQL condition: a gap was recorded by the instant in a parameter and not withdrawn by then.
fn known_at(parameter: &str) -> String {
    format!("recorded_at <= {parameter} AND (withdrawn IS NULL OR withdrawn > {parameter})")
}

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
         WHERE start < ?2 AND \"end\" > ?1 AND {} AND NOT ({OF_ORDERS})",
        table::columns::<Gap>(),
        known_at("?3")
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
        /// When the session became known.
        pub known_at: Millis,
        /// How long after an instant it is known that the session reached it, in milliseconds; `None` for an imported
        /// session, which is known as a whole.
        pub late: Option<i64>,
    }
}

impl Session {
    /// The session as far as it was known at an instant.
    fn known_by(mut self, at: Millis) -> Self {
        self.seen = self
            .seen
            .min(at.back(self.late.unwrap_or(0)))
            .max(self.started);
        self
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
    /// When the last of its orders was received.
    pub known_at: Millis,
}

/// Records an imported time range as a session, unless a session that ends with it covers it and was known by then.
///
/// Replaces the sessions of the same ingest that it makes superfluous.
pub(crate) fn add_imported(
    journal: &Connection,
    imported: &ImportedSession,
    ingest: Option<&str>,
) -> rusqlite::Result<()> {
    let cells = params![
        imported.exchange,
        imported.completeness.name(),
        imported.start.0,
        imported.end.0,
        imported.known_at.0,
        ingest
    ];
    let is_known = journal
        .prepare_cached(&format!(
            "SELECT 1 FROM sessions WHERE exchange = ?1 AND seen = ?4 AND completeness = ?2
             AND started <= ?3 AND known_at <= ?5 AND {IN_USE}"
        ))?
        .exists(params![
            imported.exchange,
            imported.completeness.name(),
            imported.start.0,
            imported.end.0,
            imported.known_at.0
        ])?;
    if is_known {
        return Ok(());
    }
    // A part of a source is recorded before the whole.
    journal
        .prepare_cached(&format!(
            "DELETE FROM sessions WHERE exchange = ?1 AND seen >= ?3 AND seen <= ?4 AND completeness = ?2
             AND started >= ?3 AND known_at >= ?5 AND late IS NULL AND ingest IS ?6 AND {IN_USE}"
        ))?
        .execute(cells)?;
    journal
        .prepare_cached(
            "INSERT INTO sessions (exchange, completeness, started, seen, known_at, ingest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(cells)
        .map(drop)
}

/// Marks the sessions of an undone ingest as no longer in use.
pub(crate) fn undo(journal: &Connection, ingest: &str, at: Millis) -> rusqlite::Result<()> {
    journal
        .prepare_cached("UPDATE sessions SET undone = ?2 WHERE ingest = ?1")?
        .execute(params![ingest, at.0])
        .map(drop)
}

/// Deletes what is recorded about the time before an instant, after its orders were deleted.
///
/// The last session of each exchange stays, because the time since it becomes a gap.
pub(crate) fn forget_before(journal: &Connection, first: Millis) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "DELETE FROM sessions WHERE seen <= ?1
             AND id NOT IN (SELECT max(id) FROM sessions WHERE undone IS NULL GROUP BY exchange)",
        )?
        .execute([first.0])?;
    journal
        .prepare_cached(
            "UPDATE sessions SET started = min(seen, ?1) WHERE started < min(seen, ?1)",
        )?
        .execute([first.0])?;
    journal
        .prepare_cached(&format!(
            "DELETE FROM gaps WHERE \"end\" <= ?1 AND {OF_ORDERS}"
        ))?
        .execute([first.0])
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
                     max(?2, coalesce((SELECT max(seen) FROM sessions WHERE exchange = ?1 AND known_at <= ?5 AND {IN_USE}), ?2)))
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

/// What the journal stores about a gap besides its record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GapHistory {
    /// See [`add_gap`].
    pub(crate) silent_from: Millis,
    /// When the gap ceased to count; reads as of an earlier instant return it.
    pub(crate) withdrawn: Option<Millis>,
}

/// All gaps that were ever recorded.
pub(crate) fn all_gaps(journal: &Connection) -> rusqlite::Result<Vec<(Gap, GapHistory)>> {
    journal
        .prepare(&format!(
            "SELECT silent_from, withdrawn, {} FROM gaps ORDER BY id",
            table::columns::<Gap>()
        ))?
        .query_map([], |line| {
            let history = GapHistory {
                silent_from: Millis(line.get(0)?),
                withdrawn: line.get::<_, Option<i64>>(1)?.map(Millis),
            };
            Ok((table::read(line, 2)?, history))
        })?
        .collect()
}

/// Records a gap of another archive.
pub(crate) fn add_gap_as(
    journal: &Connection,
    gap: &Gap,
    history: GapHistory,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO gaps (exchange, start, \"end\", reason, recorded_at, cause, holds, silent_from, withdrawn)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            gap.exchange,
            gap.start.0,
            gap.end.0,
            gap.reason,
            gap.recorded_at.0,
            gap.cause.name(),
            gap.holds,
            history.silent_from.0,
            history.withdrawn.map(|at| at.0)
        ])
        .map(drop)
}

/// Records a gap that may have grown since it was last recorded.
///
/// The original `recorded_at` and `silent_from` are preserved.
pub(crate) fn grow_gap(journal: &Connection, gap: &Gap) -> rusqlite::Result<()> {
    let grown = journal
        .prepare_cached(
            "UPDATE gaps SET \"end\" = ?3
             WHERE exchange = ?1 AND start = ?2 AND \"end\" < ?3 AND reason = ?4",
        )?
        .execute(params![gap.exchange, gap.start.0, gap.end.0, gap.reason])?;
    if grown == 0 {
        add_gap(journal, gap)?;
    }
    Ok(())
}

/// Extends a session; its end never moves back.
pub(crate) fn extend(journal: &Connection, run: SessionId, at: Millis) -> rusqlite::Result<()> {
    journal
        .prepare_cached("UPDATE sessions SET seen = max(seen, ?2) WHERE id = ?1")?
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
    late: i64,
) -> rusqlite::Result<SessionId> {
    let seen: Option<i64> = journal.query_row(
        &format!("SELECT max(seen) FROM sessions WHERE exchange = ?1 AND {IN_USE}"),
        [exchange],
        |row| row.get(0),
    )?;
    if let Some(seen) = seen.filter(|seen| *seen < at.0) {
        let covered = journal
            .query_row(
                &format!(
                    "SELECT 1 FROM gaps WHERE exchange = ?1 AND start <= ?2 AND \"end\" >= ?3
                     AND withdrawn IS NULL AND {OF_ORDERS} LIMIT 1"
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
        "INSERT INTO sessions (exchange, completeness, started, seen, known_at, late) VALUES (?1, ?2, ?3, ?3, ?3, ?4)",
        params![exchange, completeness.name(), at.0, late],
    )?;
    Ok(SessionId(journal.last_insert_rowid()))
}

/// Gaps of orders that overlap a time range and were known at `as_of`.
///
/// A gap may grow after it was recorded. As of `as_of` it reached that instant at most, unless a file or row is damaged:
/// its rows are missing from every answer.
pub(crate) fn gaps(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<Gap>> {
    let mut gaps: Vec<Gap> = journal
        .prepare_cached(&format!(
            "SELECT {} FROM gaps
             WHERE start < ?2 AND \"end\" > ?1 AND {} AND {OF_ORDERS}
             ORDER BY start, exchange, \"end\", reason",
            table::columns::<Gap>(),
            known_at("?3")
        ))?
        .query_map([start.0, end.0, known_by(as_of)], |row| table::read(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    if let Some(at) = as_of {
        for gap in gaps.iter_mut().filter(|gap| gap.cause != GapCause::Damage) {
            gap.end = gap.end.min(at.max(gap.start.on(1)));
        }
        gaps.retain(|gap| gap.end > start);
    }
    Ok(gaps)
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

/// Sessions that overlap a time range, as far as they were known and in use at `as_of`.
pub(crate) fn sessions(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<Session>> {
    let mut sessions: Vec<Session> = journal
        .prepare_cached(&format!(
            "SELECT {} FROM sessions WHERE started < ?2 AND seen >= ?1 AND known_at <= ?3 AND {} ORDER BY started, id",
            table::columns::<Session>(),
            in_use_at("?3")
        ))?
        .query_map([start.0, end.0, known_by(as_of)], |row| table::read(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    if let Some(at) = as_of {
        sessions = sessions
            .into_iter()
            .map(|session| session.known_by(at))
            .filter(|session| session.seen >= start)
            .collect();
    }
    Ok(sessions)
}
