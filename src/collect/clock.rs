//! The clock of a collector: the clock of this machine, corrected by the clocks of the exchanges.
//!
//! The `Date` header of an HTTP reply is the time of the exchange. If the clock of this machine differs from the median
//! of the exchanges' clocks by more than two seconds, its time is corrected. Without the correction, an open bar could
//! count as closed, and events could be refused because their time lies in the future. If the system clock is set, this
//! clock does not jump. The clock also detects suspensions of this process: frames that waited unread during a
//! suspension prove nothing about coverage.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::collect::environment::CustomEnvironment;
use crate::collect::lock::locked;
use crate::model::Millis;

/// Maximum uncorrected difference from the median of the exchanges' clocks, in milliseconds.
const OFF: i64 = 2000;
/// Measurement error in milliseconds: `Date` counts in whole seconds.
const ERROR: i64 = 1000;
/// A pause of this process longer than this is a suspension; a shorter pause is caused by load. In milliseconds.
const ABSENCE: i64 = 1500;
/// For this many milliseconds after a suspension, received frames may have waited in a buffer.
const WAITED: i64 = 2000;
/// Time between two checks for a suspension.
const TICK: Duration = Duration::from_millis(250);

/// The system time of this machine, without correction.
pub(crate) fn machine() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The time since the machine booted, sleep included; `None` if the system does not report it.
fn uptime() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let seconds = text.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The system clock and the monotonic clock at one instant, and the total sleep of the machine until then in
/// milliseconds.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    at: Millis,
    by: Instant,
    asleep: Option<i64>,
}

/// When this process last ran.
#[derive(Debug)]
struct LastRun {
    at: Millis,
    /// Until this instant, received frames may have waited in a buffer.
    doubtful_until: Millis,
}

/// The clock of one collector.
#[derive(Debug)]
pub(crate) struct AdjustedClock {
    environment: CustomEnvironment,
    /// The correction: how far the system clock is ahead of the true time, in milliseconds.
    ahead: AtomicI64,
    /// How far the system clock is ahead of each exchange, in milliseconds.
    of_venues: Mutex<HashMap<&'static str, i64>>,
    begun: (Instant, Option<Duration>),
    anchor: Mutex<Anchor>,
    turn: Mutex<LastRun>,
}

/// The result of a measurement of a clock offset, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockUpdate {
    /// How far the system clock is now ahead of the exchange; `None` if the known offset still
    /// holds within the error of the measurement.
    pub(crate) of_venue: Option<i64>,
    /// The new correction; `None` if it has not changed.
    pub(crate) corrected: Option<i64>,
}

impl AdjustedClock {
    pub(crate) fn new(environment: CustomEnvironment) -> Self {
        let (at, by) = (
            environment
                .as_ref()
                .map_or_else(machine, |environment| environment.now()),
            Instant::now(),
        );
        // In a test environment, the machine never sleeps.
        let (up, asleep) = match environment {
            Some(_) => (None, Some(0)),
            None => (uptime(), None),
        };
        let asleep = asleep.or(up.map(|_| 0));
        Self {
            environment,
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
        match &self.environment {
            Some(environment) => environment.now(),
            None => machine(),
        }
    }

    /// The current time, corrected.
    pub(crate) fn now(&self) -> Millis {
        self.system_time().back(self.ahead.load(Ordering::Relaxed))
    }

    /// The system time; also detects that the system clock was set.
    fn system_time(&self) -> Millis {
        self.observe(self.machine(), Instant::now())
    }

    /// How long the machine has slept since the clock was created, in milliseconds.
    fn asleep(&self, by: Instant) -> Option<i64> {
        if self.environment.is_some() {
            return Some(0);
        }
        let (begun, up) = self.begun;
        let long = uptime()?.checked_sub(up?)?;
        let asleep = long.saturating_sub(by.saturating_duration_since(begun));
        i64::try_from(asleep.as_millis()).ok()
    }

    fn observe(&self, at: Millis, by: Instant) -> Millis {
        let mut anchor = locked(&self.anchor);
        // Another thread has updated the anchor to a later instant.
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
            // The clock was set, or the machine slept for an unknown time, so old measurements are invalid.
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
            log::warn!(target: "liqdata::feeds", "the clock of this machine was moved by {moved} ms");
        }
        at
    }

    /// The current time by the exchange's clock or by this clock, the earlier of the two. Bars close by the clock of
    /// their exchange.
    pub(crate) fn now_at(&self, venue: &str) -> Millis {
        let ahead = locked(&self.of_venues).get(venue).copied();
        let there = ahead.map(|ahead| self.system_time().back(ahead));
        there.map_or_else(|| self.now(), |there| there.min(self.now()))
    }

    /// Measures the clock offset from the `date` of a reply to a request that lasted `took`. The exchange may have made
    /// the reply at any instant of the request. After a slow request, the measurement is used only if the previous
    /// offset is impossible for all of these instants.
    pub(crate) fn measure(
        &self,
        venue: &'static str,
        date: SystemTime,
        took: Duration,
    ) -> ClockUpdate {
        let half = i64::try_from(took.as_millis() / 2).unwrap_or(i64::MAX);
        let there = date.duration_since(UNIX_EPOCH).unwrap_or_default();
        // The date is rounded down to the second, so half a second is added.
        let there = Millis(i64::try_from(there.as_millis()).unwrap_or(i64::MAX)).on(500);
        let ahead = self.system_time().back(half).0.saturating_sub(there.0);
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
        self.update(venue, ahead)
    }

