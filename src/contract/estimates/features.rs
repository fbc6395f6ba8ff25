//! `/api/features`: what was known of coins at decision instants, as CSV lines; an extension of the contract.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::contract::argument::Argument;
use crate::contract::endpoint::endpoint;
use crate::contract::estimates::feature_table::{FeatureColumns, FeatureTable};
use crate::contract::instant::allowed_instants;
use crate::contract::parameter::{Exchange, ModelChoice, Rule, text_of};
use crate::contract::realised::history::SymbolList;
use crate::contract::refusal::BadQuery;
use crate::contract::reply::{EndpointReply, Member, ReplyShape};
use crate::contract::time::{At, Bound, words};
use crate::model::{MapRange, Millis, read_span};

endpoint! {
    /// Asks for one row per decision instant and coin, from only what was known by then.
    ///
    /// The instants are either `at`, or the multiples of `every` from `start` on and before `end`.
    Features = "features" at "/api/features", "what was known of coins at decision instants, as CSV lines";
    symbols: SymbolList, "coins, such as BTC,ETH; a trading pair stands for its coin";
    [extension] at: Option<InstantList>, "the decision instants; either these, or every with start";
    [extension] start: Option<Bound>, "with every: only instants at or after this one";
    [extension] end: Option<Bound>, "with every: only instants before this one; if absent, up to and including now";
    [extension] every: Option<Step>, "the decision instants are the multiples of this time";
    [extension] windows: Option<WindowList> = "1h,24h", "lengths of the windows of realised orders";
    [extension] within: Option<MoveList> = "1,2,5", "moves of the price in percent";
    [extension] range: Option<MapRange> = "7d", "range of the map, which limits the prices that clusters come from";
    [extension] model: Option<ModelChoice>, "the model of the map; if absent, 3 where it is fitted by then, else 2";
    [extension] exchange: Option<Exchange>, "only orders, open interest and coverage of this exchange";
    [extension] latency: Option<Delay> = "0s", "rows count only if they were received this long before the instant";
    [extension] columns: Option<ColumnList> = "all", "the columns to send; at, coin, and units and view of a map always are";
    => bare FeatureLines, decoded as FeatureTable
}

/// The reply: a line of names, then a line for each instant and coin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeatureLines(pub String);

impl EndpointReply for FeatureLines {
    const SHAPE: ReplyShape = ReplyShape::Csv(FeatureColumns::members);
}

impl From<FeatureTable> for FeatureLines {
    fn from(table: FeatureTable) -> Self {
        Self(String::from_utf8_lossy(&table.csv(true)).into_owned())
    }
}

/// The allowed ways to give decision instants.
const EITHER: &str = "either at, or every with start and perhaps end";

impl Features {
    /// Maximum number of decision instants.
    pub const MOST: usize = 1_000_000;

    /// The content type of the reply.
    pub const CSV: &'static str = "text/csv; charset=utf-8";

    /// The columns of the reply.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a column that the windows and moves do not give.
    pub fn wanted(&self) -> Result<FeatureColumns, BadQuery> {
        let windows = self.windows.clone();
        let hours = |hours: i64| (format!("{hours}h"), hours * Millis::HOUR);
        let columns = FeatureColumns {
            windows: windows.unwrap_or_else(|| vec![hours(1), hours(24)]),
            moves: self.within.as_ref().map_or_else(
                || vec![1.0, 2.0, 5.0],
                |moves| moves.iter().map(|percent| percent.get()).collect(),
            ),
            wanted: self.columns.clone().filter(|names| *names != [ALL]),
        };
        let names = columns.names(false);
        let unknown = columns.wanted.iter().flatten();
        match unknown.into_iter().find(|name| !names.contains(name)) {
            None => Ok(columns),
            Some(name) => Err(BadQuery::new(
                "columns",
                format!("{name:?} is not a column"),
                format!("\"{ALL}\", or some of {}", names.join(", ")),
            )),
        }
    }

