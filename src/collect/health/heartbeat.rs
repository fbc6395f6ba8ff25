//! Whether the other end of a socket lives: for how long none of the signs it owes has come.
//!
//! Only time in which we could have heard counts. Where the process was stopped, the lid was closed or the machine had no
//! turn for us, what was said meanwhile still lies unread, our own pings went out late, and nobody was silent.

use std::time::Duration;

use tokio::time::Instant;

use crate::collect::settings::{Pace, span, span_or};
use crate::feeds::{Heartbeat, Sign};

/// Looks within the shortest silence, so that most of an absence is noticed as one.
const LOOKS: u32 = 4;

/// How long the control stream may be silent that tells each second.
const USUAL: Duration = Duration::from_secs(15);

/// A sign that is missing for longer than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissedSign {
    pub(crate) sign: Sign,
    /// How far apart these signs may be.
    pub(crate) within: Duration,
    /// How long ago the last one came, absences included.
    pub(crate) since: Duration,
}

/// One kind of sign.
#[derive(Clone, Copy, Debug)]
struct SignTimer {
    sign: Sign,
    within: Duration,
    last: Instant,
    /// Whether it is owed.
    is_owed: bool,
    /// The absences before the last one came.
    away: Duration,
}

/// The signs of one socket.
#[derive(Clone, Debug)]
pub(crate) struct HeartbeatMonitor {
    watches: Vec<SignTimer>,
    /// All absences so far.
    away: Duration,
    /// When it was looked last, and when to look next; absent where the venue owes no sign.
    looks: Option<(Instant, Instant)>,
}

impl HeartbeatMonitor {
    /// A socket that was opened just `now`; where it is not controlled it owes nothing of a control stream.
    pub(crate) fn new(
        heartbeat: &Heartbeat,
        pace: &Pace,
        now: Instant,
        is_controlled: bool,
    ) -> Self {
        let watches = heartbeat.signs.iter().map(|&(sign, within)| SignTimer {
            sign,
            within: match sign {
                Sign::Pong if pace.ping > 0.0 => span(pace.ping) * 2,
                Sign::Ping => span_or(pace.control, within),
                // One that tells more rarely may be silent for longer.
                Sign::Control if pace.control > 0.0 => {
                    span(pace.control).mul_f64(within.div_duration_f64(USUAL))
                }
                Sign::Pong | Sign::Control => within,
            },
            last: now,
            is_owed: is_controlled || sign != Sign::Control,
            away: Duration::ZERO,
        });
        let mut life = Self {
            watches: watches.collect(),
            away: Duration::ZERO,
            looks: None,
        };
        life.plan(now);
        life
    }

