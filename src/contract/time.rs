//! Rules of time parameters: instants and period lengths.

use serde_json::{Value, json};

use crate::contract::argument::Argument;
use crate::contract::instant::{allowed_instants, instant_schema, instant_text, read_instant};
use crate::contract::parameter::{Rule, text_of};
use crate::contract::refusal::BadQuery;
use crate::model::{Millis, PeriodLength, TimeBound, read_span};

/// Implements [`Rule`] for values that are parsed from text.
macro_rules! words {
    ($($(#[$about:meta])* $rule:ident = $value:ty { $allowed:literal; |$text:ident| $read:expr; |$checked:ident| $write:expr; $schema:tt })+) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub struct $rule;

        impl $crate::contract::Rule for $rule {
            type Value = $value;
            type Raw<'a> = &'a str;

            fn allowed() -> String {
                $allowed.to_owned()
            }

            fn schema() -> serde_json::Value {
                serde_json::json!($schema)
            }

            fn raw<'a>(
                name: &'static str,
                argument: Option<$crate::contract::Argument<'a>>,
            ) -> Result<&'a str, $crate::contract::BadQuery> {
                $crate::contract::text_of::<Self>(name, argument)
            }

            fn check(name: &'static str, $text: &str) -> Result<$value, $crate::contract::BadQuery> {
                let read: Option<$value> = $read;
                read.ok_or_else(|| $crate::contract::BadQuery::new(name, format!("{:?} is not allowed", $text), <Self as $crate::contract::Rule>::allowed()))
            }

            fn text($checked: &$value) -> Option<String> {
                Some($write)
            }
        }
    )+};
}

/// A calendar month.
const MONTH: &str = "1M";

words! {
    /// Rule for the length of a period.
    Period = PeriodLength {
        "whole minutes up to 366 days, such as 5m, 4h, 1d or 1w, 1M for a calendar month, or milliseconds";
        |text| if text == MONTH {
            Some(PeriodLength::Month)
        } else {
            text.parse()
                .ok()
                .or_else(|| read_span(text))
                .filter(|length| (1..=366 * Millis::DAY).contains(length) && length % Millis::MINUTE == 0)
                .map(PeriodLength::Fixed)
        };
        |length| length.to_string();
        {"anyOf": [
            {
                "type": "integer", "minimum": (Millis::MINUTE), "maximum": (366 * Millis::DAY),
                "multipleOf": (Millis::MINUTE), "description": "milliseconds",
            },
            {"type": "string", "pattern": "^([1-9][0-9]{0,4}(m|min)|[1-9][0-9]{0,2}h|([1-9][0-9]?|[12][0-9]{2}|3[0-5][0-9]|36[0-6])d|([1-9]|[1-4][0-9]|5[0-2])w|1M)$"},
        ]}
    }
}

/// Rule for an instant.
#[derive(Debug)]
pub struct At;

impl Rule for At {
    type Value = Millis;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        allowed_instants()
    }

    fn schema() -> Value {
        instant_schema()
    }

    fn raw<'a>(name: &'static str, argument: Option<Argument<'a>>) -> Result<&'a str, BadQuery> {
        text_of::<Self>(name, argument)
    }

    fn check(name: &'static str, text: &str) -> Result<Millis, BadQuery> {
        read_instant(text).map_err(|problem| BadQuery::new(name, problem, Self::allowed()))
    }

    fn text(at: &Millis) -> Option<String> {
        Some(instant_text(*at))
    }
}

/// A bound of a time range: an instant, or a time before now such as `-7d`.
#[derive(Debug)]
pub struct Bound;

impl Rule for Bound {
    type Value = TimeBound;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        format!("{}, or a time before now such as -7d", At::allowed())
    }

    fn schema() -> Value {
        let before_now = json!({"type": "string", "pattern": "^-.+$"});
        json!({"anyOf": [instant_schema(), before_now]})
    }

    fn raw<'a>(name: &'static str, argument: Option<Argument<'a>>) -> Result<&'a str, BadQuery> {
        text_of::<Self>(name, argument)
    }

    fn check(name: &'static str, text: &str) -> Result<TimeBound, BadQuery> {
        match text.strip_prefix('-').and_then(read_span) {
            Some(length) => Ok(TimeBound::Ago(length)),
            None => read_instant(text)
                .map(TimeBound::At)
                .map_err(|problem| BadQuery::new(name, problem, Self::allowed())),
        }
    }

    fn text(bound: &TimeBound) -> Option<String> {
        match bound {
            TimeBound::At(at) => At::text(at),
            TimeBound::Ago(length) => Some(format!("-{length}ms")),
        }
    }
}

pub(crate) use words;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_an_instant_or_a_time_before_now_and_its_text_says_the_same() {
        for (text, wanted) in [
            ("-7d", TimeBound::Ago(7 * Millis::DAY)),
            ("-90min", TimeBound::Ago(90 * Millis::MINUTE)),
            ("-0s", TimeBound::Ago(0)),
            ("2026-06-11", TimeBound::At(Millis(1_781_136_000_000))),
            ("1781136000000", TimeBound::At(Millis(1_781_136_000_000))),
        ] {
            assert_eq!(Bound::check("start", text).unwrap(), wanted, "{text}");
            let again = Bound::text(&wanted).unwrap();
            assert_eq!(Bound::check("start", &again).unwrap(), wanted, "{again}");
        }
        for text in ["7d", "-7", "-d", "--7d", "-7 d", "- 7d", "-7x"] {
            let refusal = Bound::check("start", text).unwrap_err();
            assert!(refusal.allowed.contains("such as -7d"), "{text}: {refusal}");
        }
    }

    #[test]
    fn the_lengths_of_pandas_are_understood_and_a_month_is_that_of_the_calendar() {
        for (text, length) in [
            ("5m", 5 * Millis::MINUTE),
            ("5min", 5 * Millis::MINUTE),
            ("5T", 5 * Millis::MINUTE),
            ("300000", 5 * Millis::MINUTE),
            ("1H", Millis::HOUR),
            ("2D", 2 * Millis::DAY),
            ("1w", 7 * Millis::DAY),
            ("30d", 30 * Millis::DAY),
        ] {
            let read = Period::check("interval", text).unwrap();
            assert_eq!(read, PeriodLength::Fixed(length), "{text}");
        }
        let month = Period::check("interval", "1M").unwrap();
        assert_eq!(month, PeriodLength::Month);
        assert_eq!(Period::text(&month).unwrap(), "1M");
        assert!(Period::check("interval", "5M").is_err());
    }
}
