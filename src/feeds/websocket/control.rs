//! Connection plans, subscriptions and heartbeats, without I/O.

use std::time::Duration;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::decoding::json_path::{joined, text_of};
use crate::feeds::decoding::raw_json::JsonMember;
use crate::model::Millis;

/// One connection to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionPlan {
    /// The name among the exchange's connections, such as `linear` or `trades 2`.
    pub name: String,
    /// The exchange's [host](crate::feeds::Venue::hosts) by name.
    pub host: &'static str,
    /// The path after the host, with query.
    pub path: String,
    /// Headers of the handshake.
    pub headers: &'static [(&'static str, &'static str)],
    /// The topics to subscribe to, one message per list.
    pub batches: Vec<Vec<String>>,
    /// Least time between two subscription messages.
    pub between: Duration,
    /// The traffic that proves that the connection is not mute.
    pub control: Control,
}

/// The steady traffic of a connection. A connection that answers pings but lacks this traffic is mute: it delivers no
/// data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// None is known.
    #[default]
    None,
    /// A heartbeat that the exchange sends if nothing else was sent.
    ByItself,
    /// The frames of this topic, once subscribed.
    Topic(&'static str),
}

impl ConnectionPlan {
    /// A connection with one subscription message.
    pub(crate) fn new(name: &str, path: &str, topics: &[&str]) -> Self {
        let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
        Self::of(name, path, vec![topics])
    }

    /// A connection with one subscription message per list of `batches`.
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

    /// Sets the steady traffic. Its topic is subscribed first unless it is among the topics.
    pub(crate) fn controlled(mut self, control: Control) -> Self {
        if let Control::Topic(topic) = control
            && !self.batches.iter().flatten().any(|one| one == topic)
        {
            self.batches.insert(0, vec![topic.to_owned()]);
        }
        Self { control, ..self }
    }

    /// The topics without the control topic.
    pub fn topics(&self) -> impl Iterator<Item = &String> {
        let of_control =
            |topic: &String| matches!(self.control, Control::Topic(one) if one == topic);
        let all = self.batches.iter().flatten();
        all.filter(move |topic| !of_control(topic))
    }
}

/// Splits topics into lists of at most `most`.
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

/// Splits `topics` into connections, numbered from 1, of at most `most` topics with one message each.
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

/// The subscriptions sent on a connection, numbered from 1.
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

    /// The topics of request `number`; without a number those of the only request.
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

    /// All requested topics.
    pub(crate) fn all(&self) -> Vec<String> {
        self.requests.concat()
    }

    /// The given topics, or all requested ones if there are none.
    pub(crate) fn or_all(&self, topics: Vec<String>) -> Vec<String> {
        if topics.is_empty() {
            self.all()
        } else {
            topics
        }
    }
}

/// The kind of a frame.
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
        /// The refused topics; empty if unknown.
        topics: Vec<String>,
        /// The exchange's message.
        message: String,
    },
    /// The reply to our ping.
    Pong,
    /// A ping with the expected reply.
    Ping(String),
    /// An announcement that the exchange will close the connection.
    Notice(String),
    /// A frame of the control topic.
    Control,
    /// Any other valid frame.
    Other,
}

impl FrameKind {
    /// A refusal of `topics` with the message in these members.
    pub(crate) fn refused(topics: Vec<String>, said: &[JsonMember<'_>]) -> Self {
        Self::Refused {
            topics,
            message: joined(said),
        }
    }
}

/// A sequence number of the exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceNumber {
    /// The numbered stream, such as the trades of a market; empty for the whole connection.
    pub stream: String,
    /// The number, one more than its predecessor.
    pub number: u64,
    /// Whether a missing predecessor is no gap, because it came in another message or before the connection.
    pub begins: bool,
    /// Event time of the numbered message, if known.
    pub at: Option<Millis>,
}

impl SequenceNumber {
    /// A number that continues its stream.
    #[must_use]
    pub fn of(stream: String, number: u64) -> Self {
        Self {
            stream,
            number,
            begins: false,
            at: None,
        }
    }

    /// Sets the event time from a member.
    pub(crate) fn at_event_time(self, time: JsonMember<'_>) -> Self {
        let time = text_of(time);
        let at = time.and_then(|text| match text.parse() {
            Ok(millis) => Some(Millis(millis)),
            Err(_) => Millis::read_iso(&text),
        });
        Self { at, ..self }
    }

    /// Parses a sequence number; `None` if it is not a number.
    pub(crate) fn read(stream: &str, number: JsonMember<'_>) -> Option<Self> {
        let number = text_of(number)?.parse().ok()?;
        Some(Self::of(stream.to_owned(), number))
    }
}

/// How an exchange numbers its messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceRule {
    /// The sequence numbers of a frame; empty if it is unreadable.
    pub(crate) read: fn(&Frame<'_>) -> Vec<SequenceNumber>,
    /// How late a number may arrive after later ones.
    pub(crate) late: Duration,
}

/// A sign of life from the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LifeSign {
    /// A reply to our ping.
    Pong,
    /// A ping from the exchange.
    Ping,
    /// A frame of the control topic.
    Control,
}

impl LifeSign {
    /// The name for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pong => "pong",
            Self::Ping => "ping",
            Self::Control => "control stream",
        }
    }
}

/// The ping that we send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PingMessage {
    /// A WebSocket protocol ping.
    Protocol,
    /// A text message.
    Text(&'static str),
    /// A text message: a prefix, the current time in whole seconds, and a suffix.
    Stamped(&'static str, &'static str),
}

/// Requires a pong within two of our usual ping intervals.
const PONG: (LifeSign, Duration) = (LifeSign::Pong, Duration::from_secs(40));
/// Requires a pong, and a control frame every few seconds.
pub(crate) const STEADY: &[(LifeSign, Duration)] =
    &[PONG, (LifeSign::Control, Duration::from_secs(15))];
/// Requires a pong, and a control frame that may pause for a while.
pub(crate) const CALM: &[(LifeSign, Duration)] =
    &[PONG, (LifeSign::Control, Duration::from_secs(30))];
/// Requires a pong, and a control frame that the exchange sends every 15 seconds.
pub(crate) const QUARTERLY: &[(LifeSign, Duration)] =
    &[PONG, (LifeSign::Control, Duration::from_secs(40))];

/// The heartbeat rules of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The ping.
    pub beat: PingMessage,
    /// The ping interval.
    pub every: Duration,
    /// The required signs of life with their longest intervals.
    pub signs: &'static [(LifeSign, Duration)],
}

impl Heartbeat {
    /// Longest interval of a sign of life; `None` if it is not required.
    #[must_use]
    pub fn within(&self, sign: LifeSign) -> Option<Duration> {
        let mut signs = self.signs.iter();
        signs
            .find(|(one, _)| *one == sign)
            .map(|(_, within)| *within)
    }

    /// Pings with `beat` every 20 seconds and expects a pong within two intervals.
    pub(crate) const fn each_20_seconds(beat: PingMessage) -> Self {
        Self {
            beat,
            every: Duration::from_secs(20),
            signs: &[PONG],
        }
    }
}
