//! Answers queries of the API. Future instants and unknown names are refused, because an empty reply would look like a
//! market without liquidations.

use crate::contract::{BadQuery, Endpoint as _, Heatmap, Orders};
use crate::engine::{self, EngineError, KnownPositions, View};
use crate::market::market::Market;
use crate::market::names::{is_exchange, is_well_known};
use crate::market::query::market_query::{
    ExplainedReply, MarketQuery, QueryInputs, QueryNames, wanted,
};
use crate::market::recent::{EstimateKey, WantedPositions};
use crate::market::refusal::{Refusal, RefusalCode};
use crate::market::revision::{Dependency, wall_clock};
use crate::market::source::view_source::{RequiredHistory, view_of};
use crate::model::{Chosen, GroupedOrder, HeatmapRange, Millis, Model, Symbol, TimeRange};
use std::sync::Arc;

/// Names of the endpoints that compute their answers from liquidation orders.
const REALISED: [&str; 9] = [
    "overview",
    "coins",
    "exchanges",
    "largest",
    "chart",
    "orders",
    "history",
    "cascades",
    "undercount",
];

impl Market {
    /// Answers `question` as of the instant `as_of`; without `as_of`, as of now.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that says why there is no answer.
    pub fn answer<E: MarketQuery>(
        &self,
        question: &E,
        as_of: Option<Millis>,
    ) -> Result<ExplainedReply<E::Reply>, Refusal> {
        let Some(key) = self.estimate_key(question, as_of) else {
            return self.answer_within(question, as_of, usize::MAX);
        };
        let cached = self.estimates.get(&key);
        if let Some(known) = cached.as_ref().and_then(|known| known.downcast_ref()) {
            return Ok(ExplainedReply::clone(known));
        }
        let answered = self.answer_within(question, as_of, usize::MAX)?;
        self.estimates.add(key, Arc::new(answered.clone()));
        Ok(answered)
    }

    /// The key of an estimate as of now in the cache; `None` for heatmaps, which are large, and for replies that depend on
    /// more than the observations.
    fn estimate_key<E: MarketQuery>(
        &self,
        question: &E,
        as_of: Option<Millis>,
    ) -> Option<EstimateKey> {
        match question.material() {
            QueryInputs::Estimated(needed) if !needed.positions => {}
            _ => return None,
        }
        if as_of.is_some() || E::NAME == Heatmap::NAME {
            return None;
        }
        let state = self.state(&Dependency::Observations).ok()?;
        let (revision, damage) = (state.revision.number, self.changes_of_damage());
        Some((E::NAME, question.to_query(), revision, damage))
    }

