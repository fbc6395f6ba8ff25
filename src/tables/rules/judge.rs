//! The judge: the context of the rules, and their outcome.

use crate::model::{Labels, Millis, exchange_name};
use crate::tables::quote_rates::QuoteRates;
use crate::tables::row_fault::RowFault;
use crate::tables::rules::contract_book::ContractBook;
use crate::tables::rules::contracts::{Resolved, resolve};

/// Rows between two calls of `goes_on`.
const LOOK: usize = 1 << 14;
/// By how much a recorder's clock may be ahead of this machine's.
const AHEAD: i64 = 10 * Millis::MINUTE;

/// Finds out whether an exchange is unknown, and says what is known instead.
pub(crate) type ExchangeCheck<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// The judge of tables.
pub(crate) struct Judge<'a> {
    /// The last instant that rows may have.
    pub(super) latest: Millis,
    pub(super) rates: &'a QuoteRates,
    /// The contracts of the bars and of the open interest of each coin and exchange.
    pub(super) book: &'a mut ContractBook,
    exchanges: &'a mut ExchangeCheck<'a>,
    goes_on: &'a mut dyn FnMut() -> bool,
    is_stopped: bool,
}

/// The rows that the rules accept.
#[derive(Debug, Default)]
pub(crate) struct Judged<T> {
    pub(crate) columns: T,
    /// The row of each in the table.
    pub(crate) places: Vec<usize>,
    /// Rows that repeat another row of the table.
    pub(crate) repeated: u64,
    /// Rows that are not accepted.
    pub(crate) faults: Vec<RowFault>,
}

impl<'a> Judge<'a> {
    /// A judge as of `now`, the clock of this machine.
    pub(crate) fn new(
        now: Millis,
        rates: &'a QuoteRates,
        book: &'a mut ContractBook,
        exchanges: &'a mut ExchangeCheck<'a>,
        goes_on: &'a mut dyn FnMut() -> bool,
    ) -> Self {
        Self {
            latest: now.on(AHEAD),
            rates,
            book,
            exchanges,
            goes_on,
            is_stopped: false,
        }
    }

    /// Whether to go on; looks every so many rows.
    pub(super) fn look(&mut self, row: usize) -> bool {
        if row % LOOK == LOOK - 1 && !self.is_stopped {
            self.is_stopped = !(self.goes_on)();
        }
        !self.is_stopped
    }

    /// Whether judging was stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// What is wrong with an instant.
    pub(super) fn time(&self, at: Millis) -> Option<(&'static str, String)> {
        let reason = "more than ten minutes ahead of this machine's clock";
        (at > self.latest).then(|| (reason, at.to_string()))
    }

    /// What is shown of each distinct exchange of a column that is unknown, by code; blank names are right.
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

/// The verdict of a row's code, where a column has one for each distinct name.
pub(super) fn by_code<'v, T>(verdicts: &'v [T], names: &Labels, row: usize) -> Option<&'v T> {
    verdicts.get(*names.codes().get(row)? as usize)
}
