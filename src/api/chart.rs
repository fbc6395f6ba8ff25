//! `/api/liquidations/chart`: USD per hour and side over the last 24 hours.

use super::query::pair;
use super::{BadQuery, Endpoint, Query};
use crate::model::{ChartRow, Pair};

/// Asks for the hourly chart of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The trading pair.
    pub symbol: Pair,
}

impl Chart {
    /// The question of these parameters.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    pub fn new(symbol: &str) -> Result<Self, BadQuery> {
        Ok(Self {
            symbol: pair(symbol)?,
        })
    }
}

impl Endpoint for Chart {
    const NAME: &'static str = "chart";
    const PATH: &'static str = "/api/liquidations/chart";
    const ENVELOPED: bool = true;
    const PARAMETERS: &'static [&'static str] = &["symbol"];
    type Reply = Vec<ChartRow>;

    fn from_query(query: &Query) -> Result<Self, BadQuery> {
        Self::new(query.text("symbol").unwrap_or("BTCUSDT"))
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        vec![("symbol", self.symbol.to_string())]
    }
}
