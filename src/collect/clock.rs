//! The clock that what is received is stamped by: this machine's, held against the venues', and whether this process had a
//! turn all the while.
//!
//! Every venue says in its replies what time it is there (`Date`). Where the middle of what they say is more than two
//! seconds off, the machine's clock is wrong and is corrected by it: or a bar that is still open would be taken for closed,
//! and events be refused as of the future. Where the machine's clock is set anew, time goes on here as it did. A process
//! that was stopped reads first what has waited; that proves nothing of how long it listened.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::lock::locked;
use crate::collect::environment::CustomEnvironment;
use crate::model::Millis;

/// How far off the middle of the venues a clock may be, in milliseconds.
const OFF: i64 = 2000;
/// Changes of less than this are the error of the measure: `Date` counts in whole seconds.
const ERROR: i64 = 1000;
/// A time without a turn that is more than the business of the machine.
const ABSENCE: i64 = 1500;
/// How long after an absence what comes may have waited.
const WAITED: i64 = 2000;
/// How often it is noted that there was a turn.
const TICK: Duration = Duration::from_millis(250);

/// The time of this machine, whatever the venues say.
pub(crate) fn machine() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// How long the machine has been awake and asleep, where it says so.
fn uptime() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let seconds = text.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// What the machine's clock said at an instant that no clock tells, and how much of the time before it was asleep.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    at: Millis,
    by: Instant,
    asleep: Option<i64>,
}

/// When this process last had a turn.
#[derive(Debug)]
struct LastRun {
    at: Millis,
    /// Until when what comes may have waited.
    doubtful_until: Millis,
}

/// The clock of one collector.
#[derive(Debug)]
pub(crate) struct AdjustedClock {
    /// Where it runs, if not on this machine.
    world: CustomEnvironment,
    /// How far the machine's is ahead, where that is corrected.
    ahead: AtomicI64,
    /// How far it is ahead of each venue's.
    of_venues: Mutex<HashMap<&'static str, i64>>,
    begun: (Instant, Option<Duration>),
    anchor: Mutex<Anchor>,
    turn: Mutex<LastRun>,
}

/// What a measure came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockUpdate {
    /// How far the machine's clock is ahead of the venue's, where that is news.
    pub(crate) of_venue: Option<i64>,
    /// By how much it is corrected from now on, where that has changed.
    pub(crate) corrected: Option<i64>,
}

impl AdjustedClock {
    pub(crate) fn new(world: CustomEnvironment) -> Self {
        let (at, by) = (
            world.as_ref().map_or_else(machine, |world| world.now()),
            Instant::now(),
        );
        // A custom environment never sleeps.
        let (up, asleep) = match world {
            Some(_) => (None, Some(0)),
            None => (uptime(), None),
        };
        let asleep = asleep.or(up.map(|_| 0));
        Self {
            world,
            ahead: AtomicI64::new(0),
            of_venues: Mutex::default(),
            begun: (by, up),
            anchor: Mutex::new(Anchor { at, by, asleep }),
            turn: Mutex::new(LastRun {
                at,
                doubtful_until: Millis(i64::MIN),
            }),
        }
    }

    fn machine(&self) -> Millis {
        match &self.world {
            Some(world) => world.now(),
            None => machine(),
        }
    }

    /// The instant it is.
    pub(crate) fn now(&self) -> Millis {
        self.right().back(self.ahead.load(Ordering::Relaxed))
    }

    /// The time of this machine; where its clock was set anew, by how much is known from here on.
    fn right(&self) -> Millis {
        self.look(self.machine(), Instant::now())
    }

    /// How much of the time since the beginning the machine was asleep.
    fn asleep(&self, by: Instant) -> Option<i64> {
        if self.world.is_some() {
            return Some(0);
        }
        let (begun, up) = self.begun;
        let long = uptime()?.checked_sub(up?)?;
        let asleep = long.saturating_sub(by.saturating_duration_since(begun));
        i64::try_from(asleep.as_millis()).ok()
    }

