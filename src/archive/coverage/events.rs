//! What else is known of the listening, beside runs and gaps: topics that were not heard while their venue was, what became
//! of gaps, how much of what came could not be told, and what was measured of the channel. Tables of the journal, only ever
//! added to.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::archive::catalog::manifest::Day;
use crate::archive::coverage::sessions::known_by;
use crate::archive::journal::table;
use crate::archive::rows::row::{Fault, check_name, check_text, check_time, unknown_word};
use crate::model::{GapState, Millis, Record, Vocabulary, record, value};

/// How the reason of a gap ends that the exchange's own numbers tell of.
pub const NUMBERS_MISSING: &str = "missing in the exchange's own numbers";

/// The tables in SQL.
pub(crate) fn create() -> String {
    format!(
        "CREATE TABLE topic_gaps (id INTEGER PRIMARY KEY AUTOINCREMENT, {},
                                  UNIQUE (exchange, topic, start)) STRICT;
         CREATE TABLE outcomes (id INTEGER PRIMARY KEY AUTOINCREMENT, {},
                                UNIQUE (exchange, start, \"end\", outcome)) STRICT;
         CREATE TABLE tallies (exchange TEXT NOT NULL, day INTEGER NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL,
                               UNIQUE (exchange, day, kind)) STRICT;
         CREATE TABLE marks (id INTEGER PRIMARY KEY AUTOINCREMENT, {}, UNIQUE (exchange, kind, at)) STRICT;",
        table::definitions(TopicGap::COLUMNS, None),
        table::definitions(GapOutcome::COLUMNS, None),
        table::definitions(Measurement::COLUMNS, None)
    )
}

record! {
    /// A stretch of time in which one topic of an exchange was not heard, while others were.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct TopicGap {
        /// Exchange, lower case.
        pub exchange: String,
        /// The topic, as the exchange names it.
        pub topic: String,
        /// When it began.
        pub start: Millis,
        /// Until when it is known to have gone on.
        pub end: Millis,
        /// Why, in a few words.
        pub reason: String,
        /// How many topics were asked for in all.
        pub topics: u64,
        /// When it became known.
        pub recorded_at: Millis,
    }
}

record! {
    /// What became of a stretch of time in which something was missed.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct GapOutcome {
        /// Exchange, lower case.
        pub exchange: String,
        /// Start of the stretch.
        pub start: Millis,
        /// Its end.
        pub end: Millis,
        /// What became of it.
        pub outcome: GapState,
        /// Orders that became known by it.
        pub rows: u64,
        /// How, in a few words.
        pub how: String,
        /// When it became known.
        pub recorded_at: Millis,
    }
}

/// What is counted of what came and could not be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterKind {
    /// Rows that could not be read or were out of their time.
    Rejected,
    /// Orders without a value in USD.
    Unpriced,
    /// Orders whose unit is in doubt.
    Quarantined,
    /// Orders that are kept though nothing measured them.
    Unjudged,
    /// Holes in the exchange's own numbering.
    Hole,
    /// Numbers of the exchange's own that were held against the one before.
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

/// So many more on the day of an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Exchange, lower case.
    pub exchange: String,
    /// When they came.
    pub at: Millis,
    /// What is counted.
    pub kind: CounterKind,
    /// How many more.
    pub count: u64,
}

/// What is measured of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeasurementKind {
    /// How many topics were asked for.
    Topics,
    /// How many of them are heard.
    TopicsCovered,
    /// How far this machine's clock is ahead of the exchange's, in milliseconds.
    ClockAhead,
    /// What is kept of an hour that the exchange's own total tells, in cents of a USD …
    ComparedCents,
    /// … and that total.
    VenueCents,
    /// How many accounts the snapshot of positions of that instant is of.
    Accounts,
    /// … and how many could not be looked at.
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
    /// What was measured of an exchange's channel; it holds until it is measured again.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Measurement {
        /// Exchange, lower case.
        pub exchange: String,
        /// What was measured.
        pub kind: MeasurementKind,
        /// When.
        pub at: Millis,
        /// The measure.
        pub value: i64,
    }
}

