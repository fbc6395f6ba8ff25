//! How the collecting goes: what every venue's tasks write down, and the picture of it at an instant.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::{Millis, Vocabulary};

/// Seconds that the rate of events looks back.
const RATE: i64 = 60;
/// Topics that a picture names.
const NAMED: usize = 20;
/// How long a kind of trouble is only counted after it was said to the log.
const SAID: i64 = Millis::MINUTE;

/// How a venue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VenueState {
    /// Its markets are being read, or its sockets opened for the first time.
    #[default]
    Starting,
    /// All of its sockets are open and their subscriptions acknowledged; a venue without sockets was polled.
    Live,
    /// Some of that.
    Degraded,
    /// None of that.
    Down,
    /// The collecting has ended.
    Stopped,
}

impl Vocabulary for VenueState {
    const ALL: &'static [Self] = &[
        Self::Starting,
        Self::Live,
        Self::Degraded,
        Self::Down,
        Self::Stopped,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Live => "live",
            Self::Degraded => "degraded",
            Self::Down => "down",
            Self::Stopped => "stopped",
        }
    }
}

/// A venue at an instant. Counts are since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VenueStatus {
    /// The venue.
    pub exchange: &'static str,
    /// How it is.
    pub state: VenueState,
    /// New events in the last minute.
    pub events_per_minute: u64,
    /// New events.
    pub events: u64,
    /// Event time of the latest event.
    pub last_event: Option<Millis>,
    /// How long after its event time the last event that came over a socket was received, in milliseconds.
    pub lag: Option<i64>,
    /// When anything was last received.
    pub last_heard: Option<Millis>,
    /// Gaps that were recorded.
    pub gaps: u64,
    /// Why the last one was.
    pub last_gap: Option<String>,
    /// Connections that were opened.
    pub connections: u64,
    /// Frames, rows and replies of which nothing or not all could be read.
    pub rejected: u64,
    /// Events that were heard before.
    pub repeated: u64,
    /// Events of coins that nobody asked for.
    pub unasked: u64,
    /// Events that wait for the multiplier of their market.
    pub held: u64,
    /// Events that could not be priced in the end.
    pub unpriced: u64,
    /// Events that are kept and look wrong: far off the market's price, or out of proportion to its open interest.
    pub suspect: u64,
    /// Events that were lost because the archive could not take them.
    pub lost: u64,
    /// Topics whose subscription was not acknowledged or was refused, the first few by name.
    pub uncovered: Vec<String>,
    /// How many these are.
    pub uncovered_count: u64,
    /// Bars received.
    pub bars: u64,
    /// Readings of open interest received.
    pub open_interest: u64,
    /// Requests of back-fills that were answered …
    pub asked: u64,
    /// … of so many.
    pub to_ask: u64,
    /// The last trouble, in words: its kind, a colon, and the rest.
    pub trouble: Option<String>,
    /// How many troubles there were.
    pub troubles: u64,
}

/// The collecting at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The instant.
    pub at: Millis,
    /// When the collecting began.
    pub since: Millis,
    /// The venues, in the order asked for.
    pub venues: Vec<VenueStatus>,
    /// Orders that the archive has acknowledged and did not have before.
    pub orders: u64,
    /// The same of bars.
    pub bars: u64,
    /// The same of readings of open interest.
    pub open_interest: u64,
    /// Rows that the archive had already.
    pub repeated: u64,
    /// Rows that wait to be committed.
    pub waiting: u64,
    /// Why nothing can be written, where nothing can.
    pub trouble: Option<String>,
    /// Whether the back-fills of the start are over.
    pub is_filled: bool,
}

/// What is written down of one venue.
#[derive(Debug)]
pub(super) struct Seat {
    exchange: &'static str,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) status: VenueStatus,
    /// Each socket by its name: whether it listens, and the topics it does not cover.
    pub(super) lines: BTreeMap<String, LineNote>,
    /// Whether a poll has been answered, where a venue has no sockets.
    pub(super) polled: Option<bool>,
    /// Whether it has ended.
    pub(super) stopped: bool,
    /// When the last event came over a socket, asked for or not.
    pub(super) last_event_at: Option<Millis>,
    rate: Rate,
    said: Said,
}

/// What is known of one socket.
#[derive(Debug, Default)]
pub(super) struct LineNote {
    pub(super) is_live: bool,
    pub(super) was_live: bool,
    /// When the other end last gave a sign.
    pub(super) last_sign: Option<Millis>,
    pub(super) uncovered: BTreeSet<String>,
}

/// Events by second, as far back as the rate looks.
#[derive(Debug, Default)]
struct Rate {
    seconds: std::collections::VecDeque<(i64, u64)>,
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

/// The troubles that were said to the log: the first of a kind at once, then in a minute only their number.
#[derive(Debug, Default)]
struct Said {
    /// When each kind was last said, the last that was not said since, and how many these are.
    kinds: HashMap<String, (Millis, String, u64)>,
}

impl Said {
    /// What is to be said of a trouble now.
    fn hear(&mut self, message: &str, now: Millis) -> Option<String> {
        let kind = message
            .split_once(": ")
            .map_or(message, |(kind, _)| kind)
            .to_owned();
        if let Some((_, last, count)) = self.kinds.get_mut(&kind) {
            message.clone_into(last);
            *count += 1;
            return None;
        }
        self.kinds.insert(kind, (now, String::new(), 0));
        Some(message.to_owned())
    }

