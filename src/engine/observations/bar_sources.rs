//! The exchanges from which a series of bars was made.

use std::collections::BTreeMap;

use crate::engine::observations::row_store::RowSlice;
use crate::model::{Bar, Millis};

/// The exchanges that provide the price and the volume of each bar.
///
/// # Examples
///
/// ```
/// use liqdata::engine::BarSources;
/// use liqdata::model::Millis;
///
/// let mut sources = BarSources::default();
/// sources.push(Millis(0), &["binance", "okx"]);
/// sources.push(Millis(300_000), &["okx"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BarSources(Vec<SourceRun>);

/// Consecutive bars that were made from the same exchanges.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SourceRun {
    /// Open time of the first bar.
    from: Millis,
    /// The first exchange provides the price; the volume is the sum over all.
    venues: Vec<String>,
}

/// Number of bars per exchange.
pub type BarCounts = BTreeMap<String, usize>;

impl BarSources {
    /// Adds a bar: the first exchange provides its price, all of them its volume.
    pub fn push(&mut self, open_time: Millis, venues: &[&str]) {
        let goes_on = self.0.last().is_some_and(|last| last.venues == venues);
        if !goes_on {
            self.0.push(SourceRun {
                from: open_time,
                venues: venues.iter().map(|&venue| venue.to_owned()).collect(),
            });
        }
    }

    /// Counts the bars that each exchange contributes to.
    ///
    /// Returns the number of bars with the price of each exchange, and the number with its volume. `bars` must be
    /// sorted by time.
    pub fn count(&self, bars: RowSlice<'_, Bar>) -> (BarCounts, BarCounts) {
        let (mut price, mut volume) = (BarCounts::new(), BarCounts::new());
        let mut rest = bars;
        for (place, run) in self.0.iter().enumerate() {
            let end = self
                .0
                .get(place + 1)
                .map_or(Millis(i64::MAX), |next| next.from);
            let before = rest.partition_point(|bar| bar.open_time < run.from);
            let behind = rest.partition_point(|bar| bar.open_time < end);
            let count = behind.saturating_sub(before);
            rest = rest.within(behind..rest.len());
            if count == 0 {
                continue;
            }
            if let Some(first) = run.venues.first() {
                *price.entry(first.clone()).or_default() += count;
            }
            for venue in &run.venues {
                *volume.entry(venue.clone()).or_default() += count;
            }
        }
        (price, volume)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::observations::bar_sources::*;

    fn bar(minute: i64) -> Bar {
        Bar {
            open_time: Millis(minute * Millis::MINUTE),
            interval: Millis::MINUTE,
            open: 1.0,
            high: 1.0,
            low: 1.0,
            close: 1.0,
            volume: 1.0,
        }
    }

    fn counts(counted: &BarCounts) -> Vec<(&str, usize)> {
        let pairs = counted.iter();
        pairs.map(|(venue, bars)| (venue.as_str(), *bars)).collect()
    }

    #[test]
    fn the_bars_of_a_window_are_counted_and_no_others() {
        let mut sources = BarSources::default();
        for minute in 0..10 {
            let venues: &[&str] = match minute {
                0..4 => &["binance", "okx"],
                4 => &["okx"],
                _ => &["binance"],
            };
            sources.push(Millis(minute * Millis::MINUTE), venues);
        }
        assert_eq!(sources.0.len(), 3);
        let (price, volume) = sources.count((0..10).map(bar).collect::<Vec<_>>()[..].into());
        assert_eq!(counts(&price), [("binance", 9), ("okx", 1)]);
        assert_eq!(counts(&volume), [("binance", 9), ("okx", 5)]);
        // Bars of minutes 3, 4 and 6: the bar of minute 5 is missing.
        let (price, volume) = sources.count([3, 4, 6].map(bar)[..].into());
        assert_eq!(counts(&price), [("binance", 2), ("okx", 1)]);
        assert_eq!(counts(&volume), [("binance", 2), ("okx", 2)]);
        assert_eq!(
            sources.count(RowSlice::default()),
            (BarCounts::new(), BarCounts::new())
        );
        assert_eq!(
            BarSources::default().count([bar(1)][..].into()),
            (BarCounts::new(), BarCounts::new())
        );
    }
}
