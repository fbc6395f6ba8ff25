//! Topic gaps, gap outcomes, counters and measurements of exchanges, each with a table in the journal.
//!
//! A topic is one subscription of an exchange's data channel, such as the orders of one pair.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::archive::catalog::manifest::Day;
use crate::archive::coverage_log::sessions::known_by;
use crate::archive::rows::row::{Fault, check_name, check_text, check_time, unknown_word};
use crate::archive::sql::table;
use crate::model::{GapState, Millis, Record, Vocabulary, record, value};

/// SQL that creates the tables.
pub(crate) fn create() -> String {
    format!(
        "CREATE TABLE topic_gaps (id INTEGER PRIMARY KEY AUTOINCREMENT, {},
                                  UNIQUE (exchange, topic, start)) STRICT;
         CREATE TABLE outcomes (id INTEGER PRIMARY KEY AUTOINCREMENT, {},
                                UNIQUE (exchange, start, \"end\", outcome)) STRICT;
         CREATE TABLE counters (exchange TEXT NOT NULL, day INTEGER NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL,
                               UNIQUE (exchange, day, kind)) STRICT;
         CREATE TABLE measurements (id INTEGER PRIMARY KEY AUTOINCREMENT, {}, UNIQUE (exchange, kind, at)) STRICT;",
        table::definitions(TopicGap::COLUMNS, None),
        table::definitions(GapOutcome::COLUMNS, None),
        table::definitions(Measurement::COLUMNS, None)
    )
}

record! {
    /// A time range in which one topic of an exchange was not received.
    ///
    /// Other topics of the exchange were received in this time.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct TopicGap {
        /// Exchange, lower case.
        pub exchange: String,
        /// Topic, as the exchange names it.
        pub topic: String,
        /// Start of the gap.
        pub start: Millis,
        /// End of the gap; grows while the gap lasts.
        pub end: Millis,
        /// Short description of the reason.
        pub reason: String,
        /// Number of subscribed topics, this one included.
        pub topics: u64,
        /// When the gap became known.
        pub recorded_at: Millis,
    }
}

record! {
    /// The outcome of a gap: whether its orders were recovered, and how many.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct GapOutcome {
        /// Exchange, lower case.
        pub exchange: String,
        /// Start of the recovered or lost time range.
        pub start: Millis,
        /// End of that time range, exclusive.
        pub end: Millis,
        /// State of the time range after the attempt to recover it.
        pub outcome: GapState,
        /// Number of orders that were recovered.
        pub rows: u64,
        /// Short description of how the outcome was determined.
        pub how: String,
        /// When the outcome became known.
        pub recorded_at: Millis,
    }
}

/// Kind of event that is counted per exchange and day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterKind {
    /// Received rows that could not be decoded or had an implausible time.
    Rejected,
    /// Orders without a value in USD.
    Unpriced,
    /// Orders that were quarantined because their price or value is implausible.
    Quarantined,
    /// Orders that were stored without an outlier check, because no reference value was known.
    Unjudged,
    /// Holes in the exchange's sequence numbers.
    Hole,
    /// Sequence numbers that were compared with the preceding number.
    Numbered,
}

impl Vocabulary for CounterKind {
    const ALL: &'static [Self] = &[
        Self::Rejected,
        Self::Unpriced,
        Self::Quarantined,
        Self::Unjudged,
        Self::Hole,
        Self::Numbered,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Unpriced => "unpriced",
            Self::Quarantined => "quarantined",
            Self::Unjudged => "unjudged",
            Self::Hole => "hole",
            Self::Numbered => "numbered",
        }
    }
}

/// An increment of one daily counter of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Exchange, lower case.
    pub exchange: String,
    /// Time of the events; selects the day of the counter.
    pub at: Millis,
    /// What is counted.
    pub kind: CounterKind,
    /// Number of events to add to the counter.
    pub count: u64,
}

