//! Replies are read as they come and written as the contract spells them.

use super::*;

/// A reply without the coins that are computed for its rows.
fn without_coins(reply: &str) -> String {
    let mut parts = reply.split(r#","coin":""#);
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |read, part| read + part.split_once('"').unwrap().1)
}

#[test]
fn every_fixture_reads_and_writes_back_the_same() {
    for &name in NAMES {
        let text = fixture(name);
        let mut written = answer(name, &text);
        if [Orders::NAME, Largest::NAME].contains(&name) {
            written = without_coins(&written);
        }
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
    for &name in NAMES {
        let text = fixture(name);
        // A `Value` keeps its members sorted: bins before leverages, matrix before prices, data before success.
        let sorted: Value = serde_json::from_str(&text).unwrap();
        assert_ne!(without_blanks(&text), sorted.to_string(), "{name}");
        assert_eq!(answer(name, &sorted.to_string()), answer(name, &text));
    }
}

#[test]
fn unknown_members_are_ignored_at_every_level() {
    for &name in NAMES {
        let text = fixture(name);
        let extra = r#"{"x_extra": {"a": [1e999, "\ud800", null, {"b": "]}"}]},"#;
        // Tiers are keyed by leverage, so a foreign key is no extra member there.
        let tiers = [r#""tiers": {"#, r#""tiers":{"#];
        // Nor is what a map was served as: text, for whoever reads this.
        let text_of_json = r#""{\""#;
        let marked = text
            .replace(tiers[0], "\u{1}")
            .replace(text_of_json, "\u{2}");
        let body = marked
            .replace('{', extra)
            .replace('\u{1}', tiers[0])
            .replace('\u{2}', text_of_json);
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
    for &name in NAMES {
        let text = fixture(name);
        let swapped = quotes_swapped(&text);
        assert_ne!(swapped, text);
        assert_eq!(quotes_swapped(&swapped), text);
        assert_eq!(answer(name, &swapped), answer(name, &text), "{name}");
    }
}

#[test]
fn a_decimal_field_has_every_digit_of_its_number() {
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

/// The same without members that are `null`, which say no more than those that are absent.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let present = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                present
                    .map(|(name, value)| (name, without_nulls(value)))
                    .collect(),
            )
        }
        Value::Array(values) => Value::Array(values.into_iter().map(without_nulls).collect()),
        value => value,
    }
}

/// Members that a service may leave out.
fn is_optional(name: &str, path: &str) -> bool {
    let member = path.rsplit('.').next().unwrap_or_default();
    match name {
        "overview" => path.starts_with("data.") && path.matches('.').count() == 1,
        "liqmap" => path.contains(".tiers."),
        "levels" => path.starts_with("data.tiers.") && path.matches('.').count() == 2,
        "maxpain" => matches!(path, "data.d1" | "data.d7"),
        // What rows are not grouped by, and what is unknown of a period.
        "history" => path.starts_with("data[") && member != "timestamp",
        // What is not known, or was not measured.
        "cascades" => {
            member.starts_with("price_")
                || member.starts_with("change_")
                || member == "percentile_7d"
        }
        "undercount" => matches!(member, "estimated_usd" | "low_usd" | "high_usd"),
        "coverage" => {
            let required = ["exchange", "completeness", "known_by", "gaps", "cnt"];
            path.starts_with("data[") && !required.contains(&member)
        }
        // What did not come to anything, or concerns no topic.
        "gaps" => matches!(member, "topic" | "recovered_at" | "recovered" | "holds"),
        "maps" => matches!(member, "explain" | "version"),
        "open_interest" => member == "exchange",
        "positions" => matches!(
            member,
            "entry_price" | "leverage" | "margin_mode" | "liquidation_price" | "seen_share"
        ),
        _ => false,
    }
}

#[test]
fn a_missing_member_is_named_unless_it_may_be_absent() {
    for &name in NAMES {
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
                let body = without_nulls(body);
                assert_eq!(without_nulls(is), body, "{name} without {}", place.path);
                // `null` says the same.
                let mut null = whole.clone();
                *null.pointer_mut(&place.pointer).unwrap() = Value::Null;
                let is: Value = serde_json::from_str(&answer(name, &null.to_string())).unwrap();
                assert_eq!(
                    without_nulls(is),
                    body,
                    "{name} with null at {}",
                    place.path
                );
            } else {
                let damage = damage(name, &body.to_string());
                assert_eq!(damage.path, place.path, "{name}: {damage}");
                assert!(damage.message.starts_with("is missing"), "{damage}");
            }
        }
        let may = matches!(
            name,
            "overview"
                | "liqmap"
                | "levels"
                | "maxpain"
                | "history"
                | "cascades"
                | "undercount"
                | "coverage"
                | "gaps"
                | "maps"
                | "open_interest"
                | "positions"
        );
        assert_eq!(optional > 0, may, "{name}");
    }
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_its_path() {
    for &name in NAMES {
        let whole: Value = serde_json::from_str(&fixture(name)).unwrap();
        for place in places(&whole) {
            let was = whole.pointer(&place.pointer).unwrap();
            for wrong in [json!({}), json!([]), json!(true), json!("x")] {
                let same_kind = std::mem::discriminant(&wrong) == std::mem::discriminant(was);
                let is_name = was
                    .as_str()
                    .is_some_and(|text| text.parse::<f64>().is_err());
                // An absent value has no type, and text may stand for any type.
                if same_kind && (!wrong.is_string() || is_name)
                    || was.is_null() && wrong.is_string()
                {
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
