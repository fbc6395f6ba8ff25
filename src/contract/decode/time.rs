//! Parses instants.
//!
//! The contract uses epoch milliseconds. Some services send seconds, microseconds or nanoseconds. The unit is inferred
//! from all instants of a column, because a single small number may also be an instant of 1970 in a finer unit. Readers
//! therefore store numbers as received, and [`settled`](super::reply::settled) converts them when the reply is complete.

use std::fmt;

use super::damage::shown;
use super::number::{Number, whole_number};
use crate::model::{Millis, TimeUnit};

/// A smaller number is in seconds (until the year 5138), any other in milliseconds (from 1973).
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
    found.ok_or_else(|| no_instant(text))
}

fn no_instant(text: &str) -> String {
    format!(
        "{} is not an instant; allowed: whole epoch milliseconds, epoch seconds below 1e11 or ISO 8601, not finer \
         than a millisecond and within the years 1 to 9999",
        shown(text)
    )
}

fn epoch(number: &Number<'_>) -> Option<Millis> {
    let millis = |shift| i64::try_from(number.whole(shift)?).ok();
    // Both units must give whole milliseconds; a finer instant is invalid.
    match millis(3) {
        Some(value) if value.abs() < SECONDS_BELOW * 1000 => Some(Millis(value)),
        _ => millis(0)
            .filter(|value| value.abs() >= SECONDS_BELOW)
            .map(Millis),
    }
}

/// Offset of a stored instant with a text that determines its unit (ISO 8601, or seconds with a fraction).
///
/// The stored number is this offset, plus twice the milliseconds, plus one if the text has seconds. No instant in any
/// unit is near this offset.
const NAMED: i64 = i64::MIN / 2;

fn named(Millis(millis): Millis, in_seconds: bool) -> Millis {
    Millis(NAMED + 2 * millis + i64::from(in_seconds))
}

/// The milliseconds of an instant stored by [`named`], and whether its text has seconds.
pub(super) fn unmarked(stored: i64) -> Option<(i64, bool)> {
    let marked = stored < NAMED / 2;
    marked.then(|| ((stored - NAMED) >> 1, stored & 1 == 1))
}

/// Parses a whole number in the yet unknown unit of its reply, or seconds with a fraction.
pub(super) fn as_it_stands(text: &str) -> Result<Millis, String> {
    let whole = whole_number(text, "in 64 bits");
    match whole {
        Ok(number) if unmarked(number).is_none() => Ok(Millis(number)),
        whole => fraction(text).ok_or_else(|| whole.err().unwrap_or_else(|| no_instant(text))),
    }
}

/// The instant of seconds with a fraction, floored to the millisecond.
fn fraction(text: &str) -> Option<Millis> {
    let nanos = i64::try_from(Number::read(text)?.whole(9)?).ok()?;
    let is_instant = TimeUnit::of(nanos / 1_000_000_000) == Some(TimeUnit::Seconds);
    is_instant.then(|| named(Millis(nanos.div_euclid(1_000_000)), true))
}

/// Parses an instant of an axis: a number like [`as_it_stands`], or ISO 8601.
pub(super) fn axis_instant(text: &str) -> Result<Millis, String> {
    if Number::read(text).is_some() {
        return as_it_stands(text).map_err(|_| no_instant(text));
    }
    Millis::read_whole_iso(text)
        .and_then(|Millis(millis)| Millis::of_calendar(millis))
        .map(|at| named(at, false))
        .ok_or_else(|| no_instant(text))
}

/// The place of an instant in a reply.
#[derive(Clone, Copy, Debug)]
pub enum InstantPlace {
    /// A member of the reply.
    Member(&'static str),
    /// An item of a member that is an array.
    Item(&'static str, usize),
    /// A column of the row with this index.
    Cell(usize, &'static str),
    /// A member of an object that is a member.
    Inner(&'static str, &'static str),
}

impl InstantPlace {
    /// The place of this instant of an object that is the member `name`.
    pub(in crate::contract) fn below(self, name: &'static str) -> Self {
        Self::Inner(name, self.column())
    }

    /// The name of the member or column; its instants share a unit.
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::Member(name)
            | Self::Item(name, _)
            | Self::Cell(_, name)
            | Self::Inner(_, name) => name,
        }
    }
}

impl fmt::Display for InstantPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => f.write_str(name),
            Self::Item(name, place) => write!(f, "{name}[{place}]"),
            Self::Cell(row, name) => write!(f, "[{row}].{name}"),
            Self::Inner(outer, name) => write!(f, "{outer}.{name}"),
        }
    }
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

    #[test]
    fn a_number_stands_as_it_is_unless_its_text_names_the_unit() {
        for text in ["1781136000", "1781136000.0", "1.781136e9"] {
            assert_eq!(as_it_stands(text), Ok(Millis(1_781_136_000)), "{text}");
            assert_eq!(axis_instant(text), Ok(Millis(1_781_136_000)), "{text}");
        }
        let fraction = as_it_stands("1781136000.2509").map(|at| unmarked(at.0));
        assert_eq!(fraction, Ok(Some((1_781_136_000_250, true))));
        for (text, millis) in [
            ("2026-06-11T00:00:00.250Z", 1_781_136_000_250),
            ("1969-12-31T23:59:59.999Z", -1),
            ("0001-01-01", *Millis::CALENDAR.start()),
        ] {
            let iso = axis_instant(text).map(|at| unmarked(at.0));
            assert_eq!(iso, Ok(Some((millis, false))), "{text}");
        }
        let marked = NAMED.to_string();
        for text in ["", "0.5", "1781136000000.5", "9223372036854775808", &marked] {
            assert!(as_it_stands(text).is_err(), "{text}");
            assert!(axis_instant(text).is_err(), "{text}");
        }
        assert!(as_it_stands("2026-06-11").is_err());
    }
}
