//! The rules of liquidated USD by period.

use crate::model::Millis;
use crate::tables::reading::{ReadRows, TotalColumns};
use crate::tables::row_fault::RowFault;
use crate::tables::rules::bar_rules::{LARGEST, shown};
use crate::tables::rules::contracts::Resolved;
use crate::tables::rules::judge::{Judge, Judged, by_code, coins_of, contracts_of};

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
