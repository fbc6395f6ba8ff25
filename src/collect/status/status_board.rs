//! The status board of one exchange: the tasks of the exchange write to it, and users read the resulting
//! [`VenueStatus`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::collect::clock::machine;
use crate::collect::feed_group::feed_group::FeedGroup;
use crate::collect::lock::locked;
use crate::collect::status::log_limit::LogLimit;
use crate::collect::status::status::{VenueState, VenueStatus};
use crate::model::{Millis, VenueCoverage};

/// Length of the time window of the event rate, in seconds.
const RATE: i64 = 60;
/// Maximum number of topics that a status names.
const NAMED: usize = 20;

/// The status board of one exchange.
#[derive(Debug)]
pub(crate) struct StatusBoard {
    exchange: &'static str,
    notes: Mutex<BoardNotes>,
}

/// What the tasks have written to the board.
#[derive(Debug, Default)]
pub(crate) struct BoardNotes {
    pub(crate) status: VenueStatus,
    /// The feed groups by name.
    pub(crate) groups: BTreeMap<String, GroupStatus>,
    /// Whether the last poll was answered; `None` before the first poll, and for an exchange that is not polled.
    pub(crate) polled: Option<bool>,
    /// Whether some market lists could not be read yet, so that their topics are unknown.
    pub(crate) unlisted: bool,
    /// Whether all lists were read, but the connections for the last lists are not planned yet.
    pub(crate) unplanned: bool,
    /// Whether the tasks of the exchange have ended.
    pub(crate) stopped: bool,
    /// When the last event of any coin arrived on a WebSocket.
    pub(crate) last_event_at: Option<Millis>,
    /// The coverage of the last 24 hours according to the archive.
    pub(crate) covered: Option<VenueCoverage>,
    rate: Rate,
    troubles: LogLimit,
}

/// The status of one feed group.
#[derive(Debug, Default)]
pub(crate) struct GroupStatus {
    pub(crate) is_live: bool,
    pub(crate) was_live: bool,
    /// The feed group; `None` until its connections are planned.
    pub(crate) group: Option<Arc<Mutex<FeedGroup>>>,
    /// Number of live connections; `wanted` is the number that should be live.
    pub(crate) sockets: usize,
    pub(crate) wanted: usize,
    /// The number of requested topics.
    pub(crate) topics: usize,
    pub(crate) uncovered: BTreeSet<String>,
    /// The topic of a control stream that was given up.
    unwatched: Option<String>,
}

