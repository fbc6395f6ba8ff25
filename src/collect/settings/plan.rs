//! The plan of a collection, and the errors that prevent its start.

use crate::archive::ArchiveError;
use crate::collect::settings::coin_selection::coins_of;
use crate::collect::settings::settings::{Settings, SettingsError};
use crate::feeds::{Error, VENUES, Venue, hyperliquid};
use crate::model::exchange_name;

/// Why a collection cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// An unknown exchange.
    #[error("exchanges: {0}")]
    Venue(#[from] Error),
    /// An exchange that closed.
    #[error(
        "exchanges: {name:?} closed on {closed} and cannot be collected; its past can be ingested and decoded"
    )]
    Closed {
        /// The name of the exchange.
        name: &'static str,
        /// When it closed.
        closed: &'static str,
    },
    /// An exchange that publishes no past liquidations, in a plan without live collection.
    #[error("exchanges: {EXCHANGE:?} publishes no past liquidations, so there is nothing to backfill", EXCHANGE = hyperliquid::EXCHANGE)]
    NoPast,
    /// An invalid coin name.
    #[error("symbols: {message}")]
    Coin {
        /// The error message, with the invalid name and what is allowed.
        message: String,
    },
    /// An invalid setting.
    #[error("settings: {0}")]
    Settings(#[from] SettingsError),
    /// An environment variable that should name a proxy, but names none.
    #[error("{0}, or `proxy` in the settings of the exchange")]
    Proxy(String),
    /// The archive cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Threads or TLS are not available.
    #[error("collection cannot start: {0}")]
    Start(String),
}

/// What a collector collects, and how.
#[derive(Clone, Debug, Default)]
pub struct CollectPlan {
    /// The names of exchanges; empty for all that trade, without the live tape of `hyperliquid`.
    pub venues: Vec<String>,
    /// The coins to collect. If empty, orders of all coins are collected, but bars and open interest only of the coins
    /// in the settings.
    pub coins: Vec<String>,
    /// Whether to poll the trading positions of single accounts.
    pub positions: bool,
    /// Whether to backfill missing data and then stop, without live collection.
    pub once: bool,
    /// Addresses, limits and times.
    pub settings: Settings,
}

impl CollectPlan {
    /// Checks the plan and its settings.
    pub(crate) fn check(&self) -> Result<(), CollectError> {
        self.venues()?;
        if self.once && self.has_tape() {
            return Err(CollectError::NoPast);
        }
        self.coins()?;
        Ok(self.settings.check()?)
    }

    /// Whether the live tape of Hyperliquid is selected.
    pub(crate) fn has_tape(&self) -> bool {
        self.venues.iter().any(|name| is_tape(name))
    }

    /// The selected exchanges with a feed of liquidations.
    pub(crate) fn venues(&self) -> Result<Vec<&'static Venue>, CollectError> {
        if self.venues.is_empty() {
            let open = VENUES.into_iter().filter(|venue| venue.closed().is_none());
            return Ok(open.collect());
        }
        let mut chosen: Vec<&'static Venue> = Vec::new();
        for name in self.venues.iter().filter(|name| !is_tape(name)) {
            let venue = crate::feeds::venue(name)?;
            if let Some(closed) = venue.closed() {
                let name = venue.name();
                return Err(CollectError::Closed { name, closed });
            }
            if !chosen.iter().any(|known| known.name() == venue.name()) {
                chosen.push(venue);
            }
        }
        Ok(chosen)
    }

    /// The selected coins.
    pub(crate) fn coins(&self) -> Result<Vec<String>, CollectError> {
        coins_of(&self.coins).map_err(|message| CollectError::Coin { message })
    }
}

/// Whether a name is that of the exchange of which liquidations are found by watching makers.
fn is_tape(name: &str) -> bool {
    exchange_name(name) == hyperliquid::EXCHANGE
}
