//! Reading of a parsed message for every purpose: events, sequence numbers, and its meaning for the connection.

use std::collections::HashMap;

use crate::feeds::decoding::event::Event;
use crate::feeds::decoding::frame::Frame;
use crate::feeds::error::Error;
use crate::feeds::websocket::control::{FrameKind, SentSubscriptions, SequenceNumber};
use crate::feeds::websocket::socket_plan::PositionAnnouncement;

/// The message format of an exchange.
///
/// A frame or REST body is parsed once; the other functions read the parsed message.
pub(crate) trait Protocol {
    /// A parsed frame or REST body.
    type Message<'a>;

    /// Parses a frame or a REST body.
    fn parse<'a>(frame: &Frame<'a>) -> Result<Self::Message<'a>, Error>;

    /// Decodes the events of a message.
    fn events(frame: &Frame<'_>, message: &Self::Message<'_>) -> Result<Vec<Event>, Error>;

    /// Classifies a message, such as an acknowledgement or a pong.
    fn kind(
        _frame: &Frame<'_>,
        _message: &Self::Message<'_>,
        _sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        Ok(FrameKind::Other)
    }

    /// Returns the message with which the client must reply, such as the pong to a ping.
    fn answer(_message: &Self::Message<'_>) -> Option<String> {
        None
    }

    /// Whether the events may have happened long before the subscription.
    fn is_snapshot(_message: &Self::Message<'_>) -> bool {
        false
    }

    /// Returns the positions that a message announces as liquidated.
    fn announced(_message: &Self::Message<'_>) -> Vec<PositionAnnouncement> {
        Vec::new()
    }

    /// Returns the sequence numbers in a message.
    fn numbers(_message: &Self::Message<'_>) -> Vec<SequenceNumber> {
        Vec::new()
    }
}

/// The decoded content of a frame or a REST body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The events, in order. Equal rows have different keys.
    pub events: Vec<Event>,
    /// The positions that are announced as liquidated.
    pub announced: Vec<PositionAnnouncement>,
    /// Whether the events may have happened long before the subscription.
    pub is_snapshot: bool,
}

/// A frame of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketMessage {
    /// The sequence numbers; a missing number means that messages were missed.
    pub numbers: Vec<SequenceNumber>,
    /// The decoded content.
    pub decoded: Result<Decoded, Error>,
    /// The meaning for the connection, such as an acknowledgement or a ping.
    pub kind: Result<FrameKind, Error>,
}

/// The functions that read the messages of an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    pub(crate) decode: fn(&Frame<'_>) -> Result<Decoded, Error>,
    pub(crate) read: fn(&Frame<'_>, &SentSubscriptions, bool) -> SocketMessage,
    pub(crate) answer: fn(&Frame<'_>) -> Result<Option<String>, Error>,
}

impl Messages {
    /// Returns the functions for one message format.
    pub(crate) const fn of<P: Protocol>() -> Self {
        Self {
            decode: |frame| decoded::<P>(frame, &P::parse(frame)?),
            read: read::<P>,
            answer: |frame| Ok(P::answer(&P::parse(frame)?)),
        }
    }
}

fn decoded<P: Protocol>(frame: &Frame<'_>, message: &P::Message<'_>) -> Result<Decoded, Error> {
    let mut events = P::events(frame, message)?;
    number_equal_rows(&mut events);
    Ok(Decoded {
        is_snapshot: !events.is_empty() && P::is_snapshot(message),
        announced: P::announced(message),
        events,
    })
}

/// Reads a frame; `awaits_ack` says that the connection waits for acknowledgements of subscriptions.
fn read<P: Protocol>(
    frame: &Frame<'_>,
    sent: &SentSubscriptions,
    awaits_ack: bool,
) -> SocketMessage {
    let message = match P::parse(frame) {
        Ok(message) => message,
        Err(error) => {
            return SocketMessage {
                numbers: Vec::new(),
                decoded: Err(error.clone()),
                kind: Err(error),
            };
        }
    };
    let decoded = decoded::<P>(frame, &message);
    let has_events = decoded.as_ref().is_ok_and(|one| !one.events.is_empty());
    // Some exchanges acknowledge a subscription with a data frame, so such a frame is read both as events and as an
    // acknowledgement.
    let kind = if has_events && !awaits_ack {
        Ok(FrameKind::Data)
    } else if let Some(answer) = P::answer(&message) {
        Ok(FrameKind::Ping(answer))
    } else {
        P::kind(frame, &message, sent)
    };
    SocketMessage {
        numbers: P::numbers(&message),
        decoded,
        kind,
    }
}

/// Makes the keys of equal rows in one frame distinct, because such rows are distinct events.
fn number_equal_rows(events: &mut [Event]) {
    if events.len() < 2 {
        return;
    }
    let mut seen: HashMap<String, u32> = HashMap::with_capacity(events.len());
    for event in events {
        let times = seen.entry(event.dedupe_key.clone()).or_default();
        *times += 1;
        if *times > 1 {
            event.dedupe_key = format!("{}|{times}", event.dedupe_key);
        }
    }
}
