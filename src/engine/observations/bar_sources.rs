//! Which exchanges a series of bars is made of.

use std::collections::BTreeMap;

use crate::model::{Bar, Millis};

/// Whose price and whose volume the bars of a series have.
///
/// # Examples
///
/// ```
/// use liqdata::engine::Sources;
/// use liqdata::model::Millis;
///
/// let mut sources = Sources::default();
/// sources.push(Millis(0), &["binance", "okx"]);
/// sources.push(Millis(300_000), &["okx"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(Vec<Stretch>);

/// Bars of the same exchanges that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stretch {
    /// Open time of the first.
    from: Millis,
    /// The exchange of the price comes first; the volume is that of all of them.
    venues: Vec<String>,
}

/// Bars per exchange.
pub(crate) type Bars = BTreeMap<String, usize>;

impl Sources {
    /// Takes note of the next bar: its price is that of the first exchange, its volume the sum over all of them.
    pub fn push(&mut self, open_time: Millis, venues: &[&str]) {
        let goes_on = self.0.last().is_some_and(|last| last.venues == venues);
        if !goes_on {
            self.0.push(Stretch {
                from: open_time,
                venues: venues.iter().map(|&venue| venue.to_owned()).collect(),
            });
        }
    }

    /// How many of `bars`, in order of time, have the price of each exchange, and how many its volume.
    pub(crate) fn count(&self, bars: &[Bar]) -> (Bars, Bars) {
        let (mut price, mut volume) = (Bars::new(), Bars::new());
        let mut rest = bars;
        for (place, stretch) in self.0.iter().enumerate() {
            let end = self
                .0
                .get(place + 1)
                .map_or(Millis(i64::MAX), |next| next.from);
            let before = rest.partition_point(|bar| bar.open_time < stretch.from);
            let behind = rest.partition_point(|bar| bar.open_time < end);
            let count = behind.saturating_sub(before);
            rest = rest.get(behind..).unwrap_or_default();
            if count == 0 {
                continue;
            }
            if let Some(first) = stretch.venues.first() {
                *price.entry(first.clone()).or_default() += count;
            }
            for venue in &stretch.venues {
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

    fn counts(counted: &Bars) -> Vec<(&str, usize)> {
        let pairs = counted.iter();
        pairs.map(|(venue, bars)| (venue.as_str(), *bars)).collect()
    }

    #[test]
    fn the_bars_of_a_window_are_counted_and_no_others() {
        let mut sources = Sources::default();
        for minute in 0..10 {
            let venues: &[&str] = match minute {
                0..4 => &["binance", "okx"],
                4 => &["okx"],
                _ => &["binance"],
            };
            sources.push(Millis(minute * Millis::MINUTE), venues);
        }
        assert_eq!(sources.0.len(), 3);
        let (price, volume) = sources.count(&(0..10).map(bar).collect::<Vec<_>>());
        assert_eq!(counts(&price), [("binance", 9), ("okx", 1)]);
        assert_eq!(counts(&volume), [("binance", 9), ("okx", 5)]);
        // From the middle on, without one that is missing.
        let (price, volume) = sources.count(&[3, 4, 6].map(bar));
        assert_eq!(counts(&price), [("binance", 2), ("okx", 1)]);
        assert_eq!(counts(&volume), [("binance", 2), ("okx", 2)]);
        assert_eq!(sources.count(&[]), (Bars::new(), Bars::new()));
        assert_eq!(
            Sources::default().count(&[bar(1)]),
            (Bars::new(), Bars::new())
        );
    }
}
