//! What says `success: false`, and what does not say it properly.

use super::*;

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
        for &name in NAMES {
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
    for &name in NAMES {
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
    let refusal = Coins::new(Some("24h"), 0).unwrap_err();
    let body = serde_json::to_vec(&RefusedBody::from(&refusal)).unwrap();
    let message = "0 is out of bounds".to_owned();
    assert_eq!(ask("coins", &body), Ok(Reading::Refused { message }));
}

#[test]
fn success_is_required_and_a_boolean() {
    for &name in NAMES {
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

#[test]
fn a_body_that_has_a_reason_and_no_reply_is_a_refusal() {
    for (rest, reason) in [
        (
            r#""code": "40001", "msg": "API key invalid", "data": null"#,
            "API key invalid",
        ),
        (
            r#""code": 30001, "msg": "API key missing.""#,
            "API key missing.",
        ),
        (
            r#""code": -1121, "msg": "Invalid symbol.""#,
            "Invalid symbol.",
        ),
        (
            r#""status": "error", "message": "upgrade your plan""#,
            "upgrade your plan",
        ),
        (
            r#""error": {"code": 429, "message": "too fast"}"#,
            "too fast",
        ),
        (
            r#""error": ["EGeneral:Invalid arguments"]"#,
            "EGeneral:Invalid arguments",
        ),
        (
            r#""success": true, "message": "nothing for this coin""#,
            "nothing for this coin",
        ),
        (
            r#""success": "false", "error": "maintenance""#,
            "maintenance",
        ),
        (
            r#""code": 0, "msg": "success", "message": "no data""#,
            "no data",
        ),
    ] {
        for &name in NAMES {
            let body = format!("{{{rest}}}");
            let message = reason.to_owned();
            let wanted = Ok(Reading::Refused { message });
            assert_eq!(ask(name, body.as_bytes()), wanted, "{name}: {body}");
        }
    }
}

#[test]
fn a_code_of_a_failure_with_a_reason_is_a_refusal_in_spite_of_data() {
    for &name in NAMES {
        for code in ["500", r#""40001""#, "-1", r#""error""#, "true"] {
            let extra = format!(r#"{{"code": {code}, "msg": "no rights","#);
            let body = with(name, "{", &extra);
            let message = "no rights".to_owned();
            assert_eq!(
                ask(name, body.as_bytes()),
                Ok(Reading::Refused { message }),
                "{body}"
            );
            // Without a reason it is a reply.
            let body = with(name, "{", &format!(r#"{{"code": {code}, "msg": "","#));
            assert_eq!(answer(name, &body), answer(name, &fixture(name)));
        }
    }
}

#[test]
fn a_code_of_a_success_is_no_refusal() {
    for &name in NAMES {
        for code in [
            "0",
            "1",
            "200",
            "200.0",
            r#""0""#,
            r#""00000""#,
            r#""200""#,
            r#""success""#,
            "null",
        ] {
            for words in ["success", "OK", "all good"] {
                let extra = format!(r#"{{"code": {code}, "msg": "{words}","#);
                let body = with(name, "{", &extra);
                assert_eq!(answer(name, &body), answer(name, &fixture(name)), "{body}");
                if is_enveloped(name) && code != "null" {
                    let body = body.replacen(r#""success": true,"#, "", 1);
                    assert_eq!(answer(name, &body), answer(name, &fixture(name)), "{body}");
                }
            }
        }
    }
}
