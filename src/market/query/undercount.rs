//! The `Undercount` query: estimates the liquidations that sampling exchanges do not publish.

use crate::contract::Undercount;
use crate::engine::{self, CompleteTapes, EngineError, View};
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::{ExplainedReply, MarketQuery, QueryInputs};
use crate::market::refusal::Refusal;
use crate::model::{Millis, TimeRange, Window};

impl MarketQuery for Undercount {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let rows = engine::undercount(view, self.range, &CompleteTapes::default());
        Ok(ExplainedReply::realised(rows))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        Some(market.undercount(self.range, as_of))
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::Realised(self.range)
    }

    /// The rows are about what was not published, and a window without orders has none.
    fn period(&self, _now: Millis) -> Option<TimeRange> {
        None
    }

    /// Each row states its own coverage, so the reply needs no separate coverage.
    fn covered(&self) -> Option<Window> {
        None
    }
}
