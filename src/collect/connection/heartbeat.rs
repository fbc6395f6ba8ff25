//! Heartbeats: a connection is dead if an expected sign of life (pong, ping or control message) is missing for too
//! long.
//!
//! Time in which this process was suspended does not count. Frames that arrived during a suspension are still unread,
//! and the pings of this process were sent late.

use std::time::Duration;

use tokio::time::Instant;

use crate::collect::settings::settings::{Pace, span, span_or};
use crate::feeds::{Heartbeat, LifeSign};

/// Number of checks within the shortest allowed silence. The delay of a check shows how long the process was suspended.
const CHECKS: u32 = 4;

/// The allowed silence of a control stream with about one message per second.
const USUAL: Duration = Duration::from_secs(15);

/// A sign of life that is overdue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissedSign {
    pub(crate) sign: LifeSign,
    /// The allowed time between two of these signs.
    pub(crate) within: Duration,
    /// Time since the last of these signs, suspensions included.
    pub(crate) since: Duration,
}

/// The timer of one kind of sign of life.
#[derive(Clone, Copy, Debug)]
struct SignTimer {
    sign: LifeSign,
    within: Duration,
    last: Instant,
    is_expected: bool,
    /// Total time of suspension of this process when the last sign arrived.
    suspended: Duration,
}

/// Checks the signs of life of one connection.
#[derive(Clone, Debug)]
pub(crate) struct HeartbeatMonitor {
    timers: Vec<SignTimer>,
    /// Total time in which this process was suspended.
    suspended: Duration,
    /// The last check and the next one; `None` if no sign is expected.
    checks: Option<(Instant, Instant)>,
}

impl HeartbeatMonitor {
    /// Starts the timers of a connection opened `now`. Control messages are expected only if the connection has a
    /// control stream.
    pub(crate) fn new(
        heartbeat: &Heartbeat,
        pace: &Pace,
        now: Instant,
        is_controlled: bool,
    ) -> Self {
        let timers = heartbeat.signs.iter().map(|&(sign, within)| SignTimer {
            sign,
            within: match sign {
                LifeSign::Pong if pace.ping > 0.0 => span(pace.ping) * 2,
                LifeSign::Ping => span_or(pace.control, within),
                // The setting is for a stream with one message per second; the silence allowed to a slower stream is
                // proportionally longer.
                LifeSign::Control if pace.control > 0.0 => {
                    span(pace.control).mul_f64(within.div_duration_f64(USUAL))
                }
                LifeSign::Pong | LifeSign::Control => within,
            },
            last: now,
            is_expected: is_controlled || sign != LifeSign::Control,
            suspended: Duration::ZERO,
        });
        let mut monitor = Self {
            timers: timers.collect(),
            suspended: Duration::ZERO,
            checks: None,
        };
        monitor.plan(now);
        monitor
    }

