//! What sets one venue apart.

use std::fmt::Debug;

use tokio_tungstenite::tungstenite::Bytes;

use super::book::Book;
use super::market::Market;
use super::quota::Quota;
use super::rest::{Answer, Ask};
use super::session::Session;
use super::truth::Truth;
use super::wire;

/// A venue's way to speak.
pub trait Dialect: Debug + Send + Sync {
    fn venue(&self) -> &'static str;

    fn markets(&self) -> &'static [Market];

    /// A WebSocket is opened on the session's path; an error is the status of a refusal.
    fn open(&self, session: &mut Session, book: &Book) -> Result<(), u16>;

    /// A client's message.
    fn hear(&self, session: &mut Session, text: &str, book: &Book);

    /// How many messages of this kind an address may send over all sockets, where the venue bounds that.
    fn messages(&self, _text: &str) -> Option<Quota> {
        None
    }

    /// One of the venue's seconds has passed, the first since the socket was opened is number 1.
    fn beat(&self, _session: &mut Session, _beat: u64, _muted: bool, _book: &Book) {}

    /// Seconds without a word of the client after which the venue hangs up.
    fn patience(&self) -> Option<u64> {
        None
    }

    /// The topics that carry a market's liquidations. What shares the first may share a frame.
    fn topics(&self, market: &Market) -> Vec<String>;

    /// Most events of one frame.
    fn most(&self) -> usize {
        1
    }

    /// The messages that tell of these events on a topic.
    fn render(&self, topic: &str, truths: &[Truth], book: &Book) -> Vec<String>;

    /// Frames as they go over one socket, where the venue counts what it sends there.
    fn stamp(&self, _session: &mut Session, rendered: &Bytes) -> Bytes {
        rendered.clone()
    }

    /// The name of the sequence in which the venue numbers a market's messages. It is empty where the venue numbers a
    /// whole socket.
    fn stream(&self, _market: &Market) -> Option<&'static str> {
        None
    }

    /// An event as the REST back-fill reports it.
    fn reported_by_rest(&self, truth: &Truth) -> Truth {
        truth.clone()
    }

    /// A message as a frame.
    fn wrap(&self, text: &str) -> Bytes {
        wire::text(text)
    }

    /// What is said before an upgrade of the service.
    fn notice(&self, _book: &Book) -> Option<String> {
        None
    }

    /// How many sockets may be opened.
    fn door(&self) -> Option<Quota> {
        None
    }

    /// The allowance a request uses, and its weight.
    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        None
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer;
}
