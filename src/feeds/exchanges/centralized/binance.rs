//! Binance, USD-margined and coin-margined contracts.
//!
//! - Channel: `!forceOrder@arr`. Since 2026-06-30, the stream of either host has both kinds of contract, so one host is
//!   sufficient. The member `st` distinguishes them (1 is USD-margined, 2 is coin-margined); it is at the top level or
//!   inside `o`. Only the path `/market` sends liquidations: the old path acknowledges the subscription but sends no
//!   data. A mark price on the same socket and a check of the message rate detect such a connection.
//! - Side: the side of the closing order; `SELL` closed a long.
//! - Units: the price is the average fill price `ap`. The quantity is the accumulated fill `z`, in base units or, if
//!   coin-margined, in contracts. Some member names in the JSON differ only in letter case, such as `s` and `S`.
//! - Backfill: none.
//! - Source: <https://developers.binance.com/docs/derivatives>

use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind, is_above_zero};
use crate::feeds::decoding::frame::{Channels, Frame, RawLiquidation, Rules, Size};
use crate::feeds::decoding::json_path::{JsonPath, says, shown, text_of};
use crate::feeds::decoding::market_name;
use crate::feeds::decoding::market_name::{MarketName, before};
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::Listing;
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::bars::{BarCells, BarLayout, bars};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{
    OpenInterestReading, RateLimit, RestPage, RestRequest, RestSeries,
};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    Control, FrameKind, Heartbeat, PingMessage, STEADY, SentSubscriptions,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};
use crate::model::{Millis, push_decimal};

/// The control topic. It has frequent messages, so its silence means that the socket is dead.
pub(crate) const CONTROL: &str = "btcusdt@markPrice@1s";

/// Request weight per minute for both REST hosts; the rest is left to other programs with the same IP address.
const WEIGHT: RateLimit = RateLimit::of("weight", 2000, 60);
/// Allowed requests for statistics in five minutes; these requests have no weight.
const STATISTICS: RateLimit = RateLimit::of("statistics", 900, 300);

/// Maximum number of bars in a reply, and the weight of such a request.
const BARS: i64 = 1500;
const BARS_WEIGHT: u32 = 10;
/// A request for at most this many bars has a low weight.
const FEW_BARS: i64 = 99;
/// Weight of the request for the prices of all markets.
const PRICES_WEIGHT: u32 = 10;
/// Maximum number of open-interest readings in a reply.
const READINGS: i64 = 500;

/// Capacity in bytes reserved for a key, in addition to the contract name.
const KEY: usize = 56;

