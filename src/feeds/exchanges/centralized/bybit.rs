//! Bybit v5.
//!
//! - Channel: `allLiquidation.<symbol>`, on two sockets for linear and inverse contracts. Each market has a topic, so
//!   the market list is requested first. The control topic is the best bid and ask of one market: the documentation
//!   promises a message every three seconds even without a change.
//! - Retired: `liquidation.<symbol>`, which occurs in recordings of 2021 to 2025 and has at most one order per second.
//!   It is decoded, but the client does not subscribe to it.
//! - Side: `S`, or `side` in the retired topic, is that of the position; `Buy` is a liquidated long.
//! - Units: `p` is the bankruptcy price. `v` is in base units on linear contracts and in USD on inverse contracts; the
//!   instrument gives the kind of contract.
//! - Backfill: none, because REST has no liquidations.
//! - Source: <https://bybit-exchange.github.io/docs/v5/websocket/public/all-liquidation>

use std::borrow::Cow;
use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind, product};
use crate::feeds::decoding::frame::{Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules};
use crate::feeds::decoding::json_path::{ExactNumber, JsonPath, says, shown, text_of};
use crate::feeds::decoding::market_name;
use crate::feeds::decoding::market_name::{MarketName, perpetual};
use crate::feeds::decoding::raw_json::{JsonMember, JsonShape, RawJson, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Listing, SizeUnit, traded};
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::bars::{BarCells, BarLayout, bars};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{
    OpenInterestReading, RateLimit, RestPage, RestRequest, RestSeries,
};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    ConnectionPlan, Control, FrameKind, Heartbeat, PingMessage, STEADY, SentSubscriptions, batched,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};
use crate::model::{Millis, Side, quote_of_pair, sort_small, without_month};

/// Control topics of the linear and the inverse sockets.
const LINEAR_CONTROL: &str = "orderbook.1.BTCPERP";
const INVERSE_CONTROL: &str = "orderbook.1.BTCUSD";

/// Maximum number of topics per message, as measured.
const BATCH: usize = 200;
/// Maximum total length of a connection's topics in characters.
///
/// The control topic is not included.
const CHARACTERS: usize = 21_000 - LINEAR_CONTROL.len() - 3;

/// Allowed requests in five seconds.
///
/// This is a tenth below the exchange's limit, because exceeding it costs a ban of ten minutes.
const REQUESTS: RateLimit = RateLimit::of("requests", 500, 5);
/// Maximum number of bars in a reply.
const BARS: i64 = 1000;
/// Maximum number of open-interest readings in a reply.
const READINGS: i64 = 200;

