//! What sampled exchanges leave out: from the question to the estimate.

use crate::api::Undercount;
use crate::engine::{self, EngineError, Spans, View, WholeTapes};
use crate::market::query::market_query::{Answer, Answered, Material};
use crate::market::query::time_ranges::Stretches;
use crate::market::refusal::Refusal;
use crate::model::{Millis, Window};

impl Answer for Undercount {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        let rows = engine::undercount(view, self.range, &WholeTapes::At(Spans::new()));
        Ok(Answered::realised(rows))
    }

    fn of_market(
        &self,
        market: &dyn Stretches,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        Some(market.undercount(self.range, as_of))
    }

    fn material(&self) -> Material {
        Material::Realised(self.range)
    }

    /// Its rows say themselves what each venue tells.
    fn covered(&self) -> Option<Window> {
        None
    }
}
