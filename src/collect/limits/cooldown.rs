//! Cooldowns: pauses of the requests to an exchange that refuses them (HTTP 403, 418, 429).
//!
//! The length of a cooldown comes from a header of the reply, from the text of the refusal, or from the documentation
//! of the exchange. REST requests and each WebSocket host have separate cooldowns, because no exchange documents that a
//! ban of one affects the other. Binance advises banned clients to use web sockets, and Bybit limits the two
//! separately. Cooldowns survive a restart.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::collect::lock::locked;
use crate::collect::state_file;
use crate::feeds::Venue;
use crate::model::Millis;
use crate::net::retry_after;

/// Maximum length of a cooldown, so that an error of the exchange does not stop collection for good.
const LONGEST: Duration = Duration::from_hours(31 * 24);
/// Cooldowns longer than this are stored for the next process.
const STORED_FROM: Duration = Duration::from_mins(1);
/// The key of the cooldown of all REST requests; each WebSocket host has its own key.
pub(crate) const REQUESTS: &str = "requests";

/// The start and the end of a cooldown.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
struct CooldownSpan {
    from: Millis,
    until: Millis,
}

impl CooldownSpan {
    /// The remaining time; at most the length of the cooldown, even if the clock was set back.
    fn left(self, now: Millis) -> Option<Duration> {
        let whole = self.until.0.saturating_sub(self.from.0);
        let left = self.until.0.saturating_sub(now.0).min(whole);
        let left = u64::try_from(left).ok().filter(|left| *left > 0)?;
        Some(Duration::from_millis(left).min(LONGEST))
    }
}

/// The cooldowns of one exchange.
#[derive(Debug)]
pub(crate) struct Cooldowns {
    until: Mutex<HashMap<String, Instant>>,
    /// Cooldowns that are stored for the next process.
    stored: Mutex<BTreeMap<String, CooldownSpan>>,
    archive: PathBuf,
    file: String,
}

impl Cooldowns {
    /// Loads the cooldowns of an earlier process that still last.
    pub(crate) fn load(archive: &Path, venue: &str, now: Millis) -> Self {
        let file = format!("cooldowns-{venue}.json");
        let mut stored: BTreeMap<String, CooldownSpan> =
            state_file::read(archive, &file).unwrap_or_default();
        stored.retain(|_, span| span.left(now).is_some());
        let begun = Instant::now();
        let until = stored.iter().filter_map(|(scope, span)| {
            let left = span.left(now)?;
            Some((scope.clone(), begun + left))
        });
        Self {
            until: Mutex::new(until.collect()),
            stored: Mutex::new(stored),
            archive: archive.to_owned(),
            file,
        }
    }

    /// Begins or extends the cooldown of `scope`: a WebSocket host or [`REQUESTS`].
    pub(crate) fn begin(&self, scope: &str, wait: Duration, now: Millis) -> io::Result<()> {
        let until = Instant::now() + wait;
        {
            let mut all = locked(&self.until);
            let known = all.entry(scope.to_owned()).or_insert(until);
            *known = until.max(*known);
        }
        if wait <= STORED_FROM {
            return Ok(());
        }
        let until = now.on(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let mut stored = locked(&self.stored);
        stored.retain(|_, span| span.left(now).is_some());
        let new = CooldownSpan { from: now, until };
        let span = stored.entry(scope.to_owned()).or_insert(new);
        // The remaining times are compared, not the ends, because the clock may have been set back.
        if span.left(now) < new.left(now) {
            *span = new;
        }
        state_file::write(&self.archive, &self.file, &*stored)
    }

    /// The active cooldowns, with the remaining time.
    pub(crate) fn active(&self) -> Vec<(String, Duration)> {
        let now = Instant::now();
        let all = locked(&self.until);
        let left = all.iter().filter_map(|(scope, until)| {
            let left = until.checked_duration_since(now)?;
            (!left.is_zero()).then(|| (scope.clone(), left))
        });
        left.collect()
    }

    /// Returns once `scope` has no cooldown.
    pub(crate) async fn wait(&self, scope: &str) {
        loop {
            let until = locked(&self.until).get(scope).copied();
            match until.filter(|until| *until > Instant::now()) {
                Some(until) => tokio::time::sleep_until(until).await,
                None => return,
            }
        }
    }
}

/// Whether an HTTP status asks the client to send no requests for a time.
pub(crate) fn is_refusal(status: u16) -> bool {
    matches!(status, 403 | 418 | 429)
}

/// The length of a cooldown in the headers of a refusal, if given.
pub(crate) fn header_length(headers: &HeaderMap) -> Option<Duration> {
    retry_after(headers).map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST))
}

