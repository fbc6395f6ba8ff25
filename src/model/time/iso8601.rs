//! Parses instants and durations in ISO 8601 text.
//!
//! Calendar arithmetic uses the crate chrono, which Arrow depends on anyway. The parsers of chrono are not used,
//! because they accept more than ISO 8601.

use chrono::{NaiveDate, NaiveTime, Weekday};

use crate::model::Millis;

/// Minimum number of digits of epoch milliseconds; shorter numbers may be a year, a date or seconds.
const EPOCH_LENGTH: usize = 12;

impl Millis {
    /// Describes what [`Millis::read_iso`] accepts.
    pub const ISO: &'static str =
        "an ISO 8601 date or time such as 2026-06-11 or 2026-06-11T00:00:00Z";

    /// Parses epoch milliseconds of at least twelve digits, or [ISO 8601](Self::read_iso).
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Self::read_iso(text);
        }
        let long = digits.len() >= EPOCH_LENGTH;
        text.parse().ok().filter(|_| long).map(Self)
    }

    /// Parses ISO 8601: a calendar or week date, optionally with a time and `Z` or an offset. The default is UTC.
    ///
    /// Hyphens and colons are optional. But twelve bare digits are not a date, because [`Millis::read`] takes them as
    /// epoch milliseconds. Date and time are separated by `T`, a space or `_`.
    ///
    /// Fractions finer than a millisecond are truncated, because all instants of this package are whole milliseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::Millis;
    ///
    /// assert_eq!(Millis::read_iso("2026-06-11"), Some(Millis(1_781_136_000_000)));
    /// assert_eq!(Millis::read_iso("2026-W24-4"), Some(Millis(1_781_136_000_000)));
    /// assert_eq!(Millis::read_iso("2026-06-11T02:00:00.5+02:00"), Some(Millis(1_781_136_000_500)));
    /// assert_eq!(Millis::read_iso("2026-02-30"), None);
    /// ```
    #[must_use]
    pub fn read_iso(text: &str) -> Option<Self> {
        Some(iso(text)?.0)
    }

    /// Like [`Millis::read_iso`], but `None` if the text has a fraction finer than a millisecond.
    #[must_use]
    pub fn read_whole_iso(text: &str) -> Option<Self> {
        iso(text)
            .filter(|(_, finer)| !finer)
            .map(|(instant, _)| instant)
    }
}

/// Parses a duration such as `5m`, `4h` or `1d` to milliseconds. The names of pandas, such as `5T` and `1H`, work too.
///
/// # Examples
///
/// ```
/// use liqdata::model::read_span;
///
/// assert_eq!(read_span("5m"), Some(300_000));
/// assert_eq!(read_span("5T"), read_span("5min"));
/// assert_eq!(read_span("5 minutes"), None);
/// ```
#[must_use]
pub fn read_span(text: &str) -> Option<i64> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "ms" => 1,
        "s" | "S" => 1000,
        "m" | "min" | "T" => Millis::MINUTE,
        "h" | "H" => Millis::HOUR,
        "d" | "D" => Millis::DAY,
        "w" | "W" => 7 * Millis::DAY,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit)
}

/// The instant of an ISO 8601 text, and whether the text is finer than a millisecond.
fn iso(text: &str) -> Option<(Millis, bool)> {
    let mut rest = Rest(text);
    let date = rest.date()?.and_time(NaiveTime::MIN).and_utc();
    let mut millis = date.timestamp_millis();
    let mut finer = false;
    if !rest.0.is_empty() {
        rest.0 = rest.0.strip_prefix(['T', 't', ' ', '_'])?;
        millis += rest.time_of_day(&mut finer)?;
        millis -= rest.offset()?;
    }
    rest.0.is_empty().then_some((Millis(millis), finer))
}

