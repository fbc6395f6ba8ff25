//! The plan of a collection, and the errors that prevent its start.

use crate::archive::ArchiveError;
use crate::collect::settings::coin_selection::coins_of;
use crate::collect::settings::settings::{Settings, SettingsError};
use crate::feeds::{Error, VENUES, Venue};

/// Why a collection cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// An unknown exchange.
    #[error("exchanges: {0}")]
    Venue(#[from] Error),
    /// An invalid coin name.
    #[error("symbols: {message}")]
    Coin {
        /// The error message, with the invalid name and what is allowed.
        message: String,
    },
    /// An invalid setting.
    #[error("settings: {0}")]
    Settings(#[from] SettingsError),
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
    /// The names of exchanges; empty for all.
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
        self.coins()?;
        Ok(self.settings.check()?)
    }

    /// The selected exchanges.
    pub(crate) fn venues(&self) -> Result<Vec<&'static Venue>, CollectError> {
        if self.venues.is_empty() {
            return Ok(VENUES.to_vec());
        }
        let mut chosen: Vec<&'static Venue> = Vec::new();
        for name in &self.venues {
            let venue = crate::feeds::venue(name)?;
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
