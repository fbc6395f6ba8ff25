//! [`Market`]: one interface for queries, independent of where the observations are stored.

use std::path::Path;
use std::sync::Arc;

use crate::archive::{Archive, DamagedPart};
use crate::market::blocking_pool::run_blocking;
use crate::market::collector_status::{CollectorMonitor, CollectorStatus};
use crate::market::map_recorder::MapRecorder;
use crate::market::recent::{EstimateCache, PositionCache};
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState};
use crate::market::shared_refresh::SharedLook;
use crate::market::source::market_source::MarketSource;
use crate::market::source::recordings::{RecordedSource, Recordings};
use crate::market::source::replay::ReplaySource;
use crate::model::{CoverageGap, Millis};

/// Answers queries from observations, for a server or a caller in this process.
///
/// # Examples
///
/// ```
/// use liqdata::contract::Overview;
/// use liqdata::engine::Observations;
/// use liqdata::market::Market;
///
/// let observations = Observations::new(Vec::new(), Vec::new(), Vec::new(), None)?;
/// let market = Market::fixed(observations, "empty tables");
/// let answered = market.answer(&Overview::default(), None)?;
/// assert!(answered.reply.present().all(|(_, totals)| totals.cnt == 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Market {
    pub(crate) source: Arc<dyn MarketSource>,
    pub(crate) simulated: bool,
    /// Whether the market has liquidated totals by period instead of orders.
    pub(crate) has_only_totals: bool,
    /// A short description of where the observations come from.
    pub(crate) origin: String,
    /// Records the maps that servers send.
    pub(crate) maps: Option<Arc<MapRecorder>>,
    /// The replay, if this market is a replay.
    pub(crate) moving: Option<Arc<ReplaySource>>,
    pub(crate) look: SharedLook,
    /// The collector in this process that fills the archive.
    pub(crate) filled_by: Option<Arc<dyn CollectorMonitor>>,
    pub(crate) recordings: Recordings,
    /// Positions of accounts for blended maps.
    pub(crate) positions: PositionCache,
    /// Recent estimates as of now.
    pub(crate) estimates: EstimateCache,
}

impl Market {
    /// Ends a replay together with its followers.
    pub fn end(&self) {
        if let Some(moving) = &self.moving {
            moving.end();
        }
    }

    /// The current instant and the end of a replay; `None` for other markets.
    #[must_use]
    pub fn clock(&self) -> Option<(Millis, Millis)> {
        let moving = self.moving.as_ref()?;
        Some((moving.clock(), moving.until()))
    }

