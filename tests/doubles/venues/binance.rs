//! Binance: `!forceOrder@arr` on `/market`, and the answers of `fapi`, `dapi` and `futures/data`.
//!
//! The paths without a class still take connections, acknowledge, list what was subscribed to, and send nothing. Those of
//! the coin-margined host, which has no classes, stand behind `/dstream`.

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::doubles::book::Book;
use crate::doubles::chart;
use crate::doubles::dialect::Dialect;
use crate::doubles::market::{Market, Unit};
use crate::doubles::quota::Quota;
use crate::doubles::rest::{Answer, Ask, first_bars, last_bars, length_of};
use crate::doubles::session::Session;
use crate::doubles::truth::Truth;

#[derive(Debug)]
pub struct Binance;

pub const UM: &str = "um";
const CM: &str = "cm";

static MARKETS: [Market; 10] = [
    Market::new(
        "BTCUSDT",
        ["BTC", "USDT"],
        Unit::Base,
        UM,
        (826_519, 1),
        (1, 3),
    ),
    Market::new(
        "ETHUSDT",
        ["ETH", "USDT"],
        Unit::Base,
        UM,
        (244_626, 2),
        (1, 3),
    ),
    Market::new(
        "SOLUSDT",
        ["SOL", "USDT"],
        Unit::Base,
        UM,
        (18_040, 2),
        (1, 0),
    ),
    Market::new(
        "1000PEPEUSDT",
        ["1000PEPE", "USDT"],
        Unit::Base,
        UM,
        (104_321, 7),
        (1, 0),
    ),
    Market::new(
        "BTCUSDC",
        ["BTC", "USDC"],
        Unit::Base,
        UM,
        (826_502, 1),
        (1, 3),
    ),
    Market::new(
        "BTCUSDT_270326",
        ["BTC", "USDT"],
        Unit::Base,
        UM,
        (836_002, 1),
        (1, 3),
    ),
    Market::new(
        "BTCUSD_PERP",
        ["BTC", "USD"],
        Unit::Dollars("100"),
        CM,
        (826_493, 1),
        (1, 0),
    ),
    Market::new(
        "ETHUSD_PERP",
        ["ETH", "USD"],
        Unit::Dollars("10"),
        CM,
        (244_615, 2),
        (1, 0),
    ),
    Market::new(
        "NEWUSDT",
        ["NEW", "USDT"],
        Unit::Base,
        UM,
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
    Market::new(
        "NEWUSD_PERP",
        ["NEW", "USD"],
        Unit::Dollars("10"),
        CM,
        (1235, 4),
        (1, 0),
    )
    .unlisted(),
];

/// Most messages of a client in a second.
const MESSAGES: u64 = 10;
/// How far back the open interest goes.
const MONTH: i64 = 30 * 86_400_000;

impl Dialect for Binance {
    fn venue(&self) -> &'static str {
        "binance"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        let path = session.path.clone();
        let routed = path
            .strip_prefix("/market")
            .or_else(|| path.strip_prefix("/dstream"));
        let elsewhere = path
            .strip_prefix("/public")
            .or_else(|| path.strip_prefix("/private"));
        session.dead_end = routed.is_none();
        take_path(session, routed.or(elsewhere).unwrap_or(&path))
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        speak(session, text, MESSAGES, 1024, book);
    }

    fn beat(&self, session: &mut Session, beat: u64, muted: bool, book: &Book) {
        beat_with(session, beat, muted, (180, 600), book);
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        topics(market)
    }

    fn render(&self, topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        truths
            .iter()
            .map(|truth| force_order(topic, truth, true))
            .collect()
    }

    fn door(&self) -> Option<Quota> {
        Some(Quota::new("300 connections in 5 minutes", 300, 300, 429))
    }

    fn quota(&self, ask: &Ask) -> Option<(Quota, u64)> {
        if ask.path.starts_with("/futures/data/") {
            return Some((Quota::new("1000 requests in 5 minutes", 1000, 300, 429), 1));
        }
        let weight = if ask.path.ends_with("/klines") {
            match ask.number("limit").unwrap_or(500) {
                ..100 => 1,
                100..500 => 2,
                500..=1000 => 5,
                _ => 10,
            }
        } else {
            1
        };
        Some((
            Quota::new("weight of 2400 in a minute", 2400, 60, 429),
            weight,
        ))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        if let Some(rest) = ask.behind("/fapi/v1/") {
            return futures(rest, UM, ask, book);
        }
        if let Some(rest) = ask.behind("/dapi/v1/") {
            return futures(rest, CM, ask, book);
        }
        match ask.path.as_str() {
            "/futures/data/openInterestHist" => open_interest_history(ask, book),
            _ => Answer::not_found(),
        }
    }
}

