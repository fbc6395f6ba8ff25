//! What all tasks of one venue share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::collect::intake::intake::Intake;
use crate::collect::quality::reference_price::Yardstick;
use crate::collect::reference_data::instrument_cache::CachedMarkets;
use crate::collect::reference_data::markets::Markets;
use crate::collect::rest_client::{RestClient, RestError};
use crate::feeds::{Error, Listing};
use crate::model::Millis;

/// The tasks of one venue.
pub(crate) struct VenueTasks {
    pub(crate) intake: Arc<Intake>,
    pub(crate) rest: RestClient,
    pub(crate) archive: PathBuf,
    /// Whose bars and open interest are collected.
    pub(crate) history_coins: Vec<String>,
    pub(crate) yardstick: Arc<Yardstick>,
    /// Whether only the past is asked for.
    pub(crate) once: bool,
    /// Whether the back-fills of the start are over.
    pub(crate) filled: AtomicBool,
    /// Whether the listening has begun.
    pub(crate) heard: AtomicBool,
    /// The lists of markets as a process before had read them last.
    pub(crate) recalled: Vec<Option<CachedMarkets>>,
    /// Whether the markets were compared with these.
    pub(crate) is_compared: Mutex<bool>,
    /// Whether the markets have been read.
    pub(crate) known: watch::Sender<bool>,
    /// Why the sockets are to be opened anew, such as that they are mute.
    pub(crate) renewal: watch::Sender<Option<String>>,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    RestClient(#[from] RestError),
    #[error("the reply cannot be read: {0}")]
    HttpReply(#[from] Error),
    #[error("the venue lists none")]
    NoMarkets,
    #[error("the archive takes nothing")]
    NotTaken,
}

impl Failure {
    /// Whether the venue says that there is no such thing, or none of it.
    pub(crate) fn is_absence(&self) -> bool {
        match self {
            Self::RestClient(fault) => fault.is_absent(),
            Self::NoMarkets => true,
            Self::HttpReply(_) | Self::NotTaken => false,
        }
    }
}

/// Returns once it is said, or nobody is left to say it.
pub(crate) async fn said(word: &mut watch::Receiver<bool>) {
    let _ = word.wait_for(|said| *said).await;
}

impl VenueTasks {
    pub(crate) fn trouble(&self, message: String) {
        self.intake.board.trouble(message);
    }

    /// Whether every list of markets has been read, as far as the venue has any.
    pub(crate) fn knows_all_markets(&self) -> bool {
        self.is_all(&self.intake.markets.load())
    }

    /// Whether these are of all of its lists.
    pub(crate) fn is_all(&self, markets: &Markets) -> bool {
        let lists = self.intake.venue.listing_requests().len();
        markets.lists.iter().flatten().count() >= lists
    }

    /// The markets of the coins that are asked for.
    pub(crate) fn wanted(&self) -> Vec<Listing> {
        self.wanted_of(&self.intake.markets.load())
    }

    /// Those among some markets.
    pub(crate) fn wanted_of(&self, markets: &Markets) -> Vec<Listing> {
        let listings = markets.listings.iter();
        let wanted = listings.filter(|listing| self.intake.is_asked_for(&listing.coin().0));
        wanted.cloned().collect()
    }

    /// The same, with those that have been closed or delisted since an instant: until then they may have been traded.
    pub(crate) fn traded_since(&self, from: Millis) -> Vec<Listing> {
        let mut wanted = self.wanted();
        let markets = self.intake.markets.load();
        let of_then = markets.closed_since(from);
        for listing in of_then.filter(|listing| self.intake.is_asked_for(&listing.coin().0)) {
            wanted.retain(|known| known.native_id != listing.native_id);
            wanted.push(Listing {
                trading: true,
                ..listing.clone()
            });
        }
        wanted
    }

    /// Returns once the markets are known, where the venue lists any.
    pub(crate) async fn markets_are_known(&self) {
        if !self.intake.venue.listing_requests().is_empty() {
            said(&mut self.known.subscribe()).await;
        }
    }

    /// Notes that the back-fills of the start are over.
    pub(crate) fn is_filled(&self) {
        self.filled.store(true, Ordering::Release);
    }
}

impl std::fmt::Debug for VenueTasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VenueTasks")
            .field("venue", &self.intake.name())
            .finish_non_exhaustive()
    }
}
