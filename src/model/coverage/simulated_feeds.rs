//! How the liquidation feeds of a simulated market are published and recorded.

use std::collections::BTreeMap;

use crate::model::{Completeness, CoverageGap, Millis, Sampling, TimeRange, VenueCoverage};

/// The exchanges of a simulated market that leave out liquidations, and the gaps in the recording.
///
/// All other exchanges publish every liquidation, and outside the gaps everything published is recorded.
///
/// # Examples
///
/// ```
/// use liqdata::model::{CoverageGap, Millis, Sampling, SimulatedFeeds, TimeRange};
///
/// let gap = CoverageGap { exchange: "okx".to_owned(), start: Millis(4), end: Millis(6), ..CoverageGap::default() };
/// let feeds = SimulatedFeeds { gaps: vec![gap], ..SimulatedFeeds::default() };
/// let whole = TimeRange::new(Millis(0), Millis(10));
/// assert_eq!(feeds.recorded("okx", whole).len(), 2);
/// assert_eq!(feeds.recorded("gate", whole), [whole]);
/// assert_eq!(feeds.sampling("gate"), Sampling::Complete);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedFeeds {
    /// The exchanges that leave out liquidations.
    pub sampled: BTreeMap<String, Sampling>,
    /// Gaps in the recording of whole exchanges: disjoint, by their starts.
    pub gaps: Vec<CoverageGap>,
    /// The share of each exchange in the liquidations, in percent.
    pub shares: BTreeMap<String, u32>,
}

impl SimulatedFeeds {
    /// Which of its liquidations an exchange publishes.
    #[must_use]
    pub fn sampling(&self, exchange: &str) -> Sampling {
        let sampled = self.sampled.get(exchange).copied();
        sampled.unwrap_or(Sampling::Complete)
    }

    /// The recorded parts of `range` of an exchange, in order and disjoint.
    #[must_use]
    pub fn recorded(&self, exchange: &str, range: TimeRange) -> Vec<TimeRange> {
        let mut rest = range;
        let mut recorded = Vec::new();
        for gap in self.gaps.iter().filter(|gap| gap.exchange == exchange) {
            recorded.push(rest.intersection(TimeRange::new(rest.start, gap.start)));
            rest.start = rest.start.max(gap.end);
        }
        recorded.push(rest);
        recorded.retain(|part| !part.is_empty());
        recorded
    }

    /// Adds how an exchange publishes and what was recorded of `range` to its coverage.
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of a few thousand years are exact in a double"
    )]
    pub fn describe(&self, venue: &mut VenueCoverage, range: TimeRange) {
        let recorded = self.recorded(&venue.exchange, range).into_iter();
        let length: i64 = recorded.map(TimeRange::length).sum();
        venue.connected_share = Some(length as f64 / range.length().max(1) as f64);
        venue.completeness = match self.sampling(&venue.exchange) {
            Sampling::Complete => Completeness::Complete,
            Sampling::Unknown => Completeness::Unknown,
            _ => Completeness::Sampled,
        };
        let gaps = self.gaps_in(range, range.end.back(1));
        venue.gaps = gaps.filter(|gap| gap.exchange == venue.exchange).count() as u64;
    }

    /// The gaps that overlap `range`, as known at `now`: one that is not over ends then.
    pub fn gaps_in(&self, range: TimeRange, now: Millis) -> impl Iterator<Item = CoverageGap> {
        let gaps = self.gaps.iter().map(move |gap| CoverageGap {
            end: gap.end.min(now),
            ..gap.clone()
        });
        gaps.filter(move |gap| {
            let missing = TimeRange::new(gap.start, gap.end);
            !missing.is_empty() && !missing.intersection(range).is_empty()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feeds() -> SimulatedFeeds {
        let gap = |exchange: &str, start, end| CoverageGap {
            exchange: exchange.to_owned(),
            start: Millis(start),
            end: Millis(end),
            ..CoverageGap::default()
        };
        SimulatedFeeds {
            sampled: BTreeMap::from([("binance".to_owned(), Sampling::LatestOrLargest)]),
            gaps: vec![gap("okx", 10, 20), gap("gate", 15, 17), gap("okx", 30, 40)],
            ..SimulatedFeeds::default()
        }
    }

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange::new(Millis(start), Millis(end))
    }

    #[test]
    fn what_was_recorded_and_the_gaps_make_up_the_range() {
        for (whole, wanted) in [
            (
                range(0, 50),
                vec![range(0, 10), range(20, 30), range(40, 50)],
            ),
            (range(12, 35), vec![range(20, 30)]),
            (range(12, 18), vec![]),
            (range(50, 60), vec![range(50, 60)]),
        ] {
            assert_eq!(feeds().recorded("okx", whole), wanted, "{whole:?}");
            let feeds = feeds();
            let gaps = feeds.gaps_in(whole, Millis(60));
            let missing: i64 = gaps
                .filter(|gap| gap.exchange == "okx")
                .map(|gap| range(gap.start.0, gap.end.0).intersection(whole).length())
                .sum();
            let recorded: i64 = wanted.iter().map(|part| part.length()).sum();
            assert_eq!(missing + recorded, whole.length(), "{whole:?}");
        }
    }

    #[test]
    fn a_gap_is_known_from_its_start_on() {
        let known = |now| feeds().gaps_in(range(0, 50), Millis(now)).count();
        assert_eq!([10, 11, 15, 16, 31].map(known), [0, 1, 1, 2, 3]);
        let feeds = feeds();
        let mut cut = feeds.gaps_in(range(0, 50), Millis(12));
        assert_eq!(cut.next().map(|gap| gap.end), Some(Millis(12)));
    }

    #[test]
    fn an_exchange_that_is_not_named_publishes_everything() {
        assert_eq!(feeds().sampling("binance"), Sampling::LatestOrLargest);
        assert_eq!(feeds().sampling("okx"), Sampling::Complete);
    }
}
