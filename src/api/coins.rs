//! `/api/liquidations/coins`: the coin ranking.

use super::query::{limit, limits, member};
use super::{BadQuery, Endpoint, Query};
use crate::model::{CoinTotals, Window};

/// Asks for the coins with the most liquidated USD in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coins {
    /// The window.
    pub range: Window,
    /// Most rows wanted, 1 to 200.
    pub limit: u16,
}

impl Coins {
    /// The largest `limit`.
    pub const MAX: u16 = 200;

    /// The question of these parameters.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    pub fn new(range: &str, limit_: i128) -> Result<Self, BadQuery> {
        Ok(Self {
            range: member("range", range)?,
            limit: limit(limit_, Self::MAX)?,
        })
    }
}

impl Endpoint for Coins {
    const NAME: &'static str = "coins";
    const PATH: &'static str = "/api/liquidations/coins";
    const ENVELOPED: bool = true;
    const PARAMETERS: &'static [&'static str] = &["range", "limit"];
    type Reply = Vec<CoinTotals>;

    fn from_query(query: &Query) -> Result<Self, BadQuery> {
        Self::new(
            query.text("range").unwrap_or("24h"),
            query.number("limit", 30, &limits(Self::MAX))?,
        )
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        vec![
            ("range", self.range.to_string()),
            ("limit", self.limit.to_string()),
        ]
    }
}
