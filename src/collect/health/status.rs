//! The status of a collector, as a user reads it.

use serde::Serialize;

use crate::archive::RawStatus;
use crate::model::{Completeness, Evidence, Millis};

/// The state of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VenueState {
    /// The collector reads the markets, or opens the connections for the first time.
    #[default]
    Starting,
    /// All feeds are received and all subscriptions acknowledged; for a polled exchange, the last poll was answered.
    /// Of two redundant connections one is enough.
    Live,
    /// Some feeds are received.
    Degraded,
    /// No feed is received.
    Down,
    /// Collection has ended.
    Stopped,
}

/// The status of one exchange. Counts are since the start of the collector.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VenueStatus {
    /// The exchange.
    pub exchange: &'static str,
    /// Its state.
    pub state: VenueState,
    /// New events in the last minute.
    pub events_per_minute: u64,
    /// New events.
    pub events: u64,
    /// Event time of the latest event.
    pub last_event: Option<Millis>,
    /// Delay between event time and receipt of the last WebSocket event, in milliseconds.
    pub lag: Option<i64>,
    /// How far the clock of this machine is ahead of that of the exchange, in milliseconds.
    pub clock_ahead: Option<i64>,
    /// When the last frame or reply was received.
    pub last_received: Option<Millis>,
    /// Recorded gaps.
    pub gaps: u64,
    /// The reason of the last gap.
    pub last_gap: Option<String>,
    /// Opened connections.
    pub connections: u64,
    /// Live connections.
    pub sockets: u64,
    /// Wanted connections; two for the same feed if the exchange has no data to backfill from.
    pub sockets_wanted: u64,
    /// Frames, rows and replies that could not be decoded completely.
    pub rejected: u64,
    /// Duplicate events, those of redundant connections included.
    pub repeated: u64,
    /// Events of coins that were not selected.
    pub unasked: u64,
    /// Events that wait for the contract size of their market.
    pub pending: u64,
    /// Events dropped because their contract size stayed unknown.
    pub unpriced: u64,
    /// Stored events that look wrong: far off the market price, or too large for the open interest.
    pub suspect: u64,
    /// Quarantined events, which are not stored as orders: the price is too far off the market, or the value exceeds
    /// the open interest, so the unit must be wrong.
    pub quarantined: u64,
    /// Stored events without a reference price: no bars, no other exchange, no price of the exchange itself.
    pub unjudged: u64,
    /// Holes in the sequence numbers of the exchange: lost messages.
    pub holes: u64,
    /// Sequence numbers that were checked.
    pub numbered: u64,
    /// Covered share of the last 24 hours, by the archive.
    pub connected_share: Option<f64>,
    /// How complete the feed of the exchange is.
    pub completeness: Option<Completeness>,
    /// The evidence for the completeness.
    pub known_by: Option<Evidence>,
    /// Backfilled orders of the last 24 hours.
    pub recovered: Option<u64>,
    /// Events that were dropped because the archive could not take them.
    pub lost: u64,
    /// The time of the cached market list in use; present while the exchange has refused a list since the start.
    pub markets_as_of: Option<Millis>,
    /// Requested topics.
    pub topics: u64,
    /// Uncovered topics, the first few by name: subscriptions that were refused or not acknowledged.
    pub uncovered: Vec<String>,
    /// The number of uncovered topics.
    pub uncovered_count: u64,
    /// Bars received.
    pub bars: u64,
    /// Readings of open interest received.
    pub open_interest: u64,
    /// Answered backfill requests.
    pub asked: u64,
    /// Planned backfill requests.
    pub to_ask: u64,
    /// The last warning, as `kind: text`.
    pub trouble: Option<String>,
    /// The number of warnings.
    pub troubles: u64,
}

/// The status of the polling of positions. Counts are since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PositionsStatus {
    /// Whether the trades of all selected coins are received.
    pub live: bool,
    /// Accounts of the last round.
    pub accounts: u64,
    /// Accounts of the last round that could not be polled.
    pub missing: u64,
    /// Positions of the last snapshot.
    pub positions: u64,
    /// Snapshots.
    pub snapshots: u64,
    /// When the last snapshot was complete.
    pub last_snapshot: Option<Millis>,
    /// Refused requests.
    pub refused: u64,
    /// The last warning.
    pub trouble: Option<String>,
}

/// The status of a collector at an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// The instant.
    pub at: Millis,
    /// When the collector started.
    pub since: Millis,
    /// The exchanges in the order of the plan.
    #[serde(rename = "exchanges")]
    pub venues: Vec<VenueStatus>,
    /// New orders that are durable.
    pub orders: u64,
    /// New bars that are durable.
    pub bars: u64,
    /// New readings of open interest that are durable.
    pub open_interest: u64,
    /// Present if positions are polled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<PositionsStatus>,
    /// Rows that the archive had already.
    pub repeated: u64,
    /// Rows that wait to be committed.
    pub waiting: u64,
    /// Why nothing can be written, if so.
    pub trouble: Option<String>,
    /// The status of the raw files.
    pub raw: RawStatus,
    /// Whether the backfills that were due at the start are complete.
    #[serde(rename = "filled")]
    pub is_filled: bool,
}