/// Kind of measurement of an exchange's data channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeasurementKind {
    /// Number of subscribed topics.
    Topics,
    /// Number of topics that are being received.
    TopicsCovered,
    /// Difference of this machine's clock minus the exchange's clock, in milliseconds.
    ClockAhead,
    /// Total value of the stored orders of an hour, in US cents.
    ///
    /// Measured only for hours for which the exchange publishes a total, or for which the live tape estimates one.
    ComparedCents,
    /// The total that the exchange publishes, or the estimated one, for the same hour, in US cents.
    VenueCents,
    /// Number of accounts in the snapshot of trading positions taken at the measurement's time.
    Accounts,
    /// Number of accounts that could not be queried for the snapshot of trading positions.
    AccountsMissing,
}

impl Vocabulary for MeasurementKind {
    const ALL: &'static [Self] = &[
        Self::Topics,
        Self::TopicsCovered,
        Self::ClockAhead,
        Self::ComparedCents,
        Self::VenueCents,
        Self::Accounts,
        Self::AccountsMissing,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Topics => "topics",
            Self::TopicsCovered => "topics_covered",
            Self::ClockAhead => "clock_ahead",
            Self::ComparedCents => "compared_cents",
            Self::VenueCents => "venue_cents",
            Self::Accounts => "accounts",
            Self::AccountsMissing => "accounts_missing",
        }
    }
}

value!(MeasurementKind as words);

record! {
    /// A measurement of an exchange's data channel.
    ///
    /// A measurement is valid until the next measurement of the same kind.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Measurement {
        /// Exchange, lower case.
        pub exchange: String,
        /// What was measured.
        pub kind: MeasurementKind,
        /// When it was measured.
        pub at: Millis,
        /// The measured value.
        pub value: i64,
    }
}

/// Returns an error for a measurement without an exchange or with an invalid time.
pub(crate) fn check_measurement(measurement: &Measurement) -> Result<(), Fault> {
    check_name("exchange", &measurement.exchange)?;
    check_time("at", measurement.at)
}

/// Returns an error for a counter without an exchange or with an invalid time.
pub(crate) fn check_counter(counter: &Counter) -> Result<(), Fault> {
    check_name("exchange", &counter.exchange)?;
    check_time("at", counter.at)
}

/// Returns an error for a topic gap with blank fields or an empty time range.
pub(crate) fn check_topic_gap(gap: &TopicGap) -> Result<(), Fault> {
    check_name("exchange", &gap.exchange)?;
    check_text("topic", &gap.topic)?;
    check_text("reason", &gap.reason)?;
    check_time("start", gap.start)?;
    check_time("end", gap.end)?;
    check_time("recorded_at", gap.recorded_at)?;
    if gap.start >= gap.end {
        return Err(("end", format!("{} is not after {}", gap.end, gap.start)));
    }
    if gap.topics == 0 {
        return Err((
            "topics",
            "0 is not allowed; the topic itself counts".to_owned(),
        ));
    }
    Ok(())
}

/// Returns an error for an outcome with blank fields or an empty time range.
pub(crate) fn check_outcome(outcome: &GapOutcome) -> Result<(), Fault> {
    check_name("exchange", &outcome.exchange)?;
    check_text("how", &outcome.how)?;
    check_time("start", outcome.start)?;
    check_time("end", outcome.end)?;
    check_time("recorded_at", outcome.recorded_at)?;
    if outcome.start >= outcome.end {
        return Err((
            "end",
            format!("{} is not after {}", outcome.end, outcome.start),
        ));
    }
    Ok(())
}

/// Records a topic gap, or extends the recorded one with the same start.
pub(crate) fn add_topic_gap(journal: &Connection, gap: &TopicGap) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO topic_gaps (exchange, topic, start, \"end\", reason, topics, recorded_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (exchange, topic, start) DO UPDATE
             SET \"end\" = max(\"end\", excluded.\"end\"), topics = max(topics, excluded.topics)",
        )?
        .execute(params![
            gap.exchange,
            gap.topic,
            gap.start.0,
            gap.end.0,
            gap.reason,
            i64::try_from(gap.topics).unwrap_or(i64::MAX),
            gap.recorded_at.0
        ])
        .map(drop)
}

