//! Defines how a market answers each endpoint of the API.

use crate::contract::{self, BadQuery, Endpoint};
use crate::engine::{
    self, EngineError, Estimate, EstimateBasis, Grouping, MapOptions, OrderFilter,
    TimelineQuestion, View,
};
use crate::market::market::Market;
use crate::market::query::market_history::MarketHistory;
use crate::market::query::measured_map::{is_measured, measured};
use crate::market::query::recorded_map::{no_positions, recorded};
use crate::market::recent::WantedPositions;
use crate::market::refusal::Refusal;
use crate::market::source::view_source::{RequiredHistory, RequiredLedger};
use crate::model::{
    ChartRow, Chosen, Coin, EarlierBar, EstimateLabels, ExactPart, Headline, HeatmapGrid,
    HeatmapRange, MapRange, MapSource, MapView, Millis, Model, Opened, PeriodLength, ShownPrices,
    Side, Symbol, TimeRange, Vocabulary, Window,
};
use std::borrow::Cow;
use std::sync::Arc;

/// A reply with an explanation of how it was computed.
#[derive(Clone, Debug)]
pub struct ExplainedReply<T> {
    /// The reply.
    pub reply: T,
    /// How the estimate in the reply was computed; `None` if the reply is not an estimate.
    pub explain: Option<EstimateBasis>,
}

impl<T> ExplainedReply<T> {
    pub(crate) fn realised(reply: T) -> Self {
        Self {
            reply,
            explain: None,
        }
    }
}

impl<T> From<Estimate<T>> for ExplainedReply<T> {
    fn from(estimate: Estimate<T>) -> Self {
        Self {
            reply: estimate.reply,
            explain: Some(estimate.explain),
        }
    }
}

/// The replies to one query as of several instants, in the order of the instants.
pub(crate) type Answers<T> = Vec<Result<ExplainedReply<T>, EngineError>>;

/// The inputs of a reply, which decide how long it can be cached and where it is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryInputs {
    /// The liquidation orders of a window.
    Realised(Window),
    /// The coverage records and liquidation orders of a window.
    Recorded(Window),
    /// Rows and coverage records of an arbitrary time range.
    TimeRange,
    /// The recorded maps of this source.
    Served(String),
    /// The history of a coin, for an estimate. Estimates are slow, so they must not block small replies.
    Estimated(RequiredHistory),
}

impl QueryInputs {
    /// The inputs of a recorded map; `None` for a map of another source.
    fn of_source(source: Option<&MapSource>) -> Option<Self> {
        let name = source?.recording()?;
        Some(Self::Served(name.to_owned()))
    }

    /// The inputs of a map over `range`. The map is refused once its last bar is older than `lasts`.
    fn map(coin: &Coin, model: Option<&Chosen>, range: MapRange, lasts: MapRange) -> Self {
        Self::Estimated(RequiredHistory {
            coin: coin.to_string(),
            range: with_volatility(range.millis()),
            range_name: range.name(),
            // If the query chooses no model, the expected model is used once it is fitted. Its fit needs orders.
            orders: model.is_none_or(|model| model.view() == Model::Expected),
            exchange: None,
            lasts: lasts.millis(),
            ledger: None,
            positions: false,
        })
    }
}

impl QueryInputs {
    /// The same inputs, of the ledger of one exchange if it is named.
    fn of_exchange(self, exchange: Option<&str>) -> Self {
        match self {
            Self::Estimated(needed) => Self::Estimated(RequiredHistory {
                exchange: exchange.map(str::to_owned),
                ..needed
            }),
            other => other,
        }
    }
}

/// The names that a query mentions.
#[derive(Clone, Debug, Default)]
pub struct QueryNames<'a> {
    /// Coins and trading pairs.
    pub symbols: Vec<&'a Symbol>,
    /// The exchange.
    pub exchange: Option<&'a str>,
}

