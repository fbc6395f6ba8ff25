//! The market state for `/metrics`, read at most once every few seconds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::market::{CollectorStatus, Dependency, Market, Refusal, VenueCoverage};
use crate::model::{Millis, Window};

/// How long a state is reused, unless further damage is found.
const LASTS: Duration = Duration::from_secs(5);

/// The part of a market's state that `/metrics` reports.
#[derive(Debug)]
pub(crate) struct MarketState {
    /// Whether the market data could be read.
    pub(crate) readable: bool,
    /// Time of the newest observation. `None` if there is none.
    pub(crate) now: Option<Millis>,
    pub(crate) damaged: usize,
    /// Number of changes to the set of damaged files when the state was read.
    changes: u64,
    /// Coverage of the last 24 hours.
    pub(crate) venues: Vec<VenueCoverage>,
    /// Size of the archive's write-ahead log in bytes. `None` without an archive.
    pub(crate) log_bytes: Option<u64>,
    /// Size of the parts of the archive in bytes. Empty without an archive.
    pub(crate) bytes: BTreeMap<String, u64>,
    /// Free bytes and size of the archive's disk, and whether little is free. `None` without an archive.
    pub(crate) disk: Option<(u64, u64, bool)>,
    /// Whether a process has the archive open for writing. `None` without an archive.
    pub(crate) written: Option<bool>,
    /// By exchange, the time until which the archive records a session.
    pub(crate) listened_until: BTreeMap<String, Millis>,
    /// The status of a collector in this process.
    pub(crate) filling: Option<CollectorStatus>,
}

/// A market state, and when it was read.
type Read = (Instant, Arc<MarketState>);

/// The market state that was read last; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastState(Arc<Mutex<Option<Read>>>);

impl MarketState {
    fn of(market: &Market) -> Self {
        let changes = market.changes_of_damage();
        let readable = market.state(&Dependency::Record).is_ok();
        let venues = market.coverage(None, Window::H24);
        let archive = market.archive();
        let log_bytes = archive.map(|archive| archive.catalog().log_bytes());
        Self {
            readable: readable && venues.is_ok(),
            now: market.known_until(),
            venues: venues.unwrap_or_default(),
            log_bytes,
            bytes: archive
                .and_then(|archive| archive.catalog().bytes_by_part().ok())
                .unwrap_or_default(),
            disk: archive
                .and_then(|archive| archive.catalog().disk_space())
                .map(|disk| (disk.free, disk.size, disk.is_low())),
            written: archive.and_then(|archive| archive.catalog().has_writer().ok()),
            listened_until: archive
                .and_then(|archive| archive.coverage().connected_until().ok())
                .unwrap_or_default(),
            filling: market.collector_status(),
            // Read last, because the reads above may find further damage.
            damaged: market.damaged_files().unwrap_or_default(),
            changes,
        }
    }
}

impl LastState {
    /// Returns the state of `market`, at most a few seconds old, with all damage found so far.
    ///
    /// Concurrent requests share one state, which is read once.
    pub(crate) async fn last(&self, market: &Arc<Market>) -> Result<Arc<MarketState>, Refusal> {
        let mut read = self.0.lock().await;
        if let Some((at, state)) = &*read
            && at.elapsed() < LASTS
            && state.changes == market.changes_of_damage()
        {
            return Ok(Arc::clone(state));
        }
        // Computing the coverage of a large table takes long, so a blocking thread does it.
        let theirs = Arc::clone(market);
        let reading = spawn_blocking(move || MarketState::of(&theirs));
        let state = Arc::new(reading.await.map_err(Refusal::defect)?);
        *read = Some((Instant::now(), Arc::clone(&state)));
        Ok(state)
    }
}
