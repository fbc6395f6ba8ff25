//! Half-open time ranges.

use super::millis::Millis;

/// A time range: the instants from `start` on and before `end`.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Millis, TimeRange};
///
/// let hour = TimeRange::new(Millis(0), Millis(Millis::HOUR));
/// assert!(hour.contains(Millis(0)) && !hour.contains(Millis(Millis::HOUR)));
/// assert_eq!(TimeRange::bounded(None, None), TimeRange::ALL);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeRange {
    /// The first instant of the range; the minimum of `i64` for [`TimeRange::ALL`].
    pub start: Millis,
    /// The first instant after the range; the maximum of `i64` for [`TimeRange::ALL`].
    pub end: Millis,
}

impl TimeRange {
    /// The range without bounds.
    pub const ALL: Self = Self::new(Millis(i64::MIN), Millis(i64::MAX));

    /// The range from `start` on and before `end`; empty unless `start` is before `end`.
    #[must_use]
    pub const fn new(start: Millis, end: Millis) -> Self {
        Self { start, end }
    }

    /// The range between two bounds; an absent bound means no limit.
    #[must_use]
    pub fn bounded(start: Option<Millis>, end: Option<Millis>) -> Self {
        Self {
            start: start.unwrap_or(Self::ALL.start),
            end: end.unwrap_or(Self::ALL.end),
        }
    }

    /// The start, or `None` if the range has no lower bound.
    #[must_use]
    pub fn lower_bound(self) -> Option<Millis> {
        (self.start != Self::ALL.start).then_some(self.start)
    }

    /// The end, or `None` if the range has no upper bound.
    #[must_use]
    pub fn upper_bound(self) -> Option<Millis> {
        (self.end != Self::ALL.end).then_some(self.end)
    }

    /// Whether no instant lies in the range.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether `at` lies in the range.
    #[must_use]
    pub fn contains(self, at: Millis) -> bool {
        self.start <= at && at < self.end
    }

    /// The length in milliseconds; 0 if the range is empty.
    #[must_use]
    pub fn length(self) -> i64 {
        self.end.0.saturating_sub(self.start.0).max(0)
    }

    /// The instants that lie in both ranges.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self {
            start: self.start.max(other.start),
            end: self.end.min(other.end),
        }
    }

    /// The union of `ranges` as disjoint ranges, sorted by start.
    #[must_use]
    pub fn merged(ranges: &[Self]) -> Vec<Self> {
        let ranges = ranges.iter().copied();
        let mut ranges: Vec<Self> = ranges.filter(|range| !range.is_empty()).collect();
        ranges.sort_unstable();
        let mut all: Vec<Self> = Vec::new();
        for range in ranges {
            match all.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => all.push(range),
            }
        }
        all
    }
}

/// A bound of a time range: an instant, or a time before now.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Millis, TimeBound};
///
/// let now = Millis(1_781_136_000_000);
/// assert_eq!(TimeBound::Ago(Millis::DAY).at(now), now.back(Millis::DAY));
/// assert_eq!(TimeBound::At(Millis(7)).at(now), Millis(7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBound {
    /// An instant.
    At(Millis),
    /// So many milliseconds before now.
    Ago(i64),
}

impl TimeBound {
    /// The instant that is meant at `now`.
    #[must_use]
    pub fn at(self, now: Millis) -> Millis {
        match self {
            Self::At(at) => at,
            Self::Ago(length) => now.back(length),
        }
    }
}

impl TimeRange {
    /// The range between two bounds, each of which may be missing, as meant at `now`.
    #[must_use]
    pub fn bounded_at(start: Option<TimeBound>, end: Option<TimeBound>, now: Millis) -> Self {
        Self::bounded(start.map(|start| start.at(now)), end.map(|end| end.at(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange::new(Millis(start), Millis(end))
    }

    #[test]
    fn a_range_contains_its_start_and_not_its_end() {
        assert!(range(5, 9).contains(Millis(5)));
        assert!(!range(5, 9).contains(Millis(9)));
        assert_eq!(range(5, 9).length(), 4);
        for empty in [range(5, 5), range(9, 5)] {
            assert!(empty.is_empty() && empty.length() == 0, "{empty:?}");
        }
    }

    #[test]
    fn a_missing_bound_is_none_again() {
        let from = TimeRange::bounded(Some(Millis(5)), None);
        assert_eq!(
            (from.lower_bound(), from.upper_bound()),
            (Some(Millis(5)), None)
        );
        assert_eq!(TimeRange::ALL.length(), i64::MAX);
    }

    #[test]
    fn an_intersection_is_empty_where_ranges_only_touch() {
        assert_eq!(range(0, 10).intersection(range(5, 20)), range(5, 10));
        assert!(range(0, 5).intersection(range(5, 9)).is_empty());
    }
}
