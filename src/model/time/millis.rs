//! Instants, and fixed sets of named time ranges.

use std::fmt;

use chrono::{DateTime, Datelike, Timelike};
use serde::{Deserialize, Serialize, Serializer};

/// An instant in Unix epoch milliseconds (UTC).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// Milliseconds in a minute.
    pub const MINUTE: i64 = 60_000;
    /// Milliseconds in an hour.
    pub const HOUR: i64 = 3_600_000;
    /// Milliseconds in a day.
    pub const DAY: i64 = 86_400_000;
    /// Length that stands for an unbounded range, in milliseconds; longer than any data.
    pub const ALL: i64 = 365_000 * Self::DAY;
    /// The instants of the years 1 to 9999, which Python's datetime can represent.
    pub const CALENDAR: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

    /// The instant of `millis`; `None` outside the years 1 to 9999.
    #[must_use]
    pub fn of_calendar(millis: i64) -> Option<Self> {
        Self::CALENDAR.contains(&millis).then_some(Self(millis))
    }

    /// This instant minus `by` milliseconds; saturates at the limits of `i64`.
    #[must_use]
    pub fn back(self, by: i64) -> Self {
        Self(self.0.saturating_sub(by))
    }

    /// This instant plus `by` milliseconds; saturates at the limits of `i64`.
    #[must_use]
    pub fn on(self, by: i64) -> Self {
        Self(self.0.saturating_add(by))
    }

    /// The start of the UTC hour that contains this instant.
    #[must_use]
    pub fn hour(self) -> Self {
        Self(self.0.div_euclid(Self::HOUR).saturating_mul(Self::HOUR))
    }
}

impl fmt::Display for Millis {
    /// Writes ISO 8601 in UTC with milliseconds; a plain number of milliseconds outside the years 0 to 9999.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(at) =
            DateTime::from_timestamp_millis(self.0).filter(|at| (0..=9999).contains(&at.year()))
        else {
            return write!(f, "{} ms", self.0);
        };
        let (year, month, day) = (at.year(), at.month(), at.day());
        let (hour, minute, second) = (at.hour(), at.minute(), at.second());
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        )?;
        let milli = at.timestamp_subsec_millis();
        if milli != 0 {
            write!(f, ".{milli:03}")?;
        }
        f.write_str("Z")
    }
}

/// A fixed set of names, with the spelling and order of the API contract.
pub trait Vocabulary: Copy + PartialEq + 'static {
    /// All members in the order of the contract.
    const ALL: &'static [Self];

    /// The name in the contract.
    fn name(self) -> &'static str;

    /// An alternative spelling that is accepted but never written.
    fn alias(self) -> Option<&'static str> {
        None
    }

    /// Where a value of the same kind that is no member can be had, for messages.
    fn otherwise() -> Option<&'static str> {
        None
    }

    /// The member with exactly this name or alternative spelling.
    fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|member| member.name() == text || member.alias() == Some(text))
    }

    /// All spellings for a message: `"1h", "4h", "12h", "24h" or "1d"`.
    #[must_use]
    fn spellings() -> String {
        let names: Vec<String> = Self::ALL
            .iter()
            .flat_map(|member| [Some(member.name()), member.alias()])
            .flatten()
            .map(|name| format!("{name:?}"))
            .collect();
        match names.as_slice() {
            [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            names => names.concat(),
        }
    }
}

