//! What questions are asked of: one face for every place that observations can lie in.
//!
//! A caller never sees where the observations are: it asks, and is told beside each answer what the answer depends on.

use std::future::pending;
use std::path::Path;
use std::sync::Arc;

use super::archived::{Archived, ArchivedError};
use super::arrivals::{ArrivalId, Arrivals};
use super::fixed::Fixed;
use super::growing::{Feed, Growing};
use super::revision::{Basis, Revision, Standing, wall_clock};
use super::{Answer, Answered, MapKeeper};
use crate::api::{BadQuery, Orders};
use crate::archive::{Archive, MapRow};
use crate::engine::{self, Observations, Rows, VenueCoverage, View};
use crate::model::{Bar, Millis, ObservedOpenInterest, Order, Pair, Window};
use crate::server::Rejection;

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
    kind: Kind,
    simulated: bool,
    source: String,
    /// Tells the places in this market's order of arrival from those in any other's.
    series: u64,
    made_at: Millis,
    /// Keeps the maps that servers of this market answer with.
    maps: Option<Arc<MapKeeper>>,
}

/// Where the observations lie.
#[derive(Debug)]
enum Kind {
    /// Tables that never change.
    Fixed(Fixed),
    /// Tables in memory that grow.
    Growing(Arc<Growing>),
    /// An archive, which another process may be writing.
    Archived(Arc<Archived>),
}

impl Market {
    /// A market of tables that never change.
    #[must_use]
    pub fn fixed(observations: Observations, source: impl Into<String>) -> Self {
        Self {
            kind: Kind::Fixed(Fixed::new(observations)),
            simulated: false,
            source: source.into(),
            series: fastrand::u64(..),
            made_at: wall_clock(),
            maps: None,
        }
    }

    /// An empty market in memory, and the feed that it grows by; it keeps the place of its last `kept` orders.
    #[must_use]
    pub fn growing(kept: usize, source: impl Into<String>) -> (Self, Feed) {
        let made_at = wall_clock();
        let growing = Arc::new(Growing::new(kept, made_at));
        let market = Self {
            kind: Kind::Growing(Arc::clone(&growing)),
            simulated: false,
            source: source.into(),
            series: fastrand::u64(..),
            made_at,
            maps: None,
        };
        (market, Feed(growing))
    }

    /// A market that lies in the archive in the folder `path`, as it grows, or as it was known at `as_of`.
    ///
    /// # Errors
    ///
    /// [`ArchivedError`] where the archive cannot be read.
    pub fn open(path: impl AsRef<Path>, as_of: Option<Millis>) -> Result<Self, ArchivedError> {
        let path = path.as_ref();
        let archived = Archived::open(path, as_of)?;
        Ok(Self {
            kind: Kind::Archived(Arc::new(archived)),
            simulated: false,
            source: format!("archive {}", path.display()),
            series: 0,
            made_at: wall_clock(),
            maps: None,
        })
    }

    /// The same market, with a keeper of the maps that servers of it answer with.
    #[must_use]
    pub fn keeping(self, maps: Arc<MapKeeper>) -> Self {
        Self {
            maps: Some(maps),
            ..self
        }
    }

    /// What keeps the maps that servers of this market answer with, where something does.
    pub(crate) fn maps_kept(&self) -> Option<&MapKeeper> {
        self.maps.as_deref()
    }

    /// The archive that the market lies in, if it lies in one.
    #[must_use]
    pub fn archive(&self) -> Option<&Archive> {
        match &self.kind {
            Kind::Archived(archived) => Some(archived.archive()),
            Kind::Fixed(_) | Kind::Growing(_) => None,
        }
    }

    /// The instant the market was opened as of, if it was.
    #[must_use]
    pub fn opened_as_of(&self) -> Option<Millis> {
        match &self.kind {
            Kind::Archived(archived) => archived.as_of(),
            Kind::Fixed(_) | Kind::Growing(_) => None,
        }
    }

    /// A market of tables that a simulation made.
    #[must_use]
    pub fn simulated(observations: Observations, source: impl Into<String>) -> Self {
        Self {
            simulated: true,
            ..Self::fixed(observations, source)
        }
    }