    fn look(&self, at: Millis, by: Instant) -> Millis {
        let mut anchor = locked(&self.anchor);
        // Of two threads the later may come first.
        if by < anchor.by {
            return at;
        }
        let passed = by.saturating_duration_since(anchor.by).as_millis();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        let off = at.0.saturating_sub(anchor.at.0).saturating_sub(passed);
        (anchor.at, anchor.by) = (at, by);
        if off.abs() <= ABSENCE {
            return at;
        }
        let before = std::mem::replace(&mut anchor.asleep, self.asleep(by));
        let Some((before, asleep)) = before.zip(anchor.asleep) else {
            // Set anew or asleep: what was measured of it holds no more.
            locked(&self.of_venues).clear();
            self.ahead.store(0, Ordering::Relaxed);
            return at;
        };
        let moved = off.saturating_sub(asleep.saturating_sub(before));
        if moved.abs() > ABSENCE {
            for ahead in locked(&self.of_venues).values_mut() {
                *ahead = ahead.saturating_add(moved);
            }
            self.ahead.fetch_add(moved, Ordering::Relaxed);
            log::warn!(target: "liqdata::feeds", "this machine's clock was moved by {moved} ms");
        }
        at
    }

    /// The instant it is at a venue, as far as that is known; by this clock where it is earlier. What closes there closes by
    /// the venue's own time.
    pub(crate) fn now_at(&self, venue: &str) -> Millis {
        let ahead = locked(&self.of_venues).get(venue).copied();
        let there = ahead.map(|ahead| self.right().back(ahead));
        there.map_or_else(|| self.now(), |there| there.min(self.now()))
    }

    /// Learns what time it was at a venue between two instants of this machine, the later one being just now. Where these
    /// are far apart, as of a process that was stopped meanwhile, that is news only if it was none of the times between.
    pub(crate) fn measure(
        &self,
        venue: &'static str,
        date: SystemTime,
        took: Duration,
    ) -> ClockUpdate {
        let half = i64::try_from(took.as_millis() / 2).unwrap_or(i64::MAX);
        let there = date.duration_since(UNIX_EPOCH).unwrap_or_default();
        // It is cut to the second.
        let there = Millis(i64::try_from(there.as_millis()).unwrap_or(i64::MAX)).on(500);
        let ahead = self.right().back(half).0.saturating_sub(there.0);
        let known = locked(&self.of_venues).get(venue).copied();
        let known = known.unwrap_or_else(|| self.ahead.load(Ordering::Relaxed));
        if half > ERROR
            && ahead.saturating_sub(known).saturating_abs() <= half.saturating_add(ERROR)
        {
            return ClockUpdate {
                of_venue: None,
                corrected: None,
            };
        }
        self.learn(venue, ahead)
    }

    fn learn(&self, venue: &'static str, ahead: i64) -> ClockUpdate {
        let mut of_venues = locked(&self.of_venues);
        let known = of_venues.insert(venue, ahead);
        let is_news = known.is_none_or(|known| known.abs_diff(ahead) > ERROR.unsigned_abs());
        if let Some(known) = known.filter(|_| !is_news) {
            of_venues.insert(venue, known);
        }
        let middle = middle(of_venues.values().copied().collect());
        let wanted = if middle.abs() > OFF { middle } else { 0 };
        let current = self.ahead.load(Ordering::Relaxed);
        let changes =
            (wanted == 0) != (current == 0) || wanted.abs_diff(current) > ERROR.unsigned_abs();
        if changes {
            self.ahead.store(wanted, Ordering::Relaxed);
        }
        ClockUpdate {
            of_venue: is_news.then_some(ahead),
            corrected: changes.then_some(wanted),
        }
    }

    /// Notes that this process has a turn; whether what comes now proves that it has listened up to now.
    pub(crate) fn is_present(&self) -> bool {
        self.is_present_at(self.now())
    }

    fn is_present_at(&self, now: Millis) -> bool {
        let mut turn = locked(&self.turn);
        let away = now.0.saturating_sub(turn.at.0);
        if away > ABSENCE {
            turn.doubtful_until = now.on(WAITED);
        }
        turn.at = now;
        now >= turn.doubtful_until
    }

    /// Notes again and again that this process has a turn.
    pub(crate) async fn tick(&self) {
        loop {
            tokio::time::sleep(TICK).await;
            self.is_present();
        }
    }
}

