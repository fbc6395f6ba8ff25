//! Bars per coin: sorted, without overlaps, each with its length.

use std::collections::{BTreeMap, HashMap};

use crate::engine::TableFault;
use crate::engine::observations::table_checks::{ReadNames, TableRow};
use crate::model::{Bar, Millis, ObservedBar};

/// Sorts bars per coin and infers missing lengths.
///
/// A missing length is the most common spacing of the coin's bars. If several spacings are equally common, it is the
/// smallest of them. Lengths must be whole minutes.
pub fn bars_by_coin(rows: Vec<ObservedBar>) -> Result<BTreeMap<String, Vec<Bar>>, TableFault> {
    let mut by_coin: BTreeMap<String, Vec<(usize, ObservedBar)>> = BTreeMap::new();
    let mut names = ReadNames::default();
    for (row, bar) in rows.into_iter().enumerate() {
        let bar = TableRow::of_bars(row).bar(bar, &mut names)?;
        if let Some(bars) = by_coin.get_mut(&bar.symbol) {
            bars.push((row, bar));
        } else {
            by_coin.insert(bar.symbol.clone(), vec![(row, bar)]);
        }
    }
    by_coin
        .into_iter()
        .map(|(coin, mut rows)| {
            rows.sort_by_key(|(_, bar)| bar.timestamp);
            let bars = spaced(&coin, &rows)?;
            Ok((coin, bars))
        })
        .collect()
}

fn spaced(coin: &str, rows: &[(usize, ObservedBar)]) -> Result<Vec<Bar>, TableFault> {
    let mut spacings: HashMap<i64, usize> = HashMap::new();
    for ((earlier_row, earlier), (row, later)) in rows.iter().zip(rows.iter().skip(1)) {
        let spacing = later.timestamp.0.saturating_sub(earlier.timestamp.0);
        if spacing == 0 {
            return Err(TableRow::of_bars(*row).fault(
                "timestamp",
                format!(
                    "{coin} has a bar at {} already, in row {earlier_row}",
                    later.timestamp
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
        let place = TableRow::of_bars(*row);
        let interval = bar.length().or(commonest).ok_or_else(|| {
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
            && bar.timestamp < close
        {
            return Err(place.fault(
                "timestamp",
                format!(
                    "the bar opens at {}, before the bar of row {earlier} closes at {close}",
                    bar.timestamp
                ),
            ));
        }
        end = Some((*row, place.close(bar.timestamp, interval)?));
        bars.push(Bar {
            open_time: bar.timestamp,
            interval,
            open: bar.open,
            high: bar.high,
            low: bar.low,
            close: bar.close,
            volume: bar.volume,
        });
    }
    Ok(bars)
}
