//! Gate.
//!
//! - Channel: `futures.public_liquidates`, and the REST body of `/futures/<settle>/liq_orders`. Each settlement
//!   currency has its own socket, with one topic for all its contracts, and its own REST path. Since 2026-08-20 the
//!   socket has every order; earlier frames have at most one per contract and second.
//! - Side: on the socket `size` is the order: negative closed a long. In the REST body `size` is the position, with
//!   the opposite sign; `order_size` is the order.
//! - Units: contracts, sized by the instrument (`quanto_multiplier`, or one USD on inverse contracts). The socket has
//!   the order's price, the REST body the fill's.
//! - Keys: the socket has milliseconds, the REST body whole seconds and the fill. Both begin with the same fields.
//! - Backfill: by time, in halves if a page is full.
//! - Source: <https://www.gate.com/docs/developers/futures/ws/en/>

use std::fmt::Write as _;

use rust_decimal::Decimal;
use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{Channels, Frame, RawLiquidation, Rules, Size};
use crate::feeds::decoding::json_path::{ExactNumber, JsonPath, says, shown, text_of};
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::exchanges::centralized::gate_stats::TOTALS;
use crate::feeds::instruments::{Listing, SizeUnit};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest, stretches};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    CALM, Control, FrameKind, Heartbeat, PingMessage, SentSubscriptions,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, KeyAmbiguity, SocketPlan};
use crate::model::{Millis, Side};

/// The channel of liquidations.
const LIQUIDATIONS: &str = "futures.public_liquidates";
/// The channel of last prices, and its topic with steady traffic.
const TICKERS: &str = "futures.tickers";
const USDT_CONTROL: &str = "futures.tickers BTC_USDT";
const BTC_CONTROL: &str = "futures.tickers BTC_USD";
/// The topic of all contracts of a socket.
const EVERYTHING: &[&str] = &["!all"];
/// Settlement currencies.
const SETTLES: [&str; 3] = ["usdt", "btc", "usd1"];

/// Requests in ten seconds, by path, a tenth below the limit.
const CONTRACTS: RateLimit = RateLimit::of("contracts", 180, 10);
const ORDERS: RateLimit = RateLimit::of("orders", 180, 10);

/// Longest range of one request.
const WINDOW: i64 = Millis::HOUR;
const SECOND: i64 = 1000;
/// Most rows of a reply.
const ROWS: usize = 1000;

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "gate",
        completeness: Completeness::Complete,
        market,
        native: |base, quote| Some(format!("{base}_{quote}")),
        contract: |_| None,
        channels: Channels {
            other: &[
                "announcement.",
                "futures.auto",
                "futures.balances",
                "futures.book_ticker",
                "futures.candlesticks",
                "futures.contract_",
                "futures.login",
                "futures.obu",
                "futures.order",
                "futures.ping",
                "futures.pong",
                "futures.position",
                "futures.reduce_risk_limits",
                TICKERS,
                "futures.trades",
                "futures.usertrades",
                "options.",
                "spot.",
            ],
            unreadable: &[(
                "futures.liquidates",
                "it has the liquidations of one account; those of the market are in \"futures.public_liquidates\"",
            )],
        },
    },
    price_kinds: &[PriceKind::Order, PriceKind::Fill],
    hosts: &[
        ("socket", "wss://fx-ws.gateio.ws"),
        ("rest", "https://api.gateio.ws"),
    ],
    decode,
    listen: SocketPlan {
        keyed: KeyAmbiguity::BySecond,
        lines: ConnectionPlans::Fixed(&[
            ("usdt", "/v4/ws/usdt", EVERYTHING),
            ("btc", "/v4/ws/btc", EVERYTHING),
            ("usd1", "/v4/ws/usd1", EVERYTHING),
        ]),
        // Requests decimal sizes instead of whole contracts.
        headers: &[("x-gate-size-decimal", "1")],
        subscription: |_, topics, now| {
            let one = topics.first().and_then(|topic| topic.split_once(' '));
            let (channel, payload) = match one {
                Some((channel, contract)) => (channel, vec![contract]),
                None => (LIQUIDATIONS, topics.iter().map(String::as_str).collect()),
            };
            json!({
                "time": now.0 / 1000,
                "channel": channel,
                "event": "subscribe",
                "payload": payload,
            })
            .to_string()
        },
        control,
        heartbeat: Heartbeat {
            signs: CALM,
            ..Heartbeat::each_20_seconds(PingMessage::Stamped(
                r#"{"time":"#,
                r#","channel":"futures.ping"}"#,
            ))
        },
        // Contracts settled in USD1 are not documented.
        steady: |line| match line {
            "usdt" => Control::Topic(USDT_CONTROL),
            "btc" => Control::Topic(BTC_CONTROL),
            _ => Control::None,
        },
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        listings: || {
            let of = |settle| {
                let path = format!("/api/v4/futures/{settle}/contracts");
                RestRequest::new(&path, CONTRACTS).about(settle)
            };
            SETTLES.map(of).into()
        },
        read_listings,
        prices: Some(PriceEndpoints::listed(read_prices)),
        // Undocumented; the exchange returns fewer rows if it stores fewer.
        look_back: 30 * Millis::DAY,
        missed,
        go_on,
        totals: Some(TOTALS),
        ..RestEndpoints::NONE
    },
};