    /// Like [`Market::answer`], but reads at most about `most` bytes.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`], and if the answer needs more than about `most` bytes of reads.
    pub(crate) fn answer_within<E: MarketQuery>(
        &self,
        question: &E,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<ExplainedReply<E::Reply>, Refusal> {
        if !matches!(question.material(), QueryInputs::Served(_)) {
            self.check_instant(as_of)?;
        }
        if self.has_only_totals && REALISED.contains(&E::NAME) {
            return Err(Refusal::no_orders());
        }
        if let Some(reply) = question.of_market(self, as_of, most) {
            let mut reply = reply.map_err(Refusal::blaming::<E>)?;
            E::label(&mut reply, self.simulated);
            self.check_answer(question, &reply)?;
            return Ok(ExplainedReply::realised(reply));
        }
        let known = match question.blended() {
            None => None,
            Some((wanted, modelled)) => {
                let known = self.known_positions(&wanted, as_of)?;
                if known.is_empty() {
                    let mut answered = self.answer_within(&modelled, as_of, most)?;
                    E::note_exact(&mut answered.reply);
                    return Ok(answered);
                }
                Some(known)
            }
        };
        let needed = match question.material() {
            QueryInputs::Realised(_)
            | QueryInputs::Recorded(_)
            | QueryInputs::TimeRange
            | QueryInputs::Served(_) => None,
            QueryInputs::Estimated(needed) => Some(needed),
        };
        let answered = view_of(&*self.source, as_of, needed.as_ref(), |view| match &known {
            Some(known) => question.answer(&view.with_positions(known)),
            None => question.answer(view),
        })
        .and_then(|answered| Ok(answered?))
        .map_err(|refusal| match &needed {
            Some(needed) => self.of_coin(&needed.coin, refusal),
            None => refusal,
        })
        .map_err(Refusal::blaming::<E>);
        let mut answered = answered?;
        if let (Some(needed), Some(explain)) = (&needed, &mut answered.explain) {
            explain.damaged = self.source.damage_behind(needed, explain.closed)?;
        }
        if known.is_some() {
            E::note_exact(&mut answered.reply);
        }
        E::label(&mut answered.reply, self.simulated);
        self.check_answer(question, &answered.reply)?;
        Ok(answered)
    }

    /// The positions that a query needs, as known at `as_of` or now; empty if none are known.
    fn known_positions(
        &self,
        wanted: &WantedPositions,
        as_of: Option<Millis>,
    ) -> Result<Arc<KnownPositions>, Refusal> {
        let revision = self.state(&Dependency::Record)?.revision.number;
        let key = (wanted.clone(), as_of, revision);
        self.positions.get_or_read(key, || {
            let (coin, exchange) = (wanted.coin.as_str(), wanted.exchange.as_deref());
            let mut known = KnownPositions::new(&self.source.positions(coin, exchange, as_of)?);
            if let Some(range) = wanted.columns.filter(|_| !known.is_empty()) {
                known.extend(&self.earlier_positions(coin, exchange, range, as_of)?);
            }
            Ok(known)
        })
    }

    /// The snapshots before the newest one that the columns of a heatmap need.
    fn earlier_positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        columns: HeatmapRange,
        as_of: Option<Millis>,
    ) -> Result<KnownPositions, Refusal> {
        let end = self.now_at(as_of);
        let first = match columns {
            HeatmapRange::All => self.source.first_bar(coin, as_of, TimeRange::ALL)?,
            _ => Some((end.back(columns.millis()), 0)),
        };
        let Some((start, _)) = first else {
            return Ok(KnownPositions::default());
        };
        let range = TimeRange::new(start, end);
        let step = engine::usual_column(columns, range.length());
        self.source
            .position_history(coin, exchange, range, step, as_of)
    }

    /// Refuses an instant before the first observation, or too far in the future.
    ///
    /// A market that does not grow accepts instants up to one day after its newest observation. By then its longest
    /// window is empty. A growing market also accepts instants up to the current wall-clock time.
    pub(crate) fn check_instant(&self, as_of: Option<Millis>) -> Result<(), Refusal> {
        let Some(asked) = as_of else { return Ok(()) };
        self.check_start(asked)?;
        let now = self.now();
        if asked <= now.on(Millis::DAY) || self.is_growing() && asked <= wall_clock() {
            return Ok(());
        }
        // A source that was opened as of an instant refuses later instants with its own message.
        self.source.instant(as_of)?;
        if self.source.names()?.is_empty() {
            return Ok(());
        }
        Err(Refusal::unknown_yet(asked, now))
    }

    /// Refuses an instant before the first observation, as of which nothing is known.
    pub(crate) fn check_start(&self, asked: Millis) -> Result<(), Refusal> {
        match self.source.first_observed() {
            // The damage itself is said when rows are read.
            Err(refusal) if !refusal.is_of_damage() => Err(refusal),
            Ok(Some(first)) if asked < first => Err(BadQuery::new(
                "as_of",
                format!("nothing is known as of {asked}: the first observation is of {first}"),
                format!("an instant from {first} on"),
            )
            .into()),
            _ => Ok(()),
        }
    }

    /// Refuses a reply that lacks a requested name if this name is unknown.
    pub(crate) fn check_answer<E: MarketQuery>(
        &self,
        question: &E,
        reply: &E::Reply,
    ) -> Result<(), Refusal> {
        match question.doubtful(reply) {
            Some(asked) => self.check_names(&asked),
            None => Ok(()),
        }
    }

