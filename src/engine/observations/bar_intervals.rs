//! Bars per coin: sorted, without overlaps, each with its length.

use std::collections::BTreeMap;

use crate::engine::TableFault;
use crate::engine::observations::table_checks::{ByCoin, TableRow, UNKNOWN_LENGTH};
use crate::model::{Bar, Millis, ObservedBar, RunMap};

/// Converts milliseconds to days.
#[expect(
    clippy::cast_precision_loss,
    reason = "a length in milliseconds below 2^53 is exact, and longer ones are nearest"
)]
pub fn days(millis: i64) -> f64 {
    millis as f64 / Millis::DAY as f64
}

/// Sorts bars per coin and infers missing lengths.
///
/// A missing length is the most common spacing of the coin's bars. If several spacings are equally common, it is the
/// smallest of them. Lengths must be whole minutes.
pub fn bars_by_coin<S: AsRef<str>>(
    rows: impl IntoIterator<Item = ObservedBar<S>>,
) -> Result<BTreeMap<String, Vec<Bar>>, TableFault> {
    let mut by_coin: ByCoin<Vec<(usize, Bar)>> = ByCoin::default();
    for (row, bar) in rows.into_iter().enumerate() {
        let place = TableRow::of_bars(row);
        let (_, bars) = by_coin.of(bar.symbol.as_ref(), place)?;
        bars.push((row, place.bar(&bar)?));
    }
    by_coin
        .into_map()
        .into_iter()
        .map(|(coin, mut rows)| {
            rows.sort_by_key(|(_, bar)| bar.open_time);
            set_lengths(&coin, &mut rows)?;
            Ok((coin, rows.into_iter().map(|(_, bar)| bar).collect()))
        })
        .collect()
}

/// Sets the missing lengths of a coin's bars. Refuses equal times, overlaps, and lengths that are unknown or not whole
/// minutes.
fn set_lengths(coin: &str, rows: &mut [(usize, Bar)]) -> Result<(), TableFault> {
    let mut spacings: RunMap<i64, usize> = RunMap::default();
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
        *spacings.at(&spacing) += 1;
    }
    let commonest = spacings
        .into_map()
        .into_iter()
        .max_by_key(|&(spacing, count)| (count, std::cmp::Reverse(spacing)))
        .map(|(spacing, _)| spacing);
    let mut end: Option<(usize, Millis)> = None;
    for (row, bar) in rows {
        let place = TableRow::of_bars(*row);
        let given = Some(bar.interval).filter(|length| *length != UNKNOWN_LENGTH);
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
        end = Some((*row, place.close(bar.open_time, interval)?));
        bar.interval = interval;
    }
    Ok(())
}