/// Names: `BTC_USDT`, `BTC_USD`, `BTC_USDT_20261225`.
fn market(native_id: &str) -> MarketName<'_> {
    let mut parts = native_id.split('_');
    match (parts.next(), parts.next()) {
        (Some(base), Some(quote)) => MarketName::new(base, quote),
        _ => MarketName::joined(native_id),
    }
}

members!(Row<'a> {
    contract = "contract",
    time = "time",
    time_ms = "time_ms",
    price = "price",
    size = "size",
    order_size = "order_size",
    order_price = "order_price",
    fill_price = "fill_price",
    left = "left",
});

members!(Message<'a> {
    channel = "channel",
    event = "event",
    result: JsonShape<Row<'a>> = "result",
    label = "label",
    said = "message",
    error: JsonShape<Refusal<'a>> = "error",
});

members!(Refusal<'a> {
    code = "code",
    message = "message",
});

/// The events of a frame or a body.
fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let root = JsonPath::ROOT;
    let message = match frame.read_plainly::<JsonShape<Message<'_>>>()? {
        JsonShape::Object(message) => message,
        JsonShape::List(_) => {
            let rows = frame.read::<JsonShape<Row<'_>>>()?;
            return frame.rows(&root, &rows, liquidated_order);
        }
        JsonShape::Missing | JsonShape::Other => return Err(frame.unknown()),
    };
    if let Some(label) = text_of(message.label) {
        let said = text_of(message.said).unwrap_or_default();
        return Err(frame.refused(root.member("label"), &format!("{label} {said}")));
    }
    if message.channel.is_none() {
        return Err(frame.unknown());
    }
    // Other events are acknowledgements, and "all" is a snapshot.
    if !says(message.event, "update") && !says(message.event, "all") {
        return Ok(Vec::new());
    }
    let channel = root.name("channel", message.channel)?;
    if channel != LIQUIDATIONS {
        return frame.other_channel(&root.member("channel"), &channel);
    }
    let place = root.member("result");
    match &message.result {
        JsonShape::Object(row) => {
            let order = frame.alone(order(frame, &place, row))?;
            Ok(order.into_iter().collect())
        }
        rows => frame.rows(&place, rows, |frame, place, row| {
            order(frame, place, row).map(Some)
        }),
    }
}

/// A row of the socket.
fn order(frame: &Frame<'_>, place: &JsonPath<'_>, row: &Row<'_>) -> Result<Event, Error> {
    let native_id = place.name("contract", row.contract)?;
    let ordered = place.number("size", row.size)?;
    let price = place.positive("price", row.price)?;
    let timestamp = match row.time_ms {
        Some(_) => place.instant("time_ms", row.time_ms)?,
        None => place.instant("time", row.time)?,
    };
    let side = position_side(place, "size", ordered.value, Side::Short)?;
    let mut dedupe_key = shared_key(&native_id, timestamp, &ordered, &price);
    // Earlier frames have whole seconds.
    let millis = timestamp.0 % SECOND;
    if millis > 0 {
        // Writing to a string cannot fail.
        let _ = write!(dedupe_key, "|{millis}ms");
    }
    frame.event(
        place,
        RawLiquidation {
            native_id: &native_id,
            market: frame.market(&native_id),
            side,
            price: price.value,
            price_kind: PriceKind::Order,
            size: Size::Contracts(ordered.value.abs()),
            timestamp: Some(timestamp),
            dedupe_key,
        },
    )
}

