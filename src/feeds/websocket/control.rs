//! Connection plans, subscriptions and liveness checks of WebSocket feeds, without I/O.

use std::time::Duration;

use crate::feeds::decoding::json_path::{joined, text_of};
use crate::feeds::decoding::raw_json::JsonMember;
use crate::model::Millis;

/// A connection that has to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionPlan {
    /// Name of the connection, unique on the exchange, such as `linear` or `trades 2`.
    pub name: String,
    /// Name of the exchange's [host](crate::feeds::Venue::hosts).
    pub host: &'static str,
    /// The path and query after the host name.
    pub path: String,
    /// HTTP headers of the WebSocket handshake.
    pub headers: &'static [(&'static str, &'static str)],
    /// The topics to subscribe to; each inner list is one subscription message.
    pub batches: Vec<Vec<String>>,
    /// Minimum time between two subscription messages.
    pub between: Duration,
    /// The frequent messages that prove that the connection delivers data.
    pub control: Control,
}

/// The frequent messages by which a connection is checked (control messages).
///
/// A connection that answers pings but lacks these messages is considered broken, because it delivers no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// The exchange has no such messages.
    #[default]
    None,
    /// A heartbeat that the exchange sends when it has sent no other data.
    ByItself,
    /// The frames of this topic, which the client must subscribe to.
    Topic(&'static str),
}

impl ConnectionPlan {
    /// Creates a connection with one subscription message.
    pub(crate) fn new(name: &str, path: &str, topics: &[&str]) -> Self {
        let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
        Self::of(name, path, vec![topics])
    }

    /// Creates a connection with one subscription message per list of `batches`.
    pub(crate) fn of(name: &str, path: &str, batches: Vec<Vec<String>>) -> Self {
        Self {
            name: name.to_owned(),
            host: "socket",
            path: path.to_owned(),
            headers: &[],
            batches,
            between: Duration::ZERO,
            control: Control::None,
        }
    }

    /// Sets the control messages.
    ///
    /// Their topic is subscribed first, unless it is already among the topics.
    pub(crate) fn controlled(mut self, control: Control) -> Self {
        if let Control::Topic(topic) = control
            && !self.batches.iter().flatten().any(|one| one == topic)
        {
            self.batches.insert(0, vec![topic.to_owned()]);
        }
        Self { control, ..self }
    }

    /// Returns the topics without the control topic.
    pub fn topics(&self) -> impl Iterator<Item = &String> {
        let of_control =
            |topic: &String| matches!(self.control, Control::Topic(one) if one == topic);
        let all = self.batches.iter().flatten();
        all.filter(move |topic| !of_control(topic))
    }
}

/// Splits topics into lists of at most `most` topics.
pub(crate) fn batched(topics: impl IntoIterator<Item = String>, most: usize) -> Vec<Vec<String>> {
    let mut batches: Vec<Vec<String>> = Vec::new();
    for topic in topics {
        match batches.last_mut() {
            Some(batch) if batch.len() < most => batch.push(topic),
            _ => batches.push(vec![topic]),
        }
    }
    batches
}

/// Distributes `topics` over connections with at most `most` topics each.
///
/// The connections are numbered from 1. Each topic has a separate subscription message.
pub(crate) fn spread(
    topics: impl IntoIterator<Item = String>,
    most: usize,
    path: &str,
) -> Vec<ConnectionPlan> {
    let sockets = batched(topics, most).into_iter().enumerate();
    sockets
        .map(|(index, topics)| {
            ConnectionPlan::of(&format!("trades {}", index + 1), path, batched(topics, 1))
        })
        .collect()
}

/// The subscription requests sent on a connection, numbered from 1.
#[derive(Clone, Debug, Default)]
pub struct SentSubscriptions {
    requests: Vec<Vec<String>>,
}

impl SentSubscriptions {
    /// Records a request for `topics` and returns its number.
    pub fn number(&mut self, topics: Vec<String>) -> usize {
        self.requests.push(topics);
        self.requests.len()
    }

    /// Returns the topics of request `number`.
    ///
    /// Without a valid number, returns the topics of the only request, or none if there are several.
    pub(crate) fn topics(&self, number: Option<&str>) -> Vec<String> {
        let named = number
            .and_then(|text| text.parse::<usize>().ok())
            .and_then(|number| self.requests.get(number.checked_sub(1)?));
        match (named, self.requests.as_slice()) {
            (Some(topics), _) => topics.clone(),
            (None, [only]) => only.clone(),
            (None, _) => Vec::new(),
        }
    }

    /// Returns the topics of all requests.
    pub(crate) fn all(&self) -> Vec<String> {
        self.requests.concat()
    }

    /// Returns `topics`, or all requested topics if `topics` is empty.
    pub(crate) fn or_all(&self, topics: Vec<String>) -> Vec<String> {
        if topics.is_empty() {
            self.all()
        } else {
            topics
        }
    }
}

