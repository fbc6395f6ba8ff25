//! Compares the coverage of an archive with the truth of the schedule.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use liqdata::archive::{Archive, TopicGap};
use liqdata::model::Millis;

use super::expected_gaps::{
    DEATH, INSTANT, LATE, MINUTELY, READ, STALE, Span, Trouble, death, lag, listed_within, near,
    seconds, signed, unanswered, without,
};
use super::schedule::{Fault, Mishap, Schedule, shows_after};
use super::virtual_environment::BEGINNING;
use crate::bench::{OrderContent, content_of, orders, true_of};
use crate::doubles::{Skipped, Truth, dialect};

/// The course of a schedule.
#[derive(Debug)]
pub(super) struct Happened {
    /// The schedule as it was performed.
    pub(super) performed: Schedule,
    /// Every event, as REST reports it and as sockets do.
    pub(super) truths: Vec<(Truth, Truth)>,
    /// The lost frames of numbered streams.
    pub(super) skipped: Vec<(&'static str, Skipped)>,
    /// Pages behind the first that were refused.
    pub(super) pages_refused: usize,
    /// When the last event happened.
    pub(super) ends: i64,
    pub(super) log: String,
}

/// Whether a lost frame leaves no hole: no frame of its sequence was sent before or behind it.
fn does_not_show(happened: &Happened, truth: &Truth) -> bool {
    let lag = lag(&happened.performed, truth.venue);
    let of_venue = happened.skipped.iter();
    let mut lost = of_venue.filter(|(of, one)| {
        let stream = dialect(of).unwrap().stream(truth.market);
        *of == truth.venue && stream == Some(&*one.stream) && one.events.contains(&truth.seq)
    });
    lost.any(|(_, one)| {
        let arrives = one.behind.map(|behind| behind + lag);
        let gone = one.gone.unwrap_or(happened.ends);
        one.before.is_none() || arrives.is_none_or(|arrives| arrives >= gone)
    })
}

/// Whether a gap of a topic is one of an event.
fn is_of(gap: &TopicGap, truth: &Truth) -> bool {
    let topics = dialect(truth.venue).unwrap().topics(truth.market);
    gap.exchange == truth.venue
        && topics
            .iter()
            .any(|topic| topic.ends_with(&gap.topic) || gap.topic.contains(truth.market.native_id))
}

/// Whether a listed market cannot be known: the markets were read too rarely for that before all was over, or the venue
/// did not answer those requests. A process reads them at its begin, and knows what the one before had read.
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

/// Whether one of two connections was deaf and could not be found yet, for want of events on the other.
fn is_undetected(schedule: &Schedule, truth: &Truth, at: i64) -> bool {
    let deaf = schedule.faults.iter().filter(|(venue, step)| {
        let is_deaf = matches!(step.what, Fault::Deaf);
        *venue == truth.venue && is_deaf
    });
    let known = STALE + 2 * signed(schedule.pause);
    let mut deaf = deaf.map(|(_, step)| signed(step.at));
    deaf.any(|from| from <= at && at < from + known)
}

/// Whether a venue was mute for no longer than its death test, apart from when the process was frozen: that cannot be detected.
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
        // The death test also leaves out the time between the last look and the freeze, a quarter of it.
        frozen > 0 && mute.lasts - frozen < shows_after(venue) * 5 / 4
    })
}

/// The questions to one archive.
struct Questions<'a> {
    archive: Archive,
    schedule: &'a Schedule,
    happened: &'a Happened,
    topic_gaps: Vec<TopicGap>,
    ends: i64,
    faults: Vec<String>,
}

const ALWAYS: (Millis, Millis) = (Millis(0), Millis(i64::MAX / 2));

pub(super) fn since(at: Millis) -> i64 {
    at.0 - BEGINNING
}

fn as_seconds(at: i64) -> String {
    format!("{}.{:03}", at.div_euclid(1000), at.rem_euclid(1000))
}

/// All false statements of an archive.
pub(super) fn question(folder: &Path, happened: &Happened) -> Vec<String> {
    let schedule = &happened.performed;
    let archive = Archive::read(folder).unwrap();
    let mut questions = Questions {
        topic_gaps: archive
            .coverage()
            .topic_gaps(ALWAYS.0, ALWAYS.1, None)
            .unwrap(),
        archive,
        schedule,
        happened,
        ends: since(Millis(happened.ends)),
        faults: Vec::new(),
    };
    let stored = questions.stored(folder);
    questions.is_missing_openly(&stored);
    for venue in &schedule.venues {
        questions.is_missing_of_need(venue);
        questions.shares_are_spans(venue);
    }
    questions.faults
}

