//! What an archive says of its own completeness, held against what a schedule knows.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use liqdata::archive::{Archive, TopicGap};
use liqdata::model::Millis;

use super::globe::BEGINNING;
use super::performance::is_long;
use super::plan::{Fault, Mishap, PAIRED, POLLED, Schedule, shows_after};
use crate::bench::{Told, orders, told, true_of};
use crate::doubles::{Truth, dialect};

/// A time from here until before there, in milliseconds since the beginning.
type Span = (i64, i64);

/// The longest death test: two pings without an answer, and how often the listening is written down.
const DEATH: i64 = 40_000 + 6000;
/// The same of a venue whose control stream tells each quarter of a minute, or each.
const MINUTELY: i64 = 90_000 + 6000;
/// The longest wait before a connection is tried again, with what an attempt may take: a connection, its acknowledgements,
/// and a venue that answers none of them.
const BACK: i64 = 60_000 + 10_000 + 10_000 + 5000;
/// What a venue that refuses requests may be left alone for beyond what it says, and what requests may hang.
const ASKED: i64 = 5 * 20_000 + 60_000 + 60_000;
/// The longest wait before a topic that was refused is asked for again.
const AGAIN: i64 = 8 * 60_000;
/// How long reading the markets takes.
const READ: i64 = 70_000;
/// Two things within so many milliseconds are of the same instant.
const INSTANT: i64 = 2;
/// The same where the machine's clock is off: up to two seconds are not corrected, and times are told in whole ones.
const OFF: i64 = 3500;
/// How long one of two may owe what the other told.
const OWED: i64 = 40_000 + 10_000;

/// What happened.
#[derive(Debug)]
pub(super) struct Happened {
    /// The schedule as it was performed.
    pub(super) performed: Schedule,
    /// Everything that happened, as REST tells it and as sockets do.
    pub(super) truths: Vec<(Truth, Truth)>,
    /// When the last event happened.
    pub(super) ends: i64,
    pub(super) log: String,
}

fn signed(millis: u64) -> i64 {
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
const LATE: i64 = 30_000;

/// What of `spans` lies in none of `others`.
fn without(spans: &[Span], others: &[Span]) -> Vec<Span> {
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
fn listed_within(schedule: &Schedule) -> i64 {
    seconds(schedule.instruments)
}

/// Milliseconds of `seconds`.
fn seconds(seconds: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "seconds of a schedule")]
    let whole = seconds as i64;
    whole * 1000
}

/// When requests of a venue may not be answered, at most.
fn unanswered(schedule: &Schedule, venue: &str) -> Vec<Span> {
    let of_venue = schedule.faults.iter().filter(|(of, _)| of == &venue);
    let spans = of_venue.filter_map(|(_, step)| {
        let (at, end) = (signed(step.at), signed(step.end()));
        let left_alone = match &step.what {
            // A venue that refuses everything refuses requests, too.
            Fault::List(_) | Fault::RestHangs | Fault::RestCut | Fault::Refused(_) => 0,
            Fault::Rest(limit) => signed(is_long(venue, limit)),
            _ => return None,
        };
        Some((at, end + ASKED + left_alone))
    });
    spans.collect()
}

/// After how long a silent connection of a venue is given up.
fn death(venue: &str) -> i64 {
    if ["htx", "bitfinex"].contains(&venue) {
        MINUTELY
    } else {
        DEATH
    }
}

