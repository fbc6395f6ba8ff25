//! What breaks the contract is damage at its place.

use super::*;

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
        r#""635.6843826""#,
        "0.123456789012345678901234567890123456789012345678901234567890",
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
    ("positions", r#""1.5""#, r#""-1.5""#, "data[0].qty"),
    ("positions", r#""0.25""#, "-0.25", "data[1].qty"),
    (
        "positions",
        r#""61250.5""#,
        r#""-0.1""#,
        "data[0].entry_price",
    ),
    (
        "positions",
        r#""58411.2""#,
        r#""-58411.2""#,
        "data[0].liquidation_price",
    ),
    ("positions", r#""94875.15""#, "-1", "data[0].value_usd"),
    ("positions", "20.0", "1e308", "data[0].leverage"),
    ("positions", "20.0", "0", "data[0].leverage"),
    ("positions", "20.0", "-20.0", "data[0].leverage"),
    ("positions", "0.21}", "1.01}", "data[0].seen_share"),
    ("positions", "0.21}", "-0.21}", "data[0].seen_share"),
    (
        "positions",
        "1781135950000",
        "1781136000001",
        "data[0].observed_at",
    ),
    (
        "liqmap",
        r#""bins":"#,
        r#""measured": {"seenShare": 1.5, "observedAt": 1781136000000, "positions": 1, "accounts": 1, "unplacedUsd": 0, "crossedUsd": 0}, "bins":"#,
        "measured.seenShare",
    ),
    ("coins", "5121", "-1", "data[0].cnt"),
    ("coins", "5121", "5121.5", "data[0].cnt"),
    ("coins", "5121", "18446744073709551616", "data[0].cnt"),
    ("coins", "5121", "9223372036854775808", "data[0].cnt"),
    ("exchanges", "8120}", "9223372036854775808}", "data[0].cnt"),
    ("overview", "412", "9223372036854775808", "data.1h.cnt"),
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
    ("coins", "5121", "9223372036854775808", "data[0].cnt"),
    (
        "exchanges",
        "\"cnt\": ",
        "\"cnt\": 9223372036854775808, \"x\": ",
        "data[0].cnt",
    ),
    ("overview", "412", "9223372036854775808", "data.1h.cnt"),
    (
        "orders",
        "1781135954140",
        "253402300800000",
        "data[0].timestamp",
    ),
    (
        "orders",
        "1781135954140",
        "-62135596800001",
        "data[0].timestamp",
    ),
    (
        "largest",
        "\"timestamp\": ",
        "\"timestamp\": 9223372036854775807, \"x\": ",
        "data[0].timestamp",
    ),
    (
        "chart",
        "\"hour\": \"1781053200000\"",
        "\"hour\": \"253402300800000\"",
        "data[0].hour",
    ),
    (
        "heatmap",
        "\"updatedAt\": ",
        "\"updatedAt\": -62135596800001, \"x\": ",
        "updatedAt",
    ),
    ("heatmap", "1781132400000", "253402300800000", "times[1]"),
    (
        "liqmap",
        "\"updatedAt\": ",
        "\"updatedAt\": -62135596800001, \"x\": ",
        "updatedAt",
    ),
    (
        "levels",
        "\"updatedAt\": ",
        "\"updatedAt\": -62135596800001, \"x\": ",
        "data.updatedAt",
    ),
    (
        "maxpain",
        "\"updatedAt\": ",
        "\"updatedAt\": -62135596800001, \"x\": ",
        "data.updatedAt",
    ),
    ("heatmap", "62000.0, ", "", "matrix[7]"),
    ("heatmap", "62000.0, ", "61000, 62000, ", "matrix[8]"),
];

#[test]
fn hostile_values_are_damage_with_their_path() {
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
fn a_count_names_what_is_allowed() {
    let damage = damage("coins", &with("coins", "5121", "-1"));
    let says = "\"-1\" is not a whole number from 0 to 9223372036854775807";
    assert!(damage.message.starts_with(says), "{damage}");
}

#[test]
fn a_body_that_is_not_json_is_damage() {
    for &name in NAMES {
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
fn a_truncated_body_is_damage() {
    for &name in NAMES {
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
    for &name in NAMES {
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
fn unlimited_nesting_is_damage_at_any_level() {
    for &name in NAMES {
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
fn a_long_value_is_shortened_in_the_message() {
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
