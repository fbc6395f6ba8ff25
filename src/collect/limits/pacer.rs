//! Spaces the subscription requests to one exchange in time.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::collect::lock::locked;

/// Spaces the subscription requests of all connections to one exchange, which share one rate limit.
#[derive(Debug)]
pub(crate) struct SubscriptionPacer {
    /// Minimum time between two subscription requests; zero for no limit.
    spacing: Duration,
    /// The latest reserved time.
    last: Mutex<Option<Instant>>,
}

impl SubscriptionPacer {
    pub(crate) fn new(spacing: Duration) -> Self {
        Self {
            spacing,
            last: Mutex::default(),
        }
    }

    /// Reserves a time for the next subscription request, at `earliest` or later.
    pub(crate) fn reserve(&self, earliest: Instant) -> Instant {
        if self.spacing.is_zero() {
            return earliest;
        }
        let mut last = locked(&self.last);
        let next = last.map_or(earliest, |last| earliest.max(last + self.spacing));
        *last.insert(next)
    }
}
