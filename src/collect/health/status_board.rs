//! What a venue's tasks write down of how they go, and the picture that makes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::collect::clock::machine;
use crate::collect::connection::redundancy::Ears;
use crate::collect::health::log_limit::LogLimit;
use crate::collect::health::status::{VenueState, VenueStatus};
use crate::collect::lock::locked;
use crate::model::{Millis, VenueCoverage};

/// Seconds that the rate of events looks back.
const RATE: i64 = 60;
/// Topics that a picture names.
const NAMED: usize = 20;

/// What is written down of one venue.
#[derive(Debug)]
pub(crate) struct StatusBoard {
    exchange: &'static str,
    notes: Mutex<BoardNotes>,
}

#[derive(Debug, Default)]
pub(crate) struct BoardNotes {
    pub(crate) status: VenueStatus,
    /// Each line by its name: whether anybody listens to it, and the topics it does not cover.
    pub(crate) lines: BTreeMap<String, GroupStatus>,
    /// Whether a poll has been answered, where a venue has no sockets.
    pub(crate) polled: Option<bool>,
    /// Whether a part of its markets could not be read yet, so that nobody knows what to listen to there.
    pub(crate) unlisted: bool,
    /// Whether that part is read by now, and the sockets it asks for are not planned yet.
    pub(crate) unplanned: bool,
    /// Whether it has ended.
    pub(crate) stopped: bool,
    /// When the last event came over a socket, asked for or not.
    pub(crate) last_event_at: Option<Millis>,
    /// What the archive says of the last day.
    pub(crate) covered: Option<VenueCoverage>,
    rate: Rate,
    troubles: LogLimit,
}

/// What is known of one socket, or of several that listen to the same.
#[derive(Debug, Default)]
pub(crate) struct GroupStatus {
    pub(crate) is_live: bool,
    pub(crate) was_live: bool,
    /// Who listens, once they are known.
    pub(crate) ears: Option<Arc<Mutex<Ears>>>,
    /// How many sockets listen to it, and how many are to.
    pub(crate) sockets: usize,
    pub(crate) wanted: usize,
    /// How many topics it asks for.
    pub(crate) topics: usize,
    pub(crate) uncovered: BTreeSet<String>,
    /// The topic of the control stream, where there is none.
    unwatched: Option<String>,
}

/// Events by second, as far back as the rate looks.
#[derive(Debug, Default)]
struct Rate {
    seconds: VecDeque<(i64, u64)>,
}

impl Rate {
    fn count(&mut self, now: Millis, events: u64) {
        let second = now.0.div_euclid(1000);
        match self.seconds.back_mut() {
            Some((last, count)) if *last == second => *count += events,
            _ => self.seconds.push_back((second, events)),
        }
        self.forget(second);
    }

    fn forget(&mut self, second: i64) {
        while self
            .seconds
            .front()
            .is_some_and(|(old, _)| *old <= second - RATE)
        {
            self.seconds.pop_front();
        }
    }

    fn per_minute(&mut self, now: Millis) -> u64 {
        self.forget(now.0.div_euclid(1000));
        self.seconds.iter().map(|(_, count)| count).sum()
    }
}

impl StatusBoard {
    pub(crate) fn new(exchange: &'static str) -> Self {
        Self {
            exchange,
            notes: Mutex::default(),
        }
    }

