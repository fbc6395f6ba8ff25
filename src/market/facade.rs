//! A market: one face for every place that observations can lie in.
//!
//! A caller never sees where the observations are: it asks, and is told beside each answer what the answer depends on.

use std::path::Path;
use std::sync::Arc;

use super::answer::{Answer, Answered, Asked, Material, wanted};
use super::archived::Archived;
use super::arrivals::{ArrivalId, Arrivals};
use super::cascades::price;
use super::fixed::Fixed;
use super::growing::{Feed, Growing};
use super::known::{is_exchange, is_well_known};
use super::lane::in_lane;
use super::maps::MapKeeper;
use super::moving::{Clock, Moving};
use super::orders;
use super::refusal::{Code, Refusal};
use super::revision::{Basis, Revision, Standing, wall_clock};
use super::shared_look::SharedLook;
use super::source::{Needed, Source, shown};
use super::stretches::{Ends, Stretches};
use crate::api::{self, BadQuery, Orders};
use crate::archive::{Archive, DamagedPart};
use crate::engine::{
    self, CascadeQuestion, EngineError, Observations, Rows, TimelineQuestion, View,
};
use crate::model::{
    Bar, CascadeRow, Chosen, Coin, Completeness, MapRow, Millis, MissedStretch, Model,
    ObservedLiquidations, ObservedOpenInterest, Order, PeriodRow, PositionRow, Symbol,
    UndercountRow, VenueCoverage, Vocabulary, Window,
};

/// What a server, or a caller in this process, asks its questions of.
///
/// # Examples
///
/// ```
/// use liqdata::api::Overview;
/// use liqdata::engine::Observations;
/// use liqdata::market::Market;
///
/// let observations = Observations::new(Vec::new(), Vec::new(), Vec::new(), None)?;
/// let market = Market::fixed(observations, "empty tables");
/// let answered = market.answer(&Overview, None)?;
/// assert!(answered.reply.present().all(|(_, totals)| totals.cnt == 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Market {
    source: Arc<dyn Source>,
    simulated: bool,
    /// Where the observations come from, in a few words.
    origin: String,
    /// Keeps the maps that servers of this market answer with.
    maps: Option<Arc<MapKeeper>>,
    /// Where it moves by a clock of its own.
    moving: Option<Arc<Moving>>,
    look: SharedLook,
}

impl Market {
    fn of(source: Arc<dyn Source>, origin: impl Into<String>) -> Self {
        Self {
            source,
            simulated: false,
            origin: origin.into(),
            maps: None,
            moving: None,
            look: SharedLook::default(),
        }
    }

    /// A market of tables that never change.
    #[must_use]
    pub fn fixed(observations: Observations, origin: impl Into<String>) -> Self {
        Self::of(Arc::new(Fixed::new(observations)), origin)
    }

    /// A market of tables that a simulation made.
    #[must_use]
    pub fn simulated(observations: Observations, origin: impl Into<String>) -> Self {
        Self {
            simulated: true,
            ..Self::fixed(observations, origin)
        }
    }

    /// A market of tables that a simulation made, told from `start` on by the clock that `clock` makes of that instant; what
    /// the tables have of before is there at once.
    #[must_use]
    pub fn simulated_live(
        observations: Observations,
        start: Millis,
        clock: impl FnOnce(Millis) -> Arc<dyn Clock>,
        origin: impl Into<String>,
    ) -> Self {
        let fixed = Arc::new(Fixed::new(observations));
        let place = Arc::clone(&fixed) as Arc<dyn Source>;
        let moving = Moving::of_observations(place, fixed.observations(), start, clock);
        Self {
            simulated: true,
            ..Self::of_moving(moving, origin)
        }
    }

    /// The archive in the folder `path` as it came about: what was received after the first instant of `stretch`, or else
    /// from the first on, until the second, or else the last, arrives by the clock that `clock` makes of the beginning. What
    /// was received before is there at once.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the archive cannot be read, and where nothing arrives in that stretch.
    pub fn replayed(
        path: impl AsRef<Path>,
        stretch: (Option<Millis>, Option<Millis>),
        clock: impl FnOnce(Millis) -> Arc<dyn Clock>,
        read: &dyn Fn(usize, usize),
    ) -> Result<Self, Refusal> {
        let path = path.as_ref();
        let place = Arc::new(Archived::open(path, None)?);
        let archive = Archive::read(path)?;
        let moving = Moving::of_archive(place, archive, stretch, clock, read)?;
        let origin = format!("replay of archive {}", path.display());
        Ok(Self::of_moving(moving, origin))
    }