/// An endpoint that a market can answer.
pub trait MarketQuery: Endpoint {
    /// Computes the reply from a view.
    ///
    /// # Errors
    ///
    /// [`EngineError`] if the observations do not support an estimate.
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError>;

    /// Computes the reply from data that a view does not contain; `None` if a view is enough.
    ///
    /// A reply may be refused if it needs more than about `most` bytes of reads.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if parameters contradict each other, or if the market cannot be read.
    fn of_market(
        &self,
        _market: &dyn MarketHistory,
        _as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        None
    }

    /// The inputs that the reply depends on.
    fn material(&self) -> QueryInputs;

    /// The positions that the reply places exactly, and the same query without them; `None` if it places none.
    fn blended(&self) -> Option<(WantedPositions, Self)> {
        None
    }

    /// Writes into a blended estimate that it has no known positions, if it has none.
    fn note_exact(_reply: &mut Self::Reply) {}

    /// The window that the reply's coverage describes; `None` if the query needs no coverage.
    fn covered(&self) -> Option<Window> {
        match self.material() {
            QueryInputs::Realised(window) => Some(window),
            QueryInputs::Recorded(_)
            | QueryInputs::TimeRange
            | QueryInputs::Served(_)
            | QueryInputs::Estimated(_) => None,
        }
    }

    /// The time range that the reply's coverage describes if it is no window, as meant at `now`.
    fn covered_range(&self, _now: Millis) -> Option<TimeRange> {
        None
    }

    /// The time range of the orders in the reply, as meant at `now`; `None` if the reply is about none.
    fn period(&self, now: Millis) -> Option<TimeRange> {
        match self.material() {
            QueryInputs::Realised(window) => Some(last(window, now)),
            QueryInputs::Recorded(_)
            | QueryInputs::TimeRange
            | QueryInputs::Served(_)
            | QueryInputs::Estimated(_) => None,
        }
    }

    /// The time of each key of the reply, if it has several, as meant at `now`.
    fn windows(&self, _now: Millis) -> Vec<(&'static str, TimeRange)> {
        Vec::new()
    }

    /// The question that selects totals of periods, if the reply includes them.
    fn asks_totals(&self, _now: Millis) -> Option<TimelineQuestion> {
        None
    }

    /// The instant at which the rows of a short reply begin, as meant at `now`; `None` if replies of any begin can be long.
    fn begins(&self, _now: Millis) -> Option<Millis> {
        None
    }

    /// The only exchange that the reply is about.
    fn exchange(&self) -> Option<&str> {
        None
    }

    /// Whether the reply may omit bars before its first bar; [`MarketQuery::earlier`] then finds the first omitted
    /// bar.
    fn leaves_out(&self) -> bool {
        false
    }

    /// The first bar before `reply` that cannot be resampled to the requested length.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn earlier(
        &self,
        _market: &Market,
        _as_of: Option<Millis>,
        _reply: &Self::Reply,
    ) -> Result<Option<EarlierBar>, Refusal> {
        Ok(None)
    }

    /// Whether more orders match than the reply has; `None` if the reply is no page of orders.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn more(
        &self,
        _market: &Market,
        _as_of: Option<Millis>,
        _reply: &Self::Reply,
    ) -> Result<Option<bool>, Refusal> {
        Ok(None)
    }

    /// Whether the orders of the reply have the column of group ids; `None` if the reply does not list orders.
    fn group_column(&self) -> Option<bool> {
        None
    }

    /// The requested names that do not occur in `reply` and may be misspelled.
    fn doubtful(&self, _reply: &Self::Reply) -> Option<QueryNames<'_>> {
        None
    }

    /// The reply as a grid, if it is one.
    fn grid(_reply: &Self::Reply) -> Option<&HeatmapGrid> {
        None
    }

    /// The labels of the reply, if it is an estimate.
    fn labels(_reply: &Self::Reply) -> Option<&EstimateLabels> {
        None
    }

    /// Writes into an estimate whether the market is simulated.
    fn label(_reply: &mut Self::Reply, _simulated: bool) {}

    /// Whether one replay of the ledger of estimated positions can answer any number of instants.
    fn is_one_ledger(&self) -> bool {
        false
    }

    /// The replies as of each of `instants`, equal to those of [`MarketQuery::answer`].
    fn answers(&self, view: &View<'_>, instants: &[Millis]) -> Answers<Self::Reply> {
        if self.is_one_ledger() {
            return self.of_one_ledger(view, instants);
        }
        let one = |at: &Millis| self.answer(&view.as_of(*at));
        instants.iter().map(one).collect()
    }

    /// The replies from one replay of the ledger; empty unless [`MarketQuery::is_one_ledger`] is true.
    fn of_one_ledger(&self, _view: &View<'_>, _instants: &[Millis]) -> Answers<Self::Reply> {
        Vec::new()
    }
}

