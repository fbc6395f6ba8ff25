//! What listening to a venue takes, without any input or output: sockets, subscriptions, signs of life.

use std::time::Duration;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::decoding::json_path::{joined, text_of};
use crate::feeds::decoding::raw_json::Cell;
use crate::model::Millis;

/// One socket to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What tells it from the venue's other sockets, such as `linear` or `trades 2`.
    pub name: String,
    /// Which of the venue's [hosts](crate::feeds::Venue::hosts) it goes to.
    pub host: &'static str,
    /// The path behind the host, with its query.
    pub path: String,
    /// Headers that the venue wants with the handshake.
    pub headers: &'static [(&'static str, &'static str)],
    /// The topics to subscribe to; each list goes in one message.
    pub batches: Vec<Vec<String>>,
    /// Least time between two messages of subscription.
    pub between: Duration,
    /// What is never silent for long on it, beside what it is for.
    pub control: Control,
}

/// What is never silent for long on a socket, beside what it is for: who answers pings and leaves that out is mute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// Nothing is known to be.
    #[default]
    None,
    /// What comes by itself where nothing else has for a while.
    ByItself,
    /// What this topic tells, from when it is subscribed to on.
    Topic(&'static str),
}

impl Line {
    /// A socket with one message of subscription.
    pub(crate) fn new(name: &str, path: &str, topics: &[&str]) -> Self {
        let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
        Self::of(name, path, vec![topics])
    }

    /// A socket with a message of subscription for each of `batches`.
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

    /// The same with what is never silent on it, which is asked for before all else where it is not among the topics.
    pub(crate) fn controlled(mut self, control: Control) -> Self {
        if let Control::Topic(topic) = control
            && !self.batches.iter().flatten().any(|one| one == topic)
        {
            self.batches.insert(0, vec![topic.to_owned()]);
        }
        Self { control, ..self }
    }

    /// The topics that it is for.
    pub fn topics(&self) -> impl Iterator<Item = &String> {
        let of_control =
            |topic: &String| matches!(self.control, Control::Topic(one) if one == topic);
        let all = self.batches.iter().flatten();
        all.filter(move |topic| !of_control(topic))
    }
}

/// Topics in lists of at most `most`.
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

/// Sockets for `topics`, numbered from 1: at most `most` topics on each, each in a message of its own.
pub(crate) fn spread(
    topics: impl IntoIterator<Item = String>,
    most: usize,
    path: &str,
) -> Vec<Line> {
    let sockets = batched(topics, most).into_iter().enumerate();
    sockets
        .map(|(index, topics)| Line::of(&format!("trades {}", index + 1), path, batched(topics, 1)))
        .collect()
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

    /// Every topic asked for.
    pub(crate) fn all(&self) -> Vec<String> {
        self.requests.concat()
    }

    /// What a venue names, or every topic where it names none.
    pub(crate) fn or_all(&self, topics: Vec<String>) -> Vec<String> {
        if topics.is_empty() {
            self.all()
        } else {
            topics
        }
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

impl Heard {
    /// A refusal of `topics`, in the words of these members.
    pub(crate) fn refused(topics: Vec<String>, said: &[Cell<'_>]) -> Self {
        Self::Refused {
            topics,
            message: joined(said),
        }
    }
}

/// A number of the venue's own on what it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// What is counted by itself, such as the trades of a market; empty where that is everything on the connection.
    pub stream: String,
    /// The number, one more than that of what came before.
    pub number: u64,
    /// Whether what lies between the one before and this is told by other means, or was before anybody listened.
    pub begins: bool,
    /// When what it stands on happened, where that is told.
    pub at: Option<Millis>,
}

impl Numbered {
    /// A number that continues those before it.
    #[must_use]
    pub fn of(stream: String, number: u64) -> Self {
        Self {
            stream,
            number,
            begins: false,
            at: None,
        }
    }

    /// The same, of what happened at an instant as a venue writes it.
    pub(crate) fn told_at(self, time: Cell<'_>) -> Self {
        let time = text_of(time);
        let at = time.and_then(|text| match text.parse() {
            Ok(millis) => Some(Millis(millis)),
            Err(_) => Millis::read_iso(&text),
        });
        Self { at, ..self }
    }

    /// The same of what a venue sends; `None` of what is no number.
    pub(crate) fn read(stream: &str, number: Cell<'_>) -> Option<Self> {
        let number = text_of(number)?.parse().ok()?;
        Some(Self::of(stream.to_owned(), number))
    }
}

/// How a venue numbers what it tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// The numbers of a frame; none where it cannot be read.
    pub(crate) read: fn(&Frame<'_>) -> Vec<Numbered>,
    /// How much later than those behind it one may come.
    pub(crate) late: Duration,
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
const PONG: (Sign, Duration) = (Sign::Pong, Duration::from_secs(40));
/// That, and a word of what tells each few seconds.
pub(crate) const STEADY: &[(Sign, Duration)] = &[PONG, (Sign::Control, Duration::from_secs(15))];
/// That, and a word of what may be calm for a while.
pub(crate) const CALM: &[(Sign, Duration)] = &[PONG, (Sign::Control, Duration::from_secs(30))];
/// That, and a word of what tells each quarter of a minute.
pub(crate) const QUARTERLY: &[(Sign, Duration)] = &[PONG, (Sign::Control, Duration::from_secs(40))];

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
    /// How far apart signs of a kind may be at most; `None` where none is owed.
    #[must_use]
    pub fn within(&self, sign: Sign) -> Option<Duration> {
        let mut signs = self.signs.iter();
        signs
            .find(|(one, _)| *one == sign)
            .map(|(_, within)| *within)
    }

    /// `beat` each 20 seconds, and an answer within two of these.
    pub(crate) const fn each_20_seconds(beat: Beat) -> Self {
        Self {
            beat,
            every: Duration::from_secs(20),
            signs: &[PONG],
        }
    }
}
