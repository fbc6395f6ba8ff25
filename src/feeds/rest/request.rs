//! One request to a venue's REST interface, and how often such requests may be made.

use std::time::Duration;

use rust_decimal::Decimal;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::error::Error;
use crate::model::Millis;

/// How much a venue allows of one kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// The kind; requests of one name share the allowance.
    pub name: &'static str,
    /// The weight allowed …
    pub most: u32,
    /// … in this time.
    pub per: Duration,
}

impl Limit {
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
pub struct Ask {
    /// Which of the venue's [hosts](crate::feeds::Venue::hosts) it goes to.
    pub host: &'static str,
    /// The path behind the host.
    pub path: String,
    /// The query, in order.
    pub query: Vec<(&'static str, String)>,
    /// What it counts against the limit.
    pub weight: u32,
    /// The limit it counts against.
    pub limit: Limit,
    /// The market asked about, where the body does not say.
    pub market: Option<String>,
    /// The time asked about: from here …
    pub from: Millis,
    /// … until before here.
    pub until: Millis,
}

impl Ask {
    /// Whether it asks about this market by its name.
    #[must_use]
    pub fn names(&self, native_id: &str) -> bool {
        let mut values = self.query.iter().map(|(_, value)| value.as_str());
        values.any(|value| value == native_id) || self.path.split('/').any(|part| part == native_id)
    }

    /// A request of weight 1 for all of time.
    pub(crate) fn new(path: &str, limit: Limit) -> Self {
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

    #[expect(
        clippy::needless_pass_by_value,
        reason = "numbers and texts alike read better without an ampersand"
    )]
    pub(crate) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// The same request with another value of `name`.
    pub(crate) fn again_with(&self, name: &'static str, value: impl ToString) -> Self {
        self.clone().without(name).with(name, value)
    }

    /// The same request with no value of `name`.
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

/// What a body holds, and the requests that go on where it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What it holds.
    pub rows: Vec<T>,
    /// What is still to be asked.
    pub rest: Vec<Ask>,
}

impl<T> Page<T> {
    /// A body after which there is nothing to be asked.
    pub(crate) fn last(rows: Vec<T>) -> Self {
        Self {
            rows,
            rest: Vec::new(),
        }
    }
}

/// One closed bar of a market, in single units of its coin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
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
    /// Volume in units of the base.
    pub volume: Decimal,
}

/// Open interest of a market at an instant, one side, in units of the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The instant.
    pub timestamp: Millis,
    /// The open interest.
    pub open_interest: Decimal,
}

/// What a venue says it liquidated of a market in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// When the hour began.
    pub timestamp: Millis,
    /// Longs and shorts together, in USD.
    pub usd: Decimal,
}

/// Something of a market that is asked for stretch by stretch.
#[derive(Debug)]
pub(crate) struct Series<T: 'static> {
    /// How far back it can be asked for, in milliseconds.
    pub(crate) look_back: i64,
    /// Longest time that one request asks about.
    pub(crate) length: i64,
    /// The request about a market, by its native id, from one instant until before another.
    pub(crate) ask: fn(&str, Millis, Millis) -> Ask,
    /// What a reply holds, by time.
    pub(crate) read: fn(&Frame<'_>) -> Result<Vec<T>, Error>,
}

impl<T> Series<T> {
    /// The requests about a market, the newest stretch first.
    pub(crate) fn requests(&self, market: &str, from: Millis, until: Millis) -> Vec<Ask> {
        stretches(from, until, self.length)
            .into_iter()
            .map(|(start, end)| {
                let ask = (self.ask)(market, start, end);
                ask.about(market).between(start, end)
            })
            .collect()
    }
}

impl Reading {
    /// How far apart they are asked for.
    pub(crate) const APART: i64 = 5 * Millis::MINUTE;
}

/// The time from `from` until before `until` in stretches of at most `length`, the newest first.
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
        let ask = Ask::new("/x", Limit::of("x", 1, 1))
            .with("cursor", 1)
            .with("limit", 100);
        let next = ask.again_with("cursor", 2);
        assert_eq!(next.value("cursor"), Some("2"));
        assert_eq!(next.query.len(), 2);
        assert_eq!(ask.value("cursor"), Some("1"));
    }
}