/// The time of a window that ends now.
pub(crate) fn last(window: Window, now: Millis) -> TimeRange {
    TimeRange::new(now.back(window.millis()).on(1), now.on(1))
}

/// The question about the hours of the last day, by side.
fn hours(symbol: &Symbol, now: Millis) -> TimelineQuestion {
    let by = Grouping {
        side: true,
        ..Grouping::default()
    };
    TimelineQuestion {
        interval: PeriodLength::Fixed(Millis::HOUR),
        symbols: vec![symbol.clone()],
        ..TimelineQuestion::of_range(last(Window::H24, now), by)
    }
}

/// A question that totals of periods answer in part; `None` if orders alone answer it.
pub(crate) fn with_totals(
    market: &dyn MarketHistory,
    asked: &TimelineQuestion,
    as_of: Option<Millis>,
) -> Option<Result<TimelineQuestion, Refusal>> {
    match market.totals(asked, as_of) {
        Ok(totals) if totals.is_empty() => None,
        Ok(_) => Some(Ok(asked.clone())),
        Err(refusal) => Some(Err(refusal)),
    }
}

/// The filter that selects the orders of `question`.
pub(crate) fn wanted(question: &contract::Orders) -> OrderFilter<'_> {
    OrderFilter {
        symbol: question.symbol.as_ref(),
        exchange: question.exchange.as_deref(),
        least: question.min_usd,
    }
}

impl MarketQuery for contract::Orders {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let rows = engine::orders(view, wanted(self), self.limit.into(), self.offset);
        Ok(ExplainedReply::realised(self.shown(rows)))
    }

    fn doubtful(&self, reply: &Self::Reply) -> Option<QueryNames<'_>> {
        reply.is_empty().then(|| QueryNames {
            symbols: self.symbol.iter().collect(),
            exchange: self.exchange.as_deref(),
        })
    }

    fn group_column(&self) -> Option<bool> {
        Some(self.with_groups())
    }

    fn more(
        &self,
        market: &Market,
        as_of: Option<Millis>,
        reply: &Self::Reply,
    ) -> Result<Option<bool>, Refusal> {
        if reply.len() < usize::from(self.limit) {
            return Ok(Some(false));
        }
        let next = Self {
            limit: 1,
            offset: self.offset.saturating_add(self.limit.into()),
            ..self.clone()
        };
        Ok(Some(!market.answer(&next, as_of)?.reply.is_empty()))
    }

    fn period(&self, now: Millis) -> Option<TimeRange> {
        let asked = TimeRange::bounded_at(self.start, self.end, now);
        Some(if self.has_time_range() {
            TimeRange::new(asked.start, asked.end.min(now.on(1)))
        } else {
            last(Window::H24, now)
        })
    }

    fn exchange(&self) -> Option<&str> {
        self.exchange.as_deref()
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        // Group ids are in the archive but not in memory, so the orders must be read from disk.
        let is_read = self.has_time_range() || self.with_groups();
        is_read.then(|| Ok(self.shown(market.orders(self, as_of, most)?)))
    }

    fn material(&self) -> QueryInputs {
        if self.has_time_range() || self.with_groups() {
            QueryInputs::TimeRange
        } else {
            QueryInputs::Realised(Window::H24)
        }
    }

    fn covered(&self) -> Option<Window> {
        (!self.has_time_range()).then_some(Window::H24)
    }
}