    /// The notes, to be read or written.
    pub(crate) fn notes(&self) -> MutexGuard<'_, BoardNotes> {
        locked(&self.notes)
    }

    /// Writes a trouble down, and says it to the log unless one of its kind was said within a minute.
    pub(crate) fn trouble(&self, message: String) {
        let mut notes = self.notes();
        if let Some(line) = notes.troubles.hear(&message, machine()) {
            log::warn!(target: "liqdata::feeds", "{}: {line}", self.exchange);
        }
        notes.status.troubles += 1;
        notes.status.trouble = Some(message);
    }

    /// Says to the log how many troubles there were that were not said.
    pub(crate) fn sum_up(&self, now: Millis) {
        for line in self.notes().troubles.sum_up(now) {
            log::warn!(target: "liqdata::feeds", "{}: {line}", self.exchange);
        }
    }

    /// Counts requests of back-fills that are going to be made.
    pub(crate) fn will_ask(&self, requests: usize) {
        let mut notes = self.notes();
        notes.status.to_ask += u64::try_from(requests).unwrap_or(0);
    }

    /// Counts a request of a back-fill that was answered, or failed for good.
    pub(crate) fn was_answered(&self) {
        let mut notes = self.notes();
        if notes.status.asked < notes.status.to_ask {
            notes.status.asked += 1;
        }
    }

    /// Counts bars and readings of open interest.
    pub(crate) fn count_history(&self, bars: usize, readings: usize) {
        let mut notes = self.notes();
        notes.status.bars += u64::try_from(bars).unwrap_or(0);
        notes.status.open_interest += u64::try_from(readings).unwrap_or(0);
    }

    /// Takes requests back that are not going to be made.
    pub(crate) fn will_not_ask(&self, requests: usize) {
        let mut notes = self.notes();
        let left = u64::try_from(requests).unwrap_or(0);
        notes.status.to_ask = notes.status.to_ask.saturating_sub(left);
    }

    /// The control stream of a line tells something.
    pub(crate) fn tells(&self, line: &str) {
        if let Some(note) = self.notes().lines.get_mut(line) {
            note.unwatched = None;
        }
    }

    /// A line has no control stream.
    pub(crate) fn note_unwatched(&self, line: &str, topic: &str) {
        if let Some(note) = self.notes().lines.get_mut(line) {
            note.unwatched = Some(topic.to_owned());
        }
    }

    /// Counts a gap.
    pub(crate) fn note_gap(&self, reason: &str) {
        let mut notes = self.notes();
        notes.status.gaps += 1;
        notes.status.last_gap = Some(reason.to_owned());
    }

    /// Counts new events that were received at `now`.
    pub(crate) fn count(&self, now: Millis, events: u64) {
        let mut notes = self.notes();
        notes.status.events += events;
        notes.rate.count(now, events);
    }

    /// Until when every line was certainly listened to, or is known not to have been; absent while one is not.
    pub(crate) fn seen(&self) -> Option<Millis> {
        let notes = self.notes();
        if notes.lines.is_empty() || notes.unlisted || notes.state() != VenueState::Live {
            return None;
        }
        // Who looks at them may write notes meanwhile.
        let ears: Option<Vec<_>> = notes.lines.values().map(|line| line.ears.clone()).collect();
        drop(notes);
        let seen: Option<Vec<Millis>> = ears?.iter().map(|ears| locked(ears).seen()).collect();
        seen?.into_iter().min()
    }

    /// How many topics are asked for, and how many of them are heard.
    pub(crate) fn topics(&self) -> (u64, u64) {
        let notes = self.notes();
        let count = |of: fn(&GroupStatus) -> usize| -> u64 {
            let counts = notes.lines.values().map(of);
            u64::try_from(counts.sum::<usize>()).unwrap_or(u64::MAX)
        };
        let asked = count(|line| line.topics);
        (
            asked,
            asked.saturating_sub(count(|line| line.uncovered.len())),
        )
    }

    /// The venue at `now`.
    pub(crate) fn picture(&self, now: Millis) -> VenueStatus {
        let mut notes = self.notes();
        let state = notes.state();
        let events_per_minute = notes.rate.per_minute(now);
        let uncovered = || {
            notes.lines.iter().flat_map(|(line, note)| {
                let topics = note.uncovered.iter().chain(&note.unwatched);
                topics.map(move |topic| format!("{line}: {topic}"))
            })
        };
        let count = |of: fn(&GroupStatus) -> usize| -> u64 {
            let counts = notes.lines.values().map(of);
            u64::try_from(counts.sum::<usize>()).unwrap_or(u64::MAX)
        };
        VenueStatus {
            exchange: self.exchange,
            state,
            sockets: count(|line| line.sockets),
            sockets_wanted: count(|line| line.wanted),
            topics: count(|line| line.topics),
            connected_share: notes.covered.as_ref().and_then(|one| one.connected_share),
            recovered: notes.covered.as_ref().and_then(|one| one.recovered),
            completeness: notes.covered.as_ref().map(|one| one.completeness),
            known_by: notes.covered.as_ref().map(|one| one.known_by),
            events_per_minute,
            uncovered_count: u64::try_from(uncovered().count()).unwrap_or(u64::MAX),
            uncovered: uncovered().take(NAMED).collect(),
            ..notes.status.clone()
        }
    }
}