/// Event types that are not decoded, of market streams and user streams.
pub(crate) const CHANNELS: Channels = Channels {
    other: &[
        "24hr",
        "ACCOUNT_",
        "ALGO_UPDATE",
        "CONDITIONAL_ORDER_TRIGGER_REJECT",
        "GRID_UPDATE",
        "MARGIN_CALL",
        "ORDER_TRADE_UPDATE",
        "STRATEGY_UPDATE",
        "TRADE_LITE",
        "aggTrade",
        "assetIndexUpdate",
        "avgPrice",
        "balanceUpdate",
        "bookTicker",
        "compositeIndex",
        "continuous_kline",
        "contractInfo",
        "depthUpdate",
        "executionReport",
        "indexPrice",
        "kline",
        "listStatus",
        "listenKeyExpired",
        "markPrice",
        "outboundAccount",
        "tradingSession",
        "trade",
    ],
    unreadable: &[],
};

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "binance",
        completeness: Completeness::Sampled,
        market,
        native: |base, quote| match quote {
            "USD" => Some(format!("{base}USD_PERP")),
            _ => market_name::joined(base, quote),
        },
        contract: |_| None,
        channels: CHANNELS,
    },
    price_kinds: &[PriceKind::AverageFill, PriceKind::Order],
    closed: None,
    hosts: &[
        ("socket", "wss://fstream.binance.com"),
        ("rest", "https://fapi.binance.com"),
        ("rest_coin", "https://dapi.binance.com"),
    ],
    messages: MESSAGES,
    listen: SocketPlan {
        witnesses: &["bybit", "okx"],
        ..LISTEN
    },
    rest: RestEndpoints {
        listings: || {
            vec![
                RestRequest::new("/fapi/v1/exchangeInfo", WEIGHT),
                RestRequest::new("/dapi/v1/exchangeInfo", WEIGHT).host("rest_coin"),
            ]
        },
        read_listings,
        prices: Some(PriceEndpoints {
            asks: || {
                vec![
                    RestRequest::new("/fapi/v1/premiumIndex", WEIGHT).weighing(PRICES_WEIGHT),
                    RestRequest::new("/dapi/v1/premiumIndex", WEIGHT)
                        .host("rest_coin")
                        .weighing(PRICES_WEIGHT),
                ]
            },
            read: read_prices,
        }),
        bars: Some(RestSeries {
            look_back: i64::MAX,
            length: BARS * Millis::MINUTE,
            ask: ask_for_bars,
            read: |frame| {
                let columns = BarLayout {
                    volume: 5,
                    closed: None,
                };
                bars(
                    frame,
                    &JsonPath::ROOT,
                    &frame.read::<Vec<BarCells<'_>>>()?,
                    columns,
                )
            },
        }),
        open_interest: Some(RestSeries {
            // One hour below the limit of 30 days, because time passes until the request arrives.
            look_back: 30 * Millis::DAY - Millis::HOUR,
            length: READINGS * OpenInterestReading::APART,
            ask: |market, start, end| {
                RestRequest::new("/futures/data/openInterestHist", STATISTICS)
                    .with("symbol", market)
                    .with("period", "5m")
                    .with("startTime", start.0)
                    .with("endTime", end.0 - 1)
                    .with("limit", READINGS)
            },
            read: read_open_interest,
        }),
        ..RestEndpoints::NONE
    },
};

/// The socket plan of Binance, which exchanges with the same API share.
pub(crate) const LISTEN: SocketPlan = SocketPlan {
    lines: ConnectionPlans::Fixed(&[("liquidations", "/market/ws", &["!forceOrder@arr", CONTROL])]),
    subscription: |number, topics, _| {
        json!({"method": "SUBSCRIBE", "params": topics, "id": number}).to_string()
    },
    heartbeat: Heartbeat {
        beat: PingMessage::Protocol,
        every: Duration::from_secs(20),
        signs: STEADY,
    },
    steady: |_| Control::Topic(CONTROL),
    steady_frames: &[r#"{"e":"markPriceUpdate""#],
    // The exchange closes a socket after 24 hours.
    rotation: Some(Duration::from_hours(23)),
    redundant_connections: 2,
    ..SocketPlan::NONE
};

/// Splits names such as `BTCUSDT`, `BTCUSDT_261225` and `BTCUSD_PERP`.
pub(crate) fn market(native_id: &str) -> MarketName<'_> {
    MarketName::joined(before(native_id, b'_'))
}

members!(Order<'a> {
    symbol = "s",
    side = "S",
    _kind: IgnoredAny = "o",
    _time_in_force: IgnoredAny = "f",
    _asked_for: IgnoredAny = "q",
    price = "p",
    average = "ap",
    _status: IgnoredAny = "X",
    _filled_last: IgnoredAny = "l",
    filled = "z",
    time = "T",
    _pair: IgnoredAny = "ps",
    class = "st",
});

members!(
    /// An event, the envelope of an event, or a reply to a request.
    Message<'a> {
    stream = "stream",
    data: Option<Box<JsonShape<Message<'a>>>> = "data",
    e = "e",
    _sent: IgnoredAny = "E",
    o: JsonShape<Order<'a>> = "o",
    st = "st",
    method = "method",
    id = "id",
    executed = "executedQty",
});

/// The message format of Binance, which Aster also uses.
struct Binance;

/// Reads messages in Binance's format.
pub(crate) const MESSAGES: Messages = Messages::of::<Binance>();