    /// What is to be said of those that were only counted, once their minute is over.
    fn sum_up(&mut self, now: Millis) -> Vec<String> {
        let mut sums = Vec::new();
        self.kinds.retain(|_, (since, last, count)| {
            if now.0.saturating_sub(since.0) < SAID {
                return true;
            }
            if *count == 0 {
                return false;
            }
            sums.push(match *count - 1 {
                0 => last.clone(),
                more => format!("{last} (… {more} more)"),
            });
            (*since, *count) = (now, 0);
            true
        });
        sums.sort();
        sums
    }
}

impl Seat {
    pub(super) fn new(exchange: &'static str) -> Self {
        Self {
            exchange,
            notes: Mutex::default(),
        }
    }

    /// The notes, to be read or written.
    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a trouble down, and says it to the log unless one of its kind was said within a minute.
    pub(super) fn trouble(&self, message: String) {
        let mut notes = self.notes();
        if let Some(line) = notes.said.hear(&message, super::now()) {
            log::warn!(target: "liqdata::feeds", "{}: {line}", self.exchange);
        }
        notes.status.troubles += 1;
        notes.status.trouble = Some(message);
    }

    /// Says to the log how many troubles there were that were not said.
    pub(super) fn sum_up(&self, now: Millis) {
        for line in self.notes().said.sum_up(now) {
            log::warn!(target: "liqdata::feeds", "{}: {line}", self.exchange);
        }
    }

    /// Counts new events that were received at `now`.
    pub(super) fn count(&self, now: Millis, events: u64) {
        let mut notes = self.notes();
        notes.status.events += events;
        notes.rate.count(now, events);
    }

    /// Until when every socket certainly listened; absent while one does not.
    pub(super) fn seen(&self) -> Option<Millis> {
        let notes = self.notes();
        if notes.lines.is_empty() || notes.state() != VenueState::Live {
            return None;
        }
        notes
            .lines
            .values()
            .map(|line| line.last_sign)
            .min()
            .flatten()
    }

    /// Notes a sign of life on a socket.
    pub(super) fn sign(&self, line: &str, at: Millis) {
        let mut notes = self.notes();
        if let Some(note) = notes.lines.get_mut(line) {
            note.last_sign = note.last_sign.max(Some(at));
        }
    }

    /// The venue at `now`.
    pub(super) fn picture(&self, now: Millis) -> VenueStatus {
        let mut notes = self.notes();
        let state = notes.state();
        let events_per_minute = notes.rate.per_minute(now);
        let uncovered = || {
            notes.lines.iter().flat_map(|(line, note)| {
                note.uncovered
                    .iter()
                    .map(move |topic| format!("{line}: {topic}"))
            })
        };
        VenueStatus {
            exchange: self.exchange,
            state,
            events_per_minute,
            uncovered_count: u64::try_from(uncovered().count()).unwrap_or(u64::MAX),
            uncovered: uncovered().take(NAMED).collect(),
            ..notes.status.clone()
        }
    }
}

impl Notes {
    /// How the venue is, by its sockets and polls.
    pub(super) fn state(&self) -> VenueState {
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
        } else if live == self.lines.len() {
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
    use super::*;

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
    fn a_flood_of_troubles_is_one_line_at_once_and_one_a_minute() {
        let mut said = Said::default();
        let now = Millis(5);
        let hear = |said: &mut Said, message: &str, at| said.hear(message, at);
        let first = hear(&mut said, "rejected: a", now);
        assert_eq!(first.as_deref(), Some("rejected: a"));
        for number in 0..413 {
            assert_eq!(
                hear(&mut said, &format!("rejected: b{number}"), now.on(number)),
                None
            );
        }
        // Another kind is not drowned.
        assert!(hear(&mut said, "usdt: no pong", now).is_some());
        assert!(said.sum_up(now.on(SAID - 1)).is_empty());
        let minute = now.on(SAID);
        assert_eq!(said.sum_up(minute), ["rejected: b412 (… 412 more)"]);
        assert!(said.sum_up(minute).is_empty());
        assert_eq!(hear(&mut said, "rejected: c", minute.on(1)), None);
        let next = said.sum_up(minute.on(SAID));
        assert_eq!(next, ["rejected: c"]);
        // Once a minute was quiet the next is said at once, and nothing is remembered for ever.
        assert!(said.sum_up(minute.on(2 * SAID)).is_empty());
        assert!(said.kinds.is_empty());
        assert!(hear(&mut said, "rejected: d", minute.on(2 * SAID)).is_some());
    }

    #[test]
    fn a_venue_is_as_its_sockets_are() {
        let seat = Seat::new("okx");
        assert_eq!(seat.picture(Millis(0)).state, VenueState::Starting);
        seat.notes().lines.entry("a".to_owned()).or_default();
        assert_eq!(seat.picture(Millis(0)).state, VenueState::Starting);
        seat.notes()
            .lines
            .entry("b".to_owned())
            .or_default()
            .is_live = true;
        assert_eq!(seat.picture(Millis(0)).state, VenueState::Degraded);
        seat.notes()
            .lines
            .entry("a".to_owned())
            .or_default()
            .is_live = true;
        assert_eq!(seat.picture(Millis(0)).state, VenueState::Live);
        assert_eq!(seat.seen(), None);
        seat.sign("a", Millis(7));
        seat.sign("b", Millis(5));
        assert_eq!(seat.seen(), Some(Millis(5)));
        for line in seat.notes().lines.values_mut() {
            *line = LineNote {
                is_live: false,
                was_live: true,
                last_sign: None,
                uncovered: BTreeSet::from(["x".to_owned()]),
            };
        }
        let picture = seat.picture(Millis(0));
        assert_eq!(picture.state, VenueState::Down);
        assert_eq!(picture.uncovered, ["a: x", "b: x"]);
    }
}