    /// The range of the map.
    #[must_use]
    pub fn range(&self) -> MapRange {
        self.range.unwrap_or(MapRange::D7)
    }

    /// The decision instants in order of time, as meant at `now`.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] unless instants are given in one way, and for too many of them.
    pub fn instants(&self, now: Millis) -> Result<Vec<Millis>, BadQuery> {
        let given = [
            ("start", self.start.is_some()),
            ("end", self.end.is_some()),
            ("every", self.every.is_some()),
        ];
        if let Some(at) = &self.at {
            if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                return Err(BadQuery::new(name, "is given together with at", EITHER));
            }
            let mut at = at.clone();
            at.sort_unstable();
            return Ok(at);
        }
        let Some(every) = self.every else {
            return Err(BadQuery::new("at", "is missing, as is every", EITHER));
        };
        let Some(start) = self.start else {
            return Err(BadQuery::new(
                "start",
                "is missing",
                "an instant, with every",
            ));
        };
        let (start, end) = (start.at(now), self.end.map_or(now.on(1), |end| end.at(now)));
        let [first, after] = [start, end]
            .map(|bound| bound.0.div_euclid(every) + i64::from(bound.0.rem_euclid(every) > 0));
        if first >= after {
            let allowed = "a start with a multiple of every from it on and before end";
            return Err(BadQuery::new(
                "start",
                format!("{start} is too late for the end {end}"),
                allowed,
            ));
        }
        let count = usize::try_from(after.saturating_sub(first)).unwrap_or(usize::MAX);
        if count > Self::MOST {
            let allowed = format!("at most {}", Self::MOST);
            return Err(BadQuery::new(
                "every",
                format!("{count} instants are too many"),
                allowed,
            ));
        }
        Ok((first..after)
            .map(|number| Millis(number * every))
            .collect())
    }
}

/// The word for all columns.
const ALL: &str = "all";
/// The word for an empty list.
const NONE: &str = "none";

/// Rule for a list of instants.
#[derive(Debug)]
pub struct InstantList;

impl Rule for InstantList {
    type Value = Vec<Millis>;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        format!(
            "{}, or several with commas between them",
            allowed_instants()
        )
    }

    fn schema() -> Value {
        json!({"type": "string", "pattern": "^[0-9TZ:.+-]+(,[0-9TZ:.+-]+)*$"})
    }

    fn raw<'a>(name: &'static str, argument: Option<Argument<'a>>) -> Result<&'a str, BadQuery> {
        text_of::<Self>(name, argument)
    }

    fn check(name: &'static str, text: &str) -> Result<Vec<Millis>, BadQuery> {
        text.split(',').map(|one| At::check(name, one)).collect()
    }

    fn text(instants: &Vec<Millis>) -> Option<String> {
        let texts: Vec<String> = instants.iter().filter_map(At::text).collect();
        Some(texts.join(","))
    }
}

/// A move of the price in percent, above 0 and below 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(f64);

// A percentage is never NaN.
impl Eq for Percent {}

impl Percent {
    /// A percentage; `None` unless it is above 0 and below 100.
    #[must_use]
    pub fn new(percent: f64) -> Option<Self> {
        (percent > 0.0 && percent < 100.0).then_some(Self(percent))
    }

    /// The percentage as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads a list of distinct values; [`NONE`] stands for the empty list.
fn listed<T: PartialEq>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let mut found = Vec::new();
    if text != NONE {
        for part in text.split(',') {
            let one = read(part)?;
            (!found.contains(&one)).then_some(())?;
            found.push(one);
        }
    }
    Some(found)
}

/// Writes a list as [`listed`] reads it.
fn joined<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = values.into_iter().map(|one| one.to_string()).collect();
    if texts.is_empty() {
        NONE.to_owned()
    } else {
        texts.join(",")
    }
}