/// The kind of a received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Data of a subscribed channel, to be decoded.
    Data,
    /// An acknowledgement of a subscription.
    Ack {
        /// The acknowledged topics.
        topics: Vec<String>,
    },
    /// A refusal of a subscription.
    Refused {
        /// The refused topics; empty if the refusal does not name them.
        topics: Vec<String>,
        /// The exchange's error message.
        message: String,
    },
    /// The reply to a ping of the client.
    Pong,
    /// A ping of the exchange, with the reply that it expects.
    Ping(String),
    /// An announcement that the exchange will close the connection.
    Notice(String),
    /// A frame of the control topic.
    Control,
    /// Any other valid frame without events.
    Other,
}

impl FrameKind {
    /// Creates a refusal of `topics`; the members `said` contain the message.
    pub(crate) fn refused(topics: Vec<String>, said: &[JsonMember<'_>]) -> Self {
        Self::Refused {
            topics,
            message: joined(said),
        }
    }
}

/// A sequence number that the exchange assigned to a message or a trade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceNumber {
    /// Name of the numbered stream, such as a market; empty if the whole connection has one sequence.
    pub stream: String,
    /// The number; it is one more than the previous number of the stream.
    pub number: u64,
    /// Whether the previous number may be absent without a gap.
    ///
    /// It came in a message of another kind, or before the connection was opened.
    pub begins: bool,
    /// Event time of the numbered message or trade, if known.
    pub at: Option<Millis>,
}

impl SequenceNumber {
    /// Creates a number that must follow its predecessor.
    #[must_use]
    pub fn of(stream: String, number: u64) -> Self {
        Self {
            stream,
            number,
            begins: false,
            at: None,
        }
    }

    /// Sets the event time from the value of a member.
    pub(crate) fn at_event_time(self, time: JsonMember<'_>) -> Self {
        let time = text_of(time);
        let at = time.and_then(|text| match text.parse() {
            Ok(millis) => Some(Millis(millis)),
            Err(_) => Millis::read_iso(&text),
        });
        Self { at, ..self }
    }

    /// Parses a sequence number; `None` if the member is not a whole number.
    pub(crate) fn read(stream: &str, number: JsonMember<'_>) -> Option<Self> {
        let number = text_of(number)?.parse().ok()?;
        Some(Self::of(stream.to_owned(), number))
    }
}

/// A kind of message that proves that a connection is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LifeSign {
    /// A reply to a ping of the client.
    Pong,
    /// A ping from the exchange.
    Ping,
    /// A frame of the control topic.
    Control,
}

impl LifeSign {
    /// Returns the name for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pong => "pong",
            Self::Ping => "ping",
            Self::Control => "control stream",
        }
    }
}

/// The kind of ping that the client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PingMessage {
    /// A WebSocket protocol ping.
    Protocol,
    /// A text message.
    Text(&'static str),
    /// A text message: a prefix, the current time in whole seconds, and a suffix.
    Stamped(&'static str, &'static str),
}

/// Requires a pong within two of the usual ping intervals of 20 seconds.
const PONG: (LifeSign, Duration) = (LifeSign::Pong, Duration::from_secs(40));
/// Requires pongs, and control frames at least every 15 seconds.
pub(crate) const STEADY: &[(LifeSign, Duration)] =
    &[PONG, (LifeSign::Control, Duration::from_secs(15))];
/// Requires pongs, and control frames at least every 30 seconds.
pub(crate) const CALM: &[(LifeSign, Duration)] =
    &[PONG, (LifeSign::Control, Duration::from_secs(30))];
/// Requires pongs, and control frames at least every 40 seconds; the exchange sends one every 15 seconds.
pub(crate) const QUARTERLY: &[(LifeSign, Duration)] =
    &[PONG, (LifeSign::Control, Duration::from_secs(40))];

/// How often a connection is pinged, and which messages it must receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The kind of ping.
    pub beat: PingMessage,
    /// Interval between pings.
    pub every: Duration,
    /// The required kinds of messages, each with the maximum interval between two of them.
    pub signs: &'static [(LifeSign, Duration)],
}

impl Heartbeat {
    /// Returns the maximum interval between messages of a kind; `None` if the kind is not required.
    #[must_use]
    pub fn within(&self, sign: LifeSign) -> Option<Duration> {
        let mut signs = self.signs.iter();
        signs
            .find(|(one, _)| *one == sign)
            .map(|(_, within)| *within)
    }

    /// Sends pings every 20 seconds and requires a pong within two intervals.
    pub(crate) const fn each_20_seconds(beat: PingMessage) -> Self {
        Self {
            beat,
            every: Duration::from_secs(20),
            signs: &[PONG],
        }
    }
}
