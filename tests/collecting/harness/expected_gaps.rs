//! The gaps that the faults of a schedule explain, and how long each may be.

use liqdata::model::Millis;

use super::oracle::{Happened, since};
use super::run::WRITES;
use super::schedule::{Fault, Mishap, PAIRED, POLLED, Schedule, Step, is_long, late};

/// A time from here until before there, in milliseconds since the beginning.
pub(super) type Span = (i64, i64);

/// How often the listening is written down, and how long that takes.
const WRITTEN: i64 = 6000;
/// The longest death test: two pings without an answer, and how often the listening is written down.
pub(super) const DEATH: i64 = 40_000 + WRITTEN;
/// The same of a venue whose control stream tells each quarter of a minute, or each.
pub(super) const MINUTELY: i64 = 90_000 + WRITTEN;
/// The longest time between two proofs of what is heard, and until one is written down.
const PROVEN: i64 = 20_000 + WRITTEN;
/// The longest wait before a connection is tried again, with what an attempt may take: a connection, its acknowledgements,
/// and a venue that answers none of them.
const BACK: i64 = 60_000 + 10_000 + 10_000 + 5000;
/// What a venue that refuses requests may be left alone for beyond what it says, and what requests may hang.
const ASKED: i64 = 5 * 20_000 + 60_000 + 60_000;
/// The longest wait before a topic that was refused is asked for again.
const AGAIN: i64 = 8 * 60_000;
/// How long reading the markets takes.
pub(super) const READ: i64 = 70_000;
/// Two things within so many milliseconds are of the same instant.
pub(super) const INSTANT: i64 = 2;
/// The same where the machine's clock is off: up to two seconds are not corrected, and times are told in whole ones.
pub(super) const OFF: i64 = 3500;
/// How far before a gap a back-fill begins.
const MARGIN: i64 = 5000;
/// How long before it arrives something may have happened at most.
const UNDER_WAY: i64 = 60_000;
/// How long one of two may owe what the other told.
pub(super) const OWED: i64 = 40_000 + 10_000;

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

/// How late a polled venue may tell, for all that is known.
pub(super) const LATE: i64 = 30_000;

/// What of `spans` lies in none of `others`.
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
        Some((at, end + ASKED + left_alone))
    });
    spans.collect()
}

/// How long before a connection ends the last proof of what was heard on it may be: between two pings, and until that is
/// written down.
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

/// Why a venue may not be heard: when that is so, and when it may show at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause {
    truth: Span,
    shows: Span,
}

/// A venue, and what the schedule has in store for it.
pub(super) struct Trouble<'a> {
    schedule: &'a Schedule,
    venue: &'a str,
    causes: Vec<Cause>,
}

impl<'a> Trouble<'a> {
    /// A venue of which nothing but holes in its own numbers is known yet.
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

    /// Why the venue as a whole may not be heard.
    pub(super) fn of_all(&mut self) {
        let (schedule, venue) = (self.schedule, self.venue);
        let (proven, death) = (proven(venue), death(venue));
        let asked = unanswered(schedule, venue);
        let is_paired = PAIRED.contains(&venue);
        let of_venue = || schedule.faults.iter().filter(|(of, _)| of == &venue);
        let muted = of_venue().filter(|(_, step)| matches!(step.what, Fault::Deaf));
        let deaf_since = muted.map(|(_, step)| signed(step.at)).min();
        let is_deaf = |until: i64| deaf_since.is_some_and(|since| since <= until);
        // What one that owes what the other told has heard, only what it told itself proves.
        let proven = |at: i64| if is_deaf(at) { death } else { proven };
        self.add((0, 0), (0, BACK));
        for (_, step) in of_venue() {
            let (at, end) = (signed(step.at), signed(step.end()));
            // Another hears what one does not, unless that one is deaf before the one is back.
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
                // A venue of which every market of an address is gone has no such address until they are back.
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
            for (from, until) in &asked {
                self.add((*from, *until), (from - before, until + before));
            }
        }
        // What a poll told is covered once nothing of it can come late.
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
            for (refuses, answers) in joined(asked.clone()) {
                if refuses < until && answers > from {
                    self.add((from, answers), (from, answers + BACK));
                }
            }
        }
    }

    /// Why topics of it may not be heard, beside that.
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
            .map(|(_, step)| (signed(step.at), signed(step.end()) + listed + ASKED))
            .collect();
        // Of what may have come late before nobody listened, nobody tells any more while the market is not listed.
        let late = signed(late(self.venue)) + MARGIN;
        for cause in &mut self.causes {
            let asked = cause.shows.1 + ASKED;
            if withdrawn
                .iter()
                .any(|(at, end)| *at <= asked && *end >= cause.shows.0)
            {
                cause.shows.0 -= late;
            }
        }
        let asked = joined(unanswered(self.schedule, self.venue));
        for (of, step) in &self.schedule.faults {
            let (at, end) = (signed(step.at), signed(step.end()));
            match step.what {
                Fault::Topic(..) if of == &self.venue => {
                    self.add((at, end), (at - proven(self.venue), end + AGAIN + BACK));
                }
                // It is known to be listed once the markets are read, and of one that is not it cannot be asked any more what
                // was missed before.
                Fault::Announced | Fault::Withdrawn if of == &self.venue => {
                    let read = end + listed + ASKED;
                    let refused = asked
                        .iter()
                        .filter(|(from, until)| *from < read && *until > at);
                    let read = refused.fold(read, |read, (_, until)| read.max(until + listed));
                    let shows = (at - listed - ASKED, read + BACK);
                    self.add(shows, shows);
                }
                _ => {}
            }
        }
    }

    /// What of the time that is missing none of what touches it accounts for.
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

/// How far a time may be off that is told while the machine's clock is.
pub(super) fn near(schedule: &Schedule) -> i64 {
    let mut mishaps = schedule.mishaps.iter();
    let is_off = |step: &Step<Mishap>| matches!(step.what, Mishap::Clock(_) | Mishap::Restarted(_));
    if mishaps.any(is_off) { OFF } else { INSTANT }
}

/// How long what a venue says is on its way, at most.
pub(super) fn lag(schedule: &Schedule, venue: &str) -> i64 {
    let of_venue = schedule.faults.iter().filter(|(of, _)| of == &venue);
    let lags = of_venue.map(|(_, step)| match step.what {
        Fault::Slow(lag) => signed(lag),
        _ => 0,
    });
    lags.max().unwrap_or(0)
}

/// How long a frame may wait to be read, until the rows of those before it have found a place in the queue.
fn waits(schedule: &Schedule) -> i64 {
    if schedule.queue < 100 {
        3 * signed(WRITES.as_millis().try_into().unwrap())
    } else {
        0
    }
}

/// How much older than a numbered message may be what was told last: replies to subscriptions have numbers as well at some
/// venues, and tell of the past, if of anything.
fn told_before(venue: &str) -> i64 {
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
        let from = before - told_before(venue).max(lag) - near;
        let shows = (from, behind + lag + near + waits(&happened.performed));
        Some(Cause { truth, shows })
    });
    holes.collect()
}
