//! Gate.
//!
//! - Channel: `futures.public_liquidates`, and the REST path `/futures/<settle>/liq_orders`. Each settlement currency
//!   has a separate socket, with one topic for all its contracts, and a separate REST path. Since 2026-08-20, the
//!   socket sends every order; earlier frames have at most one order per contract and second.
//! - Side: on the socket, `size` is the signed size of the order; a negative size closed a long. In the REST body,
//!   `size` is the signed size of the position, with the opposite sign. There, `order_size` is the size of the order.
//! - Units: contracts; the instrument gives the contract size (`quanto_multiplier`, or one USD on inverse contracts).
//!   The socket sends the order price, the REST body sends the fill price.
//! - Keys: socket keys end in milliseconds; REST keys have whole seconds and end in the fill. Socket and REST keys
//!   begin with the same fields.
//! - Backfill: by time; the time range of a full page is split in halves.
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
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest, stretches};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    CALM, Control, FrameKind, Heartbeat, PingMessage, SentSubscriptions,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, KeyAmbiguity, SocketPlan};
use crate::model::{Millis, Side};

/// Name of the channel with liquidations.
const LIQUIDATIONS: &str = "futures.public_liquidates";
/// Name of the channel with last prices, and its control topics.
const TICKERS: &str = "futures.tickers";
const USDT_CONTROL: &str = "futures.tickers BTC_USDT";
const BTC_CONTROL: &str = "futures.tickers BTC_USD";
/// The topic for all contracts of a socket.
const EVERYTHING: &[&str] = &["!all"];
/// Settlement currencies, each with a separate socket.
const SETTLES: [&str; 3] = ["usdt", "btc", "usd1"];

/// Allowed requests in ten seconds for each path, a tenth below the exchange's limit.
const CONTRACTS: RateLimit = RateLimit::of("contracts", 180, 10);
const ORDERS: RateLimit = RateLimit::of("orders", 180, 10);

/// Maximum length of the time range of one request.
const WINDOW: i64 = Millis::HOUR;
const SECOND: i64 = 1000;
/// Maximum number of rows in a reply.
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
                "it contains the liquidations of one account; the liquidations of the whole market are in \
                 \"futures.public_liquidates\"",
            )],
        },
    },
    price_kinds: &[PriceKind::Order, PriceKind::Fill],
    closed: None,
    hosts: &[
        ("socket", "wss://fx-ws.gateio.ws"),
        ("rest", "https://api.gateio.ws"),
    ],
    messages: Messages::of::<Gate>(),
    listen: SocketPlan {
        keyed: KeyAmbiguity::BySecond,
        lines: ConnectionPlans::Fixed(&[
            ("usdt", "/v4/ws/usdt", EVERYTHING),
            ("btc", "/v4/ws/btc", EVERYTHING),
            ("usd1", "/v4/ws/usd1", EVERYTHING),
        ]),
        // With this header, the exchange sends decimal sizes instead of whole contracts.
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
        heartbeat: Heartbeat {
            signs: CALM,
            ..Heartbeat::each_20_seconds(PingMessage::Stamped(
                r#"{"time":"#,
                r#","channel":"futures.ping"}"#,
            ))
        },
        // The documentation names no contracts settled in USD1, so this socket has no control topic.
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
        // The exchange does not document how far back rows are available. It returns fewer rows if it stores fewer.
        look_back: 30 * Millis::DAY,
        missed,
        go_on,
        totals: Some(TOTALS),
        ..RestEndpoints::NONE
    },
};

/// Splits names such as `BTC_USDT`, `BTC_USD` and `BTC_USDT_20261225`.
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

/// The message format of Gate.
struct Gate;

impl Protocol for Gate {
    type Message<'a> = JsonShape<Message<'a>>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<JsonShape<Message<'a>>, Error> {
        frame.read_plainly()
    }

    /// Decodes the events of a frame or a REST body.
    fn events(frame: &Frame<'_>, message: &JsonShape<Message<'_>>) -> Result<Vec<Event>, Error> {
        let root = JsonPath::ROOT;
        let message = match message {
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
        // Frames with other values of `event` are acknowledgements. The value "all" marks a snapshot.
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

    fn kind(
        frame: &Frame<'_>,
        message: &JsonShape<Message<'_>>,
        sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        let JsonShape::Object(message) = message else {
            return Err(frame.unknown());
        };
        if says(message.channel, "futures.pong") {
            return Ok(FrameKind::Pong);
        }
        let is_control = says(message.channel, TICKERS);
        if !is_control && !says(message.channel, LIQUIDATIONS) {
            return Ok(FrameKind::Other);
        }
        // A reply names its channel but not its topic.
        let topics = || {
            let mut topics = sent.all();
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
}

/// Decodes a row of the socket.
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
    // Older frames have whole seconds.
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

/// Decodes a row of the REST body; `None` for an unfilled order.
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
    // The position may already be zero when the row is written, but the sign of the order remains.
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
            "{} is more than the ordered amount ({})",
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

/// Returns the side of the position; a size above zero means the side `above`.
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

/// Returns the part of a key that socket and REST have in common.
///
/// It consists of second, order size and order price.
fn shared_key(
    native_id: &str,
    at: Millis,
    size: &ExactNumber<'_>,
    price: &ExactNumber<'_>,
) -> String {
    let (size, price) = (size.plain(), price.plain());
    format!("gate|{native_id}|{}|{size}|{price}", at.0 / SECOND)
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
            // The contract size is one USD; the multiplier of these contracts is 0.
            ("inverse", _) => ("inverse", "1".into()),
            ("direct", false) => (
                "linear",
                place.text("quanto_multiplier", contract.multiplier)?,
            ),
            // The USD value of a quanto contract depends on two prices, so its size is not fixed.
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

/// Returns one backfill request per settlement currency and hour, newest hour first.
///
/// The times in these requests are whole seconds.
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

/// Builds the request for a part of the time range.
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

/// Requests the two halves of a time range again if its page is full.
///
/// A full page may lack rows at either end of the range.
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
        // Both ends of the range are extended to whole seconds.
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
