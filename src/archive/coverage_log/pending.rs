//! Pending exchanges: configured exchanges to which the collector has not connected yet.
//!
//! Each pending exchange has one gap, which begins when the collector starts and grows until a session begins. The gap
//! is recorded immediately. It is therefore stored even if the collector crashes or never reaches the exchange.

use rusqlite::{Connection, OptionalExtension, params};

use crate::archive::coverage_log::sessions;
use crate::archive::coverage_log::sessions::{Gap, GapCause, IN_USE, SessionId, add_gap};
use crate::archive::rows::row::{Fault, check_name, check_time};
use crate::archive::sql::table;
use crate::model::{Completeness, Millis};

/// Reason of a pending exchange's gap; the cause of the failure may be appended.
const REASON: &str = "not heard yet";

/// SQL condition: the gap belongs to a pending exchange.
const IS_PENDING: &str = "cause = 'pending'";

/// SQL condition: a gap was not withdrawn.
const IS_OPEN: &str = "withdrawn IS NULL";

/// Maximum length, in characters, of the cause in the reason of a gap.
const MAX_REASON_CHARS: usize = 300;

/// An exchange that the collector has not connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingExchange {
    /// Exchange, lower case.
    pub exchange: String,
    /// When the collector first tried to connect to the exchange.
    pub since: Millis,
    /// The last instant at which the exchange was known to be disconnected.
    pub until: Millis,
    /// Why the connection fails, if known.
    pub why: Option<String>,
}

impl PendingExchange {
    fn reason(&self) -> String {
        match &self.why {
            Some(why) if why.chars().count() > MAX_REASON_CHARS => {
                let cut: String = why.chars().take(MAX_REASON_CHARS).collect();
                format!("{REASON}: {cut}…")
            }
            Some(why) => format!("{REASON}: {why}"),
            None => REASON.to_owned(),
        }
    }
}

/// Returns an error for a pending exchange without a name or with invalid times.
pub(crate) fn check(pending: &PendingExchange) -> Result<(), Fault> {
    check_name("exchange", &pending.exchange)?;
    check_time("since", pending.since)?;
    check_time("until", pending.until)
}

/// The end of an exchange's last session.
fn last_seen(journal: &Connection, exchange: &str) -> rusqlite::Result<Option<Millis>> {
    journal
        .prepare_cached(&format!(
            "SELECT max(seen) FROM sessions WHERE exchange = ?1 AND {IN_USE}"
        ))?
        .query_row([exchange], |row| row.get::<_, Option<i64>>(0))
        .map(|seen| seen.map(Millis))
}

/// The open gap of a pending exchange, with its id.
///
/// A gap that ends by `seen`, the end of the last session, is closed. If there are several open gaps, as in a merged
/// archive, all but the newest are withdrawn at `at`, and it begins with the first of them.
fn open_gap(
    journal: &Connection,
    exchange: &str,
    seen: Option<Millis>,
    at: Millis,
) -> rusqlite::Result<Option<(i64, Gap)>> {
    let mut open: Vec<(i64, Gap)> = journal
        .prepare_cached(&format!(
            "SELECT id, {} FROM gaps WHERE exchange = ?1 AND \"end\" > ?2 AND {IS_PENDING} AND {IS_OPEN}
             ORDER BY \"end\", id",
            table::columns::<Gap>()
        ))?
        .query_map(
            params![exchange, seen.map_or(i64::MIN, |seen| seen.0)],
            |row| Ok((row.get(0)?, table::read(row, 1)?)),
        )?
        .collect::<rusqlite::Result<_>>()?;
    let Some((id, mut newest)) = open.pop() else {
        return Ok(None);
    };
    for (other, gap) in open {
        newest.start = newest.start.min(gap.start);
        withdraw(journal, other, at)?;
    }
    Ok(Some((id, newest)))
}

/// Ends the use of a gap; reads as of an earlier instant still return it.
fn withdraw(journal: &Connection, id: i64, at: Millis) -> rusqlite::Result<()> {
    journal
        .prepare_cached("UPDATE gaps SET withdrawn = ?2 WHERE id = ?1")?
        .execute([id, at.0])
        .map(drop)
}

