//! How a client subscribes to an exchange's feed.

use std::time::Duration;

use rust_decimal::Decimal;

use crate::feeds::instruments::Listing;
use crate::feeds::websocket::control::{ConnectionPlan, Control, Heartbeat, PingMessage};
use crate::model::Millis;

/// The connections that a client opens.
#[derive(Debug)]
pub(crate) enum ConnectionPlans {
    /// The same connections for all markets; each has a name, a path and topics.
    Fixed(&'static [(&'static str, &'static str, &'static [&'static str])]),
    /// Connections that depend on the market list.
    ByMarket(fn(&[Listing]) -> Vec<ConnectionPlan>),
}

/// How the keys of decoded events become the keys of stored rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAmbiguity {
    /// The key is stored unchanged; an event has the same key on a socket and in a REST body.
    Whole,
    /// Socket and REST keys share only the fields up to second, size and price.
    ///
    /// After these fields, a socket key has milliseconds and a REST key has the fill. Equal rows of one second are
    /// numbered.
    BySecond,
    /// Socket and REST keys have the same first fields; only a REST key has an id after them.
    ///
    /// Equal rows of one frame are numbered.
    ById,
    /// The key is stored unchanged.
    ///
    /// The fills of a position may add up to more than its announced amount.
    ByAmount,
}

impl KeyAmbiguity {
    /// Returns the part of a key that is the same on a socket and in a REST body.
    #[must_use]
    pub fn shared(self, key: &str) -> &str {
        let fields = match self {
            Self::Whole | Self::ByAmount => return key,
            // The fields are exchange, contract, second, size and price.
            Self::BySecond => 5,
            // The fields are exchange, contract, direction, time, size and price.
            Self::ById => 6,
        };
        first_fields(key, fields)
    }
}

/// Returns the first `fields` fields of a key.
pub(crate) fn first_fields(key: &str, fields: usize) -> &str {
    let end = key.match_indices('|').nth(fields.saturating_sub(1));
    end.map_or(key, |(end, _)| key.get(..end).unwrap_or(key))
}

/// A position that the exchange announces as liquidated; later events belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionAnnouncement {
    /// Prefix that the keys of its events have.
    pub key: String,
    /// Time of the announcement.
    pub at: Millis,
    /// Size of the position.
    pub amount: Decimal,
}

/// How a client subscribes to an exchange's feed.
#[derive(Debug)]
pub(crate) struct SocketPlan {
    pub(crate) keyed: KeyAmbiguity,
    pub(crate) lines: ConnectionPlans,
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) greeting: &'static [&'static str],
    pub(crate) subscription: fn(usize, &[String], Millis) -> String,
    pub(crate) heartbeat: Heartbeat,
    /// Returns the control messages of the connection with a given name.
    pub(crate) steady: fn(&str) -> Control,
    /// Whether the exchange acknowledges every valid control topic.
    pub(crate) answers_steady: bool,
    /// Prefixes of the frames of the control stream: the frequent messages that prove that a connection delivers data. No
    /// other frame begins with one of them.
    pub(crate) steady_frames: &'static [&'static str],
    pub(crate) rotation: Option<Duration>,
    pub(crate) witnesses: &'static [&'static str],
    /// Number of redundant connections.
    pub(crate) redundant_connections: usize,
    /// Minimum time between two subscriptions over all connections, for a limit per IP address.
    pub(crate) between: Duration,
    /// How long a missing sequence number may still arrive before it counts as missed.
    ///
    /// `None` if messages have no sequence numbers.
    pub(crate) numbers_late: Option<Duration>,
}

impl SocketPlan {
    /// A plan without sockets, for an exchange that is polled.
    pub(crate) const NONE: Self = Self {
        keyed: KeyAmbiguity::Whole,
        lines: ConnectionPlans::Fixed(&[]),
        headers: &[],
        greeting: &[],
        subscription: |_, _, _| String::new(),
        heartbeat: Heartbeat::each_20_seconds(PingMessage::Protocol),
        steady: |_| Control::None,
        answers_steady: true,
        steady_frames: &[],
        rotation: None,
        witnesses: &[],
        redundant_connections: 1,
        between: Duration::ZERO,
        numbers_late: None,
    };
}