    fn of_moving(moving: Moving, origin: impl Into<String>) -> Self {
        let moving = Arc::new(moving);
        Self {
            moving: Some(Arc::clone(&moving)),
            ..Self::of(moving, origin)
        }
    }

    /// Lets nothing more arrive, where it moves by a clock of its own: who follows its orders comes to an end.
    pub fn end(&self) {
        if let Some(moving) = &self.moving {
            moving.end();
        }
    }

    /// The instant it is by the clock that it moves by and the one at which all has arrived, where it has one.
    #[must_use]
    pub fn clock(&self) -> Option<(Millis, Millis)> {
        let moving = self.moving.as_ref()?;
        Some((moving.clock(), moving.until()))
    }

    /// Whether it tells again what an archive has.
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.moving.is_some() && self.archive().is_some()
    }

    /// An empty market in memory, and the feed that it grows by; it keeps the place of its last `kept` orders.
    #[must_use]
    pub fn growing(kept: usize, origin: impl Into<String>) -> (Self, Feed) {
        let growing = Arc::new(Growing::new(kept));
        (Self::of(Arc::clone(&growing) as _, origin), Feed(growing))
    }

    /// A market that lies in the archive in the folder `path`, as it grows, or as it was known at `as_of`.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the archive cannot be read.
    pub fn open(path: impl AsRef<Path>, as_of: Option<Millis>) -> Result<Self, Refusal> {
        let path = path.as_ref();
        let soonest = wall_clock().on(Millis::DAY);
        if let Some(at) = as_of
            && at > soonest
        {
            return Err(Refusal::unknown_yet(at, wall_clock()));
        }
        let archived = Archived::open(path, as_of)?;
        Ok(Self::of(
            Arc::new(archived),
            format!("archive {}", path.display()),
        ))
    }

    /// The same market, with a keeper of the maps that servers of it answer with.
    #[must_use]
    pub fn keeping(self, maps: Arc<MapKeeper>) -> Self {
        Self {
            maps: Some(maps),
            ..self
        }
    }

    /// Keeps up to `bytes`, about, of what was read of the past for the next question about it.
    pub(crate) fn keep_of_the_past(&self, bytes: usize) {
        self.source.keep_of_the_past(bytes);
    }

    /// What keeps the maps that servers of this market answer with, where something does.
    pub(crate) fn maps_kept(&self) -> Option<&MapKeeper> {
        self.maps.as_deref()
    }

    /// The archive that the market lies in, if it lies in one.
    #[must_use]
    pub fn archive(&self) -> Option<&Archive> {
        self.source.archive()
    }

    /// How many files of its archive are known to be damaged, so that rows are missing.
    #[must_use]
    pub(crate) fn damaged_files(&self) -> usize {
        self.archive().map_or(0, Archive::damaged_files)
    }

    /// What is known of those files; none where it lies in no archive.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the archive cannot be read.
    pub(crate) fn damage(&self) -> Result<Vec<DamagedPart>, Refusal> {
        let damage = self.archive().map(Archive::damage).transpose()?;
        Ok(damage.unwrap_or_default())
    }

    /// The instant the market was opened as of, if it was.
    #[must_use]
    pub fn opened_as_of(&self) -> Option<Millis> {
        self.source.opened_as_of()
    }

    /// Whether a look at what is new may have to wait for a disk.
    #[must_use]
    pub(crate) fn is_on_disk(&self) -> bool {
        self.source.is_on_disk()
    }

    /// Whether orders may still arrive.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.source.is_growing()
    }

    /// Whether the observations come from a simulation.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// Where the observations come from, in a few words.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.origin
    }

    /// The same for those whom the folders of this machine do not concern.
    #[must_use]
    pub fn source_told(&self) -> &str {
        if self.is_replayed() {
            "replay of an archive"
        } else if self.archive().is_some() {
            "archive"
        } else {
            self.source()
        }
    }

    /// The instant questions are about where they name none.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.source.last_standing(&Basis::Observations).now
    }

    /// The coins that an estimate can be given for, by name.
    #[must_use]
    pub fn coins(&self) -> Vec<String> {
        self.source.coins().unwrap_or_else(|fault| {
            log::warn!("{fault}");
            Vec::new()
        })
    }

    /// What every answer depends on.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.source.last_standing(&Basis::Observations).revision
    }

    /// What the estimates of `coin` depend on: another number once a bar of it has closed, or its past has changed.
    #[must_use]
    pub fn estimate_revision(&self, coin: &str) -> Revision {
        self.source
            .last_standing(&Basis::Coin(coin.to_owned()))
            .revision
    }

    /// What `look` sees of the market, on a blocking thread where it may have to wait for a disk.
    pub(crate) async fn look<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        if !self.is_on_disk() {
            return Ok(look(self));
        }
        let market = Arc::clone(self);
        in_lane(None, move || Ok(look(&market))).await
    }

    /// Where `basis` stands, with all that was there when this was asked; one look is shared by all who ask meanwhile.
    pub(crate) async fn look_at(self: &Arc<Self>, basis: &Basis) -> Result<Standing, Refusal> {
        if !self.is_on_disk() {
            return self.standing(basis);
        }
        let look = async {
            self.look(|market| market.standing(&Basis::Observations).map(drop))
                .await?
        };
        self.look.fresh(look).await?;
        // None where somebody is taking in what is new.
        if let Some(standing) = self.source.seen(basis) {
            return Ok(standing);
        }
        let basis = basis.clone();
        self.look(move |market| market.standing(&basis)).await?
    }

    /// Where `basis` stands, of one look at what is new.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where what is new cannot be read.
    pub(crate) fn standing(&self, basis: &Basis) -> Result<Standing, Refusal> {
        self.source.standing(basis)
    }

    /// Waits until the revision is another than `seen`.
    pub async fn changed(&self, seen: Revision) {
        Arc::clone(&self.source).changed(seen).await;
    }

    /// The answer to `question`, as of `as_of` or else of now.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that says why there is none.
    pub fn answer<E: Answer>(
        &self,
        question: &E,
        as_of: Option<Millis>,
    ) -> Result<Answered<E::Reply>, Refusal> {
        self.answer_within(question, as_of, usize::MAX)
    }

    /// As [`Market::answer`]; what is read for it takes at most so many bytes, about.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`], and where more would be read.
    pub(crate) fn answer_within<E: Answer>(
        &self,
        question: &E,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Answered<E::Reply>, Refusal> {
        self.check_instant(as_of)?;
        if let Some(told) = question.of_market(self, as_of, most) {
            let reply = told.map_err(Refusal::blaming::<E>)?;
            self.check_answer(question, &reply)?;
            return Ok(Answered::realised(reply));
        }
        let needed = match question.material() {
            Material::Realised(_) | Material::Recorded(_) | Material::Stretch => None,
            Material::Estimated(needed) => Some(needed),
        };
        let answered = shown(&*self.source, as_of, needed.as_ref(), |view| {
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

    /// Refuses an instant of which nothing can be known: a day after the *now* of what does not grow, when the longest window
    /// of the realised answers is over, and after this machine's time where the market grows.
    fn check_instant(&self, as_of: Option<Millis>) -> Result<(), Refusal> {
        let Some(asked) = as_of else { return Ok(()) };
        let now = self.now();
        if asked <= now.on(Millis::DAY) || self.is_growing() && asked <= wall_clock() {
            return Ok(());
        }
        // One that was opened as of an instant says so itself.
        self.source.instant(as_of)?;
        if self.source.names()?.is_empty() {
            return Ok(());
        }
        Err(Refusal::unknown_yet(asked, now))
    }

    /// Refuses an empty answer to a name that nobody knows.
    fn check_answer<E: Answer>(&self, question: &E, reply: &E::Reply) -> Result<(), Refusal> {
        match question.doubtful(reply) {
            Some(asked) => self.check_names(&asked),
            None => Ok(()),
        }
    }

    /// Refuses names that were never observed and that nobody knows.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] naming the first of them and those that are nearest to it, and where the archive cannot be read.
    pub fn check_names(&self, asked: &Asked<'_>) -> Result<(), Refusal> {
        let Asked { symbols, exchange } = asked;
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

    /// The same refusal about a coin that somebody knows, and another about one that nobody does.
    fn of_coin(&self, coin: &str, refusal: Refusal) -> Refusal {
        if refusal.code != Code::UnknownCoin {
            return refusal;
        }
        self.check_coin(coin).err().unwrap_or(refusal)
    }

    /// Refuses a coin that was never observed and that nobody knows.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::check_names`].
    pub fn check_coin(&self, coin: &str) -> Result<(), Refusal> {
        let symbol = Symbol::read(coin);
        self.check_names(&Asked {
            symbols: symbol.iter().collect(),
            exchange: None,
        })
    }

    /// The answers to `question` as of each of `instants`, in their order and equal to those of [`Market::answer`], where one
    /// replay gives them all; `None` where each takes its own.
    ///
    /// # Errors
    ///
    /// Of each a [`Refusal`] as of [`Market::answer`].
    pub fn answers<E: Answer>(
        &self,
        question: &E,
        instants: &[Millis],
    ) -> Option<Vec<Result<Answered<E::Reply>, Refusal>>> {
        let Material::Estimated(needed) = question.material() else {
            return None;
        };
        if !question.is_one_ledger() || !self.source.shows_the_past() {
            return None;
        }
        let answers = shown(&*self.source, None, Some(&needed), |view| {
            question.answers(view, instants)
        });
        // Where there is nothing to show, each is refused by itself.
        let answers = answers.ok()?.into_iter().zip(instants);
        let answers = answers.map(|(answered, at)| {
            self.check_instant(Some(*at))?;
            let answered = answered.map_err(|fault| self.of_coin(&needed.coin, fault.into()));
            answered.map_err(Refusal::blaming::<E>)
        });
        Some(answers.collect())
    }

    /// What `work` makes of all that is known of `coin`, with what an estimate of `model` needs.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn estimated<T>(
        &self,
        coin: &str,
        model: &Chosen,
        work: impl FnOnce(&View<'_>) -> Result<T, EngineError>,
    ) -> Result<T, Refusal> {
        let needed = Needed {
            coin: coin.to_owned(),
            range: Millis::ALL,
            range_name: "all",
            orders: model.view() == Model::Expected,
            exchange: None,
            lasts: Millis::ALL,
        };
        shown(&*self.source, None, Some(&needed), work)
            .and_then(|made| Ok(made?))
            .map_err(|refusal| self.of_coin(coin, refusal))
    }

    /// A page of the order feed, of any length: `orders` names the pair and the exchange.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn page(
        &self,
        orders: &Orders,
        limit: usize,
        offset: u64,
        as_of: Option<Millis>,
    ) -> Result<Vec<Order>, Refusal> {
        self.check_instant(as_of)?;
        let page = shown(&*self.source, as_of, None, |view| {
            engine::orders(view, wanted(orders), limit, offset)
        })?;
        self.check_answer(orders, &page)?;
        Ok(page)
    }

    /// What each venue's totals in a window cover: a simulation shows all that happens in it, tables do not tell.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        self.check_instant(as_of)?;
        let mut venues = self.source.coverage(as_of, window)?;
        if self.simulated {
            for venue in &mut venues {
                venue.connected_share = Some(1.0);
                venue.completeness = Completeness::Complete;
            }
        }
        Ok(venues)
    }

    /// When orders of an exchange are known to have been missed, by the start of each stretch: those that reach into the
    /// time from the first instant until before the second, as far as that was known by `as_of`. Only archives know of any.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn gaps(
        &self,
        as_of: Option<Millis>,
        stretch: Ends,
    ) -> Result<Vec<MissedStretch>, Refusal> {
        self.check_instant(as_of)?;
        self.source.gaps(as_of, stretch)
    }

    /// The bars of `coin` that had closed by `as_of` or else by now, in order of time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn bars(&self, coin: &str, as_of: Option<Millis>) -> Result<Vec<Bar>, Refusal> {
        self.bars_between(coin, as_of, (None, None), None)
    }

    /// The bars of `coin` that opened at the first instant or later and closed by the second, and by `as_of` or else by
    /// now; made into bars of `size` milliseconds where one is given.
    ///
    /// A market in an archive gives one series of all its exchanges.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`], of a size that is no whole number of minutes, and in tables of one that
    /// the coin's bars cannot be made into.
    pub fn bars_between(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        stretch: Ends,
        size: Option<i64>,
    ) -> Result<Vec<Bar>, Refusal> {
        if let Some(size) = size
            && (size <= 0 || size % Millis::MINUTE != 0)
        {
            return Err(BadQuery::new(
                "interval",
                format!("{size} ms is not a whole number of minutes"),
                "whole minutes above 0",
            )
            .into());
        }
        self.check_instant(as_of)?;
        let bars = self.source.bars(coin, as_of, stretch, size)?;
        if bars.is_empty() {
            self.check_coin(coin)?;
        }
        Ok(bars)
    }

    /// The readings of a coin's open interest from the first instant until before the second that were known at `as_of`
    /// or else are known now, in order of time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        stretch: Ends,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal> {
        self.check_instant(as_of)?;
        let readings = self.source.open_interest(coin, as_of, stretch)?;
        if readings.is_empty() {
            self.check_coin(coin)?;
        }
        Ok(readings)
    }

    /// The positions of a coin in the last snapshot of single accounts that was complete at `as_of`, or else now; of one
    /// exchange where it is named. Only archives have any.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        self.check_instant(as_of)?;
        let positions = self.source.positions(coin, exchange, as_of)?;
        if positions.is_empty() {
            self.check_coin(coin)?;
        }
        Ok(positions)
    }

    /// The estimated maps that were served and kept, as they were: of `kind`, `coin` and the model's `version` where they
    /// are named ([`Filter::UNKNOWN`](crate::archive::Filter::UNKNOWN) where it is not known), made of bars up to the first
    /// instant or later and before the second, computed by `as_of`; at most so many bytes of them. Only archives have any.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn maps(
        &self,
        kind: Option<&str>,
        coin: Option<&str>,
        version: Option<&str>,
        as_of: Option<Millis>,
        stretch: Ends,
        most: usize,
    ) -> Result<Vec<MapRow>, Refusal> {
        self.check_instant(as_of)?;
        let maps = self
            .source
            .maps(kind, coin, version, as_of, stretch, most)?;
        if let Some(coin) = coin
            && maps.is_empty()
        {
            self.check_coin(coin)?;
        }
        Ok(maps)
    }

    /// The instant that `as_of` asks about, or else the one the market was opened as of.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the market was opened as of an earlier instant.
    pub fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        self.check_instant(as_of)?;
        self.source.instant(as_of)
    }

    /// Rows that make the same observations again.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn rows(&self) -> Result<Rows, Refusal> {
        self.source.rows()
    }

    /// What was liquidated period by period, where tables told it.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn liquidations(&self) -> Result<Vec<ObservedLiquidations>, Refusal> {
        shown(&*self.source, None, None, |view| {
            view.observations().liquidations().collect()
        })
    }

    /// Up to `limit` orders that arrived behind `after`, or else from the first that is known.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal> {
        self.source.arrivals(after, limit)
    }

    /// The place behind the last order that has arrived.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn newest(&self) -> Result<ArrivalId, Refusal> {
        self.source.newest()
    }
}

