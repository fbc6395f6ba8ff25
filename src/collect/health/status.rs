//! The status of a collector, as a user reads it.

use serde::Serialize;

use crate::archive::RawStatus;
use crate::model::{Completeness, Evidence, Millis};

/// The state of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VenueState {
    /// Its markets are being read, or its connections opened for the first time.
    #[default]
    Starting,
    /// All feeds are received and all subscriptions answered; or the last poll was answered. Of two redundant
    /// connections one is enough.
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
    /// When anything was last received.
    pub last_heard: Option<Millis>,
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
    pub held: u64,
    /// Events dropped because their contract size stayed unknown.
    pub unpriced: u64,
    /// Stored events that look wrong: far off the market price, or too large for the open interest.
    pub suspect: u64,
    /// Events that are set aside and not kept, because their unit must be another: too far off the market's price, or worth
    /// more than all that is open.
    pub quarantined: u64,
    /// Events that are kept though nothing measured them: no bars, no other venues, no price of the venue's own.
    pub unjudged: u64,
    /// Holes in the venue's own numbers: something was not heard.
    pub holes: u64,
    /// Numbers of the venue's own that were held against the one before.
    pub numbered: u64,
    /// Share of the last 24 hours in which it was listened to and nothing is known to be missing, as the archive has it.
    pub connected_share: Option<f64>,
    /// How much of what happens it tells.
    pub completeness: Option<Completeness>,
    /// How that is known.
    pub known_by: Option<Evidence>,
    /// Orders of the last 24 hours that became known by asking again for what had been missed.
    pub recovered: Option<u64>,
    /// Events that were lost because the archive could not take them.
    pub lost: u64,
    /// As of when its markets are known, where it refuses a list of them since the start and they are those that a process
    /// before had read.
    pub markets_as_of: Option<Millis>,
    /// How many topics are asked for.
    pub topics: u64,
    /// Topics whose subscription was not acknowledged or was refused, the first few by name.
    pub uncovered: Vec<String>,
    /// How many these are.
    pub uncovered_count: u64,
    /// Bars received.
    pub bars: u64,
    /// Readings of open interest received.
    pub open_interest: u64,
    /// Requests of back-fills that were answered …
    pub asked: u64,
    /// … of so many.
    pub to_ask: u64,
    /// The last trouble, in words: its kind, a colon, and the rest.
    pub trouble: Option<String>,
    /// How many troubles there were.
    pub troubles: u64,
}

/// How the looking at positions goes. Counts are since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PositionsStatus {
    /// Whether trades are heard of all coins asked for.
    pub live: bool,
    /// How many accounts the last round was to look at.
    pub accounts: u64,
    /// How many of them could not be looked at.
    pub missing: u64,
    /// How many positions the last snapshot has.
    pub positions: u64,
    /// How many snapshots there were.
    pub snapshots: u64,
    /// When the last was complete.
    pub last_snapshot: Option<Millis>,
    /// How often the venue refused a question.
    pub refused: u64,
    /// The last trouble, in words.
    pub trouble: Option<String>,
}

/// The collecting at an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// The instant.
    pub at: Millis,
    /// When the collecting began.
    pub since: Millis,
    /// The venues, in the order asked for.
    pub venues: Vec<VenueStatus>,
    /// Orders that the archive has acknowledged and did not have before.
    pub orders: u64,
    /// The same of bars.
    pub bars: u64,
    /// The same of readings of open interest.
    pub open_interest: u64,
    /// How positions are looked at, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<PositionsStatus>,
    /// Rows that the archive had already.
    pub repeated: u64,
    /// Rows that wait to be committed.
    pub waiting: u64,
    /// Why nothing can be written, where nothing can.
    pub trouble: Option<String>,
    /// How the keeping of frames goes.
    pub raw: RawStatus,
    /// Whether the back-fills of the start are over.
    #[serde(rename = "filled")]
    pub is_filled: bool,
}
