//! HTX.
//!
//! - Channel: `public.*.liquidation_orders`, and the REST path `/linear-swap-api/v3/swap_liquidation_orders` and its
//!   coin-margined counterparts. Bodies of `/v5/market/liquidation_orders` are decoded too. Frames are compressed with
//!   gzip. A ping must be answered with a pong that repeats its token.
//! - Side: `direction` is the side of the closing order; `sell` closed a long. Version 5 states this side (`side`) and
//!   the side of the position (`position_side`) in each row; a row in which they contradict is an error.
//! - Units: the price is the bankruptcy price. Linear rows have `amount` in the base and `trade_turnover` in the quote.
//!   In version 5, `amount` may be the number of contracts; the turnover shows which it is. Coin-margined rows have a
//!   number of contracts; the instrument gives the contract size in USD.
//! - Keys: only rows of REST bodies have an id, which is the last field of the key.
//! - Backfill: by contract, in ranges of two hours, from version 3. How version 5 pages is not documented.
//! - Source: <https://www.htx.com/en-us/opend/newApiPages/>
//!
//! There are three sockets: for contracts in USDT, for coin-settled swaps and for coin-settled futures. The exchange
//! sends the pings, and the client replies.

use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind, product};
use crate::feeds::decoding::frame::{
    Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules, Size,
};
use crate::feeds::decoding::json_path::{JsonPath, joined, says, text_of};
use crate::feeds::decoding::market_name::{MarketName, dashed};
use crate::feeds::decoding::raw_json::{JsonShape, RawJson, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Listing, SizeUnit, traded};
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::paging;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest, stretches};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    Control, FrameKind, Heartbeat, LifeSign, PingMessage, SentSubscriptions,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, KeyAmbiguity, SocketPlan};
use crate::model::Millis;

/// Last part of the names of topics with liquidations.
const LIQUIDATIONS: &str = "liquidation_orders";
/// Topic for the liquidations of all contracts of a socket.
const EVERYTHING: &str = "public.*.liquidation_orders";
/// Error code for a repeated subscription.
const REPEATED: &str = "2014";

/// Allowed requests in three seconds; the rest of the exchange's limit is left to other programs.
const REQUESTS: RateLimit = RateLimit::of("requests", 200, 3);
/// Maximum length of the time range of one request.
const WINDOW: i64 = 2 * Millis::HOUR;

const ORDERS: &str = "/linear-swap-api/v3/swap_liquidation_orders";
const LINEAR: &str = "/linear-swap-api/v1/swap_contract_info";
const SWAPS: &str = "/swap-api/v1/swap_contract_info";
const FUTURES: &str = "/api/v1/contract_contract_info";

