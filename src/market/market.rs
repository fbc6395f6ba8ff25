//! A market: one face for every place that observations can lie in.
//!
//! A caller never sees where the observations are: it asks, and is told beside each answer what the answer depends on.

use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::{Archive, DamagedPart, Watch};
use crate::market::blocking_pool::run_blocking;
use crate::market::collector_status::{CollectorMonitor, CollectorStatus};
use crate::market::map_recorder::MapRecorder;
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState};
use crate::market::shared_refresh::SharedLook;
use crate::market::source::market_source::MarketSource;
use crate::market::source::replay::ReplaySource;
use crate::model::{Millis, MissedStretch};

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
    pub(crate) source: Arc<dyn MarketSource>,
    pub(crate) simulated: bool,
    /// Where the observations come from, in a few words.
    pub(crate) origin: String,
    /// Keeps the maps that servers of this market answer with.
    pub(crate) maps: Option<Arc<MapRecorder>>,
    /// Where it moves by a clock of its own.
    pub(crate) moving: Option<Arc<ReplaySource>>,
    pub(crate) look: SharedLook,
    /// CollectorMonitor its archive in this process, where something does.
    pub(crate) filled_by: Option<Arc<dyn CollectorMonitor>>,
    /// Reads all files of its archive once, where somebody wanted that.
    pub(crate) watch: Mutex<Option<Watch>>,
}

impl Market {
    /// Lets nothing more arrive, where it moves by a clock of its own: who follows its orders comes to an end. Files of its
    /// archive are read no more but for an answer.
    pub fn end(&self) {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        *watch = None;
        drop(watch);
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

    /// Keeps up to `bytes`, about, of what was read of the past for the next question about it.
    pub(crate) fn set_history_cache(&self, bytes: usize) {
        self.source.set_history_cache(bytes);
    }

    /// What keeps the maps that servers of this market answer with, where something does.
    pub(crate) fn map_recorder(&self) -> Option<&MapRecorder> {
        self.maps.as_deref()
    }

    /// The archive that the market lies in, if it lies in one.
    #[must_use]
    pub fn archive(&self) -> Option<&Archive> {
        self.source.archive()
    }

    /// How the collector goes that fills its archive, where one in this process does.
    pub(crate) fn collector_status(&self) -> Option<CollectorStatus> {
        self.filled_by.as_ref()?.collector_status()
    }

    /// How many files of its archive are known to be damaged, so that rows are missing.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the archive was opened before a fork.
    pub(crate) fn damaged_files(&self) -> Result<usize, Refusal> {
        let damaged = self.archive().map(Archive::damaged_files).transpose()?;
        Ok(damaged.unwrap_or_default())
    }

    /// How often what is known of them has changed.
    pub(crate) fn changes_of_damage(&self) -> u64 {
        self.archive()
            .map_or(0, |archive| archive.changes_of_damage().0)
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

    /// What is to be listened to for the archive and was not heard so far, where nothing else was heard since: by exchange.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the archive cannot be read.
    pub(crate) fn silent_exchanges(&self) -> Result<Vec<MissedStretch>, Refusal> {
        let silent_exchanges = self.archive().map(Archive::pending_gaps).transpose()?;
        let gaps = silent_exchanges.unwrap_or_default().into_iter();
        Ok(gaps
            .map(|gap| MissedStretch {
                exchange: gap.exchange,
                start: gap.start,
                end: gap.end,
                reason: gap.reason,
                ..MissedStretch::default()
            })
            .collect())
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
    pub fn public_source(&self) -> &str {
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
        self.source.last_state(&Dependency::Observations).now
    }

    /// The same, where anything has been observed: the epoch itself stands for nothing.
    #[must_use]
    pub fn known_until(&self) -> Option<Millis> {
        Some(self.now()).filter(|now| *now != Millis::default())
    }

    /// The coins that an estimate can be given for, by name.
    #[must_use]
    pub fn coins(&self) -> Vec<String> {
        self.source.coins().unwrap_or_else(|fault| {
            if !fault.is_of_damage() {
                log::warn!("{fault}");
            }
            Vec::new()
        })
    }

    /// What every answer depends on.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.source.last_state(&Dependency::Observations).revision
    }

    /// What the estimates of `coin` depend on: another number once a bar of it has closed, or its past has changed.
    #[must_use]
    pub fn estimate_revision(&self, coin: &str) -> Revision {
        self.source
            .last_state(&Dependency::Coin(coin.to_owned()))
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
        run_blocking(None, move || Ok(look(&market))).await
    }

    /// Where `basis` stands, with all that was there when this was asked; one look is shared by all who ask meanwhile.
    pub(crate) async fn look_at(
        self: &Arc<Self>,
        basis: &Dependency,
    ) -> Result<SourceState, Refusal> {
        if !self.is_on_disk() {
            return self.state(basis);
        }
        let look = async {
            self.look(|market| market.state(&Dependency::Observations).map(drop))
                .await?
        };
        self.look.fresh(look).await?;
        // None where somebody is taking in what is new.
        if let Some(state) = self.source.cached_state(basis) {
            return Ok(state);
        }
        let basis = basis.clone();
        self.look(move |market| market.state(&basis)).await?
    }

    /// Where `basis` stands, of one look at what is new.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where what is new cannot be read.
    pub(crate) fn state(&self, basis: &Dependency) -> Result<SourceState, Refusal> {
        self.source.state(basis)
    }

    /// Waits until the revision is another than `seen`.
    pub async fn changed(&self, seen: Revision) {
        Arc::clone(&self.source).changed(seen).await;
    }
}
