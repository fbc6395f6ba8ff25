//! The contract, endpoint by endpoint: what is read, what is written, what is refused and where.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

use liqdata::api::{
    BadQuery, Chart, Coins, Endpoint, Envelope, Exchanges, HeatmapQuery, Largest, LevelsQuery,
    Liqmap, Maxpain, Orders, OverviewQuery, Query, RefusedBody,
};
use liqdata::model::{Heatmap, LiquidationMap, MapBin, Millis, Order, Side};
use liqdata::wire::{Damage, Decode, Reading, exact_decimal, read};
use proptest::prelude::*;
use serde_json::{Value, json};

const ENDPOINTS: [&str; 10] = [
    "overview",
    "coins",
    "exchanges",
    "largest",
    "orders",
    "chart",
    "heatmap",
    "liqmap",
    "levels",
    "maxpain",
];

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A body read as the endpoint's reply and written again, in its envelope where it has one.
fn reread<E: Endpoint<Reply: Decode>>(body: &[u8]) -> Result<Reading<String>, Damage> {
    Ok(match read::<E::Reply>(body, E::ENVELOPED)? {
        Reading::Reply(reply) if E::ENVELOPED => {
            Reading::Reply(serde_json::to_string(&Envelope::around(reply)).unwrap())
        }
        Reading::Reply(reply) => Reading::Reply(serde_json::to_string(&reply).unwrap()),
        Reading::Refused { message } => Reading::Refused { message },
    })
}

fn ask(name: &str, body: &[u8]) -> Result<Reading<String>, Damage> {
    macro_rules! by_name {
        ($($endpoint:ty),+) => {$(
            if name == <$endpoint>::NAME {
                return reread::<$endpoint>(body);
            }
        )+};
    }
    by_name!(
        OverviewQuery,
        Coins,
        Exchanges,
        Largest,
        Orders,
        Chart,
        HeatmapQuery,
        Liqmap,
        LevelsQuery,
        Maxpain
    );
    panic!("no endpoint is called {name}")
}

#[track_caller]
fn answer(name: &str, body: &str) -> String {
    match ask(name, body.as_bytes()) {
        Ok(Reading::Reply(text)) => text,
        other => panic!("{name}: {other:?} for {body}"),
    }
}

#[track_caller]
fn damage(name: &str, body: &str) -> Damage {
    match ask(name, body.as_bytes()) {
        Err(damage) => damage,
        other => panic!("{name}: {other:?} for {body}"),
    }
}

fn is_enveloped(name: &str) -> bool {
    !matches!(name, "heatmap" | "liqmap")
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The fixture with `from` (which must be there) replaced by `to` once.
#[track_caller]
fn with(name: &str, from: &str, to: &str) -> String {
    let text = fixture(name);
    assert!(text.contains(from), "{name} holds no {from}");
    text.replacen(from, to, 1)
}

/// Where a value stands, in the spelling of [`Damage::path`] and as a JSON pointer.
#[derive(Clone, Debug)]
struct Place {
    path: String,
    pointer: String,
}

/// Every value below `value`, itself not included.
fn places(value: &Value) -> Vec<Place> {
    fn walk(value: &Value, here: &Place, found: &mut Vec<Place>) {
        let below: Vec<(String, String)> = match value {
            Value::Object(members) => members
                .keys()
                .map(|key| {
                    let dot = if here.path.is_empty() { "" } else { "." };
                    (format!("{dot}{key}"), key.clone())
                })
                .collect(),
            Value::Array(items) => (0..items.len())
                .map(|i| (format!("[{i}]"), i.to_string()))
                .collect(),
            _ => Vec::new(),
        };
        for (step, key) in below {
            let place = Place {
                path: format!("{}{step}", here.path),
                pointer: format!("{}/{key}", here.pointer),
            };
            walk(value.pointer(&format!("/{key}")).unwrap(), &place, found);
            found.push(place);
        }
    }
    let mut found = Vec::new();
    let top = Place {
        path: String::new(),
        pointer: String::new(),
    };
    walk(value, &top, &mut found);
    found
}

/// The row of a cell of a matrix, any other path as it is.
fn row_of(path: &str) -> &str {
    path.find("][").map_or(path, |end| &path[..=end])
}

// Reading and writing.

#[test]
fn every_fixture_reads_and_writes_back_the_same() {
    for name in ENDPOINTS {
        let text = fixture(name);
        let written = answer(name, &text);
        let (was, is): (Value, Value) = (
            serde_json::from_str(&text).unwrap(),
            serde_json::from_str(&written).unwrap(),
        );
        assert_eq!(was, is, "{name}");
        assert_eq!(without_blanks(&text), written, "{name}");
    }
}

#[test]
fn members_come_in_any_order() {
    for name in ENDPOINTS {
        let text = fixture(name);
        // A `Value` keeps its members sorted: bins before leverages, matrix before prices, data before success.
        let sorted: Value = serde_json::from_str(&text).unwrap();
        assert_ne!(without_blanks(&text), sorted.to_string(), "{name}");
        assert_eq!(answer(name, &sorted.to_string()), answer(name, &text));
    }
}

#[test]
fn unknown_members_are_ignored_at_every_level() {
    for name in ENDPOINTS {
        let text = fixture(name);
        let extra = r#"{"x_extra": {"a": [1e999, "\ud800", null, {"b": "]}"}]},"#;
        // Tiers are keyed by leverage, so a foreign key is no extra member there.
        let tiers = [r#""tiers": {"#, r#""tiers":{"#];
        let kept = text.replace(tiers[0], "\u{1}");
        let body = kept.replace('{', extra).replace('\u{1}', tiers[0]);
        assert!(body.matches("x_extra").count() >= 1);
        assert_eq!(answer(name, &body), answer(name, &text), "{name}");
    }
}

/// The text with every value (no key) that is a number in quotes unquoted, and every bare number quoted.
fn quotes_swapped(text: &str) -> String {
    let mut swapped = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, after) = if first == '"' {
            let end = rest[1..].find('"').unwrap() + 2;
            let (token, after) = rest.split_at(end);
            let is_key = after.trim_start().starts_with(':');
            let inner = &token[1..token.len() - 1];
            if !is_key && inner.parse::<f64>().is_ok() {
                swapped.push_str(inner);
            } else {
                swapped.push_str(token);
            }
            (token, after)
        } else if first == '-' || first.is_ascii_digit() {
            let end = rest.find([',', ']', '}', '\n']).unwrap();
            let (token, after) = rest.split_at(end);
            swapped.extend(["\"", token, "\""]);
            (token, after)
        } else {
            swapped.push(first);
            rest.split_at(first.len_utf8())
        };
        assert!(!token.is_empty());
        rest = after;
    }
    swapped
}

