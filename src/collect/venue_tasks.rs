//! The state and the clients that the tasks of one exchange share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::archive::SessionId;
use crate::collect::intake::intake::Intake;
use crate::collect::reference_data::instrument_cache::CachedMarkets;
use crate::collect::reference_data::reference_price::ReferencePrices;
use crate::collect::rest_client::{RestClient, RestError};
use crate::collect::venue_context::VenueContext;
use crate::feeds::Error;
use crate::model::Millis;

/// State and clients that the tasks of one exchange share. The tasks themselves are in `venue_runner`.
pub(crate) struct VenueTasks {
    pub(crate) context: Arc<VenueContext>,
    pub(crate) intake: Arc<Intake>,
    pub(crate) rest: RestClient,
    pub(crate) prices: Arc<ReferencePrices>,
    /// The coins of which bars and open interest are collected.
    pub(crate) history_coins: Vec<String>,
    /// Whether collection ends after the backfill, without live collection.
    pub(crate) once: bool,
    /// Whether the backfill of bars and open interest at the start is over.
    pub(crate) filled: AtomicBool,
    /// Whether a session in the archive has begun.
    pub(crate) has_begun: AtomicBool,
    /// The market lists that an earlier process stored.
    pub(crate) cached_lists: Vec<Option<CachedMarkets>>,
    /// Whether the current markets were already compared with the cached lists.
    pub(crate) is_compared: Mutex<bool>,
    /// Whether the markets are known, from the exchange or from the cache.
    pub(crate) known: watch::Sender<bool>,
    /// Reason for a restart of all connections, for example staleness.
    pub(crate) restart: watch::Sender<Option<String>>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestFailure {
    #[error(transparent)]
    Rest(#[from] RestError),
    #[error("the reply cannot be read: {0}")]
    Reply(#[from] Error),
    #[error("the exchange lists no markets")]
    NoMarkets,
    #[error("the archive does not accept rows at present")]
    NotTaken,
}

impl RequestFailure {
    /// Whether the exchange replied that the resource is missing or has no markets.
    pub(crate) fn is_absence(&self) -> bool {
        match self {
            Self::Rest(fault) => fault.is_absent(),
            Self::NoMarkets => true,
            Self::Reply(_) | Self::NotTaken => false,
        }
    }
}

/// Waits until `flag` is true or its sender is dropped.
pub(crate) async fn is_set(flag: &mut watch::Receiver<bool>) {
    let _ = flag.wait_for(|value| *value).await;
}

impl VenueTasks {
    /// Waits until the markets are known. Returns immediately for an exchange without market lists.
    pub(crate) async fn markets_are_known(&self) {
        if !self.context.venue.listing_requests().is_empty() {
            is_set(&mut self.known.subscribe()).await;
        }
    }

    /// Marks the backfill of bars and open interest at the start as over.
    pub(crate) fn set_filled(&self) {
        self.filled.store(true, Ordering::Release);
    }

    /// Begins a session in the archive; `None` if the archive was closed.
    ///
    /// The session is extended to an instant at most `late` milliseconds after it.
    pub(crate) async fn begin_session(&self, at: Millis, late: i64) -> Option<SessionId> {
        self.has_begun.store(true, Ordering::Release);
        let completeness = self.context.venue.completeness();
        let delivery = &self.context.delivery;
        delivery
            .begin(self.context.name(), completeness, at, late)
            .await
    }
}

impl std::fmt::Debug for VenueTasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VenueTasks")
            .field("venue", &self.context.name())
            .finish_non_exhaustive()
    }
}
