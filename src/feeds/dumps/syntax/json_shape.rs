//! Detection of where the rows are in a JSON text.
//!
//! Rows are dicts or lists. They may be in an array, on separate lines, or in an array inside an object.

use serde_json::Value;

use crate::feeds::dumps::syntax::json_elements::JsonLayout;

/// Columns of a list with six values, as returned by ccxt's `fetch_ohlcv`.
///
/// Files of freqtrade have the same columns.
pub(crate) const OHLCV: [&str; 6] = ["timestamp", "open", "high", "low", "close", "volume"];

/// Names of object members that contain the rows of a reply or an export.
const WRAPPERS: [&str; 14] = [
    "data",
    "result",
    "results",
    "rows",
    "list",
    "items",
    "records",
    "orders",
    "liquidations",
    "candles",
    "klines",
    "ohlcv",
    "history",
    "bars",
];

/// Whether the rows are dicts or lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Dicts,
    Lists,
}

/// Where the rows of a JSON text are, and whether they are dicts or lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonTableShape {
    pub(crate) kind: JsonKind,
    pub(crate) layout: JsonLayout,
}

/// Members that tell a message of a socket, which has nested members as well.
const OF_MESSAGES: [&str; 9] = [
    "e", "topic", "channel", "stream", "arg", "params", "method", "ch", "table",
];
/// Members that tell a row of `CoinGlass`.
const OF_COINGLASS: [&str; 2] = ["\"time\"", "\"exchange_name\""];

/// Errors for an object that contains no supported rows.
const COLUMNS: &str = "it is a JSON object of columns, the default of pandas.to_json; write rows, with to_json(orient=\"records\")";
const SPLIT: &str = "it is a JSON object with separate names and data (orient=\"split\" of pandas); write rows, with \
                     to_json(orient=\"records\")";
const COINGLASS_ANSWER: &str = "it is a reply of CoinGlass: write the rows of a history of prices or open interest to \
                                a CSV file; the documentation gives two meanings for the side of its orders, so use \
                                the exchange's own files for orders";
const REPLY: &str = "it is a reply of a service: decode the reply of an exchange with liqdata.feeds.decode(exchange, text), and \
                     give the rows as orders=; give other rows as tables";
const FRAMES: &str = "it has recorded messages of an exchange: decode them with liqdata.feeds.decode(exchange, messages), and \
                      give the rows as orders=";
const NO_ROWS: &str = "it is a JSON object without rows; allowed: a list of dicts or of lists, or one of them on each line";

impl JsonTableShape {
    /// Detects the shape of a text; `None` if it is not JSON.
    ///
    /// For unsupported JSON, the error says what it contains.
    pub(crate) fn of(text: &str) -> Result<Option<Self>, String> {
        let begin = text.trim_start();
        let offset = text.len() - begin.len();
        let behind = |at: usize| JsonLayout::Array(u64::try_from(at).unwrap_or(u64::MAX));
        if let Some(rest) = begin.strip_prefix('[') {
            let kind = match rest.trim_start().chars().next() {
                Some('{') => JsonKind::Dicts,
                Some('[') => JsonKind::Lists,
                Some(']') => return Err("it is an empty JSON list".to_owned()),
                // A complete list of scalars is a row. Other text may begin like a list, such as "[2024-01-02] …".
                _ if let Some(value) = first_value(begin) => {
                    let cells = value.as_array().into_iter().flatten();
                    if cells
                        .into_iter()
                        .any(|cell| cell.is_array() || cell.is_object())
                    {
                        return Err(FRAMES.to_owned());
                    }
                    return Ok(Some(Self {
                        kind: JsonKind::Lists,
                        layout: by_line(begin),
                    }));
                }
                _ => return Ok(None),
            };
            let layout = behind(offset + 1);
            return Ok(Some(Self { kind, layout }));
        }
        if !begin.starts_with('{') {
            return Ok(None);
        }
        let first = first_value(begin);
        if let Some(Value::Object(members)) = &first {
            let is_plain = |value: &Value| !value.is_object() && !value.is_array();
            let is_nested = !members.values().all(is_plain);
            if is_nested && OF_MESSAGES.iter().any(|name| members.contains_key(*name)) {
                return Err(FRAMES.to_owned());
            }
            if !is_nested && !members.is_empty() {
                let kind = JsonKind::Dicts;
                let layout = by_line(begin);
                return Ok(Some(Self { kind, layout }));
            }
        }
        // The object has nested members or is incomplete, so its members are searched for the rows.
        match rows_within(begin) {
            Within::Rows(kind, at) => {
                let layout = behind(offset + at);
                Ok(Some(Self { kind, layout }))
            }
            Within::Other(what) => Err(what.to_owned()),
            Within::Nothing if first.is_some_and(|value| is_row(&value)) => Ok(Some(Self {
                kind: JsonKind::Dicts,
                layout: by_line(begin),
            })),
            Within::Nothing => Err(NO_ROWS.to_owned()),
        }
    }
}

