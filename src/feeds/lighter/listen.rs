//! One socket, each market a topic; markets by REST.

use std::time::Duration;

use serde_json::json;

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Cell, Part, Place, cells, says, text_of};
use crate::feeds::listen::{Heard, Line, Listing, batched};
use crate::feeds::{Error, Frame, Instrument};

/// Requests in a minute.
const REQUESTS: Limit = Limit::of("requests", 40, 60);
/// Time between two subscriptions.
const BETWEEN: Duration = Duration::from_millis(50);

cells!(Market {
    symbol = "symbol",
    id = "market_id",
    kind = "market_type",
    status = "status",
});

cells!(Refusal { message = "message", });

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cell<'a>,
    #[serde(borrow)]
    channel: Cell<'a>,
    #[serde(borrow)]
    error: Part<Refusal<'a>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    order_books: Part<Market<'a>>,
}

pub(super) fn lines(listings: &[Listing]) -> Vec<Line> {
    let mut topics: Vec<String> = listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| format!("trade/{}", listing.native_id))
        .collect();
    topics.sort();
    if topics.is_empty() {
        return Vec::new();
    }
    vec![Line {
        between: BETWEEN,
        ..Line::of("trades", "/stream", batched(topics, 1))
    }]
}

pub(super) fn subscription(topics: &[String]) -> String {
    let channel = topics.first().map_or("", String::as_str);
    json!({"type": "subscribe", "channel": channel}).to_string()
}

pub(super) fn control(frame: &Frame<'_>) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if let Part::Object(refusal) = &message.error {
        // Which market is meant it does not say: the one that is never acknowledged.
        return Ok(Heard::Refused {
            topics: Vec::new(),
            message: text_of(refusal.message).unwrap_or_default().into_owned(),
        });
    }
    Ok(match text_of(message.kind).as_deref() {
        Some("subscribed/trade") => Heard::Ack {
            // It answers with a colon where it is asked with a stroke.
            topics: text_of(message.channel)
                .map(|channel| channel.replace(':', "/"))
                .into_iter()
                .collect(),
        },
        Some("ping") => Heard::Ping(r#"{"type":"pong"}"#.to_owned()),
        Some("pong") => Heard::Pong,
        Some("update/trade") => Heard::Data,
        _ => Heard::Other,
    })
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![Ask::new("/api/v1/orderBooks", REQUESTS)]
}

/// A market is a number; what it is called and quoted in stands in the list.
pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let body: Body<'_> = frame.read()?;
    let rows = frame.each(
        &Place::ROOT.member("order_books"),
        &body.order_books,
        |place, item| {
            let market = place.object(item)?;
            if market.kind.is_some() && !says(market.kind, "perp") {
                return Ok(None);
            }
            let symbol = place.name("symbol", market.symbol)?;
            let instrument = Instrument::read(&symbol, "USD", "linear", "1");
            Ok(Some(Listing {
                native_id: place.name("market_id", market.id)?.into_owned(),
                instrument: instrument.map_err(|message| place.fault(message))?,
                perpetual: true,
                trading: says(market.status, "active"),
            }))
        },
    )?;
    Ok(Page::last(rows))
}