impl MarketQuery for contract::Chart {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let rows = engine::chart(view, &self.symbol);
        Ok(ExplainedReply::realised(rows))
    }

    fn doubtful(&self, reply: &Self::Reply) -> Option<QueryNames<'_>> {
        reply.is_empty().then(|| QueryNames {
            symbols: vec![&self.symbol],
            exchange: None,
        })
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let now = as_of.unwrap_or_else(|| market.newest());
        with_totals(market, &hours(&self.symbol, now), as_of).map(|asked| {
            let rows = market.timeline(&Arc::new(asked?), as_of)?;
            let rows = rows.into_iter().filter_map(|row| {
                let total_usd = row.total_usd?;
                let side = Side::parse(row.side.as_deref()?)?;
                let is_empty = total_usd.is_zero() && row.cnt.is_none();
                (!is_empty).then_some(ChartRow {
                    hour: row.timestamp,
                    side,
                    total_usd,
                })
            });
            Ok(rows.collect())
        })
    }

    fn asks_totals(&self, now: Millis) -> Option<TimelineQuestion> {
        Some(hours(&self.symbol, now))
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::Realised(Window::H24)
    }
}

/// The length of a history that is needed for a range and for the volatility before its end.
fn with_volatility(range: i64) -> i64 {
    range.max(engine::VOLATILITY)
}

/// Refuses a lowest price that is not below the highest.
fn empty_span(shown: ShownPrices) -> Option<Refusal> {
    let (low, high) = (shown.low?, shown.high?);
    (low >= high).then(|| {
        let message = format!("{low} is not below the highest price, {high}");
        BadQuery::new("low", message, "a price below `high`").into()
    })
}

fn headline(asked: Option<Headline>) -> Headline {
    asked.unwrap_or(Headline::Reach)
}

/// Whether known positions are placed exactly.
fn is_blended(view: Option<MapView>) -> bool {
    view == Some(MapView::Blended)
}

/// The model of a map. Known positions are open interest, so a blended map counts that unless a model is requested.
fn used_model(question: &contract::Liqmap) -> Option<Cow<'_, Chosen>> {
    let asked = question.model.as_ref().map(Cow::Borrowed);
    asked.or_else(|| is_blended(question.view).then(|| Cow::Owned(Model::Exposure.into())))
}

/// Refuses a blended map of positions that were opened within a range.
fn of_range(view: Option<MapView>, opened: Option<Opened>) -> Option<Refusal> {
    (is_blended(view) && opened == Some(Opened::Range)).then(|| {
        let message = r#""range" is not allowed for a blended map, because it is unknown when the positions of accounts were opened"#;
        BadQuery::new("opened", message, "ever, which is its default").into()
    })
}

/// Writes whether the market is simulated; a recorded map says itself whether it is.
fn mark(labels: &mut EstimateLabels, simulated: bool) {
    if labels.served_by.is_none() {
        labels.simulated = Some(simulated);
    }
}

/// The options of a liquidation map.
fn options(question: &contract::Liqmap) -> MapOptions {
    MapOptions {
        range: question.range,
        opened: question.opened(),
        bin: question.bin,
        shown: question.shown(),
    }
}

