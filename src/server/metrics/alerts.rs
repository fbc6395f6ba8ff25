//! Counts of the alerts that this process sends, for the metrics.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts since the start of the process, by kind of receiver, such as `webhook`.
static ALERTS: Mutex<BTreeMap<String, AlertCounts>> = Mutex::new(BTreeMap::new());

/// Counts of the alerts of one kind of receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlertCounts {
    /// Alerts that were put into a queue.
    pub queued: u64,
    /// Alerts that the receiver accepted.
    pub delivered: u64,
    /// Alerts that were not delivered, however often they were sent.
    pub failed: u64,
    /// Deliveries that failed, after which the same alerts were sent again.
    pub repeated: u64,
}

/// Adds to the counts of a kind of receiver.
pub fn count_alerts(receiver: &str, more: AlertCounts) {
    let mut alerts = locked();
    let counts = alerts.entry(receiver.to_owned()).or_default();
    counts.queued += more.queued;
    counts.delivered += more.delivered;
    counts.failed += more.failed;
    counts.repeated += more.repeated;
}

/// The counts of all kinds of receivers that this process has used.
pub(crate) fn counted() -> Vec<(String, AlertCounts)> {
    let alerts = locked();
    alerts
        .iter()
        .map(|(name, counts)| (name.clone(), *counts))
        .collect()
}

fn locked() -> MutexGuard<'static, BTreeMap<String, AlertCounts>> {
    ALERTS.lock().unwrap_or_else(PoisonError::into_inner)
}
