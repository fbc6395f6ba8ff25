//! Sockets of at most 32 markets, two subscriptions a second; missed trades and markets by REST.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Cell, Part, Place, cells, says, text_of};
use crate::feeds::listen::{Heard, Line, Listing, batched};
use crate::feeds::{Error, Frame, Instrument};
use crate::model::Millis;

/// Requests in ten seconds.
const REQUESTS: Limit = Limit::of("requests", 90, 10);
/// Markets of one connection.
const CHANNELS: usize = 32;
/// Time between two subscriptions: two are allowed in a second.
const BETWEEN: Duration = Duration::from_millis(600);

cells!(Market { ticker = "ticker", status = "status", });

cells!(Trade { created_at = "createdAt", });

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cell<'a>,
    #[serde(borrow)]
    channel: Cell<'a>,
    #[serde(borrow)]
    id: Cell<'a>,
    #[serde(borrow, rename = "message")]
    said: Cell<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    markets: HashMap<String, Part<Market<'a>>>,
    #[serde(borrow)]
    trades: Part<Trade<'a>>,
}

pub(super) fn lines(listings: &[Listing]) -> Vec<Line> {
    let mut markets: Vec<String> = listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| listing.native_id.clone())
        .collect();
    markets.sort();
    batched(markets, CHANNELS)
        .into_iter()
        .zip(1..)
        .map(|(markets, part)| Line {
            between: BETWEEN,
            ..Line::of(&format!("trades {part}"), "/v4/ws", batched(markets, 1))
        })
        .collect()
}

pub(super) fn subscription(topics: &[String]) -> String {
    let market = topics.first().map_or("", String::as_str);
    json!({"type": "subscribe", "channel": "v4_trades", "id": market}).to_string()
}

pub(super) fn control(frame: &Frame<'_>) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    Ok(match text_of(message.kind).as_deref() {
        Some("subscribed") if says(message.channel, "v4_trades") => Heard::Ack {
            topics: text_of(message.id)
                .map(std::borrow::Cow::into_owned)
                .into_iter()
                .collect(),
        },
        // Which market is meant it does not say: the one that is never acknowledged.
        Some("error") => Heard::Refused {
            topics: Vec::new(),
            message: text_of(message.said).unwrap_or_default().into_owned(),
        },
        Some("pong") => Heard::Pong,
        Some("channel_data" | "channel_batch_data") => Heard::Data,
        _ => Heard::Other,
    })
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![Ask::new("/v4/perpetualMarkets", REQUESTS)]
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let body: Body<'_> = frame.read()?;
    let root = Place::ROOT;
    let place = root.member("markets");
    let mut rows = Vec::with_capacity(body.markets.len());
    for (name, market) in &body.markets {
        let place = place.member(name);
        let listing = || {
            let market = place.object(market)?;
            let ticker = place.name("ticker", market.ticker)?;
            let (base, quote) = ticker.split_once('-').unwrap_or((&ticker, ""));
            let instrument = Instrument::read(base, quote, "linear", "1");
            Ok(Listing {
                instrument: instrument.map_err(|message| place.fault(message))?,
                perpetual: true,
                trading: says(market.status, "ACTIVE"),
                native_id: ticker.into_owned(),
            })
        };
        match (listing(), frame.faults) {
            (Ok(listing), _) => rows.push(listing),
            (Err(fault), Some(faults)) => faults.borrow_mut().push(fault),
            (Err(fault), None) => return Err(fault),
        }
    }
    Ok(Page::last(rows))
}

pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| {
            let path = format!("/v4/trades/perpetualMarket/{}", listing.native_id);
            Ask::new(&path, REQUESTS)
                .with("limit", 1000)
                .with("createdBeforeOrAt", until)
                .about(&listing.native_id)
                .between(from, until)
        })
        .collect()
}

/// Pages go back in time; how many trades a full one has is not said, so each is followed by the one before it.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let body: Body<'_> = frame.read()?;
    let root = Place::ROOT;
    let place = root.member("trades");
    let mut oldest: Option<Millis> = None;
    for (index, item) in place.list(&body.trades)?.iter().enumerate() {
        let place = place.item(index);
        let at = place.instant("createdAt", place.object(item)?.created_at)?;
        oldest = Some(oldest.map_or(at, |oldest| oldest.min(at)));
    }
    let Some(oldest) = oldest.filter(|oldest| *oldest >= ask.from) else {
        return Ok(Vec::new());
    };
    // A page of one instant alone would come again.
    let known = ask.value("createdBeforeOrAt") == Some(&oldest.to_string());
    let before = if known { oldest.back(1) } else { oldest };
    Ok(vec![ask.again_with("createdBeforeOrAt", before)])
}