    fn update(&self, venue: &'static str, ahead: i64) -> ClockUpdate {
        let mut of_venues = locked(&self.of_venues);
        let known = of_venues.insert(venue, ahead);
        let is_news = known.is_none_or(|known| known.abs_diff(ahead) > ERROR.unsigned_abs());
        if let Some(known) = known.filter(|_| !is_news) {
            of_venues.insert(venue, known);
        }
        let median = median(of_venues.values().copied().collect());
        let wanted = if median.abs() > OFF { median } else { 0 };
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

    /// Records that this process runs. Returns whether frames that are received now prove coverage up to now.
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

    /// Checks for suspensions periodically; never returns.
    pub(crate) async fn tick(&self) {
        loop {
            tokio::time::sleep(TICK).await;
            self.is_present();
        }
    }
}

/// The median. Of two middle numbers, returns the one nearer to 0; of no numbers, returns 0.
fn median(mut numbers: Vec<i64>) -> i64 {
    numbers.sort_unstable();
    let last = numbers.len().saturating_sub(1);
    let of = |index: usize| numbers.get(index).copied().unwrap_or(0);
    let (low, high) = (of(last / 2), of(numbers.len() / 2));
    if low.abs() <= high.abs() { low } else { high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_the_median_of_the_exchanges_is_corrected() {
        let clock = AdjustedClock::new(None);
        let update = |of_venue, corrected| ClockUpdate {
            of_venue,
            corrected,
        };
        assert_eq!(clock.update("okx", 300), update(Some(300), None));
        assert_eq!(clock.update("okx", 900), update(None, None));
        // A single exchange with a wrong clock changes nothing.
        assert_eq!(clock.update("gate", 90_000), update(Some(90_000), None));
        assert_eq!(
            clock.update("htx", 89_000),
            update(Some(89_000), Some(89_000))
        );
        let behind = machine().0 - clock.now().0;
        assert!((88_000..=89_000).contains(&behind), "{behind}");
        assert_eq!(clock.update("htx", 89_400), update(None, None));
        assert_eq!(clock.update("gate", 100), update(Some(100), Some(0)));
    }

    #[test]
    fn a_slow_request_does_not_correct_a_clock_that_may_be_right() {
        let clock = AdjustedClock::new(None);
        let none = ClockUpdate {
            of_venue: None,
            corrected: None,
        };
        let minute = Duration::from_mins(1);
        // The exchange made the first reply at the start of the request and the second at its end: both fit the offset
        // 0.
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
    fn bars_close_by_the_clock_of_their_exchange() {
        let clock = AdjustedClock::new(None);
        for (venue, ahead) in [("binance", 9000), ("okx", 0), ("gate", -4000)] {
            clock.update(venue, ahead);
        }
        let late = |venue| clock.now().0 - clock.now_at(venue).0;
        assert!((8900..=9000).contains(&late("binance")));
        for venue in ["okx", "gate", "bybit"] {
            assert!((0..=100).contains(&late(venue)), "{venue}");
        }
    }

    #[test]
    fn frames_after_a_suspension_prove_nothing_for_a_while() {
        let clock = AdjustedClock::new(None);
        let start = machine();
        let at = |millis: i64| clock.is_present_at(start.on(millis));
        assert!(at(1000));
        assert!(at(2400));
        assert!(!at(4000));
        assert!(!at(5400));
        assert!(at(6000));
    }

    /// While the machine sleeps, the system clock runs, but the monotonic clock stands still.
    #[test]
    fn sleep_is_a_suspension_and_no_change_of_the_clock() {
        let mut clock = AdjustedClock::new(None);
        let slept = Duration::from_secs(100);
        let Some(up) = uptime().and_then(|up| up.checked_sub(slept)) else {
            return;
        };
        let (start, by) = (machine(), Instant::now());
        clock.update("okx", 300);
        assert!(clock.is_present_at(start));
        clock.begun = (by, Some(up));
        let awake = start.on(100_000);
        assert_eq!(clock.observe(awake, by), awake);
        assert_eq!(clock.ahead.load(Ordering::Relaxed), 0);
        assert_eq!(locked(&clock.of_venues).get("okx"), Some(&300));
        assert!(!clock.is_present_at(awake));
        assert!(!clock.is_present_at(awake.on(1000)));
    }

    #[test]
    fn time_goes_on_without_a_jump_if_the_system_clock_is_set() {
        let clock = AdjustedClock::new(None);
        let (start, by) = (machine(), Instant::now());
        clock.update("okx", 90_000);
        let now = |on: i64, seconds: u64| {
            let at = clock.observe(start.on(on), by + Duration::from_secs(seconds));
            at.back(clock.ahead.load(Ordering::Relaxed)).0 - start.0
        };
        assert_eq!(now(1000, 1), -89_000);
        // The system clock is set back to the right time, and later ahead again: the corrected time does not jump.
        assert_eq!(now(-88_000, 2), -88_000);
        assert_eq!(now(-87_000, 3), -87_000);
        assert_eq!(now(14_000, 4), -86_000);
        assert_eq!(locked(&clock.of_venues).get("okx"), Some(&100_000));
    }
}