/// Subscriptions out of the path and the query, in the two styles of the venue.
pub fn take_path(session: &mut Session, path: &str) -> Result<(), u16> {
    if let Some(rest) = path.strip_prefix("/ws") {
        *session.note("combined") = 0;
        for name in rest.split('/').filter(|name| !name.is_empty()) {
            session.take(format!("ws {name}"));
        }
        return Ok(());
    }
    if path == "/stream" {
        *session.note("combined") = 1;
        let streams = session.query.get("streams").cloned().unwrap_or_default();
        for name in streams.split('/').filter(|name| !name.is_empty()) {
            session.take(format!("stream {name}"));
        }
        return Ok(());
    }
    Err(404)
}

/// A request of a client: subscriptions, and the list of them.
pub fn speak(session: &mut Session, text: &str, messages: u64, streams: usize, book: &Book) {
    let second = book.now().unsigned_abs() / 1000;
    if *session.note("second") != second {
        *session.note("second") = second;
        *session.note("messages") = 0;
    }
    *session.note("messages") += 1;
    if *session.note("messages") > messages {
        session
            .over_limit
            .push(format!("more than {messages} messages in a second"));
        session.close(1008, "Too many requests");
        return;
    }
    let Ok(request) = serde_json::from_str::<Value>(text) else {
        session.strange.push(text.to_owned());
        session.say(json!({"error": {"code": 3, "msg": "Invalid JSON"}}).to_string());
        return;
    };
    let id = &request["id"];
    let style = if *session.note("combined") == 1 {
        "stream "
    } else {
        "ws "
    };
    let names: Vec<String> = request["params"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    match request["method"].as_str() {
        Some("SUBSCRIBE") => {
            if session.topics.len() + names.len() > streams {
                session
                    .over_limit
                    .push(format!("more than {streams} streams"));
                session.close(1008, "Too many streams");
                return;
            }
            if let Some(name) = names.iter().find(|name| book.is_refused(name)) {
                session.refuse(name.clone());
                let error = json!({"code": 2, "msg": format!("Invalid request: {name}")});
                return session.say(json!({"error": error, "id": id}).to_string());
            }
            for name in names {
                session.take(format!("{style}{name}"));
            }
            session.say(json!({"result": null, "id": id}).to_string());
        }
        Some("UNSUBSCRIBE") => {
            for name in names {
                session.topics.remove(&format!("{style}{name}"));
            }
            session.say(json!({"result": null, "id": id}).to_string());
        }
        Some("LIST_SUBSCRIPTIONS") => {
            let mut names: Vec<&str> = session
                .topics
                .iter()
                .filter_map(|topic| topic.strip_prefix(style))
                .collect();
            names.sort_unstable();
            let listed = json!({"result": names, "id": id}).to_string();
            session.say(listed);
        }
        _ => {
            session.strange.push(text.to_owned());
            session.say(
                json!({"error": {"code": 2, "msg": "Invalid request: unknown method"}, "id": id})
                    .to_string(),
            );
        }
    }
}

/// Pings every so many seconds, an end where none is answered in time, and the subscribed mark prices.
pub fn beat_with(session: &mut Session, beat: u64, muted: bool, pings: (u64, u64), book: &Book) {
    let (every, within) = pings;
    if beat.is_multiple_of(every) {
        session.ping();
    }
    if u64::from(session.unanswered) * every > within {
        session.close(1008, "Pong timeout");
        return;
    }
    if muted {
        return;
    }
    let now = book.now();
    let mut said = Vec::new();
    for topic in &session.topics {
        let Some((style, name)) = topic.split_once(' ') else {
            continue;
        };
        let data = if let Some((symbol, "markPrice@1s" | "markPrice")) = name.split_once('@') {
            let market = book
                .listed()
                .into_iter()
                .find(|market| market.native_id.eq_ignore_ascii_case(symbol));
            market.map(|market| mark_price(market, now, book))
        } else if name.starts_with("!markPrice@arr") {
            Some(
                book.listed()
                    .into_iter()
                    .map(|market| mark_price(market, now, book))
                    .collect(),
            )
        } else {
            None
        };
        if let Some(data) = data {
            said.push(match style {
                "stream" => json!({"stream": name, "data": data}),
                _ => data,
            });
        }
    }
    for message in said {
        session.say(message.to_string());
    }
}

fn mark_price(market: &Market, now: i64, book: &Book) -> Value {
    let price = chart::price(book.seed(), market, now).to_string();
    json!({
        "e": "markPriceUpdate", "E": now, "s": market.native_id, "p": price, "P": price, "i": price,
        "r": "0.00010000", "T": now - now.rem_euclid(28_800_000) + 28_800_000,
    })
}

/// All markets or one, raw or in the envelope of a combined stream.
pub fn topics(market: &Market) -> Vec<String> {
    let own = format!("{}@forceOrder", market.native_id.to_lowercase());
    ["ws ", "stream "]
        .iter()
        .flat_map(|style| [format!("{style}!forceOrder@arr"), format!("{style}{own}")])
        .collect()
}

/// One event; `classed` ones say in turn at the top, inside the order and nowhere which kind of contract it is.
pub fn force_order(topic: &str, truth: &Truth, classed: bool) -> String {
    let market = truth.market;
    let class = if market.class == CM { 2 } else { 1 };
    let pair = market.native_id.split('_').next().unwrap_or_default();
    let mark = format!(",\"ps\":\"{pair}\",\"st\":{class}");
    let (top, inside) = match (classed, truth.seq % 3) {
        (true, 0) => ("", mark.as_str()),
        (true, 1) => (mark.as_str(), ""),
        _ => ("", ""),
    };
    let last = (truth.size / Decimal::TWO)
        .round_dp_with_strategy(market.step.1, rust_decimal::RoundingStrategy::AwayFromZero);
    let event = format!(
        r#"{{"e":"forceOrder","E":{},"o":{{"s":"{}","S":"{}","o":"LIMIT","f":"IOC","q":"{}","p":"{}","ap":"{}","X":"FILLED","l":"{last}","z":"{}","T":{}{inside}}}{top}}}"#,
        truth.time + 5 + (truth.seq * 37 % 1000).cast_signed(),
        market.native_id,
        truth.word("SELL", "BUY"),
        truth.size,
        limit_price(truth),
        truth.price,
        truth.size,
        truth.time,
    );
    match topic.split_once(' ') {
        Some(("stream", name)) => format!(r#"{{"stream":"{name}","data":{event}}}"#),
        _ => event,
    }
}

/// The limit of the order: worse than the fill, by a third of a percent.
fn limit_price(truth: &Truth) -> Decimal {
    let off = truth.price * Decimal::new(truth.word("-33", "33").parse().unwrap(), 4);
    (truth.price + off).round_dp(truth.market.start.1)
}

pub fn futures(path: &str, class: &'static str, ask: &Ask, book: &Book) -> Answer {
    let listed = |native_id: &str| {
        book.market(native_id)
            .filter(|market| market.class == class)
    };
    match path {
        "ping" => Answer::text("{}".to_owned()),
        "time" => Answer::json(&json!({"serverTime": book.now()})),
        "exchangeInfo" => exchange_info(class, book),
        "klines" => match ask.text("symbol").and_then(listed) {
            Some(market) => klines(market, ask, book),
            None => invalid_symbol(),
        },
        "openInterest" => match ask.text("symbol").and_then(listed) {
            Some(market) => open_interest(market, book),
            None => invalid_symbol(),
        },
        "premiumIndex" => {
            let now = book.now();
            let all: Vec<Value> = book
                .of_class_and_name(class, ask.text("symbol"))
                .map(|market| {
                    let price = chart::price(book.seed(), market, now).to_string();
                    json!({"symbol": market.native_id, "markPrice": price, "indexPrice": price, "time": now})
                })
                .collect();
            match (ask.text("symbol"), all.first()) {
                (Some(_), Some(one)) if class == UM => Answer::json(one),
                _ => Answer::json(&Value::from(all)),
            }
        }
        _ => Answer::not_found(),
    }
}

fn refused(code: i64, message: &str) -> Answer {
    Answer::status(400, &json!({"code": code, "msg": message}))
}

fn invalid_symbol() -> Answer {
    refused(-1121, "Invalid symbol.")
}

fn exchange_info(class: &str, book: &Book) -> Answer {
    let symbols: Vec<Value> = book
        .of_class(class)
        .map(|market| {
            let pair = market.native_id.split('_').next().unwrap_or_default();
            let perpetual = !market.native_id.contains('_') || market.native_id.ends_with("_PERP");
            let kind = if perpetual {
                "PERPETUAL"
            } else {
                "NEXT_QUARTER"
            };
            let mut symbol = json!({
                "symbol": market.native_id, "pair": pair, "contractType": kind,
                "baseAsset": market.base, "quoteAsset": market.quote,
                "marginAsset": if class == CM { market.base } else { market.quote },
                "pricePrecision": market.start.1, "quantityPrecision": market.step.1,
                "onboardDate": 1_569_398_400_000_i64, "underlyingType": "COIN",
            });
            if let Unit::Dollars(size) = market.unit {
                symbol["contractStatus"] = "TRADING".into();
                symbol["contractSize"] = size.parse::<i64>().unwrap().into();
            } else {
                symbol["status"] = "TRADING".into();
            }
            symbol
        })
        .collect();
    Answer::json(&json!({"timezone": "UTC", "serverTime": book.now(), "symbols": symbols}))
}

fn klines(market: &Market, ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(500, 1500) else {
        return refused(-1130, "Data sent for parameter 'limit' is not valid.");
    };
    let Some(length) = ask.text("interval").and_then(length_of) else {
        return refused(-1120, "Invalid interval.");
    };
    let now = book.now();
    let (start, end) = (ask.number("startTime"), ask.number("endTime"));
    if let (CM, Some(start), Some(end)) = (market.class, start, end)
        && end - start > 200 * 86_400_000
    {
        return refused(
            -4144,
            "The time between startTime and endTime is longer than 200 days.",
        );
    }
    let until = end.unwrap_or(now).min(now);
    let starts = match start {
        Some(start) => first_bars(start, until, length, limit),
        None => {
            let mut starts = last_bars(0, until, length, limit);
            starts.reverse();
            starts
        }
    };
    let rows: Vec<Value> = starts
        .into_iter()
        .map(|start| {
            let bar = chart::candle(book.seed(), market, start, length, now);
            let inverse = market.is_inverse();
            // Contracts first and then what they hold in the base, or base first and then its worth in the quote.
            let other = |size: Decimal| {
                if inverse {
                    (size * market.contract_size() / bar.close).round_dp(8)
                } else {
                    size * bar.close
                }
            };
            json!([
                start,
                bar.open.to_string(),
                bar.high.to_string(),
                bar.low.to_string(),
                bar.close.to_string(),
                bar.volume.to_string(),
                start + length - 1,
                other(bar.volume).to_string(),
                bar.trades,
                bar.bought.to_string(),
                other(bar.bought).to_string(),
                "0",
            ])
        })
        .collect();
    Answer::json(&Value::from(rows))
}

fn open_interest(market: &Market, book: &Book) -> Answer {
    let now = book.now();
    let open = chart::open_interest(book.seed(), market, now).to_string();
    let mut body = json!({"openInterest": open, "symbol": market.native_id, "time": now});
    if market.class == CM {
        body["pair"] = market
            .native_id
            .split('_')
            .next()
            .unwrap_or_default()
            .into();
        body["contractType"] = "PERPETUAL".into();
    }
    Answer::json(&body)
}

/// By `symbol` on the host of the USD-margined contracts, by `pair` and `contractType` on the other; here both are one.
fn open_interest_history(ask: &Ask, book: &Book) -> Answer {
    let market = match (ask.text("symbol"), ask.text("pair")) {
        (Some(symbol), _) => book.market(symbol).filter(|market| market.class == UM),
        (None, Some(pair)) if ask.text("contractType") == Some("PERPETUAL") => {
            book.market(&format!("{pair}_PERP"))
        }
        _ => None,
    };
    let Some(market) = market else {
        return invalid_symbol();
    };
    let Some(limit) = ask.limit(30, 500) else {
        return refused(-1130, "Data sent for parameter 'limit' is not valid.");
    };
    let Some(length) = ask.text("period").and_then(length_of) else {
        return refused(-1130, "parameter 'period' is invalid.");
    };
    let now = book.now();
    let until = ask.number("endTime").unwrap_or(now).min(now);
    let times = match ask.number("startTime") {
        Some(start) if start <= now - MONTH => {
            return refused(-1130, "parameter 'startTime' is invalid.");
        }
        Some(start) => first_bars(start, until, length, limit),
        None => {
            let mut times = last_bars(now - MONTH, until, length, limit);
            times.reverse();
            times
        }
    };
    let rows: Vec<Value> = times
        .into_iter()
        .map(|time| {
            let open = chart::open_interest(book.seed(), market, time);
            let price = chart::price(book.seed(), market, time);
            if market.class == CM {
                let base = (open * market.contract_size() / price).round_dp(8);
                json!({
                    "pair": ask.text("pair"), "contractType": "PERPETUAL", "timestamp": time,
                    "sumOpenInterest": open.to_string(), "sumOpenInterestValue": base.to_string(),
                })
            } else {
                json!({
                    "symbol": market.native_id, "CMCCirculatingSupply": "165880.538", "timestamp": time.to_string(),
                    "sumOpenInterest": open.to_string(), "sumOpenInterestValue": (open * price).to_string(),
                })
            }
        })
        .collect();
    Answer::json(&Value::from(rows))
}
