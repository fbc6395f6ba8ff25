//! What time it is in a market that moves, which is no matter of this machine's clock: a stretch of time passes faster or
//! slower than here, or only when it is told to.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::market::revision::wall_clock;
use crate::model::Millis;

/// The longest that is slept at a time: what is further away is looked at again.
const LONGEST: Duration = Duration::from_hours(1);

/// Tells what time it is in a market that moves. It never goes back.
pub trait ReplayClock: Debug + Send + Sync {
    /// The instant it is there.
    fn now(&self) -> Millis;

    /// Waits, as long as it takes or a while less, until it is `at` there.
    fn reached(&self, at: Millis) -> BoxFuture<'static, ()>;

    /// When it was `at` there, by this machine's clock.
    fn here(&self, at: Millis) -> Millis;
}

/// A clock that goes so many times as fast as this machine's.
#[derive(Clone, Copy, Debug)]
pub struct ScaledClock {
    from: Millis,
    begun: Instant,
    begun_here: Millis,
    speed: f64,
}

impl ScaledClock {
    /// One that stands at `from` now and goes `speed` times as fast as time does here; it stands still where that is no
    /// number above zero.
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

    /// Milliseconds here from the beginning until `at`.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole milliseconds of a stretch that is no longer than some centuries; what is beyond saturates"
    )]
    fn passed(&self, at: Millis) -> u64 {
        let there = at.0.saturating_sub(self.from.0).max(0) as f64;
        (there / self.speed).ceil() as u64
    }
}

impl ReplayClock for ScaledClock {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is beyond saturates, which is later than any end"
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

/// A clock that goes on only when it is told to, for tests.
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
    /// One that stands at `from`.
    #[must_use]
    pub fn new(from: Millis) -> Self {
        Self {
            now: watch::Sender::new(from),
            begun_here: wall_clock(),
        }
    }

    /// Lets it be `to` there, if that is later.
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
            // An error means that nobody is there who could drive it.
            let _ = now.wait_for(|now| *now >= at).await;
        })
    }

    fn here(&self, _at: Millis) -> Millis {
        self.begun_here
    }
}
