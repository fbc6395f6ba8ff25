//! `/api/liq-heatmap`: estimated liquidations over price and time.

use super::query::{coin, member};
use super::{BadQuery, Endpoint, Query};
use crate::model::{Coin, HeatmapGrid, HeatmapRange, Model, Vocabulary};

/// Asks for the heatmap of a coin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heatmap {
    /// The coin.
    pub symbol: Coin,
    /// How far back the positions were opened.
    pub range: HeatmapRange,
    /// Which read-out.
    pub model: Model,
}

impl Heatmap {
    /// The question of these parameters.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    pub fn new(symbol: &str, range: &str, model: i128) -> Result<Self, BadQuery> {
        Ok(Self {
            symbol: coin(symbol)?,
            range: member("range", range)?,
            model: Model::ALL
                .iter()
                .copied()
                .find(|known| i128::from(known.number()) == model)
                .ok_or_else(|| {
                    BadQuery::new("model", format!("{model} is not allowed"), Self::MODELS)
                })?,
        })
    }

    /// What a `model` may be, as a sentence.
    pub const MODELS: &'static str = "2 or 3";
}

impl Endpoint for Heatmap {
    const NAME: &'static str = "heatmap";
    const PATH: &'static str = "/api/liq-heatmap";
    const ENVELOPED: bool = false;
    const PARAMETERS: &'static [&'static str] = &["symbol", "range", "model"];
    type Reply = HeatmapGrid;

    fn from_query(query: &Query) -> Result<Self, BadQuery> {
        Self::new(
            query.text("symbol").unwrap_or("BTC"),
            query.text("range").unwrap_or("24h"),
            query.number("model", 2, Self::MODELS)?,
        )
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        vec![
            ("symbol", self.symbol.to_string()),
            ("range", self.range.to_string()),
            ("model", self.model.to_string()),
        ]
    }
}
