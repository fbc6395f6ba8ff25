//! One socket, one table.

use std::borrow::Cow;

use serde_json::json;

use crate::feeds::frame::{says, text_of};
use crate::feeds::listen::{Beat, Heard, Heartbeat, Line};
use crate::feeds::members::{Cell, Part};
use crate::feeds::{Error, Frame};

pub(super) const HEARTBEAT: Heartbeat = Heartbeat::each_20_seconds(Beat::Text("ping"));

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Request {
    args: Vec<String>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    table: Cell<'a>,
    #[serde(borrow)]
    subscribe: Cell<'a>,
    #[serde(borrow)]
    error: Cell<'a>,
    #[serde(borrow)]
    request: Cell<'a>,
}

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new("liquidations", "/realtime", &["liquidation"])]
}

pub(super) fn subscription(topics: &[String]) -> String {
    json!({"op": "subscribe", "args": topics}).to_string()
}

pub(super) fn control(frame: &Frame<'_>) -> Result<Heard, Error> {
    if frame.text.trim() == "pong" {
        return Ok(Heard::Pong);
    }
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if let Some(said) = text_of(message.error) {
        // The reply repeats the request.
        let request = message
            .request
            .and_then(|request| serde_json::from_str::<Request>(request.text()).ok());
        return Ok(Heard::Refused {
            topics: request.unwrap_or_default().args,
            message: said.into_owned(),
        });
    }
    Ok(match text_of(message.subscribe).map(Cow::into_owned) {
        Some(topic) => Heard::Ack {
            topics: vec![topic],
        },
        None if says(message.table, "liquidation") => Heard::Data,
        None => Heard::Other,
    })
}