/// When a venue may not have been heard, at most.
fn allowed(schedule: &Schedule, venue: &str) -> Vec<Span> {
    let mut allowed = vec![(0, BACK)];
    let death = death(venue);
    let asked = unanswered(schedule, venue);
    let is_paired = PAIRED.contains(&venue);
    let mut of_venue = schedule.faults.iter().filter(|(of, _)| of == &venue);
    let is_deaf = of_venue.any(|(_, step)| matches!(step.what, Fault::Deaf));
    for (of, step) in &schedule.faults {
        if of != &venue {
            continue;
        }
        // Another hears what one does not, unless that one is deaf.
        if matches!(step.what, Fault::One(_)) && is_paired && !is_deaf {
            continue;
        }
        let (at, end) = (signed(step.at), signed(step.end()));
        let dead = end.max(at + death) + BACK;
        match &step.what {
            Fault::Handshake(_, limit) => {
                allowed.push((at - death, dead + signed(is_long(venue, limit))));
            }
            Fault::Refused(_)
            | Fault::Shut(_)
            | Fault::HalfOpen
            | Fault::Mute
            | Fault::NoAcks(_)
            | Fault::Topic(..) => allowed.push((at - death, dead)),
            Fault::Cut(_) | Fault::One(_) | Fault::Garbage(_) | Fault::Notice => {
                allowed.push((at - death, at + BACK));
            }
            Fault::Slow(lag) => {
                let lag = signed(*lag);
                allowed.push((at - death - lag, dead + lag));
            }
            // A venue of which every market of an address is gone has no such address until they are back.
            Fault::Withdrawn => allowed.push((at - death, end + BACK)),
            Fault::List(_)
            | Fault::Rest(_)
            | Fault::RestHangs
            | Fault::RestCut
            | Fault::Announced
            | Fault::Deaf
            | Fault::Duplicates
            | Fault::Disorder
            | Fault::Replay(_) => {}
        }
    }
    let polled = POLLED.contains(&venue);
    if polled {
        let before = 2 * seconds(schedule.poll) + LATE;
        let spans = asked.iter();
        allowed.extend(spans.map(|(from, until)| (from - before, until + before)));
    }
    // What a poll told is covered once nothing of it can come late.
    let back = death + if polled { LATE } else { 0 };
    let mut begins = vec![(0, BACK)];
    for step in &schedule.mishaps {
        let (at, end) = (signed(step.at), signed(step.end()));
        match step.what {
            Mishap::Killed | Mishap::Stopped | Mishap::Full { .. } => {
                allowed.push((at - back, end + BACK));
                begins.push((at, end + BACK));
            }
            Mishap::Frozen { .. } => allowed.push((at - back, end + death + BACK)),
            Mishap::Clock(_) => {
                allowed.push((at - OFF - back, at + OFF + death + BACK));
                allowed.push((end - OFF - back, end + OFF + death + BACK));
            }
            Mishap::Restarted(_) => {
                allowed.push((at - back, at + OFF + BACK));
                allowed.push((end - OFF - back, end + OFF + death + BACK));
                begins.push((at, at + BACK));
            }
        }
    }
    // Where it begins to listen while its markets cannot be read, it waits for them.
    for (from, until) in begins {
        for (refuses, answers) in &asked {
            if *refuses < until && *answers > from {
                allowed.push((from, *answers + BACK));
            }
        }
    }
    joined(allowed)
}

/// When topics of a venue may not have been heard, beside that.
fn allowed_of_topics(schedule: &Schedule, venue: &str) -> Vec<Span> {
    let mut allowed = allowed(schedule, venue);
    let death = death(venue);
    let listed = listed_within(schedule);
    for (of, step) in &schedule.faults {
        let (at, end) = (signed(step.at), signed(step.end()));
        match step.what {
            Fault::Topic(..) if of == &venue => allowed.push((at - death, end + AGAIN + BACK)),
            // It is known to be listed once the markets are read.
            Fault::Announced | Fault::Withdrawn if of == &venue => {
                allowed.push((at - listed - ASKED, end + listed + ASKED + BACK));
            }
            _ => {}
        }
    }
    joined(allowed)
}

/// Whether a gap of a topic is one of an event.
fn is_of(gap: &TopicGap, truth: &Truth) -> bool {
    let topics = dialect(truth.venue).unwrap().topics(truth.market);
    gap.exchange == truth.venue
        && topics
            .iter()
            .any(|topic| topic.ends_with(&gap.topic) || gap.topic.contains(truth.market.native_id))
}

/// Whether nobody could know that a market is listed: the markets were read too rarely for that before all was over, or the
/// venue did not answer who read them. A process reads them at its begin, and knows what the one before had read.
fn is_unknown(schedule: &Schedule, truth: &Truth, at: i64, ends: i64) -> bool {
    let of_venue = schedule
        .faults
        .iter()
        .filter(|(venue, _)| *venue == truth.venue);
    let mut listed = of_venue.filter_map(|(_, step)| match step.what {
        Fault::Announced if !truth.market.listed => Some(signed(step.at)),
        Fault::Withdrawn => Some(signed(step.end())),
        _ => None,
    });
    let mut known = at + listed_within(schedule) + READ;
    let restarts = schedule.mishaps.iter().filter(|step| {
        matches!(
            step.what,
            Mishap::Killed | Mishap::Stopped | Mishap::Full { .. } | Mishap::Restarted(_)
        )
    });
    let restarts = restarts.map(|step| (signed(step.at), signed(step.end())));
    let mut unanswered = unanswered(schedule, truth.venue);
    unanswered.extend(restarts);
    unanswered.sort_unstable();
    for (from, until) in unanswered {
        if from < known && until > at {
            known = known.max(until + listed_within(schedule));
        }
    }
    listed.any(|listed| listed <= at) && at < ends && ends < known
}

