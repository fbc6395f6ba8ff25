//! Which contract the bars and the open interest of a coin on an exchange are of.

use std::collections::BTreeMap;

use crate::tables::rules::contracts::{Resolved, resolve};

/// Table, exchange and coin.
type SeriesKey = (String, String, String);

/// The contracts of the series seen so far: one per table, exchange and coin.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContractBook(BTreeMap<SeriesKey, Resolved>);

impl ContractBook {
    /// Adds a contract that is known from before.
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

    /// Whether rows of `contract` may join the series; else the contract that it has.
    ///
    /// A symbol that names a coin alone is of the series' contract, whichever that is.
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
