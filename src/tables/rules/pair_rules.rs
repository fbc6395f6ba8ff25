//! What the rules say about all rows of an exchange and symbol, and the rows of a series by time.

use std::collections::HashMap;

use crate::model::Millis;
use crate::tables::amount_unit::Counted;
use crate::tables::attribution::UNKNOWN_EXCHANGE;
use crate::tables::rules::contract_book::ContractBook;
use crate::tables::rules::contracts::Resolved;

/// A fault without its row: column, reason and value.
pub(super) type CellFault = (&'static str, String, String);

/// What the rules say about all rows of an exchange and symbol. Each rule is applied at the first row that needs it.
#[derive(Debug, Default)]
pub(super) struct PairRules {
    names: Option<Result<(), CellFault>>,
    contract: Option<Result<(), CellFault>>,
    /// How amounts become coins.
    pub(super) counted: Option<Result<Counted, &'static str>>,
}

impl PairRules {
    /// Why the names are refused. `unknown` describes an unknown exchange.
    pub(super) fn names(
        &mut self,
        contract: &Resolved,
        unknown: Option<&Option<String>>,
    ) -> Option<CellFault> {
        let names = self.names.get_or_insert_with(|| {
            let unknown = unknown.cloned().flatten();
            let unknown = unknown.map(|shown| ("exchange", UNKNOWN_EXCHANGE.to_owned(), shown));
            let refused = || Some(("symbol", contract.no_series()?, contract.spelled.clone()));
            unknown.or_else(refused).map_or(Ok(()), Err)
        });
        names.clone().err()
    }

    /// Why the rows of a table are refused: the symbol names another exchange, or another contract than earlier rows.
    pub(super) fn contract(
        &mut self,
        contract: &Resolved,
        exchange: &str,
        book: &mut ContractBook,
        [table, rows]: [&str; 2],
    ) -> Option<CellFault> {
        let refused = self.contract.get_or_insert_with(|| {
            if let Some(named) = contract.other_exchange(exchange) {
                return Err(other_exchange(contract, named));
            }
            let admitted = book.admit(table, exchange, contract);
            admitted.map_err(|other| another_contract(rows, contract, &other))
        });
        refused.clone().err()
    }
}

/// The fault of a row of which the symbol names another exchange than the column.
pub(super) fn other_exchange(contract: &Resolved, named: &str) -> CellFault {
    let reason = "names another exchange than the column exchange".to_owned();
    ("symbol", reason, format!("{} ({named})", contract.spelled))
}

/// The fault of a row that names a second contract of a coin.
pub(super) fn another_contract(table: &str, contract: &Resolved, other: &str) -> CellFault {
    let reason = format!(
        "names another contract than the other {table} of this coin and exchange; use one contract"
    );
    (
        "symbol",
        reason,
        format!("{} after {other}", contract.spelled),
    )
}

/// The rows of a series by their instants.
#[derive(Debug, Default)]
pub(super) struct RowsByTime {
    /// Rows of which each is later than the one before it.
    ascending: Vec<(Millis, usize)>,
    others: HashMap<Millis, usize>,
}

impl RowsByTime {
    /// Adds a row, and returns the last row of the same instant before it.
    pub(super) fn replace(&mut self, at: Millis, row: usize) -> Option<usize> {
        if self.ascending.last().is_none_or(|(last, _)| *last < at) {
            self.ascending.push((at, row));
            return None;
        }
        match self.ascending.binary_search_by_key(&at, |(at, _)| *at) {
            Ok(place) => {
                let (_, before) = self.ascending.get_mut(place)?;
                Some(std::mem::replace(before, row))
            }
            Err(_) => self.others.insert(at, row),
        }
    }
}
