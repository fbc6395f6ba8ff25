//! How a venue is listened to, as a value: which sockets, what is said on them, what proves that they live.

use std::time::Duration;

use rust_decimal::Decimal;

use super::error::Error;
use super::frame::Frame;
use super::instruments::Listing;
use super::listen::{Asked, Beat, Control, Heard, Heartbeat, Line, Numbers};
use crate::model::Millis;

/// Which sockets a venue wants.
#[derive(Debug)]
pub(super) enum Lines {
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
pub(super) struct Listen {
    pub(super) keyed: Keyed,
    pub(super) announced: fn(&Frame<'_>) -> Vec<Announced>,
    pub(super) lines: Lines,
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) greeting: &'static [&'static str],
    pub(super) subscription: fn(usize, &[String], Millis) -> String,
    pub(super) control: fn(&Frame<'_>, &Asked) -> Result<Heard, Error>,
    pub(super) answer: fn(&Frame<'_>) -> Result<Option<String>, Error>,
    pub(super) recalls: fn(&Frame<'_>) -> bool,
    pub(super) heartbeat: Heartbeat,
    /// What is never silent for long on the line of a name.
    pub(super) steady: fn(&str) -> Control,
    /// Whether it is acknowledged for certain.
    pub(super) answers_steady: bool,
    /// How the frames of such a topic begin, which tell nothing else.
    pub(super) steady_frames: &'static [&'static str],
    pub(super) rotation: Option<Duration>,
    pub(super) witnesses: &'static [&'static str],
    /// How many sockets are to listen to the same.
    pub(super) ears: usize,
    /// Least time between two subscriptions of all sockets together, where an allowance is for an address.
    pub(super) between: Duration,
    pub(super) numbers: Option<Numbers>,
}

impl Listen {
    /// No socket at all: the venue is polled.
    pub(super) const NONE: Self = Self {
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
