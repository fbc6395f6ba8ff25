//! The contracts that bars and open interest readings belong to.
//!
//! A series is the rows of one table, exchange and coin. Its rows must belong to one contract.

use std::collections::BTreeMap;

use crate::tables::rules::contracts::{Resolved, resolve};

/// Table, exchange and coin.
type SeriesKey = (String, String, String);

/// The contract of each series seen so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContractBook(BTreeMap<SeriesKey, Resolved>);

impl ContractBook {
    /// Sets the contract of a series that was stored earlier.
    pub(crate) fn add(&mut self, table: &str, exchange: &str, coin: &str, contract: &str) {
        let key = [table, exchange, coin].map(str::to_owned);
        self.0.insert(key.into(), resolve(contract));
    }

    /// All series: table, exchange, coin and contract as spelled.
    pub(crate) fn all(&self) -> impl Iterator<Item = [&str; 4]> {
        self.0.iter().map(|((table, exchange, coin), contract)| {
            [table, exchange, coin, contract.spelled.as_str()]
        })
    }

    /// Checks that rows of `contract` may join their series.
    ///
    /// The error is the contract of the series.
    ///
    /// A symbol that names only a coin, without a quote, is taken as the contract of the series.
    pub(super) fn admit(
        &mut self,
        table: &str,
        exchange: &str,
        contract: &Resolved,
    ) -> Result<(), String> {
        let key = [table, exchange, contract.coin()].map(str::to_owned);
        match self.0.entry(key.into()) {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(contract.clone());
            }
            std::collections::btree_map::Entry::Occupied(mut known) => {
                match (known.get().id(), contract.id()) {
                    (None, Some(_)) => {
                        known.insert(contract.clone());
                    }
                    (Some(one), Some(other)) if one != other => {
                        return Err(known.get().spelled.clone());
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
