//! Validators (`ETag`, `Last-Modified`) and conditional requests.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use std::time::{Duration, UNIX_EPOCH};

use crate::market::{Market, wall_clock};
use crate::model::Millis;

/// Caches may store an answer but must revalidate it each time.
pub(crate) const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

/// How long a cache may use an answer without a request to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// The next commit may change the answer.
    UntilCommit,
    /// The market does not grow, so no bar closes. The server may be started again with other data.
    OneBar,
    /// The answer is as of a past instant, of which no more rows arrive.
    Unlimited,
}

impl Lifetime {
    /// The lifetime of an answer as of `as_of`, or about the present.
    ///
    /// Rows received by an instant may be committed later, but within a day.
    pub(crate) fn of(market: &Market, as_of: Option<Millis>) -> Self {
        let grows = market.is_growing();
        let is_settled = |as_of: Millis| {
            let known = market.now();
            let settled = if grows {
                known.min(wall_clock()).back(Millis::DAY)
            } else {
                known
            };
            as_of <= settled
        };
        match as_of {
            Some(as_of) if is_settled(as_of) => Self::Unlimited,
            _ if grows => Self::UntilCommit,
            _ => Self::OneBar,
        }
    }

    /// The value of `Cache-Control`. The connection replaces `public` if the server requires a token.
    fn value(self) -> HeaderValue {
        match self {
            Self::UntilCommit => REVALIDATE,
            Self::OneBar => HeaderValue::from_static("public, max-age=300"),
            Self::Unlimited => HeaderValue::from_static("public, max-age=86400, immutable"),
        }
    }
}

/// Excludes shared caches from an answer that needs a token.
pub(crate) fn make_private(headers: &mut HeaderMap) {
    let public = headers.get(CACHE_CONTROL).and_then(|value| {
        let rest = value.to_str().ok()?.strip_prefix("public")?;
        HeaderValue::try_from(format!("private{rest}")).ok()
    });
    if let Some(value) = public {
        headers.insert(CACHE_CONTROL, value);
    }
}

/// The validator of an answer.
///
/// The tag is weak, because all encodings of an answer share it.
#[derive(Clone, Debug)]
pub(crate) struct Validator {
    /// Identifies the version of the answer, in visible characters without quotes.
    pub(crate) tag: String,
    /// The latest time at which the answer may have changed.
    pub(crate) changed_at: Millis,
    pub(crate) lifetime: Lifetime,
}

impl Validator {
    /// Whether the client that sent `headers` already has this answer.
    ///
    /// `If-Modified-Since` counts only without `If-None-Match`.
    pub(crate) fn is_current(&self, headers: &HeaderMap) -> bool {
        self.is_current_at(headers, wall_clock())
    }

    fn is_current_at(&self, headers: &HeaderMap, now: Millis) -> bool {
        if headers.contains_key(IF_NONE_MATCH) {
            return headers
                .get_all(IF_NONE_MATCH)
                .iter()
                .any(|named| names(named.as_bytes(), self.tag.as_bytes()));
        }
        let since = headers
            .get(IF_MODIFIED_SINCE)
            .and_then(|date| httpdate::parse_http_date(date.to_str().ok()?.trim()).ok())
            .and_then(|date| date.duration_since(UNIX_EPOCH).ok())
            .and_then(|since| i64::try_from(since.as_millis()).ok());
        // A change within the second of the client's date may be newer than the client's copy. A date in the future is
        // invalid.
        since.is_some_and(|since| self.changed_at.0 < since && since <= now.0)
    }

    /// Adds the validator's headers.
    fn stamp(&self, headers: &mut HeaderMap, now: Millis) {
        if let Ok(tag) = HeaderValue::try_from(format!("W/\"{}\"", self.tag)) {
            headers.insert(ETAG, tag);
        }
        headers.insert(LAST_MODIFIED, self.last_modified(now));
        headers.insert(CACHE_CONTROL, self.lifetime.value());
    }

    /// The date for `Last-Modified` in epoch seconds: the first second that begins after the change, but at most the
    /// current second.
    pub(crate) fn modified(&self, now: Millis) -> i64 {
        let second = self.changed_at.0.div_euclid(1000).saturating_add(1);
        second.min(now.0.div_euclid(1000))
    }

    /// [`Validator::modified`] as an HTTP date.
    pub(crate) fn last_modified(&self, now: Millis) -> HeaderValue {
        let second = u64::try_from(self.modified(now)).unwrap_or(0);
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
        // A date is visible ASCII, so the conversion cannot fail.
        HeaderValue::try_from(date).unwrap_or(HeaderValue::from_static(""))
    }

    /// Adds this validator to `response`.
    pub(crate) fn on(&self, mut response: Response) -> Response {
        self.stamp(response.headers_mut(), wall_clock());
        response
    }

    /// A 304 response.
    pub(crate) fn not_modified(&self) -> Response {
        let mut response = self.on(StatusCode::NOT_MODIFIED.into_response());
        response.headers_mut().remove(CONTENT_TYPE);
        response
    }
}

