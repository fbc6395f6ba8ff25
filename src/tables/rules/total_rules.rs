//! The rules of liquidated USD by period.

use std::collections::HashMap;

use crate::model::{ALL_EXCHANGES, Millis};
use crate::tables::amounts::AmountColumn;
use crate::tables::attribution::UNKNOWN_EXCHANGE;
use crate::tables::reading::{NOT_STATED, ReadRows, TotalColumns};
use crate::tables::row_fault::RowFault;
use crate::tables::rules::bar_rules::{LARGEST, infer_lengths, shown};
use crate::tables::rules::contracts::Resolved;
use crate::tables::rules::judge::{Judge, Judged, by_code, coins_of, contracts_of, exchange_names};
use crate::tables::rules::pair_rules::{another_contract, other_exchange};

/// When a total was received, if its table says it.
fn received_at(totals: &TotalColumns, row: usize) -> Option<Millis> {
    let received = totals.received_at.as_ref()?.get(row).copied();
    received.filter(|at| *at != NOT_STATED)
}

/// The codes of the exchange and the symbol of a row, and the length of its period.
type Series = (u32, u32, i64);

fn series_of(totals: &TotalColumns, row: usize) -> Option<Series> {
    Some((
        *totals.exchange.codes().get(row)?,
        *totals.symbol.codes().get(row)?,
        totals.interval.get(row).copied().flatten()?,
    ))
}

/// The shortest distance between two periods of each series.
fn distances(totals: &TotalColumns) -> HashMap<Series, i64> {
    let mut starts: HashMap<Series, Vec<Millis>> = HashMap::new();
    for (row, at) in totals.timestamp.iter().enumerate() {
        if let Some(series) = series_of(totals, row) {
            starts.entry(series).or_default().push(*at);
        }
    }
    let shortest = |mut starts: Vec<Millis>| {
        starts.sort_unstable();
        starts.dedup();
        let distances = starts.windows(2).filter_map(|pair| match pair {
            [before, after] => after.0.checked_sub(before.0),
            _ => None,
        });
        distances.min()
    };
    starts
        .into_iter()
        .filter_map(|(series, starts)| Some((series, shortest(starts)?)))
        .collect()
}

/// The fault of a row of a series with periods that follow each other sooner than they end.
fn closer(
    totals: &TotalColumns,
    row: usize,
    distances: &HashMap<Series, i64>,
) -> Option<(&'static str, String, String)> {
    let series = series_of(totals, row)?;
    let distance = distances
        .get(&series)
        .filter(|distance| **distance < series.2)?;
    let reason = "longer than the distance of the periods of the table".to_owned();
    Some((
        "interval",
        reason,
        format!("{} ms, {distance} ms apart", series.2),
    ))
}

