//! Leaving a venue alone that refuses (403, 418, 429): for as long as it says, however long that is.
//!
//! It says so in a header of its reply, in the words of a refusal, or in its documents.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::header::HeaderMap;
use tokio::time::Instant;

use super::lock::locked;
use crate::feeds::Venue;
use crate::model::Millis;
use crate::net::retry_after;

/// Longest wait that a venue may ask for, so that an error of its own does not end the listening to it for ever.
const LONGEST: Duration = Duration::from_hours(31 * 24);

/// Until when no handshake is tried with the hosts of a venue.
#[derive(Debug, Default)]
pub(super) struct Standstills(Mutex<HashMap<&'static str, Instant>>);

impl Standstills {
    /// Nothing is to be tried with `host` for so long.
    pub(super) fn begin(&self, host: &'static str, wait: Duration) {
        let until = Instant::now() + wait;
        let mut all = locked(&self.0);
        let known = all.entry(host).or_insert(until);
        *known = until.max(*known);
    }

    /// Returns once `host` may be tried.
    pub(super) async fn over(&self, host: &'static str) {
        loop {
            let until = locked(&self.0).get(host).copied();
            match until.filter(|until| *until > Instant::now()) {
                Some(until) => tokio::time::sleep_until(until).await,
                None => return,
            }
        }
    }
}

/// Whether a status turns a client away for a time.
pub(super) fn turns_away(status: u16) -> bool {
    matches!(status, 403 | 418 | 429)
}

/// How long a refusal says in its head that it lasts.
pub(super) fn said(headers: &HeaderMap) -> Option<Duration> {
    retry_after(headers).map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST))
}

/// How long a venue turns us away that says so in its own words, or in its documents.
pub(super) fn ban(venue: &Venue, status: u16, body: &str, now: Millis) -> Option<Duration> {
    let said = banned_until(body).map(|until| {
        let left = until.0.saturating_sub(now.0);
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    });
    said.or_else(|| venue.ban().filter(|_| status == 403))
}

/// How long nothing is asked: as the venue says, however long, and no less than `wait`.
pub(super) fn standstill(said: Option<Duration>, wait: Duration) -> Duration {
    said.map_or(wait, |said| said.min(LONGEST).max(wait))
}

/// Until when a refusal says that we are banned, as Binance does: "… banned until 1790000000000. …".
fn banned_until(body: &str) -> Option<Millis> {
    let (_, rest) = body.split_once("banned until ")?;
    let digits = rest.find(|digit: char| !digit.is_ascii_digit());
    let millis: i64 = rest.get(..digits.unwrap_or(rest.len()))?.parse().ok()?;
    Some(Millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_venue_is_left_alone_for_as_long_as_it_says() {
        let seconds = Duration::from_secs;
        for (said, wait, asked) in [
            (None, 7, 7),
            (Some(3), 7, 7),
            (Some(1200), 7, 1200),
            (Some(3 * 86_400), 7, 3 * 86_400),
            (Some(u64::MAX), 7, 31 * 86_400),
        ] {
            assert_eq!(standstill(said.map(seconds), seconds(wait)), seconds(asked));
        }
    }

    #[test]
    fn a_ban_ends_when_the_refusal_says() {
        let said = r#"{"code":-1003,"msg":"Way too many requests; IP(1.2.3.4) banned until 1790000000000. Please use"}"#;
        assert_eq!(banned_until(said), Some(Millis(1_790_000_000_000)));
        assert_eq!(banned_until("banned until tomorrow"), None);
        assert_eq!(banned_until("banned until 99999999999999999999"), None);
        assert_eq!(banned_until("too many requests"), None);
    }
}