/// Envelopes of the replies with liquidations and of those with markets.
const REPLY: ExchangeEnvelope = ExchangeEnvelope {
    code: "code",
    fine: "200",
    said: &["code", "msg", "message"],
};
const LISTED: ExchangeEnvelope = ExchangeEnvelope {
    code: "status",
    fine: "ok",
    said: &["err_code", "err_msg"],
};

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "htx",
        completeness: Completeness::Unknown,
        market,
        native: |base, quote| Some(format!("{base}-{quote}")),
        contract: |_| None,
        channels: Channels {
            // Last parts of public topics, and first parts of other topics.
            other: &[
                "accounts",
                "contract_elements",
                "contract_info",
                "funding_rate",
                "heartbeat",
                "market.",
                "matchOrders",
                "orders",
                "positions",
                "trade",
                "trigger_order",
            ],
            unreadable: &[],
        },
    },
    price_kinds: &[PriceKind::Bankruptcy],
    closed: None,
    hosts: &[
        ("socket", "wss://api.hbdm.com"),
        ("rest", "https://api.hbdm.com"),
    ],
    messages: Messages::of::<Htx>(),
    listen: SocketPlan {
        keyed: KeyAmbiguity::ById,
        lines: ConnectionPlans::Fixed(&[
            ("linear", "/linear-swap-notification", &[EVERYTHING]),
            ("swap", "/swap-notification", &[EVERYTHING]),
            ("futures", "/notification", &[EVERYTHING]),
        ]),
        subscription: |number, topics, _| {
            // Each message subscribes to one topic, and each connection has one topic.
            let topic = topics.first().map_or(EVERYTHING, String::as_str);
            json!({"op": "sub", "cid": number.to_string(), "topic": topic}).to_string()
        },
        heartbeat: Heartbeat {
            // The client's ping keeps the network path open. The exchange's pings, every five seconds, prove that the
            // connection is alive.
            beat: PingMessage::Protocol,
            every: Duration::from_secs(20),
            signs: &[
                (LifeSign::Ping, Duration::from_secs(30)),
                (LifeSign::Control, Duration::from_secs(90)),
            ],
        },
        // The exchange sends this topic directly after the subscription, then every minute.
        steady: |line| {
            Control::Topic(match line {
                "linear" => "public.BTC-USDT.contract_info",
                "swap" => "public.BTC-USD.contract_info",
                _ => "public.BTC.contract_info",
            })
        },
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        listings: || {
            vec![
                // Without `business_type`, the reply lists only swaps.
                RestRequest::new(LINEAR, REQUESTS).with("business_type", "all"),
                RestRequest::new(SWAPS, REQUESTS),
                RestRequest::new(FUTURES, REQUESTS),
            ]
        },
        read_listings,
        prices: Some(PriceEndpoints {
            // Coin-settled futures are omitted, because their names in price replies differ from those in the market
            // list.
            asks: || {
                vec![
                    RestRequest::new("/v2/linear-swap-ex/market/detail/batch_merged", REQUESTS)
                        .with("business_type", "all"),
                    RestRequest::new("/v2/swap-ex/market/detail/batch_merged", REQUESTS),
                ]
            },
            read: read_prices,
        }),
        look_back: 90 * Millis::DAY,
        missed,
        go_on,
        ..RestEndpoints::NONE
    },
};

/// Splits names such as `BTC-USDT`, `BTC-USDT-261225` and `BTC-USD`.
///
/// The name `BTC261225` has no quote; it is a contract in USD.
fn market(native_id: &str) -> MarketName<'_> {
    if native_id.contains('-') {
        return dashed(native_id);
    }
    let cut = native_id.len().saturating_sub(6);
    match native_id.split_at_checked(cut) {
        Some((base, date))
            if !base.is_empty() && date.bytes().all(|digit| digit.is_ascii_digit()) =>
        {
            MarketName::new(base, "USD")
        }
        _ => MarketName::joined(native_id),
    }
}

members!(Order<'a> {
    contract = "contract_code",
    pair = "pair",
    direction = "direction",
    side = "side",
    position_side = "position_side",
    volume = "volume",
    price = "price",
    bankrupt_price = "bankrupt_price",
    number = "query_id",
    id = "id",
    created_at = "created_at",
    liquidated_at = "liquidation_time",
    amount = "amount",
    turnover = "trade_turnover",
});

members!(Message<'a> {
    op = "op",
    topic = "topic",
    ping = "ping",
    pong = "pong",
    ch = "ch",
    subbed = "subbed",
    err_code = "err-code",
    err_msg = "err-msg",
    request = "cid",
    ts = "ts",
    code = "code",
    msg = "msg",
    reason = "message",
    status = "status",
    data: JsonShape<Order<'a>> = "data",
});

/// The message format of HTX.
struct Htx;

