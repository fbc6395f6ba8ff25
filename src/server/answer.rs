//! From a question of the contract to the engine's answer: ten short impls.

use crate::api::{
    Chart, Coins, Endpoint, Exchanges, HeatmapQuery, Largest, LevelsQuery, Liqmap, Maxpain, Orders,
    OverviewQuery,
};
use crate::engine::{self, EngineError, Estimate, Explain, View};
use crate::model::{Pair, Window};

/// A reply with what there is to say about how it came to be.
#[derive(Clone, Debug)]
pub struct Answered<T> {
    /// The reply.
    pub reply: T,
    /// How an estimate was made; `None` for realised totals.
    pub explain: Option<Explain>,
}

impl<T> Answered<T> {
    fn realised(reply: T) -> Self {
        Self {
            reply,
            explain: None,
        }
    }
}

impl<T> From<Estimate<T>> for Answered<T> {
    fn from(estimate: Estimate<T>) -> Self {
        Self {
            reply: estimate.reply,
            explain: Some(estimate.explain),
        }
    }
}

/// An endpoint that the engine can answer.
pub trait Answer: Endpoint {
    /// Whether an answer takes long enough that small ones should not have to queue behind it.
    const SLOW: bool = false;

    /// The answer.
    ///
    /// # Errors
    ///
    /// [`EngineError`] where the observations cannot carry an estimate.
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError>;

    /// The window of realised orders that the answer covers; `None` for estimates.
    fn window(&self) -> Option<Window> {
        None
    }
}

impl Answer for OverviewQuery {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        Ok(Answered::realised(engine::overview(view)))
    }

    fn window(&self) -> Option<Window> {
        Some(Window::H24)
    }
}

impl Answer for Coins {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        let rows = engine::coins(view, self.range, self.limit.into());
        Ok(Answered::realised(rows))
    }

    fn window(&self) -> Option<Window> {
        Some(self.range)
    }
}

impl Answer for Exchanges {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        Ok(Answered::realised(engine::exchanges(view, self.range)))
    }

    fn window(&self) -> Option<Window> {
        Some(self.range)
    }
}

impl Answer for Largest {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        let rows = engine::largest(view, self.range, self.limit.into());
        Ok(Answered::realised(rows))
    }

    fn window(&self) -> Option<Window> {
        Some(self.range)
    }
}

impl Answer for Orders {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        let symbol = self.symbol.as_ref().map(Pair::as_str);
        let rows = engine::orders(
            view,
            symbol,
            self.exchange.as_deref(),
            self.limit.into(),
            self.offset,
        );
        Ok(Answered::realised(rows))
    }

    fn window(&self) -> Option<Window> {
        Some(Window::H24)
    }
}

impl Answer for Chart {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        let rows = engine::chart(view, self.symbol.as_str());
        Ok(Answered::realised(rows))
    }

    fn window(&self) -> Option<Window> {
        Some(Window::H24)
    }
}

impl Answer for HeatmapQuery {
    const SLOW: bool = true;

    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        let map = engine::heatmap(view, self.symbol.as_str(), self.range, self.model)?;
        Ok(map.into())
    }
}

impl Answer for Liqmap {
    const SLOW: bool = true;

    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        Ok(engine::liqmap(view, self.symbol.as_str(), self.range)?.into())
    }
}

impl Answer for LevelsQuery {
    const SLOW: bool = true;

    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        Ok(engine::levels(view, self.symbol.as_str())?.into())
    }
}

impl Answer for Maxpain {
    const SLOW: bool = true;

    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        Ok(engine::maxpain(view, self.symbol.as_str())?.into())
    }
}

/// Takes the ten endpoints one by one: the only list of them on this side of the contract.
pub(super) trait Visit {
    /// Takes one endpoint.
    fn endpoint<E: Answer>(self) -> Self;
}

/// Shows `visitor` the ten endpoints in the contract's order.
pub(super) fn every_endpoint<V: Visit>(visitor: V) -> V {
    visitor
        .endpoint::<OverviewQuery>()
        .endpoint::<Coins>()
        .endpoint::<Exchanges>()
        .endpoint::<Largest>()
        .endpoint::<Orders>()
        .endpoint::<Chart>()
        .endpoint::<HeatmapQuery>()
        .endpoint::<Liqmap>()
        .endpoint::<LevelsQuery>()
        .endpoint::<Maxpain>()
}