/// A row of the REST body; an unfilled order is not an event.
fn liquidated_order(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    row: &Row<'_>,
) -> Result<Option<Event>, Error> {
    let native_id = place.name("contract", row.contract)?;
    let position = place.number("size", row.size)?;
    let ordered = place.number("order_size", row.order_size)?;
    let order_price = place.number("order_price", row.order_price)?;
    let left = place.number("left", row.left)?;
    let timestamp = place.instant("time", row.time)?;
    // The position may be empty by the time of the report, but the order's sign remains.
    let side = if position.value.is_zero() {
        position_side(place, "order_size", ordered.value, Side::Short)?
    } else {
        position_side(place, "size", position.value, Side::Long)?
    };
    let Some(executed) = ordered.value.abs().checked_sub(left.value.abs()) else {
        return Err(place.member("left").fault("does not fit a decimal exactly"));
    };
    if executed.is_zero() {
        return Ok(None);
    }
    if executed < Decimal::ZERO {
        let message = format!(
            "{} is more than was ordered ({})",
            shown(&left.text),
            shown(&ordered.text)
        );
        return Err(place.member("left").fault(message));
    }
    let price = place.positive("fill_price", row.fill_price)?;
    let shared = shared_key(&native_id, timestamp, &ordered, &order_price);
    let (position, left, fill) = (position.plain(), left.plain(), price.plain());
    let seen = RawLiquidation {
        native_id: &native_id,
        market: frame.market(&native_id),
        side,
        price: price.value,
        price_kind: PriceKind::Fill,
        size: Size::Contracts(executed),
        timestamp: Some(timestamp),
        dedupe_key: format!("{shared}|{position}|{left}|{fill}"),
    };
    frame.event(place, seen).map(Some)
}

/// The side of the position; a size above zero means `above`.
fn position_side(
    place: &JsonPath<'_>,
    name: &str,
    count: Decimal,
    above: Side,
) -> Result<Side, Error> {
    if count.is_zero() {
        return Err(place.member(name).fault("is zero, so the side is unknown"));
    }
    Ok(match (count.is_sign_positive(), above) {
        (true, side) => side,
        (false, Side::Long) => Side::Short,
        (false, Side::Short) => Side::Long,
    })
}

/// The part of a key that socket and REST share: second, order size and order price.
fn shared_key(
    native_id: &str,
    at: Millis,
    size: &ExactNumber<'_>,
    price: &ExactNumber<'_>,
) -> String {
    let (size, price) = (size.plain(), price.plain());
    format!("gate|{native_id}|{}|{size}|{price}", at.0 / SECOND)
}

fn control(frame: &Frame<'_>, asked: &SentSubscriptions) -> Result<FrameKind, Error> {
    let message: Message<'_> = frame.object()?;
    if says(message.channel, "futures.pong") {
        return Ok(FrameKind::Pong);
    }
    let is_control = says(message.channel, TICKERS);
    if !is_control && !says(message.channel, LIQUIDATIONS) {
        return Ok(FrameKind::Other);
    }
    // A reply names its channel.
    let topics = || {
        let mut topics = asked.all();
        topics.retain(|topic| topic.starts_with(TICKERS) == is_control);
        topics
    };
    Ok(match (text_of(message.event).as_deref(), &message.error) {
        (Some("subscribe"), JsonShape::Object(refusal)) => {
            FrameKind::refused(topics(), &[refusal.code, refusal.message])
        }
        (Some("subscribe"), _) => FrameKind::Ack { topics: topics() },
        (Some("update"), _) if is_control => FrameKind::Control,
        (Some("update"), _) => FrameKind::Data,
        _ => FrameKind::Other,
    })
}

members!(Contract<'a> {
    name = "name",
    kind = "type",
    multiplier = "quanto_multiplier",
    status = "status",
    in_delisting = "in_delisting",
    mark = "mark_price",
});

fn read_listings(ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let contracts = frame.read_plainly::<JsonShape<Contract<'_>>>()?;
    let settled_in_coin = ask.market.as_deref() == Some("btc");
    let rows = frame.rows(&JsonPath::ROOT, &contracts, |_, place, contract| {
        let native_id = place.name("name", contract.name)?;
        let (base, quote) = native_id.split_once('_').ok_or_else(|| {
            place
                .member("name")
                .fault("has no underscore between base and quote")
        })?;
        let kind = place.text("type", contract.kind)?;
        let (kind, size) = match (&*kind, settled_in_coin) {
            // One USD; the multiplier of these contracts is 0.
            ("inverse", _) => ("inverse", "1".into()),
            ("direct", false) => (
                "linear",
                place.text("quanto_multiplier", contract.multiplier)?,
            ),
            // Quanto contracts: the size depends on two prices.
            (other, _) => {
                let message = format!("{other:?} is not a contract with a fixed size");
                return Err(place.member("type").fault(message));
            }
        };
        let in_delisting = contract
            .in_delisting
            .is_some_and(|raw| raw.text() == "true");
        let status = text_of(contract.status);
        Ok(Some(Listing {
            instrument: place.instrument(base, quote, kind, &size)?,
            perpetual: true,
            trading: !in_delisting && status.is_none_or(|status| status == "trading"),
            native_id: native_id.into_owned(),
        }))
    })?;
    Ok(RestPage::last(rows))
}

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let contracts = frame.read_plainly::<JsonShape<Contract<'_>>>()?;
    quoted(&JsonPath::ROOT, &contracts, |contract| {
        LastPrice::read(contract.name, contract.mark)
    })
}