impl Protocol for Htx {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame or a REST body.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        let root = JsonPath::ROOT;
        let place = root.member("data");
        if let Some(op) = text_of(message.op) {
            if op != "notify" {
                return Ok(Vec::new());
            }
            let topic = root.name("topic", message.topic)?;
            let kind = topic.strip_prefix("public.").map_or(&*topic, last_part);
            return if kind == LIQUIDATIONS {
                frame.rows(&place, &message.data, order)
            } else {
                frame.other_channel(&root.member("topic"), kind)
            };
        }
        if let Some(channel) = text_of(message.ch) {
            return frame.other_channel(&root.member("ch"), &channel);
        }
        let spoken = [message.ping, message.pong, message.subbed, message.err_code];
        if spoken.iter().any(Option::is_some) {
            return Ok(Vec::new());
        }
        if message.code.is_none() && says(message.status, "ok") {
            return Err(place.fault(
                "belongs to a REST reply of version 1, which is not decoded; version 3 has swap_liquidation_orders",
            ));
        }
        let said = [message.code, message.msg, message.reason];
        REPLY.judge(frame, message.code, &said)?;
        frame.rows(&place, &message.data, order)
    }

    /// Returns the pong that repeats the token of a ping.
    fn answer(message: &Message<'_>) -> Option<String> {
        if let Some(token) = message.ping {
            return Some(format!("{{\"pong\":{}}}", token.text()));
        }
        if !says(message.op, "ping") {
            return None;
        }
        let token = message.ts.map_or("null", RawJson::text);
        Some(format!("{{\"op\":\"pong\",\"ts\":{token}}}"))
    }

    fn kind(
        _frame: &Frame<'_>,
        message: &Message<'_>,
        sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        let said = [message.err_code, message.err_msg];
        Ok(match text_of(message.op).as_deref() {
            Some("sub") => {
                let topics = match text_of(message.topic) {
                    Some(topic) => vec![topic.into_owned()],
                    None => sent.topics(text_of(message.request).as_deref()),
                };
                match text_of(message.err_code).as_deref() {
                    Some("0" | REPEATED) => FrameKind::Ack { topics },
                    _ => FrameKind::refused(topics, &said),
                }
            }
            Some("error") => FrameKind::refused(sent.all(), &said),
            Some("close") => FrameKind::Notice(joined(&said)),
            Some("notify")
                if text_of(message.topic)
                    .is_some_and(|topic| topic.ends_with(".contract_info")) =>
            {
                FrameKind::Control
            }
            Some("notify") => FrameKind::Data,
            _ => FrameKind::Other,
        })
    }
}

/// Returns the part of a topic after its contract.
fn last_part(topic: &str) -> &str {
    topic.rsplit_once('.').map_or(topic, |(_, kind)| kind)
}

/// Decodes a row; rows of version 5 have other names for direction, price, time and id.
fn order(frame: &Frame<'_>, place: &JsonPath<'_>, row: &Order<'_>) -> Result<Option<Event>, Error> {
    let native_id = place.name("contract_code", row.contract)?;
    let (word, side) = match (row.direction, row.side) {
        (None, Some(_)) => place.side("side", row.side, "sell", "buy")?,
        (direction, _) => place.side("direction", direction, "sell", "buy")?,
    };
    if row.position_side.is_some() {
        let (said, of_position) =
            place.side("position_side", row.position_side, "long", "short")?;
        if of_position != side {
            let message = format!("is {said:?} although the order is {word:?}");
            return Err(place.member("position_side").fault(message));
        }
    }
    let volume = place.positive("volume", row.volume)?;
    let price = match (row.price, row.bankrupt_price) {
        (None, Some(_)) => place.positive("bankrupt_price", row.bankrupt_price)?,
        (price, _) => place.positive("price", price)?,
    };
    let timestamp = match (row.created_at, row.liquidated_at) {
        (None, Some(_)) => place.instant("liquidation_time", row.liquidated_at)?,
        (created_at, _) => place.instant("created_at", created_at)?,
    };
    let pair = text_of(row.pair).filter(|pair| pair.contains('-'));
    let market = match (&pair, frame.knows(&native_id)) {
        (Some(pair), false) => dashed(pair),
        _ => frame.market(&native_id),
    };
    let quantity = if market.quote == "USD" || row.amount.is_none() {
        Size::Contracts(volume.value)
    } else {
        let amount = place.positive("amount", row.amount)?.value;
        match row.turnover {
            Some(_) => {
                let turnover = place.positive("trade_turnover", row.turnover)?.value;
                if amount == volume.value && !is_value(turnover, amount, price.value) {
                    Size::Quote(turnover)
                } else {
                    Size::Turnover(amount, turnover)
                }
            }
            None => Size::Base(amount),
        }
    };
    let mut dedupe_key = format!(
        "htx|{native_id}|{word}|{}|{}|{}",
        timestamp.0,
        volume.plain(),
        price.plain()
    );
    // Only rows of REST bodies have an id.
    if let Some(id) = text_of(row.number).or_else(|| text_of(row.id)) {
        dedupe_key.push_str("|id ");
        dedupe_key.push_str(&id);
    }
    let seen = RawLiquidation {
        native_id: &native_id,
        market,
        side,
        price: price.value,
        price_kind: PriceKind::Bankruptcy,
        size: quantity,
        timestamp: Some(timestamp),
        dedupe_key,
    };
    frame.event(place, seen).map(Some)
}

