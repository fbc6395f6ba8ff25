//! When a call is tried again, and after how long.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use reqwest::StatusCode;

use crate::net::{is_passing, longest_wait};

/// Tokens a fresh quota holds, and the most it ever holds.
const QUOTA: u32 = 500;
/// The longest wait a service may ask for.
const LONGEST_RETRY_AFTER: f64 = 60.0;
/// The longest wait of our own.
const LONGEST_BACKOFF: Duration = Duration::from_secs(20);

/// How a failure is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// May well be gone at the next attempt.
    Transient,
    /// An idle connection that the service had closed meanwhile: the next attempt opens a new one.
    Stale,
    /// The service wants us to slow down.
    Throttled,
    /// As throttled, by a service that bans who does not listen: tried again once.
    Banned,
    /// Will not get better.
    Final,
}

impl Kind {
    /// How an HTTP status that is no success is treated.
    pub(crate) fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            status if is_passing(status) => Self::Transient,
            429 => Self::Throttled,
            418 => Self::Banned,
            _ => Self::Final,
        }
    }

    /// Tokens a retry costs.
    fn cost(self) -> u32 {
        match self {
            Self::Throttled | Self::Banned => 5,
            Self::Transient | Self::Stale | Self::Final => 14,
        }
    }

    /// The bound of the first wait.
    fn base(self) -> Duration {
        match self {
            Self::Throttled | Self::Banned => Duration::from_secs(1),
            Self::Transient | Self::Final => Duration::from_millis(100),
            Self::Stale => Duration::ZERO,
        }
    }
}

/// A token bucket over all calls of a client, which keeps a dead service from being stormed.
#[derive(Debug)]
pub(crate) struct Quota(AtomicU32);

impl Default for Quota {
    fn default() -> Self {
        Self(AtomicU32::new(QUOTA))
    }
}

impl Quota {
    fn take(&self, tokens: u32) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
                held.checked_sub(tokens)
            })
            .is_ok()
    }

    fn give(&self, tokens: u32) {
        // Never fails: the closure always has a value.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
                Some(held.saturating_add(tokens).min(QUOTA))
            });
    }
}

/// The retries of one call.
#[derive(Debug)]
pub(crate) struct Retries<'a> {
    quota: &'a Quota,
    most: u32,
    done: u32,
    banned: bool,
    last_cost: u32,
}

impl<'a> Retries<'a> {
    pub(crate) fn new(most: u32, quota: &'a Quota) -> Self {
        Self {
            quota,
            most,
            done: 0,
            banned: false,
            last_cost: 0,
        }
    }

    /// The retries of a call of which `done` attempts have been made again before.
    pub(crate) fn after(done: u32, most: u32, quota: &'a Quota) -> Self {
        Self {
            done,
            ..Self::new(most, quota)
        }
    }

    /// Attempts made so far, the one under way included.
    pub(crate) fn attempts(&self) -> u32 {
        self.done + 1
    }

    /// How long to wait before the next attempt; none to give up.
    ///
    /// `remaining` is what is left of the deadline, `dice` a number from 0 to 1.
    pub(crate) fn again(
        &mut self,
        kind: Kind,
        retry_after: Option<f64>,
        remaining: Duration,
        dice: f64,
    ) -> Option<Duration> {
        if kind == Kind::Final || self.done >= self.most || (kind == Kind::Banned && self.banned) {
            return None;
        }
        let wait = match retry_after {
            Some(seconds) if seconds <= LONGEST_RETRY_AFTER => {
                Duration::try_from_secs_f64(seconds).ok()?
            }
            Some(_) => return None,
            None => self.bound(kind).mul_f64(dice),
        };
        if wait >= remaining || !self.quota.take(kind.cost()) {
            return None;
        }
        self.banned |= kind == Kind::Banned;
        self.last_cost = kind.cost();
        self.done += 1;
        Some(wait)
    }

    /// The longest wait before the next attempt: the kind's base, doubled for every attempt so far.
    fn bound(&self, kind: Kind) -> Duration {
        longest_wait(kind.base(), self.done, LONGEST_BACKOFF)
    }

