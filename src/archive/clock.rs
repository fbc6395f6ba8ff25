//! The wall clock of this machine, used for the times at which records become known.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::model::Millis;

/// Current time of this machine's clock.
pub(crate) fn wall_clock() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