impl BoardNotes {
    /// How the venue is, by its sockets and polls.
    pub(crate) fn state(&self) -> VenueState {
        if self.stopped {
            return VenueState::Stopped;
        }
        if let Some(answered) = self.polled.filter(|_| self.lines.is_empty()) {
            return if answered {
                VenueState::Live
            } else {
                VenueState::Down
            };
        }
        let live = self.lines.values().filter(|line| line.is_live).count();
        if self.lines.is_empty() {
            VenueState::Starting
        } else if live == self.lines.len() && !self.unlisted && !self.unplanned {
            VenueState::Live
        } else if live > 0 {
            VenueState::Degraded
        } else if self.lines.values().any(|line| line.was_live) || self.status.trouble.is_some() {
            VenueState::Down
        } else {
            VenueState::Starting
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::health::status_board::*;

    #[test]
    fn the_rate_is_that_of_the_last_minute() {
        let mut rate = Rate::default();
        rate.count(Millis(0), 5);
        rate.count(Millis(999), 1);
        rate.count(Millis(30_000), 2);
        assert_eq!(rate.per_minute(Millis(59_999)), 8);
        assert_eq!(rate.per_minute(Millis(60_000)), 2);
        assert_eq!(rate.per_minute(Millis(90_000)), 0);
    }

    #[test]
    fn a_venue_is_as_its_sockets_are() {
        let board = StatusBoard::new("okx");
        assert_eq!(board.picture(Millis(0)).state, VenueState::Starting);
        board.notes().lines.entry("a".to_owned()).or_default();
        assert_eq!(board.picture(Millis(0)).state, VenueState::Starting);
        board
            .notes()
            .lines
            .entry("b".to_owned())
            .or_default()
            .is_live = true;
        assert_eq!(board.picture(Millis(0)).state, VenueState::Degraded);
        board
            .notes()
            .lines
            .entry("a".to_owned())
            .or_default()
            .is_live = true;
        assert_eq!(board.picture(Millis(0)).state, VenueState::Live);
        assert_eq!(board.seen(), None);
        for (line, until) in [("a", 7), ("b", 5)] {
            let mut ears = Ears::new(1, line, BTreeSet::new(), None, Millis(0));
            ears.lives(0, Millis(1));
            ears.sign(0, Millis(until));
            let mut notes = board.notes();
            let note = notes.lines.entry(line.to_owned()).or_default();
            note.ears = Some(Arc::new(Mutex::new(ears)));
        }
        assert_eq!(board.seen(), Some(Millis(5)));
        for line in board.notes().lines.values_mut() {
            *line = GroupStatus {
                is_live: false,
                was_live: true,
                ears: None,
                sockets: 0,
                wanted: 1,
                topics: 1,
                uncovered: BTreeSet::from(["x".to_owned()]),
                unwatched: None,
            };
        }
        let picture = board.picture(Millis(0));
        assert_eq!(picture.state, VenueState::Down);
        assert_eq!(picture.uncovered, ["a: x", "b: x"]);
    }
}
