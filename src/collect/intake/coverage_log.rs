//! Records the coverage of one exchange in the archive: gaps, their outcomes, topics, and daily counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::archive::{
    Batch, CounterKind, Gap, GapCause, GapOutcome, GapState, Measurement, MeasurementKind, TopicGap,
};
use crate::collect::feed_group::feed_group::Membership;
use crate::collect::feed_group::outages::Outage;
use crate::collect::feed_group::sequence::SequenceHole;
use crate::collect::intake::daily_counts::DailyCounts;
use crate::collect::intake::requests::BackfillRequests;
use crate::collect::lock::locked;
use crate::collect::venue_context::VenueContext;
use crate::model::{Millis, TimeRange};

/// Maximum time between the receipts of one event on two redundant connections, in milliseconds.
const APART: i64 = 500;
/// End of the reason text of a gap that missing sequence numbers show.
const NUMBERS_MISSING: &str = "missing in the exchange's own numbers";

/// Writes gaps, their outcomes, topic gaps and daily counts of one exchange to the archive.
pub(crate) struct CoverageLog {
    context: Arc<VenueContext>,
    /// The backfill requests of the exchange.
    pub(crate) backfill: BackfillRequests,
    totals: Mutex<Totals>,
}

#[derive(Debug)]
struct Totals {
    counts: DailyCounts,
    /// Number of requested topics and of covered topics, as last written.
    topics: Option<(u64, u64)>,
}

impl CoverageLog {
    pub(crate) fn new(context: Arc<VenueContext>) -> Self {
        let has_numbers = context.venue.numbers_late().is_some();
        Self {
            context,
            backfill: BackfillRequests::default(),
            totals: Mutex::new(Totals {
                counts: DailyCounts::new(has_numbers),
                topics: None,
            }),
        }
    }

    /// Records a gap of at least one millisecond and requests its backfill.
    pub(crate) fn gap(&self, start: Millis, end: Millis, reason: &str) {
        let end = end.max(start.on(1));
        self.note_gap(start, end, reason);
        self.backfill.request(TimeRange::new(start, end));
    }

    /// Records a gap without requesting its backfill.
    pub(crate) fn note_gap(&self, start: Millis, end: Millis, reason: &str) {
        let cause = if reason.ends_with(NUMBERS_MISSING) {
            GapCause::SequenceHole
        } else {
            GapCause::Observed
        };
        self.record_gap(cause, start, end.max(start.on(1)), reason);
    }

    fn record_gap(&self, cause: GapCause, start: Millis, end: Millis, reason: &str) {
        self.context.board.note_gap(reason);
        log::info!(
            target: "liqdata::feeds",
            "{}: gap from {start} until {end}: {reason}",
            self.context.name()
        );
        self.context.delivery.note_gap(Gap {
            exchange: self.context.name().to_owned(),
            start,
            end,
            cause,
            holds: None,
            reason: reason.to_owned(),
            recorded_at: self.context.clock.now(),
        });
    }

    /// Records the outcome of a gap: recovered or lost.
    pub(crate) fn settle(&self, range: TimeRange, outcome: GapState, rows: u64, how: &str) {
        self.settle_all(vec![self.outcome(range, outcome, rows, how)]);
    }

    /// Records the outcomes of several gaps in one batch.
    pub(crate) fn settle_all(&self, outcomes: Vec<GapOutcome>) {
        if !outcomes.is_empty() {
            self.context.delivery.note(Batch {
                outcomes,
                ..Batch::default()
            });
        }
    }

    /// Creates the outcome of a gap, for [`Self::settle_all`].
    pub(crate) fn outcome(
        &self,
        TimeRange { start, end }: TimeRange,
        outcome: GapState,
        rows: u64,
        how: &str,
    ) -> GapOutcome {
        GapOutcome {
            exchange: self.context.name().to_owned(),
            start,
            end: end.max(start.on(1)),
            outcome,
            rows,
            how: how.to_owned(),
            recorded_at: self.context.clock.now(),
        }
    }

    /// Records gaps of single topics until `now`, each with its start and reason.
    pub(crate) fn topic_gaps(&self, topics: &BTreeMap<String, (Millis, String)>, now: Millis) {
        let (topic_count, _) = self.context.board.topics();
        self.topic_gaps_among(
            topics,
            usize::try_from(topic_count).unwrap_or(usize::MAX),
            now,
        );
    }