/// The length of a ban: from the text of the refusal, or else as the exchange documents it.
pub(crate) fn ban_length(venue: &Venue, status: u16, body: &str, now: Millis) -> Option<Duration> {
    let named = banned_until(body).map(|until| {
        let left = until.0.saturating_sub(now.0);
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    });
    named.or_else(|| venue.ban().filter(|_| status == 403))
}

/// The length of a cooldown: the time `stated` by the exchange, if any, but at least `wait`.
pub(crate) fn cooldown_length(stated: Option<Duration>, wait: Duration) -> Duration {
    stated.map_or(wait, |stated| stated.min(LONGEST).max(wait))
}

/// The end of a ban in the text of a refusal, such as "… banned until 1790000000000. …" of Binance.
fn banned_until(body: &str) -> Option<Millis> {
    let (_, rest) = body.split_once("banned until ")?;
    let digits = rest.find(|digit: char| !digit.is_ascii_digit());
    let millis: i64 = rest.get(..digits.unwrap_or(rest.len()))?.parse().ok()?;
    Some(Millis(millis))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::collect::limits::cooldown::*;

    #[test]
    fn a_cooldown_is_as_long_as_the_exchange_asks() {
        let seconds = Duration::from_secs;
        for (stated, wait, length) in [
            (None, 7, 7),
            (Some(3), 7, 7),
            (Some(1200), 7, 1200),
            (Some(3 * 86_400), 7, 3 * 86_400),
            (Some(u64::MAX), 7, 31 * 86_400),
        ] {
            assert_eq!(
                cooldown_length(stated.map(seconds), seconds(wait)),
                seconds(length)
            );
        }
    }

    fn left(cooldowns: &Cooldowns, scope: &str) -> u64 {
        let mut left = cooldowns.active().into_iter();
        let left = left.find(|(known, _)| known == scope);
        left.map_or(0, |(_, left)| (left + Duration::from_millis(500)).as_secs())
    }

    #[test]
    fn a_cooldown_of_more_than_a_minute_survives_a_restart() {
        let name = format!("liqdata-cooldown_length-{}", std::process::id());
        let archive = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&archive).unwrap();
        let (now, seconds) = (Millis(1_790_000_000_000), Duration::from_secs);
        let of = |now| Cooldowns::load(&archive, "okx", now);
        let first = of(now);
        first.begin("socket", seconds(60), now).unwrap();
        assert!(of(now).active().is_empty());
        first.begin(REQUESTS, seconds(600), now).unwrap();
        first.begin(REQUESTS, seconds(300), now).unwrap();
        let next = of(now.on(100_000));
        assert_eq!((left(&next, REQUESTS), left(&next, "socket")), (500, 0));
        // A clock that was set back does not extend a cooldown.
        assert_eq!(left(&of(now.back(Millis::DAY)), REQUESTS), 600);
        assert!(of(now.on(600_000)).active().is_empty());
        assert!(Cooldowns::load(&archive, "gate", now).active().is_empty());
        next.begin("socket", seconds(1000), now.on(100_000))
            .unwrap();
        let third = of(now.on(500_000));
        assert_eq!((left(&third, REQUESTS), left(&third, "socket")), (100, 600));
        // A cooldown that begins after the clock was set back counts from its own start.
        let back = now.back(Millis::DAY);
        third.begin(REQUESTS, seconds(3600), back).unwrap();
        assert_eq!(left(&of(back.on(1000)), REQUESTS), 3599);
        std::fs::remove_dir_all(&archive).unwrap();
    }

    #[test]
    fn a_ban_ends_when_the_refusal_says() {
        let text = r#"{"code":-1003,"msg":"Way too many requests; IP(1.2.3.4) banned until 1790000000000. Please use"}"#;
        assert_eq!(banned_until(text), Some(Millis(1_790_000_000_000)));
        assert_eq!(banned_until("banned until tomorrow"), None);
        assert_eq!(banned_until("banned until 99999999999999999999"), None);
        assert_eq!(banned_until("too many requests"), None);
    }
}