    /// When to call [`HeartbeatMonitor::check`] next.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        self.checks.map(|(_, next)| next)
    }

    /// Records that a sign of life arrived.
    pub(crate) fn on_sign(&mut self, sign: LifeSign, now: Instant) {
        for timer in self.timers.iter_mut().filter(|one| one.sign == sign) {
            (timer.last, timer.suspended, timer.is_expected) = (now, self.suspended, true);
        }
    }

    /// Stops expecting a kind of sign of life until such a sign arrives.
    pub(crate) fn stop_expecting(&mut self, sign: LifeSign, now: Instant) {
        for timer in self.timers.iter_mut().filter(|one| one.sign == sign) {
            timer.is_expected = false;
        }
        self.plan(now);
    }

    fn expected(&self) -> impl Iterator<Item = &SignTimer> {
        self.timers.iter().filter(|timer| timer.is_expected)
    }

    /// Returns an overdue sign, if any. The delay of the check itself counts as a suspension of the process.
    pub(crate) fn check(&mut self, now: Instant) -> Option<MissedSign> {
        if let (Some((last, planned)), Some(pause)) = (self.checks, self.pause()) {
            let late = now.saturating_duration_since(planned);
            // After a long delay, the start of the suspension is unknown, so the suspension is counted from the last
            // check on.
            let suspension = if late < pause {
                late
            } else {
                now.saturating_duration_since(last)
            };
            self.suspended += suspension;
            // A sign that was read after the planned time of the check arrived after the suspension.
            for timer in self.timers.iter_mut().filter(|one| one.last > planned) {
                timer.suspended += suspension;
            }
        }
        self.plan(now);
        let is_overdue = |timer: &&SignTimer| now >= self.deadline(timer);
        self.expected().find(is_overdue).map(|timer| MissedSign {
            sign: timer.sign,
            within: timer.within,
            since: now.saturating_duration_since(timer.last),
        })
    }

    /// When a sign becomes overdue.
    fn deadline(&self, timer: &SignTimer) -> Instant {
        timer.last + timer.within + self.suspended.saturating_sub(timer.suspended)
    }

    /// The longest time between two checks.
    fn pause(&self) -> Option<Duration> {
        let shortest = self.expected().map(|timer| timer.within).min()?;
        Some(shortest / CHECKS)
    }

    fn plan(&mut self, now: Instant) {
        let deadlines = self.expected().map(|timer| self.deadline(timer));
        self.checks = self.pause().zip(deadlines.min()).map(|(pause, deadline)| {
            let next = deadline.min(now + pause);
            (now, next)
        });
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::collect::connection::heartbeat::*;
    use crate::feeds::PingMessage;

    const HEARTBEAT: Heartbeat = Heartbeat {
        beat: PingMessage::Protocol,
        every: Duration::from_secs(20),
        signs: &[
            (LifeSign::Pong, Duration::from_secs(40)),
            (LifeSign::Control, Duration::from_secs(16)),
        ],
    };

    const MINUTELY: &[(LifeSign, Duration)] = &[(LifeSign::Control, Duration::from_secs(90))];

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn monitor(now: Instant) -> HeartbeatMonitor {
        HeartbeatMonitor::new(&HEARTBEAT, &Pace::default(), now, true)
    }

    /// Runs every planned check until a sign is overdue or `end` is reached.
    fn wait(monitor: &mut HeartbeatMonitor, end: Instant) -> Option<(MissedSign, Instant)> {
        loop {
            let next = monitor.next_check().unwrap();
            if next > end {
                return None;
            }
            if let Some(missing) = monitor.check(next) {
                return Some((missing, next));
            }
        }
    }

    #[test]
    fn a_missing_sign_is_detected_at_once() {
        let start = Instant::now();
        let mut monitor = monitor(start);
        monitor.on_sign(LifeSign::Control, start + seconds(10.0));
        let (missing, at) = wait(&mut monitor, start + seconds(1000.0)).unwrap();
        assert_eq!(at, start + seconds(26.0));
        assert_eq!(missing.sign, LifeSign::Control);
        assert_eq!(missing.within, seconds(16.0));
        assert_eq!(missing.since, seconds(16.0));
    }

    #[test]
    fn signs_in_time_keep_a_connection_alive() {
        let start = Instant::now();
        let mut monitor = monitor(start);
        for turn in 1..100 {
            let now = start + seconds(15.0) * turn;
            assert_eq!(wait(&mut monitor, now), None);
            monitor.on_sign(LifeSign::Control, now);
            monitor.on_sign(LifeSign::Pong, now);
        }
    }

    #[test]
    fn time_in_which_this_process_was_suspended_is_not_silence() {
        let start = Instant::now();
        let mut monitor = monitor(start);
        let stopped = start + seconds(15.0);
        assert_eq!(wait(&mut monitor, stopped), None);
        // The process is suspended for ten minutes, just before the control stream would have been overdue.
        let back = stopped + seconds(600.0);
        assert_eq!(monitor.check(back), None);
        // The frames that arrived during the suspension are processed now.
        monitor.on_sign(LifeSign::Control, back + seconds(0.1));
        assert_eq!(wait(&mut monitor, back + seconds(16.0)), None);
        // Without another sign, the control stream is overdue after its usual time.
        let (missing, at) = wait(&mut monitor, back + seconds(100.0)).unwrap();
        assert_eq!(
            (missing.sign, at),
            (LifeSign::Control, back + seconds(16.1))
        );
    }

    #[test]
    fn unread_frames_may_be_processed_before_the_suspension_is_detected() {
        let start = Instant::now();
        let mut monitor = monitor(start);
        let back = start + seconds(600.0);
        monitor.on_sign(LifeSign::Control, back);
        assert_eq!(monitor.check(back + seconds(0.1)), None);
        let (missing, at) = wait(&mut monitor, back + seconds(100.0)).unwrap();
        assert_eq!(
            (missing.sign, at),
            (LifeSign::Control, back + seconds(16.0))
        );
    }

    #[test]
    fn a_dead_connection_is_detected_after_a_suspension() {
        let start = Instant::now();
        let mut monitor = monitor(start);
        let back = start + seconds(600.0);
        assert_eq!(monitor.check(back), None);
        let (missing, at) = wait(&mut monitor, back + seconds(100.0)).unwrap();
        assert_eq!(missing.sign, LifeSign::Control);
        // After the suspension, the sign has its whole allowed time again. The reported silence includes the
        // suspension.
        assert_eq!(at, back + seconds(16.0));
        assert_eq!(missing.since, seconds(616.0));
    }

    #[test]
    fn a_slow_machine_is_no_excuse() {
        let start = Instant::now();
        let mut monitor = monitor(start);
        // Every check is late, but by too little to count as a suspension.
        let missing = std::iter::from_fn(|| {
            let now = monitor.next_check()? + seconds(0.5);
            Some((now, monitor.check(now)))
        });
        let (at, _) = missing
            .take(10)
            .find(|(_, missing)| missing.is_some())
            .unwrap();
        assert!(at < start + seconds(25.0));
    }

    #[test]
    fn the_ping_setting_sets_the_allowed_time_of_pongs() {
        let start = Instant::now();
        let pace = Pace {
            ping: 0.3,
            control: 60.0,
            ..Pace::default()
        };
        let mut monitor = HeartbeatMonitor::new(&HEARTBEAT, &pace, start, true);
        let (missing, at) = wait(&mut monitor, start + seconds(10.0)).unwrap();
        assert_eq!((missing.sign, at), (LifeSign::Pong, start + seconds(0.6)));
    }

    #[test]
    fn a_sign_that_is_not_expected_is_not_missed_until_it_arrives() {
        let start = Instant::now();
        let mut monitor = monitor(start);
        monitor.stop_expecting(LifeSign::Control, start);
        let (missing, at) = wait(&mut monitor, start + seconds(100.0)).unwrap();
        assert_eq!((missing.sign, at), (LifeSign::Pong, start + seconds(40.0)));
        monitor.on_sign(LifeSign::Pong, start + seconds(40.0));
        monitor.on_sign(LifeSign::Control, start + seconds(40.0));
        let (missing, at) = wait(&mut monitor, start + seconds(100.0)).unwrap();
        assert_eq!(
            (missing.sign, at),
            (LifeSign::Control, start + seconds(56.0))
        );
    }

    #[test]
    fn the_control_setting_is_for_a_stream_with_one_message_per_second() {
        let start = Instant::now();
        let pace = Pace {
            control: 3.0,
            ..Pace::default()
        };
        let heartbeat = Heartbeat {
            signs: MINUTELY,
            ..HEARTBEAT
        };
        let mut monitor = HeartbeatMonitor::new(&heartbeat, &pace, start, true);
        let (_, at) = wait(&mut monitor, start + seconds(100.0)).unwrap();
        assert_eq!(at, start + seconds(18.0));
    }

    #[test]
    fn a_connection_without_expected_signs_is_never_dead() {
        let start = Instant::now();
        let heartbeat = Heartbeat {
            signs: &[],
            ..HEARTBEAT
        };
        let mut monitor = HeartbeatMonitor::new(&heartbeat, &Pace::default(), start, true);
        assert_eq!(monitor.next_check(), None);
        assert_eq!(monitor.check(start + seconds(1e6)), None);
    }
}
