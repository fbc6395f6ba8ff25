//! Maintenance margins and liquidation prices.

use pyo3::prelude::*;

use crate::model::{Brackets, Contract, MarginOf, Side, Terms};
use crate::python::rows::columns::Columns;
use crate::python::rows::rows::Table;

/// Returns the margin brackets of a contract, or `None` if they are not known.
#[pyfunction]
pub(crate) fn brackets(exchange: &str, symbol: &str) -> Option<Table> {
    Brackets::of(exchange, symbol).map(|found| Columns::from(found.rows()).into())
}

/// Lists the contracts with known brackets, as exchange and symbol.
#[pyfunction]
pub(crate) fn bracketed() -> Vec<(&'static str, &'static str)> {
    Brackets::known().collect()
}

/// Returns the maximum leverage for a notional, if the contract is known and allows the notional.
#[pyfunction]
pub(crate) fn max_leverage(exchange: &str, symbol: &str, notional: f64) -> Option<f64> {
    Brackets::of(exchange, symbol).and_then(|found| found.max_leverage(notional))
}

/// Returns the liquidation price of a position with isolated margin.
///
/// `of` names a contract (exchange, symbol, notional at entry). If the brackets of that contract are known, they apply
/// instead of the rate `maintenance`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one per parameter")]
pub(crate) fn liquidation_price(
    long: bool,
    entry: f64,
    leverage: f64,
    maintenance: f64,
    fee: f64,
    inverse: bool,
    of_entry: bool,
    of: Option<(String, String, f64)>,
) -> f64 {
    let side = if long { Side::Long } else { Side::Short };
    let terms = Terms {
        leverage,
        maintenance,
        fee,
        deduction: 0.0,
        contract: if inverse {
            Contract::Inverse
        } else {
            Contract::Linear
        },
        margin_of: if of_entry {
            MarginOf::Entry
        } else {
            MarginOf::Mark
        },
    };
    let brackets = of.and_then(|(exchange, symbol, notional)| {
        Some((Brackets::of(&exchange, &symbol)?, notional))
    });
    match brackets {
        Some((brackets, notional)) => brackets.liquidation_price(side, entry, notional, terms),
        None => terms.liquidation_price(side, entry),
    }
}