impl MarketQuery for contract::Heatmap {
    fn grid(reply: &Self::Reply) -> Option<&HeatmapGrid> {
        Some(reply)
    }

    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let view = view
            .with_model(self.model.own())
            .of_venue(self.exchange.as_deref());
        let (coin, model) = (self.symbol.as_str(), self.model.view());
        let map = engine::heatmap(
            &view,
            coin,
            self.range,
            model,
            (self.opened(), self.shown()),
        )?;
        Ok(map.into())
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let fault = no_positions(self.source.as_ref())
            .or_else(|| empty_span(self.shown()))
            .or_else(|| of_range(self.view, self.opened));
        fault
            .map(Err)
            .or_else(|| recorded(self, market, as_of, most))
    }

    fn labels(reply: &Self::Reply) -> Option<&EstimateLabels> {
        Some(&reply.labels)
    }

    fn label(reply: &mut Self::Reply, simulated: bool) {
        mark(&mut reply.labels, simulated);
    }

    fn material(&self) -> QueryInputs {
        if let Some(inputs) = QueryInputs::of_source(self.source.as_ref()) {
            return inputs;
        }
        QueryInputs::Estimated(RequiredHistory {
            coin: self.symbol.to_string(),
            range: with_volatility(self.range.millis()),
            range_name: self.range.name(),
            orders: self.model.view() == Model::Expected,
            exchange: self.exchange.clone(),
            lasts: self.range.millis(),
            ledger: (self.opened() == Opened::Ever).then(|| RequiredLedger {
                model: Some(self.model.clone()),
                back: with_volatility(self.range.millis()),
            }),
            positions: is_blended(self.view),
        })
    }

    fn note_exact(reply: &mut Self::Reply) {
        if reply.exact.is_none() {
            reply.exact = Some(ExactPart::nothing());
            let columns = reply.times.len().max(1);
            let last = reply.matrix.chunks_exact(columns);
            let share = |usd: f64| if usd > 0.0 { 0.0 } else { f64::NAN };
            let shares = last.map(|row| share(row.last().copied().unwrap_or_default()));
            reply.exact_share = Some(shares.collect());
        }
    }

    fn blended(&self) -> Option<(WantedPositions, Self)> {
        is_blended(self.view).then(|| {
            let wanted = WantedPositions {
                coin: self.symbol.to_string(),
                exchange: self.exchange.clone(),
                columns: Some(self.range),
            };
            let modelled = Self {
                view: None,
                ..self.clone()
            };
            (wanted, modelled)
        })
    }

    fn is_one_ledger(&self) -> bool {
        self.range == HeatmapRange::All && self.opened() == Opened::Ever && !is_blended(self.view)
    }

    fn of_one_ledger(&self, view: &View<'_>, instants: &[Millis]) -> Answers<Self::Reply> {
        let view = view
            .with_model(self.model.own())
            .of_venue(self.exchange.as_deref());
        let asked = (self.model.view(), self.shown());
        let maps = engine::heatmaps(&view, self.symbol.as_str(), asked, instants);
        maps.into_iter().map(|map| Ok(map?.into())).collect()
    }
}

