//! Sizes of contracts that follow from the exchange and the name of the contract.

use rust_decimal::Decimal;

use crate::model::symbols::contract_kind::{ContractKind, Settlement};
use crate::model::symbols::names::exchange_name;
use crate::model::symbols::quotes::is_dollar;
use crate::model::symbols::spelling::listed_contract;
use crate::model::symbols::symbol::Symbol;

/// Exchanges with coin-margined USD contracts. There the quantity of a USD pair may be a number of contracts.
const INVERSE: [&str; 10] = [
    "binance", "bybit", "okx", "gate", "bitget", "htx", "bitmex", "deribit", "kraken", "coinex",
];

/// What one contract contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractSize {
    /// A number above zero: USD if [`is_usd`](Self::is_usd), else units of the listed base currency.
    pub size: Decimal,
    /// Whether the contract has a fixed value in USD, whatever the price is.
    pub is_usd: bool,
}

impl ContractSize {
    /// A contract of `size` USD.
    #[must_use]
    pub fn usd(size: Decimal) -> Self {
        Self { size, is_usd: true }
    }

    /// A contract of `size` units of the base currency.
    #[must_use]
    pub fn base(size: Decimal) -> Self {
        Self {
            size,
            is_usd: false,
        }
    }
}

/// Whether the contract has, or may have, a fixed value in USD: it settles in its coin, or it is quoted in USD on an
/// exchange with such contracts and its name does not say how it settles.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Symbol, may_be_inverse};
///
/// let read = |text| Symbol::read(text).unwrap();
/// assert!(may_be_inverse("bitmex", &read("XBTUSD")));
/// assert!(may_be_inverse("", &read("BTCUSD_PERP")));
/// assert!(!may_be_inverse("kraken", &read("PF_XBTUSD")));
/// assert!(!may_be_inverse("binance", &read("BTCUSDT")));
/// ```
#[must_use]
pub fn may_be_inverse(exchange: &str, symbol: &Symbol) -> bool {
    match symbol.settlement() {
        Some(settlement) => settlement == Settlement::Inverse,
        None => {
            symbol.kind() != ContractKind::Spot
                && symbol.quote() == Some("USD")
                && INVERSE.contains(&exchange)
        }
    }
}

/// Whether an amount of the contract may count contracts: it [may be inverse](may_be_inverse), or its exchange publishes all
/// amounts in contracts that are smaller than a coin.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Symbol, may_count_contracts};
///
/// let read = |text| Symbol::read(text).unwrap();
/// assert!(may_count_contracts("bitmex", &read("XBTUSDT")));
/// assert!(!may_count_contracts("bitmex", &read("XBT/USDT")));
/// assert!(!may_count_contracts("binance", &read("BTCUSDT")));
/// ```
#[must_use]
pub fn may_count_contracts(exchange: &str, symbol: &Symbol) -> bool {
    let is_contract = symbol.quote().is_some() && symbol.kind() != ContractKind::Spot;
    may_be_inverse(exchange, symbol) || exchange == "bitmex" && is_contract
}

/// The size of the unit in which an exchange publishes amounts of a contract, as far as the name of the contract says it.
///
/// Exchanges that publish coins have contracts of one base unit. `native_id` is the exchange's name of the contract.
///
/// # Examples
///
/// ```
/// use liqdata::model::{ContractSize, published_size};
///
/// assert_eq!(published_size("binance", "BTCUSD_PERP"), Some(ContractSize::usd(100.into())));
/// assert_eq!(published_size("bybit", "BTCUSDT"), Some(ContractSize::base(1.into())));
/// assert_eq!(published_size("bybit", "BTC-26DEC26"), Some(ContractSize::base(1.into())));
/// assert_eq!(published_size("htx", "BTC261225"), Some(ContractSize::usd(100.into())));
/// assert_eq!(published_size("okx", "BTC-USDT-SWAP"), None);
/// ```
#[must_use]
pub fn published_size(exchange: &str, native_id: &str) -> Option<ContractSize> {
    let one = Decimal::ONE;
    let exchange = exchange_name(exchange);
    let symbol = Symbol::read(&listed_contract(&exchange, native_id))?;
    let is_in_usd = symbol.quote() == Some("USD");
    let coin_margined = || {
        ContractSize::usd(if symbol.coin() == "BTC" {
            Decimal::ONE_HUNDRED
        } else {
            Decimal::TEN
        })
    };
    match exchange.as_str() {
        "binance" if is_in_usd => native_id.contains('_').then(coin_margined),
        "bybit" if is_in_usd => Some(ContractSize::usd(one)),
        "bybit" => symbol
            .quote()
            .is_some_and(is_dollar)
            .then_some(ContractSize::base(one)),
        // Other contracts of HTX are listed with sizes that their names do not say.
        "htx" => (is_in_usd
            && (native_id.ends_with("-USD") || symbol.kind() == ContractKind::Dated))
            .then(coin_margined),
        "deribit" if is_in_usd && !native_id.contains('_') => Some(ContractSize::usd(one)),
        "deribit" => native_id.contains('_').then_some(ContractSize::base(one)),
        "kraken" => match native_id.split_once('_')?.0 {
            "PI" | "FI" => Some(ContractSize::usd(one)),
            "PF" | "FF" => Some(ContractSize::base(one)),
            _ => None,
        },
        "bitmex" => (native_id == "XBTUSD").then_some(ContractSize::usd(one)),
        "binance" | "bitfinex" | "dydx" | "aster" | "coinex" | "hyperliquid" | "lighter"
        | "lighter_rh" | "pacifica" | "extended" | "orderly" => Some(ContractSize::base(one)),
        _ => None,
    }
}