/// Whether one of two was deaf that nobody could have found out yet, for want of news that the other told.
fn is_owed(schedule: &Schedule, truth: &Truth, at: i64) -> bool {
    let deaf = schedule.faults.iter().filter(|(venue, step)| {
        let is_deaf = matches!(step.what, Fault::Deaf);
        *venue == truth.venue && is_deaf
    });
    let known = OWED + 2 * signed(schedule.pause);
    let mut deaf = deaf.map(|(_, step)| signed(step.at));
    deaf.any(|from| from <= at && at < from + known)
}

/// Whether a venue was mute for no longer than its death test, apart from when the process was frozen: that nobody can know.
fn is_too_short(schedule: &Schedule, truth: &Truth, at: i64) -> bool {
    let mut mute = schedule.faults.iter().filter(|(venue, step)| {
        let is_mute = matches!(step.what, Fault::Mute);
        *venue == truth.venue && is_mute && (signed(step.at)..=signed(step.end())).contains(&at)
    });
    mute.any(|(venue, mute)| {
        let frozen = schedule.mishaps.iter().filter_map(|step| {
            let is_frozen = matches!(step.what, Mishap::Frozen { .. });
            let both = mute
                .end()
                .min(step.end())
                .saturating_sub(mute.at.max(step.at));
            is_frozen.then_some(both)
        });
        let frozen: u64 = frozen.sum();
        // What could be heard between the last look and the freeze, a quarter of it, is left out by the death test as well.
        frozen > 0 && mute.lasts - frozen < shows_after(venue) * 5 / 4
    })
}

/// What is asked of one archive.
struct Questions<'a> {
    archive: Archive,
    schedule: &'a Schedule,
    happened: &'a Happened,
    topic_gaps: Vec<TopicGap>,
    ends: i64,
    faults: Vec<String>,
}

const ALWAYS: (Millis, Millis) = (Millis(0), Millis(i64::MAX / 2));

fn since(at: Millis) -> i64 {
    at.0 - BEGINNING
}

fn shown(at: i64) -> String {
    format!("{}.{:03}", at.div_euclid(1000), at.rem_euclid(1000))
}

/// Everything that an archive says and that is not so.
pub(super) fn question(folder: &Path, happened: &Happened) -> Vec<String> {
    let schedule = &happened.performed;
    let archive = Archive::read(folder).unwrap();
    let mut questions = Questions {
        topic_gaps: archive.topic_gaps(ALWAYS.0, ALWAYS.1, None).unwrap(),
        archive,
        schedule,
        happened,
        ends: since(Millis(happened.ends)),
        faults: Vec::new(),
    };
    let kept = questions.kept(folder);
    questions.is_missing_openly(&kept);
    for venue in &schedule.venues {
        questions.is_missing_of_need(venue);
        questions.shares_are_spans(venue);
    }
    questions.faults
}