macro_rules! ranges {
    ($(#[$doc:meta])* $type:ident $(otherwise $otherwise:literal)? { $($(#[$variant_doc:meta])* $variant:ident = $name:literal $(or $alias:literal)?, $millis:expr;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $type {
            /// The length in milliseconds.
            #[must_use]
            pub fn millis(self) -> i64 {
                match self {
                    $(Self::$variant => $millis,)+
                }
            }
        }

        impl Vocabulary for $type {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            fn alias(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => None $(.or(Some($alias)))?,)+
                }
            }

            fn otherwise() -> Option<&'static str> {
                None $(.or(Some($otherwise)))?
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

ranges! {
    /// The rolling window of a total of liquidation orders.
    Window otherwise "history has the totals of any other period" {
        /// One hour.
        H1 = "1h", Millis::HOUR;
        /// Four hours.
        H4 = "4h", 4 * Millis::HOUR;
        /// Twelve hours.
        H12 = "12h", 12 * Millis::HOUR;
        /// Twenty-four hours.
        H24 = "24h" or "1d", 24 * Millis::HOUR;
    }
}

ranges! {
    /// The time range of totals, rankings and coverage; it ends now.
    ///
    /// The API contract has the four [windows](Window). Longer ranges are extensions.
    TotalsRange otherwise "start and end select any other period" {
        /// One hour.
        H1 = "1h", Millis::HOUR;
        /// Four hours.
        H4 = "4h", 4 * Millis::HOUR;
        /// Twelve hours.
        H12 = "12h", 12 * Millis::HOUR;
        /// Twenty-four hours.
        H24 = "24h" or "1d", Millis::DAY;
        /// Three days.
        D3 = "3d", 3 * Millis::DAY;
        /// Seven days.
        D7 = "7d" or "1w", 7 * Millis::DAY;
        /// Thirty days.
        M1 = "1M" or "30d", 30 * Millis::DAY;
        /// Ninety days.
        M3 = "3M", 90 * Millis::DAY;
        /// 180 days.
        M6 = "6M", 180 * Millis::DAY;
        /// 365 days.
        Y1 = "1y", 365 * Millis::DAY;
    }
}

impl TotalsRange {
    /// The window of the same length, if there is one.
    #[must_use]
    pub fn window(self) -> Option<Window> {
        Window::parse(self.name())
    }
}

ranges! {
    /// The range of a heatmap: it shows positions that were opened within this time.
    ///
    /// The API contract has ranges of up to a month. Longer ranges are extensions.
    HeatmapRange {
        /// Twelve hours.
        H12 = "12h", 12 * Millis::HOUR;
        /// Twenty-four hours.
        H24 = "24h" or "1d", Millis::DAY;
        /// Three days.
        D3 = "3d", 3 * Millis::DAY;
        /// Seven days.
        D7 = "7d" or "1w", 7 * Millis::DAY;
        /// Thirty days.
        M1 = "1M" or "30d", 30 * Millis::DAY;
        /// Ninety days.
        M3 = "3M", 90 * Millis::DAY;
        /// 180 days.
        M6 = "6M", 180 * Millis::DAY;
        /// 365 days.
        Y1 = "1y", 365 * Millis::DAY;
        /// Since the start of the data.
        All = "all", Millis::ALL;
    }
}

ranges! {
    /// The range of a liquidation map: it shows positions that were opened within this time.
    ///
    /// The API contract has a day and a week. The other ranges are extensions, so that every heatmap has a map of the
    /// same range.
    MapRange {
        /// One day.
        D1 = "1d" or "24h", Millis::DAY;
        /// Seven days.
        D7 = "7d" or "1w", 7 * Millis::DAY;
        /// Twelve hours.
        H12 = "12h", 12 * Millis::HOUR;
        /// Three days.
        D3 = "3d", 3 * Millis::DAY;
        /// Thirty days.
        M1 = "1M" or "30d", 30 * Millis::DAY;
        /// Ninety days.
        M3 = "3M", 90 * Millis::DAY;
        /// 180 days.
        M6 = "6M", 180 * Millis::DAY;
        /// 365 days.
        Y1 = "1y", 365 * Millis::DAY;
        /// Since the start of the data.
        All = "all", Millis::ALL;
    }
}

#[cfg(test)]
mod tests {
    use crate::model::time::millis::*;

    #[test]
    fn an_instant_reads_as_iso_8601() {
        assert_eq!(Millis(0).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(
            Millis(1_781_136_000_000).to_string(),
            "2026-06-11T00:00:00Z"
        );
        assert_eq!(
            Millis(951_782_400_123).to_string(),
            "2000-02-29T00:00:00.123Z"
        );
        assert_eq!(Millis(-1).to_string(), "1969-12-31T23:59:59.999Z");
        assert_eq!(Millis(i64::MAX).to_string(), format!("{} ms", i64::MAX));
    }

    #[test]
    fn every_spelling_parses_to_itself_and_nothing_else_does() {
        for &range in HeatmapRange::ALL {
            assert_eq!(HeatmapRange::parse(range.name()), Some(range));
        }
        assert_eq!(HeatmapRange::parse("1m"), None);
        let spellings = r#""1h", "4h", "12h", "24h" or "1d""#;
        assert_eq!(Window::spellings(), spellings);
    }

    #[test]
    fn lengths_that_are_the_same_are_understood_by_either_name_and_written_by_the_contracts() {
        for (text, name) in [("1d", "24h"), ("1w", "7d"), ("30d", "1M")] {
            let range = HeatmapRange::parse(text).map(HeatmapRange::name);
            assert_eq!(range, Some(name));
        }
        assert_eq!(MapRange::parse("24h").map(MapRange::name), Some("1d"));
        assert_eq!(Window::parse("1d").map(Window::name), Some("24h"));
        for &range in MapRange::ALL {
            let same = HeatmapRange::parse(range.name()).map(HeatmapRange::millis);
            assert_eq!(same, Some(range.millis()));
        }
    }

    #[test]
    fn hours_start_on_the_hour_before_1970_too() {
        assert_eq!(Millis(3_600_001).hour(), Millis(3_600_000));
        assert_eq!(Millis(-1).hour(), Millis(-3_600_000));
    }
}