/// Whether `turnover` is the value of `amount` at `price`, up to one percent.
fn is_value(turnover: Decimal, amount: Decimal, price: Decimal) -> bool {
    product(amount, price)
        .is_some_and(|value| (value - turnover).abs() * Decimal::ONE_HUNDRED <= turnover)
}

members!(Listed<'a> {
    contract = "contract_code",
    pair = "pair",
    size = "contract_size",
    status = "contract_status",
});

fn read_listings(ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let markets: JsonShape<Listed<'_>> = LISTED.open(frame)?.read("data")?;
    let rows = frame.rows(
        &JsonPath::ROOT.member("data"),
        &markets,
        |_, place, listed| {
            let native_id = place.name("contract_code", listed.contract)?;
            let pair = text_of(listed.pair).filter(|pair| pair.contains('-'));
            let named = pair.as_deref().map_or_else(|| market(&native_id), dashed);
            let kind = if ask.path == LINEAR {
                "linear"
            } else {
                "inverse"
            };
            let size = place.text("contract_size", listed.size)?;
            Ok(Some(Listing {
                instrument: place.instrument(&named.base, &named.quote, kind, &size)?,
                // Dated contracts have a third part, or a date as suffix of a name without dashes.
                perpetual: native_id.split('-').count() == 2,
                trading: says(listed.status, "1"),
                native_id: native_id.into_owned(),
            }))
        },
    )?;
    Ok(RestPage::last(rows))
}

members!(Tick<'a> {
    contract = "contract_code",
    close = "close",
});

/// Decodes the last trade price of each contract.
fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let ticks: JsonShape<Tick<'_>> = LISTED.open(frame)?.read("ticks")?;
    quoted(&JsonPath::ROOT.member("ticks"), &ticks, |tick| {
        LastPrice::read(tick.contract, tick.close)
    })
}

/// Returns one backfill request per contract and range of two hours, newest range first.
///
/// Coin-settled futures are requested by coin.
fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    let mut contracts: Vec<(&str, &str, &str)> = traded(listings)
        .map(|listing| {
            let native_id = listing.native_id.as_str();
            match (listing.instrument.kind, listing.perpetual) {
                (SizeUnit::Linear, _) => (ORDERS, "contract", native_id),
                (SizeUnit::Inverse, true) => {
                    let path = "/swap-api/v3/swap_liquidation_orders";
                    (path, "contract", native_id)
                }
                (SizeUnit::Inverse, false) => {
                    let path = "/api/v3/contract_liquidation_orders";
                    (path, "symbol", listing.instrument.base.as_str())
                }
            }
        })
        .collect();
    contracts.sort_unstable();
    contracts.dedup();
    stretches(from, until, WINDOW)
        .into_iter()
        .flat_map(|(start, end)| {
            contracts.iter().map(move |(path, name, contract)| {
                RestRequest::new(path, REQUESTS)
                    .with(name, contract)
                    .with("trade_type", 0)
                    .with("start_time", start.0)
                    .with("end_time", end.0 - 1)
                    .with("direct", "prev")
                    .between(start, end)
            })
        })
        .collect()
}

/// Requests the next page, until a page is empty.
///
/// The page size is undocumented, so a short page does not mean the end. Pages are requested by time, because equal
/// rows are only distinguished within a page. If all rows of a page have the same instant, the next page is requested
/// by row id instead.
fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    let body: Message<'_> = frame.object()?;
    let place = JsonPath::ROOT.member("data");
    let list = place.list(&body.data)?;
    let times = frame.rows(&place, &body.data, |_, place, row| {
        place.instant("created_at", row.created_at).map(Some)
    })?;
    if times.is_empty() && !list.is_empty() {
        return Err(place.fault("has no row with a readable time"));
    }
    if times.iter().min() != times.iter().max() {
        return paging::until_empty(ask, &place, &times, page);
    }
    let mut least: Option<Decimal> = None;
    for (index, item) in list.iter().enumerate() {
        let place = place.item(index);
        let number = place.number("query_id", place.object(item)?.number)?.value;
        least = Some(least.map_or(number, |least| least.min(number)));
    }
    let next = least
        .map(|least| least.normalize().to_string())
        .filter(|least| ask.value("from_id") != Some(least));
    let next = next.map(|least| ask.again_with("from_id", least));
    Ok(next.into_iter().collect())
}