/// One request per settlement currency and hour, newest first. Times are whole seconds here.
fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    let from = Millis(from.0.div_euclid(SECOND) * SECOND);
    let until = Millis(until.on(SECOND - 1).0.div_euclid(SECOND) * SECOND);
    let settles: Vec<&str> = SETTLES
        .into_iter()
        .filter(|settle| {
            listings
                .iter()
                .any(|listing| settled_in(listing) == *settle)
        })
        .collect();
    stretches(from, until, WINDOW)
        .into_iter()
        .flat_map(|(start, end)| {
            settles.iter().map(move |settle| {
                let ask = RestRequest::new(&format!("/api/v4/futures/{settle}/liq_orders"), ORDERS);
                within(&ask.with("limit", ROWS), start, end)
            })
        })
        .collect()
}

/// The request for a part of the range.
fn within(ask: &RestRequest, start: Millis, end: Millis) -> RestRequest {
    ask.again_with("from", start.0 / SECOND)
        .again_with("to", end.0 / SECOND - 1)
        .between(start, end)
}

fn settled_in(listing: &Listing) -> String {
    let instrument = &listing.instrument;
    match instrument.kind {
        SizeUnit::Inverse => instrument.base.to_lowercase(),
        SizeUnit::Linear => instrument.quote.to_lowercase(),
    }
}

/// A full page may omit rows at either end, so its range is requested again in halves.
fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    let rows = frame.read_plainly::<JsonShape<serde::de::IgnoredAny>>()?;
    let root = JsonPath::ROOT;
    if root.list(&rows)?.len() < ROWS {
        return Ok(Vec::new());
    }
    let seconds = (ask.until.0 - ask.from.0) / SECOND;
    if seconds < 2 {
        return Err(root.fault(format!(
            "{ROWS} rows in one second; further rows of that second cannot be requested"
        )));
    }
    let middle = ask.from.on(seconds / 2 * SECOND);
    Ok(vec![
        within(ask, middle, ask.until),
        within(ask, ask.from, middle),
    ])
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use crate::feeds::exchanges::centralized::gate::*;
    use crate::feeds::testing::{come_down, next, perpetual};

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["BTC_USDT", "BTCUSDT", "BTC"],
                ["BTC_USD", "BTCUSD", "BTC"],
                ["BTC_USDT_20261225", "BTCUSDT", "BTC"],
            ],
        );
    }

    #[test]
    fn a_full_page_is_asked_for_in_halves_down_to_a_second() {
        let listing = perpetual("BTC_USDT".to_owned(), "BTC", "USDT", true);
        // Both ends are extended to whole seconds.
        let asks = missed(
            &[listing],
            Millis(1_790_000_000_001),
            Millis(1_790_000_003_999),
        );
        let [ask] = asks.as_slice() else {
            panic!("{asks:?}")
        };
        let span = |ask: &RestRequest| {
            let of = |name| ask.value(name).unwrap().to_owned();
            (of("from"), of("to"))
        };
        let seconds = |from: u8, to: u8| (format!("179000000{from}"), format!("179000000{to}"));
        assert_eq!(ask.path, "/api/v4/futures/usdt/liq_orders");
        assert_eq!(span(ask), seconds(0, 3));
        let full = format!("[{}]", ["{}"; ROWS].join(","));
        assert_eq!(next(&VENUE, ask, "[{}]").unwrap(), []);
        let halves = next(&VENUE, ask, &full).unwrap();
        let spans: Vec<_> = halves.iter().map(span).collect();
        assert_eq!(spans, [seconds(2, 3), seconds(0, 1)]);
        let quarters = next(&VENUE, halves.first().unwrap(), &full).unwrap();
        let fault = next(&VENUE, quarters.first().unwrap(), &full).unwrap_err();
        assert!(fault.to_string().contains("one second"), "{fault}");
    }
}