const REPLY: ExchangeEnvelope = ExchangeEnvelope {
    code: "retCode",
    fine: "0",
    said: &["retCode", "retMsg"],
};

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "bybit",
        completeness: Completeness::Complete,
        market,
        native: market_name::joined_perpetual,
        contract: |_| None,
        channels: Channels {
            other: &[
                "adlAlert",
                "candle.",
                "dcp",
                "execution",
                "greeks",
                "insurance",
                "instrument_info.",
                "kline",
                "lt.",
                "order",
                "outboundAccountInfo",
                "position",
                "priceLimit",
                "publicTrade.",
                "rfq.",
                "spread.",
                "stop_order",
                "system.",
                "ticketInfo",
                "tickers",
                "trade.",
                "wallet",
            ],
            unreadable: &[],
        },
    },
    price_kinds: &[PriceKind::Bankruptcy],
    closed: None,
    hosts: &[
        ("socket", "wss://stream.bybit.com"),
        ("rest", "https://api.bybit.com"),
    ],
    messages: Messages::of::<Bybit>(),
    listen: SocketPlan {
        lines: ConnectionPlans::ByMarket(lines),
        subscription: |number, topics, _| {
            json!({"op": "subscribe", "req_id": number.to_string(), "args": topics}).to_string()
        },
        heartbeat: Heartbeat {
            signs: STEADY,
            ..Heartbeat::each_20_seconds(PingMessage::Text(r#"{"op":"ping"}"#))
        },
        steady: |line| {
            Control::Topic(if line.starts_with("inverse") {
                INVERSE_CONTROL
            } else {
                LINEAR_CONTROL
            })
        },
        steady_frames: &[r#"{"topic":"orderbook.1."#],
        redundant_connections: 2,
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        // Duration of the ban after more than 600 requests in five seconds.
        ban: Some(Duration::from_mins(10)),
        listings: || {
            let of = |category| {
                RestRequest::new("/v5/market/instruments-info", REQUESTS)
                    .with("category", category)
                    .with("limit", 1000)
            };
            ["linear", "inverse"].map(of).into()
        },
        read_listings,
        prices: Some(PriceEndpoints {
            asks: || {
                let of = |category| {
                    RestRequest::new("/v5/market/tickers", REQUESTS).with("category", category)
                };
                ["linear", "inverse"].map(of).into()
            },
            read: read_prices,
        }),
        bars: Some(RestSeries {
            look_back: i64::MAX,
            length: BARS * Millis::MINUTE,
            ask: |market, start, end| {
                RestRequest::new("/v5/market/kline", REQUESTS)
                    .with("category", "linear")
                    .with("symbol", market)
                    .with("interval", 1)
                    .with("start", start.0)
                    .with("end", end.0 - 1)
                    .with("limit", BARS)
            },
            read: |frame| {
                let columns = BarLayout {
                    volume: 5,
                    closed: None,
                };
                let found = found::<Vec<BarCells<'_>>>(frame)?;
                let place = JsonPath::ROOT.member("result");
                bars(frame, &place.member("list"), &found.list, columns)
            },
        }),
        open_interest: Some(RestSeries {
            // Data is available since the launch of the market; callers request shorter ranges.
            look_back: 3650 * Millis::DAY,
            length: READINGS * OpenInterestReading::APART,
            ask: |market, start, end| {
                RestRequest::new("/v5/market/open-interest", REQUESTS)
                    .with("category", "linear")
                    .with("symbol", market)
                    .with("intervalTime", "5min")
                    .with("startTime", start.0)
                    .with("endTime", end.0 - 1)
                    .with("limit", READINGS)
            },
            read: read_open_interest,
        }),
        ..RestEndpoints::NONE
    },
};

/// Splits names such as `BTCUSDT`, `BTCPERP`, `BTCUSD`, `BTCUSDZ26`, `BTC-26DEC26` and `BTCUSDT-26DEC26`.
fn market(native_id: &str) -> MarketName<'_> {
    if let Some((pair, _)) = native_id.split_once('-') {
        return match quote_of_pair(pair) {
            Some(_) => MarketName::joined(pair),
            None => MarketName::new(pair, "USDC"),
        };
    }
    if let Some(pair) = without_month(native_id).filter(|pair| pair.ends_with("USD")) {
        return MarketName::joined(pair);
    }
    perpetual(native_id)
}

members!(Liquidation<'a> {
    time = "T",
    symbol = "s",
    side = "S",
    size = "v",
    price = "p",
});

members!(RetiredLiquidation<'a> {
    id = "id",
    updated_time = "updatedTime",
    time = "time",
    symbol = "symbol",
    side = "side",
    size = "size",
    qty = "qty",
    price = "price",
});

members!(RetiredMessage<'a> {
    data: JsonShape<RetiredLiquidation<'a>> = "data",
});

members!(Message<'a> {
    topic = "topic",
    data: JsonShape<Liquidation<'a>> = "data",
    op = "op",
    success = "success",
    said = "ret_msg",
    request = "req_id",
    reply = "ret_code",
});

/// The message format of Bybit.
struct Bybit;

