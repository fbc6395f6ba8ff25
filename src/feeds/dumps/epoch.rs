//! Parsing of epoch times in any unit.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use crate::contract::decode::exact_decimal;
use crate::model::Millis;

/// Smaller numbers are epoch seconds; larger ones are milliseconds of the years 1973 to 5138, or finer units.
const SECONDS: i64 = 100_000_000_000;

/// Parses epoch seconds, milliseconds, microseconds or nanoseconds.
///
/// The size of the number gives the unit. Seconds may have a fraction.
fn epoch(text: &str) -> Option<Millis> {
    if text.starts_with(|first: char| ('1'..='9').contains(&first))
        && let Ok(whole) = text.parse()
    {
        return whole_epoch(whole);
    }
    // A number with an exponent has lost its last digits.
    if !text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".-".contains(&byte))
    {
        return None;
    }
    let value = exact_decimal(text).ok()?;
    let size = value.trunc().to_i64()?.checked_abs()?;
    let millis = if size < SECONDS {
        value.checked_mul(Decimal::ONE_THOUSAND)?.round()
    } else if size < SECONDS * 1000 {
        value.trunc()
    } else if size < SECONDS * 1_000_000 {
        (value / Decimal::ONE_THOUSAND).floor()
    } else {
        (value / Decimal::from(1_000_000)).floor()
    };
    millis.to_i64().map(Millis)
}

/// Converts a whole epoch time in any unit.
pub(crate) fn whole_epoch(value: i64) -> Option<Millis> {
    let size = value.checked_abs()?;
    let millis = if size < SECONDS {
        value * 1000
    } else if size < SECONDS * 1000 {
        value
    } else if size < SECONDS * 1_000_000 {
        value.div_euclid(1000)
    } else {
        value.div_euclid(1_000_000)
    };
    Some(Millis(millis))
}

/// Parses an epoch time in any unit, ISO 8601, or a date with an hour such as `2020-03-31 10-PM`.
pub(crate) fn any_instant(text: &str) -> Option<Millis> {
    epoch(text)
        .or_else(|| Millis::read_iso(text))
        .or_else(|| half_day(text))
}

/// Parses a date with an hour of half a day.
fn half_day(text: &str) -> Option<Millis> {
    let (day, clock) = text.split_once(' ')?;
    let (hour, half) = clock.split_once('-')?;
    let hour: i64 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let later = match half {
        "AM" => 0,
        "PM" => 12,
        _ => return None,
    };
    Some(Millis::read_iso(day)?.on((hour % 12 + later) * Millis::HOUR))
}

#[cfg(test)]
mod tests {
    use crate::feeds::dumps::epoch::*;

    #[test]
    fn the_unit_is_known_by_the_size() {
        let at = Some(Millis(1_704_153_600_123));
        for text in [
            "1704153600.1234",
            "1704153600123",
            "1704153600123456",
            "1704153600123456789",
        ] {
            assert_eq!(epoch(text), at, "{text}");
        }
        assert_eq!(epoch("1704153600"), Some(Millis(1_704_153_600_000)));
        assert_eq!(epoch("1.7041536E+12"), None);
        assert_eq!(epoch("2024-01-02"), None);
    }

    #[test]
    fn dates_have_hours_of_two_halves() {
        for (text, iso) in [
            ("2020-03-31 10-PM", "2020-03-31T22:00"),
            ("2020-03-31 12-AM", "2020-03-31"),
            ("2020-03-31 12-PM", "2020-03-31T12:00"),
            ("2020-03-31 05:00:00", "2020-03-31T05:00"),
        ] {
            assert_eq!(any_instant(text), Millis::read_iso(iso), "{text}");
        }
        assert_eq!(any_instant("2020-03-31 13-PM"), None);
    }
}
