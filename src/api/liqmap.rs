//! `/api/liq-map`: estimated liquidations by price and leverage tier.

use super::query::{coin, member};
use super::{BadQuery, Endpoint, Query};
use crate::model::{Coin, LiquidationMap, MapRange};

/// Asks for the liquidation map of a coin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liqmap {
    /// The coin.
    pub symbol: Coin,
    /// How far back the positions were opened.
    pub range: MapRange,
}

impl Liqmap {
    /// The question of these parameters.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    pub fn new(symbol: &str, range: &str) -> Result<Self, BadQuery> {
        Ok(Self {
            symbol: coin(symbol)?,
            range: member("range", range)?,
        })
    }
}

impl Endpoint for Liqmap {
    const NAME: &'static str = "liqmap";
    const PATH: &'static str = "/api/liq-map";
    const ENVELOPED: bool = false;
    const PARAMETERS: &'static [&'static str] = &["symbol", "range"];
    type Reply = LiquidationMap;

    fn from_query(query: &Query) -> Result<Self, BadQuery> {
        Self::new(
            query.text("symbol").unwrap_or("BTC"),
            query.text("range").unwrap_or("1d"),
        )
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        vec![
            ("symbol", self.symbol.to_string()),
            ("range", self.range.to_string()),
        ]
    }
}
