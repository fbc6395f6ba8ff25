//! Instants in another unit than milliseconds: recognised by all of a column, and converted.

use super::*;
use liqdata::model::TimeUnit;

const INSTANTS: &[&str] = &[
    "timestamp",
    "closes_at",
    "hour",
    "updatedAt",
    "times",
    "start",
    "end",
    "recovered_at",
    "last_event",
    "observed_at",
    "computed_at",
];

/// The same with every instant changed; text stays text.
fn changed(value: &Value, change: &dyn Fn(i64) -> i64) -> Value {
    fn instant(value: &Value, change: &dyn Fn(i64) -> i64) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| instant(item, change)).collect(),
            Value::String(text) => change(text.parse().unwrap()).to_string().into(),
            Value::Null => Value::Null,
            number => change(number.as_i64().unwrap()).into(),
        }
    }
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, member)| {
                let is_instant = INSTANTS.contains(&name.as_str());
                let member = if is_instant {
                    instant(member, change)
                } else {
                    changed(member, change)
                };
                (name.clone(), member)
            });
            Value::Object(members.collect())
        }
        Value::Array(items) => items.iter().map(|item| changed(item, change)).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_reply_in_another_unit_is_converted_and_says_so() {
    for &name in NAMES {
        let whole: Value = serde_json::from_str(&fixture(name)).unwrap();
        let in_seconds = changed(&whole, &|at| at / 1000 * 1000);
        let has_instants = changed(&whole, &|_| 0) != whole;
        for (unit, millis, body) in [
            (
                TimeUnit::Seconds,
                &in_seconds,
                changed(&whole, &|at| at / 1000),
            ),
            (
                TimeUnit::Microseconds,
                &whole,
                changed(&whole, &|at| at * 1000 + 999),
            ),
            (
                TimeUnit::Nanoseconds,
                &whole,
                changed(&whole, &|at| at * 1_000_000 + 1),
            ),
        ] {
            let reply = answer(name, &millis.to_string());
            let wanted = if has_instants {
                Reading::Converted { reply, unit }
            } else {
                Reading::Reply(reply)
            };
            let body = body.to_string();
            assert_eq!(ask(name, body.as_bytes()), Ok(wanted), "{name}: {body}");
        }
    }
}

#[test]
fn rows_in_the_contracts_own_spelling_are_converted_too() {
    // The quick readers take bodies of this spelling.
    let row = |at: &str| {
        let cells = r#""exchange":"okx","symbol":"BTCUSDT","side":"LONG","price":"1","qty":"2","value_usd":"2""#;
        format!(r#"{{"success":true,"data":[{{{cells},"timestamp":{at}}}]}}"#)
    };
    for (at, unit) in [
        ("1781135954", TimeUnit::Seconds),
        ("1781135954000000", TimeUnit::Microseconds),
        ("1781135954000000000", TimeUnit::Nanoseconds),
    ] {
        let reply = answer("orders", &row("1781135954000"));
        let wanted = Reading::Converted { reply, unit };
        assert_eq!(ask("orders", row(at).as_bytes()), Ok(wanted), "{at}");
    }
}

#[test]
fn seconds_may_have_a_fraction() {
    let mut body: Value = serde_json::from_str(&fixture("orders")).unwrap();
    body["data"].as_array_mut().unwrap().truncate(3);
    // A service that prints doubles has whole seconds now and then.
    let body = body
        .to_string()
        .replace("1781135954140", "1781135954.1409")
        .replace("1781135928302", "1781135928")
        .replace("1781135913102", "\"1781135913.102\"");
    let Ok(Reading::Converted { reply, unit }) = ask("orders", body.as_bytes()) else {
        panic!("{body}");
    };
    assert_eq!(unit, TimeUnit::Seconds);
    for at in ["1781135954140", "1781135928000", "1781135913102"] {
        assert!(reply.contains(at), "{reply}");
    }
}

#[test]
fn one_row_of_another_unit_does_not_change_the_unit_of_a_reply() {
    for (early, late) in [
        ("1781135954140", "50000000000"),
        ("1781135954140", "0"),
        ("1781134737006", "1781134737"),
    ] {
        let body = with("orders", early, late);
        assert!(answer("orders", &body).contains(&format!("\"timestamp\":{late},")));
    }
    let body = with("orders", "1781135954140", "1781135954140000");
    let damage = damage("orders", &body);
    assert_eq!(damage.path, "data[0].timestamp");
    assert!(damage.message.contains("outside the years"), "{damage}");
}

#[test]
fn members_of_one_reply_have_units_of_their_own() {
    let whole: Value = serde_json::from_str(&fixture("heatmap")).unwrap();
    let mut body = whole.clone();
    body["times"] = changed(&whole, &|at| at / 1000)["times"].clone();
    let reply = answer("heatmap", &whole.to_string());
    let unit = TimeUnit::Seconds;
    assert_eq!(
        ask("heatmap", body.to_string().as_bytes()),
        Ok(Reading::Converted { reply, unit })
    );
    // Nothing happened yet at an instant of zero.
    let mut rows: Value = serde_json::from_str(&fixture("gaps")).unwrap();
    rows = changed(&rows, &|at| at / 1000);
    rows["data"][0]["recovered_at"] = 0.into();
    let Ok(Reading::Converted { reply, .. }) = ask("gaps", rows.to_string().as_bytes()) else {
        panic!("{rows}");
    };
    assert!(reply.contains("\"recovered_at\":0"), "{reply}");
}
