//! What was liquidated of a coin period by period, where the orders are not at hand.

use std::collections::{BTreeMap, HashMap};

use super::TableFault;
use super::table::Row;
use crate::model::{Millis, ObservedLiquidations};

/// What was liquidated of a coin in periods of one length, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Liquidations {
    /// Length of a period in milliseconds.
    pub(super) interval: i64,
    /// Open of the period, USD of longs and of shorts.
    pub(super) rows: Vec<(Millis, [f64; 2])>,
}

impl Liquidations {
    /// As rows of a table.
    pub(super) fn rows(&self, coin: &str) -> impl Iterator<Item = ObservedLiquidations> {
        self.rows
            .iter()
            .map(move |(open, [long_usd, short_usd])| ObservedLiquidations {
                symbol: coin.to_owned(),
                timestamp: *open,
                long_usd: *long_usd,
                short_usd: *short_usd,
                interval: Some(self.interval),
            })
    }
}

/// The periods per coin, sorted.
///
/// All periods of a coin have one length; one that is left out is their commonest spacing, the smallest of several as
/// common.
pub(super) fn liquidations_by_coin(
    rows: Vec<ObservedLiquidations>,
) -> Result<BTreeMap<String, Liquidations>, TableFault> {
    let mut by_coin: BTreeMap<String, Vec<(usize, ObservedLiquidations)>> = BTreeMap::new();
    for (row, period) in rows.into_iter().enumerate() {
        let period = Row::of_liquidations(row).liquidations(period)?;
        let periods = by_coin.entry(period.symbol.clone()).or_default();
        periods.push((row, period));
    }
    by_coin
        .into_iter()
        .map(|(coin, mut rows)| {
            rows.sort_by_key(|(_, period)| period.timestamp);
            let periods = of_one_length(&coin, rows)?;
            Ok((coin, periods))
        })
        .collect()
}

fn of_one_length(
    coin: &str,
    rows: Vec<(usize, ObservedLiquidations)>,
) -> Result<Liquidations, TableFault> {
    let mut spacings: HashMap<i64, usize> = HashMap::new();
    for ((_, earlier), (_, later)) in rows.iter().zip(rows.iter().skip(1)) {
        let spacing = later.timestamp.0.saturating_sub(earlier.timestamp.0);
        *spacings.entry(spacing).or_default() += 1;
    }
    let commonest = spacings
        .into_iter()
        .filter(|(spacing, _)| *spacing > 0)
        .max_by_key(|&(spacing, count)| (count, std::cmp::Reverse(spacing)))
        .map(|(spacing, _)| spacing);
    let given = rows.iter().find_map(|(_, period)| period.interval);
    let mut found = Liquidations::default();
    let mut end: Option<(usize, Millis)> = None;
    for (row, period) in rows {
        let place = Row::of_liquidations(row);
        let interval = period.interval.or(given).or(commonest).ok_or_else(|| {
            let message =
                format!("{coin} has one period only, so its interval cannot be inferred; give it");
            place.fault("interval", message)
        })?;
        if interval % Millis::MINUTE != 0 {
            let message = format!(
                "the commonest spacing of {coin}'s periods is {interval} ms; whole minutes are allowed"
            );
            return Err(place.fault("interval", message));
        }
        if interval < Millis::HOUR / 2 && Millis::HOUR % interval != 0 {
            let message = format!(
                "{interval} ms is not a length that can be summed over hours; one that divides an hour is, and half an hour or more"
            );
            return Err(place.fault("interval", message));
        }
        if found.interval != interval && end.is_some() {
            let message = format!(
                "{interval} ms is not the length of {coin}'s other periods, {} ms; one length is allowed",
                found.interval
            );
            return Err(place.fault("interval", message));
        }
        found.interval = interval;
        if let Some((earlier, close)) = end
            && period.timestamp < close
        {
            let message = format!(
                "the period opens at {}, before that of row {earlier} ends at {close}",
                period.timestamp
            );
            return Err(place.fault("timestamp", message));
        }
        end = Some((row, place.close(period.timestamp, interval)?));
        let usd = [period.long_usd, period.short_usd];
        found.rows.push((period.timestamp, usd));
    }
    Ok(found)
}
