//! A socket for each currency that contracts are settled in, one topic for all its contracts.

use serde_json::json;

use crate::feeds::frame::{says, text_of};
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line};
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame};
use crate::model::Millis;

/// The channel of liquidations.
const LIQUIDATIONS: &str = "futures.public_liquidates";
/// What stands for all contracts of a socket.
const EVERYTHING: &str = "!all";
/// Sizes come as decimal text, not cut to whole contracts.
const HEADERS: &[(&str, &str)] = &[("x-gate-size-decimal", "1")];

/// What contracts are settled in; each has its own socket and its own REST path.
pub(super) const SETTLES: [&str; 3] = ["usdt", "btc", "usd1"];

pub(super) const HEARTBEAT: Heartbeat = Heartbeat::each_20_seconds(Beat::Stamped(
    r#"{"time":"#,
    r#","channel":"futures.ping"}"#,
));

members!(Refusal<'a> {
    code = "code",
    message = "message",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    channel: Cell<'a>,
    #[serde(borrow)]
    event: Cell<'a>,
    #[serde(borrow)]
    error: Part<Refusal<'a>>,
}

pub(super) fn lines() -> Vec<Line> {
    SETTLES
        .into_iter()
        .map(|settle| Line {
            headers: HEADERS,
            ..Line::new(settle, &format!("/v4/ws/{settle}"), &[EVERYTHING])
        })
        .collect()
}

pub(super) fn subscription(topics: &[String], now: Millis) -> String {
    json!({
        "time": now.0 / 1000,
        "channel": LIQUIDATIONS,
        "event": "subscribe",
        "payload": topics,
    })
    .to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if says(message.channel, "futures.pong") {
        return Ok(Heard::Pong);
    }
    if !says(message.channel, LIQUIDATIONS) {
        return Ok(Heard::Other);
    }
    Ok(match (text_of(message.event).as_deref(), &message.error) {
        (Some("subscribe"), Part::Object(refusal)) => Heard::Refused {
            topics: asked.all(),
            message: [refusal.code, refusal.message]
                .into_iter()
                .filter_map(text_of)
                .collect::<Vec<_>>()
                .join(" "),
        },
        (Some("subscribe"), _) => Heard::Ack {
            topics: asked.all(),
        },
        (Some("update"), _) => Heard::Data,
        _ => Heard::Other,
    })
}
