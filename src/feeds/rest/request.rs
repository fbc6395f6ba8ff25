//! REST requests and rate limits.

use std::time::Duration;

use rust_decimal::Decimal;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::error::Error;
use crate::model::Millis;

/// The rate limit for one kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RateLimit {
    /// The kind; requests with the same name share the limit.
    pub name: &'static str,
    /// The allowed weight in `per`.
    pub most: u32,
    /// The period of the limit.
    pub per: Duration,
}

impl RateLimit {
    /// `most` requests, or as much weight, in `seconds`.
    pub(crate) const fn of(name: &'static str, most: u32, seconds: u64) -> Self {
        Self {
            name,
            most,
            per: Duration::from_secs(seconds),
        }
    }
}

/// One GET request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestRequest {
    /// The exchange's [host](crate::feeds::Venue::hosts) by name.
    pub host: &'static str,
    /// The path after the host.
    pub path: String,
    /// The query parameters, in order.
    pub query: Vec<(&'static str, String)>,
    /// The weight against the limit.
    pub weight: u32,
    /// The limit it counts against.
    pub limit: RateLimit,
    /// The requested market, if the body does not name it.
    pub market: Option<String>,
    /// Start of the requested range.
    pub from: Millis,
    /// End of the requested range, exclusive.
    pub until: Millis,
}

impl RestRequest {
    /// Whether it names this market.
    #[must_use]
    pub fn names(&self, native_id: &str) -> bool {
        let mut values = self.query.iter().map(|(_, value)| value.as_str());
        values.any(|value| value == native_id) || self.path.split('/').any(|part| part == native_id)
    }

    /// A request of weight 1 without a time range.
    pub(crate) fn new(path: &str, limit: RateLimit) -> Self {
        Self {
            host: "rest",
            path: path.to_owned(),
            query: Vec::new(),
            weight: 1,
            limit,
            market: None,
            from: Millis(0),
            until: Millis(i64::MAX),
        }
    }

    pub(crate) fn host(self, host: &'static str) -> Self {
        Self { host, ..self }
    }

    #[expect(clippy::needless_pass_by_value, reason = "accepts numbers and texts")]
    pub(crate) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// The same request with another value of `name`.
    pub(crate) fn again_with(&self, name: &'static str, value: impl ToString) -> Self {
        self.clone().without(name).with(name, value)
    }

    /// The same request without `name`.
    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.query.retain(|(known, _)| *known != name);
        self
    }

    pub(crate) fn weighing(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    pub(crate) fn about(self, market: &str) -> Self {
        Self {
            market: Some(market.to_owned()),
            ..self
        }
    }

    pub(crate) fn between(self, from: Millis, until: Millis) -> Self {
        Self {
            from,
            until,
            ..self
        }
    }

    /// The value of `name` in the query.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// The rows of a body and its follow-up requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestPage<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The follow-up requests.
    pub rest: Vec<RestRequest>,
}

impl<T> RestPage<T> {
    /// A body without follow-up requests.
    pub(crate) fn last(rows: Vec<T>) -> Self {
        Self {
            rows,
            rest: Vec::new(),
        }
    }
}

/// One closed bar of a market, per single coin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VenueBar {
    /// Time of the open.
    pub timestamp: Millis,
    /// First price.
    pub open: Decimal,
    /// Highest price.
    pub high: Decimal,
    /// Lowest price.
    pub low: Decimal,
    /// Last price.
    pub close: Decimal,
    /// Volume in coins.
    pub volume: Decimal,
}

/// One-sided open interest of a market at an instant, in coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenInterestReading {
    /// The instant.
    pub timestamp: Millis,
    /// The open interest.
    pub open_interest: Decimal,
}

/// The exchange's own total of liquidations of a market in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourlyTotal {
    /// Start of the hour.
    pub timestamp: Millis,
    /// USD of longs and shorts.
    pub usd: Decimal,
}

/// A time series of a market, requested in pieces.
#[derive(Debug)]
pub(crate) struct RestSeries<T: 'static> {
    /// How far back it is available, in milliseconds.
    pub(crate) look_back: i64,
    /// Longest range of one request.
    pub(crate) length: i64,
    /// Builds the request for a market and a range of time.
    pub(crate) ask: fn(&str, Millis, Millis) -> RestRequest,
    /// Decodes the values of a reply, in time order.
    pub(crate) read: fn(&Frame<'_>) -> Result<Vec<T>, Error>,
}

impl<T> RestSeries<T> {
    /// The requests for a market, newest range first.
    pub(crate) fn requests(&self, market: &str, from: Millis, until: Millis) -> Vec<RestRequest> {
        stretches(from, until, self.length)
            .into_iter()
            .map(|(start, end)| {
                let ask = (self.ask)(market, start, end);
                ask.about(market).between(start, end)
            })
            .collect()
    }
}

impl OpenInterestReading {
    /// Distance between requested readings.
    pub(crate) const APART: i64 = 5 * Millis::MINUTE;
}

/// Splits the range into pieces of at most `length`, newest first.
pub(crate) fn stretches(from: Millis, until: Millis, length: i64) -> Vec<(Millis, Millis)> {
    let mut found = Vec::new();
    let mut end = until;
    while from < end && length > 0 {
        let start = from.max(end.back(length));
        found.push((start, end));
        end = start;
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::feeds::rest::request::*;

    #[test]
    fn stretches_cover_the_time_once_and_end_with_what_is_left() {
        let of = |from, until| stretches(Millis(from), Millis(until), 10);
        assert_eq!(of(5, 5), []);
        assert_eq!(of(0, 10), [(Millis(0), Millis(10))]);
        assert_eq!(
            of(5, 28),
            [
                (Millis(18), Millis(28)),
                (Millis(8), Millis(18)),
                (Millis(5), Millis(8)),
            ]
        );
    }

    #[test]
    fn a_value_is_put_in_the_place_of_another() {
        let ask = RestRequest::new("/x", RateLimit::of("x", 1, 1))
            .with("cursor", 1)
            .with("limit", 100);
        let next = ask.again_with("cursor", 2);
        assert_eq!(next.value("cursor"), Some("2"));
        assert_eq!(next.query.len(), 2);
        assert_eq!(ask.value("cursor"), Some("1"));
    }
}
