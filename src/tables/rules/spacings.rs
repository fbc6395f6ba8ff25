//! Time distances of consecutive bars, from which the bar length is inferred.
//!
//! A series is the bars of one exchange and symbol.

use std::collections::BTreeMap;

use crate::model::Millis;

/// Minimum number of equal distances that prove a bar length.
const ENOUGH: usize = 3;
/// Minimum number of distances that prove a bar length if bars are missing.
const MANY: usize = 10;

/// Hint for messages: how a file can state the length of its bars.
pub(crate) const HOW: &str =
    "name the file after it, as BTC_USDT-5m.csv, or give a column interval";

/// The open times of each series.
#[derive(Debug)]
pub(crate) struct Spacings<K>(BTreeMap<K, Vec<Millis>>);

/// Summary of the distances of all series, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spacing {
    pub(crate) least: i64,
    most: i64,
    /// The greatest common divisor.
    step: i64,
    /// The commonest distance. If several are equally common, the smallest of them.
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

    /// Summarises the distances of all series; `None` if no series has two different instants.
    pub(crate) fn overall(self) -> Option<Spacing> {
        let mut all: BTreeMap<i64, usize> = BTreeMap::new();
        for (spacing, count) in self.0.into_values().flat_map(counts) {
            *all.entry(spacing).or_default() += count;
        }
        of_counts(&all)
    }
}

impl Spacing {
    /// Whether these distances contradict a bar length of `named` milliseconds.
    ///
    /// Missing bars make some distances larger. Larger distances contradict the length only if at least [`ENOUGH`] are
    /// all equal, or if at least [`MANY`] are multiples of the smallest.
    pub(crate) fn contradicts(self, named: i64) -> bool {
        let is_regular = self.least == self.most && self.pairs >= ENOUGH
            || self.least == self.step && self.pairs >= MANY;
        self.least < named || self.least > named && is_regular
    }

    /// The message if these distances contradict a bar length of `named` milliseconds.
    pub(crate) fn other_than(self, named: i64) -> String {
        let least = self.least;
        format!(
            "its name says bars of {named} ms, but its rows are {least} ms apart; state the interval: {HOW}"
        )
    }
}

/// Counts how often each distance occurs.
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

/// The greatest common divisor.
fn divisor(one: i64, other: i64) -> i64 {
    if other == 0 {
        one
    } else {
        divisor(other, one % other)
    }
}

fn of_counts(counts: &BTreeMap<i64, usize>) -> Option<Spacing> {
    // `max_by_key` returns the last maximum. In reverse sequence this is the smallest of the commonest spacings.
    let (commonest, _) = counts.iter().rev().max_by_key(|(_, count)| **count)?;
    Some(Spacing {
        least: *counts.first_key_value()?.0,
        most: *counts.last_key_value()?.0,
        step: counts.keys().copied().fold(0, divisor),
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