    /// Refuses names that were never observed and are not well known.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] with the first such name and the most similar known names, or if the archive cannot be read.
    pub fn check_names(&self, asked: &QueryNames<'_>) -> Result<(), Refusal> {
        let QueryNames { symbols, exchange } = asked;
        let mut unsure = symbols
            .iter()
            .filter(|symbol| !is_well_known(symbol))
            .peekable();
        let exchange = exchange.filter(|exchange| !is_exchange(exchange));
        if unsure.peek().is_none() && exchange.is_none() {
            return Ok(());
        }
        let names = self.source.names()?;
        unsure.try_for_each(|symbol| names.check_symbol(symbol))?;
        exchange.map_or(Ok(()), |exchange| names.check_exchange(exchange))
    }

    /// Adds suggestions to the refusal of an unknown coin, unless the coin is well known.
    fn of_coin(&self, coin: &str, refusal: Refusal) -> Refusal {
        if refusal.code != RefusalCode::UnknownCoin {
            return refusal;
        }
        self.check_coin(coin).err().unwrap_or(refusal)
    }

    /// Refuses a coin that was never observed and is not well known.
    ///
    /// # Errors
    ///
    /// As [`Market::check_names`].
    pub fn check_coin(&self, coin: &str) -> Result<(), Refusal> {
        let symbol = Symbol::read(coin);
        self.check_names(&QueryNames {
            symbols: symbol.iter().collect(),
            exchange: None,
        })
    }

    /// Answers `question` as of each of `instants` in one pass over the history; `None` if that is not possible.
    ///
    /// The answers have the order of `instants` and equal those of [`Market::answer`].
    ///
    /// # Errors
    ///
    /// Each answer may be a [`Refusal`], as for [`Market::answer`].
    pub fn answers<E: MarketQuery>(
        &self,
        question: &E,
        instants: &[Millis],
    ) -> Option<Vec<Result<ExplainedReply<E::Reply>, Refusal>>> {
        let QueryInputs::Estimated(needed) = question.material() else {
            return None;
        };
        if !question.is_one_ledger() || !self.source.shows_the_past() {
            return None;
        }
        let answers = view_of(&*self.source, None, Some(&needed), |view| {
            question.answers(view, instants)
        });
        // If the view fails, the caller queries each instant separately, so that each has its own refusal.
        let answers = answers.ok()?.into_iter().zip(instants);
        let answers = answers.map(|(answered, at)| {
            self.check_instant(Some(*at))?;
            let answered = answered.map_err(|fault| self.of_coin(&needed.coin, fault.into()));
            let mut answered = answered.map_err(Refusal::blaming::<E>)?;
            E::label(&mut answered.reply, self.simulated);
            Ok(answered)
        });
        Some(answers.collect())
    }

    /// Calls `work` with all observations of `coin` that an estimate with `model` needs; returns its result.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn estimated<T>(
        &self,
        coin: &str,
        model: &Chosen,
        work: impl FnOnce(&View<'_>) -> Result<T, EngineError>,
    ) -> Result<T, Refusal> {
        let needed = RequiredHistory {
            coin: coin.to_owned(),
            range: Millis::ALL,
            range_name: "all",
            orders: model.view() == Model::Expected,
            exchange: None,
            lasts: Millis::ALL,
            ledger: None,
            positions: false,
        };
        view_of(&*self.source, None, Some(&needed), work)
            .and_then(|made| Ok(made?))
            .map_err(|refusal| self.of_coin(coin, refusal))
    }

    /// Skips `offset` orders of the feed and returns up to `limit`. `orders` has the filters; its own limit is
    /// ignored.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn page(
        &self,
        orders: &Orders,
        limit: usize,
        offset: u64,
        as_of: Option<Millis>,
    ) -> Result<Vec<GroupedOrder>, Refusal> {
        self.check_instant(as_of)?;
        let page = view_of(&*self.source, as_of, None, |view| {
            engine::orders(view, wanted(orders), limit, offset)
        })?;
        self.check_answer(orders, &page)?;
        Ok(page)
    }
}
