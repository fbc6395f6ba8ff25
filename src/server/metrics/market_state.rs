//! What `/metrics` tells of the market: read every few seconds at most, whoever asks how often.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::market::{CollectorStatus, Dependency, Market, Refusal, VenueCoverage};
use crate::model::{Millis, Window};

/// How long what was read is told again, where no other files are damaged than were.
const LASTS: Duration = Duration::from_secs(5);

/// The state of a market.
#[derive(Debug)]
pub(crate) struct MarketState {
    /// Whether it could be read.
    pub(crate) readable: bool,
    /// The newest instant that is known; none where nothing has been observed.
    pub(crate) now: Option<Millis>,
    pub(crate) damaged: usize,
    /// How often what is known of damage had changed by then.
    changes: u64,
    /// Of the last 24 hours.
    pub(crate) venues: Vec<VenueCoverage>,
    /// Whether anybody has its archive open for writing; none where it lies in none.
    pub(crate) written: Option<bool>,
    /// Until when each exchange was listened to, as its archive says.
    pub(crate) listened_until: BTreeMap<String, Millis>,
    /// How the collector goes that fills it in this process.
    pub(crate) filling: Option<CollectorStatus>,
}

/// What was read, and when.
type Read = (Instant, Arc<MarketState>);

/// What was last read; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastState(Arc<Mutex<Option<Read>>>);

impl MarketState {
    fn of(market: &Market) -> Self {
        let changes = market.changes_of_damage();
        let readable = market.standing(&Dependency::Record).is_ok();
        let venues = market.coverage(None, Window::H24);
        let archive = market.archive();
        Self {
            readable: readable && venues.is_ok(),
            now: market.known_until(),
            venues: venues.unwrap_or_default(),
            written: archive.and_then(|archive| archive.has_writer().ok()),
            listened_until: archive
                .and_then(|archive| archive.connected_until().ok())
                .unwrap_or_default(),
            filling: market.filling(),
            // Whatever was read may have met more.
            damaged: market.damaged_files().unwrap_or_default(),
            changes,
        }
    }
}

impl LastState {
    /// The state of `market` as it was seconds ago, or as it is, with all damage that is known; who asks meanwhile waits for the same look.
    pub(crate) async fn last(&self, market: &Arc<Market>) -> Result<Arc<MarketState>, Refusal> {
        let mut read = self.0.lock().await;
        if let Some((at, state)) = &*read
            && at.elapsed() < LASTS
            && state.changes == market.changes_of_damage()
        {
            return Ok(Arc::clone(state));
        }
        // Coverage of a large table takes its time, too.
        let theirs = Arc::clone(market);
        let look = spawn_blocking(move || MarketState::of(&theirs));
        let state = Arc::new(look.await.map_err(Refusal::defect)?);
        *read = Some((Instant::now(), Arc::clone(&state)));
        Ok(state)
    }
}
