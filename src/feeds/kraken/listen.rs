//! One socket with every market, and the feed `heartbeat` as a control.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::json;

use crate::feeds::frame::text_of;
use crate::feeds::listen::{Beat, Heard, Heartbeat, Line, Listing, Sign, batched};
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame};

/// Markets of one message: a refusal does not say which of them it means, so a bad one should have little company.
const BATCH: usize = 10;

pub(super) const GREETING: &[&str] = &[r#"{"event":"subscribe","feed":"heartbeat"}"#];

/// The venue's own heart beats every second.
pub(super) const HEARTBEAT: Heartbeat = Heartbeat {
    beat: Beat::Protocol,
    every: Duration::from_secs(20),
    signs: &[
        (Sign::Pong, Duration::from_secs(40)),
        (Sign::Control, Duration::from_secs(15)),
    ],
};

members!(Message<'a> {
    event = "event",
    feed = "feed",
    products = "product_ids",
    said = "message",
});

pub(super) fn lines(listings: &[Listing]) -> Vec<Line> {
    let mut products: Vec<String> = listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| listing.native_id.clone())
        .collect();
    if products.is_empty() {
        return Vec::new();
    }
    products.sort_unstable();
    vec![Line::of("trades", "/ws/v1", batched(products, BATCH))]
}

pub(super) fn subscription(topics: &[String]) -> String {
    json!({"event": "subscribe", "feed": "trade", "product_ids": topics}).to_string()
}

pub(super) fn control(frame: &Frame<'_>) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let feed = text_of(message.feed);
    let products = || products(message.products);
    let said = || {
        text_of(message.said)
            .map(Cow::into_owned)
            .unwrap_or_default()
    };
    Ok(match (text_of(message.event).as_deref(), feed.as_deref()) {
        (Some("subscribed"), Some("trade")) => Heard::Ack { topics: products() },
        (Some("subscribed_failed"), Some("trade")) => Heard::Refused {
            topics: products(),
            message: said(),
        },
        (Some("error" | "alert"), _) => Heard::Refused {
            topics: Vec::new(),
            message: said(),
        },
        (None, Some("heartbeat")) => Heard::Control,
        (None, Some("trade" | "trade_snapshot")) => Heard::Data,
        _ => Heard::Other,
    })
}

/// The markets that a reply names.
fn products(cell: Cell<'_>) -> Vec<String> {
    cell.and_then(|list| serde_json::from_str(list.text()).ok())
        .unwrap_or_default()
}

pub(super) fn recalls(frame: &Frame<'_>) -> bool {
    let message = frame.read::<Message<'_>>();
    message.is_ok_and(|message| text_of(message.feed).as_deref() == Some("trade_snapshot"))
}