/// The numbers in the entity tags of `If-None-Match` that begin with `prefix`.
pub(crate) fn numbers(headers: &HeaderMap, prefix: &str) -> Vec<u64> {
    let lists = headers.get_all(IF_NONE_MATCH).iter();
    lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .filter_map(|tag| {
            let tag = tag.trim();
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            let number = tag.strip_prefix('"')?.strip_prefix(prefix)?;
            let end = number.find(|digit: char| !digit.is_ascii_hexdigit())?;
            u64::from_str_radix(number.get(..end)?, 16).ok()
        })
        .collect()
}

/// Whether a list of entity tags contains `tag`, weak or strong. A malformed list contains nothing.
fn names(list: &[u8], tag: &[u8]) -> bool {
    let mut rest = list.trim_ascii();
    if rest == b"*" {
        return true;
    }
    let mut found = false;
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix(b",") {
            rest = behind.trim_ascii_start();
            continue;
        }
        let opened = rest.strip_prefix(b"W/").unwrap_or(rest);
        let Some(opaque) = opened.strip_prefix(b"\"") else {
            return false;
        };
        let Some(end) = opaque.iter().position(|&byte| byte == b'"') else {
            return false;
        };
        let (named, behind) = opaque.split_at(end);
        found |= named == tag;
        rest = behind
            .strip_prefix(b"\"")
            .unwrap_or(behind)
            .trim_ascii_start();
        if !rest.is_empty() && !rest.starts_with(b",") {
            return false;
        }
    }
    found
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use crate::server::answers::validator::*;

    fn at(changed_at: i64) -> Validator {
        Validator {
            tag: "7-3".to_owned(),
            changed_at: Millis(changed_at),
            lifetime: Lifetime::UntilCommit,
        }
    }

    fn conditional(pairs: &[(axum::http::HeaderName, String)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_tag_is_found_in_a_list_whether_weak_or_strong() {
        for list in [
            "*",
            "\"7-3\"",
            "W/\"7-3\"",
            "\"a\", W/\"7-3\"",
            "W/\"a,\",\"7-3\" , \"b\"",
            " , \"7-3\",",
        ] {
            assert!(names(list.as_bytes(), b"7-3"), "{list}");
        }
        for list in [
            "",
            "7-3",
            "\"7-3",
            "w/\"7-3\"",
            "\"7-3\" \"a\"",
            "\"7-3 \"",
            "\"a, 7-3\"",
            "\"7-3\";q=1",
            "*, \"7-3",
        ] {
            assert!(!names(list.as_bytes(), b"7-3"), "{list}");
        }
    }

    #[test]
    fn a_date_counts_only_where_no_tag_is_named() {
        let current =
            |pairs: &[_]| at(1_000_500).is_current_at(&conditional(pairs), Millis(2_000_000));
        let date = |seconds| {
            let date = UNIX_EPOCH + Duration::from_secs(seconds);
            (IF_MODIFIED_SINCE, httpdate::fmt_http_date(date))
        };
        assert!(current(&[date(1001)]));
        assert!(!current(&[date(1000)]));
        assert!(!current(&[date(2001)]), "of an instant yet to come");
        assert!(!current(&[(IF_MODIFIED_SINCE, "yesterday".to_owned())]));
        assert!(!current(&[
            date(1001),
            (IF_NONE_MATCH, "\"other\"".to_owned())
        ]));
        assert!(current(&[date(999), (IF_NONE_MATCH, "\"7-3\"".to_owned())]));
    }

    proptest! {
        /// The client takes a copy at `taken`, and the answer changes `wait` milliseconds later. The client sends the
        /// date of its copy or the time of its request. Neither must hide the change.
        #[test]
        fn no_date_that_a_client_can_know_hides_a_later_change(
            changed in 0_i64..10_000,
            current in 0_i64..5_000,
            wait in 0_i64..5_000,
            later in 0_i64..5_000,
        ) {
            let taken = changed + current;
            let mut sent = HeaderMap::new();
            at(changed).stamp(&mut sent, Millis(taken));
            let asked = UNIX_EPOCH + Duration::from_millis(u64::try_from(taken).unwrap());
            let changed_again = taken + wait;
            for date in [sent[LAST_MODIFIED].to_str().unwrap().to_owned(), httpdate::fmt_http_date(asked)] {
                let headers = conditional(&[(IF_MODIFIED_SINCE, date)]);
                let now = Millis(changed_again + later);
                prop_assert!(!at(changed_again).is_current_at(&headers, now));
            }
            // Once the second of the first change is over, the date of the copy is valid until the next change.
            if taken / 1000 > changed / 1000 {
                let date = sent[LAST_MODIFIED].to_str().unwrap().to_owned();
                let headers = conditional(&[(IF_MODIFIED_SINCE, date)]);
                prop_assert!(at(changed).is_current_at(&headers, Millis(changed_again)));
            }
        }
    }
}
