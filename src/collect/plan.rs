//! What is to be collected, and why nothing can be.

use super::settings::{Settings, SettingsError};
use crate::archive::ArchiveError;
use crate::collect::subscription::coin_selection::coins_of;
use crate::feeds::{Error, VENUES, Venue};

/// Why nothing is collected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// A venue that is none.
    #[error("venues: {0}")]
    Venue(#[from] Error),
    /// A coin that cannot be one.
    #[error("symbols: {message}")]
    Coin {
        /// What is wrong, with the name and what is allowed.
        message: String,
    },
    /// A setting that cannot be used.
    #[error("settings: {0}")]
    Settings(#[from] SettingsError),
    /// The archive cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Threads or TLS cannot be had.
    #[error("nothing can be started: {0}")]
    Start(String),
}

/// What is to be collected.
#[derive(Clone, Debug, Default)]
pub struct CollectPlan {
    /// The venues by name; all of them where there are none.
    pub venues: Vec<String>,
    /// The coins: orders of no others are kept, and bars and open interest of these. Without any, orders of all coins
    /// are kept, and bars and open interest of those in the settings.
    pub coins: Vec<String>,
    /// Whether the positions of single accounts are looked at.
    pub positions: bool,
    /// Whether only the past is asked for.
    pub once: bool,
    /// Everything else.
    pub settings: Settings,
}

impl CollectPlan {
    /// Looks over everything.
    pub(crate) fn check(&self) -> Result<(), CollectError> {
        self.venues()?;
        self.coins()?;
        Ok(self.settings.check()?)
    }

    /// The venues that are meant.
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

    /// The coins that are meant.
    pub(crate) fn coins(&self) -> Result<Vec<String>, CollectError> {
        coins_of(&self.coins).map_err(|message| CollectError::Coin { message })
    }
}