impl Protocol for Binance {
    type Message<'a> = JsonShape<Message<'a>>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<JsonShape<Message<'a>>, Error> {
        frame.read_plainly()
    }

    fn events(frame: &Frame<'_>, message: &JsonShape<Message<'_>>) -> Result<Vec<Event>, Error> {
        // A frame nearly always has one event.
        let mut events = Vec::with_capacity(1);
        part(frame, &JsonPath::ROOT, message, &mut events)?;
        Ok(events)
    }

    /// Classifies a reply to a request, or a frame of the control topic.
    fn kind(
        frame: &Frame<'_>,
        message: &JsonShape<Message<'_>>,
        sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        match message {
            JsonShape::Object(message) => match text_of(message.e.or(message.stream)) {
                Some(kind) if kind.contains("markPrice") => Ok(FrameKind::Control),
                Some(_) => Ok(FrameKind::Other),
                None => Ok(reply(&frame.object()?, sent)),
            },
            JsonShape::List(_) => Ok(FrameKind::Data),
            JsonShape::Missing | JsonShape::Other => Err(frame.unknown()),
        }
    }
}

fn part(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    part: &JsonShape<Message<'_>>,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    match part {
        JsonShape::Object(one) => message(frame, place, one, events),
        JsonShape::List(several) => several.iter().enumerate().try_for_each(|(index, item)| {
            let place = place.item(index);
            message(frame, &place, place.object(item)?, events)
        }),
        JsonShape::Missing | JsonShape::Other => Err(frame.unknown()),
    }
}

fn message(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    message: &Message<'_>,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    if says(message.e, "forceOrder") {
        events.push(force_order(frame, place, message)?);
        return Ok(());
    }
    if let Some(kind) = text_of(message.e) {
        return frame.other_channel(&place.member("e"), &kind).map(drop);
    }
    if let (Some(_), Some(data)) = (message.stream, &message.data) {
        return part(frame, &place.member("data"), data, events);
    }
    if message.method.or(message.id).is_some() {
        return Ok(());
    }
    if message.executed.is_some() {
        let reason = "is an order of GET /fapi/v1/allForceOrders, which Binance has removed; it is not decoded";
        return Err(place.fault(reason));
    }
    Err(frame.unknown())
}

fn force_order(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    message: &Message<'_>,
) -> Result<Event, Error> {
    let place = place.member("o");
    let order = place.object(&message.o)?;
    let native_id = place.name("s", order.symbol)?;
    let (word, side) = place.side("S", order.side, "SELL", "BUY")?;
    let filled = place.positive("z", order.filled)?;
    let average = place.amount("ap", order.average)?;
    let timestamp = place.instant("T", order.time)?;
    let (price, price_kind) = if is_above_zero(average.value) {
        (average, PriceKind::AverageFill)
    } else {
        (place.positive("p", order.price)?, PriceKind::Order)
    };
    let coin_margined = match text_of(order.class.or(message.st)).as_deref() {
        Some("1") => false,
        Some("2") => true,
        Some(class) => {
            let message = format!(
                "{} is not a class of contract; 1 or 2 is allowed",
                shown(class)
            );
            return Err(place.member("st").fault(message));
        }
        // Dated contracts have an underscore; only coin-margined contracts are quoted in `USD`.
        None => native_id
            .split_once('_')
            .is_some_and(|(pair, _)| pair.ends_with("USD")),
    };
    let amount = if coin_margined {
        Size::Contracts(filled.value)
    } else {
        Size::Base(filled.value)
    };
    let mut digits = itoa::Buffer::new();
    let when = digits.format(timestamp.0);
    let parts = [frame.name(), &native_id, &word, when];
    let mut dedupe_key = String::with_capacity(native_id.len() + KEY);
    for part in parts {
        dedupe_key.push_str(part);
        dedupe_key.push('|');
    }
    // Files of the same orders have other trailing zeros.
    push_decimal(&mut dedupe_key, filled.value);
    dedupe_key.push('|');
    push_decimal(&mut dedupe_key, price.value);
    frame.event(
        &place,
        RawLiquidation {
            native_id: &native_id,
            market: frame.market(&native_id),
            side,
            price: price.value,
            price_kind,
            size: amount,
            timestamp: Some(timestamp),
            dedupe_key,
        },
    )
}

members!(Refusal<'a> {
    code = "code",
    message = "msg",
});

members!(Reply<'a> {
    id = "id",
    error: JsonShape<Refusal<'a>> = "error",
    code = "code",
    msg = "msg",
});