#[test]
fn numbers_as_strings_and_strings_as_numbers_read_the_same() {
    for name in ENDPOINTS {
        let text = fixture(name);
        let swapped = quotes_swapped(&text);
        assert_ne!(swapped, text);
        assert_eq!(quotes_swapped(&swapped), text);
        assert_eq!(answer(name, &swapped), answer(name, &text), "{name}");
    }
}

#[test]
fn a_decimal_field_keeps_every_digit_of_a_number_token() {
    let body = with(
        "orders",
        r#""price": "1.2003""#,
        r#""price": 1.200300000000000000000000001"#,
    );
    assert!(answer("orders", &body).contains(r#""price":"1.200300000000000000000000001""#));
    let body = with("exchanges", r#""41200931.4412""#, "4.12009314412e7");
    assert_eq!(
        answer("exchanges", &body),
        answer("exchanges", &fixture("exchanges"))
    );
}

#[test]
fn escapes_in_text_are_text() {
    let body = with("orders", r#""bybit""#, r#""\u0062ybit""#);
    assert_eq!(
        answer("orders", &body),
        answer("orders", &fixture("orders"))
    );
    let body = with("orders", r#""1.2003""#, r#""1\u002e2003""#);
    assert_eq!(
        answer("orders", &body),
        answer("orders", &fixture("orders"))
    );
}

#[test]
fn a_name_given_as_a_number_is_its_text() {
    let body = with("coins", r#""1INCH""#, "4");
    assert!(answer("coins", &body).contains(r#""coin":"4""#));
}

#[test]
fn a_side_is_read_in_any_case_and_written_in_the_contracts() {
    let body = with("orders", r#""LONG""#, r#""lOnG""#);
    assert_eq!(
        answer("orders", &body),
        answer("orders", &fixture("orders"))
    );
    let body = with("liqmap", r#""long""#, r#""LONG""#);
    assert_eq!(
        answer("liqmap", &body),
        answer("liqmap", &fixture("liqmap"))
    );
}

#[test]
fn an_unknown_exchange_is_passed_through() {
    let body = with("orders", r#""bybit""#, r#""new dex ✓""#);
    assert!(answer("orders", &body).contains(r#""exchange":"new dex ✓""#));
}

#[test]
fn an_empty_list_and_a_null_list_are_no_rows() {
    for name in ["coins", "exchanges", "largest", "orders", "chart"] {
        for data in ["[]", "null"] {
            let body = format!(r#"{{"success": true, "data": {data}}}"#);
            assert_eq!(answer(name, &body), r#"{"success":true,"data":[]}"#);
        }
    }
}

#[test]
fn whole_numbers_may_be_spelled_with_a_point_or_an_exponent() {
    let body = with("coins", "5121", "5.121e3");
    assert_eq!(answer("coins", &body), answer("coins", &fixture("coins")));
    let body = with("orders", "1781135954140", "1781135954140.0");
    assert_eq!(
        answer("orders", &body),
        answer("orders", &fixture("orders"))
    );
    let body = with("heatmap", r#""model": 2"#, r#""model": "2""#);
    assert_eq!(
        answer("heatmap", &body),
        answer("heatmap", &fixture("heatmap"))
    );
}

/// Members that a service may leave out.
fn is_optional(name: &str, path: &str) -> bool {
    match name {
        "overview" => path.starts_with("data.") && path.matches('.').count() == 1,
        "liqmap" => path.contains(".tiers."),
        "levels" => path.starts_with("data.tiers.") && path.matches('.').count() == 2,
        "maxpain" => matches!(path, "data.d1" | "data.d7"),
        _ => false,
    }
}

#[test]
fn a_missing_member_is_named_unless_it_may_be_absent() {
    for name in ENDPOINTS {
        let whole: Value = serde_json::from_str(&fixture(name)).unwrap();
        let mut optional = 0;
        for place in places(&whole) {
            let (parent, key) = place.pointer.rsplit_once('/').unwrap();
            let mut body = whole.clone();
            let Value::Object(members) = body.pointer_mut(parent).unwrap() else {
                continue;
            };
            members.remove(key).unwrap();
            if is_optional(name, &place.path) {
                optional += 1;
                let is: Value = serde_json::from_str(&answer(name, &body.to_string())).unwrap();
                assert_eq!(is, body, "{name} without {}", place.path);
                // `null` says the same.
                let mut null = whole.clone();
                *null.pointer_mut(&place.pointer).unwrap() = Value::Null;
                let is: Value = serde_json::from_str(&answer(name, &null.to_string())).unwrap();
                assert_eq!(is, body, "{name} with null at {}", place.path);
            } else {
                let damage = damage(name, &body.to_string());
                assert_eq!(damage.path, place.path, "{name}: {damage}");
                assert!(damage.message.starts_with("is missing"), "{damage}");
            }
        }
        let may = matches!(name, "overview" | "liqmap" | "levels" | "maxpain");
        assert_eq!(optional > 0, may, "{name}");
    }
}

#[test]
fn a_value_of_the_wrong_type_is_named_wherever_it_stands() {
    for name in ENDPOINTS {
        let whole: Value = serde_json::from_str(&fixture(name)).unwrap();
        for place in places(&whole) {
            let was = whole.pointer(&place.pointer).unwrap();
            for wrong in [json!({}), json!([]), json!(true), json!("x")] {
                let same_kind = std::mem::discriminant(&wrong) == std::mem::discriminant(was);
                let is_name = was
                    .as_str()
                    .is_some_and(|text| text.parse::<f64>().is_err());
                if same_kind && (!wrong.is_string() || is_name) {
                    continue;
                }
                let mut body = whole.clone();
                *body.pointer_mut(&place.pointer).unwrap() = wrong.clone();
                let damage = damage(name, &body.to_string());
                assert_eq!(
                    damage.path,
                    row_of(&place.path),
                    "{name} with {wrong}: {damage}"
                );
            }
        }
    }
}

// Refusals.

#[test]
fn success_false_is_a_refusal_with_the_best_reason() {
    for (rest, reason) in [
        (r#""error": "slow down""#, "slow down"),
        (
            r#""error": {"code": 7, "message": "slow down"}"#,
            "slow down",
        ),
        (
            r#""error": {"code": 7}, "message": "slow down""#,
            "slow down",
        ),
        (r#""message": "slow down""#, "slow down"),
        (r#""msg": "slow down""#, "slow down"),
        (r#""data": null"#, "the service gives no reason"),
        (
            r#""data": {"odd": [1]}, "error": " ", "msg": "slow down""#,
            "slow down",
        ),
        (
            r#""error": null, "message": 5"#,
            "the service gives no reason",
        ),
    ] {
        for name in ENDPOINTS {
            for body in [
                format!(r#"{{"success": false, {rest}}}"#),
                format!(r#"{{{rest}, "success": false}}"#),
            ] {
                let message = reason.to_owned();
                assert_eq!(
                    ask(name, body.as_bytes()),
                    Ok(Reading::Refused { message }),
                    "{body}"
                );
            }
        }
    }
}

#[test]
fn a_whole_answer_that_says_success_false_is_a_refusal() {
    for name in ENDPOINTS {
        let body = if is_enveloped(name) {
            with(name, "true", "false")
        } else {
            with(name, "{", r#"{"success": false,"#)
        };
        let reading = ask(name, body.as_bytes());
        assert!(
            matches!(reading, Ok(Reading::Refused { .. })),
            "{name}: {reading:?}"
        );
    }
}

#[test]
fn our_own_refusals_are_read_as_refusals() {
    let refusal = Coins::new("24h", 0).unwrap_err();
    let body = serde_json::to_vec(&RefusedBody::from(&refusal)).unwrap();
    let message = "0 is out of bounds".to_owned();
    assert_eq!(ask("coins", &body), Ok(Reading::Refused { message }));
}

#[test]
fn success_must_be_there_and_a_boolean() {
    for name in ENDPOINTS {
        for wrong in [r#""true""#, "1", "0", r#""false""#, "{}"] {
            let body = if is_enveloped(name) {
                with(
                    name,
                    r#""success": true"#,
                    &format!(r#""success": {wrong}"#),
                )
            } else {
                with(name, "{", &format!(r#"{{"success": {wrong},"#))
            };
            assert_eq!(damage(name, &body).path, "success", "{name} {wrong}");
        }
        if is_enveloped(name) {
            let body = with(name, r#""success": true,"#, "");
            assert_eq!(damage(name, &body).path, "success", "{name}");
            assert_eq!(damage(name, r#"{"data": 5}"#).path, "success", "{name}");
            assert_eq!(damage(name, r#"{"success": true}"#).path, "data", "{name}");
        }
    }
}

// Damage.

/// Endpoint, what its fixture holds, what stands there instead, and where the damage is.
const HOSTILE: &[(&str, &str, &str, &str)] = &[
    ("orders", r#""1.2003""#, r#""1.20O3""#, "data[0].price"),
    ("orders", r#""1.2003""#, r#""""#, "data[0].price"),
    ("orders", r#""1.2003""#, r#"" 1.2003""#, "data[0].price"),
    ("orders", r#""1.2003""#, r#""+1.2003""#, "data[0].price"),
    ("orders", r#""1.2003""#, r#""1_000""#, "data[0].price"),
    ("orders", r#""1.2003""#, r#""NaN""#, "data[0].price"),
    ("orders", r#""1.2003""#, "NaN", "data[0].price"),
    ("orders", r#""1.2003""#, "null", "data[0].price"),
    ("orders", r#""1.2003""#, r#""1E+30""#, "data[0].price"),
    ("orders", r#""1.2003""#, "1e400", "data[0].price"),
    ("orders", r#""1.2003""#, r#""\ud800""#, "data[0].price"),
    (
        "orders",
        r#""635.6843826""#,
        r#""0.123456789012345678901234567890123456789012345678901234567890""#,
        "data[2].value_usd",
    ),
    (
        "orders",
        r#""side": "LONG""#,
        r#""side": "BUY""#,
        "data[0].side",
    ),
    (
        "orders",
        r#""side": "LONG""#,
        r#""side": 1"#,
        "data[0].side",
    ),
    (
        "orders",
        "1781135954140",
        "1781135954140.5",
        "data[0].timestamp",
    ),
    (
        "orders",
        "1781135954140",
        "9223372036854775808",
        "data[0].timestamp",
    ),
    (
        "orders",
        "1781135954140",
        r#""2026-06-11""#,
        "data[0].timestamp",
    ),
    (
        "orders",
        r#""qty": "9231.1","#,
        r#""qty": "1", "qty": "2","#,
        "data[0].qty",
    ),
    ("coins", "5121", "-1", "data[0].cnt"),
    ("coins", "5121", "5121.5", "data[0].cnt"),
    ("coins", "5121", "18446744073709551616", "data[0].cnt"),
    ("coins", "38120344.18", "1e400", "data[0].long_usd"),
    ("coins", "38120344.18", r#""1e400""#, "data[0].long_usd"),
    ("coins", "38120344.18", "Infinity", "data[0].long_usd"),
    (
        "chart",
        r#""hour": "1781053200000""#,
        r#""hour": "01:00""#,
        "data[0].hour",
    ),
    ("overview", "412", r#""many""#, "data.1h.cnt"),
    (
        "liqmap",
        r#""10": 473785.47"#,
        r#""11": 473785.47"#,
        "bins[0].tiers.11",
    ),
    (
        "liqmap",
        r#""25": 764365.94"#,
        r#""10": 764365.94"#,
        "bins[0].tiers.10",
    ),
    (
        "liqmap",
        r#""25": 764365.94"#,
        r#""25": "high""#,
        "bins[0].tiers.25",
    ),
    (
        "liqmap",
        r#""25": 764365.94"#,
        r#""25x": 1"#,
        "bins[0].tiers.25x",
    ),
    (
        "liqmap",
        "[10, 25, 50, 100]",
        "[10, 25, 25, 100]",
        "leverages[2]",
    ),
    (
        "liqmap",
        "[10, 25, 50, 100]",
        "[10, 25, 50.5, 100]",
        "leverages[2]",
    ),
    (
        "liqmap",
        r#""side": "long""#,
        r#""side": "both""#,
        "bins[0].side",
    ),
    ("levels", r#""25": {"#, r#""10": {"#, "data.tiers.10"),
    ("levels", r#""25": {"#, r#""x": {"#, "data.tiers.x"),
    ("maxpain", "62350.0", "null", "data.d1.long.price"),
    ("heatmap", r#""model": 2"#, r#""model": "two""#, "model"),
    ("heatmap", "62400.0", "null", "prices[1]"),
    ("heatmap", "1781132400000", r#""noon""#, "times[1]"),
    ("heatmap", "121572.07652792387", "NaN", "matrix[1]"),
    ("heatmap", "121572.07652792387", "-Infinity", "matrix[1]"),
    ("heatmap", "121572.07652792387", "1e400", "matrix[1]"),
    ("heatmap", "121572.07652792387", r#""NaN""#, "matrix[1]"),
    ("heatmap", "121572.07652792387", "[1]", "matrix[1]"),
    ("heatmap", "121572.07652792387, ", "", "matrix[1]"),
    ("heatmap", "[125645.25318441825, ", "[", "matrix[0]"),
    (
        "heatmap",
        r#""matrix": ["#,
        r#""matrix": 5, "m": ["#,
        "matrix",
    ),
    ("heatmap", r#""matrix": ["#, r#""matrix": [5,"#, "matrix[0]"),
    (
        "heatmap",
        r#""matrix": ["#,
        r#""matrix": [[0, 0, 0, 0, 0, 0],"#,
        "matrix[8]",
    ),
    ("heatmap", "62000.0, ", "", "matrix[7]"),
    ("heatmap", "62000.0, ", "61000, 62000, ", "matrix[8]"),
];

#[test]
fn hostile_values_are_damage_at_their_place() {
    for &(name, from, to, path) in HOSTILE {
        let damage = damage(name, &with(name, from, to));
        assert_eq!(damage.path, path, "{name} with {to} for {from}: {damage}");
        assert!(!damage.message.contains('\u{1}'), "{damage:?}");
    }
}

#[test]
fn a_damaged_cell_is_named_in_the_message() {
    let damage = damage("heatmap", &with("heatmap", "524686.9916332429", "true"));
    assert_eq!(damage.path, "matrix[1]");
    assert!(damage.message.starts_with("cell 1: "), "{damage}");
}

#[test]
fn an_unknown_side_names_what_is_allowed() {
    let damage = damage("orders", &with("orders", r#""LONG""#, r#""BUY""#));
    assert!(
        damage.message.contains(r#""BUY" is not "LONG" or "SHORT""#),
        "{damage}"
    );
}

#[test]
fn what_is_no_json_at_all_is_damage_to_the_body() {
    for name in ENDPOINTS {
        let text = fixture(name);
        for (body, says) in [
            (String::new(), "is empty"),
            (" \n".to_owned(), "is empty"),
            (format!("\u{feff}{text}"), "byte order mark"),
            ("<!doctype html><p>Log in</p>".to_owned(), "HTML"),
            (format!("{text}}}"), "trailing characters"),
            (format!("{text}{text}"), "trailing characters"),
            ("null".to_owned(), "expected"),
            ("true".to_owned(), "expected"),
            ("\"text\"".to_owned(), "expected"),
            ("[]".to_owned(), "expected"),
            ("upstream timed out".to_owned(), "expected"),
        ] {
            let damage = damage(name, &body);
            assert_eq!(damage.path, "", "{name}: {damage}");
            assert!(damage.message.contains(says), "{name}: {damage}");
        }
    }
}

#[test]
fn a_body_that_ends_anywhere_is_damage() {
    for name in ENDPOINTS {
        let text = fixture(name);
        let text = text.trim_end();
        for end in 0..text.len() {
            assert!(
                ask(name, &text.as_bytes()[..end]).is_err(),
                "{name} at {end}"
            );
        }
        assert!(ask(name, text.as_bytes()).is_ok());
    }
}

#[test]
fn invalid_utf_8_is_damage_in_ignored_members_too() {
    for name in ENDPOINTS {
        let body = with(name, "{", "{\"extra\": \"\u{1}\",");
        let body: Vec<u8> = body
            .bytes()
            .map(|byte| if byte == 1 { 0xff } else { byte })
            .collect();
        let damage = ask(name, &body).unwrap_err();
        assert!(
            damage.message.contains("not UTF-8 from byte 11"),
            "{damage}"
        );
    }
}

#[test]
fn nesting_without_end_is_damage_wherever_it_stands() {
    for name in ENDPOINTS {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            for depth in [130, 10_000] {
                let nest = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                assert!(ask(name, nest.as_bytes()).is_err(), "{name}");
                assert!(ask(name, open.repeat(depth).as_bytes()).is_err(), "{name}");
                let extra = with(name, "{", &format!(r#"{{"extra": {nest},"#));
                assert_eq!(damage(name, &extra).path, "extra", "{name}");
                if is_enveloped(name) {
                    let body = format!(r#"{{"success": true, "data": {nest}}}"#);
                    assert!(damage(name, &body).path.starts_with("data"), "{name}");
                }
            }
        }
    }
    let deep = format!(r#"{{"success": false, "error": {}}}"#, "[".repeat(10_000));
    assert!(ask("coins", deep.as_bytes()).is_err());
}

#[test]
fn a_long_value_is_shown_short() {
    let long = format!("\"{}\"", "9".repeat(1_000_000));
    for body in [
        with("orders", r#""1.2003""#, &long),
        with("orders", r#""price""#, &long),
        with("orders", "[", &format!("[{long},")),
        with("orders", "true", &long),
        long.clone(),
    ] {
        let damage = damage("orders", &body);
        assert!(damage.to_string().len() < 600, "{damage}");
    }
    let body = format!(r#"{{"success": false, "error": {long}}}"#);
    let Ok(Reading::Refused { message }) = ask("orders", body.as_bytes()) else {
        panic!("no refusal");
    };
    assert!(message.len() < 1100 && message.starts_with("999"));
}

// The heatmap's shapes.

fn heatmap(prices: usize, times: usize, matrix: &str) -> Result<Heatmap, Damage> {
    let prices: Vec<usize> = (1..=prices).collect();
    let times: Vec<usize> = (0..times).map(|i| 1_781_136_000_000 + i).collect();
    let body = format!(
        r#"{{"symbol": "BTC", "range": "24h", "model": 2, "updatedAt": 0, "currentPrice": 1,
            "matrix": {matrix}, "prices": {prices:?}, "times": {times:?}}}"#
    );
    Heatmap::decode(body.as_bytes())
}

#[test]
fn the_matrix_is_read_in_every_shape_the_lengths_allow() {
    for (prices, times, matrix, cells) in [
        (2, 3, "[[1, 2, 3], [4, 5, 6]]", vec![1, 2, 3, 4, 5, 6]),
        (3, 2, "[[1, 2, 3], [4, 5, 6]]", vec![1, 4, 2, 5, 3, 6]),
        (2, 2, "[[1, 2], [3, 4]]", vec![1, 2, 3, 4]),
        (2, 4, "[[0, 1, 7], [3, 0, 9]]", vec![0, 0, 0, 9, 7, 0, 0, 0]),
        // Three wide and as many rows as price levels or times: dense comes before triples.
        (2, 3, "[[0, 1, 7], [1, 0, 9]]", vec![0, 1, 7, 1, 0, 9]),
        (3, 2, "[[0, 1, 7], [1, 0, 9]]", vec![0, 1, 1, 0, 7, 9]),
        (
            3,
            3,
            "[[0, 1, 7], [1, 0, 9], [2, 2, 2]]",
            vec![0, 1, 7, 1, 0, 9, 2, 2, 2],
        ),
        (3, 3, "[[0, 1, 7]]", vec![0, 0, 0, 7, 0, 0, 0, 0, 0]),
        (2, 3, "[]", vec![0; 6]),
        (0, 0, "[]", vec![]),
        (0, 3, "[]", vec![]),
        (2, 0, "[[], []]", vec![]),
        (2, 0, "[]", vec![]),
    ] {
        let read = heatmap(prices, times, matrix).unwrap();
        let cells: Vec<f64> = cells.into_iter().map(f64::from).collect();
        assert_eq!(read.matrix, cells, "{prices} × {times}: {matrix}");
    }
}

#[test]
fn a_matrix_that_fits_in_no_way_names_its_row() {
    for (prices, times, matrix, path) in [
        (2, 3, "[[1, 2, 3], [4, 5]]", "matrix[1]"),
        (2, 3, "[[1, 2], [3, 4, 5]]", "matrix[0]"),
        (
            4,
            3,
            "[[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 2]]",
            "matrix[3]",
        ),
        (2, 4, "[[1, 2, 3, 4]]", "matrix[1]"),
        (
            2,
            4,
            "[[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]",
            "matrix[2]",
        ),
        (2, 4, "[[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]", "matrix[0]"),
        (2, 4, "[[0, 0, 1], [0, 2, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [4, 0, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [0.5, 0, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [-1, 0, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [null, 0, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [1, 0, 1], [0, 0, 1]]", "matrix[2]"),
        (2, 4, "[[0, 0, null], [0, 0, 1]]", "matrix[1]"),
        (0, 0, "[[]]", "matrix[0]"),
        (2, 3, "[1, 2, 3, 4, 5, 6]", "matrix[0]"),
        (2, 3, r#"[{"0": 1}]"#, "matrix[0]"),
        (2, 3, r#"{"0": [1, 2, 3]}"#, "matrix"),
        (2, 3, "null", "matrix"),
    ] {
        let damage = heatmap(prices, times, matrix).unwrap_err();
        assert_eq!(damage.path, path, "{prices} × {times}: {matrix}: {damage}");
    }
}

#[test]
fn a_null_cell_is_not_a_number_and_is_written_as_null() {
    let read = heatmap(1, 4, r#"[[null, -0, "-0.0", "2.5e-3"]]"#).unwrap();
    assert!(read.matrix[0].is_nan());
    assert_eq!(read.matrix[1].to_bits(), (-0.0_f64).to_bits());
    assert_eq!(read.matrix[2].to_bits(), (-0.0_f64).to_bits());
    assert_eq!(read.matrix[3].to_bits(), 0.0025_f64.to_bits());
    let written = serde_json::to_string(&read).unwrap();
    assert!(
        written.contains(r#""matrix":[[null,-0.0,-0.0,0.0025]]"#),
        "{written}"
    );
}

#[test]
fn long_axes_without_cells_do_not_take_memory() {
    let damage = heatmap(100_000, 100_000, "[]").unwrap_err();
    assert_eq!(damage.path, "matrix");
    let damage = heatmap(100_000, 100_000, "[[0, 0, 1]]").unwrap_err();
    assert_eq!(damage.path, "matrix");
    let bins = vec![r#"{"price": 1, "side": "long", "tiers": {}, "total": 0}"#; 20_000].join(",");
    let leverages: Vec<usize> = (0..20_000).collect();
    let body = format!(
        r#"{{"symbol": "BTC", "range": "1d", "updatedAt": 0, "currentPrice": 1, "binWidth": 1,
            "leverages": {leverages:?}, "bins": [{bins}]}}"#
    );
    assert_eq!(
        LiquidationMap::decode(body.as_bytes()).unwrap_err().path,
        "bins"
    );
}

#[test]
fn times_are_read_in_every_spelling() {
    let spelled = r#""times": ["1781131500000", 1781132400, "1781133300", "2026-06-10T23:30:00Z",
                     "2026-06-11T01:45:00+02:00", "2026-06-11 00:00:00"], "t":"#;
    // 23:45 in UTC, 1781135100000, is the fifth column.
    let body = with("heatmap", r#""times":"#, spelled);
    assert_eq!(
        answer("heatmap", &body),
        answer("heatmap", &fixture("heatmap"))
    );
}

// Properties.

/// Digits and the power of ten of the last one, without zeros at either end, by string work alone.
fn stripped(integer: &str, fraction: &str, exponent: i64) -> (String, i64) {
    let all = format!("{integer}{fraction}");
    let short = all.trim_end_matches('0');
    let dropped = i64::try_from(all.len() - short.len()).unwrap();
    let written = i64::try_from(fraction.len()).unwrap();
    let digits = short.trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return (digits, 0);
    }
    (digits, exponent - written + dropped)
}

/// Whether 96 bits of mantissa, 28 digits and a scale of 28 hold the number exactly.
fn fits(digits: &str, power: i64) -> bool {
    const LARGEST: &str = "79228162514264337593543950335";
    if digits.len() > 28 || !(-28..=28).contains(&power) {
        return false;
    }
    let zeros = usize::try_from(power.max(0)).unwrap();
    let full = format!("{digits}{}", "0".repeat(zeros));
    full.len() < LARGEST.len() || (full.len() == LARGEST.len() && full.as_str() <= LARGEST)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_decimal_is_exact_or_refused(
        negative: bool,
        integer in "0|[1-9][0-9]{0,30}|[1-9]0{0,30}",
        fraction in "|[0-9]{1,32}|[0-9]{1,6}0{1,40}|0{20,29}[0-9]",
        exponent in prop_oneof![Just(None), (-40_i64..40).prop_map(Some)],
    ) {
        let mut text = if negative { format!("-{integer}") } else { integer.clone() };
        if !fraction.is_empty() {
            text = format!("{text}.{fraction}");
        }
        if let Some(exponent) = exponent {
            text = format!("{text}e{exponent}");
        }
        let (digits, power) = stripped(&integer, &fraction, exponent.unwrap_or(0));
        match exact_decimal(&text) {
            Ok(value) => {
                prop_assert!(digits.is_empty() || fits(&digits, power), "{text} became {value}");
                let plain = value.abs().to_string();
                let (whole, rest) = plain.split_once('.').unwrap_or((&plain, ""));
                prop_assert_eq!(stripped(whole, rest, 0), (digits.clone(), power));
                prop_assert_eq!(value.is_sign_negative(), negative && !digits.is_empty());
            }
            Err(_) => prop_assert!(!digits.is_empty() && !fits(&digits, power), "{text} was refused"),
        }
    }

    #[test]
    fn a_decimal_that_fits_keeps_its_text(integer in "0|[1-9][0-9]{0,15}", fraction in "[0-9]{1,12}") {
        let text = format!("{integer}.{fraction}");
        prop_assert_eq!(exact_decimal(&text).unwrap().to_string(), text);
    }

    #[test]
    fn only_jsons_own_numbers_are_numbers(text in "[-+0-9.eE_ N]{0,8}") {
        let is_number = serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_number())
            && text.trim() == text;
        let read = exact_decimal(&text);
        prop_assert!(is_number || read.is_err(), "{text:?}");
        if is_number && !text.contains(['e', 'E']) {
            prop_assert!(read.is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_cell_is_the_nearest_double_bit_for_bit(
        texts in prop::collection::vec(
            prop_oneof![
                "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?",
                any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(|value| format!("{value:?}")),
                any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(|value| format!("{value:.17e}")),
            ],
            1..20,
        ),
    ) {
        let row = format!("[[{}]]", texts.join(","));
        let quoted = format!("[[\"{}\"]]", texts.join("\",\""));
        let want: Vec<u64> = texts.iter().map(|text| text.parse::<f64>().unwrap().to_bits()).collect();
        for matrix in [row, quoted] {
            let read = heatmap(1, texts.len(), &matrix).unwrap();
            let bits: Vec<u64> = read.matrix.iter().map(|cell| cell.to_bits()).collect();
            prop_assert_eq!(&bits, &want);
        }
    }
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        -1e9..1e9,
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
    ]
}

fn any_heatmap() -> impl Strategy<Value = Heatmap> {
    (0_usize..7, 0_usize..7).prop_flat_map(|(prices, times)| {
        let cell = prop_oneof![4 => number(), 1 => Just(f64::NAN), 4 => Just(0.0)];
        (
            prop::collection::vec(number(), prices),
            prop::collection::vec(100_000_000_000..4_000_000_000_000_i64, times),
            prop::collection::vec(cell, prices * times),
            number(),
            any::<i64>(),
            ".{0,6}",
        )
            .prop_map(
                |(prices, times, matrix, current_price, updated_at, symbol)| Heatmap {
                    symbol,
                    range: "24h".to_owned(),
                    model: 3,
                    updated_at: Millis(updated_at),
                    current_price,
                    prices,
                    times: times.into_iter().map(Millis).collect(),
                    matrix,
                },
            )
    })
}

/// Equal, NaN to NaN and the sign of zero included.
fn same(a: &Heatmap, b: &Heatmap) -> bool {
    let bits =
        |map: &Heatmap| -> Vec<u64> { map.matrix.iter().map(|cell| cell.to_bits()).collect() };
    let frame = |map: &Heatmap| Heatmap {
        matrix: Vec::new(),
        ..map.clone()
    };
    frame(a) == frame(b) && bits(a) == bits(b)
}

fn cell(value: f64) -> Value {
    serde_json::to_value(value).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_heatmap_comes_back_as_it_was(map in any_heatmap()) {
        let text = serde_json::to_vec(&map).unwrap();
        let read = Heatmap::decode(&text).unwrap();
        prop_assert!(same(&read, &map), "{read:?} is not {map:?}");
    }

    #[test]
    fn a_heatmap_with_a_row_per_time_comes_back_as_it_was(map in any_heatmap()) {
        let (prices, times) = (map.prices.len(), map.times.len());
        prop_assume!(prices != times);
        let mut body = serde_json::to_value(&map).unwrap();
        body["matrix"] = (0..times)
            .map(|t| (0..prices).map(|p| cell(map.matrix[p * times + t])).collect::<Value>())
            .collect();
        let read = Heatmap::decode(body.to_string().as_bytes()).unwrap();
        prop_assert!(same(&read, &map), "{read:?} is not {map:?}");
    }

    #[test]
    fn a_heatmap_in_triples_comes_back_as_it_was(map in any_heatmap(), reversed: bool) {
        let (prices, times) = (map.prices.len(), map.times.len());
        let mut triples = Vec::new();
        for p in 0..prices {
            for t in 0..times {
                let value = map.matrix[p * times + t];
                // Zeros are what triples leave out; a negative one has to be named.
                if value.to_bits() != 0 {
                    triples.push(json!([t, p, cell(value)]));
                }
            }
        }
        if reversed {
            triples.reverse();
        }
        prop_assume!((triples.len(), 3) != (prices, times) && (triples.len(), 3) != (times, prices));
        let mut body = serde_json::to_value(&map).unwrap();
        body["matrix"] = Value::Array(triples);
        let read = Heatmap::decode(body.to_string().as_bytes()).unwrap();
        prop_assert!(same(&read, &map), "{read:?} is not {map:?}");
    }

    #[test]
    fn a_liquidation_map_comes_back_as_it_was(
        leverages in prop::collection::btree_set(any::<i64>(), 0..5),
        bins in prop::collection::vec((number(), any::<bool>(), number(), prop::collection::vec(prop::option::of(number()), 5)), 0..6),
    ) {
        let leverages: Vec<i64> = leverages.into_iter().collect();
        let tiers: Vec<f64> = bins
            .iter()
            .flat_map(|(.., tiers)| tiers.iter().take(leverages.len()).map(|usd| usd.unwrap_or(f64::NAN)))
            .collect();
        let map = LiquidationMap {
            symbol: "BTC".to_owned(),
            range: "7d".to_owned(),
            updated_at: Millis(0),
            current_price: 1.5,
            bin_width: 0.5,
            leverages,
            bins: bins
                .iter()
                .map(|&(price, long, total, _)| MapBin { price, side: if long { Side::Long } else { Side::Short }, total })
                .collect(),
            tiers: Vec::new(),
        };
        let text = serde_json::to_value(LiquidationMap { tiers: tiers.clone(), ..map.clone() }).unwrap();
        let mut read = LiquidationMap::decode(text.to_string().as_bytes()).unwrap();
        let bits = |cells: Vec<f64>| -> Vec<u64> { cells.into_iter().map(f64::to_bits).collect() };
        prop_assert_eq!(bits(std::mem::take(&mut read.tiers)), bits(tiers));
        prop_assert_eq!(read, map);
    }

    #[test]
    fn orders_come_back_as_they_were(rows in prop::collection::vec(
        (".{0,8}", ".{0,8}", any::<bool>(), 0..10_i128.pow(28), 0_u32..29, any::<i64>()), 0..5,
    )) {
        let rows: Vec<Order> = rows
            .into_iter()
            .map(|(exchange, symbol, long, mantissa, scale, timestamp)| {
                let price = rust_decimal::Decimal::from_i128_with_scale(mantissa, scale);
                Order {
                    exchange,
                    symbol,
                    side: if long { Side::Long } else { Side::Short },
                    price,
                    qty: -price,
                    value_usd: price,
                    timestamp: Millis(timestamp),
                }
            })
            .collect();
        let text = serde_json::to_vec(&rows).unwrap();
        prop_assert_eq!(Vec::<Order>::decode(&text).unwrap(), rows);
    }

    #[test]
    fn random_bytes_are_damage_and_nothing_worse(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in ENDPOINTS {
            prop_assert!(ask(name, &bytes).is_err());
        }
    }

    #[test]
    fn a_fixture_with_random_edits_is_read_or_refused(
        name in prop::sample::select(ENDPOINTS.to_vec()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
            any::<u8>(),
            prop::sample::select(b"\"[]{},:0e-.".to_vec()),
        ]), 1..4),
    ) {
        let mut body = fixture(name).into_bytes();
        for (at, byte) in edits {
            let at = at.index(body.len());
            body[at] = byte;
        }
        // What is still read must be a reading that holds: written and read again it is the same.
        if let Ok(Reading::Reply(text)) = ask(name, &body) {
            prop_assert_eq!(answer(name, &text), text);
        }
    }
}

// Questions.

fn asked_again<E: Endpoint + PartialEq>(question: &E) {
    let pairs = question.to_query();
    for (name, _) in &pairs {
        assert!(E::PARAMETERS.contains(name), "{} {name}", E::NAME);
    }
    let pairs = pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let query = Query::new(pairs, E::PARAMETERS).unwrap();
    assert_eq!(&E::from_query(&query).unwrap(), question);
}

#[test]
fn every_question_survives_its_query_string() {
    asked_again(&OverviewQuery);
    for range in ["1h", "4h", "12h", "24h"] {
        asked_again(&Exchanges::new(range).unwrap());
        for limit in [1, 30, 200] {
            asked_again(&Coins::new(range, limit).unwrap());
        }
        for limit in [1, 20, 1000] {
            asked_again(&Largest::new(range, limit).unwrap());
        }
    }
    for symbol in [
        None,
        Some("BTCUSDT"),
        Some("1000PEPEUSDT"),
        Some("BTC-USD&x=1"),
    ] {
        for exchange in [None, Some("binance")] {
            for (limit, offset) in [(1, 0), (50, 1), (1000, i128::from(i64::MAX))] {
                asked_again(&Orders::new(symbol, exchange, limit, offset).unwrap());
            }
        }
    }
    asked_again(&Chart::new("ETHUSDT").unwrap());
    for range in ["12h", "24h", "3d", "7d", "1M"] {
        for model in [2, 3] {
            asked_again(&HeatmapQuery::new("1INCH", range, model).unwrap());
        }
    }
    for range in ["1d", "7d"] {
        asked_again(&Liqmap::new("SOL", range).unwrap());
    }
    asked_again(&LevelsQuery::new("SOL").unwrap());
    asked_again(&Maxpain::new("SOL").unwrap());
}

fn question<E: Endpoint>(pairs: &[(&str, &str)]) -> Result<Vec<(&'static str, String)>, BadQuery> {
    let pairs = pairs
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let query = Query::new(pairs, E::PARAMETERS)?;
    Ok(E::from_query(&query)?.to_query())
}

#[test]
fn a_question_without_parameters_takes_the_contracts_defaults() {
    let text = |asked: Result<Vec<(&'static str, String)>, BadQuery>| {
        let pairs = asked.unwrap();
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("&")
    };
    assert_eq!(text(question::<OverviewQuery>(&[])), "");
    assert_eq!(text(question::<Coins>(&[])), "range=24h&limit=30");
    assert_eq!(text(question::<Exchanges>(&[])), "range=24h");
    assert_eq!(text(question::<Largest>(&[])), "range=24h&limit=20");
    assert_eq!(text(question::<Orders>(&[])), "limit=50&offset=0");
    assert_eq!(text(question::<Chart>(&[])), "symbol=BTCUSDT");
    assert_eq!(
        text(question::<HeatmapQuery>(&[])),
        "symbol=BTC&range=24h&model=2"
    );
    assert_eq!(text(question::<Liqmap>(&[])), "symbol=BTC&range=1d");
    assert_eq!(text(question::<LevelsQuery>(&[])), "symbol=BTC");
    assert_eq!(text(question::<Maxpain>(&[])), "symbol=BTC");
}

#[test]
fn a_parameter_out_of_bounds_is_refused_by_name() {
    #[track_caller]
    fn refused<E: Endpoint>(name: &str, values: &[&str]) {
        for &value in values {
            let refusal = question::<E>(&[(name, value)]).unwrap_err();
            assert_eq!(refusal.parameter, name, "{} {name}={value}", E::NAME);
            assert!(!refusal.allowed.is_empty());
        }
    }
    let windows = ["", "2h", "24H", "1d", "24h ", "1M"];
    refused::<Coins>("range", &windows);
    refused::<Exchanges>("range", &windows);
    refused::<Largest>("range", &windows);
    refused::<HeatmapQuery>("range", &["", "1h", "1m", "30d", "1d"]);
    refused::<Liqmap>("range", &["", "24h", "1D", "1M"]);
    let limits = [
        "0",
        "-1",
        "",
        "ten",
        "1.5",
        "1e2",
        "170141183460469231731687303715884105728",
    ];
    refused::<Coins>("limit", &limits);
    refused::<Coins>("limit", &["201"]);
    refused::<Largest>("limit", &limits);
    refused::<Largest>("limit", &["1001", "65537"]);
    refused::<Orders>("limit", &limits);
    refused::<Orders>("limit", &["1001", "65537"]);
    refused::<Orders>("offset", &["-1", "", "x", "1.5", "9223372036854775808"]);
    refused::<Orders>("exchange", &["", " "]);
    refused::<HeatmapQuery>("model", &["1", "4", "", "two", "-2", "2.0"]);
    let pairs_meant = ["", "  ", "BTC", "eth"];
    refused::<Orders>("symbol", &pairs_meant);
    refused::<Chart>("symbol", &pairs_meant);
    let coins_meant = ["", "  ", "BTCUSDT", "ethusdt", "BTCUSD"];
    refused::<HeatmapQuery>("symbol", &coins_meant);
    refused::<Liqmap>("symbol", &coins_meant);
    refused::<LevelsQuery>("symbol", &coins_meant);
    refused::<Maxpain>("symbol", &coins_meant);
}

#[test]
fn a_parameter_that_is_unknown_or_given_twice_is_refused_by_name() {
    fn check<E: Endpoint>() {
        let refusal = question::<E>(&[("depth", "1")]).unwrap_err();
        assert_eq!(refusal.parameter, "depth", "{}", E::NAME);
        for &name in E::PARAMETERS {
            assert!(refusal.allowed.contains(name), "{}", E::NAME);
            let refusal = question::<E>(&[(name, "1"), (name, "1")]).unwrap_err();
            assert_eq!(refusal.parameter, name, "{}", E::NAME);
        }
    }
    check::<OverviewQuery>();
    check::<Coins>();
    check::<Exchanges>();
    check::<Largest>();
    check::<Orders>();
    check::<Chart>();
    check::<HeatmapQuery>();
    check::<Liqmap>();
    check::<LevelsQuery>();
    check::<Maxpain>();
}
