//! The gaps that the faults of a schedule explain, and how long each may be.

use liqdata::model::Millis;

use super::oracle::{Happened, since};
use super::run::WRITES;
use super::schedule::{Fault, Mishap, PAIRED, POLLED, Schedule, Step, is_long, late};

/// A time from here until before there, in milliseconds since the beginning.
pub(super) type Span = (i64, i64);

/// How often a session is written, and how long that takes.
const WRITTEN: i64 = 6000;
/// The longest death test: two pings without an answer, and how often a session is written.
pub(super) const DEATH: i64 = 40_000 + WRITTEN;
/// The same of a venue with a control stream that sends each quarter of a minute, or each minute.
pub(super) const MINUTELY: i64 = 90_000 + WRITTEN;
/// The longest time between two proofs of life, and until one is written.
const PROVEN: i64 = 20_000 + WRITTEN;
/// The longest wait before a connection is tried again, with what an attempt may take: a connection, its acknowledgements,
/// and a venue that answers none of them.
const BACK: i64 = 60_000 + 10_000 + 10_000 + 5000;
/// How long a cooldown may be beyond the venue's own figure, and how long requests may hang.
const ANSWERED: i64 = 5 * 20_000 + 60_000 + 60_000;
/// The longest wait before a refused topic is requested again.
const AGAIN: i64 = 8 * 60_000;
/// How long reading the markets takes.
pub(super) const READ: i64 = 70_000;
/// Two things within so many milliseconds are of the same instant.
pub(super) const INSTANT: i64 = 2;
/// The same where the machine's clock is off: up to two seconds are not corrected, and times are reported in whole ones.
pub(super) const OFF: i64 = 3500;
/// How far before a gap a back-fill begins.
const MARGIN: i64 = 5000;
/// How long before it arrives something may have happened at most.
const UNDER_WAY: i64 = 60_000;
/// How long a stale connection is not detected.
pub(super) const STALE: i64 = 40_000 + 10_000;

pub(super) fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap()
}

/// In order and apart from each other.
fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for (start, end) in spans {
        match joined.last_mut() {
            Some((_, last)) if *last >= start => *last = end.max(*last),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// How late a polled venue may report.
pub(super) const LATE: i64 = 30_000;

/// The parts of `spans` that lie in none of `others`.
pub(super) fn without(spans: &[Span], others: &[Span]) -> Vec<Span> {
    let mut left = Vec::new();
    let others = joined(others.to_vec());
    for (start, end) in joined(spans.to_vec()) {
        let mut from = start;
        for (other, until) in &others {
            if *until <= from || *other >= end {
                continue;
            }
            if *other > from {
                left.push((from, *other));
            }
            from = from.max(*until);
        }
        if from < end {
            left.push((from, end));
        }
    }
    left
}

/// How long after it was listed a market is read.
pub(super) fn listed_within(schedule: &Schedule) -> i64 {
    seconds(schedule.instruments)
}

/// Milliseconds of `seconds`.
pub(super) fn seconds(seconds: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "seconds of a schedule")]
    let whole = seconds as i64;
    whole * 1000
}

/// When requests of a venue may not be answered, at most.
pub(super) fn unanswered(schedule: &Schedule, venue: &str) -> Vec<Span> {
    let of_venue = schedule.faults.iter().filter(|(of, _)| of == &venue);
    let spans = of_venue.filter_map(|(_, step)| {
        let (at, end) = (signed(step.at), signed(step.end()));
        let left_alone = match &step.what {
            // A venue that refuses everything refuses requests, too.
            Fault::List(_)
            | Fault::LaterPages
            | Fault::RestHangs
            | Fault::RestCut
            | Fault::Refused(_) => 0,
            Fault::Rest(limit) => signed(is_long(venue, limit)),
            _ => return None,
        };
        Some((at, end + ANSWERED + left_alone))
    });
    spans.collect()
}

/// How long before its end the last proof of life of a connection may be: between two pings, and until that is written.
fn proven(venue: &str) -> i64 {
    if death(venue) == DEATH {
        PROVEN
    } else {
        MINUTELY
    }
}

/// After how long a silent connection of a venue is given up.
pub(super) fn death(venue: &str) -> i64 {
    if ["htx", "bitfinex"].contains(&venue) {
        MINUTELY
    } else {
        DEATH
    }
}

/// Why the connection of a venue may be lost: when, and when that may be reported at the latest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause {
    truth: Span,
    shows: Span,
}

/// A venue and its part of the schedule.
pub(super) struct Trouble<'a> {
    schedule: &'a Schedule,
    venue: &'a str,
    causes: Vec<Cause>,
}

