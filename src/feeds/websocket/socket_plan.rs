//! How an exchange's feed is subscribed: connections, messages and heartbeats.

use std::time::Duration;

use rust_decimal::Decimal;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::error::Error;
use crate::feeds::instruments::Listing;
use crate::feeds::websocket::control::{
    ConnectionPlan, Control, FrameKind, Heartbeat, PingMessage, SentSubscriptions, SequenceRule,
};
use crate::model::Millis;

/// The connections of an exchange.
#[derive(Debug)]
pub(crate) enum ConnectionPlans {
    /// Fixed: name, path and topics of each.
    Fixed(&'static [(&'static str, &'static str, &'static [&'static str])]),
    /// Depending on the markets.
    ByMarket(fn(&[Listing]) -> Vec<ConnectionPlan>),
}

/// How the keys of decoded events become the keys of stored rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAmbiguity {
    /// Unchanged: an event has the same key on a socket and in a REST body.
    Whole,
    /// A socket has milliseconds, a REST body has whole seconds and the fill. Both share the first fields; equal rows of
    /// a second are numbered.
    BySecond,
    /// A REST body has an id that a socket lacks. Both share the first fields; equal rows of a frame are numbered.
    ById,
    /// Unchanged, but the matches of a position may exceed its announced amount.
    ByAmount,
}

impl KeyAmbiguity {
    /// The fields of a decoded key that sockets and REST bodies share.
    #[must_use]
    pub fn shared(self, key: &str) -> &str {
        let fields = match self {
            Self::Whole | Self::ByAmount => return key,
            // Exchange, contract, second, size, price.
            Self::BySecond => 5,
            // Exchange, contract, direction, time, size, price.
            Self::ById => 6,
        };
        first_fields(key, fields)
    }
}

/// The first fields of a key.
pub(crate) fn first_fields(key: &str, fields: usize) -> &str {
    let end = key.match_indices('|').nth(fields.saturating_sub(1));
    end.map_or(key, |(end, _)| key.get(..end).unwrap_or(key))
}

/// A position that is announced as liquidated; later matches belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionAnnouncement {
    /// Prefix of its events' keys.
    pub key: String,
    /// Time of the announcement.
    pub at: Millis,
    /// Amount of the position.
    pub amount: Decimal,
}

/// How an exchange's feed is subscribed.
#[derive(Debug)]
pub(crate) struct SocketPlan {
    pub(crate) keyed: KeyAmbiguity,
    pub(crate) announced: fn(&Frame<'_>) -> Vec<PositionAnnouncement>,
    pub(crate) lines: ConnectionPlans,
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) greeting: &'static [&'static str],
    pub(crate) subscription: fn(usize, &[String], Millis) -> String,
    pub(crate) control: fn(&Frame<'_>, &SentSubscriptions) -> Result<FrameKind, Error>,
    pub(crate) answer: fn(&Frame<'_>) -> Result<Option<String>, Error>,
    pub(crate) recalls: fn(&Frame<'_>) -> bool,
    pub(crate) heartbeat: Heartbeat,
    /// The steady traffic of a connection, by its name.
    pub(crate) steady: fn(&str) -> Control,
    /// Whether the control topic is always acknowledged.
    pub(crate) answers_steady: bool,
    /// Prefixes of control frames, which have nothing else.
    pub(crate) steady_frames: &'static [&'static str],
    pub(crate) rotation: Option<Duration>,
    pub(crate) witnesses: &'static [&'static str],
    /// Number of redundant connections.
    pub(crate) redundant_connections: usize,
    /// Least time between two subscriptions over all connections, if a limit is per IP address.
    pub(crate) between: Duration,
    pub(crate) numbers: Option<SequenceRule>,
}

impl SocketPlan {
    /// No sockets: the exchange is polled.
    pub(crate) const NONE: Self = Self {
        keyed: KeyAmbiguity::Whole,
        announced: |_| Vec::new(),
        lines: ConnectionPlans::Fixed(&[]),
        headers: &[],
        greeting: &[],
        subscription: |_, _, _| String::new(),
        control: |_, _| Ok(FrameKind::Other),
        answer: |_| Ok(None),
        recalls: |_| false,
        heartbeat: Heartbeat::each_20_seconds(PingMessage::Protocol),
        steady: |_| Control::None,
        answers_steady: true,
        steady_frames: &[],
        rotation: None,
        witnesses: &[],
        redundant_connections: 1,
        between: Duration::ZERO,
        numbers: None,
    };
}
