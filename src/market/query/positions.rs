//! The `Positions` query: open positions of single accounts.

use crate::contract::Positions;
use crate::engine::{EngineError, View};
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::{ExplainedReply, MarketQuery, QueryInputs};
use crate::market::refusal::Refusal;
use crate::model::Millis;

impl MarketQuery for Positions {
    /// Tables have no account positions.
    fn answer(&self, _: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        Ok(ExplainedReply::realised(Vec::new()))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        Some(market.positions(self.symbol.as_str(), None, as_of))
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::TimeRange
    }
}