/// Refuses a measure of nobody.
pub(crate) fn check_measurement(measurement: &Measurement) -> Result<(), Fault> {
    check_name("exchange", &measurement.exchange)?;
    check_time("at", measurement.at)
}

/// Refuses a count of nobody.
pub(crate) fn check_counter(counter: &Counter) -> Result<(), Fault> {
    check_name("exchange", &counter.exchange)?;
    check_time("at", counter.at)
}

/// Refuses a gap of a topic that says nothing.
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
        return Err(("topics", "0 cannot be: this is one".to_owned()));
    }
    Ok(())
}

/// Refuses an outcome that says nothing.
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

/// Writes the gap of a topic down; one that goes on is written again with a later end.
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

/// Writes down what became of a stretch.
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

/// Counts some more.
pub(crate) fn add_counter(journal: &Connection, counter: &Counter) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO tallies (exchange, day, kind, count) VALUES (?1, ?2, ?3, ?4)
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

/// Writes a measure down.
pub(crate) fn add_measurement(
    journal: &Connection,
    measurement: &Measurement,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO marks (exchange, kind, at, value) VALUES (?1, ?2, ?3, ?4)
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

/// What was measured before `end`, in order.
pub(crate) fn all_measurements(
    journal: &Connection,
    end: Millis,
) -> rusqlite::Result<Vec<Measurement>> {
    journal
        .prepare_cached(&format!(
            "SELECT {} FROM marks WHERE at < ?1 ORDER BY at, id",
            table::columns::<Measurement>()
        ))?
        .query_map([end.0], |line| table::read(line, 0))?
        .collect()
}

/// When what was known at `as_of` ends, of a stretch until before `end`.
fn known_until(end: Millis, as_of: Option<Millis>) -> Millis {
    as_of.map_or(end, |at| end.min(at.on(1)))
}

/// What was measured last before `end` of every exchange, and no later than `as_of`.
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

/// When something was measured last before `end`, of every exchange, or of the one that is named.
pub(crate) fn last(
    journal: &Connection,
    kind: MeasurementKind,
    exchange: Option<&str>,
    end: Millis,
) -> rusqlite::Result<BTreeMap<String, Millis>> {
    journal
        .prepare_cached(
            "SELECT exchange, max(at) FROM marks
             WHERE kind = ?1 AND at < ?2 AND (?3 IS NULL OR exchange = ?3) GROUP BY exchange",
        )?
        .query_map(params![kind.name(), end.0, exchange], |line| {
            Ok((line.get(0)?, Millis(line.get(1)?)))
        })?
        .collect()
}

/// The sums that were compared in a stretch, of every exchange, and no later than `as_of`.
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

/// The gaps of topics that reach into a stretch and were known at `as_of`; one that went on behind that, until then.
pub(crate) fn topic_gaps(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<TopicGap>> {
    let mut gaps = within::<TopicGap>(journal, "topic_gaps", start, end, as_of)?;
    if let Some(at) = as_of {
        // Its end moves on while it lasts, and never lies behind the moment in which it was written down.
        for gap in &mut gaps {
            gap.end = gap.end.min(at.max(gap.start.on(1)));
        }
        gaps.retain(|gap| gap.end > start);
    }
    Ok(gaps)
}

/// What became of stretches that reach into one, as far as it was known at `as_of`.
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

/// What was counted on the days that a stretch reaches into, each at the start of its day.
pub(crate) fn daily_counters(
    journal: &Connection,
    start: Millis,
    end: Millis,
) -> rusqlite::Result<Vec<Counter>> {
    let mut statement = journal.prepare_cached(
        "SELECT exchange, day, kind, count FROM tallies WHERE day >= ?1 AND day <= ?2 ORDER BY day, exchange, kind",
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

/// How many of each kind every exchange has on the days that a stretch reaches into. As of an instant, on those that were over
/// by then: of a day only its whole count is on record.
pub(crate) fn counters(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<BTreeMap<(String, CounterKind), u64>> {
    let mut counts = BTreeMap::new();
    for counter in daily_counters(journal, start, end)? {
        if as_of.is_some_and(|at| at < counter.at.on(Millis::DAY)) {
            continue;
        }
        *counts.entry((counter.exchange, counter.kind)).or_default() += counter.count;
    }
    Ok(counts)
}
