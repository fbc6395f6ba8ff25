//! HTX: `public.*.liquidation_orders` on three sockets, every message gzip, and the REST bodies.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Bytes;

use crate::doubles::book::Book;
use crate::doubles::chart;
use crate::doubles::dialect::Dialect;
use crate::doubles::market::{Market, Unit};
use crate::doubles::quota::Quota;
use crate::doubles::rest::{Answer, Ask};
use crate::doubles::session::Session;
use crate::doubles::truth::Truth;
use crate::doubles::wire;

#[derive(Debug)]
pub struct Htx;

const LINEAR: &str = "linear-swap-notification";
const SWAP: &str = "swap-notification";
const COIN: &str = "notification";

static MARKETS: [Market; 7] = [
    Market::new(
        "BTC-USDT",
        ["BTC", "USDT"],
        Unit::Contracts("0.001"),
        LINEAR,
        (826_503, 1),
        (1, 0),
    ),
    Market::new(
        "ETH-USDT",
        ["ETH", "USDT"],
        Unit::Contracts("0.01"),
        LINEAR,
        (244_626, 2),
        (1, 0),
    ),
    Market::new(
        "BTC-USDT-270326",
        ["BTC", "USDT"],
        Unit::Contracts("0.001"),
        LINEAR,
        (836_503, 1),
        (1, 0),
    ),
    Market::new(
        "BTC-USD",
        ["BTC", "USD"],
        Unit::Dollars("100"),
        SWAP,
        (826_485, 1),
        (1, 0),
    ),
    Market::new(
        "ETH-USD",
        ["ETH", "USD"],
        Unit::Dollars("10"),
        SWAP,
        (244_601, 2),
        (1, 0),
    ),
    Market::new(
        "BTC270326",
        ["BTC", "USD"],
        Unit::Dollars("100"),
        COIN,
        (836_492, 1),
        (1, 0),
    ),
    Market::new(
        "NEW-USD",
        ["NEW", "USD"],
        Unit::Dollars("10"),
        SWAP,
        (1235, 4),
        (1, 0),
    )
    .unlisted(),
];

/// Seconds from ping to ping, and how many may stay unanswered.
const PING: u64 = 5;
const UNANSWERED: u32 = 6;
/// How the topics of contracts end.
const CONTRACT: &str = ".contract_info";
/// Rows of a page.
const PAGE: usize = 50;
const HOUR: i64 = 3_600_000;

