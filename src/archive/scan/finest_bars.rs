//! Combines bars of several lengths: selects the shortest bars available at each time.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::ArchiveError;
use crate::archive::rows::bars::BarRow;
use crate::archive::scan::bar_resampling::{ResampledBar, resize};
use crate::model::{Millis, PeriodLength};

/// Disjoint time ranges that selected bars of a coin occupy: maps open time to close time.
type OccupiedTimes = BTreeMap<Millis, Millis>;

/// Selects the shortest bars of each coin at each time.
///
/// A longer bar is selected only if no selected shorter bar of the coin, on any exchange, overlaps it.
///
/// Selected bars of different lengths never overlap, so no volume is counted twice. The result is sorted by length,
/// exchange, coin and time. If `size` is given, bars of that size are resampled from the lengths that divide it, and
/// selected before all other lengths.
///
/// # Errors
///
/// [`ArchiveError::BadRange`] if the volume of a bar has too many digits to be stored exactly.
pub(crate) fn finest(
    bars: Vec<BarRow>,
    size: Option<i64>,
) -> Result<Vec<ResampledBar>, ArchiveError> {
    let length = |bar: &BarRow| match size {
        Some(size) if size % bar.interval == 0 => size,
        _ => bar.interval,
    };
    let mut lengths: BTreeMap<(bool, i64), Vec<BarRow>> = BTreeMap::new();
    for bar in bars {
        let length = length(&bar);
        let of_length = lengths.entry((Some(length) != size, length)).or_default();
        of_length.push(bar);
    }
    let mut taken: BTreeMap<String, OccupiedTimes> = BTreeMap::new();
    let mut all = Vec::new();
    for ((_, length), bars) in lengths {
        let mut bars = resize(bars, PeriodLength::Fixed(length))?;
        if !taken.is_empty() {
            bars.retain(|bar| {
                let of_coin = taken.get(&bar.symbol);
                of_coin.is_none_or(|taken| is_free(taken, bar.timestamp, bar.timestamp.on(length)))
            });
        }
        let own: BTreeSet<(&str, Millis)> = bars
            .iter()
            .map(|bar| (bar.symbol.as_str(), bar.timestamp))
            .collect();
        for (symbol, open) in own {
            if let Some(taken) = taken.get_mut(symbol) {
                taken.insert(open, open.on(length));
            } else {
                taken.insert(
                    symbol.to_owned(),
                    OccupiedTimes::from([(open, open.on(length))]),
                );
            }
        }
        all.extend(bars);
    }
    Ok(all)
}

/// Whether a time range is not occupied.
fn is_free(taken: &OccupiedTimes, open: Millis, close: Millis) -> bool {
    let last = taken.range(..close).next_back();
    last.is_none_or(|(_, end)| *end <= open)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use crate::archive::scan::finest_bars::*;

    const LENGTHS: [i64; 7] = [1, 3, 5, 15, 60, 180, 1440];
    const HOURS: i64 = 12;

    fn bar(exchange: &str, length: i64, place: i64) -> BarRow {
        let (interval, one) = (length * Millis::MINUTE, Decimal::ONE);
        let timestamp = Millis(place * interval);
        BarRow {
            exchange: exchange.to_owned(),
            symbol: "BTC".to_owned(),
            interval,
            timestamp,
            open: one,
            high: one,
            low: one,
            close: one,
            volume: Decimal::from(length),
            received_at: timestamp.on(interval),
        }
    }

    /// Generates random bars of several lengths on two exchanges.
    fn bars() -> impl Strategy<Value = Vec<BarRow>> {
        let some = prop::collection::vec((0..2_usize, 0..LENGTHS.len(), 0..1_000_i64), 0..120);
        some.prop_map(|some| {
            let mut bars: Vec<BarRow> = some
                .into_iter()
                .map(|(exchange, length, place)| {
                    let length = LENGTHS[length];
                    let places = (HOURS * 60 / length).max(1);
                    bar(["okx", "bybit"][exchange], length, place % places)
                })
                .collect();
            bars.sort_by_key(BarRow::key_of);
            bars.dedup_by(|one, other| one.key_of() == other.key_of());
            bars
        })
    }

    impl BarRow {
        fn key_of(&self) -> (i64, Millis, String) {
            (self.interval, self.timestamp, self.exchange.clone())
        }
    }

    /// Reference implementation that works minute by minute.
    ///
    /// A bar is selected unless a shorter bar occupies one of its minutes.
    fn plain(bars: &[BarRow]) -> Vec<(i64, Millis, String)> {
        let mut of_minute: BTreeMap<i64, i64> = BTreeMap::new();
        let mut chosen = Vec::new();
        for bar in bars {
            let first = bar.timestamp.0 / Millis::MINUTE;
            let mut minutes = first..first + bar.interval / Millis::MINUTE;
            if minutes
                .clone()
                .any(|minute| of_minute.get(&minute).is_some_and(|by| *by < bar.interval))
            {
                continue;
            }
            for minute in minutes.by_ref() {
                of_minute.insert(minute, bar.interval);
            }
            chosen.push(bar.key_of());
        }
        chosen
    }

    proptest! {
        #[test]
        fn a_longer_bar_is_used_where_no_shorter_one_lies_and_nothing_counts_twice(bars in bars()) {
            let found = finest(bars.clone(), None).unwrap();
            let keys = found
                .iter()
                .map(|bar| (bar.interval, bar.timestamp, bar.exchange.clone()));
            let mut keys: Vec<_> = keys.collect();
            keys.sort();
            prop_assert_eq!(keys, plain(&bars));
            prop_assert!(found.iter().all(|bar| bar.observed == bar.interval));
            // Bars of different lengths never overlap.
            for one in &found {
                for other in &found {
                    let apart = one.timestamp.on(one.interval) <= other.timestamp
                        || other.timestamp.on(other.interval) <= one.timestamp;
                    prop_assert!(apart || one.interval == other.interval);
                }
            }
        }

        #[test]
        fn bars_of_a_size_come_first_and_are_those_that_are_made_of_what_divides_it(bars in bars()) {
            let size = 5 * Millis::MINUTE;
            let found = finest(bars.clone(), Some(size)).unwrap();
            let dividing: Vec<BarRow> = (bars.iter())
                .filter(|bar| size % bar.interval == 0)
                .cloned()
                .collect();
            let made = resize(dividing, PeriodLength::Fixed(size)).unwrap();
            prop_assert_eq!(&found[..made.len()], &made[..]);
            let is_free = |bar: &ResampledBar| made.iter().all(|made| {
                bar.timestamp.on(bar.interval) <= made.timestamp || made.timestamp.on(size) <= bar.timestamp
            });
            prop_assert!(found[made.len()..].iter().all(is_free));
        }
    }
}
