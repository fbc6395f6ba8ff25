//! One socket and one topic for every future; life is asked for from both sides.

use serde_json::json;

use crate::feeds::frame::{says, text_of};
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line};
use crate::feeds::members::{Cell, Part, Raw, members};
use crate::feeds::{Error, Frame};

/// Every perpetual and dated future, in bundles; a bundle for each trade is for those who are logged in.
const TOPIC: &str = "trades.future.any.100ms";

/// The venue is to ask for a sign of life, or it would keep a connection that nobody reads.
pub(super) const GREETING: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":"heartbeat","method":"public/set_heartbeat","params":{"interval":30}}"#,
];

/// The answer to such a request, and our own request for a sign: the method replies to both.
const TEST: &str = r#"{"jsonrpc":"2.0","id":"test","method":"public/test","params":{}}"#;

pub(super) const HEARTBEAT: Heartbeat = Heartbeat::each_20_seconds(Beat::Text(TEST));

members!(Parameters<'a> { kind = "type", });

members!(Tested<'a> {
    version = "version",
});

members!(Refusal<'a> {
    code = "code",
    words = "message",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Cell<'a>,
    #[serde(borrow)]
    method: Cell<'a>,
    #[serde(borrow)]
    params: Part<Parameters<'a>>,
    #[serde(borrow)]
    result: Cell<'a>,
    #[serde(borrow)]
    error: Part<Refusal<'a>>,
}

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new("trades", "/ws/api/v2", &[TOPIC])]
}

pub(super) fn subscription(number: usize, topics: &[String]) -> String {
    json!({"jsonrpc": "2.0", "id": number, "method": "public/subscribe", "params": {"channels": topics}})
        .to_string()
}

pub(super) fn answer(frame: &Frame<'_>) -> Result<Option<String>, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let wanted = says(message.method, "heartbeat")
        && matches!(&message.params, Part::Object(params) if says(params.kind, "test_request"));
    Ok(wanted.then(|| TEST.to_owned()))
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if says(message.method, "subscription") {
        return Ok(Heard::Data);
    }
    let id = text_of(message.id);
    // Other requests than subscriptions carry a word.
    let is_subscription = id.as_deref().is_some_and(|id| id.parse::<usize>().is_ok());
    let topics = || {
        if is_subscription {
            asked.topics(id.as_deref())
        } else {
            Vec::new()
        }
    };
    if let Part::Object(refusal) = &message.error {
        let said: Vec<_> = [refusal.code, refusal.words]
            .into_iter()
            .filter_map(text_of)
            .collect();
        return Ok(Heard::Refused {
            topics: topics(),
            message: said.join(" "),
        });
    }
    Ok(match message.result {
        // A channel that does not exist is left out of the reply, and nothing is said of it.
        Some(result) if is_subscription => match read::<Vec<String>>(result) {
            Some(taken) if !taken.is_empty() => Heard::Ack { topics: taken },
            _ => Heard::Refused {
                topics: topics(),
                message: format!("the reply is {}", result.text()),
            },
        },
        Some(result) if read::<Tested<'_>>(result).is_some_and(|it| it.version.is_some()) => {
            Heard::Pong
        }
        _ => Heard::Other,
    })
}

/// What a result is, where it is that.
fn read<'a, T: serde::Deserialize<'a>>(result: Raw<'a>) -> Option<T> {
    serde_json::from_str(result.text()).ok()
}
