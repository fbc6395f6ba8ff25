//! Rules of time parameters: instants and period lengths.

use crate::model::{Millis, read_span};

/// Implements [`Rule`](crate::api::Rule) for values that are parsed from text.
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

/// Shorter numbers are not epoch milliseconds.
const SHORT: u64 = 100_000_000_000;
/// Thirty days, as ranges spell it; `read_span` does not accept it.
const MONTH: &str = "1M";

words! {
    /// A period length in milliseconds.
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
    /// An instant.
    At = Millis {
        "epoch milliseconds, or an ISO 8601 date or time such as 2026-06-11 or 2026-06-11T00:00:00Z";
        |text| Millis::read(text);
        |at| if at.0.unsigned_abs() < SHORT {
            at.to_string()
        } else {
            at.0.to_string()
        }
    }
}

pub(crate) use words;
