//! `/api/liquidations/exchanges`: totals per exchange.

use super::query::member;
use super::{BadQuery, Endpoint, Query};
use crate::model::{ExchangeTotals, Window};

/// Asks for liquidated USD per exchange in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchanges {
    /// The window.
    pub range: Window,
}

impl Exchanges {
    /// The question of these parameters.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    pub fn new(range: &str) -> Result<Self, BadQuery> {
        Ok(Self {
            range: member("range", range)?,
        })
    }
}

impl Endpoint for Exchanges {
    const NAME: &'static str = "exchanges";
    const PATH: &'static str = "/api/liquidations/exchanges";
    const ENVELOPED: bool = true;
    const PARAMETERS: &'static [&'static str] = &["range"];
    type Reply = Vec<ExchangeTotals>;

    fn from_query(query: &Query) -> Result<Self, BadQuery> {
        Self::new(query.text("range").unwrap_or("24h"))
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        vec![("range", self.range.to_string())]
    }
}
