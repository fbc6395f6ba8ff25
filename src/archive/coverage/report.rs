//! What was listened to and what was missed: completeness is data, too.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::catalog::file_versions;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, State};
use crate::archive::coverage::events;
use crate::archive::coverage::events::{
    CounterKind, GapOutcome, MeasurementKind, NUMBERS_MISSING, TopicGap,
};
use crate::archive::coverage::intervals::without;
use crate::archive::coverage::pending;
use crate::archive::coverage::sessions::{Gap, Session, gaps, known_by, sessions, silent_ranges};
use crate::archive::filter::Filter;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::model::{Completeness, GapState, Millis, TimeRange, VenueCoverage, sort_small};

/// An exchange, how many orders it has, and the time of the last.
type EventCount = (String, u64, Millis);

/// Refuses a stretch that is empty.
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

impl Archive {
    /// The known gaps that reach into the time from `start` until before `end`, by their start; those of files that are
    /// damaged now among them, whether a writer has set them aside or not.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the stretch is empty or the journal cannot be read.
    pub fn gaps(&self, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
        self.gaps_known(start, end, None)
    }

    /// As [`Archive::gaps`], those that had been recorded by `as_of`.
    ///
    /// # Errors
    ///
    /// As [`Archive::gaps`].
    pub fn gaps_known(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<Gap>, ArchiveError> {
        check_range(start, end)?;
        let mut known = self.ask(|journal| gaps(journal, start, end, as_of))?;
        let same = |a: &Gap, b: &Gap| {
            (&a.exchange, a.start, a.end, &a.reason) == (&b.exchange, b.start, b.end, &b.reason)
        };
        for gap in self.damage_gaps(start, end)? {
            if !known.iter().any(|one| same(one, &gap)) {
                known.push(gap);
            }
        }
        sort_small(&mut known, |a, b| {
            (a.start, &a.exchange, a.end, &a.reason).cmp(&(b.start, &b.exchange, b.end, &b.reason))
        });
        Ok(known)
    }

    /// The sessions that reach into the time from `start` until before `end`, by their start.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the stretch is empty or the journal cannot be read.
    pub fn sessions(&self, start: Millis, end: Millis) -> Result<Vec<Session>, ArchiveError> {
        check_range(start, end)?;
        self.ask(|journal| sessions(journal, start, end))
    }

    /// How well each exchange is covered from `start` until before `end`, by name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the stretch is empty or the archive cannot be read.
    pub fn coverage(&self, start: Millis, end: Millis) -> Result<Vec<VenueCoverage>, ArchiveError> {
        check_range(start, end)?;
        self.coverage_of(start, end, &self.counts(start, end)?, None)
    }

    /// As [`Archive::coverage`], where it is known already how many orders each exchange has and when the last was; with
    /// the gaps that had been recorded by `as_of`.
    ///
    /// # Errors
    ///
    /// As [`Archive::coverage`].
    pub fn coverage_of(
        &self,
        start: Millis,
        end: Millis,
        counts: &BTreeMap<String, (u64, Millis)>,
        as_of: Option<Millis>,
    ) -> Result<Vec<VenueCoverage>, ArchiveError> {
        check_range(start, end)?;
        let records = self.coverage_records(start, end, as_of)?;
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

    /// When each exchange was listened to and nothing is known to be missing, from `start` until before `end`: in order and
    /// apart from each other, of every exchange that was ever listened to before; with the gaps that had been recorded by
    /// `as_of`, but for what had been recovered by then. A single topic that was not heard makes no hole here.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the stretch is empty or the archive cannot be read.
    pub fn covered(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
        let records = self.coverage_records(start, end, as_of)?;
        let venues = records.known_exchanges.iter();
        Ok(venues
            .map(|name| (name.clone(), records.covered(name)))
            .collect())
    }

    /// As [`Archive::covered`], of channels that tell every order alone, and without the time in which a topic was not heard.
    ///
    /// # Errors
    ///
    /// As [`Archive::covered`].
    pub fn fully_covered(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
        let mut records = self.coverage_records(start, end, as_of)?;
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

    /// The gaps of single topics that reach into the time from `start` until before `end`, by their start; those that had
    /// been recorded by `as_of`.
    ///
    /// # Errors
    ///
    /// As [`Archive::gaps`].
    pub fn topic_gaps(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<TopicGap>, ArchiveError> {
        check_range(start, end)?;
        self.ask(|journal| events::topic_gaps(journal, start, end, as_of))
    }

    /// What became of stretches that reach into the time from `start` until before `end`, by their start; as far as it had
    /// been recorded by `as_of`.
    ///
    /// # Errors
    ///
    /// As [`Archive::gaps`].
    pub fn outcomes(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<GapOutcome>, ArchiveError> {
        check_range(start, end)?;
        self.ask(|journal| events::outcomes(journal, start, end, as_of))
    }

    /// What is on record of the records in a stretch of time.
    fn coverage_records(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<CoverageRecords, ArchiveError> {
        let gaps = self.gaps_known(start, end, as_of)?;
        self.ask(|journal| {
            Ok(CoverageRecords {
                range: TimeRange::new(start, end),
                gaps,
                silent_ranges: silent_ranges(journal, start, end, as_of)?,
                sessions: sessions(journal, start, end)?,
                known_exchanges: known_exchanges(journal, as_of)?,
                topic_gaps: events::topic_gaps(journal, start, end, as_of)?,
                outcomes: events::outcomes(journal, start, end, as_of)?,
                counters: events::counters(journal, start, end, as_of)?,
                measurements: events::measurements(journal, end, as_of)?,
                compared: events::compared(journal, start, end, as_of)?,
            })
        })
    }

    /// Orders and the last event time of each exchange; whole days that lie in files are read off their list.
    fn counts(
        &self,
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
        for day in self.days::<OrderRow>(&filter)? {
            match self.counts_without_rows(day, start.max(day.start()), end.min(day.end()))? {
                Some(venues) => venues
                    .into_iter()
                    .for_each(|(exchange, rows, last)| add(exchange, rows, last)),
                None => self
                    .day::<OrderRow>(day, &filter)?
                    .rows
                    .into_iter()
                    .for_each(|row| add(row.order.exchange, 1, row.order.timestamp)),
            }
        }
        Ok(counts)
    }

    /// The counts of a day that need no row to be read: those of a day that lies in the journal alone, or whole in
    /// sound files.
    fn counts_without_rows(
        &self,
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
        let (parts, journaled, listed) = self.ask(|journal| {
            let parts = manifest::of_day(journal, OrderRow::TABLE, day, State::Kept)?;
            let journaled = journal
                .prepare_cached(
                    "SELECT exchange, count(*), max(timestamp) FROM orders
                     WHERE timestamp >= ?1 AND timestamp < ?2 GROUP BY exchange",
                )?
                .query_map([start.0, end.0], counted)?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            let is_current = file_versions::is_told("?2");
            let listed = journal
                .prepare_cached(&format!(
                    "SELECT exchange, sum(part_venues.rows), max(part_venues.last) FROM part_venues
                     JOIN manifest USING (path)
                     WHERE holds = 'orders' AND day = ?1 AND state = 'kept' AND {is_current} GROUP BY exchange"
                ))?
                .query_map([day.0, file_versions::at(None)], counted)?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((parts, journaled, listed))
        })?;
        if parts.is_empty() {
            return Ok(Some(journaled));
        }
        let whole = start == day.start() && end == day.end();
        if whole && journaled.is_empty() && self.all_sound(&parts)? {
            return Ok(Some(listed));
        }
        Ok(None)
    }
}

/// The exchanges that had been listened to by `as_of`, or were to be.
fn known_exchanges(journal: &Connection, as_of: Option<Millis>) -> rusqlite::Result<Vec<String>> {
    let mut known: Vec<String> = journal
        .prepare_cached("SELECT DISTINCT exchange FROM runs WHERE started <= ?1")?
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

/// What is on record of the records in a stretch of time.
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
    /// What was told after all of what an exchange had told while it was not heard.
    fn recovered(&self, name: &str) -> Vec<TimeRange> {
        let recovered = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.exchange == name && outcome.outcome == GapState::Recovered);
        recovered
            .map(|outcome| TimeRange::new(outcome.start, outcome.end))
            .collect()
    }

    /// When an exchange was listened to and nothing is known to be missing, in order.
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

    /// The share of the stretch that is covered; a topic that was not heard counts as its part of all topics.
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

    /// Whether by an exchange's own numbers something is missing that was not told after all.
    fn is_missing_numbers(&self, name: &str) -> bool {
        let gaps = self.gaps.iter();
        let holes =
            gaps.filter(|gap| gap.exchange == name && gap.reason.ends_with(NUMBERS_MISSING));
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
        // Where nothing was written down nobody says that there was nothing.
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
            venue_usd: usd(MeasurementKind::VenueCents),
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
