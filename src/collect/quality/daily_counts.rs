//! What came and could not be told, counted by day until it is written down.

use std::collections::BTreeMap;

use crate::archive::{Counter, CounterKind};
use crate::model::Millis;

/// What is counted of every venue.
const KINDS: [CounterKind; 4] = [
    CounterKind::Rejected,
    CounterKind::Unpriced,
    CounterKind::Quarantined,
    CounterKind::Unjudged,
];
/// What is counted of one that numbers what it tells.
const NUMBERS: [CounterKind; 2] = [CounterKind::Hole, CounterKind::Numbered];

/// Counts that are not written down yet.
#[derive(Debug, Default)]
pub(crate) struct DailyCounts {
    by_day: BTreeMap<(i64, CounterKind), (Millis, u64)>,
    /// The day of which it is on record that it is counted.
    begun: Option<i64>,
    /// Whether the venue numbers what it tells.
    is_numbered: bool,
}

fn day(at: Millis) -> i64 {
    at.0.div_euclid(Millis::DAY)
}

impl DailyCounts {
    /// Of a venue that numbers what it tells, or of one that does not.
    pub(crate) fn new(is_numbered: bool) -> Self {
        Self {
            is_numbered,
            ..Self::default()
        }
    }

    /// Counts some more.
    pub(crate) fn add(&mut self, kind: CounterKind, count: u64, now: Millis) {
        let (_, sum) = self.by_day.entry((day(now), kind)).or_insert((now, 0));
        *sum += count;
    }

    /// What is to be written down: what was counted, and nothing of each kind at the beginning of a day, which says that
    /// it is counted.
    pub(crate) fn take(&mut self, exchange: &str, now: Millis) -> Vec<Counter> {
        if self.begun.replace(day(now)) != Some(day(now)) {
            let numbers = NUMBERS.iter().filter(|_| self.is_numbered);
            let kinds: Vec<CounterKind> = KINDS.iter().chain(numbers).copied().collect();
            for kind in kinds {
                self.add(kind, 0, now);
            }
        }
        let counted = std::mem::take(&mut self.by_day).into_iter();
        let tally = |((_, kind), (at, count))| Counter {
            exchange: exchange.to_owned(),
            at,
            kind,
            count,
        };
        counted.map(tally).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::quality::daily_counts::*;

    #[test]
    fn counts_are_handed_out_once_and_each_day_begins_with_nothing() {
        let mut counts = DailyCounts::default();
        let take = |counts: &mut DailyCounts, at| {
            let taken = counts.take("okx", Millis(at));
            let mut found: Vec<(CounterKind, u64)> = taken
                .into_iter()
                .map(|tally| (tally.kind, tally.count))
                .collect();
            found.sort_unstable();
            found
        };
        let nothing = KINDS.map(|kind| (kind, 0));
        assert_eq!(take(&mut counts, 1), nothing);
        assert!(take(&mut counts, 2).is_empty());
        counts.add(CounterKind::Rejected, 2, Millis(3));
        counts.add(CounterKind::Rejected, 1, Millis(4));
        assert_eq!(take(&mut counts, 5), [(CounterKind::Rejected, 3)]);
        counts.add(CounterKind::Unpriced, 1, Millis(6));
        let next = take(&mut counts, Millis::DAY);
        assert_eq!(next.len(), KINDS.len() + 1, "{next:?}");
    }
}