impl Protocol for Bybit {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        let root = JsonPath::ROOT;
        let Some(topic) = text_of(message.topic) else {
            return match (message.op.or(message.success), message.reply) {
                (Some(_), _) => Ok(Vec::new()),
                (None, Some(_)) => Err(root.member("ret_code").fault(
                    "belongs to a REST reply before version 5, such as liq-records, which is not decoded",
                )),
                (None, None) => Err(frame.unknown()),
            };
        };
        if topic.starts_with("liquidation.") {
            return retired(frame);
        }
        if !topic.starts_with("allLiquidation.") {
            return frame.other_channel(&root.member("topic"), &topic);
        }
        frame.rows(&root.member("data"), &message.data, liquidation)
    }

    fn kind(
        _frame: &Frame<'_>,
        message: &Message<'_>,
        sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        if let Some(topic) = text_of(message.topic) {
            return Ok(if topic.starts_with("orderbook.") {
                FrameKind::Control
            } else {
                FrameKind::Data
            });
        }
        if says(message.op, "ping") || says(message.op, "pong") || says(message.said, "pong") {
            return Ok(FrameKind::Pong);
        }
        let topics = sent.topics(text_of(message.request).as_deref());
        let taken = message.success.map(RawJson::text) == Some("true");
        Ok(if taken {
            FrameKind::Ack { topics }
        } else {
            FrameKind::refused(topics, &[message.said])
        })
    }
}

/// Decodes a frame of the retired topic.
///
/// The data is one row, or a list of rows with ids, which recording programs took from REST bodies.
fn retired(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let message: RetiredMessage<'_> = frame.object()?;
    let place = JsonPath::ROOT.member("data");
    match &message.data {
        JsonShape::List(_) => frame.rows(&place, &message.data, retired_liquidation),
        one => {
            let row = place.object(one)?;
            let event = frame.alone(retired_liquidation(frame, &place, row))?;
            Ok(event.flatten().into_iter().collect())
        }
    }
}

fn retired_liquidation(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    row: &RetiredLiquidation<'_>,
) -> Result<Option<Event>, Error> {
    let row = BybitRow {
        native_id: place.name("symbol", row.symbol)?,
        side: place.side("side", row.side, "Buy", "Sell")?,
        // Version 5 renamed the quantity and the time.
        traded: match row.qty {
            Some(_) => place.positive("qty", row.qty)?,
            None => place.positive("size", row.size)?,
        },
        price: place.positive("price", row.price)?,
        timestamp: match row.time {
            Some(_) => place.instant("time", row.time)?,
            None => place.instant("updatedTime", row.updated_time)?,
        },
        id: text_of(row.id),
    };
    // The retired topic had at most one order per second, so it is incomplete.
    Ok(Some(Event {
        sampled: true,
        ..row.event(frame, place)?
    }))
}

fn liquidation(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    row: &Liquidation<'_>,
) -> Result<Option<Event>, Error> {
    let row = BybitRow {
        native_id: place.name("s", row.symbol)?,
        side: place.side("S", row.side, "Buy", "Sell")?,
        traded: place.positive("v", row.size)?,
        price: place.positive("p", row.price)?,
        timestamp: place.instant("T", row.time)?,
        id: None,
    };
    row.event(frame, place).map(Some)
}

/// A row of the current or the retired topic; an order has the same key in both.
struct BybitRow<'a> {
    native_id: Cow<'a, str>,
    /// The text of the side, and its meaning.
    side: (Cow<'a, str>, Side),
    traded: ExactNumber<'a>,
    price: ExactNumber<'a>,
    timestamp: Millis,
    id: Option<Cow<'a, str>>,
}

impl BybitRow<'_> {
    fn event(&self, frame: &Frame<'_>, place: &JsonPath<'_>) -> Result<Event, Error> {
        let (native_id, (written, side)) = (&*self.native_id, &self.side);
        let mut dedupe_key = format!(
            "bybit|{native_id}|{written}|{}|{}|{}",
            self.timestamp.0,
            self.traded.plain(),
            self.price.plain()
        );
        if let Some(id) = &self.id {
            dedupe_key.push_str("|id ");
            dedupe_key.push_str(id);
        }
        let market = frame.market(native_id);
        let traded = frame.base_unless_inverse(native_id, &market, self.traded.value);
        let seen = RawLiquidation {
            native_id,
            market,
            side: *side,
            price: self.price.value,
            price_kind: PriceKind::Bankruptcy,
            size: traded,
            timestamp: Some(self.timestamp),
            dedupe_key,
        };
        frame.event(place, seen)
    }
}

