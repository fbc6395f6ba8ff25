//! Decides whether and when an attempt is repeated.

use std::time::Duration;

use reqwest::StatusCode;

use crate::client::connection::retry_quota::RetryQuota;
use crate::net::{is_passing, longest_wait};

/// Maximum `Retry-After` that the client waits for, in seconds. A longer one ends the retries.
const LONGEST_RETRY_AFTER: f64 = 60.0;
/// Maximum sum of the waits for the limit of a service in one call.
const LONGEST_WAITING: Duration = Duration::from_mins(10);
/// Maximum backoff before a retry.
const LONGEST_BACKOFF: Duration = Duration::from_secs(20);

/// The kind of a failure. It decides whether and how soon to retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// Temporary.
    Transient,
    /// The service closed a reused connection. The retry opens a new one without a delay.
    Stale,
    /// The service asks to slow down.
    Throttled,
    /// The service asks to slow down and bans clients that go on. Retried once.
    Banned,
    /// Permanent.
    Final,
}

impl FailureKind {
    /// The kind of an unsuccessful HTTP status.
    pub(crate) fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            status if is_passing(status) => Self::Transient,
            429 => Self::Throttled,
            418 => Self::Banned,
            _ => Self::Final,
        }
    }

    /// Number of tokens that a retry costs.
    fn cost(self) -> u32 {
        match self {
            Self::Throttled | Self::Banned => 5,
            Self::Transient | Self::Stale | Self::Final => 14,
        }
    }

    /// The upper bound of the first delay.
    fn base(self) -> Duration {
        match self {
            Self::Throttled | Self::Banned => Duration::from_secs(1),
            Self::Transient | Self::Final => Duration::from_millis(100),
            Self::Stale => Duration::ZERO,
        }
    }
}

/// The retries of one call.
#[derive(Debug)]
pub(crate) struct Retries<'a> {
    quota: &'a RetryQuota,
    most: u32,
    done: u32,
    banned: bool,
    last_cost: u32,
    /// Time waited for the limit of the service.
    waited: Duration,
}

impl<'a> Retries<'a> {
    pub(crate) fn new(most: u32, quota: &'a RetryQuota) -> Self {
        Self {
            quota,
            most,
            done: 0,
            banned: false,
            last_cost: 0,
            waited: Duration::ZERO,
        }
    }

    /// The retries of a call, if `done` retries were made before.
    pub(crate) fn after(done: u32, most: u32, quota: &'a RetryQuota) -> Self {
        Self {
            done,
            ..Self::new(most, quota)
        }
    }

    /// Attempts so far, the current one included.
    pub(crate) fn attempts(&self) -> u32 {
        self.done + 1
    }

