//! Spacing of the subscriptions of one exchange.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::collect::lock::locked;

/// Spaces the subscriptions of all connections to one exchange, which share one rate limit.
#[derive(Debug)]
pub(crate) struct SubscriptionPacer {
    /// Least time between two subscriptions; zero where there is no limit.
    spacing: Duration,
    /// Time of the latest reserved subscription.
    last: Mutex<Option<Instant>>,
}

impl SubscriptionPacer {
    pub(crate) fn new(spacing: Duration) -> Self {
        Self {
            spacing,
            last: Mutex::default(),
        }
    }

    /// Reserves the time of the next subscription, not before `earliest`.
    pub(crate) fn reserve(&self, earliest: Instant) -> Instant {
        if self.spacing.is_zero() {
            return earliest;
        }
        let mut last = locked(&self.last);
        let next = last.map_or(earliest, |last| earliest.max(last + self.spacing));
        *last.insert(next)
    }
}
