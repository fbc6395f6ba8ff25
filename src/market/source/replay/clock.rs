//! Clocks of a replay. They run at a multiple of the wall clock, or only when advanced by hand.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::market::revision::wall_clock;
use crate::model::Millis;

/// Longest single sleep; a longer wait consists of several sleeps.
const LONGEST: Duration = Duration::from_hours(1);

/// The clock of a replay; it never goes back.
pub trait ReplayClock: Debug + Send + Sync {
    /// The current instant of the replay.
    fn now(&self) -> Millis;

    /// Waits until the replay reaches `at`. It may return earlier; the caller then waits again.
    fn reached(&self, at: Millis) -> BoxFuture<'static, ()>;

    /// The wall-clock time at which the replay reached `at`.
    fn here(&self, at: Millis) -> Millis;
}

/// A clock that runs at a multiple of the speed of the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct ScaledClock {
    from: Millis,
    begun: Instant,
    begun_here: Millis,
    speed: f64,
}

impl ScaledClock {
    /// Creates a clock that starts at `from` and runs at `speed`. It stands still unless `speed` is finite and above
    /// zero.
    #[must_use]
    pub fn new(from: Millis, speed: f64) -> Self {
        Self {
            from,
            begun: Instant::now(),
            begun_here: wall_clock(),
            speed: if speed.is_finite() && speed > 0.0 {
                speed
            } else {
                0.0
            },
        }
    }

    /// Wall-clock milliseconds from the start of the clock until it reaches `at`.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole milliseconds of at most some centuries; longer times saturate"
    )]
    fn passed(&self, at: Millis) -> u64 {
        let there = at.0.saturating_sub(self.from.0).max(0) as f64;
        (there / self.speed).ceil() as u64
    }
}

impl ReplayClock for ScaledClock {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "longer times saturate, which is later than any end"
    )]
    fn now(&self) -> Millis {
        let there = self.begun.elapsed().as_secs_f64() * 1000.0 * self.speed;
        Millis(self.from.0.saturating_add(there as i64))
    }

    fn reached(&self, at: Millis) -> BoxFuture<'static, ()> {
        let due = Duration::from_millis(self.passed(at));
        let left = due.saturating_sub(self.begun.elapsed()).min(LONGEST);
        Box::pin(tokio::time::sleep(left))
    }

    fn here(&self, at: Millis) -> Millis {
        let passed = i64::try_from(self.passed(at)).unwrap_or(i64::MAX);
        self.begun_here.on(passed)
    }
}

/// A clock that is advanced by hand, for tests.
///
/// # Examples
///
/// ```
/// use liqdata::market::{ReplayClock, ManualClock};
/// use liqdata::model::Millis;
///
/// let clock = ManualClock::new(Millis(1000));
/// clock.advance(Millis(5000));
/// clock.advance(Millis(2000)); // it never goes back
/// assert_eq!(clock.now(), Millis(5000));
/// ```
#[derive(Debug)]
pub struct ManualClock {
    now: watch::Sender<Millis>,
    begun_here: Millis,
}

impl ManualClock {
    /// Creates a clock that stands at `from`.
    #[must_use]
    pub fn new(from: Millis) -> Self {
        Self {
            now: watch::Sender::new(from),
            begun_here: wall_clock(),
        }
    }

    /// Advances the clock to `to`, if that is later than its current instant.
    pub fn advance(&self, to: Millis) {
        self.now.send_if_modified(|now| {
            let later = to > *now;
            *now = to.max(*now);
            later
        });
    }
}

impl ReplayClock for ManualClock {
    fn now(&self) -> Millis {
        *self.now.borrow()
    }

    fn reached(&self, at: Millis) -> BoxFuture<'static, ()> {
        let mut now = self.now.subscribe();
        Box::pin(async move {
            // This fails only if the clock was dropped.
            let _ = now.wait_for(|now| *now >= at).await;
        })
    }

    fn here(&self, _at: Millis) -> Millis {
        self.begun_here
    }
}