fn lines(listings: &[Listing]) -> Vec<ConnectionPlan> {
    let mut lines = Vec::new();
    for (kind, name, path) in [
        (SizeUnit::Linear, "linear", "/v5/public/linear"),
        (SizeUnit::Inverse, "inverse", "/v5/public/inverse"),
    ] {
        let mut topics: Vec<String> = traded(listings)
            .filter(|listing| listing.instrument.kind == kind)
            .map(|listing| format!("allLiquidation.{}", listing.native_id))
            .collect();
        topics.sort();
        let mut part = 1;
        while !topics.is_empty() {
            let mut characters = 0;
            let fitting = topics
                .iter()
                .take_while(|topic| {
                    // The limit also counts the two quotation marks and the comma of each topic.
                    characters += topic.len() + 3;
                    characters <= CHARACTERS
                })
                .count()
                .max(1);
            let rest = topics.split_off(fitting);
            let name = if part == 1 {
                name.to_owned()
            } else {
                format!("{name} {part}")
            };
            lines.push(ConnectionPlan::of(&name, path, batched(topics, BATCH)));
            topics = rest;
            part += 1;
        }
    }
    lines
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(
    default,
    bound(deserialize = "'de: 'a, List: serde::Deserialize<'de> + Default")
)]
struct Found<'a, List> {
    list: List,
    #[serde(borrow, rename = "nextPageCursor")]
    cursor: JsonMember<'a>,
}

/// Returns the content of a successful reply.
fn found<'a, List>(frame: &Frame<'a>) -> Result<Found<'a, List>, Error>
where
    List: serde::Deserialize<'a> + Default,
{
    let found: Option<_> = REPLY.open(frame)?.read("result")?;
    found.ok_or_else(|| JsonPath::ROOT.member("result").fault("is missing"))
}

members!(Listed<'a> {
    symbol = "symbol",
    contract_type = "contractType",
    status = "status",
    base = "baseCoin",
    quote = "quoteCoin",
});

fn read_listings(ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let found = found::<JsonShape<Listed<'_>>>(frame)?;
    let kind = ask.value("category").unwrap_or("linear");
    let place = JsonPath::ROOT.member("result");
    // The size of a contract is one base unit or one USD.
    let rows = frame.rows(&place.member("list"), &found.list, |_, place, market| {
        let base = place.text("baseCoin", market.base)?;
        let quote = place.text("quoteCoin", market.quote)?;
        let contract_type = place.text("contractType", market.contract_type)?;
        Ok(Some(Listing {
            native_id: place.name("symbol", market.symbol)?.into_owned(),
            instrument: place.instrument(&base, &quote, kind, "1")?,
            perpetual: contract_type.ends_with("Perpetual"),
            trading: says(market.status, "Trading"),
        }))
    })?;
    let rest = text_of(found.cursor)
        .filter(|cursor| !cursor.is_empty())
        .map(|cursor| ask.again_with("cursor", cursor));
    Ok(RestPage {
        rows,
        rest: rest.into_iter().collect(),
    })
}

members!(Ticker<'a> {
    symbol = "symbol",
    mark = "markPrice",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let found = found::<JsonShape<Ticker<'_>>>(frame)?;
    let place = JsonPath::ROOT.member("result");
    quoted(&place.member("list"), &found.list, |ticker| {
        LastPrice::read(ticker.symbol, ticker.mark)
    })
}

members!(Interest<'a> {
    both = "openInterest",
    single = "singleOpenInterest",
    timestamp = "timestamp",
});

