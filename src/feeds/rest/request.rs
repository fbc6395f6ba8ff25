//! REST requests and rate limits.

use std::time::Duration;

use rust_decimal::Decimal;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::error::Error;
use crate::model::Millis;

/// The rate limit for one kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RateLimit {
    /// Name of the kind of request; requests with the same name share the limit.
    pub name: &'static str,
    /// Maximum total weight of requests within `per`.
    pub most: u32,
    /// Period to which the limit applies.
    pub per: Duration,
}

impl RateLimit {
    /// Allows a total weight of `most` within `seconds`; most requests have weight 1.
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
    /// Name of the exchange's [host](crate::feeds::Venue::hosts).
    pub host: &'static str,
    /// The path after the host name.
    pub path: String,
    /// The query parameters, in order.
    pub query: Vec<(&'static str, String)>,
    /// Weight that the request adds to the total of its rate limit.
    pub weight: u32,
    /// The rate limit that applies to the request.
    pub limit: RateLimit,
    /// The requested market, if the reply does not name it.
    pub market: Option<String>,
    /// Start of the requested range.
    pub from: Millis,
    /// End of the requested range, exclusive.
    pub until: Millis,
}

impl RestRequest {
    /// Whether the request is for this market.
    #[must_use]
    pub fn names(&self, native_id: &str) -> bool {
        let mut values = self.query.iter().map(|(_, value)| value.as_str());
        values.any(|value| value == native_id) || self.path.split('/').any(|part| part == native_id)
    }

    /// Creates a request of weight 1 without a time range.
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

    /// Returns the same request with another value for the parameter `name`.
    pub(crate) fn again_with(&self, name: &'static str, value: impl ToString) -> Self {
        self.clone().without(name).with(name, value)
    }

    /// Returns the same request without the parameter `name`.
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

    /// Returns the value of the query parameter `name`.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Rows decoded from a REST reply, and requests for the remaining data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestPage<T> {
    /// The decoded rows.
    pub rows: Vec<T>,
    /// Requests for the remaining data; empty if the reply is complete.
    pub rest: Vec<RestRequest>,
}

impl<T> RestPage<T> {
    /// Creates a page without follow-up requests.
    pub(crate) fn last(rows: Vec<T>) -> Self {
        Self {
            rows,
            rest: Vec::new(),
        }
    }
}

/// One closed bar of a market; prices and volume refer to single coins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VenueBar {
    /// Opening time of the bar.
    pub timestamp: Millis,
    /// First price of the bar.
    pub open: Decimal,
    /// Highest price of the bar.
    pub high: Decimal,
    /// Lowest price of the bar.
    pub low: Decimal,
    /// Last price of the bar.
    pub close: Decimal,
    /// Traded volume in coins.
    pub volume: Decimal,
}

/// Open interest of a market in coins, counting each contract once.
///
/// Some exchanges count long and short sides separately, which gives twice this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenInterestReading {
    /// Time of the reading.
    pub timestamp: Millis,
    /// Open interest in coins.
    pub open_interest: Decimal,
}

/// Liquidation total of a market in one hour, as published by the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourlyTotal {
    /// Start of the hour.
    pub timestamp: Millis,
    /// Liquidated USD of longs and shorts together.
    pub usd: Decimal,
}

/// A time series of a market, requested in several time ranges.
#[derive(Debug)]
pub(crate) struct RestSeries<T: 'static> {
    /// Maximum age of the data that the exchange returns, in milliseconds.
    pub(crate) look_back: i64,
    /// Maximum length of the time range of one request, in milliseconds.
    pub(crate) length: i64,
    /// Builds the request for a market and a time range.
    pub(crate) ask: fn(&str, Millis, Millis) -> RestRequest,
    /// Decodes the values in a reply, in time order.
    pub(crate) read: fn(&Frame<'_>) -> Result<Vec<T>, Error>,
}

impl<T> RestSeries<T> {
    /// Returns the requests that cover a time range of a market, newest range first.
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
    /// Interval of the requested readings in milliseconds.
    pub(crate) const APART: i64 = 5 * Millis::MINUTE;
}

/// Splits a time range into ranges of at most `length` milliseconds, newest first.
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