/// The part of a text that is not parsed yet.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn eat(&mut self, wanted: &[char]) -> bool {
        let rest = self.0.strip_prefix(wanted);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn digit_is_next(&self) -> bool {
        self.0.starts_with(|next: char| next.is_ascii_digit())
    }

    /// Reads a number of exactly `count` digits and a value of at most `most`.
    fn digits(&mut self, count: usize, most: u32) -> Option<u32> {
        let (head, tail) = self.0.split_at_checked(count)?;
        if !head.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.0 = tail;
        head.parse().ok().filter(|number| *number <= most)
    }

    /// Reads `YYYY-MM-DD`, `YYYY-Www-D` or `YYYY-Www`, with or without hyphens.
    fn date(&mut self) -> Option<NaiveDate> {
        let year = self.digits(4, 9999)?.cast_signed();
        let hyphens = self.eat(&['-']);
        if self.eat(&['W']) {
            let week = self.digits(2, 53)?;
            let day = if hyphens && self.eat(&['-']) || !hyphens && self.digit_is_next() {
                self.digits(1, 7)?.checked_sub(1)?
            } else {
                0
            };
            return NaiveDate::from_isoywd_opt(
                year,
                week,
                Weekday::try_from(u8::try_from(day).ok()?).ok()?,
            );
        }
        let month = self.digits(2, 12)?;
        if hyphens && !self.eat(&['-']) {
            return None;
        }
        NaiveDate::from_ymd_opt(year, month, self.digits(2, 31)?)
    }

    /// Reads `HH`, `HH:MM` or `HH:MM:SS`, with or without colons. Returns milliseconds, and whether seconds were
    /// given.
    fn clock(&mut self) -> Option<(i64, bool)> {
        let mut millis = i64::from(self.digits(2, 23)?) * Millis::HOUR;
        let colons = self.0.starts_with(':');
        for unit in [Millis::MINUTE, 1000] {
            let more = if colons {
                self.eat(&[':'])
            } else {
                self.digit_is_next()
            };
            if !more {
                return Some((millis, false));
            }
            millis += i64::from(self.digits(2, 59)?) * unit;
        }
        Some((millis, true))
    }

    /// Reads a time of day in milliseconds; seconds may have a fraction.
    fn time_of_day(&mut self, finer: &mut bool) -> Option<i64> {
        let (mut millis, seconds) = self.clock()?;
        if seconds && self.eat(&['.', ',']) {
            let mut unit = 100;
            let mut digit = self.digits(1, 9)?;
            loop {
                millis += i64::from(digit) * unit;
                *finer |= unit == 0 && digit != 0;
                unit /= 10;
                if !self.digit_is_next() {
                    break;
                }
                digit = self.digits(1, 9)?;
            }
        }
        Some(millis)
    }

    /// Reads `Z`, nothing, or a signed offset. Returns milliseconds east of Greenwich. A space may precede the sign.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.eat(&['Z', 'z']) {
            return Some(0);
        }
        self.eat(&[' ']);
        if self.eat(&['+']) {
            return Some(self.clock()?.0);
        }
        let west = self.eat(&['-']);
        let (millis, _) = self.clock().filter(|_| west)?;
        Some(-millis)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::model::time::iso8601::*;

    proptest! {
        #[test]
        fn every_instant_of_four_digit_years_reads_back(millis in -62_167_219_200_000_i64..=253_402_300_799_999) {
            prop_assert_eq!(Millis::read_iso(&Millis(millis).to_string()), Some(Millis(millis)));
        }
    }

    #[test]
    fn the_forms_of_one_instant_agree() {
        for text in [
            "2026-06-11",
            "2026-06-11T00:00",
            "2026-06-11 00:00:00",
            "2026-06-11T00:00:00Z",
            "2026-06-11t00:00:00.000z",
            "2026-06-11T00:00:00.000999",
            "2026-06-11T05:30:00+05:30",
            "2026-06-11T05:30:00+0530",
            "2026-06-10T19:00:00-05",
            "2026-06-11T00",
            "2026-06-11 00:00:00 +00:00",
            "2026-06-11_00:00",
            "20260611",
            "20260611T000000Z",
            "2026-W24-4",
            "2026W244",
            "2026-W24-4T02:00+02:00",
            "2026W244T05+05",
            "2026-06-11T00:00:30.000+00:00:30",
        ] {
            assert_eq!(
                Millis::read_iso(text),
                Some(Millis(1_781_136_000_000)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_instant_is_none() {
        for text in [
            "",
            "2026",
            "2026-06",
            "2026-6-11",
            "2026-13-01",
            "2026-00-01",
            "2026-02-29",
            "2026-06-31",
            "2026-06-11T",
            "2026-06-11T24:00",
            "2026-06-11T00:60",
            "2026-06-11T00:00:60",
            "2026-06-11T00:00:00.",
            "2026-06-11T00:00:00+",
            "2026-06-11T00:00:00+5",
            "2026-06-11T00:00:00+05:",
            "2026-06-11T00:00:00 00:00",
            "2026-06-11T00:00:00Zx",
            "2026-06-11Z",
            " 2026-06-11",
            "+2026-06-11",
            "２０２６-06-11",
            "now",
            "2026-W54-1",
            "2025-W53-1",
            "2026-W24-0",
            "2026-W24-8",
            "2026-W24-",
            "2026-0611",
            "202606-11",
            "2026-06-11T0000:00",
            "2026-06-11T00:0000",
            "2026-06-11T00:00,5",
            "2026-06-11+02:00",
            "2026-06-11T00:00+24:00",
            "2026-06-11T00:00:00  +02:00",
            "2026-06-11T00:00:00 ",
        ] {
            assert_eq!(Millis::read_iso(text), None, "{text}");
        }
    }

    #[test]
    fn a_week_begins_on_its_monday() {
        assert_eq!(Millis::read_iso("2026-W24"), Millis::read_iso("2026-06-08"));
        assert_eq!(Millis::read_iso("2020W53"), Millis::read_iso("2020-12-28"));
        assert_eq!(
            Millis::read_iso("2020-W53-7"),
            Millis::read_iso("2021-01-03")
        );
    }

    #[test]
    fn digits_alone_are_epoch_milliseconds_where_they_are_enough() {
        assert_eq!(
            Millis::read("1781136000000"),
            Some(Millis(1_781_136_000_000))
        );
        assert_eq!(
            Millis::read("-100000000000"),
            Some(Millis(-100_000_000_000))
        );
        assert_eq!(Millis::read("2026-06-11"), Some(Millis(1_781_136_000_000)));
        for text in [
            "",
            "-",
            "2026",
            "20260611",
            "1781136000",
            "99999999999999999999",
            "1e12",
        ] {
            assert_eq!(Millis::read(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_whole_millisecond_is_whole() {
        assert_eq!(
            Millis::read_whole_iso("2026-06-11T00:00:00.250000"),
            Some(Millis(1_781_136_000_250))
        );
        assert_eq!(Millis::read_whole_iso("2026-06-11T00:00:00.2500001"), None);
    }

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        for (text, millis) in [
            ("250ms", 250),
            ("90s", 90_000),
            ("5m", 300_000),
            ("5min", 300_000),
            ("4h", 4 * Millis::HOUR),
            ("1d", Millis::DAY),
            ("2w", 14 * Millis::DAY),
            ("0m", 0),
        ] {
            assert_eq!(read_span(text), Some(millis), "{text}");
        }
        for text in [
            "",
            "5",
            "m",
            "5 m",
            "-5m",
            "5.5m",
            "1M",
            "99999999999999d",
            "٥m",
        ] {
            assert_eq!(read_span(text), None, "{text}");
        }
    }
}
