//! What a market knows of the collector that fills its archive in this process, whoever that is.

use std::fmt::Debug;

use crate::model::Millis;

/// A collector at an instant. Counts are since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectorStatus {
    /// The venues, in the order asked for.
    pub venues: Vec<VenueStatus>,
    /// Rows that wait to be committed.
    pub waiting: u64,
    /// Whether nothing can be written.
    pub is_stalled: bool,
}

/// One venue of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VenueStatus {
    /// Exchange, lower case.
    pub exchange: &'static str,
    /// Whether everything of it is listened to.
    pub is_live: bool,
    /// Connections that were opened, again after an end as well.
    pub connections: u64,
    /// When anything was last received.
    pub last_received: Option<Millis>,
    /// Event time of the latest event.
    pub last_event: Option<Millis>,
    /// New events.
    pub events: u64,
    /// Gaps that were recorded.
    pub gaps: u64,
    /// Frames, rows and replies of which nothing or not all could be read.
    pub rejected: u64,
    /// Events that could not be priced in the end.
    pub unpriced: u64,
    /// Events that are set aside because their unit is in doubt.
    pub quarantined: u64,
    /// Events that the archive could not take.
    pub lost: u64,
}

/// A collector whose state can be asked for.
pub trait CollectorMonitor: Debug + Send + Sync {
    /// How it goes; none once it has ended.
    fn collector_status(&self) -> Option<CollectorStatus>;
}
