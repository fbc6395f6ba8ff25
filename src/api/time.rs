//! Rules of time parameters: instants and period lengths.

use crate::api::argument::Argument;
use crate::api::parameter::{Rule, text_of};
use crate::api::refusal::BadQuery;
use crate::model::{Millis, TimeUnit, read_span};

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
