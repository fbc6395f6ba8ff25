//! `/api/liq-levels`: key liquidation levels per leverage tier.

use super::query::coin;
use super::{BadQuery, Endpoint, Query};
use crate::model::{Coin, TierLevels};

/// Asks for the key liquidation levels of a coin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The coin.
    pub symbol: Coin,
}

impl Levels {
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

impl Endpoint for Levels {
    const NAME: &'static str = "levels";
    const PATH: &'static str = "/api/liq-levels";
    const ENVELOPED: bool = true;
    const PARAMETERS: &'static [&'static str] = &["symbol"];
    type Reply = TierLevels;

    fn from_query(query: &Query) -> Result<Self, BadQuery> {
        Self::new(query.text("symbol").unwrap_or("BTC"))
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        vec![("symbol", self.symbol.to_string())]
    }
}