/// Decodes open interest counted on one side.
///
/// The documentation says that `openInterest` is the sum of both sides. This value is halved only if a row that also
/// has `singleOpenInterest` confirms the ratio.
fn read_open_interest(frame: &Frame<'_>) -> Result<Vec<OpenInterestReading>, Error> {
    let found = found::<JsonShape<Interest<'_>>>(frame)?;
    let place = JsonPath::ROOT.member("result");
    let list = place.member("list");
    let rows = frame.rows(&list, &found.list, |_, place, row| {
        let read = |name, cell: JsonMember<'_>| match cell {
            Some(_) => place.amount(name, cell).map(|number| Some(number.value)),
            None => Ok(None),
        };
        Ok(Some((
            place.instant("timestamp", row.timestamp)?,
            read("openInterest", row.both)?,
            read("singleOpenInterest", row.single)?,
        )))
    })?;
    let twice = rows.iter().any(|(_, both, single)| {
        matches!((both, single), (Some(both), Some(single)) if is_twice(*both, *single))
    });
    let mut readings = Vec::with_capacity(rows.len());
    for (timestamp, both, single) in rows {
        let half = both
            .filter(|_| twice)
            .and_then(|both| product(both, Decimal::new(5, 1)));
        if let Some(open_interest) = single.or(half) {
            readings.push(OpenInterestReading {
                timestamp,
                open_interest: open_interest.normalize(),
            });
            continue;
        }
        // It is unknown whether the value counts one side, so the row is skipped with an error.
        frame.note(list.fault(format!(
            "the row of {timestamp} has {} and no singleOpenInterest, and no row shows their ratio",
            shown(&both.map(|both| both.to_string()).unwrap_or_default())
        )))?;
    }
    sort_small(&mut readings, |one, other| {
        one.timestamp.cmp(&other.timestamp)
    });
    Ok(readings)
}

/// Whether `both` is twice `single`, with a tolerance of 1 for rounding.
fn is_twice(both: Decimal, single: Decimal) -> bool {
    product(single, Decimal::TWO)
        .and_then(|twice| both.checked_sub(twice))
        .is_some_and(|apart| !single.is_zero() && apart.abs() <= Decimal::ONE)
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::centralized::bybit::*;
    use crate::feeds::testing::{come_down, perpetual};

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["BTCUSDT", "BTCUSDT", "BTC"],
                ["BTCPERP", "BTCUSDC", "BTC"],
                ["PERPUSDT", "PERPUSDT", "PERP"],
                ["BTCUSD", "BTCUSD", "BTC"],
                ["BTCUSDZ26", "BTCUSD", "BTC"],
                ["BTC-26DEC26", "BTCUSDC", "BTC"],
                ["BTCUSDT-26DEC26", "BTCUSDT", "BTC"],
                ["SHIB1000USDT", "SHIB1000USDT", "SHIB"],
                ["10000LADYSUSDT", "10000LADYSUSDT", "LADYS"],
                ["1000000BABYDOGEUSDT", "1000000BABYDOGEUSDT", "BABYDOGE"],
            ],
        );
    }

    #[test]
    fn topics_are_spread_over_connections_by_their_characters() {
        let listings: Vec<Listing> = (0..1000)
            .map(|number| perpetual(format!("COIN{number:04}USDT"), "COIN", "USDT", number != 7))
            .collect();
        let lines = lines(&listings);
        let of = |line: &ConnectionPlan| line.batches.concat();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines.iter().map(|line| of(line).len()).sum::<usize>(), 999);
        for line in &lines {
            let characters: usize = of(line).iter().map(|topic| topic.len() + 3).sum();
            assert!(characters <= CHARACTERS, "{characters}");
            assert!(line.batches.iter().all(|batch| batch.len() <= BATCH));
        }
        let all: Vec<String> = lines.iter().flat_map(of).collect();
        assert!(!all.contains(&"allLiquidation.COIN0007USDT".to_owned()));
    }
}
