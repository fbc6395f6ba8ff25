//! The judge: the shared context of all rules, and the result of applying them.

use std::borrow::Cow;

use crate::model::{Labels, Millis, exchange_name, listed_contract};
use crate::tables::amount_unit::{AmountUnit, ContractSizes, Counted};
use crate::tables::quote_rates::QuoteRates;
use crate::tables::row_fault::RowFault;
use crate::tables::rules::contract_book::ContractBook;
use crate::tables::rules::contracts::{Resolved, resolve};

/// Number of rows between two calls of `goes_on`.
const LOOK: usize = 1 << 14;
/// Maximum time by which a row may be ahead of this machine's clock, in milliseconds. Clocks of other machines differ.
pub(crate) const AHEAD: i64 = 10 * Millis::MINUTE;
/// The fault reason of a row that is further ahead.
pub(crate) const TOO_LATE: &str = "more than ten minutes ahead of this machine's clock";

/// Returns a text for the fault if an exchange is unknown, else `None`.
pub(crate) type ExchangeCheck<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// Applies the rules to the rows of tables.
pub(crate) struct Judge<'a> {
    /// The time of this machine's clock.
    pub(super) now: Millis,
    /// Whether bars that have not closed are faulty. Otherwise they are left out.
    pub(super) refuses_open: bool,
    /// The latest instant that a row may have.
    pub(super) latest: Millis,
    pub(super) rates: &'a QuoteRates,
    pub(super) sizes: &'a ContractSizes,
    /// The contract of the bars, and of the open interest, of each coin and exchange.
    pub(super) book: &'a mut ContractBook,
    exchanges: &'a mut ExchangeCheck<'a>,
    goes_on: &'a mut dyn FnMut() -> bool,
    is_stopped: bool,
}

/// The rows that the rules accept.
#[derive(Debug, Default)]
pub(crate) struct Judged<T> {
    pub(crate) columns: T,
    /// Index in the table of each accepted row.
    pub(crate) places: Vec<usize>,
    /// Number of rows left out because they repeat another row of the table.
    pub(crate) repeated: u64,
    /// Faults of the rows that are refused.
    pub(crate) faults: Vec<RowFault>,
}

impl<'a> Judge<'a> {
    /// Creates a judge. `now` is the time of this machine's clock.
    pub(crate) fn new(
        now: Millis,
        rates: &'a QuoteRates,
        sizes: &'a ContractSizes,
        book: &'a mut ContractBook,
        exchanges: &'a mut ExchangeCheck<'a>,
        goes_on: &'a mut dyn FnMut() -> bool,
    ) -> Self {
        Self {
            now,
            refuses_open: false,
            latest: now.on(AHEAD),
            rates,
            sizes,
            book,
            exchanges,
            goes_on,
            is_stopped: false,
        }
    }

    /// Counts bars that have not closed as faults. Otherwise they are left out.
    pub(crate) fn of_closed_bars(self) -> Self {
        Self {
            refuses_open: true,
            ..self
        }
    }

    /// Whether to continue.
    ///
    /// Calls `goes_on` once every [`LOOK`] rows.
    pub(super) fn look(&mut self, row: usize) -> bool {
        if row % LOOK == LOOK - 1 && !self.is_stopped {
            self.is_stopped = !(self.goes_on)();
        }
        !self.is_stopped
    }

    /// How amounts of a contract in `unit` become coins. The error is the fault reason.
    pub(super) fn counted(
        &self,
        unit: AmountUnit,
        exchange: &str,
        contract: &Resolved,
    ) -> Result<Counted, &'static str> {
        match &contract.symbol {
            Some(symbol) => self
                .sizes
                .counted(unit, (exchange, &contract.spelled, symbol)),
            None => Ok(Counted::Base(rust_decimal::Decimal::ONE)),
        }
    }

    /// Whether `goes_on` stopped the checks.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns the fault reason and the value if an instant is too late.
    pub(super) fn time(&self, at: Millis) -> Option<(&'static str, String)> {
        (at > self.latest).then(|| (TOO_LATE, at.to_string()))
    }

    /// Checks each distinct exchange of a column.
    ///
    /// Returns, by code, the text for the fault if the exchange is unknown.
    ///
    /// Blank names are accepted.
    pub(super) fn exchanges(&mut self, names: &Labels) -> Vec<Option<String>> {
        let unknown = |name: &String| match name.trim() {
            "" => None,
            _ => (self.exchanges)(name),
        };
        names.names().iter().map(unknown).collect()
    }
}

/// The contract of each distinct symbol of a column, by code.
pub(super) fn contracts_of(symbols: &Labels) -> Vec<Resolved> {
    symbols.names().iter().map(|name| resolve(name)).collect()
}

/// The symbols, those of contracts that need the exchange to be understood in a spelling that does not; `None` if there
/// are no such contracts.
pub(super) fn listed_symbols(exchanges: &Labels, symbols: &Labels) -> Option<Labels> {
    let names = exchange_names(exchanges);
    let listed = |exchange: &str| {
        let names = symbols.names().iter();
        let listed = names.map(|name| listed_contract(exchange, name));
        listed.collect::<Vec<_>>()
    };
    let listed: Vec<Vec<_>> = names.iter().map(|exchange| listed(exchange)).collect();
    let is_other = |name: &Cow<'_, str>| matches!(name, Cow::Owned(_));
    if !listed.iter().flatten().any(is_other) {
        return None;
    }
    let codes = exchanges.codes().iter().zip(symbols.codes());
    let cells = codes.map(|(exchange, symbol)| {
        let of_exchange = listed.get(*exchange as usize);
        let name = of_exchange.and_then(|names| names.get(*symbol as usize));
        name.map_or("", |name| &**name)
    });
    Some(cells.collect())
}

/// The normalised name of each distinct exchange of a column, by code.
pub(super) fn exchange_names(exchanges: &Labels) -> Vec<String> {
    let names = exchanges.names().iter();
    names.map(|name| exchange_name(name)).collect()
}

/// The coin of each row, as the symbols of an accepted table.
pub(super) fn coins_of(symbols: &Labels, contracts: &[Resolved]) -> Labels {
    let codes = symbols.codes().iter();
    let coins = codes.map(|code| {
        let contract = contracts.get(*code as usize);
        contract.map_or("", Resolved::coin)
    });
    coins.collect()
}

/// The verdict on a row's name. `verdicts` has one item for each distinct name of the column.
pub(super) fn by_code<'v, T>(verdicts: &'v [T], names: &Labels, row: usize) -> Option<&'v T> {
    verdicts.get(*names.codes().get(row)? as usize)
}
