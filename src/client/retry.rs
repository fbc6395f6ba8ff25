//! When a call is tried again, and after how long.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Tokens a fresh quota holds, and the most it ever holds.
const QUOTA: u32 = 500;
/// The longest wait a service may ask for.
const LONGEST_RETRY_AFTER: f64 = 60.0;
/// The longest wait of our own.
const LONGEST_BACKOFF: Duration = Duration::from_secs(20);

/// How a failure is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
    pub(super) fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            408 | 425 | 500 | 502 | 503 | 504 => Self::Transient,
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
pub(super) struct Quota(AtomicU32);

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
pub(super) struct Retries<'a> {
    quota: &'a Quota,
    most: u32,
    done: u32,
    banned: bool,
    last_cost: u32,
}

impl<'a> Retries<'a> {
    pub(super) fn new(most: u32, quota: &'a Quota) -> Self {
        Self {
            quota,
            most,
            done: 0,
            banned: false,
            last_cost: 0,
        }
    }

    /// The retries of a call of which `done` attempts have been made again before.
    pub(super) fn after(done: u32, most: u32, quota: &'a Quota) -> Self {
        Self {
            done,
            ..Self::new(most, quota)
        }
    }

    /// Attempts made so far, the one under way included.
    pub(super) fn attempts(&self) -> u32 {
        self.done + 1
    }

    /// How long to wait before the next attempt; none to give up.
    ///
    /// `remaining` is what is left of the deadline, `dice` a number from 0 to 1.
    pub(super) fn again(
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
        kind.base()
            .saturating_mul(1 << self.done.min(16))
            .min(LONGEST_BACKOFF)
    }

    /// Refills the quota after a success: what the last retry cost, or one token.
    pub(super) fn succeeded(&self) {
        self.quota.give(self.last_cost.max(1));
    }
}

/// The seconds that a `Retry-After` asks for; none where it is absent, negative or makes no sense.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<f64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return text
            .parse()
            .ok()
            .filter(|seconds: &f64| seconds.is_finite());
    }
    let then = httpdate::parse_http_date(text).ok()?;
    // By the service's own clock where it shows one: ours may be wrong.
    let now = headers
        .get(DATE)
        .and_then(|date| date.to_str().ok())
        .and_then(|date| httpdate::parse_http_date(date.trim()).ok())
        .unwrap_or_else(SystemTime::now);
    Some(then.duration_since(now).unwrap_or_default().as_secs_f64())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn headers(retry_after: &str, date: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(retry_after).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_str(date).unwrap());
        }
        headers
    }

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
    fn retry_after_is_seconds_or_a_date_and_nonsense_is_ignored() {
        for (text, seconds) in [
            ("1", Some(1.0)),
            ("0", Some(0.0)),
            (" 2.5 ", Some(2.5)),
            ("1000000000", Some(1e9)),
            ("1e9", Some(1e9)),
            ("-5", None),
            ("soon", None),
            ("", None),
            ("inf", None),
            ("NaN", None),
            ("1e999", None),
            ("3 seconds", None),
        ] {
            assert_eq!(retry_after(&headers(text, None)), seconds, "{text:?}");
        }
        let at = |date| retry_after(&headers("Wed, 21 Oct 2015 07:28:30 GMT", date));
        assert_eq!(at(Some("Wed, 21 Oct 2015 07:28:00 GMT")), Some(30.0));
        assert_eq!(at(Some("Wed, 21 Oct 2015 07:29:00 GMT")), Some(0.0));
        assert_eq!(at(None), Some(0.0));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(40));
        let seconds = retry_after(&headers(&soon, None)).unwrap();
        assert!((38.0..=40.0).contains(&seconds), "{seconds}");
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