    /// Like [`Self::topic_gaps`], but with `topic_count` as the number of requested topics.
    pub(crate) fn topic_gaps_among(
        &self,
        topics: &BTreeMap<String, (Millis, String)>,
        topic_count: usize,
        now: Millis,
    ) {
        let topic_count = u64::try_from(topic_count).unwrap_or(u64::MAX);
        let gap = |(topic, (since, reason)): (&String, &(Millis, String))| TopicGap {
            exchange: self.context.name().to_owned(),
            topic: topic.clone(),
            start: *since,
            end: now.max(since.on(1)),
            reason: reason.clone(),
            topics: topic_count.max(1),
            recorded_at: now,
        };
        self.context.delivery.note(Batch {
            topic_gaps: topics.iter().map(gap).collect(),
            ..Batch::default()
        });
    }

    /// Records that a connection has no control stream, so that nothing shows when it stops delivering data.
    pub(crate) fn no_heartbeat(&self, group: &str, topic: &str, why: &str) {
        self.context.board.note_unwatched(group, topic);
        let reason = format!(
            "no control stream: {group}: {topic} {why}, so a connection that stops delivering data is not \
             detected"
        );
        self.context.trouble(reason.clone());
        let now = self.context.clock.now();
        self.topic_gaps(&BTreeMap::from([(topic.to_owned(), (now, reason))]), now);
    }

    /// Records the number of requested and of covered topics, if either has changed.
    pub(crate) fn topic_counts(&self) {
        let found = self.context.board.topics();
        if locked(&self.totals).topics.replace(found) == Some(found) {
            return;
        }
        let now = self.context.clock.now();
        let mark = |kind, count: u64| Measurement {
            exchange: self.context.name().to_owned(),
            kind,
            at: now,
            value: i64::try_from(count).unwrap_or(i64::MAX),
        };
        self.context.delivery.note(Batch {
            measurements: vec![
                mark(MeasurementKind::Topics, found.0),
                mark(MeasurementKind::TopicsCovered, found.1),
            ],
            ..Batch::default()
        });
    }

    /// Records a sequence hole that no redundant connection filled.
    pub(crate) fn sequence_hole(&self, group: &str, membership: &Membership, hole: &SequenceHole) {
        let of = if hole.stream.is_empty() {
            group
        } else {
            &hole.stream
        };
        let reason = format!("{of}: {} {NUMBERS_MISSING}", hole.count);
        let (start, end) = (hole.since, hole.until);
        let mut group = locked(&membership.group);
        let gaps = if group.is_redundant() {
            // The other connection may have received the same events a little earlier or later.
            let (start, end) = (start.back(APART), end.on(APART));
            let outage = Outage::new(start, end, reason);
            group.add_outage(membership.slot, outage, self.context.clock.now())
        } else {
            vec![Outage::new(start, end, reason)]
        };
        drop(group);
        for Outage { range, reason } in gaps {
            let (start, end) = (range.start, range.end);
            self.context.board.notes().status.holes += 1;
            self.context.trouble(reason.clone());
            self.count(CounterKind::Hole, 1, self.context.clock.now());
            self.gap(start, end, &reason);
        }
    }

    /// Counts sequence numbers that were compared with their predecessor.
    pub(crate) fn sequence_numbers(&self, compared: u64, now: Millis) {
        self.context.board.notes().status.sequence_numbers += compared;
        self.count(CounterKind::Numbered, compared, now);
    }

    /// Adds `count` to the daily count of `kind`.
    pub(crate) fn count(&self, kind: CounterKind, count: u64, now: Millis) {
        locked(&self.totals).counts.add(kind, count, now);
    }

    /// Writes the counts since the last call. The first call of a day writes zeros, which mark the day as counted.
    pub(crate) fn write_counts(&self) {
        let (name, now) = (self.context.name(), self.context.clock.now());
        let tallies = locked(&self.totals).counts.take(name, now);
        if !tallies.is_empty() {
            self.context.delivery.note(Batch {
                counters: tallies,
                ..Batch::default()
            });
        }
    }
}