impl Questions<'_> {
    /// How often each event is kept; none twice, and nothing else.
    fn kept(&mut self, folder: &Path) -> Vec<u32> {
        let truths = &self.happened.truths;
        let mut known: HashMap<Told, usize> = HashMap::new();
        for (number, (by_rest, truth)) in truths.iter().enumerate() {
            known.insert(true_of(truth), number);
            known.insert(true_of(by_rest), number);
        }
        let mut kept = vec![0_u32; truths.len()];
        for row in orders(folder) {
            match known.get(&told(&row)) {
                Some(number) => kept[*number] += 1,
                None => self.faults.push(format!("never happened: {row:?}")),
            }
        }
        for ((_, truth), kept) in truths.iter().zip(&kept) {
            if *kept > 1 {
                self.faults.push(format!("{kept} times: {truth:?}"));
            }
        }
        kept
    }

    /// What is missing lies in a gap, of its venue or of its topic.
    fn is_missing_openly(&mut self, kept: &[u32]) {
        let covered = self.archive.covered(ALWAYS.0, ALWAYS.1, None).unwrap();
        let mut lies: BTreeMap<&str, (usize, String)> = BTreeMap::new();
        // How far a time may be off that is told while the machine's clock is.
        let mut off = self.schedule.mishaps.iter();
        let off = off.any(|step| matches!(step.what, Mishap::Clock(_) | Mishap::Restarted(_)));
        let near = if off { OFF } else { INSTANT };
        let missing = self.happened.truths.iter().zip(kept);
        for ((_, truth), _) in missing.filter(|(_, kept)| **kept == 0) {
            let at = since(Millis(truth.time));
            let spans = covered.get(truth.venue).into_iter().flatten();
            let mut spans = spans.map(|(start, end)| (since(*start), since(*end)));
            let Some((from, until)) =
                spans.find(|(start, end)| start + near <= at && at + near < *end)
            else {
                continue;
            };
            let mut gaps = self.topic_gaps.iter().filter(|gap| is_of(gap, truth));
            let is_told =
                gaps.any(|gap| since(gap.start) - near <= at && at <= since(gap.end) + near);
            let is_unknown = is_unknown(self.schedule, truth, at, self.ends);
            let is_too_short = is_too_short(self.schedule, truth, at);
            if is_told || is_unknown || is_too_short || is_owed(self.schedule, truth, at) {
                continue;
            }
            let lie = lies.entry(truth.venue).or_insert_with(|| {
                let first = format!(
                    "missing at {} although covered from {} to {}: {} {}",
                    shown(at),
                    shown(from),
                    shown(until),
                    truth.venue,
                    truth.native_id(),
                );
                (0, first)
            });
            lie.0 += 1;
        }
        let lies = lies.into_values();
        let lies = lies.map(|(count, first)| format!("{first} ({count} such)"));
        self.faults.extend(lies);
    }

    fn topic_spans(&self, venue: &str) -> Vec<Span> {
        let gaps = self.topic_gaps.iter();
        gaps.filter(|gap| gap.exchange == venue)
            .map(|gap| (since(gap.start), since(gap.end)))
            .collect()
    }

    /// Nothing is missing for longer than it must be.
    fn is_missing_of_need(&mut self, venue: &str) {
        let runs = self.archive.runs(ALWAYS.0, ALWAYS.1).unwrap();
        let runs = runs.iter().filter(|run| run.exchange == venue);
        let heard: Vec<Span> = runs
            .map(|run| (since(run.started), since(run.seen)))
            .collect();
        let gaps = self.archive.gaps(ALWAYS.0, ALWAYS.1).unwrap();
        let gaps = gaps.iter().filter(|gap| gap.exchange == venue);
        // What tells each minute proves nothing of the last one, where the socket is replaced.
        let is_replaced = |reason: &str| reason.ends_with("replaced, and silent since before");
        let gaps = gaps.filter(|gap| death(venue) == DEATH || !is_replaced(&gap.reason));
        // Of the last time polls may have told nothing yet.
        let last = 2 * seconds(self.schedule.poll) + LATE;
        let mut missing = without(&[(0, self.ends - last)], &heard);
        missing.extend(gaps.map(|gap| (since(gap.start), since(gap.end))));
        let topics = self.topic_spans(venue);
        for (what, missing, allowed) in [
            ("all", missing, allowed(self.schedule, venue)),
            ("topics", topics, allowed_of_topics(self.schedule, venue)),
        ] {
            let needless = without(&missing, &allowed).into_iter();
            for (from, until) in needless.filter(|(from, until)| until - from > INSTANT) {
                let (from, until) = (shown(from), shown(until));
                self.faults.push(format!(
                    "{venue}: {what} missing without need from {from} to {until}"
                ));
            }
        }
    }

    /// The share is what the spans come to.
    fn shares_are_spans(&mut self, venue: &str) {
        let (start, end) = (Millis(BEGINNING), Millis(self.happened.ends));
        let share = self.archive.coverage(start, end).unwrap();
        let share = share.iter().find(|one| one.exchange == venue);
        let share = share.and_then(|one| one.connected_share);
        let spans = self.archive.covered(start, end, None).unwrap();
        let spans = spans.get(venue).into_iter().flatten();
        let long: i64 = spans.map(|(start, end)| end.0 - start.0).sum();
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a schedule")]
        let most = long as f64 / self.ends as f64;
        let is_whole = self.topic_spans(venue).is_empty();
        let is_so = |share: f64| share <= most + 1e-9 && (!is_whole || share >= most - 1e-9);
        if !share.is_some_and(is_so) {
            self.faults.push(format!(
                "{venue}: the share is {share:?}, the spans come to {most}"
            ));
        }
    }
}

/// What an archive says, for who looks into a schedule.
pub(super) fn tell(folder: &Path) -> String {
    let archive = Archive::read(folder).unwrap();
    let (first, last) = ALWAYS;
    let mut text = String::new();
    let shown = |at: Millis| shown(since(at));
    let mut line = |what: &str, of: &str, start: Millis, end: Millis, why: &str| {
        let (start, end) = (shown(start), shown(end));
        writeln!(text, "{what} {of} from {start} to {end}: {why}").unwrap();
    };
    for run in archive.runs(first, last).unwrap() {
        line("run", &run.exchange, run.started, run.seen, "");
    }
    for gap in archive.gaps(first, last).unwrap() {
        line("gap", &gap.exchange, gap.start, gap.end, &gap.reason);
    }
    for gap in archive.topic_gaps(first, last, None).unwrap() {
        let of = format!("{} {}", gap.exchange, gap.topic);
        line("topic gap", &of, gap.start, gap.end, &gap.reason);
    }
    for one in archive.outcomes(first, last, None).unwrap() {
        let why = format!("{:?}, {}", one.outcome, one.how);
        line("outcome", &one.exchange, one.start, one.end, &why);
    }
    text
}
