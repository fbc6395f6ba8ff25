//! Requests and answers of the REST side, and paging.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// A request.
#[derive(Clone, Debug)]
pub struct Ask {
    pub path: String,
    pub query: BTreeMap<String, String>,
}

impl Ask {
    pub fn new(path: &str, query: &str) -> Self {
        Self {
            path: path.to_owned(),
            query: parameters(query),
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.query
            .get(name)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }

    /// A whole number; one that cannot be read counts as absent, as it would not at a venue, so tests must not rely on it.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.text(name).and_then(|text| text.parse().ok())
    }

    /// The page size: as requested, or `default`; `None` where it is beyond the maximum.
    pub fn limit(&self, default: usize, most: usize) -> Option<usize> {
        match self.text("limit") {
            None => Some(default),
            Some(text) => text.parse().ok().filter(|limit| (1..=most).contains(limit)),
        }
    }

    /// What stands behind `prefix` in the path.
    pub fn behind(&self, prefix: &str) -> Option<&str> {
        self.path.strip_prefix(prefix)
    }
}

/// The parameters of a query.
pub fn parameters(query: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl Answer {
    pub fn json(value: &Value) -> Self {
        Self::text(value.to_string())
    }

    pub fn text(body: String) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body,
        }
    }

    pub fn status(status: u16, value: &Value) -> Self {
        Self {
            status,
            ..Self::json(value)
        }
    }

    pub fn not_found() -> Self {
        Self::status(404, &json!({"error": "not found"}))
    }
}

/// The starts of the bars of `length` that lie within `start..=end`, ascending.
pub fn bars(start: i64, end: i64, length: i64) -> impl DoubleEndedIterator<Item = i64> {
    let first = start.div_euclid(length) + i64::from(start.rem_euclid(length) > 0);
    (first..=end.div_euclid(length)).map(move |number| number * length)
}

/// The first `count` bars of a range, ascending.
pub fn first_bars(start: i64, end: i64, length: i64, count: usize) -> Vec<i64> {
    bars(start, end, length).take(count).collect()
}

/// The last `count` bars of a range, newest first.
pub fn last_bars(start: i64, end: i64, length: i64, count: usize) -> Vec<i64> {
    bars(start, end, length).rev().take(count).collect()
}

/// The length in milliseconds of `5m`, `4h`, `1D`, `5min`.
pub fn length_of(text: &str) -> Option<i64> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (count, unit) = text.split_at(digits);
    let count: i64 = count.parse().ok()?;
    let minutes = match unit {
        "m" | "min" => 1,
        "h" | "H" => 60,
        "d" | "D" | "Dutc" => 1440,
        _ => return None,
    };
    Some(count * minutes * 60_000)
}