impl Judge<'_> {
    /// Returns the accepted periods.
    ///
    /// Symbols become names of coins. `None` if `goes_on` stopped the checks.
    pub(crate) fn totals(&mut self, read: ReadRows<TotalColumns>) -> Option<Judged<TotalColumns>> {
        let ReadRows {
            columns: mut totals,
            places,
            mut faults,
        } = read;
        let contracts = contracts_of(&totals.symbol);
        let mut good = Vec::with_capacity(places.len());
        for row in 0..places.len() {
            if !self.look(row) {
                return None;
            }
            match self.total(&totals, row, &contracts) {
                None => good.push(row),
                Some((column, reason, shown)) => {
                    let place = places.get(row).copied().unwrap_or_default();
                    faults.push(RowFault::new(place, column, reason, shown));
                }
            }
        }
        totals.symbol = coins_of(&totals.symbol, &contracts);
        if good.len() < places.len() {
            totals = totals.take(&good);
        }
        let places = good.iter().filter_map(|row| places.get(*row).copied());
        Some(Judged {
            columns: totals,
            places: places.collect(),
            repeated: 0,
            faults,
        })
    }

    /// Returns the accepted periods of an archive, each with its exchange, its length and the time of receipt.
    ///
    /// Symbols become names of coins. `None` if `goes_on` stopped the checks.
    pub(crate) fn archived_totals(
        &mut self,
        read: ReadRows<TotalColumns>,
    ) -> Option<Judged<TotalColumns>> {
        let ReadRows {
            columns: mut totals,
            places,
            mut faults,
        } = read;
        let series = (&totals.exchange, &totals.symbol);
        infer_lengths(series, &totals.timestamp, &mut totals.interval);
        let distances = distances(&totals);
        let contracts = contracts_of(&totals.symbol);
        let exchanges = exchange_names(&totals.exchange);
        let mut unknown = self.exchanges(&totals.exchange);
        for (name, unknown) in exchanges.iter().zip(&mut unknown) {
            unknown.take_if(|_| name == ALL_EXCHANGES);
        }
        let mut known: HashMap<(u32, &str, i64, Millis), usize> = HashMap::new();
        let mut good = Vec::with_capacity(places.len());
        let mut repeated = 0;
        let mut received = Vec::with_capacity(places.len());
        for (row, place) in places.iter().enumerate() {
            if !self.look(row) {
                return None;
            }
            let code = totals.exchange.codes().get(row).copied();
            let exchange = code.and_then(|code| exchanges.get(code as usize));
            let (Some(code), Some(exchange), Some(contract)) =
                (code, exchange, by_code(&contracts, &totals.symbol, row))
            else {
                continue;
            };
            let unknown = by_code(&unknown, &totals.exchange, row).cloned().flatten();
            let unknown = unknown.map(|why| ("exchange", UNKNOWN_EXCHANGE.to_owned(), why));
            let fault = unknown
                .or_else(|| self.total(&totals, row, &contracts))
                .or_else(|| closer(&totals, row, &distances))
                .or_else(|| self.period(&totals, row))
                .or_else(|| {
                    let named = contract.other_exchange(exchange);
                    named.map(|named| other_exchange(contract, named))
                })
                .or_else(|| {
                    let other = self.book.admit("totals", exchange, contract).err();
                    other.map(|other| another_contract("totals", contract, &other))
                });
            if let Some((column, reason, shown)) = fault {
                faults.push(RowFault::new(*place, column, reason, shown));
                continue;
            }
            let at = totals.timestamp.get(row).copied().unwrap_or_default();
            let interval = totals.interval.get(row).copied().flatten();
            let interval = interval.unwrap_or_default();
            if let Some(before) = known.insert((code, contract.coin(), interval, at), row) {
                let equal = |amounts: &AmountColumn| amounts.get(before) == amounts.get(row);
                if equal(&totals.long_usd) && equal(&totals.short_usd) {
                    repeated += 1;
                } else {
                    let before = places.get(before).copied().unwrap_or_default();
                    let reason = "another total of the coin in the same period".to_owned();
                    let shown = format!(
                        "{} has a total at {at} already, in row {before}",
                        contract.coin()
                    );
                    faults.push(RowFault::new(*place, "timestamp", reason, shown));
                }
                continue;
            }
            good.push(row);
            received.push(received_at(&totals, row).unwrap_or_else(|| at.on(interval)));
        }
        totals.symbol = coins_of(&totals.symbol, &contracts);
        totals = totals.take(&good);
        totals.received_at = Some(received);
        let places = good.iter().filter_map(|row| places.get(*row).copied());
        Some(Judged {
            columns: totals,
            places: places.collect(),
            repeated,
            faults,
        })
    }

    /// The fault of a period that is not one of the equal periods of a day, or that had not ended.
    fn period(&self, totals: &TotalColumns, row: usize) -> Option<(&'static str, String, String)> {
        let at = totals.timestamp.get(row).copied().unwrap_or_default();
        let Some(interval) = totals.interval.get(row).copied().flatten() else {
            let reason = "blank, and it cannot be inferred from the spacing of the periods";
            return Some(("interval", reason.to_owned(), String::new()));
        };
        if Millis::DAY % interval != 0 {
            let reason = "not a length; allowed: whole minutes that divide a day".to_owned();
            return Some(("interval", reason, format!("{interval} ms")));
        }
        if at.0 % interval != 0 {
            let reason = "not a start of a period of this length".to_owned();
            return Some(("timestamp", reason, at.to_string()));
        }
        let end = at.on(interval);
        if end > self.now {
            let reason = "the period has not ended yet".to_owned();
            return Some(("timestamp", reason, at.to_string()));
        }
        let received = received_at(totals, row)?;
        if received < end {
            let reason = "before the end of the period, so the total is incomplete".to_owned();
            return Some(("received_at", reason, received.to_string()));
        }
        self.time(received)
            .map(|(reason, shown)| ("received_at", reason.to_owned(), shown))
    }

    fn total(
        &self,
        totals: &TotalColumns,
        row: usize,
        contracts: &[Resolved],
    ) -> Option<(&'static str, String, String)> {
        let at = totals.timestamp.get(row).copied().unwrap_or_default();
        if let Some((reason, shown)) = self.time(at) {
            return Some(("timestamp", reason.to_owned(), shown));
        }
        let contract = by_code(contracts, &totals.symbol, row)?;
        if let Some(why) = contract.no_orders() {
            return Some(("symbol", why, contract.spelled.clone()));
        }
        let interval = totals.interval.get(row).copied().flatten();
        if interval.is_some_and(|length| length <= 0 || length % Millis::MINUTE != 0) {
            let reason = "not a length; allowed: a positive whole number of minutes";
            let shown = format!("{} ms", interval.unwrap_or_default());
            return Some(("interval", reason.to_owned(), shown));
        }
        for (column, amounts) in [
            ("long_usd", &totals.long_usd),
            ("short_usd", &totals.short_usd),
        ] {
            if !(0.0..=LARGEST).contains(&amounts.f64(row)) {
                let reason = "not an amount; allowed: numbers from 0 on";
                return Some((column, reason.to_owned(), shown(amounts, row)));
            }
        }
        None
    }
}
