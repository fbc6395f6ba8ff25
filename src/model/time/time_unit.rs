//! Time units of epoch numbers, which are recognised by the size of the number.

use std::fmt;

use crate::model::{Millis, Vocabulary};

/// The unit of an epoch number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds since 1970.
    Seconds,
    /// Milliseconds since 1970.
    Milliseconds,
    /// Microseconds since 1970.
    Microseconds,
    /// Nanoseconds since 1970.
    Nanoseconds,
}

impl TimeUnit {
    /// Smallest number that is recognised as seconds: a day in 2001.
    const SECONDS: i64 = 1_000_000_000;
    /// Smallest number that is recognised as milliseconds: a day in 1973.
    const MILLISECONDS: i64 = 100_000_000_000;
    const MICROSECONDS: i64 = Self::MILLISECONDS * 1000;
    const NANOSECONDS: i64 = Self::MICROSECONDS * 1000;

    /// The unit that the size of `number` indicates. `None` below 1e9, where every unit would give a time before all
    /// data.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::TimeUnit;
    ///
    /// assert_eq!(TimeUnit::of(1_790_000_000), Some(TimeUnit::Seconds));
    /// assert_eq!(TimeUnit::of(1_790_000_000_000_000), Some(TimeUnit::Microseconds));
    /// assert_eq!(TimeUnit::of(0), None);
    /// ```
    #[must_use]
    pub const fn of(number: i64) -> Option<Self> {
        match number {
            Self::NANOSECONDS.. => Some(Self::Nanoseconds),
            Self::MICROSECONDS.. => Some(Self::Microseconds),
            Self::MILLISECONDS.. => Some(Self::Milliseconds),
            Self::SECONDS.. => Some(Self::Seconds),
            _ => None,
        }
    }

    /// Converts `number` of this unit to milliseconds, rounded down; `None` outside the years 1 to 9999.
    #[must_use]
    pub fn millis(self, number: i64) -> Option<Millis> {
        let millis = match self {
            Self::Seconds => number.checked_mul(1000)?,
            Self::Milliseconds => number,
            Self::Microseconds => number.div_euclid(1000),
            Self::Nanoseconds => number.div_euclid(1_000_000),
        };
        Millis::of_calendar(millis)
    }
}

impl Vocabulary for TimeUnit {
    const ALL: &'static [Self] = &[
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::time::time_unit::*;

    #[test]
    fn an_instant_of_today_is_recognised_in_every_unit() {
        let at = 1_781_135_954_140_i64;
        for (number, unit, millis) in [
            (at / 1000, TimeUnit::Seconds, at / 1000 * 1000),
            (at, TimeUnit::Milliseconds, at),
            (at * 1000 + 999, TimeUnit::Microseconds, at),
            (at * 1_000_000 + 999_999, TimeUnit::Nanoseconds, at),
        ] {
            assert_eq!(TimeUnit::of(number), Some(unit));
            assert_eq!(unit.millis(number), Some(Millis(millis)));
        }
    }

    #[test]
    fn a_unit_begins_where_the_one_before_it_ends() {
        use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
        for (least, before, unit) in [
            (1_000_000_000, None, Seconds),
            (100_000_000_000, Some(Seconds), Milliseconds),
            (100_000_000_000_000, Some(Milliseconds), Microseconds),
            (100_000_000_000_000_000, Some(Microseconds), Nanoseconds),
        ] {
            assert_eq!(TimeUnit::of(least - 1), before);
            assert_eq!(TimeUnit::of(least), Some(unit));
        }
        assert_eq!(TimeUnit::of(-1_781_135_954_140), None);
        assert_eq!(TimeUnit::of(i64::MAX), Some(Nanoseconds));
        assert_eq!(Seconds.millis(i64::MAX), None);
        assert_eq!(Milliseconds.millis(253_402_300_800_000), None);
    }
}