/// The milliseconds of a length in whole minutes.
fn minutes(text: &str) -> Option<i64> {
    read_span(text).filter(|length| *length > 0 && length % Millis::MINUTE == 0)
}

words! {
    /// Rule for the time from one decision to the next, in milliseconds.
    Step = i64 {
        "whole minutes, such as 5m, 1h or 1d";
        |text| minutes(text);
        |step| format!("{step}ms");
        {"type": "string", "pattern": "^[1-9][0-9]{0,3}(m|min|h|d|w)$"}
    }
    /// Rule for windows: their names and lengths in milliseconds.
    WindowList = Vec<(String, i64)> {
        "different whole minutes with commas between them, such as 15m,1h,24h, or none";
        |text| listed(text, |part| Some((part.to_owned(), minutes(part)?)));
        |windows| joined(windows.iter().map(|(name, _)| name));
        {"type": "string", "pattern": "^(none|[1-9][0-9]{0,3}(m|min|h|d|w)(,[1-9][0-9]{0,3}(m|min|h|d|w))*)$"}
    }
    /// Rule for moves of the price in percent.
    MoveList = Vec<Percent> {
        "different percentages above 0 and below 100 with commas between them, such as 0.5,1,5, or none";
        |text| listed(text, |part| Percent::new(part.parse().ok()?));
        |moves| joined(moves);
        {"type": "string", "pattern": r"^(none|[1-9][0-9]?(\.[0-9]{1,6})?(,[1-9][0-9]?(\.[0-9]{1,6})?)*)$"}
    }
    /// Rule for a delay in milliseconds.
    Delay = i64 {
        "a time from 0s on, such as 30s or 5m";
        |text| read_span(text);
        |delay| format!("{delay}ms");
        {"type": "string", "pattern": "^[0-9]{1,4}(s|m|min|h)$"}
    }
    /// Rule for names of columns.
    ColumnList = Vec<String> {
        "all, or names of different columns with commas between them";
        |text| listed(text, |part| (!part.is_empty()).then(|| part.to_owned()));
        |names| joined(names);
        {"type": "string", "pattern": r"^[a-z0-9_.]+(,[a-z0-9_.]+)*$"}
    }
}

/// Name, type, unit and meaning of each column: `W` stands for a window, `N` for a move.
const MEMBERS: &[(&str, &str, &str, &str)] = &[
    ("at", "time", "ms", "the decision instant"),
    ("coin", "text", "", "coin, such as BTC"),
    (
        "known_at",
        "time",
        "ms",
        "newest instant of a row that was used, at or before at minus latency",
    ),
    ("price", "float", "USD", "close of the last closed bar"),
    (
        "long_usd_W",
        "float",
        "USD",
        "liquidated longs with an event time after at minus W and up to at, for each window W; empty if nothing of it is covered",
    ),
    ("short_usd_W", "float", "USD", "the same of shorts"),
    ("cnt_W", "int", "", "number of these orders"),
    (
        "covered_W",
        "float",
        "",
        "covered share of the window as known then, 0 to 1",
    ),
    (
        "long_usd_Npct",
        "float",
        "USD",
        "what a fall of the price by N % would liquidate, for each move N",
    ),
    (
        "short_usd_Npct",
        "float",
        "USD",
        "what a rise of the price by N % would liquidate",
    ),
    (
        "below_dist_pct",
        "float",
        "%",
        "distance of the nearest cluster of longs from the price; negative",
    ),
    ("below_usd", "float", "USD", "USD of this cluster"),
    (
        "below_leverage",
        "int",
        "",
        "leverage with the most USD in this cluster",
    ),
    (
        "above_dist_pct",
        "float",
        "%",
        "distance of the nearest cluster of shorts from the price",
    ),
    ("above_usd", "float", "USD", "USD of this cluster"),
    (
        "above_leverage",
        "int",
        "",
        "leverage with the most USD in this cluster",
    ),
    (
        "pain_long_dist_pct",
        "float",
        "%",
        "distance of the headline level of longs within a day",
    ),
    ("pain_long_usd", "float", "USD", "USD of this level"),
    (
        "pain_short_dist_pct",
        "float",
        "%",
        "distance of the headline level of shorts within a day",
    ),
    ("pain_short_usd", "float", "USD", "USD of this level"),
    ("map_age_s", "float", "s", "time since the last bar closed"),
    (
        "oi_age_s",
        "float",
        "s",
        "time since the last open-interest reading",
    ),
    (
        "model_version",
        "text",
        "",
        "version of the model of the map",
    ),
    (
        "units",
        "text",
        "",
        "usd, or relative if open interest is unknown: of all USD of the map; empty without a map",
    ),
    (
        "view",
        "text",
        "",
        "expected (model 3) or exposed (model 2); empty without a map",
    ),
];

