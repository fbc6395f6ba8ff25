//! How a venue is listened to, as a value: which sockets, what is said on them, what proves that they live.

use std::time::Duration;

use rust_decimal::Decimal;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::error::Error;
use crate::feeds::instruments::Listing;
use crate::feeds::websocket::control::{Asked, Beat, Control, Heard, Heartbeat, Line, Numbers};
use crate::model::Millis;

/// Which sockets a venue wants.
#[derive(Debug)]
pub(crate) enum Lines {
    /// Always these: name, path and topics of each.
    Fixed(&'static [(&'static str, &'static str, &'static [&'static str])]),
    /// As the markets are.
    ByMarket(fn(&[Listing]) -> Vec<Line>),
}

/// What the keys of a venue's events do not tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyed {
    /// Nothing that it tells.
    Whole,
    /// Equal rows of a second that come over a socket, for its bodies count in seconds.
    BySecond,
    /// Matches of a position that differ in amount or price alone.
    ByAmount,
}

/// A position whose liquidation is announced; what is matched of it belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// How the keys of its events begin.
    pub key: String,
    /// When it is announced.
    pub at: Millis,
    /// How much there is of it.
    pub amount: Decimal,
}

/// How a venue is listened to.
#[derive(Debug)]
pub(crate) struct Listen {
    pub(crate) keyed: Keyed,
    pub(crate) announced: fn(&Frame<'_>) -> Vec<Announced>,
    pub(crate) lines: Lines,
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) greeting: &'static [&'static str],
    pub(crate) subscription: fn(usize, &[String], Millis) -> String,
    pub(crate) control: fn(&Frame<'_>, &Asked) -> Result<Heard, Error>,
    pub(crate) answer: fn(&Frame<'_>) -> Result<Option<String>, Error>,
    pub(crate) recalls: fn(&Frame<'_>) -> bool,
    pub(crate) heartbeat: Heartbeat,
    /// What is never silent for long on the line of a name.
    pub(crate) steady: fn(&str) -> Control,
    /// Whether it is acknowledged for certain.
    pub(crate) answers_steady: bool,
    /// How the frames of such a topic begin, which tell nothing else.
    pub(crate) steady_frames: &'static [&'static str],
    pub(crate) rotation: Option<Duration>,
    pub(crate) witnesses: &'static [&'static str],
    /// How many sockets are to listen to the same.
    pub(crate) ears: usize,
    /// Least time between two subscriptions of all sockets together, where an allowance is for an address.
    pub(crate) between: Duration,
    pub(crate) numbers: Option<Numbers>,
}

impl Listen {
    /// No socket at all: the venue is polled.
    pub(crate) const NONE: Self = Self {
        keyed: Keyed::Whole,
        announced: |_| Vec::new(),
        lines: Lines::Fixed(&[]),
        headers: &[],
        greeting: &[],
        subscription: |_, _, _| String::new(),
        control: |_, _| Ok(Heard::Other),
        answer: |_| Ok(None),
        recalls: |_| false,
        heartbeat: Heartbeat::each_20_seconds(Beat::Protocol),
        steady: |_| Control::None,
        answers_steady: true,
        steady_frames: &[],
        rotation: None,
        witnesses: &[],
        ears: 1,
        between: Duration::ZERO,
        numbers: None,
    };
}
