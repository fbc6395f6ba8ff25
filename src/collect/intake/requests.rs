//! Passes backfill requests from the connections to the backfill task.

use std::sync::Mutex;

use tokio::sync::Notify;

use crate::collect::lock::locked;
use crate::model::TimeRange;

/// Time ranges that the backfill task has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct BackfillRequests {
    ranges: Mutex<Vec<TimeRange>>,
    added: Notify,
}

impl BackfillRequests {
    /// Requests a time range and wakes the backfill task.
    pub(crate) fn request(&self, range: TimeRange) {
        locked(&self.ranges).push(range);
        self.added.notify_one();
    }

    /// Removes and returns the ranges requested since the last call.
    pub(crate) fn take(&self) -> Vec<TimeRange> {
        std::mem::take(&mut *locked(&self.ranges))
    }

    /// Waits until a range is requested.
    pub(crate) async fn added(&self) {
        self.added.notified().await;
    }
}
