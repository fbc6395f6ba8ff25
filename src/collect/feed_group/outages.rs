//! Lists of outages: the times in which a connection received nothing.

use crate::model::{Millis, TimeRange};

/// A time in which a connection received nothing, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) range: TimeRange,
    pub(crate) reason: String,
}

impl Outage {
    pub(crate) fn new(start: Millis, end: Millis, reason: impl Into<String>) -> Self {
        Self {
            range: TimeRange::new(start, end),
            reason: reason.into(),
        }
    }
}

/// The times in which both lists have an outage. The reason is taken from the outage that began later.
pub(crate) fn intersection(some: &[Outage], others: &[Outage]) -> Vec<Outage> {
    let mut common = Vec::new();
    for one in some {
        for other in others {
            let range = one.range.intersection(other.range);
            if !range.is_empty() {
                let later = if one.range.start > other.range.start {
                    one
                } else {
                    other
                };
                common.push(Outage {
                    range,
                    reason: later.reason.clone(),
                });
            }
        }
    }
    common
}

/// The parts of `outages` that lie in none of `ranges`.
pub(crate) fn difference(outages: Vec<Outage>, ranges: &[TimeRange]) -> Vec<Outage> {
    ranges.iter().fold(outages, |left, range| {
        left.into_iter()
            .flat_map(|outage| {
                let TimeRange { start, end } = outage.range;
                let parts = [
                    TimeRange::new(start, end.min(range.start)),
                    TimeRange::new(start.max(range.end), end),
                ];
                let parts = parts.into_iter().filter(|part| !part.is_empty());
                parts.map(move |range| Outage {
                    range,
                    reason: outage.reason.clone(),
                })
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outages(ranges: &[(i64, i64)]) -> Vec<Outage> {
        let outage = |(start, end): &(i64, i64)| {
            Outage::new(Millis(*start), Millis(*end), format!("since {start}"))
        };
        ranges.iter().map(outage).collect()
    }

    #[test]
    fn an_intersection_has_the_reason_of_the_later_outage() {
        let common = intersection(&outages(&[(0, 10), (20, 30)]), &outages(&[(5, 25)]));
        let expected = [
            Outage::new(Millis(5), Millis(10), "since 5"),
            Outage::new(Millis(20), Millis(25), "since 20"),
        ];
        assert_eq!(common, expected);
        assert!(intersection(&outages(&[(0, 5)]), &outages(&[(5, 9)])).is_empty());
    }

    #[test]
    fn a_difference_splits_an_outage() {
        let range = TimeRange::new(Millis(3), Millis(5));
        let left = difference(outages(&[(0, 10), (4, 5)]), &[range]);
        let expected = [
            Outage::new(Millis(0), Millis(3), "since 0"),
            Outage::new(Millis(5), Millis(10), "since 0"),
        ];
        assert_eq!(left, expected);
    }
}