impl MarketQuery for contract::Liqmap {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let view = view.of_venue(self.exchange.as_deref());
        let (coin, model) = (self.symbol.as_str(), used_model(self));
        Ok(engine::liqmap_with(&view, coin, options(self), model.as_deref())?.into())
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let fault = empty_span(self.shown()).or_else(|| of_range(self.view, self.opened));
        fault
            .map(Err)
            .or_else(|| recorded(self, market, as_of, most))
            .or_else(|| is_measured(self).then(|| measured(market, self, as_of)))
    }

    fn labels(reply: &Self::Reply) -> Option<&EstimateLabels> {
        Some(&reply.labels)
    }

    fn label(reply: &mut Self::Reply, simulated: bool) {
        mark(&mut reply.labels, simulated);
    }

    fn material(&self) -> QueryInputs {
        if let Some(inputs) = QueryInputs::of_source(self.source.as_ref()) {
            return inputs;
        }
        if is_measured(self) {
            return QueryInputs::TimeRange;
        }
        let model = used_model(self);
        let material = QueryInputs::map(&self.symbol, model.as_deref(), self.range, self.range);
        match material {
            QueryInputs::Estimated(needed) => QueryInputs::Estimated(RequiredHistory {
                exchange: self.exchange.clone(),
                positions: is_blended(self.view),
                ledger: (self.opened() == Opened::Ever).then(|| RequiredLedger {
                    model: model.map(Cow::into_owned),
                    // The explanation counts the bars of the range.
                    back: with_volatility(if self.range == MapRange::All {
                        0
                    } else {
                        self.range.millis()
                    }),
                }),
                ..needed
            }),
            material => material,
        }
    }

    fn note_exact(reply: &mut Self::Reply) {
        if reply.exact.is_none() {
            reply.exact = Some(ExactPart::nothing());
            reply.exact_share = Some(vec![0.0; reply.bins.len()]);
        }
    }

    fn blended(&self) -> Option<(WantedPositions, Self)> {
        is_blended(self.view).then(|| {
            let wanted = WantedPositions {
                coin: self.symbol.to_string(),
                exchange: self.exchange.clone(),
                columns: None,
            };
            let modelled = Self {
                view: None,
                ..self.clone()
            };
            (wanted, modelled)
        })
    }

    fn is_one_ledger(&self) -> bool {
        self.range == MapRange::All
            && self.opened() == Opened::Ever
            && !is_measured(self)
            && !is_blended(self.view)
    }

    fn of_one_ledger(&self, view: &View<'_>, instants: &[Millis]) -> Answers<Self::Reply> {
        let view = view.of_venue(self.exchange.as_deref());
        let (coin, model) = (self.symbol.as_str(), self.model.as_ref());
        let maps = engine::liqmaps(&view, coin, model, options(self), instants);
        maps.into_iter().map(|map| Ok(map?.into())).collect()
    }
}

impl MarketQuery for contract::Levels {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let view = view.of_venue(self.exchange.as_deref());
        Ok(engine::levels(
            &view,
            self.symbol.as_str(),
            self.model.as_ref(),
            headline(self.headline),
        )?
        .into())
    }

    fn label(reply: &mut Self::Reply, simulated: bool) {
        reply.labels.simulated = Some(simulated);
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::map(
            &self.symbol,
            self.model.as_ref(),
            MapRange::D7,
            MapRange::D7,
        )
        .of_exchange(self.exchange.as_deref())
    }
}

impl MarketQuery for contract::Maxpain {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let view = view.of_venue(self.exchange.as_deref());
        Ok(engine::maxpain(
            &view,
            self.symbol.as_str(),
            self.model.as_ref(),
            headline(self.headline),
        )?
        .into())
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let fault = no_positions(self.source.as_ref()).map(Err);
        fault.or_else(|| recorded(self, market, as_of, most))
    }

    fn labels(reply: &Self::Reply) -> Option<&EstimateLabels> {
        Some(&reply.labels)
    }

    fn label(reply: &mut Self::Reply, simulated: bool) {
        mark(&mut reply.labels, simulated);
    }

    fn material(&self) -> QueryInputs {
        if let Some(inputs) = QueryInputs::of_source(self.source.as_ref()) {
            return inputs;
        }
        QueryInputs::map(
            &self.symbol,
            self.model.as_ref(),
            MapRange::D7,
            MapRange::D1,
        )
        .of_exchange(self.exchange.as_deref())
    }
}

/// A generic callback for each endpoint type.
pub(crate) trait EndpointVisitor {
    /// Visits one endpoint.
    fn endpoint<E: MarketQuery>(self) -> Self;
}

macro_rules! visits {
    ([$($_name:ident($of_contract:ident))+] [$($_extension:ident($extension:ident))*]) => {
        /// Calls `visitor` with every endpoint of the API.
        pub(crate) fn every_endpoint<V: EndpointVisitor>(visitor: V) -> V {
            visitor
                $(.endpoint::<contract::$of_contract>())+
                $(.endpoint::<contract::$extension>())*
        }
    };
}
contract::endpoints!(visits);