/// The middle one of some numbers, of two the one that is nearer to nothing; 0 of none.
fn middle(mut numbers: Vec<i64>) -> i64 {
    numbers.sort_unstable();
    let last = numbers.len().saturating_sub(1);
    let of = |place: usize| numbers.get(place).copied().unwrap_or(0);
    let (low, high) = (of(last / 2), of(numbers.len() / 2));
    if low.abs() <= high.abs() { low } else { high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_the_middle_of_the_venues_is_corrected() {
        let clock = AdjustedClock::new(None);
        let told = |of_venue, corrected| ClockUpdate {
            of_venue,
            corrected,
        };
        assert_eq!(clock.learn("okx", 300), told(Some(300), None));
        assert_eq!(clock.learn("okx", 900), told(None, None));
        // One that is off is a venue's trouble.
        assert_eq!(clock.learn("gate", 90_000), told(Some(90_000), None));
        assert_eq!(clock.learn("htx", 89_000), told(Some(89_000), Some(89_000)));
        let behind = machine().0 - clock.now().0;
        assert!((88_000..=89_000).contains(&behind), "{behind}");
        assert_eq!(clock.learn("htx", 89_400), told(None, None));
        assert_eq!(clock.learn("gate", 100), told(Some(100), Some(0)));
    }

    #[test]
    fn what_was_under_way_for_long_moves_no_clock_that_may_be_right() {
        let clock = AdjustedClock::new(None);
        let none = ClockUpdate {
            of_venue: None,
            corrected: None,
        };
        let minute = Duration::from_mins(1);
        // Answered at once and read late, and the other way round.
        for off in [Duration::ZERO, minute] {
            let date = SystemTime::now() - minute + off;
            assert_eq!(clock.measure("okx", date, minute), none, "{off:?}");
        }
        let date = SystemTime::now() - 10 * minute;
        let ahead = clock.measure("okx", date, minute).corrected;
        assert!(
            ahead.is_some_and(|ahead| (565_000..=575_000).contains(&ahead)),
            "{ahead:?}"
        );
    }

    #[test]
    fn what_closes_at_a_venue_closes_by_its_own_time() {
        let clock = AdjustedClock::new(None);
        for (venue, ahead) in [("binance", 9000), ("okx", 0), ("gate", -4000)] {
            clock.learn(venue, ahead);
        }
        let late = |venue| clock.now().0 - clock.now_at(venue).0;
        assert!((8900..=9000).contains(&late("binance")));
        for venue in ["okx", "gate", "bybit"] {
            assert!((0..=100).contains(&late(venue)), "{venue}");
        }
    }

    #[test]
    fn what_comes_after_an_absence_proves_nothing_for_a_while() {
        let clock = AdjustedClock::new(None);
        let start = machine();
        let at = |millis: i64| clock.is_present_at(start.on(millis));
        assert!(at(1000));
        assert!(at(2400));
        assert!(!at(4000));
        assert!(!at(5400));
        assert!(at(6000));
    }

    /// Asleep, the machine's clock goes on, and what counts for how long it has been awake does not.
    #[test]
    fn a_machine_that_was_asleep_was_away_and_its_clock_is_not_taken_for_set_anew() {
        let mut clock = AdjustedClock::new(None);
        let slept = Duration::from_secs(100);
        let Some(up) = uptime().and_then(|up| up.checked_sub(slept)) else {
            return;
        };
        let (start, by) = (machine(), Instant::now());
        clock.learn("okx", 300);
        assert!(clock.is_present_at(start));
        clock.begun = (by, Some(up));
        let awake = start.on(100_000);
        assert_eq!(clock.look(awake, by), awake);
        assert_eq!(clock.ahead.load(Ordering::Relaxed), 0);
        assert_eq!(locked(&clock.of_venues).get("okx"), Some(&300));
        assert!(!clock.is_present_at(awake));
        assert!(!clock.is_present_at(awake.on(1000)));
    }

    #[test]
    fn where_the_machines_clock_is_set_anew_time_goes_on_as_it_did() {
        let clock = AdjustedClock::new(None);
        let (start, by) = (machine(), Instant::now());
        clock.learn("okx", 90_000);
        let now = |on: i64, seconds: u64| {
            let at = clock.look(start.on(on), by + Duration::from_secs(seconds));
            at.back(clock.ahead.load(Ordering::Relaxed)).0 - start.0
        };
        assert_eq!(now(1000, 1), -89_000);
        // It is set right, and then wrong again.
        assert_eq!(now(-88_000, 2), -88_000);
        assert_eq!(now(-87_000, 3), -87_000);
        assert_eq!(now(14_000, 4), -86_000);
        assert_eq!(locked(&clock.of_venues).get("okx"), Some(&100_000));
    }
}
