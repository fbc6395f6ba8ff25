//! Coverage of exchanges over a time range, computed from sessions, gaps and events.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::archive::ArchiveError;
use crate::archive::catalog::file_versions;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, SegmentState};
use crate::archive::coverage::damage_gaps;
use crate::archive::coverage::intervals::without;
use crate::archive::coverage_log::events;
use crate::archive::coverage_log::events::{CounterKind, GapOutcome, MeasurementKind, TopicGap};
use crate::archive::coverage_log::pending;
use crate::archive::coverage_log::sessions;
use crate::archive::coverage_log::sessions::{Gap, GapCause, Session, known_by, silent_ranges};
use crate::archive::filter::Filter;
use crate::archive::integrity::segment_check;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::scan::table_scan;
use crate::archive::store::store::Store;
use crate::model::{Completeness, GapState, Millis, TimeRange, VenueCoverage, sort_small};

/// Exchange, number of its orders, and time of the last order.
type EventCount = (String, u64, Millis);

/// Returns an error for an empty time range.
fn check_range(start: Millis, end: Millis) -> Result<(), ArchiveError> {
    if start < end {
        Ok(())
    } else {
        Err(ArchiveError::BadRange {
            parameter: "end",
            message: format!("{end} is not after the start, {start}"),
        })
    }
}

/// Implements `CoverageView::gaps`.
pub(crate) fn gaps(store: &Store, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
    gaps_known(store, start, end, None)
}

/// Implements `CoverageView::gaps_known`.
pub(crate) fn gaps_known(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<Vec<Gap>, ArchiveError> {
    check_range(start, end)?;
    let mut known = store.ask(|journal| sessions::gaps(journal, start, end, as_of))?;
    let same = |a: &Gap, b: &Gap| {
        (&a.exchange, a.start, a.end, &a.reason) == (&b.exchange, b.start, b.end, &b.reason)
    };
    for gap in damage_gaps::damage_gaps(store, start, end)? {
        if !known.iter().any(|one| same(one, &gap)) {
            known.push(gap);
        }
    }
    sort_small(&mut known, |a, b| {
        (a.start, &a.exchange, a.end, &a.reason).cmp(&(b.start, &b.exchange, b.end, &b.reason))
    });
    Ok(known)
}

/// Implements `CoverageView::sessions`.
pub(crate) fn sessions(
    store: &Store,
    start: Millis,
    end: Millis,
) -> Result<Vec<Session>, ArchiveError> {
    check_range(start, end)?;
    store.ask(|journal| sessions::sessions(journal, start, end, None))
}

/// Implements `CoverageView::by_exchange`.
pub(crate) fn coverage(
    store: &Store,
    start: Millis,
    end: Millis,
) -> Result<Vec<VenueCoverage>, ArchiveError> {
    check_range(start, end)?;
    coverage_of(store, start, end, &counts(store, start, end)?, None)
}

/// Implements `CoverageView::by_exchange_counted`.
pub(crate) fn coverage_of(
    store: &Store,
    start: Millis,
    end: Millis,
    counts: &BTreeMap<String, (u64, Millis)>,
    as_of: Option<Millis>,
) -> Result<Vec<VenueCoverage>, ArchiveError> {
    check_range(start, end)?;
    let records = coverage_records(store, start, end, as_of)?;
    let mut venues: BTreeMap<String, VenueCoverage> = BTreeMap::new();
    let known_exchanges = records.known_exchanges.iter();
    let gaps = records.gaps.iter().map(|gap| &gap.exchange);
    for name in known_exchanges.chain(gaps).chain(counts.keys()) {
        if !venues.contains_key(name) {
            let (cnt, last_event) = counts
                .get(name)
                .map_or((0, None), |(cnt, last)| (*cnt, Some(*last)));
            let covered = records.of(name, cnt, last_event);
            venues.insert(name.clone(), covered);
        }
    }
    Ok(venues.into_values().collect())
}

/// Implements `CoverageView::covered`.
pub(crate) fn covered(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
    check_range(start, end)?;
    let records = range_records(store, start, end, as_of)?;
    Ok(records.covered_by_exchange())
}

/// Reads what the covered ranges of a time range are computed from.
fn range_records(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<CoverageRecords, ArchiveError> {
    let gaps = gaps_known(store, start, end, as_of)?;
    store.ask(|journal| {
        Ok(CoverageRecords {
            range: TimeRange::new(start, end),
            gaps,
            silent_ranges: silent_ranges(journal, start, end, as_of)?,
            sessions: sessions::sessions(journal, start, end, as_of)?,
            known_exchanges: known_exchanges(journal, as_of)?,
            outcomes: events::outcomes(journal, start, end, as_of)?,
            ..CoverageRecords::default()
        })
    })
}

/// Implements `CoverageView::recorded`.
pub(crate) fn recorded(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
    check_range(start, end)?;
    // Sessions that were not known by `as_of` cover nothing then, and neither do the rows that came with them.
    if store
        .ask(|journal| known_exchanges(journal, None))?
        .is_empty()
    {
        let range = TimeRange::new(start, end);
        let rows = store.ask(ranges_of_rows)?.into_iter();
        return Ok(rows
            .map(|(name, rows)| (name, without(&[rows.intersection(range)], &[])))
            .collect());
    }
    let mut records = range_records(store, start, end, as_of)?;
    for session in &mut records.sessions {
        // A table with orders of one instant covers that instant.
        session.seen = session.seen.max(session.started.on(1));
    }
    Ok(records.covered_by_exchange())
}

/// The time between the first and the last order, for each exchange with orders.
///
/// It counts as covered in an archive without any session: its rows are a table that no collector wrote. All reads use
/// indices.
fn ranges_of_rows(journal: &Connection) -> rusqlite::Result<BTreeMap<String, TimeRange>> {
    let is_current = file_versions::is_valid("?1");
    let latest = [file_versions::at(None)];
    let ends: (Option<i64>, Option<i64>) = journal
        .prepare_cached(&format!(
            "SELECT min(first), max(last) FROM (
                 SELECT first, last FROM manifest WHERE holds = 'orders' AND state = 'active' AND {is_current}
                 UNION ALL SELECT (SELECT min(timestamp) FROM orders), (SELECT max(timestamp) FROM orders))"
        ))?
        .query_row(latest, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)) = ends else {
        return Ok(BTreeMap::new());
    };
    let range = TimeRange::new(Millis(first), Millis(last).on(1));
    journal
        .prepare_cached(&format!(
            "WITH RECURSIVE journaled (exchange) AS (
                 SELECT min(exchange) FROM orders
                 UNION ALL SELECT (SELECT min(orders.exchange) FROM orders WHERE orders.exchange > journaled.exchange)
                     FROM journaled WHERE exchange IS NOT NULL)
             SELECT exchange FROM journaled WHERE exchange IS NOT NULL
             UNION SELECT exchange FROM part_venues JOIN manifest USING (path)
                 WHERE holds = 'orders' AND state = 'active' AND {is_current}"
        ))?
        .query_map(latest, |row| Ok((row.get(0)?, range)))?
        .collect()
}