    /// Whether the market replays an archive.
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.moving.is_some() && self.archive().is_some()
    }

    /// Coins with a ledger that warms up, by name. Estimates of other coins do not wait for them.
    pub(crate) fn warming_up(&self) -> Vec<String> {
        self.source.warming_up()
    }

    /// Limits the cache for queries about the past to about `bytes` bytes.
    pub(crate) fn set_history_cache(&self, bytes: usize) {
        self.source.set_history_cache(bytes);
    }

    /// The recorder of the maps that servers send.
    pub(crate) fn map_recorder(&self) -> Option<&MapRecorder> {
        self.maps.as_deref()
    }

    /// The archive, if the market reads one.
    #[must_use]
    pub fn archive(&self) -> Option<&Archive> {
        self.source.archive()
    }

    /// The status of the collector that fills the archive from this process.
    pub(crate) fn collector_status(&self) -> Option<CollectorStatus> {
        self.filled_by.as_ref()?.collector_status()
    }

    /// The number of archive files that are known to be damaged.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the archive was opened before a fork.
    pub(crate) fn damaged_files(&self) -> Result<usize, Refusal> {
        let archive = self.archive();
        let damaged = archive.map(|archive| archive.integrity().damaged_files());
        Ok(damaged.transpose()?.unwrap_or_default())
    }

    /// How many times the set of damaged files has changed.
    pub(crate) fn changes_of_damage(&self) -> u64 {
        self.archive()
            .map_or(0, |archive| archive.integrity().changes_of_damage().0)
    }

    /// The damaged files; empty if the market has no archive.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the archive cannot be read.
    pub(crate) fn damage(&self) -> Result<Vec<DamagedPart>, Refusal> {
        let damage = self.archive().map(|archive| archive.integrity().damage());
        Ok(damage.transpose()?.unwrap_or_default())
    }

    /// Gaps of exchanges that should be collected but have not been connected to yet.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the archive cannot be read.
    pub(crate) fn silent_exchanges(&self) -> Result<Vec<CoverageGap>, Refusal> {
        let archive = self.archive();
        let silent = archive.map(|archive| archive.coverage().pending_gaps());
        let gaps = silent.transpose()?.unwrap_or_default().into_iter();
        Ok(gaps
            .map(|gap| CoverageGap {
                exchange: gap.exchange,
                start: gap.start,
                end: gap.end,
                reason: gap.reason,
                ..CoverageGap::default()
            })
            .collect())
    }

    /// The instant that the market was opened as of; `None` if it was opened live.
    #[must_use]
    pub fn opened_as_of(&self) -> Option<Millis> {
        self.source.opened_as_of()
    }

    /// Whether a check for new rows may have to wait for a disk.
    #[must_use]
    pub(crate) fn is_on_disk(&self) -> bool {
        self.source.is_on_disk()
    }

    /// Whether more orders may arrive.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.source.is_growing()
    }

    /// Whether the observations are simulated.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// A short description of where the observations come from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.origin
    }

    /// The description of the source without local paths, for remote users.
    #[must_use]
    pub fn public_source(&self) -> &str {
        if self.is_replayed() {
            "replay of an archive"
        } else if self.archive().is_some() {
            "archive"
        } else {
            self.source()
        }
    }

    /// The instant that a query without `as_of` is about.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.source.last_state(&Dependency::Observations).now
    }

    /// Like [`Market::now`], but `None` if nothing has been observed.
    #[must_use]
    pub fn known_until(&self) -> Option<Millis> {
        Some(self.now()).filter(|now| *now != Millis::default())
    }

    /// The coins that have estimates, sorted by name.
    #[must_use]
    pub fn coins(&self) -> Vec<String> {
        self.source.coins().unwrap_or_else(|fault| {
            if !fault.is_of_damage() {
                log::warn!("{fault}");
            }
            Vec::new()
        })
    }

    /// The revision of all observations. Every answer depends on it.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.source.last_state(&Dependency::Observations).revision
    }

    /// The revision of the inputs of the estimates of `coin`. It changes when a bar closes or past rows change.
    #[must_use]
    pub fn estimate_revision(&self, coin: &str) -> Revision {
        self.source
            .last_state(&Dependency::Coin(coin.to_owned()))
            .revision
    }

    /// Calls `look` with the market, on a blocking thread if `look` may wait for a disk.
    pub(crate) async fn look<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        if !self.is_on_disk() {
            return Ok(look(self));
        }
        let market = Arc::clone(self);
        run_blocking(None, move || Ok(look(&market))).await
    }

    /// The state of `basis` after a new check for new rows; concurrent callers share one check.
    pub(crate) async fn look_at(
        self: &Arc<Self>,
        basis: &Dependency,
    ) -> Result<SourceState, Refusal> {
        if !self.is_on_disk() {
            return self.state(basis);
        }
        if let Dependency::Recording(_) = basis {
            let basis = basis.clone();
            return self.look(move |market| market.state(&basis)).await?;
        }
        let look = async {
            self.look(|market| market.state(&Dependency::Observations).map(drop))
                .await?
        };
        self.look.fresh(look).await?;
        // The cached state is `None` while another thread reads new rows.
        if let Some(state) = self.source.cached_state(basis) {
            return Ok(state);
        }
        let basis = basis.clone();
        self.look(move |market| market.state(&basis)).await?
    }

    /// The state of `basis` after a check for new rows.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if new rows cannot be read.
    pub(crate) fn state(&self, basis: &Dependency) -> Result<SourceState, Refusal> {
        match basis {
            Dependency::Recording(source) => match self.hourly_maps() {
                Some(hourly) => {
                    hourly.check_name(source)?;
                    self.source.state(&Dependency::Observations)
                }
                None => Ok(SourceState {
                    revision: self.recordings.revision(self.recorded_in(), source)?,
                    now: self.now(),
                }),
            },
            basis => self.source.state(basis),
        }
    }

    /// The folder of the archive with recorded maps of other services; a replay has none.
    pub(crate) fn recorded_in(&self) -> Option<&Path> {
        self.archive()
            .filter(|_| self.moving.is_none())
            .map(Archive::path)
    }

    /// The recorded sources, with the maps of each.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the recordings cannot be read.
    pub(crate) fn recorded_sources(&self) -> Result<Vec<RecordedSource>, Refusal> {
        match self.hourly_maps() {
            Some(hourly) => Ok(vec![hourly]),
            None => Recordings::sources(self.recorded_in()),
        }
    }

    /// Waits until the revision of the observations differs from `seen`.
    pub async fn changed(&self, seen: Revision) {
        Arc::clone(&self.source).changed(seen).await;
    }
}
