//! Answers queries of the API. A future instant or an unknown name is refused, because an empty reply would look like a
//! quiet market.

use crate::api::Orders;
use crate::engine::{self, EngineError, View};
use crate::market::market::Market;
use crate::market::names::{is_exchange, is_well_known};
use crate::market::query::market_query::{
    ExplainedReply, MarketQuery, QueryInputs, QueryNames, wanted,
};
use crate::market::refusal::{Refusal, RefusalCode};
use crate::market::revision::wall_clock;
use crate::market::source::view_source::{RequiredHistory, view_of};
use crate::model::{Chosen, GroupedOrder, Millis, Model, Symbol};

/// The endpoints with answers that are computed from orders.
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
    /// The answer to `question` as of `as_of`; without it, as of now.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] with the reason.
    pub fn answer<E: MarketQuery>(
        &self,
        question: &E,
        as_of: Option<Millis>,
    ) -> Result<ExplainedReply<E::Reply>, Refusal> {
        self.answer_within(question, as_of, usize::MAX)
    }

    /// As [`Market::answer`], but reads at most about `most` bytes.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`], and where more than `most` bytes would be read.
    pub(crate) fn answer_within<E: MarketQuery>(
        &self,
        question: &E,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<ExplainedReply<E::Reply>, Refusal> {
        self.check_instant(as_of)?;
        if self.has_only_totals && REALISED.contains(&E::NAME) {
            return Err(Refusal::no_orders());
        }
        if let Some(reply) = question.of_market(self, as_of, most) {
            let reply = reply.map_err(Refusal::blaming::<E>)?;
            self.check_answer(question, &reply)?;
            return Ok(ExplainedReply::realised(reply));
        }
        let needed = match question.material() {
            QueryInputs::Realised(_) | QueryInputs::Recorded(_) | QueryInputs::TimeRange => None,
            QueryInputs::Estimated(needed) => Some(needed),
        };
        let answered = view_of(&*self.source, as_of, needed.as_ref(), |view| {
            question.answer(view)
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
        self.check_answer(question, &answered.reply)?;
        Ok(answered)
    }

    /// Refuses an instant that is too far in the future.
    ///
    /// A market that does not grow answers up to a day after its newest observation, when the longest window is empty.
    /// A growing market also answers up to the current wall-clock time.
    pub(crate) fn check_instant(&self, as_of: Option<Millis>) -> Result<(), Refusal> {
        let Some(asked) = as_of else { return Ok(()) };
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

    /// Refuses an empty reply about an unknown name.
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

    /// Refuses names that were never observed and that are not well known.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that names the first such name and the nearest known ones, and where the archive cannot be read.
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

    /// Replaces an unknown-coin refusal by one with suggestions, unless the coin is well known.
    fn of_coin(&self, coin: &str, refusal: Refusal) -> Refusal {
        if refusal.code != RefusalCode::UnknownCoin {
            return refusal;
        }
        self.check_coin(coin).err().unwrap_or(refusal)
    }

    /// Refuses a coin that was never observed and that is not well known.
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

    /// The answers to `question` as of each instant, if one replay gives them all; else `None`.
    ///
    /// The answers are in the order of `instants` and equal those of [`Market::answer`].
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
        // If there is no view, the caller asks for each instant separately, and each gets its own refusal.
        let answers = answers.ok()?.into_iter().zip(instants);
        let answers = answers.map(|(answered, at)| {
            self.check_instant(Some(*at))?;
            let answered = answered.map_err(|fault| self.of_coin(&needed.coin, fault.into()));
            answered.map_err(Refusal::blaming::<E>)
        });
        Some(answers.collect())
    }

    /// The result of `work` on all observations of `coin` that an estimate of `model` needs.
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
        };
        view_of(&*self.source, None, Some(&needed), work)
            .and_then(|made| Ok(made?))
            .map_err(|refusal| self.of_coin(coin, refusal))
    }

    /// A page of the order feed of any length; `orders` has the filters.
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