/// Records a gap outcome.
pub(crate) fn add_outcome(journal: &Connection, outcome: &GapOutcome) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO outcomes (exchange, start, \"end\", outcome, rows, how, recorded_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            outcome.exchange,
            outcome.start.0,
            outcome.end.0,
            outcome.outcome.name(),
            i64::try_from(outcome.rows).unwrap_or(i64::MAX),
            outcome.how,
            outcome.recorded_at.0
        ])
        .map(drop)
}

/// Adds an increment to its daily counter.
pub(crate) fn add_counter(journal: &Connection, counter: &Counter) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO counters (exchange, day, kind, count) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (exchange, day, kind) DO UPDATE SET count = count + excluded.count",
        )?
        .execute(params![
            counter.exchange,
            Day::of(counter.at).0,
            counter.kind.name(),
            i64::try_from(counter.count).unwrap_or(i64::MAX)
        ])
        .map(drop)
}

/// Records a measurement.
pub(crate) fn add_measurement(
    journal: &Connection,
    measurement: &Measurement,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO measurements (exchange, kind, at, value) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (exchange, kind, at) DO UPDATE SET value = excluded.value",
        )?
        .execute(params![
            measurement.exchange,
            measurement.kind.name(),
            measurement.at.0,
            measurement.value
        ])
        .map(drop)
}

/// All measurements before `end`, oldest first.
pub(crate) fn all_measurements(
    journal: &Connection,
    end: Millis,
) -> rusqlite::Result<Vec<Measurement>> {
    journal
        .prepare_cached(&format!(
            "SELECT {} FROM measurements WHERE at < ?1 ORDER BY at, id",
            table::columns::<Measurement>()
        ))?
        .query_map([end.0], |line| table::read(line, 0))?
        .collect()
}

/// End of the measurements to read: `end`, or just after `as_of` if that is earlier.
fn known_until(end: Millis, as_of: Option<Millis>) -> Millis {
    as_of.map_or(end, |at| end.min(at.on(1)))
}

