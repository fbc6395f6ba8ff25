//! Retry delays and `Retry-After`.
//!
//! `backon` does not fit: it adds jitter to a fixed delay. Here the whole delay is random, so that clients that failed
//! at the same time retry at different times. `Retry-After` is honoured.

use std::time::{Duration, SystemTime};

use reqwest::header::{AGE, DATE, HeaderMap, RETRY_AFTER};

/// Whether an HTTP status reports a failure that is likely to be temporary.
pub(crate) fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 500 | 502 | 503 | 504)
}

/// The maximum delay: `first`, doubled `failures` times, but at most `most`.
pub(crate) fn longest_wait(first: Duration, failures: u32, most: Duration) -> Duration {
    let doubled = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    first.saturating_mul(doubled).min(most)
}

/// Exponential backoff with full jitter.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    most: Duration,
    failures: u32,
}

impl Backoff {
    /// Starts with delays of up to `first`; the bound doubles with each failure, up to `most`.
    pub(crate) fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            failures: 0,
        }
    }

    /// Records a failure and returns the delay before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        let most = longest_wait(self.first, self.failures, self.most);
        self.failures = self.failures.saturating_add(1);
        most.mul_f64(fastrand::f64())
    }

    /// Resets the bound to the first delay, after a success.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// The delay that the `Retry-After` header asks for, in seconds.
///
/// The header has seconds or a date. `None` if the header is absent, negative or malformed.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<f64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return text
            .parse()
            .ok()
            .filter(|seconds: &f64| seconds.is_finite());
    }
    let then = httpdate::parse_http_date(text).ok()?;
    // The local clock may be wrong, so the service's `Date` header is preferred.
    let now = header_date(headers).unwrap_or_else(SystemTime::now);
    Some(then.duration_since(now).unwrap_or_default().as_secs_f64())
}

/// The service's time according to the `Date` header, to the second.
fn header_date(headers: &HeaderMap) -> Option<SystemTime> {
    let date = headers.get(DATE)?.to_str().ok()?;
    httpdate::parse_http_date(date.trim()).ok()
}

/// The service's current time according to the `Date` header, to the second.
///
/// `None` if a cache served the reply, because its `Date` is then old.
pub(crate) fn date(headers: &HeaderMap) -> Option<SystemTime> {
    let age = headers.get(AGE).and_then(|age| age.to_str().ok());
    if age.is_some_and(|age| age.trim() != "0") {
        return None;
    }
    header_date(headers)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(retry_after: &str, date: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(retry_after).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_str(date).unwrap());
        }
        headers
    }

    #[test]
    fn waits_are_random_and_bounded_by_a_time_that_doubles() {
        let second = Duration::from_secs(1);
        let mut longest = [Duration::ZERO; 10];
        for _ in 0..200 {
            let mut backoff = Backoff::new(second, Duration::from_mins(1));
            for (failure, longest) in (0..).zip(&mut longest) {
                let wait = backoff.next();
                assert!(wait <= (second * 2_u32.pow(failure)).min(Duration::from_mins(1)));
                *longest = wait.max(*longest);
            }
            backoff.reset();
            assert!(backoff.next() <= second);
        }
        // The chance that all 200 draws lie in the lower half is 2^-200.
        assert!(longest[0] > second / 2);
        assert!(longest[9] > Duration::from_secs(30));
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
}
