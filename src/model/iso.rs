//! Reading instants that people and other programs write.

use super::Millis;

impl Millis {
    /// What [`Millis::read_iso`] takes, as a sentence.
    pub const ISO: &'static str =
        "an ISO 8601 date or time such as 2026-06-11 or 2026-06-11T00:00:00Z";

    /// The instant an ISO 8601 text names: a date, or a date and a time with `Z`, an offset, or neither (UTC).
    ///
    /// A fraction finer than a millisecond is taken down to the millisecond it lies in: every instant of the data is a
    /// whole millisecond, so nothing can lie between the two.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::Millis;
    ///
    /// assert_eq!(Millis::read_iso("2026-06-11"), Some(Millis(1_781_136_000_000)));
    /// assert_eq!(Millis::read_iso("2026-06-11T02:00:00.5+02:00"), Some(Millis(1_781_136_000_500)));
    /// assert_eq!(Millis::read_iso("2026-02-30"), None);
    /// ```
    #[must_use]
    pub fn read_iso(text: &str) -> Option<Self> {
        let mut rest = Rest(text);
        let year = rest.digits(4)?;
        rest.byte(b'-')?;
        let month = rest.digits(2)?;
        rest.byte(b'-')?;
        let day = rest.digits(2)?;
        let days = days_of(year, month, day)?;
        let mut millis = days * Self::DAY;
        if !rest.0.is_empty() {
            rest.byte(b'T')
                .or_else(|| rest.byte(b't'))
                .or_else(|| rest.byte(b' '))?;
            millis += rest.time_of_day()?;
            millis -= rest.offset()?;
        }
        rest.0.is_empty().then_some(Self(millis))
    }
}

/// What is left to read of a text.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn byte(&mut self, wanted: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(char::from(wanted))?;
        Some(())
    }

    /// The number that the next `count` digits spell.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (head, tail) = self.0.split_at_checked(count)?;
        if !head.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.0 = tail;
        head.parse().ok()
    }

    /// `HH:MM`, `HH:MM:SS` or `HH:MM:SS.f`, in milliseconds.
    fn time_of_day(&mut self) -> Option<i64> {
        let hour = self.digits(2).filter(|hour| *hour < 24)?;
        self.byte(b':')?;
        let minute = self.digits(2).filter(|minute| *minute < 60)?;
        let mut millis = hour * Millis::HOUR + minute * Millis::MINUTE;
        if self.byte(b':').is_some() {
            millis += self.digits(2).filter(|second| *second < 60)? * 1000;
            if self.byte(b'.').or_else(|| self.byte(b',')).is_some() {
                millis += self.fraction()?;
            }
        }
        Some(millis)
    }

    /// The milliseconds of at least one digit behind the point.
    fn fraction(&mut self) -> Option<i64> {
        let mut millis = 0;
        let mut unit = 100;
        let mut any = false;
        while let Some(digit) = self.digits(1) {
            millis += digit * unit;
            unit /= 10;
            any = true;
        }
        any.then_some(millis)
    }

    /// `Z`, nothing, `±HH`, `±HHMM` or `±HH:MM`, in milliseconds east of Greenwich.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.byte(b'Z').or_else(|| self.byte(b'z')).is_some() {
            return Some(0);
        }
        let sign = match self.byte(b'+') {
            Some(()) => 1,
            None => self.byte(b'-').map(|()| -1)?,
        };
        let hours = self.digits(2).filter(|hours| *hours < 24)?;
        let minutes = if self.0.is_empty() {
            0
        } else {
            let _ = self.byte(b':');
            self.digits(2).filter(|minutes| *minutes < 60)?
        };
        Some(sign * (hours * Millis::HOUR + minutes * Millis::MINUTE))
    }
}

/// Days since 1970-01-01 of a date that exists, else `None`.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Howard Hinnant's days-from-civil: exact for the proleptic Gregorian calendar.
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let yoe = year.rem_euclid(400);
    let doy = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    Some(era * 146_097 + doe - 719_468)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        ] {
            assert_eq!(Millis::read_iso(text), None, "{text}");
        }
    }
}
