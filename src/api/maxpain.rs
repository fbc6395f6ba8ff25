//! `/api/liq-maxpain`: the strongest clusters of a day and a week.

use super::query::coin;
use super::{BadQuery, Endpoint, Query};
use crate::model::{Coin, MaxPain};

/// Asks for the strongest long and short clusters of a coin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maxpain {
    /// The coin.
    pub symbol: Coin,
}

impl Maxpain {
    /// The question of these parameters.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    pub fn new(symbol: &str) -> Result<Self, BadQuery> {
        Ok(Self {
            symbol: coin(symbol)?,
        })
    }
}

impl Endpoint for Maxpain {
    const NAME: &'static str = "maxpain";
    const PATH: &'static str = "/api/liq-maxpain";
    const ENVELOPED: bool = true;
    const PARAMETERS: &'static [&'static str] = &["symbol"];
    type Reply = MaxPain;

    fn from_query(query: &Query) -> Result<Self, BadQuery> {
        Self::new(query.text("symbol").unwrap_or("BTC"))
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        vec![("symbol", self.symbol.to_string())]
    }
}
