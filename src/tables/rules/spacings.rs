//! Distances of consecutive bars, from which their length is inferred.

use std::collections::BTreeMap;

use crate::model::Millis;

/// This many equal distances determine the length.
const ENOUGH: usize = 10;

/// How a file states the length of its bars.
pub(crate) const HOW: &str =
    "name the file after it, as BTC_USDT-5m.csv, or give a column interval";

/// The instants of each series.
#[derive(Debug)]
pub(crate) struct Spacings<K>(BTreeMap<K, Vec<Millis>>);

/// The distances of all series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spacing {
    pub(crate) least: i64,
    most: i64,
    /// The commonest distance; of equally common ones the smallest.
    pub(crate) commonest: i64,
    pairs: usize,
}

impl<K> Default for Spacings<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Spacings<K> {
    pub(crate) fn add(&mut self, series: K, at: Millis) {
        self.0.entry(series).or_default().push(at);
    }

    /// The commonest distance of each series.
    pub(crate) fn commonest(self) -> BTreeMap<K, i64> {
        let series = self.0.into_iter();
        let commonest = |(key, times)| Some((key, of_counts(&counts(times))?.commonest));
        series.filter_map(commonest).collect()
    }

    /// The distances of all series; `None` without two instants of one series.
    pub(crate) fn overall(self) -> Option<Spacing> {
        let mut all: BTreeMap<i64, usize> = BTreeMap::new();
        for (spacing, count) in self.0.into_values().flat_map(counts) {
            *all.entry(spacing).or_default() += count;
        }
        of_counts(&all)
    }
}

impl Spacing {
    /// Whether bars of `named` milliseconds do not have these distances.
    ///
    /// With missing bars the distances are larger, but not all by the same factor.
    pub(crate) fn contradicts(self, named: i64) -> bool {
        let is_regular = self.least == self.most && self.pairs >= ENOUGH;
        self.least < named || self.least > named && is_regular
    }

    /// The message where bars of `named` milliseconds do not have these distances.
    pub(crate) fn other_than(self, named: i64) -> String {
        let least = self.least;
        format!(
            "its name says bars of {named} ms, but its rows are {least} ms apart; state the interval: {HOW}"
        )
    }
}

/// How often each distance occurs.
fn counts(mut times: Vec<Millis>) -> BTreeMap<i64, usize> {
    times.sort_unstable();
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for (earlier, later) in times.iter().zip(times.iter().skip(1)) {
        let spacing = later.0.saturating_sub(earlier.0);
        if spacing > 0 {
            *counts.entry(spacing).or_default() += 1;
        }
    }
    counts
}

fn of_counts(counts: &BTreeMap<i64, usize>) -> Option<Spacing> {
    // The last of the maxima is the smallest spacing.
    let (commonest, _) = counts.iter().rev().max_by_key(|(_, count)| **count)?;
    Some(Spacing {
        least: *counts.first_key_value()?.0,
        most: *counts.last_key_value()?.0,
        commonest: *commonest,
        pairs: counts.values().sum(),
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::tables::rules::spacings::*;

    #[test]
    fn the_length_is_the_commonest_distance_whatever_the_order() {
        let mut spacings = Spacings::default();
        for minute in [0, 15, 5, 10, 16] {
            spacings.add("BTC", Millis(minute * Millis::MINUTE));
        }
        spacings.add("ETH", Millis(0));
        let overall = spacings.overall().unwrap();
        assert_eq!(
            (overall.least, overall.commonest, overall.most),
            (Millis::MINUTE, 5 * Millis::MINUTE, 5 * Millis::MINUTE)
        );
        assert!(overall.contradicts(5 * Millis::MINUTE));
        assert!(!overall.contradicts(Millis::MINUTE));
    }
}