/// Event counts per second within the last [`RATE`] seconds.
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

    /// Locks the notes of the board.
    pub(crate) fn notes(&self) -> MutexGuard<'_, BoardNotes> {
        locked(&self.notes)
    }

    /// Shows a warning, and logs it unless a warning of its kind was logged within a minute.
    pub(crate) fn trouble(&self, message: String) {
        let mut notes = self.notes();
        if let Some(line) = notes.troubles.admit(&message, machine()) {
            log::warn!(target: "liqdata::feeds", "{}: {line}", self.exchange);
        }
        notes.status.troubles += 1;
        notes.status.trouble = Some(message);
    }

    /// Notes whether the exchange could be connected to, or why not.
    pub(crate) fn attempted<T>(&self, outcome: Result<T, &str>) {
        let mut notes = self.notes();
        notes.status.reachable = Some(outcome.is_ok());
        notes.status.connect_error = outcome.err().map(ToOwned::to_owned);
    }

    /// Logs the summaries of repeated warnings.
    pub(crate) fn log_summaries(&self, now: Millis) {
        for line in self.notes().troubles.summaries(now) {
            log::warn!(target: "liqdata::feeds", "{}: {line}", self.exchange);
        }
    }

    /// Counts planned backfill requests.
    pub(crate) fn plan_requests(&self, requests: usize) {
        let mut notes = self.notes();
        notes.status.requests_planned += u64::try_from(requests).unwrap_or(0);
    }

    /// Counts a backfill request that was answered or failed for good.
    pub(crate) fn was_answered(&self) {
        let mut notes = self.notes();
        if notes.status.requests_done < notes.status.requests_planned {
            notes.status.requests_done += 1;
        }
    }

    /// Counts bars and readings of open interest.
    pub(crate) fn count_history(&self, bars: usize, readings: usize) {
        let mut notes = self.notes();
        notes.status.bars += u64::try_from(bars).unwrap_or(0);
        notes.status.open_interest += u64::try_from(readings).unwrap_or(0);
    }

    /// Removes planned backfill requests that will not be made.
    pub(crate) fn cancel_requests(&self, requests: usize) {
        let mut notes = self.notes();
        let left = u64::try_from(requests).unwrap_or(0);
        notes.status.requests_planned = notes.status.requests_planned.saturating_sub(left);
    }

    /// Records that a feed group has a control stream again.
    pub(crate) fn clear_unwatched(&self, group: &str) {
        if let Some(note) = self.notes().groups.get_mut(group) {
            note.unwatched = None;
        }
    }

    /// Records that a feed group has no control stream.
    pub(crate) fn note_unwatched(&self, group: &str, topic: &str) {
        if let Some(note) = self.notes().groups.get_mut(group) {
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

    /// The instant up to which every feed group was received or has known gaps; `None` while any group is not live.
    pub(crate) fn covered_until(&self) -> Option<Millis> {
        let notes = self.notes();
        if notes.groups.is_empty() || notes.unlisted || notes.state() != VenueState::Live {
            return None;
        }
        // The lock of the notes is released first: a task that has the lock of a group may wait for the notes.
        let groups: Option<Vec<_>> = notes.groups.values().map(|one| one.group.clone()).collect();
        drop(notes);
        let covered: Option<Vec<Millis>> = groups?
            .iter()
            .map(|group| locked(group).covered_until())
            .collect();
        covered?.into_iter().min()
    }

    /// The number of requested topics and the number of covered topics.
    pub(crate) fn topics(&self) -> (u64, u64) {
        let notes = self.notes();
        let count = |of: fn(&GroupStatus) -> usize| -> u64 {
            let counts = notes.groups.values().map(of);
            u64::try_from(counts.sum::<usize>()).unwrap_or(u64::MAX)
        };
        let requested = count(|group| group.topics);
        (
            requested,
            requested.saturating_sub(count(|group| group.uncovered.len())),
        )
    }

    /// The status at `now`.
    pub(crate) fn status(&self, now: Millis) -> VenueStatus {
        let mut notes = self.notes();
        let state = notes.state();
        let events_per_minute = notes.rate.per_minute(now);
        let uncovered = || {
            notes.groups.iter().flat_map(|(group, note)| {
                let topics = note.uncovered.iter().chain(&note.unwatched);
                topics.map(move |topic| format!("{group}: {topic}"))
            })
        };
        let count = |of: fn(&GroupStatus) -> usize| -> u64 {
            let counts = notes.groups.values().map(of);
            u64::try_from(counts.sum::<usize>()).unwrap_or(u64::MAX)
        };
        VenueStatus {
            exchange: self.exchange,
            state,
            sockets: count(|group| group.sockets),
            sockets_wanted: count(|group| group.wanted),
            topics: count(|group| group.topics),
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
    /// The state of the exchange, from its connections and polls.
    pub(crate) fn state(&self) -> VenueState {
        if self.stopped {
            return VenueState::Stopped;
        }
        if let Some(answered) = self.polled.filter(|_| self.groups.is_empty()) {
            return if answered {
                VenueState::Live
            } else {
                VenueState::Down
            };
        }
        let live = self.groups.values().filter(|group| group.is_live).count();
        if self.groups.is_empty() {
            VenueState::Starting
        } else if live == self.groups.len() && !self.unlisted && !self.unplanned {
            VenueState::Live
        } else if live > 0 {
            VenueState::Degraded
        } else if self.groups.values().any(|group| group.was_live) || self.status.trouble.is_some()
        {
            VenueState::Down
        } else {
            VenueState::Starting
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::feed_group::feed_group::Slot;

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
    fn the_state_follows_the_connections() {
        let board = StatusBoard::new("okx");
        assert_eq!(board.status(Millis(0)).state, VenueState::Starting);
        board.notes().groups.entry("a".to_owned()).or_default();
        assert_eq!(board.status(Millis(0)).state, VenueState::Starting);
        board
            .notes()
            .groups
            .entry("b".to_owned())
            .or_default()
            .is_live = true;
        assert_eq!(board.status(Millis(0)).state, VenueState::Degraded);
        board
            .notes()
            .groups
            .entry("a".to_owned())
            .or_default()
            .is_live = true;
        assert_eq!(board.status(Millis(0)).state, VenueState::Live);
        assert_eq!(board.covered_until(), None);
        for (name, until) in [("a", 7), ("b", 5)] {
            let mut group = FeedGroup::new(false, name, BTreeSet::new(), None, Millis(0));
            group.on_live(Slot::First, Millis(1));
            group.prove(Slot::First, Millis(until));
            let mut notes = board.notes();
            let note = notes.groups.entry(name.to_owned()).or_default();
            note.group = Some(Arc::new(Mutex::new(group)));
        }
        assert_eq!(board.covered_until(), Some(Millis(5)));
        for status in board.notes().groups.values_mut() {
            *status = GroupStatus {
                is_live: false,
                was_live: true,
                group: None,
                sockets: 0,
                wanted: 1,
                topics: 1,
                uncovered: BTreeSet::from(["x".to_owned()]),
                unwatched: None,
            };
        }
        let status = board.status(Millis(0));
        assert_eq!(status.state, VenueState::Down);
        assert_eq!(status.uncovered, ["a: x", "b: x"]);
    }
}
