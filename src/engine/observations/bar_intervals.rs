//! Bars per coin: sorted, without overlaps, each with its length.

use std::collections::{BTreeMap, HashMap};

use crate::engine::TableFault;
use crate::engine::observations::table_checks::{ReadNames, TableRow};
use crate::model::{Bar, Millis, ObservedBar};

/// Converts milliseconds to days.
#[expect(
    clippy::cast_precision_loss,
    reason = "a length in milliseconds below 2^53 is exact, and longer ones are nearest"
)]
pub fn days(millis: i64) -> f64 {
    millis as f64 / Millis::DAY as f64
}

/// The length of a bar that states none. A stated length is above zero.
const UNKNOWN: i64 = 0;

/// Sorts bars per coin and infers missing lengths.
///
/// A missing length is the most common spacing of the coin's bars. If several spacings are equally common, it is the
/// smallest of them. Lengths must be whole minutes.
pub fn bars_by_coin(
    rows: impl IntoIterator<Item = ObservedBar>,
) -> Result<BTreeMap<String, Vec<Bar>>, TableFault> {
    let mut by_coin: BTreeMap<String, Vec<(usize, Bar)>> = BTreeMap::new();
    let mut names = ReadNames::default();
    for (row, bar) in rows.into_iter().enumerate() {
        let given = TableRow::of_bars(row).bar(bar, &mut names)?;
        let bar = Bar {
            open_time: given.timestamp,
            interval: given.length().unwrap_or(UNKNOWN),
            open: given.open,
            high: given.high,
            low: given.low,
            close: given.close,
            volume: given.volume,
        };
        if let Some(bars) = by_coin.get_mut(&given.symbol) {
            bars.push((row, bar));
        } else {
            by_coin.insert(given.symbol, vec![(row, bar)]);
        }
    }
    by_coin
        .into_iter()
        .map(|(coin, mut rows)| {
            rows.sort_by_key(|(_, bar)| bar.open_time);
            let bars = spaced(&coin, rows)?;
            Ok((coin, bars))
        })
        .collect()
}

fn spaced(coin: &str, rows: Vec<(usize, Bar)>) -> Result<Vec<Bar>, TableFault> {
    let mut spacings: HashMap<i64, usize> = HashMap::new();
    for ((earlier_row, earlier), (row, later)) in rows.iter().zip(rows.iter().skip(1)) {
        let spacing = later.open_time.0.saturating_sub(earlier.open_time.0);
        if spacing == 0 {
            return Err(TableRow::of_bars(*row).fault(
                "timestamp",
                format!(
                    "{coin} has a bar at {} already, in row {earlier_row}",
                    later.open_time
                ),
            ));
        }
        *spacings.entry(spacing).or_default() += 1;
    }
    let commonest = spacings
        .into_iter()
        .max_by_key(|&(spacing, count)| (count, std::cmp::Reverse(spacing)))
        .map(|(spacing, _)| spacing);
    let mut bars: Vec<Bar> = Vec::with_capacity(rows.len());
    let mut end: Option<(usize, Millis)> = None;
    for (row, bar) in rows {
        let place = TableRow::of_bars(row);
        let given = Some(bar.interval).filter(|length| *length != UNKNOWN);
        let interval = given.or(commonest).ok_or_else(|| {
            place.fault(
                "interval",
                format!(
                    "{coin} has only one bar, so its interval cannot be inferred; give the interval"
                ),
            )
        })?;
        if interval % Millis::MINUTE != 0 {
            // A given length has already been checked, so this can only be an inferred one.
            return Err(place.fault(
                "interval",
                format!(
                    "the commonest spacing of {coin}'s bars is {interval} ms; allowed: whole minutes"
                ),
            ));
        }
        if let Some((earlier, close)) = end
            && bar.open_time < close
        {
            return Err(place.fault(
                "timestamp",
                format!(
                    "the bar opens at {}, before the bar of row {earlier} closes at {close}",
                    bar.open_time
                ),
            ));
        }
        end = Some((row, place.close(bar.open_time, interval)?));
        bars.push(Bar { interval, ..bar });
    }
    Ok(bars)
}
