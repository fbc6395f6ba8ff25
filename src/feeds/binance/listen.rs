//! The socket: all liquidations, and the mark price of one market as a control.

use std::time::Duration;

use serde_json::json;

use crate::feeds::frame::text_of;
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line, Sign};
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame};

/// The channel of all liquidations.
const LIQUIDATIONS: &str = "!forceOrder@arr";
/// A channel of the same class that is never silent: silence there is a dead socket, silence of liquidations is not.
const CONTROL: &str = "btcusdt@markPrice@1s";

pub(super) const HEARTBEAT: Heartbeat = Heartbeat {
    beat: Beat::Protocol,
    every: Duration::from_secs(20),
    signs: &[
        (Sign::Pong, Duration::from_secs(40)),
        (Sign::Control, Duration::from_secs(15)),
    ],
};

members!(Refusal<'a> {
    code = "code",
    message = "msg",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    e: Cell<'a>,
    #[serde(borrow)]
    stream: Cell<'a>,
    #[serde(borrow)]
    id: Cell<'a>,
    #[serde(borrow)]
    error: Part<Refusal<'a>>,
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    msg: Cell<'a>,
}

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new(
        "liquidations",
        "/market/ws",
        &[LIQUIDATIONS, CONTROL],
    )]
}

pub(in crate::feeds) fn subscription(number: usize, topics: &[String]) -> String {
    json!({"method": "SUBSCRIBE", "params": topics, "id": number}).to_string()
}

/// A reply to a request, or a frame of the control stream.
pub(in crate::feeds) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let message = match frame.read::<Part<Message<'_>>>()? {
        Part::Object(message) => message,
        Part::List(_) => return Ok(Heard::Data),
        Part::Missing | Part::Other => return Err(frame.unknown()),
    };
    if let Some(kind) = text_of(message.e.or(message.stream)) {
        return Ok(if kind.contains("markPrice") {
            Heard::Control
        } else {
            Heard::Other
        });
    }
    let topics = || asked.topics(text_of(message.id).as_deref());
    let refused = match &message.error {
        Part::Object(refusal) => Some((refusal.code, refusal.message)),
        _ => message.code.map(|code| (Some(code), message.msg)),
    };
    Ok(match refused {
        Some((code, said)) => Heard::Refused {
            topics: topics(),
            message: [code, said]
                .into_iter()
                .filter_map(text_of)
                .collect::<Vec<_>>()
                .join(" "),
        },
        None => Heard::Ack { topics: topics() },
    })
}
