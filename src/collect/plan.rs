//! The plan of a collection, and the errors of an invalid one.

use super::settings::{Settings, SettingsError};
use crate::archive::ArchiveError;
use crate::collect::subscription::coin_selection::coins_of;
use crate::feeds::{Error, VENUES, Venue};

/// The error of a collection that cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// An unknown exchange.
    #[error("exchanges: {0}")]
    Venue(#[from] Error),
    /// An invalid coin name.
    #[error("symbols: {message}")]
    Coin {
        /// What is wrong, with the name and what is allowed.
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

/// The plan of a collection.
#[derive(Clone, Debug, Default)]
pub struct CollectPlan {
    /// The names of exchanges; empty for all.
    pub venues: Vec<String>,
    /// The coins to collect. If empty, orders of all coins are collected, but bars and open interest only of the coins
    /// in the settings.
    pub coins: Vec<String>,
    /// Whether the positions of single accounts are polled.
    pub positions: bool,
    /// Whether to backfill and stop, without live collection.
    pub once: bool,
    /// Everything else.
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