impl Dialect for Htx {
    fn venue(&self) -> &'static str {
        "htx"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        match session.path.strip_prefix('/') {
            Some(LINEAR | SWAP | COIN) => Ok(()),
            _ => Err(404),
        }
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let (now, cid) = (book.now(), &request["cid"]);
        let class = session.path.trim_start_matches('/').to_owned();
        let name = request["topic"].as_str().unwrap_or_default();
        let topic = format!("{class} {name}");
        match request["op"].as_str() {
            Some("pong") => {
                // An answer may come late, but each once and in the order of the pings.
                let mut tokens = session.tokens.iter();
                match tokens.position(|at| request["ts"] == token(&class, *at)) {
                    Some(index) => {
                        session.tokens.drain(..=index);
                        session.note_pong();
                    }
                    None => session.strange.push(text.to_owned()),
                }
            }
            Some("sub") if session.topics.contains(&topic) => {
                session.say(
                    json!({"op": "sub", "cid": cid, "topic": name, "err-code": 2014,
                    "err-msg": "Repeated subscription.", "ts": now})
                    .to_string(),
                );
            }
            Some("sub") => {
                let exists = topic.ends_with(CONTRACT)
                    || MARKETS
                        .iter()
                        .any(|market| self.topics(market).contains(&topic));
                if !exists || book.is_refused(name) {
                    session.refuse(name);
                    return session.say(
                        json!({"op": "sub", "cid": cid, "topic": name, "err-code": 2011,
                        "err-msg": "Invalid topic.", "ts": now})
                        .to_string(),
                    );
                }
                session.take(topic);
                session.say(
                    json!({"op": "sub", "cid": cid, "topic": name, "ts": now, "err-code": 0})
                        .to_string(),
                );
            }
            Some("unsub") => {
                session.topics.remove(&topic);
                session.say(
                    json!({"op": "unsub", "cid": cid, "topic": name, "ts": now, "err-code": 0})
                        .to_string(),
                );
            }
            _ => {
                session.strange.push(text.to_owned());
                session.say(json!({"op": "error", "err-code": 2001, "err-msg": "Invalid command.", "ts": now}).to_string());
            }
        }
    }

    fn beat(&self, session: &mut Session, beat: u64, muted: bool, book: &Book) {
        let subscribed = session
            .topics
            .iter()
            .find(|topic| topic.ends_with(CONTRACT));
        if let Some(topic) = subscribed.cloned().filter(|_| !muted) {
            // At once, and then each minute.
            let first = match *session.note("contract") {
                0 => *session.notes.entry("contract").insert_entry(beat).get(),
                first => first,
            };
            if (beat - first).is_multiple_of(60) {
                let (_, name) = topic.split_once(' ').unwrap();
                let event = if beat == first { "init" } else { "snapshot" };
                session.say(
                    json!({"op": "notify", "topic": name, "ts": book.now(), "event": event,
                    "data": [{"symbol": "BTC", "contract_status": 1}]})
                    .to_string(),
                );
            }
        }
        if !beat.is_multiple_of(PING) {
            return;
        }
        if session.unanswered >= UNANSWERED {
            return session.close(1003, "no pong");
        }
        let now = book.now().unsigned_abs();
        session.tokens.push(now);
        session.unanswered += 1;
        let class = session.path.trim_start_matches('/').to_owned();
        session.say(json!({"op": "ping", "ts": token(&class, now)}).to_string());
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        let name = named(market);
        vec![
            format!("{} public.{name}.liquidation_orders", market.class),
            format!("{} public.*.liquidation_orders", market.class),
        ]
    }

    fn most(&self) -> usize {
        5
    }

    fn render(&self, _topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let rows: Vec<String> = truths.iter().map(|truth| row(truth, "")).collect();
        let latest = truths
            .iter()
            .map(|truth| truth.time)
            .max()
            .unwrap_or_default();
        vec![format!(
            r#"{{"op":"notify","topic":"public.{}.liquidation_orders","ts":{},"data":[{}]}}"#,
            named(truths[0].market),
            latest + 5,
            rows.join(",")
        )]
    }

    fn wrap(&self, text: &str) -> Bytes {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        wire::frame(wire::BINARY, true, &gzip.finish().unwrap())
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("240 requests in 3 seconds", 240, 3, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.path.as_str() {
            "/linear-swap-api/v3/swap_liquidation_orders" => liquidations(LINEAR, ask, book),
            "/swap-api/v3/swap_liquidation_orders" => liquidations(SWAP, ask, book),
            "/api/v3/contract_liquidation_orders" => liquidations(COIN, ask, book),
            "/v2/linear-swap-ex/market/detail/batch_merged" => merged(LINEAR, ask, book),
            "/v2/swap-ex/market/detail/batch_merged" => merged(SWAP, ask, book),
            "/linear-swap-api/v1/swap_contract_info" => contracts(LINEAR, ask, book),
            "/swap-api/v1/swap_contract_info" => contracts(SWAP, ask, book),
            "/api/v1/contract_contract_info" => contracts(COIN, ask, book),
            _ => Answer::not_found(),
        }
    }
}

/// What a ping carries: text on the linear socket, a number on the others.
fn token(class: &str, at: u64) -> Value {
    if class == LINEAR {
        Value::from(at.to_string())
    } else {
        Value::from(at)
    }
}

/// How topics name a contract: coin futures by their coin, dated linear ones by their own code.
fn named(market: &Market) -> &'static str {
    if market.class == COIN {
        market.base
    } else {
        market.native_id
    }
}

/// The kind of a linear contract.
fn kind(market: &Market) -> &'static str {
    if market.native_id.matches('-').count() > 1 {
        "futures"
    } else {
        "swap"
    }
}

