//! One socket, one topic.

use serde_json::json;

use crate::feeds::frame::text_of;
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Frame};

/// The key of all liquidations.
const LIQUIDATIONS: &str = "liq:global";

/// What the venue says where a topic is subscribed to already.
const REPEATED: &str = "10301";

pub(super) const HEARTBEAT: Heartbeat =
    Heartbeat::each_20_seconds(Beat::Text(r#"{"event":"ping"}"#));

members!(Message<'a> {
    event = "event",
    key = "key",
    code = "code",
    said = "msg",
});

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new("liquidations", "/ws/2", &[LIQUIDATIONS])]
}

pub(super) fn subscription(topics: &[String]) -> String {
    // One message takes one key, and there is one.
    let key = topics.first().map_or(LIQUIDATIONS, String::as_str);
    json!({"event": "subscribe", "channel": "status", "key": key}).to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let message = match frame.read::<Part<Message<'_>>>()? {
        Part::Object(message) => message,
        // Rows without a match, or the channel's own heartbeat.
        Part::List(_) => return Ok(Heard::Data),
        Part::Missing | Part::Other => return Err(frame.unknown()),
    };
    let said = || {
        [message.code, message.said]
            .into_iter()
            .filter_map(text_of)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let code = text_of(message.code);
    Ok(match (text_of(message.event).as_deref(), code.as_deref()) {
        (Some("pong"), _) => Heard::Pong,
        (Some("subscribed"), _) => Heard::Ack {
            topics: text_of(message.key).map_or_else(|| asked.all(), |key| vec![key.into_owned()]),
        },
        (Some("error"), Some(REPEATED)) => Heard::Ack {
            topics: asked.all(),
        },
        (Some("error"), _) => Heard::Refused {
            topics: asked.all(),
            message: said(),
        },
        // The server restarts; maintenance begins; it is over, and topics have to be subscribed to anew.
        (Some("info"), Some("20051" | "20060" | "20061")) => Heard::Notice(said()),
        _ => Heard::Other,
    })
}
