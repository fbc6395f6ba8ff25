//! Percentile of an event among earlier events of its coin.

use rust_decimal::Decimal;

use crate::model::Millis;

/// The times and the USD of an event, for comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedEvent {
    pub start: Millis,
    pub end: Millis,
    pub usd: Decimal,
}

/// A Fenwick tree of counts by rank.
struct FenwickTree(Vec<u32>);

impl FenwickTree {
    /// Adds 1 to, or subtracts 1 from, the count of a rank.
    fn change(&mut self, rank: usize, add: bool) {
        let mut node = rank + 1;
        while let Some(count) = self.0.get_mut(node - 1) {
            *count = if add { *count + 1 } else { *count - 1 };
            node += lowest_bit(node);
        }
    }

    /// Sum of the counts below a rank.
    fn below(&self, rank: usize) -> u32 {
        let mut node = rank;
        let mut sum = 0;
        while let Some(above) = node.checked_sub(1) {
            sum += self.0.get(above).copied().unwrap_or_default();
            node -= lowest_bit(node);
        }
        sum
    }
}

fn lowest_bit(node: usize) -> usize {
    1 << node.trailing_zeros()
}

/// Returns for each event the share of smaller events among those before it.
///
/// `events` must be sorted by start. Each is compared with the events that start at most `span` before it.
///
/// Earlier events count only if they ended more than `gap` before that start, because then no order can extend them.
/// `None` if there are no such events.
pub fn percentiles(events: &[ComparedEvent], gap: i64, span: i64) -> Vec<Option<f64>> {
    let mut amounts: Vec<Decimal> = events.iter().map(|event| event.usd).collect();
    amounts.sort_unstable();
    amounts.dedup();
    let rank = |event: &ComparedEvent| amounts.partition_point(|usd| *usd < event.usd);
    let mut by_end: Vec<(usize, &ComparedEvent)> = events.iter().enumerate().collect();
    by_end.sort_by_key(|(place, event)| (event.end, *place));

    let mut counts = FenwickTree(vec![0; amounts.len()]);
    let mut counted = vec![false; events.len()];
    let mut all = 0_u32;
    let mut over = by_end.into_iter().peekable();
    let mut old = events.iter().enumerate().peekable();
    let compare = |event: &ComparedEvent| {
        let first = event.start.back(span);
        while let Some((place, ended)) = over.next_if(|(_, ended)| ended.end.on(gap) < event.start)
        {
            if ended.start >= first
                && let Some(counted) = counted.get_mut(place)
            {
                *counted = true;
                counts.change(rank(ended), true);
                all += 1;
            }
        }
        while let Some((place, gone)) = old.next_if(|(_, gone)| gone.start < first) {
            if let Some(counted) = counted.get_mut(place).filter(|counted| **counted) {
                *counted = false;
                counts.change(rank(gone), false);
                all -= 1;
            }
        }
        (all > 0).then(|| f64::from(counts.below(rank(event))) / f64::from(all))
    };
    events.iter().map(compare).collect()
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plainly(events: &[ComparedEvent], gap: i64, span: i64) -> Vec<Option<f64>> {
        let share = |event: &ComparedEvent| {
            let before: Vec<&ComparedEvent> = events
                .iter()
                .filter(|other| other.start >= event.start.back(span))
                .filter(|other| other.end.on(gap) < event.start)
                .collect();
            let less = before.iter().filter(|other| other.usd < event.usd).count();
            (!before.is_empty()).then(|| less as f64 / before.len() as f64)
        };
        events.iter().map(share).collect()
    }

    proptest! {
        #[test]
        fn shares_are_those_of_a_plain_count(
            drawn in proptest::collection::vec((0_i64..300, 0_i64..60, 0_i64..9), 0..60),
            gap in 1_i64..20,
            span in 1_i64..200,
        ) {
            let mut events: Vec<ComparedEvent> = drawn
                .into_iter()
                .map(|(start, length, usd)| ComparedEvent {
                    start: Millis(start),
                    end: Millis(start + length),
                    usd: Decimal::from(usd),
                })
                .collect();
            events.sort_by_key(|event| event.start);
            prop_assert_eq!(percentiles(&events, gap, span), plainly(&events, gap, span));
        }
    }
}