impl Questions<'_> {
    /// How often each event is stored; none twice, and nothing else.
    fn stored(&mut self, folder: &Path) -> Vec<u32> {
        let truths = &self.happened.truths;
        // Several may have equal content.
        let mut known: HashMap<OrderContent, Vec<usize>> = HashMap::new();
        for (number, (by_rest, truth)) in truths.iter().enumerate() {
            let (by_rest, truth) = (true_of(by_rest), true_of(truth));
            if by_rest != truth {
                known.entry(by_rest).or_default().push(number);
            }
            known.entry(truth).or_default().push(number);
        }
        let mut stored = vec![0_u32; truths.len()];
        for row in orders(folder) {
            let equal = known.get(&content_of(&row)).map(Vec::as_slice);
            let fewest = equal
                .unwrap_or_default()
                .iter()
                .min_by_key(|number| stored[**number]);
            match fewest {
                Some(number) => stored[*number] += 1,
                None => self.faults.push(format!("never happened: {row:?}")),
            }
        }
        for ((_, truth), stored) in truths.iter().zip(&stored) {
            if *stored > 1 {
                self.faults.push(format!("{stored} times: {truth:?}"));
            }
        }
        stored
    }

    /// Missing orders lie in a gap, of their venue or of their topic.
    fn is_missing_openly(&mut self, stored: &[u32]) {
        let covered = self
            .archive
            .coverage()
            .covered(ALWAYS.0, ALWAYS.1, None)
            .unwrap();
        let mut lies: BTreeMap<&str, (usize, String)> = BTreeMap::new();
        let near = near(self.schedule);
        let missing = self.happened.truths.iter().zip(stored);
        for ((_, truth), _) in missing.filter(|(_, stored)| **stored == 0) {
            let at = since(Millis(truth.time));
            let spans = covered.get(truth.venue).into_iter().flatten();
            let mut spans = spans.map(|range| (since(range.start), since(range.end)));
            let Some((from, until)) =
                spans.find(|(start, end)| start + near <= at && at + near < *end)
            else {
                continue;
            };
            let mut gaps = self.topic_gaps.iter().filter(|gap| is_of(gap, truth));
            let is_reported =
                gaps.any(|gap| since(gap.start) - near <= at && at <= since(gap.end) + near);
            let is_unknown = is_unknown(self.schedule, truth, at, self.ends);
            let is_too_short = is_too_short(self.schedule, truth, at);
            let is_hidden = does_not_show(self.happened, truth);
            if is_reported
                || is_unknown
                || is_too_short
                || is_hidden
                || is_undetected(self.schedule, truth, at)
            {
                continue;
            }
            let lie = lies.entry(truth.venue).or_insert_with(|| {
                let first = format!(
                    "missing at {} although covered from {} to {}: {} {}",
                    as_seconds(at),
                    as_seconds(from),
                    as_seconds(until),
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
        let runs = self
            .archive
            .coverage()
            .sessions(ALWAYS.0, ALWAYS.1)
            .unwrap();
        let runs = runs.iter().filter(|run| run.exchange == venue);
        let connected: Vec<Span> = runs
            .map(|run| (since(run.started), since(run.seen)))
            .collect();
        let gaps = self.archive.coverage().gaps(ALWAYS.0, ALWAYS.1).unwrap();
        let gaps = gaps.iter().filter(|gap| gap.exchange == venue);
        // Polls may not have covered the last time yet.
        let last = 2 * seconds(self.schedule.poll) + LATE;
        let mut missing = without(&[(0, self.ends - last)], &connected);
        let mut trouble = Trouble::of(self.happened, venue);
        trouble.of_all();
        for gap in gaps {
            let span = (since(gap.start), since(gap.end));
            missing.push(span);
            // A control topic that comes each minute proves nothing of the last one, where the socket is replaced.
            if gap
                .reason
                .ends_with("received nothing since before its replacement")
                && death(venue) > DEATH
            {
                trouble.add((span.1, span.1), (span.1 - MINUTELY, span.1));
            }
        }
        let near = near(self.schedule);
        let needless = trouble.needless(missing.clone(), near);
        trouble.of_topics();
        // A topic may be subscribed later than the others for the same reason.
        missing.extend(self.topic_spans(venue));
        let needless_topics = without(&trouble.needless(missing, near), &needless);
        for (what, spans) in [("all", needless), ("topics", needless_topics)] {
            for (from, until) in spans
                .into_iter()
                .filter(|(from, until)| until - from > INSTANT)
            {
                let (from, until) = (as_seconds(from), as_seconds(until));
                self.faults.push(format!(
                    "{venue}: {what} missing without need from {from} to {until}"
                ));
            }
        }
    }

    /// The share equals the sum of the spans.
    fn shares_are_spans(&mut self, venue: &str) {
        let (start, end) = (Millis(BEGINNING), Millis(self.happened.ends));
        let share = self.archive.coverage().by_exchange(start, end).unwrap();
        let share = share.iter().find(|one| one.exchange == venue);
        let share = share.and_then(|one| one.connected_share);
        let spans = self.archive.coverage().covered(start, end, None).unwrap();
        let spans = spans.get(venue).into_iter().flatten();
        let long: i64 = spans.map(|range| range.length()).sum();
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

/// The statements of an archive, to debug a schedule.
pub(super) fn tell(folder: &Path) -> String {
    let archive = Archive::read(folder).unwrap();
    let (first, last) = ALWAYS;
    let mut text = String::new();
    let as_seconds = |at: Millis| as_seconds(since(at));
    let mut line = |what: &str, of: &str, start: Millis, end: Millis, why: &str| {
        let (start, end) = (as_seconds(start), as_seconds(end));
        writeln!(text, "{what} {of} from {start} to {end}: {why}").unwrap();
    };
    for run in archive.coverage().sessions(first, last).unwrap() {
        line("run", &run.exchange, run.started, run.seen, "");
    }
    for gap in archive.coverage().gaps(first, last).unwrap() {
        line("gap", &gap.exchange, gap.start, gap.end, &gap.reason);
    }
    for gap in archive.coverage().topic_gaps(first, last, None).unwrap() {
        let of = format!("{} {}", gap.exchange, gap.topic);
        line("topic gap", &of, gap.start, gap.end, &gap.reason);
    }
    for one in archive.coverage().outcomes(first, last, None).unwrap() {
        let why = format!("{:?}, {}", one.outcome, one.how);
        line("outcome", &one.exchange, one.start, one.end, &why);
    }
    text
}
