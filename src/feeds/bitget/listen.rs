//! One socket, one topic for each kind of contract.

use serde_json::{Value, json};

use crate::feeds::frame::text_of;
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line};
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame};

/// The kinds of contract, as topics spell them.
pub(super) const KINDS: [&str; 3] = ["usdt-futures", "usdc-futures", "coin-futures"];

pub(super) const HEARTBEAT: Heartbeat = Heartbeat::each_20_seconds(Beat::Text("ping"));

members!(Argument<'a> {
    kind = "instType",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    event: Cell<'a>,
    #[serde(borrow)]
    action: Cell<'a>,
    #[serde(borrow)]
    arg: Part<Argument<'a>>,
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    msg: Cell<'a>,
}

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new("liquidations", "/v3/ws/public", &KINDS)]
}

pub(super) fn subscription(topics: &[String]) -> String {
    let args: Vec<Value> = topics
        .iter()
        .map(|kind| json!({"instType": kind, "topic": "liquidation"}))
        .collect();
    json!({"op": "subscribe", "args": args}).to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    if frame.text.trim() == "pong" {
        return Ok(Heard::Pong);
    }
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let topics: Vec<String> = match &message.arg {
        Part::Object(arg) => text_of(arg.kind)
            .map(|kind| kind.to_lowercase())
            .into_iter()
            .collect(),
        _ => Vec::new(),
    };
    Ok(match text_of(message.event).as_deref() {
        Some("subscribe") => Heard::Ack { topics },
        // A refusal that names no topic means all.
        Some("error") => Heard::Refused {
            topics: if topics.is_empty() {
                asked.all()
            } else {
                topics
            },
            message: [message.code, message.msg]
                .into_iter()
                .filter_map(text_of)
                .collect::<Vec<_>>()
                .join(" "),
        },
        None if message.action.is_some() => Heard::Data,
        _ => Heard::Other,
    })
}
