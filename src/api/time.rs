//! Rules of time parameters: instants and period lengths.

use serde_json::Value;

use crate::api::argument::Argument;
use crate::api::instant::{allowed_instants, instant_schema, instant_text, read_instant};
use crate::api::parameter::{Rule, text_of};
use crate::api::refusal::BadQuery;
use crate::model::{Millis, read_span};

/// Implements [`Rule`] for values that are parsed from text.
macro_rules! words {
    ($($(#[$about:meta])* $rule:ident = $value:ty { $allowed:literal; |$text:ident| $read:expr; |$checked:ident| $write:expr; $schema:tt })+) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub struct $rule;

        impl $crate::api::Rule for $rule {
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

pub(crate) use words;