impl<'a> Trouble<'a> {
    /// A venue with only the holes in its own numbers.
    pub(super) fn of(happened: &'a Happened, venue: &'a str) -> Self {
        Self {
            schedule: &happened.performed,
            venue,
            causes: between_numbers(happened, venue),
        }
    }

    pub(super) fn add(&mut self, truth: Span, shows: Span) {
        self.causes.push(Cause { truth, shows });
    }

    /// Adds the causes of gaps of the whole venue.
    pub(super) fn of_all(&mut self) {
        let (schedule, venue) = (self.schedule, self.venue);
        let (proven, death) = (proven(venue), death(venue));
        let refusals = unanswered(schedule, venue);
        let is_paired = PAIRED.contains(&venue);
        let of_venue = || schedule.faults.iter().filter(|(of, _)| of == &venue);
        let muted = of_venue().filter(|(_, step)| matches!(step.what, Fault::Deaf));
        let deaf_since = muted.map(|(_, step)| signed(step.at)).min();
        let is_deaf = |until: i64| deaf_since.is_some_and(|since| since <= until);
        // A stale connection proves only the time until its own last event.
        let proven = |at: i64| if is_deaf(at) { death } else { proven };
        self.add((0, 0), (0, BACK));
        for (_, step) in of_venue() {
            let (at, end) = (signed(step.at), signed(step.end()));
            // The other connection has the events, unless it is deaf before the first is back.
            if matches!(step.what, Fault::One(_)) && is_paired && !is_deaf(at + BACK) {
                continue;
            }
            let proven = proven(at);
            let dead = end.max(at + death) + BACK;
            match &step.what {
                Fault::Handshake(_, limit) => {
                    let end = end + signed(is_long(venue, limit));
                    self.add((at, end), (at - proven, end + BACK));
                }
                // Without its markets an address has no connection until they are back.
                Fault::Refused(_)
                | Fault::Shut(_)
                | Fault::NoAcks(_)
                | Fault::Topic(..)
                | Fault::Withdrawn => {
                    self.add((at, end), (at - proven, end + BACK));
                }
                Fault::HalfOpen | Fault::Mute => {
                    self.add((at, end.max(at + death)), (at - death, dead));
                }
                Fault::Cut(_) | Fault::One(_) | Fault::Garbage(_) | Fault::Notice => {
                    self.add((at, at), (at - proven, at + BACK));
                }
                Fault::Slow(lag) => {
                    let (at, end) = (at - signed(*lag), end + signed(*lag));
                    self.add((at, end), (at - death, dead + signed(*lag)));
                }
                Fault::List(_)
                | Fault::LaterPages
                | Fault::Rest(_)
                | Fault::RestHangs
                | Fault::RestCut
                | Fault::Announced
                | Fault::Deaf
                | Fault::Skip
                | Fault::Late
                | Fault::Equal
                | Fault::Duplicates
                | Fault::Disorder
                | Fault::Replay(_) => {}
            }
        }
        let polled = POLLED.contains(&venue);
        if polled {
            let before = 2 * seconds(schedule.poll) + LATE;
            for (from, until) in &refusals {
                self.add((*from, *until), (from - before, until + before));
            }
        }
        // The time of a poll is covered once nothing of it can come late.
        let back = |at: i64| {
            if polled {
                seconds(schedule.poll) + LATE + WRITTEN
            } else {
                proven(at)
            }
        };
        let mut begins = vec![(0, BACK)];
        for step in &schedule.mishaps {
            let (at, end) = (signed(step.at), signed(step.end()));
            let back = back(end);
            match step.what {
                Mishap::Killed | Mishap::Stopped | Mishap::Full { .. } => {
                    self.add((at, end), (at - back, end + BACK));
                    begins.push((at, end + BACK));
                }
                Mishap::Frozen { .. } => {
                    // A venue that was not answered meanwhile may end the connection only later.
                    self.add((at, end + death), (at - back, end + death + BACK));
                }
                Mishap::Clock(_) => {
                    for set in [at, end] {
                        self.add((set, set), (set - OFF - back, set + OFF + death + BACK));
                    }
                }
                Mishap::Restarted(off) => {
                    // By its own clock it begins earlier, where that is behind.
                    self.add((at.min(at + off), at), (at - back, at + OFF + BACK));
                    self.add((end, end), (end - OFF - back, end + OFF + death + BACK));
                    begins.push((at, at + BACK));
                }
            }
        }
        // Where it begins to listen while its markets cannot be read, it waits for them.
        for (from, until) in begins {
            for (refuses, answers) in joined(refusals.clone()) {
                if refuses < until && answers > from {
                    self.add((from, answers), (from, answers + BACK));
                }
            }
        }
    }

