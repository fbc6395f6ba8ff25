//! `/api/liquidations/largest`: the largest single orders.

use super::query::{limit, limits, member};
use super::{BadQuery, Endpoint, Query};
use crate::model::{Order, Window};

/// Asks for the largest single liquidation orders in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Largest {
    /// The window.
    pub range: Window,
    /// Most rows wanted, 1 to 1000.
    pub limit: u16,
}

impl Largest {
    /// The largest `limit`.
    pub const MAX: u16 = 1000;

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

impl Endpoint for Largest {
    const NAME: &'static str = "largest";
    const PATH: &'static str = "/api/liquidations/largest";
    const ENVELOPED: bool = true;
    const PARAMETERS: &'static [&'static str] = &["range", "limit"];
    type Reply = Vec<Order>;

    fn from_query(query: &Query) -> Result<Self, BadQuery> {
        Self::new(
            query.text("range").unwrap_or("24h"),
            query.number("limit", 20, &limits(Self::MAX))?,
        )
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        vec![
            ("range", self.range.to_string()),
            ("limit", self.limit.to_string()),
        ]
    }
}
