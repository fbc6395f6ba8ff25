//! What an amount counts, and the sizes of contracts.

use rust_decimal::Decimal;

use crate::model::{ContractSize, Symbol, may_be_inverse, may_count_contracts, published_size};

/// The unit of a column of amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(dead_code, reason = "formats with values convert them before")]
pub(crate) enum AmountUnit {
    /// Not stated: units of the listed pair. Amounts that may count contracts or coins are refused.
    #[default]
    Unstated,
    /// Units of the listed pair, such as thousands of coins for 1000PEPE.
    Base,
    /// Contracts.
    Contracts,
    /// Units of the quote currency.
    Quote,
    /// USD.
    Usd,
    /// The unit in which the exchange publishes amounts of the contract.
    Published,
}

/// How an amount of a contract becomes coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The amount times this number is in units of the listed pair.
    Base(Decimal),
    /// The amount times this number is in USD.
    Usd(Decimal),
    /// The amount is in units of the quote currency.
    Quote,
}

impl From<ContractSize> for Counted {
    fn from(contract: ContractSize) -> Self {
        if contract.is_usd {
            Self::Usd(contract.size)
        } else {
            Self::Base(contract.size)
        }
    }
}

/// A size of contracts. If the caller does not state its unit, the settlement of the contract decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GivenSize {
    size: Decimal,
    is_usd: Option<bool>,
}

/// The sizes of contracts that the caller gives.
///
/// # Examples
///
/// ```
/// use liqdata::tables::ContractSizes;
///
/// let mut sizes = ContractSizes::default();
/// sizes.add("BTC-USDT-SWAP", "0.01".parse().unwrap(), None);
/// assert!(!sizes.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContractSizes {
    /// The size of all contracts.
    all: Option<GivenSize>,
    listed: Vec<(String, Option<Symbol>, GivenSize)>,
}

impl ContractSizes {
    /// One size for all contracts: USD for inverse contracts, base units for others.
    #[must_use]
    pub fn of_all(size: Decimal) -> Self {
        Self {
            all: Some(GivenSize { size, is_usd: None }),
            listed: Vec::new(),
        }
    }

    /// Adds the size of a contract. `is_usd` says whether the size is in USD, if the caller states it.
    pub fn add(&mut self, symbol: &str, size: Decimal, is_usd: Option<bool>) {
        let given = GivenSize { size, is_usd };
        self.listed
            .push((symbol.trim().to_owned(), Symbol::read(symbol), given));
    }

    /// Whether no sizes are given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_none() && self.listed.is_empty()
    }

    /// The given size of a contract, looked up by its name, then by the contract that the name means.
    fn of(&self, exchange: &str, spelled: &str, symbol: &Symbol) -> Option<ContractSize> {
        let by_name = |(name, ..): &&(String, _, _)| name.eq_ignore_ascii_case(spelled.trim());
        let by_symbol = |(_, listed, _): &&(String, Option<Symbol>, GivenSize)| {
            let settles = |one: &Symbol| one.settlement();
            listed.as_ref().is_some_and(|listed| {
                (listed.name(), listed.kind()) == (symbol.name(), symbol.kind())
                    && (settles(listed) == settles(symbol)
                        || settles(listed).is_none()
                        || settles(symbol).is_none())
            })
        };
        let listed = self.listed.iter();
        let listed = listed.clone().find(by_name).or_else(|| {
            let mut same = listed.filter(by_symbol);
            same.next()
        });
        let given = listed.map(|(.., given)| *given).or(self.all)?;
        let is_usd = given
            .is_usd
            .unwrap_or_else(|| may_be_inverse(exchange, symbol));
        Some(ContractSize {
            size: given.size,
            is_usd,
        })
    }

    /// How amounts of a contract in `unit` become coins.
    ///
    /// # Errors
    ///
    /// The fault reason, if the unit or the size of the contract is not known.
    pub(crate) fn counted(
        &self,
        unit: AmountUnit,
        (exchange, spelled, symbol): (&str, &str, &Symbol),
    ) -> Result<Counted, &'static str> {
        let given = || self.of(exchange, spelled, symbol).map(Counted::from);
        let published = || published_size(exchange, spelled).map(Counted::from);
        match unit {
            AmountUnit::Base => Ok(Counted::Base(Decimal::ONE)),
            AmountUnit::Usd => Ok(Counted::Usd(Decimal::ONE)),
            AmountUnit::Quote => Ok(Counted::Quote),
            AmountUnit::Contracts | AmountUnit::Published => {
                given().or_else(published).ok_or(UNKNOWN_SIZE)
            }
            AmountUnit::Unstated => match given() {
                Some(counted) => Ok(counted),
                None if may_count_contracts(exchange, symbol) => Err(UNSTATED_UNIT),
                None => Ok(Counted::Base(Decimal::ONE)),
            },
        }
    }
}

/// Fault reason of an amount in contracts of an unknown size.
pub(crate) const UNKNOWN_SIZE: &str = "is in contracts, and the size of the contract is unknown; ingest and read take \
                                       it as contract_size (a number, or a table of symbol and contract_size), the \
                                       command as --contract-size";

/// Fault reason of an amount of a contract that may be coins or contracts.
pub(crate) const UNSTATED_UNIT: &str = "counts coins or contracts, and nothing says which; give the coin as symbol if it \
                                        counts coins, value_usd of orders, or the size of the contract, which ingest \
                                        and read take as contract_size, the command as --contract-size";
