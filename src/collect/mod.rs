//! Listening to the exchanges: what their public feeds tell goes into an archive, with what was missed.
//!
//! One task per socket (`line`, `socket`), requests within each venue's limits (`rest`), bars and open interest (`fill`), all
//! of a venue in one place (`tend`). What comes in is compared with what was heard, priced or held (`intake`), and handed to
//! the archive's keeper (`keep`). What a venue says and how, [`feeds`](crate::feeds) knows.

mod board;
mod collector;
mod dedupe;
mod fill;
mod hold;
mod intake;
mod keep;
mod life;
mod line;
mod lock;
mod proof;
mod rest;
mod settings;
mod socket;
mod tend;
mod yardstick;

use std::time::{SystemTime, UNIX_EPOCH};

pub use board::{Status, VenueState, VenueStatus};
pub use collector::{CollectError, Collector, Plan};
pub use settings::{Pace, Reach, Settings, SettingsError};

use crate::model::Millis;

/// The instant it is, by this machine's clock.
fn now() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
