//! Daily counts of rejected, unpriced, quarantined and unchecked events, and of sequence numbers.

use std::collections::BTreeMap;

use crate::archive::{Counter, CounterKind};
use crate::model::Millis;

/// Kinds of events that are counted for every exchange.
const KINDS: [CounterKind; 4] = [
    CounterKind::Rejected,
    CounterKind::Unpriced,
    CounterKind::Quarantined,
    CounterKind::Unjudged,
];
/// Further kinds, counted for exchanges with sequence numbers.
const NUMBERS: [CounterKind; 2] = [CounterKind::Hole, CounterKind::Numbered];

/// Counts by day that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct DailyCounts {
    by_day: BTreeMap<(i64, CounterKind), (Millis, u64)>,
    /// The last day for which zeros were written.
    begun: Option<i64>,
    /// Whether the exchange sends sequence numbers.
    has_numbers: bool,
}

fn day(at: Millis) -> i64 {
    at.0.div_euclid(Millis::DAY)
}

impl DailyCounts {
    pub(crate) fn new(has_numbers: bool) -> Self {
        Self {
            has_numbers,
            ..Self::default()
        }
    }

    /// Adds `count` to the count of `kind` on the day of `now`.
    pub(crate) fn add(&mut self, kind: CounterKind, count: u64, now: Millis) {
        let (_, sum) = self.by_day.entry((day(now), kind)).or_insert((now, 0));
        *sum += count;
    }

    /// Returns the counts to write and resets them. The first call of a day adds a zero of each kind, which marks the
    /// day as counted.
    pub(crate) fn take(&mut self, exchange: &str, now: Millis) -> Vec<Counter> {
        if self.begun.replace(day(now)) != Some(day(now)) {
            let numbers = NUMBERS.iter().filter(|_| self.has_numbers);
            let kinds: Vec<CounterKind> = KINDS.iter().chain(numbers).copied().collect();
            for kind in kinds {
                self.add(kind, 0, now);
            }
        }
        let counted = std::mem::take(&mut self.by_day).into_iter();
        let as_row = |((_, kind), (at, count))| Counter {
            exchange: exchange.to_owned(),
            at,
            kind,
            count,
        };
        counted.map(as_row).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::intake::daily_counts::*;

    #[test]
    fn counts_are_taken_once_and_each_day_begins_with_zeros() {
        let mut counts = DailyCounts::default();
        let take = |counts: &mut DailyCounts, at| {
            let taken = counts.take("okx", Millis(at));
            let mut found: Vec<(CounterKind, u64)> = taken
                .into_iter()
                .map(|counter| (counter.kind, counter.count))
                .collect();
            found.sort_unstable();
            found
        };
        let zeros = KINDS.map(|kind| (kind, 0));
        assert_eq!(take(&mut counts, 1), zeros);
        assert!(take(&mut counts, 2).is_empty());
        counts.add(CounterKind::Rejected, 2, Millis(3));
        counts.add(CounterKind::Rejected, 1, Millis(4));
        assert_eq!(take(&mut counts, 5), [(CounterKind::Rejected, 3)]);
        counts.add(CounterKind::Unpriced, 1, Millis(6));
        let next = take(&mut counts, Millis::DAY);
        assert_eq!(next.len(), KINDS.len() + 1, "{next:?}");
    }
}
