//! What is written down beside the rows of a venue: gaps and what became of them, topics, counts, the clock, what is left alone.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use crate::archive::{
    Batch, CounterKind, Gap, GapCause, GapOutcome, GapState, Measurement, MeasurementKind, TopicGap,
};
use crate::collect::backfill::queue::Stretch;
use crate::collect::clock::ClockUpdate;
use crate::collect::connection::redundancy::{Place, Silence};
use crate::collect::connection::sequence::SequenceGap;
use crate::collect::intake::intake::Intake;
use crate::collect::lock::locked;
use crate::model::Millis;

/// How far apart two sockets may hear the same, in milliseconds.
const APART: i64 = 500;
/// The end of the reason of a gap that the exchange's own numbers show.
const NUMBERS_MISSING: &str = "missing in the exchange's own numbers";

impl Intake {
    /// Records a gap, which is to be asked for; one shorter than a millisecond is taken for one.
    pub(crate) fn gap(&self, start: Millis, end: Millis, reason: &str) {
        let end = end.max(start.on(1));
        self.note_gap(start, end, reason);
        self.owe((start, end));
    }

    /// Notes that a stretch is to be asked for.
    pub(crate) fn owe(&self, stretch: Stretch) {
        locked(&self.owed).push(stretch);
        self.owes.notify_one();
    }

    /// The stretches that are to be asked for since this was called last.
    pub(crate) fn take_owed(&self) -> Vec<Stretch> {
        std::mem::take(&mut *locked(&self.owed))
    }

    /// Writes down what became of a stretch in which something was missed.
    pub(crate) fn settle(&self, stretch: Stretch, outcome: GapState, rows: u64, how: &str) {
        self.settle_all(vec![self.outcome(stretch, outcome, rows, how)]);
    }

    /// What became of a stretch in which something was missed, to be written down with others.
    pub(crate) fn outcome(
        &self,
        (start, end): Stretch,
        outcome: GapState,
        rows: u64,
        how: &str,
    ) -> GapOutcome {
        GapOutcome {
            exchange: self.name().to_owned(),
            start,
            end: end.max(start.on(1)),
            outcome,
            rows,
            how: how.to_owned(),
            recorded_at: self.clock.now(),
        }
    }

    /// Writes down what became of stretches: all at once, or each would wait for a place in the archive's queue.
    pub(crate) fn settle_all(&self, outcomes: Vec<GapOutcome>) {
        if !outcomes.is_empty() {
            self.delivery.note(Batch {
                outcomes,
                ..Batch::default()
            });
        }
    }

    /// Records a gap and leaves it at that.
    pub(crate) fn note_gap(&self, start: Millis, end: Millis, reason: &str) {
        let end = end.max(start.on(1));
        self.board.note_gap(reason);
        log::info!(target: "liqdata::feeds", "{}: gap from {start} until {end}: {reason}", self.name());
        let gap = Gap {
            exchange: self.name().to_owned(),
            start,
            end,
            cause: if reason.ends_with(NUMBERS_MISSING) {
                GapCause::SequenceHole
            } else {
                GapCause::Observed
            },
            holds: None,
            reason: reason.to_owned(),
            recorded_at: self.clock.now(),
        };
        self.delivery.note_gap(gap);
    }

    /// Writes down until when topics have not been heard, each since when and why.
    pub(crate) fn unheard(&self, topics: &BTreeMap<String, (Millis, String)>, now: Millis) {
        let (asked, _) = self.board.topics();
        self.unheard_of(topics, usize::try_from(asked).unwrap_or(usize::MAX), now);
    }

    /// The same where so many are asked for in all.
    pub(crate) fn unheard_of(
        &self,
        topics: &BTreeMap<String, (Millis, String)>,
        asked: usize,
        now: Millis,
    ) {
        let asked = u64::try_from(asked).unwrap_or(u64::MAX);
        let gap = |(topic, (since, reason)): (&String, &(Millis, String))| TopicGap {
            exchange: self.name().to_owned(),
            topic: topic.clone(),
            start: *since,
            end: now.max(since.on(1)),
            reason: reason.clone(),
            topics: asked.max(1),
            recorded_at: now,
        };
        self.delivery.note(Batch {
            topic_gaps: topics.iter().map(gap).collect(),
            ..Batch::default()
        });
    }

    /// Leaves a host, or all requests, alone for so long.
    pub(crate) fn leave_alone(&self, place: &str, wait: Duration) {
        if let Err(fault) = self.cooldowns.begin(place, wait, self.clock.now()) {
            let why = format!("how long it is left alone cannot be kept: {fault}");
            self.board.trouble(why);
        }
    }

