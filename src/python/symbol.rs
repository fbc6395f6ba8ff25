//! Parses symbols, coins and exchange names.

use pyo3::prelude::*;

use super::error;
use crate::contract::{BadQuery, Rule};
use crate::feeds::VENUES;
use crate::model::nearest;
use crate::model::{
    Coin, ContractKind, EXCHANGES, Symbol, exchange_name, is_coin, named_exchange, well_known,
};

/// Minimum similarity to a known pair at which an unknown pair counts as a typing error.
const SLIP: f64 = 0.93;

const ALLOWED: &str =
    "a coin such as \"BTC\" or a trading pair such as \"BTCUSDT\", in any spelling";

/// Coin, namespace, quote, pair, kind, exchange, exchange's own id, scale.
type Parts = (
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<&'static str>,
    Option<&'static str>,
    Option<String>,
    u32,
);

/// Returns the coin of a symbol or pair.
#[pyfunction]
pub(crate) fn coin(py: Python<'_>, text: &str) -> PyResult<String> {
    let coin = Coin::check("symbol", text).map_err(|refusal| error::bad_query(py, &refusal))?;
    Ok(coin.to_string())
}

/// Returns the canonical name of an exchange.
#[pyfunction]
pub(crate) fn exchange(text: &str) -> String {
    exchange_name(text)
}

/// Parses a symbol.
#[pyfunction]
#[pyo3(signature = (text, exchange=None))]
pub(crate) fn symbol(py: Python<'_>, text: &str, exchange: Option<&str>) -> PyResult<Parts> {
    read(text, exchange).map_err(|refusal| error::bad_query(py, &refusal))
}

fn read(text: &str, exchange: Option<&str>) -> Result<Parts, BadQuery> {
    let known =
        |sign: char| sign.is_alphanumeric() || sign.is_whitespace() || "-_/:.@".contains(sign);
    let symbol = Symbol::read(text)
        .filter(|_| text.chars().all(known))
        .ok_or_else(|| BadQuery::new("symbol", format!("{text:?} names nothing"), ALLOWED))?;
    if let Some(why) = symbol.unclear(text) {
        return Err(BadQuery::new(
            "symbol",
            format!("{text:?} is {why}"),
            ALLOWED,
        ));
    }
    if symbol.quote().is_none() && !is_coin(symbol.coin()) {
        let pairs: Vec<String> = well_known()
            .flat_map(|coin| ["USDT", "USDC", "USD"].map(|quote| [coin, quote].concat()))
            .collect();
        let nearest = nearest(symbol.name(), pairs.iter().map(String::as_str), SLIP);
        if let Some(first) = nearest.first() {
            let problem = format!("{text:?} is not a known trading pair; did you mean {first:?}?");
            let allowed = format!("the nearest: {}", nearest.join(", "));
            return Err(BadQuery::new("symbol", problem, allowed));
        }
    }
    let exchange = exchange.map(listened_to).transpose()?;
    if let (Some(asked), Some(named)) = (exchange, symbol.exchange())
        && asked != named
    {
        let problem =
            format!("exchange={asked:?} contradicts the symbol {text:?}, which names {named:?}");
        let allowed = "the same exchange in both, or only one of them";
        return Err(BadQuery::new("exchange", problem, allowed));
    }
    let exchange = exchange.or(symbol.exchange());
    let mut venues = VENUES.into_iter();
    let venue = venues.find(|venue| Some(venue.name()) == exchange);
    let is_pair = symbol.quote().is_some();
    Ok((
        symbol.coin().to_owned(),
        symbol.namespace().map(str::to_owned),
        symbol.quote().map(str::to_owned),
        is_pair.then(|| symbol.name().to_owned()),
        is_pair.then(|| ContractKind::name(symbol.kind())),
        exchange,
        venue.and_then(|venue| venue.native_id(&symbol)),
        symbol.scale(),
    ))
}

/// Returns the canonical name of a supported or regional exchange, or an error for any other name.
fn listened_to(text: &str) -> Result<&'static str, BadQuery> {
    named_exchange(text).ok_or_else(|| {
        let nearest = nearest(&exchange_name(text), EXCHANGES.into_iter(), 0.75);
        let meant = nearest
            .first()
            .map(|name| format!("; did you mean {name:?}?"));
        let problem = format!("{text:?} is unknown{}", meant.unwrap_or_default());
        BadQuery::new("exchange", problem, EXCHANGES.join(", "))
    })
}
