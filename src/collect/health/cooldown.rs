//! Leaving a venue alone that refuses (403, 418, 429): for as long as it says, however long that is, and over a restart.
//!
//! It says so in a header of its reply, in the words of a refusal, or in its documents. Requests and each host of sockets are
//! left alone by themselves: no venue's documents say that what bans the one bans the other (Binance advises whoever is
//! banned from requests to use sockets, Bybit limits both on their own).

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

/// Longest wait that a venue may ask for, so that an error of its own does not end the listening to it for ever.
const LONGEST: Duration = Duration::from_hours(31 * 24);
/// What lasts longer than that is known to the next process.
const KEPT: Duration = Duration::from_mins(1);
/// What stands for all requests, beside the hosts of sockets.
pub(crate) const REQUESTS: &str = "requests";

/// How long something is left alone.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
struct CooldownSpan {
    from: Millis,
    until: Millis,
}

impl CooldownSpan {
    /// How much of it is left; no more than all of it, whatever the clock has become.
    fn left(self, now: Millis) -> Option<Duration> {
        let whole = self.until.0.saturating_sub(self.from.0);
        let left = self.until.0.saturating_sub(now.0).min(whole);
        let left = u64::try_from(left).ok().filter(|left| *left > 0)?;
        Some(Duration::from_millis(left).min(LONGEST))
    }
}

/// Until when nothing is asked of a venue, and no handshake tried with its hosts.
#[derive(Debug)]
pub(crate) struct Cooldowns {
    until: Mutex<HashMap<String, Instant>>,
    /// Those of them that the next process is to know.
    kept: Mutex<BTreeMap<String, CooldownSpan>>,
    archive: PathBuf,
    file: String,
}

impl Cooldowns {
    /// Those that a process before had to keep to, as far as they are not over.
    pub(crate) fn of(archive: &Path, venue: &str, now: Millis) -> Self {
        let file = format!("cooldowns-{venue}.json");
        let mut kept: BTreeMap<String, CooldownSpan> =
            state_file::read(archive, &file).unwrap_or_default();
        kept.retain(|_, span| span.left(now).is_some());
        let begun = Instant::now();
        let until = kept.iter().filter_map(|(place, span)| {
            let left = span.left(now)?;
            Some((place.clone(), begun + left))
        });
        Self {
            until: Mutex::new(until.collect()),
            kept: Mutex::new(kept),
            archive: archive.to_owned(),
            file,
        }
    }

    /// Nothing is to be tried with `place` for so long.
    pub(crate) fn begin(&self, place: &str, wait: Duration, now: Millis) -> io::Result<()> {
        let until = Instant::now() + wait;
        {
            let mut all = locked(&self.until);
            let known = all.entry(place.to_owned()).or_insert(until);
            *known = until.max(*known);
        }
        if wait <= KEPT {
            return Ok(());
        }
        let until = now.on(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let mut kept = locked(&self.kept);
        kept.retain(|_, span| span.left(now).is_some());
        let new = CooldownSpan { from: now, until };
        let span = kept.entry(place.to_owned()).or_insert(new);
        // The clock may have been put back meanwhile.
        if span.left(now) < new.left(now) {
            *span = new;
        }
        state_file::write(&self.archive, &self.file, &*kept)
    }

    /// What is left alone, and for how long yet.
    pub(crate) fn left(&self) -> Vec<(String, Duration)> {
        let now = Instant::now();
        let all = locked(&self.until);
        let left = all.iter().filter_map(|(place, until)| {
            let left = until.checked_duration_since(now)?;
            (!left.is_zero()).then(|| (place.clone(), left))
        });
        left.collect()
    }

    /// Returns once `place` may be tried.
    pub(crate) async fn over(&self, place: &str) {
        loop {
            let until = locked(&self.until).get(place).copied();
            match until.filter(|until| *until > Instant::now()) {
                Some(until) => tokio::time::sleep_until(until).await,
                None => return,
            }
        }
    }
}

/// Whether a status turns a client away for a time.
pub(crate) fn is_refusal(status: u16) -> bool {
    matches!(status, 403 | 418 | 429)
}

/// How long a refusal says in its head that it lasts.
pub(crate) fn said(headers: &HeaderMap) -> Option<Duration> {
    retry_after(headers).map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST))
}

/// How long a venue turns us away that says so in its own words, or in its documents.
pub(crate) fn ban_length(venue: &Venue, status: u16, body: &str, now: Millis) -> Option<Duration> {
    let said = banned_until(body).map(|until| {
        let left = until.0.saturating_sub(now.0);
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    });
    said.or_else(|| venue.ban().filter(|_| status == 403))
}

/// How long nothing is asked: as the venue says, however long, and no less than `wait`.
pub(crate) fn cooldown_length(said: Option<Duration>, wait: Duration) -> Duration {
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
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::collect::health::cooldown::*;

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
            assert_eq!(
                cooldown_length(said.map(seconds), seconds(wait)),
                seconds(asked)
            );
        }
    }

    fn left(cooldowns: &Cooldowns, place: &str) -> u64 {
        let mut left = cooldowns.left().into_iter();
        let left = left.find(|(known, _)| known == place);
        left.map_or(0, |(_, left)| (left + Duration::from_millis(500)).as_secs())
    }

    #[test]
    fn what_is_left_alone_for_more_than_a_minute_is_so_by_the_next_process() {
        let name = format!("liqdata-cooldown_length-{}", std::process::id());
        let archive = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&archive).unwrap();
        let (now, seconds) = (Millis(1_790_000_000_000), Duration::from_secs);
        let of = |now| Cooldowns::of(&archive, "okx", now);
        let first = of(now);
        first.begin("socket", seconds(60), now).unwrap();
        assert!(of(now).left().is_empty());
        first.begin(REQUESTS, seconds(600), now).unwrap();
        first.begin(REQUESTS, seconds(300), now).unwrap();
        let next = of(now.on(100_000));
        assert_eq!((left(&next, REQUESTS), left(&next, "socket")), (500, 0));
        // A clock that was put back makes it no longer than was said.
        assert_eq!(left(&of(now.back(Millis::DAY)), REQUESTS), 600);
        assert!(of(now.on(600_000)).left().is_empty());
        assert!(Cooldowns::of(&archive, "gate", now).left().is_empty());
        next.begin("socket", seconds(1000), now.on(100_000))
            .unwrap();
        let third = of(now.on(500_000));
        assert_eq!((left(&third, REQUESTS), left(&third, "socket")), (100, 600));
        // What is said after the clock was put back counts from then.
        let back = now.back(Millis::DAY);
        third.begin(REQUESTS, seconds(3600), back).unwrap();
        assert_eq!(left(&of(back.on(1000)), REQUESTS), 3599);
        std::fs::remove_dir_all(&archive).unwrap();
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
