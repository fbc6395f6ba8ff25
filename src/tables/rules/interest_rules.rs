//! The rules of open interest readings.

use std::collections::HashMap;

use rust_decimal::Decimal;

use crate::model::{Labels, RunMap, nearest_f64, product, quotient};
use crate::tables::amount_unit::Counted;
use crate::tables::reading::{InterestColumns, ReadRows};
use crate::tables::row_fault::RowFault;
use crate::tables::rules::bar_rules::{LARGEST, shown};
use crate::tables::rules::judge::{Judge, Judged, by_code, coins_of, contracts_of, exchange_names};
use crate::tables::rules::pair_rules::{PairRules, RowsByTime};
use crate::tables::rules::stated_interest::{StatedInterest, stated_interest};

impl Judge<'_> {
    /// Returns the accepted readings, in coins or, if all are, in USD.
    ///
    /// Symbols become names of coins. `None` if `goes_on` stopped the checks.
    #[expect(
        clippy::too_many_lines,
        reason = "one rule after the other, for each row"
    )]
    pub(crate) fn open_interest(
        &mut self,
        read: ReadRows<InterestColumns>,
    ) -> Option<Judged<InterestColumns>> {
        let ReadRows {
            columns: mut readings,
            places,
            mut faults,
        } = read;
        let column = amount_column(readings.in_usd);
        let unknown = self.exchanges(&readings.exchange);
        let contracts = contracts_of(&readings.symbol);
        let exchanges = exchange_names(&readings.exchange);
        let mut pairs: RunMap<(u32, u32), PairRules> = RunMap::default();
        let mut known: RunMap<(u32, &str), RowsByTime> = RunMap::default();
        let mut factors: HashMap<usize, Factor> = HashMap::new();
        // Amounts that other columns of their rows decide.
        let mut decided: HashMap<usize, Decimal> = HashMap::new();
        // The places in `good` of readings in USD without a price.
        let mut in_usd: Vec<usize> = Vec::new();
        let (mut good, mut repeated) = (Vec::with_capacity(places.len()), 0);
        for row in 0..places.len() {
            if !self.look(row) {
                return None;
            }
            let place = places.get(row).copied().unwrap_or_default();
            let mut fault = |column, reason: String, shown: String| {
                faults.push(RowFault::new(place, column, reason, shown));
            };
            let Some(contract) = by_code(&contracts, &readings.symbol, row) else {
                continue;
            };
            let code = |names: &Labels| names.codes().get(row).copied().unwrap_or_default();
            let codes = (code(&readings.exchange), code(&readings.symbol));
            let at = readings.timestamp.get(row).copied().unwrap_or_default();
            if let Some((reason, shown)) = self.time(at) {
                fault("timestamp", reason.to_owned(), shown);
                continue;
            }
            let pair = pairs.at(&codes);
            let unknown = by_code(&unknown, &readings.exchange, row);
            if let Some((column, reason, shown)) = pair.names(contract, unknown) {
                fault(column, reason, shown);
                continue;
            }
            let amount = readings.open_interest.f64(row);
            if !(0.0..=LARGEST).contains(&amount) {
                let reason = "not an amount; allowed: numbers from 0 on";
                fault(
                    column,
                    reason.to_owned(),
                    shown(&readings.open_interest, row),
                );
                continue;
            }
            let exchange = exchanges.get(codes.0 as usize).map_or("", String::as_str);
            let tables = ["open_interest", "readings"];
            if let Some(refused) = pair.contract(contract, exchange, self.book, tables) {
                let (column, reason, shown) = refused;
                fault(column, reason, shown);
                continue;
            }
            let times = known.at(&(codes.0, contract.coin()));
            if let Some(before) = times.replace(at, row) {
                if readings
                    .open_interest
                    .f64(before)
                    .total_cmp(&amount)
                    .is_eq()
                {
                    repeated += 1;
                } else {
                    let before = places.get(before).copied().unwrap_or_default();
                    let reason = "another reading of the coin at the same time";
                    fault(
                        "timestamp",
                        reason.to_owned(),
                        format!(
                            "{} has a reading at {at} already, in row {before}",
                            contract.coin()
                        ),
                    );
                }
                continue;
            }
            if !readings.in_usd {
                let counted = pair
                    .counted
                    .get_or_insert_with(|| self.counted(readings.unit, exchange, contract));
                let stated = readings
                    .stated
                    .as_ref()
                    .zip(readings.open_interest.get(row));
                let stated = stated.map(|(stated, amount)| {
                    let rate = self.rate(contract, at);
                    let rate = rate.unwrap_or(Decimal::ZERO);
                    let of = (exchange, contract.symbol.as_ref());
                    stated_interest(amount, stated.at(row), *counted, of, rate)
                });
                let counted = match stated {
                    Some(Err(why)) => Err(why),
                    Some(Ok(StatedInterest::Units(units))) => {
                        decided.insert(row, units);
                        Ok(Counted::Base(Decimal::ONE))
                    }
                    Some(Ok(StatedInterest::Usd(usd))) => {
                        decided.insert(row, usd);
                        Ok(Counted::Usd(Decimal::ONE))
                    }
                    _ => *counted,
                };
                let price = readings.price.as_ref().map(|price| price.f64(row));
                match (counted, price.filter(|price| *price > 0.0)) {
                    (Ok(Counted::Base(size)), _) => {
                        let factor = product(size, Decimal::from(contract.scale()));
                        let factor = factor.unwrap_or(Decimal::MAX);
                        if factor != Decimal::ONE {
                            factors.insert(row, (factor, None));
                        }
                    }
                    (Ok(Counted::Usd(size)), Some(_)) => {
                        factors.insert(row, (size, Some(contract.scale())));
                    }
                    (Ok(Counted::Quote), Some(_)) => {
                        factors.insert(row, (Decimal::ONE, Some(contract.scale())));
                    }
                    (Ok(Counted::Usd(size)), None) => {
                        factors.insert(row, (size, None));
                        in_usd.push(good.len());
                    }
                    (Ok(Counted::Quote), None) => {
                        let reason =
                            "is in units of the quote currency; a column price converts it";
                        let shown = shown(&readings.open_interest, row);
                        fault(column, reason.to_owned(), shown);
                        continue;
                    }
                    (Err(why), _) => {
                        let shown = shown(&readings.open_interest, row);
                        fault(column, why.to_owned(), shown);
                        continue;
                    }
                }
            }
            good.push(row);
        }
        if in_usd.len() == good.len() && !good.is_empty() && !readings.in_usd {
            readings.in_usd = true;
        } else {
            for place in in_usd.into_iter().rev() {
                let row = good.remove(place);
                let reason = "is in USD, and other readings of the table are in coins; a column price converts it";
                let shown = shown(&readings.open_interest, row);
                let place = places.get(row).copied().unwrap_or_default();
                faults.push(RowFault::new(place, column, reason, shown));
            }
        }
        if !decided.is_empty() {
            readings.open_interest = readings.open_interest.map(
                |row, amount| Some(decided.get(&row).copied().unwrap_or(amount)),
                |_, amount| amount,
            );
        }
        convert(&mut readings, &factors);
        readings.symbol = coins_of(&readings.symbol, &contracts);
        if good.len() < places.len() {
            readings = readings.take(&good);
        }
        let places = good.iter().filter_map(|row| places.get(*row).copied());
        Some(Judged {
            columns: readings,
            places: places.collect(),
            repeated,
            faults,
        })
    }
}

/// Name of the column of amounts.
fn amount_column(in_usd: bool) -> &'static str {
    if in_usd {
        "open_interest_usd"
    } else {
        "open_interest"
    }
}

/// The number by which a reading is multiplied. If the reading is divided by the price of a listed unit, also the coins
/// per unit.
type Factor = (Decimal, Option<u32>);

/// Converts readings to coins or USD.
fn convert(readings: &mut InterestColumns, factors: &HashMap<usize, Factor>) {
    if factors.is_empty() {
        return;
    }
    let prices = readings.price.as_ref();
    readings.open_interest = readings.open_interest.map(
        |row, amount| match factors.get(&row) {
            Some((factor, None)) => product(amount, *factor),
            Some((factor, Some(scale))) => {
                let units = quotient(product(amount, *factor)?, prices?.get(row)?)?;
                product(units, Decimal::from(*scale))
            }
            None => Some(amount),
        },
        |row, amount| match factors.get(&row) {
            Some((factor, None)) => amount * nearest_f64(*factor),
            Some((factor, Some(scale))) => {
                let price = prices.map_or(f64::NAN, |prices| prices.f64(row));
                amount * nearest_f64(*factor) / price * f64::from(*scale)
            }
            None => amount,
        },
    );
}
