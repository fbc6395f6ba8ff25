//! The share of each period in which exchange feeds were recorded.
//!
//! A period with an interrupted feed reports fewer liquidations than occurred.

use std::collections::BTreeMap;

use crate::model::{Millis, TimeRange};

/// Time ranges by exchange, sorted and disjoint.
pub type RecordedRanges = BTreeMap<String, Vec<TimeRange>>;

/// Recorded time ranges of each exchange, and its share of all liquidated USD.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedCoverage {
    exchanges: BTreeMap<String, RecordedFeed>,
}

/// The recorded time of one exchange.
#[derive(Clone, Debug, PartialEq)]
struct RecordedFeed {
    /// Share of the liquidated USD; 0 for an exchange that reported none.
    share: f64,
    /// The recorded ranges, in order and disjoint.
    ranges: Vec<TimeRange>,
}

impl FeedCoverage {
    /// Builds the coverage from the recorded ranges and the USD recorded of each exchange.
    ///
    /// The share of an exchange is its USD per recorded millisecond, divided by the sum of this rate over all
    /// exchanges. Exchanges without USD are left out.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of a few thousand years are exact in a double"
    )]
    pub fn new(recorded: BTreeMap<String, Vec<TimeRange>>, usd: &BTreeMap<String, f64>) -> Self {
        let feeds = recorded.into_iter().map(|(exchange, ranges)| {
            let long: i64 = ranges.iter().map(|range| range.length()).sum();
            let usd = usd.get(&exchange).copied().unwrap_or_default();
            let share = if usd > 0.0 && long > 0 {
                usd / long as f64
            } else {
                0.0
            };
            (exchange, RecordedFeed { share, ranges })
        });
        let mut exchanges: BTreeMap<String, RecordedFeed> = feeds.collect();
        let all: f64 = exchanges.values().fold(0.0, |sum, feed| sum + feed.share);
        if all > 0.0 {
            for feed in exchanges.values_mut() {
                feed.share /= all;
            }
        }
        Self { exchanges }
    }

    /// Builds the coverage from the recorded ranges and the shares of exchanges in percent; 0 for one without a share.
    #[must_use]
    pub fn of_shares(
        recorded: BTreeMap<String, Vec<TimeRange>>,
        shares: &BTreeMap<String, u32>,
    ) -> Self {
        let feeds = recorded.into_iter().map(|(exchange, ranges)| {
            let percent = shares.get(&exchange).copied().unwrap_or_default();
            let share = f64::from(percent) / 100.0;
            (exchange, RecordedFeed { share, ranges })
        });
        Self {
            exchanges: feeds.collect(),
        }
    }

    /// The share of the liquidations in a range that was recorded.
    ///
    /// 1 if nothing is known about recording.
    pub fn of(&self, from: Millis, to: Millis) -> f64 {
        let feeds = || self.exchanges.values().filter(|feed| feed.share > 0.0);
        if feeds().next().is_none() {
            return 1.0;
        }
        let recorded: f64 = feeds()
            .map(|feed| feed.share * share(&feed.ranges, TimeRange::new(from, to)))
            .sum();
        recorded.min(1.0)
    }

    /// Whether part of a range was recorded, of one exchange if named.
    pub fn is_recorded(&self, exchange: Option<&str>, range: TimeRange) -> bool {
        let is_recorded = |feed: &RecordedFeed| is_touched(&feed.ranges, range);
        match exchange {
            Some(exchange) => self.exchanges.get(exchange).is_some_and(is_recorded),
            None => self.exchanges.values().any(is_recorded),
        }
    }
}

/// Whether part of a range lies in `spans`, which must be sorted and disjoint.
pub fn is_touched(spans: &[TimeRange], range: TimeRange) -> bool {
    let first = spans.partition_point(|one| one.end <= range.start);
    spans.get(first).is_some_and(|one| one.start < range.end)
}

/// The share of a range that lies in `spans`.
///
/// `spans` must be sorted and disjoint.
#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of a few thousand years are exact in a double"
)]
pub fn share(spans: &[TimeRange], whole: TimeRange) -> f64 {
    let first = spans.partition_point(|range| range.end <= whole.start);
    let within = spans.iter().skip(first);
    let covered: i64 = within
        .take_while(|range| range.start < whole.end)
        .map(|range| range.intersection(whole).length())
        .sum();
    covered as f64 / whole.length().max(1) as f64
}

/// The covered share of a range: of one exchange if named, else the mean over all. 0 if nothing is recorded.
#[must_use]
pub fn covered_share(recorded: &RecordedRanges, range: TimeRange, exchange: Option<&str>) -> f64 {
    let of = |(name, spans): (&String, &Vec<TimeRange>)| {
        let is_asked = exchange.is_none_or(|exchange| exchange == name);
        is_asked.then(|| share(spans, range))
    };
    let shares: Vec<f64> = recorded.iter().filter_map(of).collect();
    mean(shares.into_iter())
}

/// The mean of shares; 0 if there are none.
#[expect(
    clippy::cast_precision_loss,
    reason = "exchanges are counted in dozens"
)]
pub fn mean(shares: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = shares.len().max(1) as f64;
    // The sum of no numbers is -0.
    shares.fold(0.0, |sum, share| sum + share) / count
}

#[cfg(test)]
mod tests {
    use crate::engine::coverage::feed_coverage::*;

    #[test]
    fn the_share_of_a_range_is_that_of_its_recorded_parts() {
        let range = |from, to| TimeRange::new(Millis(from), Millis(to));
        let spans = [range(0, 10), range(20, 30)];
        for (from, to, wanted) in [(0, 10, 1.0), (5, 25, 0.5), (10, 20, 0.0), (-10, 40, 0.4)] {
            let found = share(&spans, range(from, to));
            assert!((found - wanted).abs() < 1e-12, "{from} {to} {found}");
        }
    }

    #[test]
    fn an_exchange_counts_by_its_usd_per_recorded_time() {
        let spans = |spans: &[(i64, i64)]| {
            spans
                .iter()
                .map(|(from, to)| TimeRange::new(Millis(*from), Millis(*to)))
                .collect()
        };
        let recorded = BTreeMap::from([
            ("binance".to_owned(), spans(&[(0, 100)])),
            // The second exchange has the same USD in a quarter of the time, so it has four fifths of the total rate.
            ("okx".to_owned(), spans(&[(0, 25)])),
            ("quiet".to_owned(), spans(&[(0, 10)])),
        ]);
        let usd = BTreeMap::from([("binance".to_owned(), 7.0), ("okx".to_owned(), 7.0)]);
        let exposure = FeedCoverage::new(recorded, &usd);
        for (from, to, wanted) in [(0, 25, 1.0), (25, 100, 0.2), (0, 50, 0.6), (100, 200, 0.0)] {
            let found = exposure.of(Millis(from), Millis(to));
            assert!((found - wanted).abs() < 1e-12, "{from} {to} {found}");
        }
        let unrecorded = FeedCoverage::default().of(Millis(0), Millis(1));
        assert!((unrecorded - 1.0).abs() < 1e-12);
    }
}