    /// Adds the causes of gaps of its topics.
    pub(super) fn of_topics(&mut self) {
        let listed = listed_within(self.schedule);
        let of_venue = || {
            self.schedule
                .faults
                .iter()
                .filter(|(of, _)| of == &self.venue)
        };
        let withdrawn = of_venue().filter(|(_, step)| matches!(step.what, Fault::Withdrawn));
        let withdrawn: Vec<Span> = withdrawn
            .map(|(_, step)| (signed(step.at), signed(step.end()) + listed + ANSWERED))
            .collect();
        // Late rows from before a gap are not reported while the market is not listed.
        let late = signed(late(self.venue)) + MARGIN;
        for cause in &mut self.causes {
            let answered = cause.shows.1 + ANSWERED;
            if withdrawn
                .iter()
                .any(|(at, end)| *at <= answered && *end >= cause.shows.0)
            {
                cause.shows.0 -= late;
            }
        }
        let refusals = joined(unanswered(self.schedule, self.venue));
        for (of, step) in &self.schedule.faults {
            let (at, end) = (signed(step.at), signed(step.end()));
            match step.what {
                Fault::Topic(..) if of == &self.venue => {
                    self.add((at, end), (at - proven(self.venue), end + AGAIN + BACK));
                }
                // It is known to be listed once the markets are read; the gap of a delisted one cannot be backfilled.
                Fault::Announced | Fault::Withdrawn if of == &self.venue => {
                    let read = end + listed + ANSWERED;
                    let refused = refusals
                        .iter()
                        .filter(|(from, until)| *from < read && *until > at);
                    let read = refused.fold(read, |read, (_, until)| read.max(until + listed));
                    let shows = (at - listed - ANSWERED, read + BACK);
                    self.add(shows, shows);
                }
                _ => {}
            }
        }
    }

    /// The missing time that no cause explains.
    pub(super) fn needless(&self, missing: Vec<Span>, near: i64) -> Vec<Span> {
        let mut needless = Vec::new();
        for span in joined(missing) {
            let (from, until) = (span.0 - near, span.1 + near);
            let touches = |cause: &&Cause| cause.truth.0 <= until && cause.truth.1 >= from;
            let shows = self.causes.iter().filter(touches).map(|cause| cause.shows);
            let shows: Vec<Span> = shows.collect();
            needless.extend(without(&[span], &shows));
        }
        needless
    }
}

/// How far a time may be off while the machine's clock is.
pub(super) fn near(schedule: &Schedule) -> i64 {
    let mut mishaps = schedule.mishaps.iter();
    let is_off = |step: &Step<Mishap>| matches!(step.what, Mishap::Clock(_) | Mishap::Restarted(_));
    if mishaps.any(is_off) { OFF } else { INSTANT }
}

/// The longest delay of a venue's messages.
pub(super) fn lag(schedule: &Schedule, venue: &str) -> i64 {
    let of_venue = schedule.faults.iter().filter(|(of, _)| of == &venue);
    let lags = of_venue.map(|(_, step)| match step.what {
        Fault::Slow(lag) => signed(lag),
        _ => 0,
    });
    lags.max().unwrap_or(0)
}

/// How long a frame may wait to be read, until the rows of those before it have entered the queue.
fn waits(schedule: &Schedule) -> i64 {
    if schedule.queue < 100 {
        3 * signed(WRITES.as_millis().try_into().unwrap())
    } else {
        0
    }
}

/// How much older than a numbered message the last one may be: at some venues replies to subscriptions have numbers as
/// well, and report the past, if anything.
fn last_before(venue: &str) -> i64 {
    if ["dydx", "kraken"].contains(&venue) {
        UNDER_WAY
    } else {
        0
    }
}

/// Between which two of a venue's numbers something may be missing.
fn between_numbers(happened: &Happened, venue: &str) -> Vec<Cause> {
    let (lag, near) = (lag(&happened.performed, venue), near(&happened.performed));
    let of_venue = happened.skipped.iter().filter(|(of, _)| *of == venue);
    let holes = of_venue.filter_map(|(_, one)| {
        let (before, behind) = (since(Millis(one.before?)), since(Millis(one.behind?)));
        let truth = (before, behind + lag);
        let from = before - last_before(venue).max(lag) - near;
        let shows = (from, behind + lag + near + waits(&happened.performed));
        Some(Cause { truth, shows })
    });
    holes.collect()
}