    /// When to look at the latest.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.looks.map(|(_, next)| next)
    }

    /// Takes a sign that came.
    pub(crate) fn heard(&mut self, sign: Sign, now: Instant) {
        for watch in self.watches.iter_mut().filter(|one| one.sign == sign) {
            (watch.last, watch.away, watch.is_owed) = (now, self.away, true);
        }
    }

    /// Signs of a kind are not owed, until one comes all the same.
    pub(crate) fn remit(&mut self, sign: Sign, now: Instant) {
        for watch in self.watches.iter_mut().filter(|one| one.sign == sign) {
            watch.is_owed = false;
        }
        self.plan(now);
    }

    fn owed(&self) -> impl Iterator<Item = &SignTimer> {
        self.watches.iter().filter(|watch| watch.is_owed)
    }

    /// Looks whether a sign is missing. How much later than planned that is, is time in which we were away.
    pub(crate) fn look(&mut self, now: Instant) -> Option<MissedSign> {
        if let (Some((last, planned)), Some(pause)) = (self.looks, self.pause()) {
            let late = now.saturating_duration_since(planned);
            // When a longer absence began is not known: what could be heard before it is left out as well.
            let absence = if late < pause {
                late
            } else {
                now.saturating_duration_since(last)
            };
            self.away += absence;
            // A sign that was read before this look, and after it was due, came when the absence was over.
            for watch in self.watches.iter_mut().filter(|one| one.last > planned) {
                watch.away += absence;
            }
        }
        self.plan(now);
        let missing = |watch: &&SignTimer| now >= self.death(watch);
        self.owed().find(missing).map(|watch| MissedSign {
            sign: watch.sign,
            within: watch.within,
            since: now.saturating_duration_since(watch.last),
        })
    }

    /// When a sign will have been missing for too long.
    fn death(&self, watch: &SignTimer) -> Instant {
        watch.last + watch.within + self.away.saturating_sub(watch.away)
    }

    /// The longest time between two looks.
    fn pause(&self) -> Option<Duration> {
        let shortest = self.owed().map(|watch| watch.within).min()?;
        Some(shortest / LOOKS)
    }

    fn plan(&mut self, now: Instant) {
        let deaths = self.owed().map(|watch| self.death(watch));
        self.looks = self.pause().zip(deaths.min()).map(|(pause, death)| {
            let next = death.min(now + pause);
            (now, next)
        });
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::collect::health::heartbeat::*;
    use crate::feeds::Beat;

    const HEARTBEAT: Heartbeat = Heartbeat {
        beat: Beat::Protocol,
        every: Duration::from_secs(20),
        signs: &[
            (Sign::Pong, Duration::from_secs(40)),
            (Sign::Control, Duration::from_secs(16)),
        ],
    };

    const MINUTELY: &[(Sign, Duration)] = &[(Sign::Control, Duration::from_secs(90))];

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn life(now: Instant) -> HeartbeatMonitor {
        HeartbeatMonitor::new(&HEARTBEAT, &Pace::default(), now, true)
    }

    /// Looks whenever it is planned, until something is missing or `end` is reached.
    fn wait(life: &mut HeartbeatMonitor, end: Instant) -> Option<(MissedSign, Instant)> {
        loop {
            let next = life.next().unwrap();
            if next > end {
                return None;
            }
            if let Some(missing) = life.look(next) {
                return Some((missing, next));
            }
        }
    }

    #[test]
    fn a_sign_that_does_not_come_is_missed_to_the_instant() {
        let start = Instant::now();
        let mut life = life(start);
        life.heard(Sign::Control, start + seconds(10.0));
        let (missing, at) = wait(&mut life, start + seconds(1000.0)).unwrap();
        assert_eq!(at, start + seconds(26.0));
        assert_eq!(missing.sign, Sign::Control);
        assert_eq!(missing.within, seconds(16.0));
        assert_eq!(missing.since, seconds(16.0));
    }

    #[test]
    fn signs_in_time_are_a_life() {
        let start = Instant::now();
        let mut life = life(start);
        for turn in 1..100 {
            let now = start + seconds(15.0) * turn;
            assert_eq!(wait(&mut life, now), None);
            life.heard(Sign::Control, now);
            life.heard(Sign::Pong, now);
        }
    }

    #[test]
    fn what_we_were_away_for_is_nobodys_silence() {
        let start = Instant::now();
        let mut life = life(start);
        let stopped = start + seconds(15.0);
        assert_eq!(wait(&mut life, stopped), None);
        // Stopped for ten minutes, just before the control stream would have been missed.
        let back = stopped + seconds(600.0);
        assert_eq!(life.look(back), None);
        // What lay unread is taken now.
        life.heard(Sign::Control, back + seconds(0.1));
        assert_eq!(wait(&mut life, back + seconds(16.0)), None);
        // And if nothing more comes, it is missed as ever.
        let (missing, at) = wait(&mut life, back + seconds(100.0)).unwrap();
        assert_eq!((missing.sign, at), (Sign::Control, back + seconds(16.1)));
    }

    #[test]
    fn what_lay_unread_may_be_taken_before_it_is_looked_how_long_we_were_away() {
        let start = Instant::now();
        let mut life = life(start);
        let back = start + seconds(600.0);
        life.heard(Sign::Control, back);
        assert_eq!(life.look(back + seconds(0.1)), None);
        let (missing, at) = wait(&mut life, back + seconds(100.0)).unwrap();
        assert_eq!((missing.sign, at), (Sign::Control, back + seconds(16.0)));
    }

    #[test]
    fn the_dead_are_missed_after_an_absence_too() {
        let start = Instant::now();
        let mut life = life(start);
        let back = start + seconds(600.0);
        assert_eq!(life.look(back), None);
        let (missing, at) = wait(&mut life, back + seconds(100.0)).unwrap();
        assert_eq!(missing.sign, Sign::Control);
        // It gets all of its time again, and since when it is silent is told with the absence.
        assert_eq!(at, back + seconds(16.0));
        assert_eq!(missing.since, seconds(616.0));
    }

    #[test]
    fn a_slow_machine_is_no_excuse() {
        let start = Instant::now();
        let mut life = life(start);
        // Every look comes late, by less than an absence would be.
        let missing = std::iter::from_fn(|| {
            let now = life.next()? + seconds(0.5);
            Some((now, life.look(now)))
        });
        let (at, _) = missing
            .take(10)
            .find(|(_, missing)| missing.is_some())
            .unwrap();
        assert!(at < start + seconds(25.0));
    }

    #[test]
    fn a_pace_of_pings_is_a_pace_of_pongs() {
        let start = Instant::now();
        let pace = Pace {
            ping: 0.3,
            control: 60.0,
            ..Pace::default()
        };
        let mut life = HeartbeatMonitor::new(&HEARTBEAT, &pace, start, true);
        let (missing, at) = wait(&mut life, start + seconds(10.0)).unwrap();
        assert_eq!((missing.sign, at), (Sign::Pong, start + seconds(0.6)));
    }

    #[test]
    fn what_is_not_owed_is_not_missed_until_it_has_come() {
        let start = Instant::now();
        let mut life = life(start);
        life.remit(Sign::Control, start);
        let (missing, at) = wait(&mut life, start + seconds(100.0)).unwrap();
        assert_eq!((missing.sign, at), (Sign::Pong, start + seconds(40.0)));
        life.heard(Sign::Pong, start + seconds(40.0));
        life.heard(Sign::Control, start + seconds(40.0));
        let (missing, at) = wait(&mut life, start + seconds(100.0)).unwrap();
        assert_eq!((missing.sign, at), (Sign::Control, start + seconds(56.0)));
    }

    #[test]
    fn a_pace_of_the_control_stream_is_one_of_those_that_tell_each_second() {
        let start = Instant::now();
        let pace = Pace {
            control: 3.0,
            ..Pace::default()
        };
        let heartbeat = Heartbeat {
            signs: MINUTELY,
            ..HEARTBEAT
        };
        let mut life = HeartbeatMonitor::new(&heartbeat, &pace, start, true);
        let (_, at) = wait(&mut life, start + seconds(100.0)).unwrap();
        assert_eq!(at, start + seconds(18.0));
    }

    #[test]
    fn who_owes_no_sign_is_never_missed() {
        let start = Instant::now();
        let heartbeat = Heartbeat {
            signs: &[],
            ..HEARTBEAT
        };
        let mut life = HeartbeatMonitor::new(&heartbeat, &Pace::default(), start, true);
        assert_eq!(life.next(), None);
        assert_eq!(life.look(start + seconds(1e6)), None);
    }
}