impl FeatureColumns {
    /// The columns for a description.
    fn members() -> Vec<Member> {
        let member = |(name, kind, unit, meaning): &(
            &'static str,
            &'static str,
            &'static str,
            &'static str,
        )| Member {
            kind,
            optional: !matches!(*name, "at" | "coin"),
            ..Member::new((name, name), unit, meaning, false)
        };
        MEMBERS.iter().map(member).collect()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::contract::{Arguments, Endpoint};

    fn read(pairs: &[(&str, &str)]) -> Result<Features, BadQuery> {
        let pairs = pairs
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Features::from_arguments(&Arguments::from_query(
            pairs.collect(),
            Features::PARAMETERS,
        )?)
    }

    #[test]
    fn a_query_is_read_as_it_is_written() {
        let query = [
            ("symbols", "BTC,ETH"),
            ("at", "1781136000000,1781139600000"),
            ("windows", "90min,1h"),
            ("within", "0.25,1"),
            ("latency", "300000ms"),
            ("columns", "price,cnt_1h"),
        ];
        let features = read(&query).unwrap();
        let written = features.to_query();
        let written: Vec<(&str, &str)> = written
            .iter()
            .map(|(name, text)| (*name, &**text))
            .collect();
        assert_eq!(written, query);
        assert_eq!(features.wanted().unwrap().names(false).len(), 29);
        let empty = read(&[("symbols", "BTC"), ("windows", "none"), ("within", "none")]).unwrap();
        assert_eq!(empty.wanted().unwrap().names(false).len(), 17);
    }

    #[test]
    fn instants_are_given_in_one_way() {
        let hour = Millis::HOUR;
        let now = Millis(1_781_136_000_000);
        let grid = [("symbols", "BTC"), ("every", "1h"), ("start", "-90m")];
        let found = read(&grid).unwrap().instants(now).unwrap();
        assert_eq!(found, [now.back(hour), now]);
        let at = [("symbols", "BTC"), ("at", "1781139600000,1781136000000")];
        assert_eq!(
            read(&at).unwrap().instants(now).unwrap(),
            [now, now.on(hour)]
        );
        for (more, parameter) in [
            (&[("at", "2026-06-01"), ("end", "-1h")][..], "end"),
            (&[][..], "at"),
            (&[("every", "1h")][..], "start"),
            (
                &[("every", "1h"), ("start", "-10m"), ("end", "-5m")][..],
                "start",
            ),
            (&[("every", "1m"), ("start", "-5000d")][..], "every"),
        ] {
            let features = read(&[&[("symbols", "BTC")], more].concat()).unwrap();
            assert_eq!(features.instants(now).unwrap_err().parameter, parameter);
        }
        for (name, text) in [
            ("every", "90s"),
            ("windows", "1h,1h"),
            ("within", "100"),
            ("latency", "5"),
            ("at", ""),
        ] {
            assert_eq!(
                read(&[("symbols", "BTC"), (name, text)])
                    .unwrap_err()
                    .parameter,
                name
            );
        }
    }
}