/// Whether more than half of an object's members are scalars.
fn is_row(value: &Value) -> bool {
    let Value::Object(members) = value else {
        return false;
    };
    let cells = members
        .values()
        .filter(|value| !value.is_object() && !value.is_array());
    cells.count() * 2 > members.len()
}

/// Returns the first JSON value of a text if the text contains all of it.
fn first_value(text: &str) -> Option<Value> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.next()?.ok()
}

/// Returns [`JsonLayout::Lines`] if the first line is a complete JSON value.
fn by_line(text: &str) -> JsonLayout {
    let line = text.lines().next().unwrap_or_default();
    if serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok() {
        JsonLayout::Lines
    } else {
        JsonLayout::Values
    }
}

/// Result of the search for rows in an object.
enum Within {
    /// Rows in an array that begins after this number of bytes.
    Rows(JsonKind, usize),
    /// Content that is not supported; the text describes it.
    Other(&'static str),
    Nothing,
}

/// Searches an object and its nested objects for the array of rows.
fn rows_within(text: &str) -> Within {
    let (mut depth, mut key) = (0_usize, "");
    let (mut has_code, mut has_columns) = (false, false);
    let mut rest = text.bytes().enumerate();
    while let Some((at, byte)) = rest.next() {
        match byte {
            b'"' => {
                let mut is_escaped = false;
                let end = rest.by_ref().find(|(_, byte)| {
                    let is_end = *byte == b'"' && !is_escaped;
                    is_escaped = *byte == b'\\' && !is_escaped;
                    is_end
                });
                let Some((end, _)) = end else {
                    return Within::Nothing;
                };
                let word = text.get(at + 1..end).unwrap_or_default();
                let behind = text.get(end + 1..).unwrap_or_default();
                if behind.trim_start().starts_with(':') {
                    key = word;
                    has_code |= depth == 1 && key == "code";
                    has_columns |= depth == 1 && (key == "columns" || key == "index");
                }
            }
            b'{' => {
                depth += 1;
                if depth == 2 {
                    let numbered = text.get(at + 1..).unwrap_or_default().trim_start();
                    let is_numbered = numbered
                        .strip_prefix('"')
                        .is_some_and(|key| key.starts_with(|first: char| first.is_ascii_digit()));
                    if is_numbered && !WRAPPERS.contains(&key) {
                        return Within::Other(COLUMNS);
                    }
                }
            }
            b'}' => depth = depth.saturating_sub(1),
            b'[' => {
                let inside = text.get(at + 1..).unwrap_or_default().trim_start();
                let kind = match inside.chars().next() {
                    Some('{') => Some(JsonKind::Dicts),
                    Some('[') => Some(JsonKind::Lists),
                    _ => None,
                };
                let is_wrapper = WRAPPERS.contains(&key.to_ascii_lowercase().as_str());
                if has_columns && key == "data" {
                    return Within::Other(SPLIT);
                }
                // A CoinGlass reply has a `code` and dicts. Lists of other services are recognized by the number of
                // their values.
                if has_code && is_wrapper && kind != Some(JsonKind::Lists) {
                    let first = inside.split('}').next().unwrap_or_default();
                    let is_coinglass =
                        kind.is_none() || OF_COINGLASS.iter().any(|name| first.contains(name));
                    return Within::Other(if is_coinglass {
                        COINGLASS_ANSWER
                    } else {
                        REPLY
                    });
                }
                if let Some(kind) = kind.filter(|_| is_wrapper) {
                    return Within::Rows(kind, at + 1);
                }
                // Skips an array that contains no rows.
                let mut open = 1_usize;
                let mut is_quoted = false;
                let mut is_escaped = false;
                for (_, byte) in rest.by_ref() {
                    match byte {
                        _ if is_escaped => is_escaped = false,
                        b'\\' if is_quoted => is_escaped = true,
                        b'"' => is_quoted = !is_quoted,
                        b'[' if !is_quoted => open += 1,
                        b']' if !is_quoted => open -= 1,
                        _ => {}
                    }
                    if open == 0 {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    Within::Nothing
}

#[cfg(test)]
mod tests {
    use crate::feeds::dumps::syntax::json_shape::*;

    #[test]
    fn rows_are_found_in_lists_lines_and_objects() {
        use JsonKind::{Dicts, Lists};
        use JsonLayout::{Array, Lines, Values};
        for (text, kind, layout) in [
            ("[{\"a\": 1}]", Dicts, Array(1)),
            ("\n [\n  {\"a\"", Dicts, Array(3)),
            ("[[170415,1", Lists, Array(1)),
            ("{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2}\n", Dicts, Lines),
            ("{\n\"a\": 1\n}\n{\n", Dicts, Values),
            ("[1,2]\n[3,4]\n", Lists, Lines),
            ("{\"data\": [{\"a\": 1}]}", Dicts, Array(10)),
            (
                "{\"retCode\":0,\"result\":{\"category\":\"linear\",\"list\":[[\"1\"",
                Lists,
                Array(51),
            ),
            (
                "{\"code\":\"0\",\"data\":[[\"1\",\"2\"]]}",
                Lists,
                Array(20),
            ),
            (
                "{\"schema\":{\"fields\":[{\"name\":\"a\"}]},\"data\":[{\"a\":1}]}",
                Dicts,
                Array(44),
            ),
            ("{\"a\": 1, \"b\": 2, \"info\": {\"c\": 1}}\n", Dicts, Lines),
        ] {
            assert_eq!(
                JsonTableShape::of(text),
                Ok(Some(JsonTableShape { kind, layout })),
                "{text}"
            );
        }
        for text in [
            "timestamp,price",
            "[2024-01-02] started",
            "",
            "\"a\",\"b\"\n",
        ] {
            assert_eq!(JsonTableShape::of(text), Ok(None), "{text}");
        }
        for (text, said) in [
            ("[]", "empty"),
            ("{\"price\":{\"0\":1.5,\"1\":2}}", "orient=\"records\""),
            (
                "{\"columns\":[\"a\"],\"index\":[0],\"data\":[[1]]}",
                "split",
            ),
            ("{\"code\":\"0\",\"data\":[{\"time\":1}]}", "CoinGlass"),
            ("{\"code\": \"0\", \"data\": []}", "CoinGlass"),
            (
                "{\"code\":\"0\",\"data\":[{\"instId\":\"BTC-USDT-SWAP\"}],\"msg\":\"\"}",
                "reply of a service",
            ),
            (
                "{\"e\":\"forceOrder\",\"o\":{\"s\":\"BTCUSDT\"}}\n",
                "feeds.decode",
            ),
            ("[9,[[\"pos\",1]],7]\n", "feeds.decode"),
            (
                "{\"status\":\"ok\",\"user\":{\"name\":\"x\"}}",
                "without rows",
            ),
        ] {
            assert!(
                JsonTableShape::of(text).is_err_and(|why| why.contains(said)),
                "{text}"
            );
        }
    }
}
