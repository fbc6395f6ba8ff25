//! The status of a collector, as shown to users.

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
    /// All feeds are received and all subscriptions acknowledged. One of two redundant connections is enough. For a
    /// polled exchange, the last poll was answered.
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
    /// The name of the exchange.
    pub exchange: &'static str,
    /// The state of the exchange.
    pub state: VenueState,
    /// Number of new events in the last minute.
    pub events_per_minute: u64,
    /// Number of new events.
    pub events: u64,
    /// Event time of the latest event.
    pub last_event: Option<Millis>,
    /// Delay between event time and receipt of the last WebSocket event, in milliseconds.
    pub lag: Option<i64>,
    /// How far the clock of this machine is ahead of the exchange's clock, in milliseconds.
    pub clock_ahead: Option<i64>,
    /// When the last frame or reply was received.
    pub last_received: Option<Millis>,
    /// Number of recorded gaps.
    pub gaps: u64,
    /// The reason of the last recorded gap.
    pub last_gap: Option<String>,
    /// Number of connections opened so far.
    pub connections: u64,
    /// Whether the exchange could be connected to at the last attempt; absent before the first one.
    pub reachable: Option<bool>,
    /// Why not.
    pub connect_error: Option<String>,
    /// Number of live connections.
    pub sockets: u64,
    /// Number of connections that should be live; two per feed if the exchange offers no data to backfill from.
    pub sockets_wanted: u64,
    /// Number of frames, rows and replies that could not be decoded completely.
    pub rejected: u64,
    /// Number of duplicate events, including those of redundant connections.
    pub repeated: u64,
    /// Number of events of coins that were not selected.
    #[serde(rename = "unasked")]
    pub unselected: u64,
    /// Number of events that wait for the contract size of their market.
    pub pending: u64,
    /// Number of events dropped because their contract size or USD value stayed unknown.
    pub unpriced: u64,
    /// Number of stored events that look wrong: more than 20 % off the reference price, or more than 5 % of the open
    /// interest.
    pub suspect: u64,
    /// Number of quarantined events, which are not stored as orders. Either the unit must be wrong (the price is too
    /// far from the reference price, or the value exceeds the open interest), or the event exceeds an announced amount.
    pub quarantined: u64,
    /// Number of stored events that were not checked for lack of a reference price: neither a bar, nor another
    /// exchange, nor the exchange itself gave one.
    #[serde(rename = "unjudged")]
    pub unchecked: u64,
    /// Number of holes in the sequence numbers of the exchange, which show lost messages.
    pub holes: u64,
    /// Number of sequence numbers that were checked.
    #[serde(rename = "numbered")]
    pub sequence_numbers: u64,
    /// Covered fraction of the last 24 hours, according to the archive.
    pub connected_share: Option<f64>,
    /// How complete the exchange's feed of liquidations is.
    pub completeness: Option<Completeness>,
    /// The evidence for the stated completeness.
    pub known_by: Option<Evidence>,
    /// Number of backfilled orders of the last 24 hours.
    pub recovered: Option<u64>,
    /// Number of events that were dropped because the archive could not take them.
    pub lost: u64,
    /// When the oldest cached market list in use was read; absent once the exchange has sent all lists.
    pub markets_as_of: Option<Millis>,
    /// Number of requested topics.
    pub topics: u64,
    /// Names of the first uncovered topics: subscriptions that were refused or not acknowledged.
    pub uncovered: Vec<String>,
    /// The number of uncovered topics.
    pub uncovered_count: u64,
    /// Number of bars received.
    pub bars: u64,
    /// Number of open-interest readings received.
    pub open_interest: u64,
    /// Number of completed backfill requests.
    #[serde(rename = "asked")]
    pub requests_done: u64,
    /// Number of planned backfill requests, completed ones included.
    #[serde(rename = "to_ask")]
    pub requests_planned: u64,
    /// The last warning, as `kind: text`.
    pub trouble: Option<String>,
    /// The number of warnings.
    pub troubles: u64,
}

/// The status of the polling of trading positions. Counts are since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PositionsStatus {
    /// Whether the trades of all selected coins are received.
    pub live: bool,
    /// Number of accounts that were polled in the last round.
    pub accounts: u64,
    /// Number of accounts in the last round that could not be polled.
    pub missing: u64,
    /// Number of trading positions in the last snapshot.
    pub positions: u64,
    /// Number of stored snapshots.
    pub snapshots: u64,
    /// When the last snapshot was complete.
    pub last_snapshot: Option<Millis>,
    /// Number of requests that the exchange refused.
    pub refused: u64,
    /// The last warning.
    pub trouble: Option<String>,
}

/// The status of a collector at an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// When the status was taken.
    pub at: Millis,
    /// When the collector started.
    pub since: Millis,
    /// The status of each exchange, in the order of the plan.
    #[serde(rename = "exchanges")]
    pub venues: Vec<VenueStatus>,
    /// Number of new orders stored durably.
    pub orders: u64,
    /// Number of new bars stored durably.
    pub bars: u64,
    /// Number of new open-interest readings stored durably.
    pub open_interest: u64,
    /// The status of position polling; present if positions are polled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<PositionsStatus>,
    /// Number of rows that the archive had already.
    pub repeated: u64,
    /// Number of rows that wait to be committed.
    pub waiting: u64,
    /// Size of the archive's write-ahead log in bytes. It exceeds 64 MiB only while a stopped reader keeps it from being
    /// emptied.
    pub log_bytes: u64,
    /// Why the archive cannot be written; absent if it can.
    pub trouble: Option<String>,
    /// The status of the files with raw frames.
    pub raw: RawStatus,
    /// Whether the backfill of bars and open interest at the start is complete.
    #[serde(rename = "filled")]
    pub is_filled: bool,
}