/// Builds the request for the first page of a time range.
fn page(ask: &RestRequest, from: Millis, until: Millis) -> RestRequest {
    ask.again_with("end_time", until.0 - 1)
        .without("from_id")
        .between(from, until)
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::centralized::htx::*;
    use crate::feeds::instruments::Instruments;
    use crate::feeds::testing::{come_down, next};

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["BTC-USDT", "BTCUSDT", "BTC"],
                ["BTC-USDT-261225", "BTCUSDT", "BTC"],
                ["BTC-USD", "BTCUSD", "BTC"],
                ["BTC261225", "BTCUSD", "BTC"],
                ["1INCH-USDT", "1INCHUSDT", "1INCH"],
            ],
        );
    }

    #[test]
    #[expect(clippy::unwrap_used, reason = "tests")]
    fn pages_follow_by_time_and_within_an_instant_by_number() {
        let ask = RestRequest::new(ORDERS, REQUESTS)
            .with("end_time", 1_790_000_000_999_i64)
            .between(Millis(1_790_000_000_000), Millis(1_790_000_001_000));
        let page = |ask: &RestRequest, rows: &[(i64, u64)]| {
            let rows: Vec<String> = rows
                .iter()
                .map(|(at, id)| format!(r#"{{"created_at":{at},"query_id":{id}}}"#))
                .collect();
            let body = format!(r#"{{"code":200,"data":[{}]}}"#, rows.join(","));
            next(&VENUE, ask, &body).unwrap().pop()
        };
        let parsed = |ask: &RestRequest| {
            let value = |name| ask.value(name).map(str::to_owned);
            (value("end_time"), value("from_id"))
        };
        let (late, early) = (1_790_000_000_900, 1_790_000_000_500);
        // The next request includes the last instant of the page again.
        let second = page(&ask, &[(late, 9), (early, 8)]).unwrap();
        assert_eq!(parsed(&second), (Some(early.to_string()), None));
        // If all rows of a page have one instant, the next page is requested by row id. After it, paging continues by
        // time.
        let third = page(&second, &[(early, 8), (early, 7)]).unwrap();
        assert_eq!(
            parsed(&third),
            (Some(early.to_string()), Some("7".to_owned()))
        );
        let fourth = page(&third, &[(early, 6), (early - 1, 5)]).unwrap();
        assert_eq!(parsed(&fourth), (Some((early - 1).to_string()), None));
        assert_eq!(page(&fourth, &[]), None);
        // A page without a readable time or row id is an error, not the end.
        for body in [
            r#"{"code":200,"data":[{"query_id":1}]}"#.to_owned(),
            format!(r#"{{"code":200,"data":[{{"created_at":{late}}}]}}"#),
        ] {
            assert!(next(&VENUE, &ask, &body).is_err(), "{body}");
        }
    }

    #[test]
    #[expect(clippy::unwrap_used, reason = "tests")]
    fn a_repeated_subscription_is_one_that_was_taken() {
        let instruments = Instruments::default();
        let hear = |code: u16, op: &str| {
            let text = format!(
                r#"{{"op":"{op}","cid":"1","topic":"public.*.liquidation_orders","err-code":{code},"err-msg":"Said."}}"#
            );
            let frame = VENUE.frame(&text, None, &instruments);
            VENUE
                .read(&frame, &SentSubscriptions::default(), true)
                .kind
                .unwrap()
        };
        let topics = vec![EVERYTHING.to_owned()];
        let taken = FrameKind::Ack {
            topics: topics.clone(),
        };
        assert_eq!(hear(0, "sub"), taken);
        assert_eq!(hear(2014, "sub"), taken);
        let refused = FrameKind::Refused {
            topics,
            message: "2011 Said.".to_owned(),
        };
        assert_eq!(hear(2011, "sub"), refused);
        assert_eq!(
            hear(1000, "close"),
            FrameKind::Notice("1000 Said.".to_owned())
        );
    }
}
