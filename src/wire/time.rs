//! Instants as services write them: epoch milliseconds, epoch seconds, ISO 8601.

use super::damage::shown;
use super::number::Number;
use crate::model::Millis;

/// Numbers nearer to zero than this are seconds (until the year 5138), others milliseconds (from 1973).
const SECONDS_BELOW: i64 = 100_000_000_000;

/// The instant that `text` names.
///
/// A number is epoch seconds where it is below 1e11 and epoch milliseconds otherwise; anything else is ISO 8601, in UTC
/// where it names no zone.
pub(super) fn instant(text: &str) -> Result<Millis, String> {
    let found = match Number::read(text) {
        Some(number) => epoch(&number),
        None => iso_8601(text),
    };
    found.ok_or_else(|| {
        format!(
            "{} is no instant; whole epoch milliseconds, epoch seconds below 1e11 or ISO 8601, \
             none finer than a millisecond, are allowed",
            shown(text)
        )
    })
}

fn epoch(number: &Number<'_>) -> Option<Millis> {
    let millis = |shift| i64::try_from(number.whole(shift)?).ok();
    // Whole in milliseconds after reading seconds, or whole as milliseconds: finer ones are whole in neither unit.
    match millis(3) {
        Some(value) if value.abs() < SECONDS_BELOW * 1000 => Some(Millis(value)),
        _ => millis(0)
            .filter(|value| value.abs() >= SECONDS_BELOW)
            .map(Millis),
    }
}

/// The instant of a number that can only be epoch milliseconds.
pub(super) fn plain_millis(number: i64) -> Option<Millis> {
    (number >= SECONDS_BELOW).then_some(Millis(number))
}

/// What is left to read of a timestamp.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    /// Exactly `count` digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.0 = rest;
        digits.parse().ok()
    }

    /// Exactly `count` digits that make a number up to `max`.
    fn digits_up_to(&mut self, count: usize, max: i64) -> Option<i64> {
        self.digits(count).filter(|&value| value <= max)
    }

    /// Whether one of `chars` came next; it is behind us then.
    fn eat(&mut self, chars: &[char]) -> Option<char> {
        let next = self.0.chars().next().filter(|next| chars.contains(next))?;
        self.0 = self.0.strip_prefix(next)?;
        Some(next)
    }
}

fn iso_8601(text: &str) -> Option<Millis> {
    let mut rest = Cursor(text);
    let year = rest.digits(4)?;
    rest.eat(&['-'])?;
    let month = rest.digits_up_to(2, 12).filter(|&month| month >= 1)?;
    rest.eat(&['-'])?;
    let day = rest
        .digits_up_to(2, days_in(year, month))
        .filter(|&day| day >= 1)?;
    let midnight = days_from_epoch(year, month, day) * Millis::DAY;
    if rest.0.is_empty() {
        return Some(Millis(midnight));
    }
    rest.eat(&['T', 't', ' '])?;
    let hour = rest.digits_up_to(2, 23)?;
    rest.eat(&[':'])?;
    let minute = rest.digits_up_to(2, 59)?;
    let mut milli = 0;
    if rest.eat(&[':']).is_some() {
        milli = 1000 * rest.digits_up_to(2, 59)?;
        if rest.eat(&['.', ',']).is_some() {
            milli += thousandths(&mut rest)?;
        }
    }
    let ahead = zone(&mut rest)?;
    rest.0.is_empty().then_some(Millis(
        midnight + (hour * 60 + minute - ahead) * Millis::MINUTE + milli,
    ))
}

/// A fraction of a second in milliseconds; zeros may follow, other digits may not.
fn thousandths(rest: &mut Cursor<'_>) -> Option<i64> {
    let mut unit = 100;
    let mut milli = 0;
    let mut any = false;
    while let Some(digit) = rest.digits(1) {
        if unit == 0 && digit != 0 {
            return None;
        }
        milli += digit * unit;
        unit /= 10;
        any = true;
    }
    any.then_some(milli)
}

/// Minutes by which the zone is ahead of UTC.
fn zone(rest: &mut Cursor<'_>) -> Option<i64> {
    match rest.eat(&['Z', 'z', '+', '-']) {
        Some(sign @ ('+' | '-')) => {
            let hours = rest.digits_up_to(2, 23)?;
            let colon = rest.eat(&[':']).is_some();
            let minutes = if colon || !rest.0.is_empty() {
                rest.digits_up_to(2, 59)?
            } else {
                0
            };
            let ahead = hours * 60 + minutes;
            Some(if sign == '-' { -ahead } else { ahead })
        }
        _ => Some(0),
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Howard Hinnant's days-from-civil: exact for the proleptic Gregorian calendar.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let yoe = year.rem_euclid(400);
    let mp = (month + 9) % 12;
    let doy = (153 * mp + 2) / 5 + day - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    era * 146_097 + doe - 719_468
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
