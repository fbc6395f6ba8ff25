//! Two sockets, one for each settlement currency; missed orders and markets by REST.

use serde_json::json;

use crate::feeds::ask::{Ask, Limit, Page, stretches};
use crate::feeds::frame::{Cell, Part, Place, cells, says, text_of};
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line, Listing};
use crate::feeds::{Error, Frame, Instrument};
use crate::model::Millis;

/// Requests in ten seconds, of each kind.
const CONTRACTS: Limit = Limit::of("contracts", 180, 10);
const ORDERS: Limit = Limit::of("liq_orders", 180, 10);
/// Longest time of a request, and most orders of its reply.
const WINDOW: i64 = Millis::HOUR;
const PAGE: usize = 1000;

/// All contracts.
const EVERYTHING: &str = "!all";

pub(super) const HEARTBEAT: Heartbeat = Heartbeat::each_20_seconds(Beat::Stamped(
    r#"{"time":"#,
    r#","channel":"futures.ping"}"#,
));

/// Asks for sizes as exact texts.
const HEADERS: &[(&str, &str)] = &[("x-gate-size-decimal", "1")];

cells!(Contract {
    name = "name",
    kind = "type",
    size = "quanto_multiplier",
    status = "status",
    delisting = "in_delisting",
});

cells!(Refusal { message = "message", });

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    channel: Cell<'a>,
    #[serde(borrow)]
    event: Cell<'a>,
    #[serde(borrow)]
    error: Part<Refusal<'a>>,
}

pub(super) fn lines() -> Vec<Line> {
    ["usdt", "btc"]
        .into_iter()
        .map(|settle| Line {
            headers: HEADERS,
            ..Line::new(settle, &format!("/v4/ws/{settle}"), &[EVERYTHING])
        })
        .collect()
}

pub(super) fn subscription(topics: &[String], now: Millis) -> String {
    json!({
        "time": now.0 / 1000,
        "channel": "futures.public_liquidates",
        "event": "subscribe",
        "payload": topics,
    })
    .to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if says(message.channel, "futures.pong") {
        return Ok(Heard::Pong);
    }
    Ok(match (&message.error, text_of(message.event).as_deref()) {
        (Part::Object(refusal), Some("subscribe")) => Heard::Refused {
            topics: asked.all(),
            message: text_of(refusal.message).unwrap_or_default().into_owned(),
        },
        (_, Some("subscribe")) => Heard::Ack {
            topics: asked.all(),
        },
        (_, Some("update")) => Heard::Data,
        _ => Heard::Other,
    })
}

pub(super) fn listing_requests() -> Vec<Ask> {
    ["usdt", "btc"]
        .into_iter()
        .map(|settle| Ask::new(&format!("/api/v4/futures/{settle}/contracts"), CONTRACTS))
        .collect()
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let contracts = frame.read::<Part<Contract<'_>>>()?;
    let rows = frame.each(&Place::ROOT, &contracts, |place, item| {
        let contract = place.object(item)?;
        let name = place.name("name", contract.name)?;
        let mut parts = name.split('_');
        let (base, quote) = (parts.next(), parts.next());
        // A contract of an inverse market is one USD, and its multiplier says 0.
        let (kind, size) = if says(contract.kind, "inverse") {
            ("inverse", "1".into())
        } else {
            ("linear", place.text("quanto_multiplier", contract.size)?)
        };
        let instrument = Instrument::read(
            base.unwrap_or_default(),
            quote.unwrap_or_default(),
            kind,
            &size,
        );
        let delisting = contract.delisting.map(serde_json::value::RawValue::get) == Some("true");
        Ok(Some(Listing {
            perpetual: parts.next().is_none(),
            trading: !delisting && (contract.status.is_none() || says(contract.status, "trading")),
            instrument: instrument.map_err(|message| place.fault(message))?,
            native_id: name.into_owned(),
        }))
    })?;
    Ok(Page::last(rows))
}

pub(super) fn missed(from: Millis, until: Millis) -> Vec<Ask> {
    let windows = stretches(from, until, WINDOW);
    let of_settle = |settle: &'static str| {
        windows
            .clone()
            .into_iter()
            .map(move |(from, until)| window(settle, from, until))
    };
    of_settle("usdt").chain(of_settle("btc")).collect()
}

fn window(settle: &str, from: Millis, until: Millis) -> Ask {
    Ask::new(&format!("/api/v4/futures/{settle}/liq_orders"), ORDERS)
        .with("from", from.0.div_euclid(1000))
        .with("to", (until.0 - 1).div_euclid(1000))
        .with("limit", PAGE)
        // Whole seconds: orders of the first one may be told by its start.
        .between(Millis(from.0.div_euclid(1000) * 1000), until)
}

/// A full reply may leave orders out, so its time is asked for in halves.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let rows = frame.read::<Part<Refusal<'_>>>()?;
    let rows = Place::ROOT.list(&rows)?.len();
    let length = ask.until.0 - ask.from.0;
    if rows < PAGE || length < 2000 {
        return Ok(Vec::new());
    }
    let settle = if ask.path.contains("/btc/") {
        "btc"
    } else {
        "usdt"
    };
    let middle = Millis((ask.from.0 + length / 2).div_euclid(1000) * 1000);
    Ok(vec![
        window(settle, ask.from, middle),
        window(settle, middle, ask.until),
    ])
}