/// Records that an exchange is still pending.
///
/// The gap begins at the end of the exchange's last session. Without a session it begins when the collector first tried
/// to connect.
pub(crate) fn record(journal: &Connection, pending: &PendingExchange) -> rusqlite::Result<()> {
    let seen = last_seen(journal, &pending.exchange)?;
    let end = pending.until.max(pending.since.on(1));
    let is_connected = journal
        .prepare_cached(&format!(
            "SELECT 1 FROM sessions WHERE exchange = ?1 AND (started >= ?2 OR seen >= ?3) AND {IN_USE} LIMIT 1"
        ))?
        .query_row(
            params![pending.exchange, pending.since.0, pending.until.0],
            |_| Ok(()),
        )
        .optional()?;
    // A session began after this record was queued, so the record is outdated.
    if is_connected.is_some() {
        return Ok(());
    }
    let Some((id, known)) = open_gap(journal, &pending.exchange, seen, pending.until)? else {
        return add_gap(
            journal,
            &Gap {
                exchange: pending.exchange.clone(),
                start: seen.unwrap_or(pending.since),
                end,
                cause: GapCause::Pending,
                holds: None,
                reason: pending.reason(),
                recorded_at: pending.until,
            },
        );
    };
    let start = seen.unwrap_or(known.start.min(pending.since));
    let reason = match pending.why {
        Some(_) => pending.reason(),
        None => known.reason,
    };
    journal
        .prepare_cached(
            "UPDATE OR IGNORE gaps SET start = ?2, \"end\" = max(\"end\", ?3), reason = ?4 WHERE id = ?1",
        )?
        .execute(params![id, start.0, end.0, reason])
        .map(drop)
}

/// Begins a session and ends the gap of a pending exchange.
///
/// The gap is withdrawn if no cause was recorded for it.
pub(crate) fn begin(
    journal: &mut Connection,
    exchange: &str,
    completeness: Completeness,
    at: Millis,
    late: i64,
) -> rusqlite::Result<SessionId> {
    let transaction = journal.transaction()?;
    let seen = last_seen(&transaction, exchange)?;
    if let Some((id, gap)) = open_gap(&transaction, exchange, seen, at)? {
        if gap.reason != REASON && gap.start < at {
            transaction
                .prepare_cached("UPDATE OR IGNORE gaps SET \"end\" = ?2 WHERE id = ?1")?
                .execute([id, at.0])?;
        } else {
            withdraw(&transaction, id, at)?;
        }
    }
    let run = sessions::begin(&transaction, exchange, completeness, at, late)?;
    transaction.commit()?;
    Ok(run)
}

/// Exchanges that were pending at some time up to `as_of`.
pub(crate) fn exchanges(journal: &Connection, as_of: i64) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare_cached(&format!(
            "SELECT DISTINCT exchange FROM gaps WHERE recorded_at <= ?1 AND {IS_PENDING}"
        ))?
        .query_map([as_of], |row| row.get(0))?
        .collect()
}

/// Gaps of exchanges that are still pending.
///
/// Returns no gaps if any exchange has been connected since the first of these gaps began.
pub(crate) fn open_gaps(journal: &Connection) -> rusqlite::Result<Vec<Gap>> {
    let gaps: Vec<Gap> = journal
        .prepare_cached(&format!(
            "SELECT {} FROM gaps WHERE {IS_PENDING} AND {IS_OPEN}
             AND \"end\" > coalesce((SELECT max(seen) FROM sessions WHERE sessions.exchange = gaps.exchange AND {IN_USE}), \"end\" - 1)
             ORDER BY exchange",
            table::columns::<Gap>()
        ))?
        .query_map([], |row| table::read(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    let Some(first) = gaps.iter().map(|gap| gap.start).min() else {
        return Ok(gaps);
    };
    let connected = journal
        .prepare_cached(&format!(
            "SELECT 1 FROM sessions WHERE seen > ?1 AND {IN_USE} LIMIT 1"
        ))?
        .query_row([first.0], |_| Ok(()))
        .optional()?;
    Ok(if connected.is_some() {
        Vec::new()
    } else {
        gaps
    })
}
