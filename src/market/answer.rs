//! From a question of the contract to the engine's answer: a short impl for each.

use super::Needed;
use crate::api::{
    self, Chart, Coins, Endpoint, Exchanges, Heatmap, Largest, Levels, Liqmap, Maxpain, Orders,
    Overview,
};
use crate::engine::{self, EngineError, Estimate, Explain, View};
use crate::model::{Coin, MapRange, Millis, Model, Pair, Vocabulary, Window};

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

    /// The history that an estimate needs; `None` for realised totals.
    fn needs(&self) -> Option<Needed> {
        None
    }

    /// The coin whose positions are estimated, which takes long enough that small answers should not have to queue
    /// behind it; `None` for realised totals.
    fn coin(&self) -> Option<&str> {
        None
    }

    /// The close of the last bar that an estimate was made of; `None` for realised totals.
    fn closed(&self, _reply: &Self::Reply) -> Option<Millis> {
        None
    }

    /// The instant from which on the bars that an estimate ends with are too old to give it.
    fn until(&self, _reply: &Self::Reply) -> Option<Millis> {
        None
    }
}

/// What the map of a range needs.
fn of_map(coin: &Coin, range: MapRange) -> Needed {
    Needed {
        coin: coin.to_string(),
        range: range.millis(),
        range_name: range.name(),
        orders: false,
    }
}

impl Answer for Overview {
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

impl Answer for Heatmap {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        let map = engine::heatmap(view, self.symbol.as_str(), self.range, self.model)?;
        Ok(map.into())
    }

    fn needs(&self) -> Option<Needed> {
        Some(Needed {
            coin: self.symbol.to_string(),
            range: self.range.millis(),
            range_name: self.range.name(),
            orders: self.model == Model::Expected,
        })
    }

    fn coin(&self) -> Option<&str> {
        Some(self.symbol.as_str())
    }

    fn closed(&self, reply: &Self::Reply) -> Option<Millis> {
        Some(reply.updated_at)
    }

    fn until(&self, reply: &Self::Reply) -> Option<Millis> {
        Some(reply.updated_at.on(self.range.millis()))
    }
}

impl Answer for Liqmap {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        Ok(engine::liqmap(view, self.symbol.as_str(), self.range)?.into())
    }

    fn needs(&self) -> Option<Needed> {
        Some(of_map(&self.symbol, self.range))
    }

    fn coin(&self) -> Option<&str> {
        Some(self.symbol.as_str())
    }

    fn closed(&self, reply: &Self::Reply) -> Option<Millis> {
        Some(reply.updated_at)
    }

    fn until(&self, reply: &Self::Reply) -> Option<Millis> {
        Some(reply.updated_at.on(self.range.millis()))
    }
}

impl Answer for Levels {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        Ok(engine::levels(view, self.symbol.as_str())?.into())
    }

    fn needs(&self) -> Option<Needed> {
        Some(of_map(&self.symbol, MapRange::D7))
    }

    fn coin(&self) -> Option<&str> {
        Some(self.symbol.as_str())
    }

    fn closed(&self, reply: &Self::Reply) -> Option<Millis> {
        Some(reply.updated_at)
    }

    fn until(&self, reply: &Self::Reply) -> Option<Millis> {
        Some(reply.updated_at.on(MapRange::D7.millis()))
    }
}

impl Answer for Maxpain {
    fn answer(&self, view: &View<'_>) -> Result<Answered<Self::Reply>, EngineError> {
        Ok(engine::maxpain(view, self.symbol.as_str())?.into())
    }

    fn needs(&self) -> Option<Needed> {
        Some(of_map(&self.symbol, MapRange::D7))
    }

    fn coin(&self) -> Option<&str> {
        Some(self.symbol.as_str())
    }

    fn closed(&self, reply: &Self::Reply) -> Option<Millis> {
        Some(reply.updated_at)
    }

    fn until(&self, reply: &Self::Reply) -> Option<Millis> {
        Some(reply.updated_at.on(MapRange::D1.millis()))
    }
}

/// Takes the endpoints one by one.
pub(crate) trait Visit {
    /// Takes one endpoint.
    fn endpoint<E: Answer>(self) -> Self;
}

macro_rules! visits {
    ([$($_name:ident($of_contract:ident))+] [$($_beside:ident($beside:ident))*]) => {
        /// Shows `visitor` every endpoint of the table.
        pub(crate) fn every_endpoint<V: Visit>(visitor: V) -> V {
            visitor
                $(.endpoint::<api::$of_contract>())+
                $(.endpoint::<api::$beside>())*
        }
    };
}
api::endpoints!(visits);