/// Implements `CoverageView::fully_covered`.
pub(crate) fn fully_covered(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
    let mut records = coverage_records(store, start, end, as_of)?;
    records
        .sessions
        .retain(|session| session.completeness == Completeness::Complete);
    let whole = |name: &String| {
        let topics = records.topic_gaps.iter();
        let unsubscribed: Vec<TimeRange> = topics
            .filter(|gap| gap.exchange == *name)
            .map(|gap| TimeRange::new(gap.start, gap.end))
            .collect();
        (name.clone(), without(&records.covered(name), &unsubscribed))
    };
    Ok(records.known_exchanges.iter().map(whole).collect())
}

/// Implements `CoverageView::topic_gaps`.
pub(crate) fn topic_gaps(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<Vec<TopicGap>, ArchiveError> {
    check_range(start, end)?;
    store.ask(|journal| events::topic_gaps(journal, start, end, as_of))
}

/// Implements `CoverageView::outcomes`.
pub(crate) fn outcomes(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<Vec<GapOutcome>, ArchiveError> {
    check_range(start, end)?;
    store.ask(|journal| events::outcomes(journal, start, end, as_of))
}

/// Reads the records from which the coverage of a time range is computed.
fn coverage_records(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<CoverageRecords, ArchiveError> {
    let gaps = gaps_known(store, start, end, as_of)?;
    store.ask(|journal| {
        Ok(CoverageRecords {
            range: TimeRange::new(start, end),
            gaps,
            silent_ranges: silent_ranges(journal, start, end, as_of)?,
            sessions: sessions::sessions(journal, start, end, as_of)?,
            known_exchanges: known_exchanges(journal, as_of)?,
            topic_gaps: events::topic_gaps(journal, start, end, as_of)?,
            outcomes: events::outcomes(journal, start, end, as_of)?,
            counters: events::counters(journal, start, end, as_of)?,
            measurements: events::measurements(journal, end, as_of)?,
            compared: events::compared(journal, start, end, as_of)?,
        })
    })
}

/// Number of orders and time of the last order of each exchange.
///
/// For whole days in segments, the counts come from the manifest.
fn counts(
    store: &Store,
    start: Millis,
    end: Millis,
) -> Result<BTreeMap<String, (u64, Millis)>, ArchiveError> {
    let mut counts: BTreeMap<String, (u64, Millis)> = BTreeMap::new();
    let mut add = |exchange: String, rows: u64, last: Millis| {
        let count = counts.entry(exchange).or_insert((0, last));
        count.0 += rows;
        count.1 = count.1.max(last);
    };
    let filter = Filter {
        start: Some(start),
        end: Some(end),
        ..Filter::default()
    };
    for day in table_scan::days_with_rows::<OrderRow>(store, &filter)? {
        match counts_without_rows(store, day, start.max(day.start()), end.min(day.end()))? {
            Some(venues) => venues
                .into_iter()
                .for_each(|(exchange, rows, last)| add(exchange, rows, last)),
            None => table_scan::read_day::<OrderRow>(store, day, &filter)?
                .rows
                .into_iter()
                .for_each(|row| add(row.order.exchange, 1, row.order.timestamp)),
        }
    }
    Ok(counts)
}

/// Counts the orders of a day without reading the rows.
///
/// This works if all rows of the day are in the journal, or all are in sound segments. Otherwise returns `None`.
fn counts_without_rows(
    store: &Store,
    day: Day,
    start: Millis,
    end: Millis,
) -> Result<Option<Vec<EventCount>>, ArchiveError> {
    let counted = |row: &rusqlite::Row<'_>| {
        let rows: i64 = row.get(1)?;
        Ok((
            row.get(0)?,
            u64::try_from(rows).unwrap_or(0),
            Millis(row.get(2)?),
        ))
    };
    let (parts, journaled, listed) = store.ask(|journal| {
        let parts = manifest::of_day(journal, OrderRow::TABLE, day, SegmentState::Active)?;
        let journaled = journal
            .prepare_cached(
                "SELECT exchange, count(*), max(timestamp) FROM orders
                 WHERE timestamp >= ?1 AND timestamp < ?2 GROUP BY exchange",
            )?
            .query_map([start.0, end.0], counted)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let is_current = file_versions::is_valid("?2");
        let listed = journal
            .prepare_cached(&format!(
                "SELECT exchange, sum(part_venues.rows), max(part_venues.last) FROM part_venues
                 JOIN manifest USING (path)
                 WHERE holds = 'orders' AND day = ?1 AND state = 'active' AND {is_current} GROUP BY exchange"
            ))?
            .query_map([day.0, file_versions::at(None)], counted)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        Ok((parts, journaled, listed))
    })?;
    if parts.is_empty() {
        return Ok(Some(journaled));
    }
    let whole = start == day.start() && end == day.end();
    if whole && journaled.is_empty() && segment_check::all_sound(store, &parts)? {
        return Ok(Some(listed));
    }
    Ok(None)
}

/// Exchanges that had begun a session or been pending by `as_of`.
fn known_exchanges(journal: &Connection, as_of: Option<Millis>) -> rusqlite::Result<Vec<String>> {
    let mut known: Vec<String> = journal
        .prepare_cached(&format!(
            "SELECT DISTINCT exchange FROM sessions WHERE known_at <= ?1 AND {}",
            sessions::in_use_at("?1")
        ))?
        .query_map([known_by(as_of)], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for name in pending::exchanges(journal, known_by(as_of))? {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    Ok(known)
}

fn weakest_completeness(sessions: &[&Session]) -> Completeness {
    let all =
        |is| !sessions.is_empty() && sessions.iter().all(|session| session.completeness == is);
    if sessions
        .iter()
        .any(|session| session.completeness == Completeness::Sampled)
    {
        Completeness::Sampled
    } else if all(Completeness::Complete) {
        Completeness::Complete
    } else {
        Completeness::Unknown
    }
}

/// The records from which the coverage of a time range is computed.
#[derive(Default)]
struct CoverageRecords {
    range: TimeRange,
    gaps: Vec<Gap>,
    silent_ranges: Vec<(String, Millis, Millis)>,
    sessions: Vec<Session>,
    known_exchanges: Vec<String>,
    topic_gaps: Vec<TopicGap>,
    outcomes: Vec<GapOutcome>,
    counters: BTreeMap<(String, CounterKind), u64>,
    measurements: BTreeMap<(String, MeasurementKind), i64>,
    compared: BTreeMap<(String, MeasurementKind), i64>,
}

impl CoverageRecords {
    /// The covered time ranges of each exchange.
    fn covered_by_exchange(&self) -> BTreeMap<String, Vec<TimeRange>> {
        let venues = self.known_exchanges.iter();
        venues
            .map(|name| (name.clone(), self.covered(name)))
            .collect()
    }

    /// Time ranges of an exchange with recovered orders.
    fn recovered(&self, name: &str) -> Vec<TimeRange> {
        let recovered = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.exchange == name && outcome.outcome == GapState::Recovered);
        recovered
            .map(|outcome| TimeRange::new(outcome.start, outcome.end))
            .collect()
    }

    /// Time ranges in which an exchange was connected and has no known gap, sorted.
    fn covered(&self, name: &str) -> Vec<TimeRange> {
        let sessions = self
            .sessions
            .iter()
            .filter(|session| session.exchange == name);
        let connected: Vec<TimeRange> = sessions
            .map(|session| TimeRange::new(session.started, session.seen).intersection(self.range))
            .collect();
        let gaps = self.gaps.iter().filter(|gap| gap.exchange == name);
        let gaps: Vec<TimeRange> = gaps.map(|gap| TimeRange::new(gap.start, gap.end)).collect();
        let mut missing = without(&gaps, &self.recovered(name));
        let silent = self
            .silent_ranges
            .iter()
            .filter(|(exchange, ..)| exchange == name);
        missing.extend(silent.map(|(_, from, to)| TimeRange::new(*from, *to)));
        without(&connected, &missing)
    }

    /// Covered share of the time range, from 0 to 1.
    ///
    /// A gap of one of `n` topics reduces the covered time by its length divided by `n`.
    fn share(&self, name: &str) -> f64 {
        let (covered, recovered) = (self.covered(name), self.recovered(name));
        let length = |ranges: &[TimeRange]| -> f64 {
            as_float(ranges.iter().map(|range| range.length()).sum())
        };
        let unsubscribed: f64 = self
            .topic_gaps
            .iter()
            .filter(|gap| gap.exchange == name)
            .map(|gap| {
                let unsubscribed = without(&[TimeRange::new(gap.start, gap.end)], &recovered);
                let rest = length(&without(&covered, &unsubscribed));
                (length(&covered) - rest) / as_float(i64::try_from(gap.topics).unwrap_or(i64::MAX))
            })
            .sum();
        ((length(&covered) - unsubscribed) / as_float(self.range.length())).max(0.0)
    }

    /// Whether a gap in the exchange's sequence numbers was not recovered.
    fn is_missing_numbers(&self, name: &str) -> bool {
        let gaps = self.gaps.iter();
        let holes = gaps.filter(|gap| gap.exchange == name && gap.cause == GapCause::SequenceHole);
        let holes: Vec<TimeRange> = holes
            .map(|gap| TimeRange::new(gap.start, gap.end))
            .collect();
        !without(&holes, &self.recovered(name)).is_empty()
    }

    fn of(&self, name: &str, cnt: u64, last_event: Option<Millis>) -> VenueCoverage {
        let of_venue = |gap: &&Gap| gap.exchange == name;
        let sessions: Vec<&Session> = self
            .sessions
            .iter()
            .filter(|session| session.exchange == name)
            .collect();
        let was_connected = self.known_exchanges.iter().any(|one| one == name);
        let gaps = self.gaps.iter().filter(of_venue).count()
            + self
                .topic_gaps
                .iter()
                .filter(|gap| gap.exchange == name)
                .count();
        // A missing counter means that the count is unknown, not that it is zero.
        let counter = |kind| self.counters.get(&(name.to_owned(), kind)).copied();
        let measurement = |kind| self.measurements.get(&(name.to_owned(), kind)).copied();
        let topics = |kind| measurement(kind).and_then(|count| u64::try_from(count).ok());
        let outcomes = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.exchange == name);
        let recovered: Option<u64> = outcomes.fold(None, |sum, outcome| {
            let is_recovered = outcome.outcome == GapState::Recovered;
            Some(sum.unwrap_or(0) + if is_recovered { outcome.rows } else { 0 })
        });
        let usd = |kind| -> Option<f64> {
            let cents = self.compared.get(&(name.to_owned(), kind))?;
            Some(as_float(*cents) / 100.0)
        };
        let (completeness, numbered) = (
            weakest_completeness(&sessions),
            counter(CounterKind::Numbered),
        );
        VenueCoverage {
            exchange: name.to_owned(),
            connected_share: was_connected.then(|| self.share(name)),
            completeness,
            known_by: completeness.known_by(numbered, self.is_missing_numbers(name)),
            last_event,
            gaps: u64::try_from(gaps).unwrap_or(u64::MAX),
            cnt,
            topics: topics(MeasurementKind::Topics),
            topics_covered: topics(MeasurementKind::TopicsCovered),
            recovered,
            rejected: counter(CounterKind::Rejected),
            unpriced: counter(CounterKind::Unpriced),
            quarantined: counter(CounterKind::Quarantined),
            unjudged: counter(CounterKind::Unjudged),
            holes: counter(CounterKind::Hole),
            numbered,
            clock_ahead: measurement(MeasurementKind::ClockAhead),
            compared_usd: usd(MeasurementKind::ComparedCents),
            exchange_usd: usd(MeasurementKind::VenueCents),
            open_interest_outliers: None,
            bar_outliers: None,
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of less than 285,000 years are exact, and so are cents of less than 90 trillion USD"
)]
fn as_float(millis: i64) -> f64 {
    millis as f64
}
