//! One socket, a topic for each kind of contract; missed orders and markets by REST.

use serde_json::{Value, json};

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Cell, Part, Place, cells, says, text_of};
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line, Listing};
use crate::feeds::{Error, Frame, Instrument};
use crate::model::Millis;

/// Requests in a second, of each kind.
const MARKETS: Limit = Limit::of("instruments", 18, 1);
const ORDERS: Limit = Limit::of("liquidations", 5, 1);
/// Most orders of a reply.
const PAGE: usize = 100;

const CATEGORIES: [&str; 3] = ["usdt-futures", "coin-futures", "usdc-futures"];

pub(super) const HEARTBEAT: Heartbeat = Heartbeat::each_20_seconds(Beat::Text("ping"));

cells!(Argument { kind = "instType", topic = "topic", });

cells!(Row { ts = "ts", });

cells!(Market {
    symbol = "symbol",
    base = "baseCoin",
    quote = "quoteCoin",
    lot = "quantityMultiplier",
    old_lot = "sizeMultiplier",
    kind = "type",
    status = "status",
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

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Orders<'a> {
    #[serde(borrow)]
    list: Part<Row<'a>>,
    #[serde(borrow)]
    cursor: Cell<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(
    default,
    bound(deserialize = "'de: 'a, Data: serde::Deserialize<'de> + Default")
)]
struct Body<'a, Data> {
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    msg: Cell<'a>,
    data: Data,
}

fn data<'a, Data>(frame: &Frame<'a>) -> Result<Data, Error>
where
    Data: serde::Deserialize<'a> + Default,
{
    let body: Body<'a, Data> = frame.read()?;
    match text_of(body.code).as_deref() {
        Some("00000") => Ok(body.data),
        Some(code) => {
            let said = text_of(body.msg).unwrap_or_default();
            Err(frame.refused(Place::ROOT.member("code"), &format!("{code} {said}")))
        }
        None => Err(frame.unknown()),
    }
}

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new("liquidations", "/v3/ws/public", &CATEGORIES)]
}

pub(super) fn subscription(topics: &[String]) -> String {
    let args: Vec<Value> = topics
        .iter()
        .map(|kind| json!({"instType": kind, "topic": "liquidation"}))
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
        Part::Object(arg) if says(arg.topic, "liquidation") => text_of(arg.kind)
            .map(std::borrow::Cow::into_owned)
            .into_iter()
            .collect(),
        _ => asked.all(),
    };
    Ok(match text_of(message.event).as_deref() {
        Some("subscribe") => Heard::Ack { topics },
        Some("error") => Heard::Refused {
            topics,
            message: [message.code, message.msg]
                .into_iter()
                .filter_map(text_of)
                .collect::<Vec<_>>()
                .join(" "),
        },
        Some(_) => Heard::Other,
        None => Heard::Data,
    })
}

pub(super) fn listing_requests() -> Vec<Ask> {
    CATEGORIES
        .into_iter()
        .map(|category| {
            Ask::new("/api/v3/market/instruments", MARKETS)
                .with("category", category.to_uppercase())
        })
        .collect()
}

/// The size of a contract here is the lot, by which the unit of an amount is told.
pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let markets: Part<Market<'_>> = data(frame)?;
    let rows = frame.each(&Place::ROOT.member("data"), &markets, |place, item| {
        let market = place.object(item)?;
        let instrument = Instrument::read(
            &place.text("baseCoin", market.base)?,
            &place.text("quoteCoin", market.quote)?,
            "linear",
            &place.text("quantityMultiplier", market.lot.or(market.old_lot))?,
        );
        Ok(Some(Listing {
            native_id: place.name("symbol", market.symbol)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: says(market.kind, "perpetual"),
            trading: says(market.status, "online"),
        }))
    })?;
    Ok(Page::last(rows))
}

/// The newest orders of each kind; pages go back in time.
pub(super) fn missed(from: Millis, until: Millis) -> Vec<Ask> {
    CATEGORIES
        .into_iter()
        .map(|category| {
            Ask::new("/api/v3/market/liquidations", ORDERS)
                .with("category", category.to_uppercase())
                .with("limit", PAGE)
                .between(from, until)
        })
        .collect()
}

pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let page: Part<Orders<'_>> = data(frame)?;
    let root = Place::ROOT;
    let place = root.member("data");
    let page = place.object(&page)?;
    let list = place.member("list");
    let mut oldest = None;
    for (index, item) in list.list(&page.list)?.iter().enumerate() {
        let row = list.item(index);
        let at = row.instant("ts", row.object(item)?.ts)?;
        oldest = Some(oldest.map_or(at, |oldest: Millis| oldest.min(at)));
    }
    let cursor = text_of(page.cursor).filter(|cursor| !cursor.is_empty());
    Ok(match cursor {
        Some(cursor) if oldest.is_some_and(|oldest| oldest >= ask.from) => {
            vec![ask.again_with("cursor", cursor)]
        }
        _ => Vec::new(),
    })
}