    /// The delay before the next attempt; `None` to give up.
    ///
    /// `remaining` is the time left until the deadline, `dice` a random number from 0 to 1.
    pub(crate) fn again(
        &mut self,
        kind: FailureKind,
        retry_after: Option<f64>,
        remaining: Duration,
        dice: f64,
    ) -> Option<Duration> {
        if kind == FailureKind::Final
            || self.done >= self.most
            || (kind == FailureKind::Banned && self.banned)
        {
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
        self.banned |= kind == FailureKind::Banned;
        self.last_cost = kind.cost();
        self.done += 1;
        Some(wait)
    }

    /// The wait for the limit of a service that asks to slow down, which counts neither as an attempt nor against the
    /// deadline; `None` if it states no wait, a long one, or too many.
    pub(crate) fn limited(
        &mut self,
        kind: FailureKind,
        retry_after: Option<f64>,
    ) -> Option<Duration> {
        let seconds = retry_after.filter(|seconds| *seconds <= LONGEST_RETRY_AFTER)?;
        let wait = Duration::try_from_secs_f64(seconds).ok()?;
        let waited = self.waited.saturating_add(wait);
        if kind != FailureKind::Throttled
            || waited > LONGEST_WAITING
            || !self.quota.take(kind.cost())
        {
            return None;
        }
        self.waited = waited;
        self.last_cost = kind.cost();
        Some(wait)
    }

    /// The upper bound of the next delay: the base of the kind, doubled for each earlier retry.
    fn bound(&self, kind: FailureKind) -> Duration {
        longest_wait(kind.base(), self.done, LONGEST_BACKOFF)
    }

    /// After a success, refills the quota by the cost of the last retry, or by one token if there was none.
    pub(crate) fn succeeded(&self) {
        self.quota.give(self.last_cost.max(1));
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::client::call::retries::*;
    use crate::client::connection::retry_quota::QUOTA;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn waits_double_from_their_base_to_20_seconds() {
        for (kind, base) in [(FailureKind::Transient, 0.1), (FailureKind::Throttled, 1.0)] {
            let quota = RetryQuota::default();
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
        let quota = RetryQuota::default();
        let half = Retries::new(1, &quota).again(FailureKind::Transient, None, HOUR, 0.5);
        assert_eq!(half, Some(Duration::from_millis(50)));
    }

    #[test]
    fn n_retries_are_n_retries() {
        let quota = RetryQuota::default();
        let mut retries = Retries::new(2, &quota);
        assert!(
            retries
                .again(FailureKind::Transient, None, HOUR, 0.0)
                .is_some()
        );
        assert!(
            retries
                .again(FailureKind::Transient, None, HOUR, 0.0)
                .is_some()
        );
        assert_eq!(retries.attempts(), 3);
        assert!(
            retries
                .again(FailureKind::Transient, None, HOUR, 0.0)
                .is_none()
        );
    }

    #[test]
    fn a_ban_is_tried_again_once() {
        let quota = RetryQuota::default();
        let mut retries = Retries::new(4, &quota);
        assert!(
            retries
                .again(FailureKind::Banned, None, HOUR, 0.0)
                .is_some()
        );
        assert!(
            retries
                .again(FailureKind::Banned, None, HOUR, 0.0)
                .is_none()
        );
        assert!(
            retries
                .again(FailureKind::Throttled, None, HOUR, 0.0)
                .is_some()
        );
    }

    #[test]
    fn a_wait_that_does_not_fit_is_not_begun() {
        let quota = RetryQuota::default();
        let mut retries = Retries::new(4, &quota);
        assert!(
            retries
                .again(
                    FailureKind::Throttled,
                    Some(5.0),
                    Duration::from_secs(5),
                    0.0
                )
                .is_none()
        );
        assert!(
            retries
                .again(FailureKind::Throttled, Some(61.0), HOUR, 0.0)
                .is_none()
        );
        assert_eq!(
            retries.again(FailureKind::Throttled, Some(60.0), HOUR, 0.0),
            Some(Duration::from_mins(1))
        );
    }

    #[test]
    fn a_wait_for_the_limit_is_no_attempt_and_ends_after_ten_minutes() {
        let quota = RetryQuota::default();
        let mut retries = Retries::new(0, &quota);
        for _ in 0..10 {
            let wait = retries.limited(FailureKind::Throttled, Some(60.0));
            assert_eq!(wait, Some(Duration::from_mins(1)));
        }
        assert_eq!(retries.attempts(), 1);
        assert!(retries.limited(FailureKind::Throttled, Some(1.0)).is_none());
        let mut retries = Retries::new(4, &quota);
        for (kind, seconds) in [
            (FailureKind::Throttled, Some(61.0)),
            (FailureKind::Throttled, None),
            (FailureKind::Banned, Some(1.0)),
            (FailureKind::Transient, Some(1.0)),
        ] {
            assert!(
                retries.limited(kind, seconds).is_none(),
                "{kind:?} {seconds:?}"
            );
        }
    }

    #[test]
    fn the_quota_allows_35_transient_or_100_throttled_retries_and_success_refills_it() {
        for (kind, most) in [(FailureKind::Transient, 35), (FailureKind::Throttled, 100)] {
            let quota = RetryQuota::default();
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
        let quota = RetryQuota::default();
        for _ in 0..100 {
            let mut retries = Retries::new(4, &quota);
            assert!(
                retries
                    .again(FailureKind::Transient, None, HOUR, 0.0)
                    .is_some()
            );
            retries.succeeded();
        }
    }

    #[test]
    fn only_what_may_get_better_is_tried_again() {
        let kind = |status| FailureKind::of(StatusCode::from_u16(status).unwrap());
        for status in [408, 425, 500, 502, 503, 504] {
            assert_eq!(kind(status), FailureKind::Transient);
        }
        assert_eq!(kind(429), FailureKind::Throttled);
        assert_eq!(kind(418), FailureKind::Banned);
        for status in [
            300, 400, 401, 403, 404, 405, 409, 410, 422, 451, 501, 505, 511,
        ] {
            assert_eq!(kind(status), FailureKind::Final);
        }
    }
}
