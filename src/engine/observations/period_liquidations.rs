//! Liquidated USD of a coin by period, as an alternative to orders.
//!
//! A fit would accept amounts in a wrong unit without notice, and one absurd period would distort fits for months. The
//! amounts are therefore compared with the traded volume, of which liquidations are a small part.

use std::collections::{BTreeMap, HashMap};

use crate::engine::TableFault;
use crate::engine::observations::row_store::RowSlice;
use crate::engine::observations::table_checks::{ByCoin, TableRow, shown};
use crate::model::{Bar, Millis, ObservedLiquidations};

/// Maximum ratio of liquidated to traded USD in one period. It exceeds 1, because bars may cover one exchange, and
/// liquidations all exchanges.
const MOST_OF_A_PERIOD: f64 = 10.0;
/// Maximum ratio of liquidated to traded USD over all periods.
const MOST_OF_ALL: f64 = 1.0;
/// Minimum ratio of liquidated to traded USD over all periods. A smaller ratio is refused if the amounts would be usual
/// as base units.
const LEAST_OF_ALL: f64 = 1e-6;
/// Usual ratios of liquidated to traded amounts.
const USUAL: std::ops::RangeInclusive<f64> = 1e-5..=0.1;

/// Liquidated USD of a coin in periods of one length, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeriodLiquidations {
    /// Length of a period in milliseconds.
    pub interval: i64,
    /// Start of the period, and liquidated USD of longs and of shorts.
    pub rows: Vec<(Millis, [f64; 2])>,
}

impl PeriodLiquidations {
    /// Checks that the amounts can be USD, compared with the volume of `bars`.
    ///
    /// `places` are the table rows of the periods.
    ///
    /// # Errors
    ///
    /// [`TableFault`] for the first implausible period; for the largest period if only the sum over all periods is
    /// implausible.
    pub fn check(
        &self,
        coin: &str,
        places: &[usize],
        bars: RowSlice<'_, Bar>,
    ) -> Result<(), TableFault> {
        let mut bars = bars.iter().peekable();
        let (mut liquidated, mut traded, mut volume) = (0.0, 0.0, 0.0);
        let mut largest: Option<(usize, [f64; 2])> = None;
        for ((open, usd), place) in self.rows.iter().zip(places) {
            let close = open.on(self.interval);
            while bars.next_if(|bar| bar.open_time < *open).is_some() {}
            let (mut meanwhile, mut length) = (0.0, 0);
            while let Some(bar) = bars.next_if(|bar| bar.close_time() <= close) {
                meanwhile += bar.volume * bar.close;
                volume += bar.volume;
                length += bar.interval;
            }
            // A period with missing bars cannot be judged.
            if length < self.interval || meanwhile <= 0.0 {
                continue;
            }
            let sum = usd.iter().sum::<f64>();
            if sum > MOST_OF_A_PERIOD * meanwhile {
                let message = format!(
                    "{} USD of {coin} liquidated in the {} ms from {open} on are {} times the {} USD traded in its bars; \
                     give amounts in USD, and leave out periods with an unknown amount",
                    shown(sum),
                    self.interval,
                    shown(sum / meanwhile),
                    shown(meanwhile)
                );
                return Err(TableRow::of_liquidations(*place).fault(larger(*usd), message));
            }
            liquidated += sum;
            traded += meanwhile;
            if largest.is_none_or(|(_, most)| sum > most.iter().sum()) {
                largest = Some((*place, *usd));
            }
        }
        let Some((place, usd)) = largest.filter(|_| liquidated > 0.0) else {
            return Ok(());
        };
        let (share, price) = (liquidated / traded, traded / volume);
        let why = if share > MOST_OF_ALL {
            "liquidations cannot exceed the traded volume; give amounts in USD".to_owned()
        } else if share < LEAST_OF_ALL && USUAL.contains(&(share * price)) {
            format!(
                "read as units of {coin}, they would be {} of the traded volume; multiply them by the price \
                 to give USD",
                shown(share * price)
            )
        } else {
            return Ok(());
        };
        let message = format!(
            "the liquidations of {coin} sum to {} USD, {} of the {} USD traded in its bars; {why}",
            shown(liquidated),
            shown(share),
            shown(traded)
        );
        Err(TableRow::of_liquidations(place).fault(larger(usd), message))
    }

    /// The periods as table rows.
    pub fn rows(&self, coin: &str) -> impl Iterator<Item = ObservedLiquidations> {
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

/// Name of the column with the larger of two amounts.
fn larger([long, short]: [f64; 2]) -> &'static str {
    if long >= short {
        "long_usd"
    } else {
        "short_usd"
    }
}

/// Sorts periods per coin, each with its table row.
///
/// All periods of a coin must have one length. If no period states it, the length is their most common spacing. If
/// several spacings are equally common, it is the smallest of them.
pub fn liquidations_by_coin(
    rows: Vec<ObservedLiquidations>,
) -> Result<BTreeMap<String, (PeriodLiquidations, Vec<usize>)>, TableFault> {
    let mut by_coin: ByCoin<Vec<(usize, ObservedLiquidations)>> = ByCoin::default();
    for (row, period) in rows.into_iter().enumerate() {
        let place = TableRow::of_liquidations(row);
        let (_, periods) = by_coin.of(&period.symbol, place)?;
        place.liquidations(&period)?;
        periods.push((row, period));
    }
    by_coin
        .into_map()
        .into_iter()
        .map(|(coin, mut rows)| {
            rows.sort_by_key(|(_, period)| period.timestamp);
            let places = rows.iter().map(|(row, _)| *row).collect();
            let periods = of_one_length(&coin, rows)?;
            Ok((coin, (periods, places)))
        })
        .collect()
}

fn of_one_length(
    coin: &str,
    rows: Vec<(usize, ObservedLiquidations)>,
) -> Result<PeriodLiquidations, TableFault> {
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
    let mut found = PeriodLiquidations::default();
    let mut end: Option<(usize, Millis)> = None;
    for (row, period) in rows {
        let place = TableRow::of_liquidations(row);
        let interval = period.interval.or(given).or(commonest).ok_or_else(|| {
            let message = format!(
                "{coin} has only one period, so its interval cannot be inferred; give the interval"
            );
            place.fault("interval", message)
        })?;
        if interval % Millis::MINUTE != 0 {
            let message = format!(
                "the commonest spacing of {coin}'s periods is {interval} ms; allowed: whole minutes"
            );
            return Err(place.fault("interval", message));
        }
        if interval < Millis::HOUR / 2 && Millis::HOUR % interval != 0 {
            let message = format!(
                "{interval} ms is not allowed; a length must divide an hour or be at least half an hour"
            );
            return Err(place.fault("interval", message));
        }
        if found.interval != interval && end.is_some() {
            let message = format!(
                "{interval} ms is not the length of {coin}'s other periods, {} ms; use one length",
                found.interval
            );
            return Err(place.fault("interval", message));
        }
        found.interval = interval;
        if let Some((earlier, close)) = end
            && period.timestamp < close
        {
            let message = format!(
                "the period starts at {}, before the period of row {earlier} ends at {close}",
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
