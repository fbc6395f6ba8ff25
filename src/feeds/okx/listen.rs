//! One socket, one topic for each kind of contract.

use serde_json::{Value, json};

use crate::feeds::frame::{says, text_of};
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line};
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame};

pub(super) const HEARTBEAT: Heartbeat = Heartbeat::each_20_seconds(Beat::Text("ping"));

members!(Argument<'a> {
    channel = "channel",
    kind = "instType",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    event: Cell<'a>,
    #[serde(borrow)]
    arg: Part<Argument<'a>>,
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    msg: Cell<'a>,
}

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new(
        "liquidations",
        "/ws/v5/public",
        &["SWAP", "FUTURES"],
    )]
}

pub(super) fn subscription(topics: &[String]) -> String {
    let args: Vec<Value> = topics
        .iter()
        .map(|kind| json!({"channel": "liquidation-orders", "instType": kind}))
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
            .map(std::borrow::Cow::into_owned)
            .into_iter()
            .collect(),
        _ => Vec::new(),
    };
    let said = || {
        [message.code, message.msg]
            .into_iter()
            .filter_map(text_of)
            .collect::<Vec<_>>()
            .join(" ")
    };
    Ok(match text_of(message.event).as_deref() {
        Some("subscribe") => Heard::Ack { topics },
        // A refusal does not name its topic where the request could not be read: then it meant all.
        Some("error") => Heard::Refused {
            topics: if topics.is_empty() {
                asked.all()
            } else {
                topics
            },
            message: said(),
        },
        Some("notice") => Heard::Notice(said()),
        None if matches!(&message.arg, Part::Object(arg) if says(arg.channel, "liquidation-orders")) => {
            Heard::Data
        }
        _ => Heard::Other,
    })
}
