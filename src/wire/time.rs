//! Instants in the spellings of services: epoch milliseconds, epoch seconds, ISO 8601.

use super::damage::shown;
use super::number::Number;
use crate::model::Millis;

/// Numbers below this are seconds (until the year 5138), others milliseconds (from 1973).
const SECONDS_BELOW: i64 = 100_000_000_000;

/// Parses an instant.
///
/// A number below 1e11 is epoch seconds, a larger one epoch milliseconds. Any other text is ISO 8601, in UTC if it has
/// no zone.
pub(super) fn instant(text: &str) -> Result<Millis, String> {
    let found = match Number::read(text) {
        Some(number) => epoch(&number),
        None => Millis::read_whole_iso(text),
    };
    let found = found.and_then(|Millis(millis)| Millis::of_calendar(millis));
    found.ok_or_else(|| {
        format!(
            "{} is no instant; whole epoch milliseconds, epoch seconds below 1e11 or ISO 8601, \
             none finer than a millisecond and none outside the years 1 to 9999, are allowed",
            shown(text)
        )
    })
}

fn epoch(number: &Number<'_>) -> Option<Millis> {
    let millis = |shift| i64::try_from(number.whole(shift)?).ok();
    // Accept whole milliseconds, in either unit; finer instants are invalid.
    match millis(3) {
        Some(value) if value.abs() < SECONDS_BELOW * 1000 => Some(Millis(value)),
        _ => millis(0)
            .filter(|value| value.abs() >= SECONDS_BELOW)
            .map(Millis),
    }
}

/// The instant of a number that can only be epoch milliseconds.
pub(super) fn plain_millis(number: i64) -> Option<Millis> {
    Millis::of_calendar(number).filter(|_| number >= SECONDS_BELOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_an_instant_is_read() {
        for (text, millis) in [
            ("1781136000000", 1_781_136_000_000),
            ("1781136000", 1_781_136_000_000),
            ("1781136000.5", 1_781_136_000_500),
            ("1781136000000.0", 1_781_136_000_000),
            ("1.781136e12", 1_781_136_000_000),
            ("99999999999", 99_999_999_999_000),
            ("100000000000", 100_000_000_000),
            ("99999999999.999", 99_999_999_999_999),
            ("0", 0),
            ("-1", -1000),
            ("2026-06-11", 1_781_136_000_000),
            ("2026-06-11T00:00", 1_781_136_000_000),
            ("2026-06-11T00:00:00", 1_781_136_000_000),
            ("2026-06-11 00:00:00Z", 1_781_136_000_000),
            ("2026-06-11T02:00:00.250+02:00", 1_781_136_000_250),
            ("2026-06-11T02:00:00.25+0200", 1_781_136_000_250),
            ("2026-06-10T19:00:00.250000-05", 1_781_136_000_250),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("1969-12-31T23:59:59.999Z", -1),
        ] {
            assert_eq!(instant(text), Ok(Millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_names_no_instant_is_refused() {
        for text in [
            "",
            "now",
            "2026-13-01",
            "2026-02-29",
            "2026-06-00",
            "2026-6-1",
            "2026-06-11T24:00:00",
            "2026-06-11T00:60",
            "2026-06-11T00:00:60Z",
            "2026-06-11T00:00:00.Z",
            "2026-06-11T00:00:00.0001Z",
            "2026-06-11T00:00:00+2",
            "2026-06-11T00:00:00+02:0",
            "2026-06-11T00:00:00Z ",
            "2026-06-11T",
            "1781136000000.5",
            "1781136000.0001",
            "1e30",
            "NaN",
            "２026-06-11",
        ] {
            assert!(instant(text).is_err(), "{text}");
        }
    }
}
