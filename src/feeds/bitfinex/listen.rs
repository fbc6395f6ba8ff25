//! One socket, one key; missed rows by REST, three requests a minute.

use serde_json::json;

use crate::feeds::ask::{Ask, Limit};
use crate::feeds::frame::{Cell, Part, Place, cells, text_of};
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line};
use crate::feeds::{Error, Frame};
use crate::model::Millis;

/// Requests in a minute.
const ORDERS: Limit = Limit::of("liquidations", 3, 60);
/// Most rows of a reply.
const PAGE: usize = 500;

pub(super) const HEARTBEAT: Heartbeat =
    Heartbeat::each_20_seconds(Beat::Text(r#"{"event":"ping","cid":1}"#));

cells!(Message {
    event = "event",
    key = "key",
    said = "msg",
});

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new("liquidations", "/ws/2", &["liq:global"])]
}

pub(super) fn subscription(topics: &[String]) -> String {
    let key = topics.first().map_or("liq:global", String::as_str);
    json!({"event": "subscribe", "channel": "status", "key": key}).to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Ok(if frame.text.contains("\"hb\"") {
            Heard::Control
        } else {
            Heard::Data
        });
    };
    Ok(match text_of(message.event).as_deref() {
        Some("subscribed") => Heard::Ack {
            topics: text_of(message.key)
                .map(std::borrow::Cow::into_owned)
                .into_iter()
                .collect(),
        },
        Some("error") => Heard::Refused {
            topics: asked.all(),
            message: text_of(message.said).unwrap_or_default().into_owned(),
        },
        Some("pong") => Heard::Pong,
        _ => Heard::Other,
    })
}

pub(super) fn missed(from: Millis, until: Millis) -> Vec<Ask> {
    vec![
        Ask::new("/v2/liquidations/hist", ORDERS)
            .with("start", from.0)
            .with("end", until.0 - 1)
            .with("limit", PAGE)
            .with("sort", 1)
            .between(from, until),
    ]
}

/// Pages go on in time: the place of the instant in a row is the third.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    type Row<'a> = Vec<Vec<&'a serde_json::value::RawValue>>;
    const TIME: usize = 2;
    let rows = frame.read::<Vec<Row<'_>>>()?;
    let Some(last) = rows.last().filter(|_| rows.len() >= PAGE) else {
        return Ok(Vec::new());
    };
    let root = Place::ROOT;
    let place = root.item(rows.len() - 1);
    let cell: Cell<'_> = last.first().and_then(|row| row.get(TIME)).copied();
    let last = place.item(TIME).instant("", cell)?;
    let start = if ask.value("start") == Some(&last.0.to_string()) {
        last.on(1)
    } else {
        last
    };
    Ok(vec![ask.again_with("start", start.0)])
}