    /// Refills the quota after a success: what the last retry cost, or one token.
    pub(crate) fn succeeded(&self) {
        self.quota.give(self.last_cost.max(1));
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::client::call::retries::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn waits_double_from_their_base_to_20_seconds() {
        for (kind, base) in [(Kind::Transient, 0.1), (Kind::Throttled, 1.0)] {
            let quota = Quota::default();
            let mut retries = Retries::new(30, &quota);
            let mut bound: f64 = base;
            for _ in 0..12 {
                let wait = retries.again(kind, None, HOUR, 1.0).unwrap();
                assert!(
                    (wait.as_secs_f64() - bound).abs() < 1e-9,
                    "{wait:?} {bound}"
                );
                bound = (bound * 2.0).min(20.0);
                quota.give(QUOTA);
            }
        }
        let quota = Quota::default();
        let half = Retries::new(1, &quota).again(Kind::Transient, None, HOUR, 0.5);
        assert_eq!(half, Some(Duration::from_millis(50)));
    }

    #[test]
    fn n_retries_are_n_retries() {
        let quota = Quota::default();
        let mut retries = Retries::new(2, &quota);
        assert!(retries.again(Kind::Transient, None, HOUR, 0.0).is_some());
        assert!(retries.again(Kind::Transient, None, HOUR, 0.0).is_some());
        assert_eq!(retries.attempts(), 3);
        assert!(retries.again(Kind::Transient, None, HOUR, 0.0).is_none());
    }

    #[test]
    fn a_ban_is_tried_again_once() {
        let quota = Quota::default();
        let mut retries = Retries::new(4, &quota);
        assert!(retries.again(Kind::Banned, None, HOUR, 0.0).is_some());
        assert!(retries.again(Kind::Banned, None, HOUR, 0.0).is_none());
        assert!(retries.again(Kind::Throttled, None, HOUR, 0.0).is_some());
    }

    #[test]
    fn a_wait_that_does_not_fit_is_not_begun() {
        let quota = Quota::default();
        let mut retries = Retries::new(4, &quota);
        assert!(
            retries
                .again(Kind::Throttled, Some(5.0), Duration::from_secs(5), 0.0)
                .is_none()
        );
        assert!(
            retries
                .again(Kind::Throttled, Some(61.0), HOUR, 0.0)
                .is_none()
        );
        assert_eq!(
            retries.again(Kind::Throttled, Some(60.0), HOUR, 0.0),
            Some(Duration::from_mins(1))
        );
    }

    #[test]
    fn the_quota_allows_35_transient_or_100_throttled_retries_and_success_refills_it() {
        for (kind, most) in [(Kind::Transient, 35), (Kind::Throttled, 100)] {
            let quota = Quota::default();
            let one = || {
                Retries::new(1, &quota)
                    .again(kind, None, HOUR, 0.0)
                    .is_some()
            };
            assert_eq!((0..200).filter(|_| one()).count(), most);
            for _ in 0..kind.cost() {
                Retries::new(1, &quota).succeeded();
            }
            assert_eq!((0..200).filter(|_| one()).count(), 1);
        }
    }

    #[test]
    fn a_retry_that_succeeds_costs_nothing() {
        let quota = Quota::default();
        for _ in 0..100 {
            let mut retries = Retries::new(4, &quota);
            assert!(retries.again(Kind::Transient, None, HOUR, 0.0).is_some());
            retries.succeeded();
        }
    }

    #[test]
    fn only_what_may_get_better_is_tried_again() {
        let kind = |status| Kind::of(StatusCode::from_u16(status).unwrap());
        for status in [408, 425, 500, 502, 503, 504] {
            assert_eq!(kind(status), Kind::Transient);
        }
        assert_eq!(kind(429), Kind::Throttled);
        assert_eq!(kind(418), Kind::Banned);
        for status in [
            300, 400, 401, 403, 404, 405, 409, 410, 422, 451, 501, 505, 511,
        ] {
            assert_eq!(kind(status), Kind::Final);
        }
    }
}