impl Stretches for Market {
    fn newest(&self) -> Millis {
        self.now()
    }

    fn orders(
        &self,
        asked: &api::Orders,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<Order>, Refusal> {
        self.check_instant(as_of)?;
        orders::check(asked)?;
        match self.source.archive_of_the_past() {
            Some(archive) => orders::page(archive, asked, self.source.instant(as_of)?, most),
            None => shown(&*self.source, as_of, None, |view| {
                let stretch = (asked.start, asked.end);
                engine::orders_between(
                    view,
                    wanted(asked),
                    stretch,
                    asked.limit.into(),
                    asked.offset,
                )
            }),
        }
    }

    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PeriodRow>, Refusal> {
        self.check_instant(as_of)?;
        let rows = self.source.timeline(asked, as_of)?;
        let mut rows = rows.ok_or_else(|| {
            let message = format!("there are more than {} rows", asked.most);
            let allowed = "a longer interval, a shorter stretch, or fewer columns in by";
            BadQuery::new("interval", message, allowed)
        })?;
        if self.simulated {
            for row in &mut rows {
                row.covered = Some(1.0);
            }
        }
        Ok(rows)
    }

    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<CascadeRow>, Refusal> {
        self.check_instant(as_of)?;
        let mut rows = self.source.cascades(asked, as_of)?.ok_or_else(|| {
            let message = format!("there are more than {} events", asked.most);
            let allowed = "more USD, a longer gap, a shorter stretch, or fewer coins";
            BadQuery::new("min_usd", message, allowed)
        })?;
        price(&mut rows, |coin, from, to| {
            self.source.bars(coin, as_of, (Some(from), Some(to)), None)
        })?;
        Ok(rows)
    }

    fn undercount(
        &self,
        window: Window,
        as_of: Option<Millis>,
    ) -> Result<Vec<UndercountRow>, Refusal> {
        self.check_instant(as_of)?;
        shown(&*self.source, as_of, None, |view| {
            engine::undercount(view, window, self.simulated)
        })
    }

    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        self.coverage(as_of, window)
    }

    fn gaps(&self, as_of: Option<Millis>, stretch: Ends) -> Result<Vec<MissedStretch>, Refusal> {
        self.gaps(as_of, stretch)
    }

    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        stretch: Ends,
        size: Option<i64>,
    ) -> Result<Vec<Bar>, Refusal> {
        self.bars_between(coin, as_of, stretch, size)
    }

    fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        stretch: Ends,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal> {
        self.open_interest(coin, as_of, stretch)
    }

    fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        self.positions(coin, exchange, as_of)
    }

    fn maps(
        &self,
        wanted: &api::Maps,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<MapRow>, Refusal> {
        self.maps(
            wanted.kind.map(Vocabulary::name),
            wanted.symbol.as_ref().map(Coin::as_str),
            wanted.version.as_deref(),
            as_of,
            (wanted.start, wanted.end),
            most,
        )
    }
}