fn row(truth: &Truth, id: &str) -> String {
    let market = truth.market;
    let word = truth.word("sell", "buy");
    let price = truth.price.normalize();
    let head = format!(
        r#"{{{id}"symbol":"{}","contract_code":"{}","direction":"{word}","offset":"close","volume":{},"price":{price},"created_at":{}"#,
        market.base, market.native_id, truth.size, truth.time,
    );
    if market.class != LINEAR {
        return format!("{head}}}");
    }
    let kind = kind(market);
    format!(
        r#"{head},"amount":{},"trade_turnover":{},"contract_type":"{kind}","pair":"{}-{}","business_type":"{kind}","trade_partition":"USDT"}}"#,
        truth.qty(),
        truth.value(),
        market.base,
        market.quote,
    )
}

fn failed(code: u16, message: &str, book: &Book) -> Answer {
    Answer::json(&json!({"code": code, "msg": message, "data": null, "ts": book.now()}))
}

/// Without a `business_type` of linear contracts only the swaps.
fn merged(class: &str, ask: &Ask, book: &Book) -> Answer {
    let now = book.now();
    let wanted = ask.text("business_type").unwrap_or("swap");
    let list: Vec<Value> = book
        .of_class(class)
        .filter(|market| class != LINEAR || wanted == "all" || wanted == kind(market))
        .map(|market| {
            let price = chart::price(book.seed(), market, now).to_string();
            json!({
                "id": now / 1000, "ts": now, "contract_code": market.native_id, "business_type": kind(market),
                "open": price, "close": price, "low": price, "high": price, "count": 1, "number_of": "2",
            })
        })
        .collect();
    Answer::json(&json!({"status": "ok", "ticks": list, "ts": now}))
}

/// At most two hours of one contract within 90 days, 50 rows a page; ids go on with time.
fn liquidations(class: &str, ask: &Ask, book: &Book) -> Answer {
    let Some(contract) = ask.text("contract").or(ask.text("symbol")) else {
        return failed(1030, "Invalid input: contract", book);
    };
    let kind = ask.number("trade_type").unwrap_or(0);
    if ![0, 5, 6].contains(&kind) {
        return failed(1030, "Invalid input: trade_type", book);
    }
    let now = book.now();
    let until = ask.number("end_time").unwrap_or(now);
    let from = ask.number("start_time").unwrap_or(until - 2 * HOUR);
    if until - from > 2 * HOUR || from < now - 90 * 24 * HOUR {
        return failed(
            1067,
            "The query window is limited to 2 hours within 90 days",
            book,
        );
    }
    let mut found: Vec<(i64, Truth)> = book
        .between(from, until, |truth| {
            let word = truth.word("sell", "buy");
            truth.market.class == class
                && [truth.market.native_id, named(truth.market)].contains(&contract)
                && (kind == 0 || (kind == 5) == (word == "sell"))
        })
        .into_iter()
        .map(|truth| (truth.time * 1000 + (truth.seq % 1000).cast_signed(), truth))
        .collect();
    let forward = ask.text("direct") == Some("next");
    if !forward {
        found.reverse();
    }
    if let Some(last) = ask.number("from_id") {
        found.retain(|(id, _)| if forward { *id > last } else { *id < last });
    }
    let rows: Vec<String> = found
        .iter()
        .take(PAGE)
        .map(|(id, truth)| row(truth, &format!("\"query_id\":{id},")))
        .collect();
    Answer::text(format!(
        r#"{{"code":200,"msg":"","data":[{}],"ts":{now}}}"#,
        rows.join(",")
    ))
}

/// Linear futures are listed only on request.
fn contracts(class: &str, ask: &Ask, book: &Book) -> Answer {
    let wanted = ask.text("business_type").unwrap_or("swap");
    let list: Vec<Value> = book
        .of_class(class)
        .filter(|market| class != LINEAR || ["all", kind(market)].contains(&wanted))
        .map(|market| {
            let size = serde_json::from_str::<Value>(&market.contract_size().to_string()).unwrap();
            let mut row = json!({
                "symbol": market.base, "contract_code": market.native_id, "contract_size": size,
                "contract_status": 1, "create_date": "20201021", "settlement_date": "1609459200000",
            });
            if class == LINEAR {
                row["pair"] = format!("{}-{}", market.base, market.quote).into();
                row["business_type"] = kind(market).into();
                row["trade_partition"] = market.quote.into();
            }
            row
        })
        .collect();
    Answer::json(&json!({"status": "ok", "data": list, "ts": book.now()}))
}
