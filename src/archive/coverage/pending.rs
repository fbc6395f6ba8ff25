//! Exchanges that are to be listened to and are not heard yet: one gap each, open from the start of whoever collects on,
//! that grows until the listening begins.
//!
//! It is written down at once, so that neither an end by force nor a venue that is never reached leaves nothing behind.

use rusqlite::{Connection, OptionalExtension, params};

use crate::archive::coverage::sessions;
use crate::archive::coverage::sessions::{Gap, SessionId, add_gap};
use crate::archive::journal::table;
use crate::archive::rows::row::{Fault, check_name, check_time};
use crate::model::{Completeness, Millis};

/// The reason of such a gap, before what stands in the way.
const REASON: &str = "not heard yet";

/// The condition that a gap is one.
const IS_PENDING: &str = "reason GLOB 'not heard yet*'";

/// Characters of what stands in the way that are kept.
const MAX_REASON_CHARS: usize = 300;

/// An exchange that is to be listened to and was not heard by an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingExchange {
    /// Exchange, lower case.
    pub exchange: String,
    /// Since when it is to be listened to.
    pub since: Millis,
    /// Until when it is known not to have been heard.
    pub until: Millis,
    /// What stands in the way, as far as that is known.
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

/// Refuses one that says nothing.
pub(crate) fn check(pending: &PendingExchange) -> Result<(), Fault> {
    check_name("exchange", &pending.exchange)?;
    check_time("since", pending.since)?;
    check_time("until", pending.until)
}

/// Until when an exchange is known to have been listened to.
fn last_seen(journal: &Connection, exchange: &str) -> rusqlite::Result<Option<Millis>> {
    journal
        .prepare_cached("SELECT max(seen) FROM runs WHERE exchange = ?1")?
        .query_row([exchange], |row| row.get::<_, Option<i64>>(0))
        .map(|seen| seen.map(Millis))
}

/// Takes the gap of an exchange that is awaited out; one that is over stays.
fn remove_gap(
    journal: &Connection,
    exchange: &str,
    seen: Option<Millis>,
) -> rusqlite::Result<Option<Gap>> {
    let mut statement = journal.prepare_cached(&format!(
        "DELETE FROM gaps WHERE exchange = ?1 AND \"end\" > ?2 AND {IS_PENDING}
         RETURNING {}",
        table::columns::<Gap>()
    ))?;
    let seen = seen.map_or(i64::MIN, |seen| seen.0);
    let found: Vec<Gap> = statement
        .query_map(params![exchange, seen], |row| table::read(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(found.into_iter().reduce(|one, other| {
        let newest = if other.end >= one.end { &other } else { &one };
        Gap {
            start: one.start.min(other.start),
            recorded_at: one.recorded_at.min(other.recorded_at),
            ..newest.clone()
        }
    }))
}

/// Writes down that an exchange is still awaited; the gap begins where it was heard last, or was to be heard first.
pub(crate) fn record(journal: &Connection, pending: &PendingExchange) -> rusqlite::Result<()> {
    let seen = last_seen(journal, &pending.exchange)?;
    let end = pending.until.max(pending.since.on(1));
    let is_connected = journal
        .prepare_cached(
            "SELECT 1 FROM runs WHERE exchange = ?1 AND (started >= ?2 OR seen >= ?3) LIMIT 1",
        )?
        .query_row(
            params![pending.exchange, pending.since.0, pending.until.0],
            |_| Ok(()),
        )
        .optional()?;
    // What was handed over before the listening began may come after that.
    if is_connected.is_some() {
        return Ok(());
    }
    let known = remove_gap(journal, &pending.exchange, seen)?;
    let begun = known
        .as_ref()
        .map_or(pending.since, |gap| gap.start.min(pending.since));
    add_gap(
        journal,
        &Gap {
            exchange: pending.exchange.clone(),
            start: seen.unwrap_or(begun),
            end: known.as_ref().map_or(end, |gap| gap.end.max(end)),
            reason: match &known {
                Some(gap) if pending.why.is_none() => gap.reason.clone(),
                _ => pending.reason(),
            },
            recorded_at: known.map_or(pending.until, |gap| gap.recorded_at),
        },
    )
}

/// Begins a run, with which the gap of an exchange that was awaited ends; a start in which nothing stood in the way leaves
/// none.
pub(crate) fn begin(
    journal: &mut Connection,
    exchange: &str,
    completeness: Completeness,
    at: Millis,
) -> rusqlite::Result<SessionId> {
    let transaction = journal.transaction()?;
    let gap = remove_gap(&transaction, exchange, last_seen(&transaction, exchange)?)?;
    if let Some(gap) = gap.filter(|gap| gap.reason != REASON && gap.start < at) {
        add_gap(&transaction, &Gap { end: at, ..gap })?;
    }
    let run = sessions::begin(&transaction, exchange, completeness, at)?;
    transaction.commit()?;
    Ok(run)
}

/// The exchanges that were awaited by `as_of`, whether or not they were heard later.
pub(crate) fn exchanges(journal: &Connection, as_of: i64) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare_cached(&format!(
            "SELECT DISTINCT exchange FROM gaps WHERE recorded_at <= ?1 AND {IS_PENDING}"
        ))?
        .query_map([as_of], |row| row.get(0))?
        .collect()
}

/// The open gaps of exchanges that are pending, where none has been heard since the first of them was.
pub(crate) fn open_gaps(journal: &Connection) -> rusqlite::Result<Vec<Gap>> {
    let gaps: Vec<Gap> = journal
        .prepare_cached(&format!(
            "SELECT {} FROM gaps WHERE {IS_PENDING}
             AND \"end\" > coalesce((SELECT max(seen) FROM runs WHERE runs.exchange = gaps.exchange), \"end\" - 1)
             ORDER BY exchange",
            table::columns::<Gap>()
        ))?
        .query_map([], |row| table::read(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    let Some(first) = gaps.iter().map(|gap| gap.start).min() else {
        return Ok(gaps);
    };
    let connected = journal
        .prepare_cached("SELECT 1 FROM runs WHERE seen > ?1 LIMIT 1")?
        .query_row([first.0], |_| Ok(()))
        .optional()?;
    Ok(if connected.is_some() {
        Vec::new()
    } else {
        gaps
    })
}
