//! Instants in query strings: what is accepted, and how it is read and written.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::model::{Millis, TimeUnit};

/// Numbers that are read as epoch milliseconds. Smaller ones look like seconds, larger ones like microseconds.
const EPOCH: RangeInclusive<i64> = 100_000_000_000..=99_999_999_999_999;

/// The allowed instants, as refusals list them.
pub fn allowed_instants() -> String {
    format!(
        "epoch milliseconds from {} to {} (years 1973 to 5138), or {}",
        EPOCH.start(),
        EPOCH.end(),
        Millis::ISO
    )
}

/// The allowed instants as a JSON schema. The reader accepts further forms of ISO 8601.
pub fn instant_schema() -> Value {
    json!({"anyOf": [
        {
            "type": "integer", "format": "int64", "minimum": EPOCH.start(), "maximum": EPOCH.end(),
            "description": "epoch milliseconds",
        },
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "date"},
    ]})
}

/// The instant of a parameter, or what is wrong with it.
pub fn read_instant(text: &str) -> Result<Millis, String> {
    let number: Option<i64> = text.parse().ok();
    let unit = number.and_then(TimeUnit::of);
    if let Some(unit) = unit.filter(|unit| *unit != TimeUnit::Milliseconds) {
        return Err(format!(
            "{text} looks like epoch {unit}; give epoch milliseconds"
        ));
    }
    if number.is_some_and(|number| !EPOCH.contains(&number)) {
        return Err(format!("{text} is out of bounds"));
    }
    Millis::read(text).ok_or_else(|| format!("{text:?} is not an instant"))
}

/// The text of an instant that [`read_instant`] accepts.
pub fn instant_text(at: Millis) -> String {
    if EPOCH.contains(&at.0) {
        at.0.to_string()
    } else {
        at.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::contract::instant::*;

    proptest! {
        #[test]
        fn every_instant_is_written_as_it_is_read(millis in Millis::CALENDAR) {
            let at = Millis(millis);
            prop_assert_eq!(read_instant(&instant_text(at)), Ok(at));
        }
    }

    #[test]
    fn numbers_beyond_the_bounds_are_refused() {
        for text in [
            "0",
            "7",
            "-1781136000000",
            "000000000000007",
            "99999999999",
            "100000000000000",
        ] {
            assert!(read_instant(text).is_err(), "{text}");
        }
        for text in ["100000000000", "99999999999999", "1970-01-01", "0001-01-01"] {
            assert!(read_instant(text).is_ok(), "{text}");
        }
    }
}
