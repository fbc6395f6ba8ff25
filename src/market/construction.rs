//! Constructors of [`Market`]: from tables, a simulation or an archive, live, as of an instant, or as a replay.

use std::path::Path;
use std::sync::Arc;

use crate::archive::Archive;
use crate::engine::Observations;
use crate::market::collector_status::CollectorMonitor;
use crate::market::map_recorder::MapRecorder;
use crate::market::market::Market;
use crate::market::recent::{EstimateCache, PositionCache};
use crate::market::refusal::Refusal;
use crate::market::revision::wall_clock;
use crate::market::shared_refresh::SharedLook;
use crate::market::source::archive::archive_source::ArchiveSource;
use crate::market::source::growing_tables::{GrowingTables, MarketFeed};
use crate::market::source::market_source::MarketSource;
use crate::market::source::recordings::Recordings;
use crate::market::source::replay::{ReplayClock, ReplaySource};
use crate::market::source::tables::TableSource;
use crate::model::{Millis, PositionRow, SimulatedFeeds, TimeRange};

impl Market {
    fn of(source: Arc<dyn MarketSource>, origin: impl Into<String>) -> Self {
        Self {
            source,
            simulated: false,
            has_only_totals: false,
            origin: origin.into(),
            maps: None,
            moving: None,
            look: SharedLook::default(),
            filled_by: None,
            recordings: Recordings::default(),
            positions: PositionCache::default(),
            estimates: EstimateCache::default(),
        }
    }

    /// Creates a market from tables that never change.
    #[must_use]
    pub fn fixed(observations: Observations, origin: impl Into<String>) -> Self {
        Self::of(Arc::new(TableSource::new(observations)), origin)
    }

    /// Marks the market as one with totals by period and no orders. It then refuses queries that need orders.
    #[must_use]
    pub fn of_totals(self) -> Self {
        Self {
            has_only_totals: true,
            ..self
        }
    }

    /// Creates a market from simulated tables. `feeds` says how their orders were published and recorded, and `positions`
    /// are the account positions that an exchange publishes.
    #[must_use]
    pub fn simulated(
        observations: Observations,
        feeds: SimulatedFeeds,
        positions: Vec<PositionRow>,
        origin: impl Into<String>,
    ) -> Self {
        let source = TableSource::simulated(observations, feeds, positions);
        Self {
            simulated: true,
            ..Self::of(Arc::new(source), origin)
        }
    }

    /// Creates a market from simulated tables that become visible over time.
    ///
    /// `clock` is called with `start` and returns the clock. A row becomes visible when the clock reaches the row's
    /// time. Rows from before `start` are visible from the beginning.
    #[must_use]
    pub fn simulated_live(
        observations: Observations,
        (feeds, positions): (SimulatedFeeds, Vec<PositionRow>),
        start: Millis,
        clock: impl FnOnce(Millis) -> Arc<dyn ReplayClock>,
        origin: impl Into<String>,
    ) -> Self {
        let fixed = Arc::new(TableSource::simulated(observations, feeds, positions));
        let place = Arc::clone(&fixed) as Arc<dyn MarketSource>;
        let moving = ReplaySource::of_observations(place, fixed.observations(), start, clock);
        Self {
            simulated: true,
            ..Self::of_moving(moving, origin)
        }
    }

    /// Creates a replay of the archive in the folder `path`.
    ///
    /// `clock` is called with the start of `range` and returns the clock. Rows received in `range` become visible when
    /// the clock reaches their time. Rows received earlier are visible from the beginning. While the archive is read,
    /// `read` is called with the number of days read so far and in total.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the archive cannot be read or nothing arrives in `range`.
    pub fn replayed(
        path: impl AsRef<Path>,
        range: TimeRange,
        clock: impl FnOnce(Millis) -> Arc<dyn ReplayClock>,
        read: &dyn Fn(usize, usize),
    ) -> Result<Self, Refusal> {
        let path = path.as_ref();
        let place = Arc::new(ArchiveSource::open(path, None)?);
        let archive = Archive::read(path)?;
        let moving = ReplaySource::of_archive(place, archive, range, clock, read)?;
        let origin = format!("replay of archive {}", path.display());
        Ok(Self::of_moving(moving, origin))
    }

    fn of_moving(moving: ReplaySource, origin: impl Into<String>) -> Self {
        let moving = Arc::new(moving);
        Self {
            moving: Some(Arc::clone(&moving)),
            ..Self::of(moving, origin)
        }
    }

    /// Creates an empty market in memory and the feed that fills it. Followers can read the last `capacity` orders.
    #[must_use]
    pub fn growing(capacity: usize, origin: impl Into<String>) -> (Self, MarketFeed) {
        let growing = Arc::new(GrowingTables::new(capacity));
        (
            Self::of(Arc::clone(&growing) as _, origin),
            MarketFeed(growing),
        )
    }

    /// Opens the archive in the folder `path` as a market: live, or as it was known at `as_of`.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the archive cannot be read.
    pub fn open(path: impl AsRef<Path>, as_of: Option<Millis>) -> Result<Self, Refusal> {
        let path = path.as_ref();
        let soonest = wall_clock().on(Millis::DAY);
        if let Some(at) = as_of
            && at > soonest
        {
            return Err(Refusal::unknown_yet(at, wall_clock()));
        }
        let archived = ArchiveSource::open(path, as_of)?;
        let market = Self::of(Arc::new(archived), format!("archive {}", path.display()));
        if let Some(at) = as_of {
            market.check_start(at)?;
        }
        Ok(market)
    }

    /// Sets the collector that fills the archive of the market.
    #[must_use]
    pub fn filled_by(self, collector: Arc<dyn CollectorMonitor>) -> Self {
        Self {
            filled_by: Some(collector),
            ..self
        }
    }

    /// Sets a recorder that stores the estimated maps that servers send.
    #[must_use]
    pub fn keeping(self, maps: Arc<MapRecorder>) -> Self {
        Self {
            maps: Some(maps),
            ..self
        }
    }
}