/// Classifies a reply to a subscription.
fn reply(reply: &Reply<'_>, sent: &SentSubscriptions) -> FrameKind {
    let topics = sent.topics(text_of(reply.id).as_deref());
    match &reply.error {
        JsonShape::Object(refusal) => FrameKind::refused(topics, &[refusal.code, refusal.message]),
        _ if reply.code.is_some() => FrameKind::refused(topics, &[reply.code, reply.msg]),
        _ => FrameKind::Ack { topics },
    }
}

members!(Listed<'a> {
    symbol = "symbol",
    contract_type = "contractType",
    status = "status",
    contract_status = "contractStatus",
    base = "baseAsset",
    quote = "quoteAsset",
    contract_size = "contractSize",
});

fn read_listings(ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let symbols: JsonShape<Listed<'_>> = frame.members()?.read("symbols")?;
    let is_inverse = ask.host == "rest_coin";
    let place = JsonPath::ROOT.member("symbols");
    let rows = frame.rows(&place, &symbols, |_, place, market| {
        // Only coin-margined contracts have a size other than one base unit.
        let (kind, size) = if is_inverse {
            ("inverse", place.text("contractSize", market.contract_size)?)
        } else {
            ("linear", "1".into())
        };
        let base = place.text("baseAsset", market.base)?;
        let quote = place.text("quoteAsset", market.quote)?;
        Ok(Some(Listing {
            native_id: place.name("symbol", market.symbol)?.into_owned(),
            instrument: place.instrument(&base, &quote, kind, &size)?,
            perpetual: says(market.contract_type, "PERPETUAL"),
            trading: says(market.status.or(market.contract_status), "TRADING"),
        }))
    })?;
    Ok(RestPage::last(rows))
}

members!(Marked<'a> {
    symbol = "symbol",
    mark = "markPrice",
});

pub(crate) fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let rows = frame.read_plainly::<JsonShape<Marked<'_>>>()?;
    quoted(&JsonPath::ROOT, &rows, |row| {
        LastPrice::read(row.symbol, row.mark)
    })
}

fn ask_for_bars(market: &str, start: Millis, end: Millis) -> RestRequest {
    let bars = ((end.0 - start.0) / Millis::MINUTE).clamp(1, BARS);
    RestRequest::new("/fapi/v1/klines", WEIGHT)
        .with("symbol", market)
        .with("interval", "1m")
        .with("startTime", start.0)
        .with("endTime", end.0 - 1)
        .with("limit", bars)
        .weighing(if bars <= FEW_BARS { 1 } else { BARS_WEIGHT })
}

members!(Statistic<'a> {
    open_interest = "sumOpenInterest",
    timestamp = "timestamp",
});

fn read_open_interest(frame: &Frame<'_>) -> Result<Vec<OpenInterestReading>, Error> {
    let rows = frame.read_plainly::<JsonShape<Statistic<'_>>>()?;
    frame.rows(&JsonPath::ROOT, &rows, |_, place, row| {
        Ok(Some(OpenInterestReading {
            timestamp: place.instant("timestamp", row.timestamp)?,
            open_interest: place.amount("sumOpenInterest", row.open_interest)?.value,
        }))
    })
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::centralized::binance::*;
    use crate::feeds::testing::come_down;

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["BTCUSDT", "BTCUSDT", "BTC"],
                ["BTCUSDC", "BTCUSDC", "BTC"],
                ["BTCUSDT_261225", "BTCUSDT", "BTC"],
                ["BTCUSD_PERP", "BTCUSD", "BTC"],
                ["BTCUSD_261225", "BTCUSD", "BTC"],
                ["BNBUSD_PERP", "BNBUSD", "BNB"],
                ["DOTUSD_PERP", "DOTUSD", "DOT"],
                ["ETHBTC", "ETHBTC", "ETH"],
                ["1INCHUSDT", "1INCHUSDT", "1INCH"],
                ["0GUSDT", "0GUSDT", "0G"],
                ["4USDT", "4USDT", "4"],
                ["2ZUSDT", "2ZUSDT", "2Z"],
                ["1000PEPEUSDT", "1000PEPEUSDT", "PEPE"],
                ["币安人生USDT", "币安人生USDT", "币安人生"],
            ],
        );
    }
}
