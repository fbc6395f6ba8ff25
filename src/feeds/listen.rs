//! What listening to a venue takes, without any input or output: sockets, subscriptions, signs of life.

use std::time::Duration;

use rust_decimal::Decimal;

use super::{Instrument, Instruments, Kind};
use crate::model::coin_of_base;

/// One socket to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What tells it from the venue's other sockets, such as `linear` or `trades 2`.
    pub name: String,
    /// Which of the venue's [hosts](super::Venue::hosts) it goes to.
    pub host: &'static str,
    /// The path behind the host, with its query.
    pub path: String,
    /// Headers that the venue wants with the handshake.
    pub headers: &'static [(&'static str, &'static str)],
    /// The topics to subscribe to; each list goes in one message.
    pub batches: Vec<Vec<String>>,
    /// Least time between two messages of subscription.
    pub between: Duration,
}

impl Line {
    /// A socket with one message of subscription.
    pub(super) fn new(name: &str, path: &str, topics: &[&str]) -> Self {
        let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
        Self::of(name, path, vec![topics])
    }

    /// A socket with a message of subscription for each of `batches`.
    pub(super) fn of(name: &str, path: &str, batches: Vec<Vec<String>>) -> Self {
        Self {
            name: name.to_owned(),
            host: "socket",
            path: path.to_owned(),
            headers: &[],
            batches,
            between: Duration::ZERO,
        }
    }
}

/// Topics in lists of at most `most`.
pub(super) fn batched(topics: impl IntoIterator<Item = String>, most: usize) -> Vec<Vec<String>> {
    let mut batches: Vec<Vec<String>> = Vec::new();
    for topic in topics {
        match batches.last_mut() {
            Some(batch) if batch.len() < most => batch.push(topic),
            _ => batches.push(vec![topic]),
        }
    }
    batches
}

/// What has been subscribed to on a socket: requests are numbered from 1 in the order they were sent.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    requests: Vec<Vec<String>>,
}

impl Asked {
    /// The number of the next request, which asks for `topics`.
    pub fn number(&mut self, topics: Vec<String>) -> usize {
        self.requests.push(topics);
        self.requests.len()
    }

    /// The topics of the request with that number, as a venue repeats it; of the only one where it repeats none.
    pub(super) fn topics(&self, number: Option<&str>) -> Vec<String> {
        let named = number
            .and_then(|text| text.parse::<usize>().ok())
            .and_then(|number| self.requests.get(number.checked_sub(1)?));
        match (named, self.requests.as_slice()) {
            (Some(topics), _) => topics.clone(),
            (None, [only]) => only.clone(),
            (None, _) => Vec::new(),
        }
    }

    /// Every topic asked for.
    pub(super) fn all(&self) -> Vec<String> {
        self.requests.concat()
    }
}

/// What a frame is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A frame of a channel that was subscribed to; its events are read apart.
    Data,
    /// The venue took a subscription.
    Ack {
        /// What it took.
        topics: Vec<String>,
    },
    /// The venue refused a subscription.
    Refused {
        /// What it refused; empty where it does not say.
        topics: Vec<String>,
        /// Its words.
        message: String,
    },
    /// The answer to our ping.
    Pong,
    /// A ping that wants this answer.
    Ping(String),
    /// The venue announces that it will close the connection.
    Notice(String),
    /// A sign of the control stream.
    Control,
    /// Something else that the venue sends and that tells nothing here.
    Other,
}

/// A sign that the other end lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sign {
    /// An answer to our ping.
    Pong,
    /// A ping of theirs.
    Ping,
    /// A frame of the control stream.
    Control,
}

impl Sign {
    /// As a sentence says it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pong => "pong",
            Self::Ping => "ping",
            Self::Control => "control stream",
        }
    }
}

/// What we say to hear whether the other end lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// A ping of the WebSocket protocol.
    Protocol,
    /// A text of the venue's own.
    Text(&'static str),
    /// A text around the time in whole seconds.
    Stamped(&'static str, &'static str),
}

/// An answer within two of our usual pings.
const PONG: &[(Sign, Duration)] = &[(Sign::Pong, Duration::from_secs(40))];

/// How the life of a connection is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// What we say.
    pub beat: Beat,
    /// How often.
    pub every: Duration,
    /// Which signs have to come, and how far apart at most.
    pub signs: &'static [(Sign, Duration)],
}

impl Heartbeat {
    /// `beat` each 20 seconds, and an answer within two of these.
    pub(super) const fn each_20_seconds(beat: Beat) -> Self {
        Self {
            beat,
            every: Duration::from_secs(20),
            signs: PONG,
        }
    }
}

/// A market as the venue lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The venue's own name of the contract.
    pub native_id: String,
    /// What a contract holds.
    pub instrument: Instrument,
    /// Whether it never expires.
    pub perpetual: bool,
    /// Whether it is being traded.
    pub trading: bool,
}

impl Listing {
    /// The unscaled coin, and how many of it one listed unit of the base is.
    #[must_use]
    pub fn coin(&self) -> (String, u32) {
        coin_of_base(&self.instrument.base.to_uppercase())
    }

    /// Whether this is the market whose bars and open interest stand for its coin: linear, in USDT, without an end.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.perpetual
            && self.trading
            && self.instrument.kind == Kind::Linear
            && self.instrument.quote == "USDT"
    }
}

/// The instruments of listings, by native id.
pub(crate) fn instruments(listings: &[Listing]) -> Instruments {
    listings
        .iter()
        .map(|listing| (listing.native_id.clone(), listing.instrument.clone()))
        .collect()
}

/// `value` of listed units in single units of the coin.
pub(crate) fn unscaled(value: Decimal, scale: u32) -> Option<Decimal> {
    super::event::product(value, Decimal::from(scale))
}

/// `price` of a listed unit as the price of a single unit of the coin; scales are powers of ten, so it is exact.
pub(crate) fn price_of_one(price: Decimal, scale: u32) -> Option<Decimal> {
    let price = price.normalize();
    let zeros = scale.checked_ilog10()?;
    Decimal::try_from_i128_with_scale(price.mantissa(), price.scale() + zeros)
        .ok()
        .map(|exact| exact.normalize())
}