    /// Whether a look at what is new may have to wait for a disk.
    #[must_use]
    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(self.kind, Kind::Archived(_)) && self.is_growing()
    }

    /// Whether orders may still arrive.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        match &self.kind {
            Kind::Fixed(_) => false,
            Kind::Growing(_) => true,
            Kind::Archived(archived) => archived.as_of().is_none(),
        }
    }

    /// Whether the observations come from a simulation.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// Where the observations come from, in a few words.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The instant questions are about where they name none.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.last_standing(&Basis::Observations).now
    }

    /// The coins that an estimate can be given for, by name.
    #[must_use]
    pub fn coins(&self) -> Vec<String> {
        match &self.kind {
            Kind::Fixed(fixed) => fixed.observations().coins(),
            Kind::Growing(growing) => growing.observations().coins(),
            Kind::Archived(archived) => archived.coins().unwrap_or_else(|fault| {
                log::warn!("{fault}");
                Vec::new()
            }),
        }
    }

    /// What every answer depends on.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.last_standing(&Basis::Observations).revision
    }

    /// What every answer depends on that tells its [coverage](Market::coverage) as well.
    #[must_use]
    pub fn recorded_revision(&self) -> Revision {
        self.last_standing(&Basis::Record).revision
    }

    /// What the estimates of `coin` depend on: another number once a bar of it has closed, or its past has changed.
    #[must_use]
    pub fn estimate_revision(&self, coin: &str) -> Revision {
        self.last_standing(&Basis::Coin(coin.to_owned())).revision
    }

    /// Where `basis` stands, of one look at what is new.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] where what is new cannot be read.
    pub(crate) fn standing(&self, basis: &Basis) -> Result<Standing, Rejection> {
        match &self.kind {
            Kind::Archived(archived) => Ok(archived.standing(basis)?),
            Kind::Fixed(_) | Kind::Growing(_) => Ok(self.last_standing(basis)),
        }
    }

    /// Where `basis` stood at the last look; none where one is taking in what is new.
    pub(crate) fn seen(&self, basis: &Basis) -> Option<Standing> {
        match &self.kind {
            Kind::Archived(archived) => archived.seen(basis),
            Kind::Fixed(_) | Kind::Growing(_) => Some(self.last_standing(basis)),
        }
    }

    /// Where `basis` stands; the last that is known where what is new cannot be read.
    fn last_standing(&self, basis: &Basis) -> Standing {
        match &self.kind {
            Kind::Fixed(fixed) => Standing {
                revision: self.unchanged(),
                now: fixed.observations().now(),
            },
            Kind::Growing(growing) => growing.standing(basis, self.unchanged()),
            Kind::Archived(archived) => archived.last_standing(basis),
        }
    }

    /// The revision of what never changes.
    fn unchanged(&self) -> Revision {
        Revision {
            number: 0,
            changed_at: self.made_at,
        }
    }

    /// Waits until the revision is another than `seen`.
    pub async fn changed(&self, seen: Revision) {
        match &self.kind {
            Kind::Growing(growing) => growing.changed(seen).await,
            Kind::Archived(archived) => Arc::clone(archived).changed(seen).await,
            Kind::Fixed(_) => pending().await,
        }
    }

    /// The answer to `question`, as of `as_of` or else of now.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] with the status and body that the server would send.
    pub fn answer<E: Answer>(
        &self,
        question: &E,
        as_of: Option<Millis>,
    ) -> Result<Answered<E::Reply>, Rejection> {
        let answer = |view: &View<'_>| question.answer(view).map_err(Rejection::engine::<E>);
        match &self.kind {
            Kind::Archived(archived) => archived
                .view(as_of, question.needs().as_ref(), answer)?
                .map_err(Rejection::engine::<E>)?,
            Kind::Fixed(_) | Kind::Growing(_) => self.view(as_of, answer)?,
        }
    }

    /// A page of the order feed, of any length: `orders` names the pair and the exchange.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn page(
        &self,
        orders: &Orders,
        limit: usize,
        offset: u64,
        as_of: Option<Millis>,
    ) -> Result<Vec<Order>, Rejection> {
        let symbol = orders.symbol.as_ref().map(Pair::as_str);
        self.view(as_of, |view| {
            engine::orders(view, symbol, orders.exchange.as_deref(), limit, offset)
        })
    }

    /// What each venue's totals in a window cover: a simulation shows all that happens in it, tables do not tell.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Rejection> {
        if let Kind::Archived(archived) = &self.kind {
            return Ok(archived.coverage(as_of, window)?);
        }
        let mut venues = self.view(as_of, |view| engine::coverage(view, window))?;
        if self.simulated {
            for venue in &mut venues {
                venue.connected_share = Some(1.0);
                venue.completeness = "complete";
            }
        }
        Ok(venues)
    }

    /// The bars of `coin` that had closed by `as_of` or else by now, in order of time.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn bars(&self, coin: &str, as_of: Option<Millis>) -> Result<Vec<Bar>, Rejection> {
        self.bars_between(coin, as_of, (None, None), None)
    }

    /// The bars of `coin` that opened at the first instant or later and closed by the second, and by `as_of` or else by
    /// now; made into bars of `size` milliseconds where one is given.
    ///
    /// A market in an archive gives one series of all its exchanges.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`], of a size that is no whole number of minutes, and in tables of one that
    /// the coin's bars cannot be made into.
    pub fn bars_between(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        (start, end): (Option<Millis>, Option<Millis>),
        size: Option<i64>,
    ) -> Result<Vec<Bar>, Rejection> {
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
        if let Kind::Archived(archived) = &self.kind {
            return Ok(archived.bars(coin, as_of, start, end, size)?);
        }
        let found = self.view(as_of, |view| {
            let bars = view.observations().bars(coin);
            let closed = bars.partition_point(|bar| bar.close_time() <= view.now());
            let bars = bars.get(..closed).unwrap_or_default();
            match size {
                Some(size) => engine::resize(coin, bars, size, (start, end)),
                None => Ok(bars
                    .iter()
                    .filter(|bar| start.is_none_or(|start| bar.open_time >= start))
                    .filter(|bar| end.is_none_or(|end| bar.close_time() <= end))
                    .copied()
                    .collect()),
            }
        })?;
        found.map_err(|error| Rejection::Engine {
            error,
            parameter: "interval",
            hint: String::new(),
        })
    }

    /// The readings of a coin's open interest from the first instant until before the second that were known at `as_of`
    /// or else are known now, in order of time.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        (start, end): (Option<Millis>, Option<Millis>),
    ) -> Result<Vec<ObservedOpenInterest>, Rejection> {
        if let Kind::Archived(archived) = &self.kind {
            return Ok(archived.open_interest(coin, as_of, start, end)?);
        }
        self.view(as_of, |view| {
            let readings = view.observations().open_interest(coin);
            readings
                .filter(|reading| reading.timestamp <= view.now())
                .filter(|reading| start.is_none_or(|start| reading.timestamp >= start))
                .filter(|reading| end.is_none_or(|end| reading.timestamp < end))
                .collect()
        })
    }

    /// The estimated maps that were served and kept, as they were: of `kind` and `coin` where they are named, made of bars
    /// up to the first instant or later and before the second, computed by `as_of`. Only archives have any.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn maps(
        &self,
        kind: Option<&str>,
        coin: Option<&str>,
        as_of: Option<Millis>,
        (start, end): (Option<Millis>, Option<Millis>),
    ) -> Result<Vec<MapRow>, Rejection> {
        match &self.kind {
            Kind::Archived(archived) => Ok(archived.maps(kind, coin, as_of, start, end)?),
            Kind::Fixed(_) | Kind::Growing(_) => Ok(Vec::new()),
        }
    }

    /// The instant that `as_of` asks about, or else the one the market was opened as of.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] where the market was opened as of an earlier instant.
    pub fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Rejection> {
        match &self.kind {
            Kind::Archived(archived) => Ok(archived.instant(as_of)?),
            Kind::Fixed(_) | Kind::Growing(_) => Ok(as_of),
        }
    }

    /// Rows that make the same observations again.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn rows(&self) -> Result<Rows, Rejection> {
        if let Kind::Archived(_) = &self.kind {
            return Err(ArchivedError::NotTables.into());
        }
        self.view(None, |view| view.observations().rows())
    }

    /// Up to `limit` orders that arrived behind `after`, or else from the first that is known.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Rejection> {
        match &self.kind {
            Kind::Fixed(fixed) => Ok(fixed.arrivals(self.series, after, limit)),
            Kind::Growing(growing) => Ok(growing.arrivals(self.series, after, limit)),
            Kind::Archived(archived) => Ok(archived.arrivals(after, limit)?),
        }
    }

    /// The place behind the last order that has arrived.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn newest(&self) -> Result<ArrivalId, Rejection> {
        match &self.kind {
            Kind::Fixed(fixed) => Ok(self.place(fixed.newest())),
            Kind::Growing(growing) => Ok(self.place(growing.newest())),
            Kind::Archived(archived) => Ok(archived.newest()?),
        }
    }

    fn place(&self, number: u64) -> ArrivalId {
        ArrivalId {
            series: self.series,
            number,
        }
    }

    /// Shows `work` what was known at `as_of`, or what is known.
    fn view<T>(
        &self,
        as_of: Option<Millis>,
        work: impl FnOnce(&View<'_>) -> T,
    ) -> Result<T, Rejection> {
        match &self.kind {
            Kind::Fixed(fixed) => Ok(work(&fixed.observations().at(as_of))),
            Kind::Growing(growing) => Ok(work(&growing.observations().at(as_of))),
            Kind::Archived(archived) => match archived.view(as_of, None, work)? {
                Ok(done) => Ok(done),
                // Only estimates are refused by the engine, and none is needed.
                Err(error) => {
                    log::error!("{error}");
                    Err(Rejection::Defect)
                }
            },
        }
    }
}
