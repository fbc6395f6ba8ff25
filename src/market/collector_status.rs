//! Status of a collector that runs in this process and fills the archive of a market.

use std::fmt::Debug;

use crate::model::Millis;

/// The status of a collector. All counts are since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectorStatus {
    /// The exchanges, in the order given by the user.
    pub venues: Vec<CollectedVenue>,
    /// Rows in the write queue.
    pub waiting: u64,
    /// Whether the writer currently cannot write to the archive.
    pub is_stalled: bool,
}

/// The status of one exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectedVenue {
    /// Exchange name in lower case.
    pub exchange: &'static str,
    /// Whether all subscriptions are active.
    pub is_live: bool,
    /// Connections opened, including reconnects.
    pub connections: u64,
    /// Time at which the last frame or reply was received.
    pub last_received: Option<Millis>,
    /// Event time of the latest event.
    pub last_event: Option<Millis>,
    /// Events received, without duplicates.
    pub events: u64,
    /// Recorded gaps.
    pub gaps: u64,
    /// Frames, rows and replies that could not be decoded in full.
    pub rejected: u64,
    /// Events dropped because their contract size stayed unknown, so that they had no USD value.
    pub unpriced: u64,
    /// Events in quarantine because their unit is probably wrong.
    pub quarantined: u64,
    /// Events that the archive refused to store.
    pub lost: u64,
}

/// A collector that reports its status.
pub trait CollectorMonitor: Debug + Send + Sync {
    /// The current status, or `None` once the collector has ended.
    fn collector_status(&self) -> Option<CollectorStatus>;
}
