//! Lengths of the periods by which rows are summed, and where the periods begin.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate};

use crate::model::time::millis::Millis;

/// Number of months in a year.
const YEAR: i64 = 12;
/// Lengths of months in milliseconds.
const MONTHS: std::ops::RangeInclusive<i64> = 28 * Millis::DAY..=31 * Millis::DAY;

/// The length of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeriodLength {
    /// So many milliseconds, above zero. Whole weeks begin on Mondays, other periods at multiples of their length since
    /// 1970, UTC.
    Fixed(i64),
    /// A calendar month, UTC.
    Month,
}

impl PeriodLength {
    /// Milliseconds in a week.
    const WEEK: i64 = 7 * Millis::DAY;
    /// The first Monday of 1970.
    const MONDAY: i64 = 4 * Millis::DAY;

    /// The instant at which the period number 0 of a fixed length begins.
    fn phase(length: i64) -> i64 {
        if length % Self::WEEK == 0 {
            Self::MONDAY
        } else {
            0
        }
    }

    /// The number of the period that contains an instant.
    #[must_use]
    pub fn number(self, at: Millis) -> i64 {
        match self {
            Self::Fixed(length) => {
                let since = at.back(Self::phase(length)).0;
                since.checked_div_euclid(length).unwrap_or_default()
            }
            Self::Month => DateTime::from_timestamp_millis(at.0).map_or_else(
                || if at.0 < 0 { i64::MIN } else { i64::MAX },
                |at| i64::from(at.year()) * YEAR + i64::from(at.month0()),
            ),
        }
    }

    /// The start of the period of a number.
    #[must_use]
    pub fn start(self, number: i64) -> Millis {
        match self {
            Self::Fixed(length) => Millis(number.saturating_mul(length)).on(Self::phase(length)),
            Self::Month => {
                let year = i32::try_from(number.div_euclid(YEAR)).ok();
                let month = u32::try_from(number.rem_euclid(YEAR)).ok();
                let date = year
                    .zip(month)
                    .and_then(|(year, month)| NaiveDate::from_ymd_opt(year, month + 1, 1));
                let date = date.map(|date| date.and_time(chrono::NaiveTime::MIN).and_utc());
                Millis(
                    date.map_or(if number < 0 { i64::MIN } else { i64::MAX }, |date| {
                        date.timestamp_millis()
                    }),
                )
            }
        }
    }

    /// The start of the period that contains an instant.
    #[must_use]
    pub fn open(self, at: Millis) -> Millis {
        self.start(self.number(at))
    }

    /// The end of the period that contains an instant.
    #[must_use]
    pub fn close(self, at: Millis) -> Millis {
        self.start(self.number(at).saturating_add(1))
    }

    /// Whether bars of so many milliseconds can make up a period.
    #[must_use]
    pub fn is_made_of(self, length: i64) -> bool {
        length > 0
            && match self {
                Self::Fixed(size) => size > 0 && size % length == 0,
                Self::Month => Millis::DAY % length == 0 || MONTHS.contains(&length),
            }
    }
}

impl fmt::Display for PeriodLength {
    /// Writes milliseconds, or `1M`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(length) => length.fmt(f),
            Self::Month => f.write_str("1M"),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(date: &str) -> Millis {
        let date: NaiveDate = date.parse().unwrap();
        let start = date.and_time(chrono::NaiveTime::MIN).and_utc();
        Millis(start.timestamp_millis())
    }

    #[test]
    fn weeks_begin_on_mondays_months_on_their_first_day_and_days_at_midnight() {
        let week = PeriodLength::Fixed(PeriodLength::WEEK);
        let month = PeriodLength::Month;
        let thirty = PeriodLength::Fixed(30 * Millis::DAY);
        for (length, inside, open, close) in [
            (week, "2026-11-29", "2026-11-23", "2026-11-30"),
            (week, "2026-11-30", "2026-11-30", "2026-12-07"),
            (week, "1969-12-31", "1969-12-29", "1970-01-05"),
            (month, "2024-02-29", "2024-02-01", "2024-03-01"),
            (month, "2026-12-31", "2026-12-01", "2027-01-01"),
            (month, "1969-12-31", "1969-12-01", "1970-01-01"),
            (thirty, "1970-02-01", "1970-01-31", "1970-03-02"),
        ] {
            assert_eq!(length.open(at(inside)), at(open), "{length:?} {inside}");
            assert_eq!(length.close(at(inside)), at(close), "{length:?} {inside}");
        }
    }

    proptest! {
        #[test]
        fn a_period_contains_its_instants_and_the_next_one_begins_at_its_end(
            at in Millis::CALENDAR,
            length in prop_oneof![
                Just(PeriodLength::Month),
                (1..=366 * 24 * 60_i64).prop_map(|minutes| PeriodLength::Fixed(minutes * Millis::MINUTE)),
            ],
        ) {
            let at = Millis(at);
            let (open, close) = (length.open(at), length.close(at));
            prop_assert!(open <= at && at < close);
            prop_assert_eq!(length.open(close.back(1)), open);
            prop_assert_eq!(length.open(close), close);
        }
    }
}