/// Value of the latest measurement before `end` and up to `as_of`, for each exchange and kind.
pub(crate) fn measurements(
    journal: &Connection,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<BTreeMap<(String, MeasurementKind), i64>> {
    let measurements = all_measurements(journal, known_until(end, as_of))?.into_iter();
    Ok(measurements
        .map(|measurement| ((measurement.exchange, measurement.kind), measurement.value))
        .collect())
}

/// Time of the latest measurement of a kind before `end`, for each exchange.
pub(crate) fn last(
    journal: &Connection,
    kind: MeasurementKind,
    exchange: Option<&str>,
    end: Millis,
) -> rusqlite::Result<BTreeMap<String, Millis>> {
    journal
        .prepare_cached(
            "SELECT exchange, max(at) FROM measurements
             WHERE kind = ?1 AND at < ?2 AND (?3 IS NULL OR exchange = ?3) GROUP BY exchange",
        )?
        .query_map(params![kind.name(), end.0, exchange], |line| {
            Ok((line.get(0)?, Millis(line.get(1)?)))
        })?
        .collect()
}

/// Exchange and time of every measurement of a kind from `start` (inclusive) to `end` (exclusive).
pub(crate) fn times(
    journal: &Connection,
    kind: MeasurementKind,
    exchange: Option<&str>,
    (start, end): (Millis, Millis),
) -> rusqlite::Result<Vec<(String, Millis)>> {
    journal
        .prepare_cached(
            "SELECT exchange, at FROM measurements
             WHERE kind = ?1 AND at >= ?2 AND at < ?3 AND (?4 IS NULL OR exchange = ?4) ORDER BY at, exchange",
        )?
        .query_map(params![kind.name(), start.0, end.0, exchange], |line| {
            Ok((line.get(0)?, Millis(line.get(1)?)))
        })?
        .collect()
}

/// Sums of the [`MeasurementKind::ComparedCents`] and [`MeasurementKind::VenueCents`] of a time range, for each
/// exchange and kind.
pub(crate) fn compared(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<BTreeMap<(String, MeasurementKind), i64>> {
    let mut sums = BTreeMap::new();
    let both = [MeasurementKind::ComparedCents, MeasurementKind::VenueCents];
    let measurements = all_measurements(journal, known_until(end, as_of))?.into_iter();
    for measurement in measurements
        .filter(|measurement| measurement.at >= start && both.contains(&measurement.kind))
    {
        *sums
            .entry((measurement.exchange, measurement.kind))
            .or_default() += measurement.value;
    }
    Ok(sums)
}

/// Topic gaps that overlap a time range and were known at `as_of`.
///
/// The ends of the gaps are cut at `as_of`.
pub(crate) fn topic_gaps(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<TopicGap>> {
    let mut gaps = within::<TopicGap>(journal, "topic_gaps", start, end, as_of)?;
    if let Some(at) = as_of {
        // A gap that lasts is recorded again with a later end, so its end at `as_of` was at most `as_of`.
        for gap in &mut gaps {
            gap.end = gap.end.min(at.max(gap.start.on(1)));
        }
        gaps.retain(|gap| gap.end > start);
    }
    Ok(gaps)
}

/// Gap outcomes that overlap a time range and were known at `as_of`.
pub(crate) fn outcomes(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<GapOutcome>> {
    within::<GapOutcome>(journal, "outcomes", start, end, as_of)
}

fn within<R: Record>(
    journal: &Connection,
    table: &str,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<R>> {
    journal
        .prepare_cached(&format!(
            "SELECT {} FROM {table} WHERE start < ?2 AND \"end\" > ?1 AND recorded_at <= ?3
             ORDER BY start, exchange, \"end\", id",
            table::columns::<R>()
        ))?
        .query_map([start.0, end.0, known_by(as_of)], |row| table::read(row, 0))?
        .collect()
}

/// Daily counters of all days that overlap a time range.
///
/// The time of each is the start of its day.
pub(crate) fn daily_counters(
    journal: &Connection,
    start: Millis,
    end: Millis,
) -> rusqlite::Result<Vec<Counter>> {
    let mut statement = journal.prepare_cached(
        "SELECT exchange, day, kind, count FROM counters WHERE day >= ?1 AND day <= ?2 ORDER BY day, exchange, kind",
    )?;
    let last = Day::of(end.back(1));
    let lines = statement.query_map([Day::of(start).0, last.0], |line| {
        let kind: String = line.get(2)?;
        let count: i64 = line.get(3)?;
        Ok(Counter {
            exchange: line.get(0)?,
            at: Day(line.get(1)?).start(),
            kind: CounterKind::parse(&kind)
                .ok_or_else(|| table::not_readable(2, unknown_word(&kind)))?,
            count: u64::try_from(count).unwrap_or(0),
        })
    })?;
    lines.collect()
}

/// Sums of the daily counters of a time range, for each exchange and kind.
///
/// With `as_of`, only days that had ended a minute before count: only the total of each day is stored, and it is
/// complete a few seconds after the day.
pub(crate) fn counters(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<BTreeMap<(String, CounterKind), u64>> {
    let mut counts = BTreeMap::new();
    for counter in daily_counters(journal, start, end)? {
        if as_of.is_some_and(|at| at < counter.at.on(Millis::DAY + Millis::MINUTE)) {
            continue;
        }
        *counts.entry((counter.exchange, counter.kind)).or_default() += counter.count;
    }
    Ok(counts)
}
