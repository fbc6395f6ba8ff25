//! One socket, each product a topic; missed trades and markets by REST.

use serde_json::json;
use serde_json::value::RawValue;

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Cell, Part, Place, cells, says, text_of};
use crate::feeds::listen::{Heard, Line, Listing, batched};
use crate::feeds::{Error, Frame, Instrument, naming};
use crate::model::Millis;

/// Requests in ten seconds.
const REQUESTS: Limit = Limit::of("requests", 400, 10);
/// Trades of a full reply.
const PAGE: usize = 100;
/// Products of one message.
const BATCH: usize = 50;
/// The feed that is never silent.
const HEARTBEAT: &str = "heartbeat";

cells!(Market { symbol = "symbol", tradeable = "tradeable", });

cells!(Trade { time = "time", });

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    event: Cell<'a>,
    #[serde(borrow)]
    feed: Cell<'a>,
    #[serde(borrow)]
    product_ids: Cell<'a>,
    #[serde(borrow, rename = "message")]
    said: Cell<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    result: Cell<'a>,
    #[serde(borrow)]
    error: Cell<'a>,
    #[serde(borrow)]
    instruments: Part<Market<'a>>,
    #[serde(borrow)]
    history: Part<Trade<'a>>,
}

fn body<'a>(frame: &Frame<'a>) -> Result<Body<'a>, Error> {
    let body: Body<'a> = frame.read()?;
    if says(body.result, "success") {
        return Ok(body);
    }
    let said = text_of(body.error).unwrap_or_default();
    Err(frame.refused(Place::ROOT.member("error"), &said))
}

pub(super) fn lines(listings: &[Listing]) -> Vec<Line> {
    let mut products: Vec<String> = listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| listing.native_id.clone())
        .collect();
    products.sort();
    let mut batches = vec![vec![HEARTBEAT.to_owned()]];
    batches.extend(batched(products, BATCH));
    vec![Line::of("trades", "/ws/v1", batches)]
}

pub(super) fn subscription(topics: &[String]) -> String {
    if topics.first().is_some_and(|topic| topic == HEARTBEAT) {
        return json!({"event": "subscribe", "feed": HEARTBEAT}).to_string();
    }
    json!({"event": "subscribe", "feed": "trade", "product_ids": topics}).to_string()
}

pub(super) fn control(frame: &Frame<'_>) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    Ok(match text_of(message.event).as_deref() {
        Some("subscribed") if says(message.feed, HEARTBEAT) => Heard::Ack {
            topics: vec![HEARTBEAT.to_owned()],
        },
        Some("subscribed") => Heard::Ack {
            topics: message
                .product_ids
                .map(RawValue::get)
                .and_then(|list| serde_json::from_str(list).ok())
                .unwrap_or_default(),
        },
        // Which product is meant it does not say: the one that is never acknowledged.
        Some("error" | "alert") => Heard::Refused {
            topics: Vec::new(),
            message: text_of(message.said).unwrap_or_default().into_owned(),
        },
        Some(_) => Heard::Other,
        None if says(message.feed, HEARTBEAT) => Heard::Control,
        None => Heard::Data,
    })
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![Ask::new("/derivatives/api/v3/instruments", REQUESTS)]
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let body = body(frame)?;
    let rows = frame.each(
        &Place::ROOT.member("instruments"),
        &body.instruments,
        |place, item| {
            let market = place.object(item)?;
            let name = place.name("symbol", market.symbol)?;
            let kind = match name.split_once('_').map(|(family, _)| family) {
                Some("PF") => "linear",
                Some("PI" | "FI") => "inverse",
                // Spot and indices stand in the list as well.
                _ => return Ok(None),
            };
            let pair = naming::kraken(&name);
            let instrument = Instrument::read(&pair.base, &pair.quote, kind, "1");
            Ok(Some(Listing {
                instrument: instrument.map_err(|message| place.fault(message))?,
                perpetual: !name.starts_with("FI_"),
                trading: market.tradeable.map(RawValue::get) == Some("true"),
                native_id: name.into_owned(),
            }))
        },
    )?;
    Ok(Page::last(rows))
}

pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| {
            Ask::new("/derivatives/api/v3/history", REQUESTS)
                .with("symbol", &listing.native_id)
                .with("lastTime", until)
                .about(&listing.native_id)
                .between(from, until)
        })
        .collect()
}

/// Pages go back in time.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let body = body(frame)?;
    let root = Place::ROOT;
    let place = root.member("history");
    let trades = place.list(&body.history)?;
    let mut oldest = ask.until;
    for (index, item) in trades.iter().enumerate() {
        let place = place.item(index);
        oldest = oldest.min(place.instant("time", place.object(item)?.time)?);
    }
    // Trades of the oldest instant may be split between two pages.
    let before = oldest.on(1).to_string();
    Ok(
        if trades.len() >= PAGE
            && oldest >= ask.from
            && ask.value("lastTime") != Some(before.as_str())
        {
            vec![ask.again_with("lastTime", before)]
        } else {
            Vec::new()
        },
    )
}
