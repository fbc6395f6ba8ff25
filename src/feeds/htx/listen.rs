//! Three sockets: linear contracts, coin-margined swaps, coin-margined futures; missed orders and markets by REST.

use std::time::Duration;

use serde_json::json;

use crate::feeds::ask::{Ask, Limit, Page, stretches};
use crate::feeds::frame::{Cell, Part, Place, cells, says, text_of};
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line, Listing, Sign};
use crate::feeds::{Error, Frame, Instrument, Kind};
use crate::model::Millis;

/// Requests in three seconds; some are left to others.
const REQUESTS: Limit = Limit::of("requests", 200, 3);
/// Longest time of a request.
const WINDOW: i64 = 2 * Millis::HOUR;

const TOPIC: &str = "public.*.liquidation_orders";
const LINEAR: &str = "/linear-swap-api/v3/swap_liquidation_orders";
const SWAP: &str = "/swap-api/v3/swap_liquidation_orders";
const FUTURES: &str = "/api/v3/contract_liquidation_orders";
const LINEAR_MARKETS: &str = "/linear-swap-api/v1/swap_contract_info";

/// The venue pings and closes where it hears no pong for about half a minute.
pub(super) const HEARTBEAT: Heartbeat = Heartbeat {
    beat: Beat::Protocol,
    every: Duration::from_secs(20),
    signs: &[(Sign::Ping, Duration::from_secs(60))],
};

cells!(Message {
    op = "op",
    topic = "topic",
    code = "err-code",
    said = "err-msg",
});

cells!(Contract {
    code = "contract_code",
    symbol = "symbol",
    pair = "pair",
    size = "contract_size",
    status = "contract_status",
});

cells!(Order { id = "query_id", });

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Contracts<'a> {
    #[serde(borrow)]
    status: Cell<'a>,
    #[serde(borrow)]
    data: Part<Contract<'a>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Orders<'a> {
    #[serde(borrow)]
    data: Part<Order<'a>>,
}

pub(super) fn lines() -> Vec<Line> {
    [
        ("linear", "/linear-swap-notification"),
        ("swap", "/swap-notification"),
        ("futures", "/notification"),
    ]
    .into_iter()
    .map(|(name, path)| Line::new(name, path, &[TOPIC]))
    .collect()
}

pub(super) fn subscription(number: usize, topics: &[String]) -> String {
    let topic = topics.first().map_or(TOPIC, String::as_str);
    json!({"op": "sub", "cid": number.to_string(), "topic": topic}).to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if !says(message.op, "sub") {
        return Ok(Heard::Other);
    }
    let topics = match text_of(message.topic) {
        Some(topic) => vec![topic.into_owned()],
        None => asked.all(),
    };
    Ok(match text_of(message.code).as_deref() {
        // 2014: it is subscribed to already.
        None | Some("0" | "2014") => Heard::Ack { topics },
        Some(code) => Heard::Refused {
            topics,
            message: format!("{code} {}", text_of(message.said).unwrap_or_default()),
        },
    })
}

pub(super) fn listing_requests() -> Vec<Ask> {
    [
        LINEAR_MARKETS,
        "/swap-api/v1/swap_contract_info",
        "/api/v1/contract_contract_info",
    ]
    .into_iter()
    .map(|path| Ask::new(path, REQUESTS))
    .collect()
}

pub(super) fn read_listings(ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let contracts = frame.read::<Part<Contracts<'_>>>()?;
    let root = Place::ROOT;
    let contracts = root.object(&contracts)?;
    if !says(contracts.status, "ok") {
        let said = text_of(contracts.status).unwrap_or_default();
        return Err(frame.refused(root.member("status"), &said));
    }
    let is_linear = ask.path == LINEAR_MARKETS;
    let rows = frame.each(&root.member("data"), &contracts.data, |place, item| {
        let contract = place.object(item)?;
        let code = place.name("contract_code", contract.code)?;
        let base = place.name("symbol", contract.symbol)?;
        let pair = text_of(contract.pair).unwrap_or_else(|| code.clone());
        let quote = match pair.split_once('-') {
            Some((_, quote)) if is_linear => quote,
            _ if is_linear => "USDT",
            _ => "USD",
        };
        let kind = if is_linear { "linear" } else { "inverse" };
        let size = place.text("contract_size", contract.size)?;
        let instrument = Instrument::read(&base, quote, kind, &size);
        Ok(Some(Listing {
            perpetual: code.split('-').count() == 2,
            trading: says(contract.status, "1"),
            instrument: instrument.map_err(|message| place.fault(message))?,
            native_id: code.into_owned(),
        }))
    })?;
    Ok(Page::last(rows))
}

/// Each contract is asked for by itself; the newest orders come first.
pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    let windows = stretches(from, until, WINDOW);
    let mut asks = Vec::new();
    let mut asked: Vec<(&str, String)> = Vec::new();
    for listing in listings.iter().filter(|listing| listing.trading) {
        let instrument = &listing.instrument;
        // Coin-margined futures are asked for by coin, all expiries at once.
        let of = match (instrument.kind, listing.perpetual) {
            (Kind::Linear, _) => (LINEAR, listing.native_id.clone()),
            (Kind::Inverse, true) => (SWAP, listing.native_id.clone()),
            (Kind::Inverse, false) => (FUTURES, instrument.base.clone()),
        };
        if asked.contains(&of) {
            continue;
        }
        for (from, until) in &windows {
            let name = if of.0 == FUTURES {
                "symbol"
            } else {
                "contract"
            };
            asks.push(
                Ask::new(of.0, REQUESTS)
                    .with(name, &of.1)
                    .with("trade_type", 0)
                    .with("start_time", from.0)
                    .with("end_time", until.0 - 1)
                    .between(*from, *until),
            );
        }
        asked.push(of);
    }
    asks
}

/// How many orders a reply may have is not said, so each one that has any is followed by the one before it.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let orders = frame.read::<Part<Orders<'_>>>()?;
    let root = Place::ROOT;
    let place = root.member("data");
    let list = place.list(&root.object(&orders)?.data)?;
    let mut least: Option<rust_decimal::Decimal> = None;
    for (index, item) in list.iter().enumerate() {
        let place = place.item(index);
        let id = place.number("query_id", place.object(item)?.id)?.value;
        least = Some(least.map_or(id, |least| least.min(id)));
    }
    let Some(least) = least.map(|least| least.to_string()) else {
        return Ok(Vec::new());
    };
    if ask.value("from_id") == Some(&least) {
        return Ok(Vec::new());
    }
    Ok(vec![
        ask.again_with("direct", "prev")
            .again_with("from_id", least),
    ])
}