    /// Says what is left alone from the start on.
    pub(crate) fn show_cooldowns(&self) {
        for (place, left) in self.cooldowns.left() {
            let seconds = left.as_secs();
            self.board.trouble(format!(
                "left alone: {place} for {seconds} s yet, as it said to a process before"
            ));
        }
    }

    /// A line has no control stream, so that a mute venue is not found out on it: that is shown, and on record.
    pub(crate) fn note_unwatched(&self, line: &str, topic: &str, why: &str) {
        self.board.note_unwatched(line, topic);
        let reason =
            format!("no control stream: {line}: {topic} {why}, so nothing shows when it is mute");
        self.board.trouble(reason.clone());
        let now = self.clock.now();
        self.unheard(&BTreeMap::from([(topic.to_owned(), (now, reason))]), now);
    }

    /// Writes down how many topics are asked for and heard, where that has changed.
    pub(crate) fn mark_topics(&self) {
        let found = self.board.topics();
        if locked(&self.marked).replace(found) == Some(found) {
            return;
        }
        let now = self.clock.now();
        let mark = |kind, count: u64| Measurement {
            exchange: self.name().to_owned(),
            kind,
            at: now,
            value: i64::try_from(count).unwrap_or(i64::MAX),
        };
        self.delivery.note(Batch {
            marks: vec![
                mark(MeasurementKind::Topics, found.0),
                mark(MeasurementKind::TopicsCovered, found.1),
            ],
            ..Batch::default()
        });
    }

    /// Counts numbers of the venue's own that were held against the one before.
    pub(crate) fn count_numbers(&self, held: u64, now: Millis) {
        self.board.notes().status.numbered += held;
        locked(&self.counts).add(CounterKind::Numbered, held, now);
    }

    /// Records that by the venue's own numbers something was not heard, by none of those who listen to a line.
    pub(crate) fn hole(&self, line: &str, place: &Place, missed: &SequenceGap) {
        let of = if missed.stream.is_empty() {
            line
        } else {
            &missed.stream
        };
        let reason = format!("{of}: {} {NUMBERS_MISSING}", missed.count);
        let (start, end) = (missed.since, missed.until);
        let mut ears = locked(&place.ears);
        let gaps = if ears.count() > 1 {
            // What another heard is not missing; it may have come a little earlier or later there.
            let (start, end) = (start.back(APART), end.on(APART));
            let silence = Silence { start, end, reason };
            ears.was_silent(place.ear, silence, self.clock.now())
        } else {
            vec![Silence { start, end, reason }]
        };
        drop(ears);
        for Silence { start, end, reason } in gaps {
            self.board.notes().status.holes += 1;
            self.board.trouble(reason.clone());
            locked(&self.counts).add(CounterKind::Hole, 1, self.clock.now());
            self.gap(start, end, &reason);
        }
    }

    /// Counts an event that could not be priced in the end.
    pub(crate) fn count_unpriced(&self) {
        self.board.notes().status.unpriced += 1;
        locked(&self.counts).add(CounterKind::Unpriced, 1, self.clock.now());
    }

    /// Writes down what was counted since this was done last; on the first of a day that it is counted.
    pub(crate) fn write_counts(&self) {
        let tallies = locked(&self.counts).take(self.name(), self.clock.now());
        if !tallies.is_empty() {
            self.delivery.note(Batch {
                tallies,
                ..Batch::default()
            });
        }
    }

    /// Learns what time it was at the venue while a request or a handshake was under way for so long.
    pub(crate) fn measure_clock(&self, date: SystemTime, took: Duration) {
        let ClockUpdate {
            of_venue,
            corrected,
        } = self.clock.measure(self.name(), date, took);
        let now = self.clock.now();
        if let Some(ahead) = of_venue {
            self.board.notes().status.clock_ahead = Some(ahead);
            self.delivery.note(Batch {
                marks: vec![Measurement {
                    exchange: self.name().to_owned(),
                    kind: MeasurementKind::ClockAhead,
                    at: now,
                    value: ahead,
                }],
                ..Batch::default()
            });
        }
        match corrected {
            Some(0) => log::info!(target: "liqdata::feeds", "this machine's clock is right"),
            Some(ahead) => log::warn!(
                target: "liqdata::feeds",
                "this machine's clock is {ahead} ms ahead of the exchanges', and is corrected by that"
            ),
            None => {}
        }
    }
}
