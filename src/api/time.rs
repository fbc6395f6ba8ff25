//! Rules of time parameters: instants and period lengths.

use crate::api::argument::Argument;
use crate::api::parameter::{Rule, text_of};
use crate::api::refusal::BadQuery;
use crate::model::{Millis, TimeBound, TimeUnit, read_span};

/// Implements [`Rule`] for values that are parsed from text.
macro_rules! words {
    ($($(#[$about:meta])* $rule:ident = $value:ty { $allowed:literal; |$text:ident| $read:expr; |$checked:ident| $write:expr })+) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub struct $rule;

        impl $crate::api::Rule for $rule {
            type Value = $value;
            type Raw<'a> = &'a str;

            fn allowed() -> String {
                $allowed.to_owned()
            }

            fn raw<'a>(
                name: &'static str,
                argument: Option<$crate::api::Argument<'a>>,
            ) -> Result<&'a str, $crate::api::BadQuery> {
                $crate::api::text_of::<Self>(name, argument)
            }

            fn check(name: &'static str, $text: &str) -> Result<$value, $crate::api::BadQuery> {
                let read: Option<$value> = $read;
                read.ok_or_else(|| $crate::api::BadQuery::new(name, format!("{:?} is not allowed", $text), <Self as $crate::api::Rule>::allowed()))
            }

            fn text($checked: &$value) -> Option<String> {
                Some($write)
            }
        }
    )+};
}

/// Smaller instants are written as ISO 8601, because their digits look like epoch seconds.
const SHORT: u64 = 100_000_000_000;
/// Thirty days as a range is written; `read_span` does not accept this spelling.
const MONTH: &str = "1M";

words! {
    /// Rule for the length of a period, in milliseconds.
    Period = i64 {
        "whole minutes up to 366 days, such as 5m, 4h, 1d or 1M (which is 30d), or milliseconds";
        |text| text
            .parse()
            .ok()
            .or_else(|| (text == MONTH).then_some(30 * Millis::DAY))
            .or_else(|| read_span(text))
            .filter(|length| (1..=366 * Millis::DAY).contains(length) && length % Millis::MINUTE == 0);
        |length| length.to_string()
    }
}

/// Rule for an instant.
#[derive(Debug)]
pub struct At;

impl Rule for At {
    type Value = Millis;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        format!("epoch milliseconds, or {}", Millis::ISO)
    }

    fn raw<'a>(name: &'static str, argument: Option<Argument<'a>>) -> Result<&'a str, BadQuery> {
        text_of::<Self>(name, argument)
    }

    fn check(name: &'static str, text: &str) -> Result<Millis, BadQuery> {
        read_instant(text).map_err(|problem| BadQuery::new(name, problem, Self::allowed()))
    }

    fn text(at: &Millis) -> Option<String> {
        Some(if at.0.unsigned_abs() < SHORT {
            at.to_string()
        } else {
            at.0.to_string()
        })
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

/// Parses an instant; the error says what is wrong with the text.
pub(crate) fn read_instant(text: &str) -> Result<Millis, String> {
    let unit = text.parse().ok().and_then(TimeUnit::of);
    if let Some(unit) = unit.filter(|unit| *unit != TimeUnit::Milliseconds) {
        return Err(format!(
            "{text} looks like epoch {unit}; epoch milliseconds are meant"
        ));
    }
    Millis::read(text).ok_or_else(|| format!("{text:?} is not an instant"))
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
    fn the_lengths_of_pandas_are_understood() {
        for text in ["5m", "5min", "5T", "300000"] {
            assert_eq!(
                Period::check("interval", text).unwrap(),
                5 * Millis::MINUTE,
                "{text}"
            );
        }
        assert_eq!(Period::check("interval", "1H").unwrap(), Millis::HOUR);
        assert_eq!(Period::check("interval", "2D").unwrap(), 2 * Millis::DAY);
        assert!(Period::check("interval", "5M").is_err());
    }
}
