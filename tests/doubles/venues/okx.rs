//! OKX: `liquidation-orders` of a type of instrument, and the answers of `/api/v5`.

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::doubles::book::Book;
use crate::doubles::chart;
use crate::doubles::dialect::Dialect;
use crate::doubles::market::{Market, Unit};
use crate::doubles::quota::Quota;
use crate::doubles::rest::{Answer, Ask, last_bars, length_of};
use crate::doubles::session::Session;
use crate::doubles::truth::Truth;

#[derive(Debug)]
pub struct Okx;

const SWAP: &str = "SWAP";
const FUTURES: &str = "FUTURES";
const INTEREST: &str = "open-interest";

static MARKETS: [Market; 8] = [
    Market::new(
        "BTC-USDT-SWAP",
        ["BTC", "USDT"],
        Unit::Contracts("0.01"),
        SWAP,
        (826_557, 1),
        (1, 2),
    ),
    Market::new(
        "ETH-USDT-SWAP",
        ["ETH", "USDT"],
        Unit::Contracts("0.1"),
        SWAP,
        (244_630, 2),
        (1, 2),
    ),
    Market::new(
        "CELO-USDT-SWAP",
        ["CELO", "USDT"],
        Unit::Contracts("1"),
        SWAP,
        (9583, 5),
        (1, 0),
    ),
    Market::new(
        "BTC-USD-SWAP",
        ["BTC", "USD"],
        Unit::Dollars("100"),
        SWAP,
        (826_495, 1),
        (1, 0),
    ),
    Market::new(
        "BTC-USDT-270326",
        ["BTC", "USDT"],
        Unit::Contracts("0.01"),
        FUTURES,
        (836_501, 1),
        (1, 2),
    ),
    Market::new(
        "ETH-USD-270326",
        ["ETH", "USD"],
        Unit::Dollars("10"),
        FUTURES,
        (247_615, 2),
        (1, 0),
    ),
    Market::new(
        "NEW-USDT-SWAP",
        ["NEW", "USDT"],
        Unit::Contracts("10"),
        SWAP,
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
    Market::new(
        "NEW-USD-270326",
        ["NEW", "USD"],
        Unit::Dollars("10"),
        FUTURES,
        (1235, 4),
        (1, 0),
    )
    .unlisted(),
];

const DAY: i64 = 86_400_000;

impl Dialect for Okx {
    fn venue(&self) -> &'static str {
        "okx"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        if session.path == "/ws/v5/public" {
            Ok(())
        } else {
            Err(404)
        }
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        if text == "ping" {
            session.pings += 1;
            return session.say("pong");
        }
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let (Some(op), Some(args)) = (request["op"].as_str(), request["args"].as_array()) else {
            session.strange.push(text.to_owned());
            return session.say(wrong("60012", &format!("Illegal request: {text}")));
        };
        if text.len() > 64 << 10 {
            session
                .over_limit
                .push("a message of more than 64 KB".to_owned());
            return session.say(wrong("60012", "Illegal request: too long"));
        }
        for arg in args {
            let channel = arg["channel"].as_str().unwrap_or_default();
            let class = arg["instType"].as_str().unwrap_or_default();
            let name = if channel == INTEREST {
                arg["instId"].as_str().unwrap_or_default()
            } else {
                class
            };
            let topic = format!("{channel} {name}");
            let exists = match channel {
                INTEREST => MARKETS.iter().any(|market| market.native_id == name),
                "liquidation-orders" => ["SWAP", "FUTURES", "MARGIN", "OPTION"].contains(&name),
                _ => false,
            };
            let exists = exists && !book.is_refused(&topic);
            if !exists {
                session.refuse(topic);
                session.say(wrong(
                    "60018",
                    &format!("Wrong URL or {arg} doesn't exist."),
                ));
                continue;
            }
            match op {
                "subscribe" => session.take(topic),
                "unsubscribe" => {
                    session.topics.remove(&topic);
                }
                _ => {
                    session.strange.push(text.to_owned());
                    session.say(wrong("60012", &format!("Illegal request: {op}")));
                    continue;
                }
            }
            session.say(json!({"event": op, "arg": arg, "connId": "d0ub1e"}).to_string());
        }
    }

    /// The subscribed open interest, every three seconds.
    fn beat(&self, session: &mut Session, beat: u64, muted: bool, book: &Book) {
        if muted || !beat.is_multiple_of(3) {
            return;
        }
        for name in session.names_of(INTEREST) {
            let market = MARKETS.iter().find(|market| market.native_id == name);
            let data: Vec<Value> = market.map(|one| interest(one, book)).into_iter().collect();
            let arg = json!({"channel": INTEREST, "instId": name});
            session.say(json!({"arg": arg, "data": data}).to_string());
        }
    }

    fn patience(&self) -> Option<u64> {
        Some(30)
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![format!("liquidation-orders {}", market.class)]
    }

    fn most(&self) -> usize {
        10
    }

    fn render(&self, topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let (channel, class) = topic.split_once(' ').unwrap();
        vec![format!(
            r#"{{"arg":{{"channel":"{channel}","instType":"{class}"}},"data":[{}]}}"#,
            contracts(truths).join(",")
        )]
    }

    fn notice(&self, _book: &Book) -> Option<String> {
        Some(
            json!({"event": "notice", "code": "64008", "connId": "d0ub1e",
                "msg": "The connection will soon be closed for a service upgrade. Please reconnect."})
            .to_string(),
        )
    }

    fn door(&self) -> Option<Quota> {
        Some(Quota::new("3 connections in a second", 3, 1, 429))
    }

    fn quota(&self, ask: &Ask) -> Option<(Quota, u64)> {
        let quota = match ask.path.as_str() {
            "/api/v5/market/candles" => Quota::new("40 candles in 2 seconds", 40, 2, 429),
            "/api/v5/rubik/stat/contracts/open-interest-history" => {
                Quota::new("10 histories in 2 seconds", 10, 2, 429)
            }
            "/api/v5/market/history-candles" => {
                Quota::new("20 old candles in 2 seconds", 20, 2, 429)
            }
            "/api/v5/public/mark-price" => Quota::new("10 mark prices in 2 seconds", 10, 2, 429),
            "/api/v5/public/liquidation-orders" => {
                Quota::new("40 liquidations in 2 seconds", 40, 2, 429)
            }
            _ => Quota::new("20 requests in 2 seconds", 20, 2, 429),
        };
        Some((quota, 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        let market = || ask.text("instId").and_then(|name| book.market(name));
        match ask.path.as_str() {
            "/api/v5/public/time" => done(&json!([{"ts": book.now().to_string()}])),
            "/api/v5/public/instruments" => instruments(ask, book),
            "/api/v5/public/mark-price" => mark_prices(ask, book),
            "/api/v5/public/open-interest" => open_interest(ask, book),
            "/api/v5/public/liquidation-orders" => liquidations(ask, book),
            "/api/v5/market/candles" => match market() {
                Some(market) => candles(market, ask, book, 1440),
                None => failed("51001", "Instrument ID doesn't exist."),
            },
            "/api/v5/market/history-candles" => match market() {
                Some(market) => candles(market, ask, book, i64::MAX),
                None => failed("51001", "Instrument ID doesn't exist."),
            },
            "/api/v5/rubik/stat/contracts/open-interest-history" => match market() {
                Some(market) => open_interest_history(market, ask, book),
                None => failed("51001", "Instrument ID doesn't exist."),
            },
            _ => Answer::not_found(),
        }
    }
}

fn wrong(code: &str, message: &str) -> String {
    json!({"event": "error", "code": code, "msg": message, "connId": "d0ub1e"}).to_string()
}

fn done(data: &Value) -> Answer {
    Answer::json(&json!({"code": "0", "msg": "", "data": data}))
}

fn failed(code: &str, message: &str) -> Answer {
    Answer::json(&json!({"code": code, "msg": message, "data": []}))
}

fn family(market: &Market) -> String {
    format!("{}-{}", market.base, market.quote)
}

/// Rows of one contract after each other stand together.
fn contracts(truths: &[Truth]) -> Vec<String> {
    truths
        .chunk_by(|one, next| one.market == next.market)
        .map(|chunk| {
            let market = chunk[0].market;
            let details: Vec<String> = chunk.iter().map(detail).collect();
            let family = family(market);
            format!(
                r#"{{"details":[{}],"instFamily":"{family}","instId":"{}","instType":"{}","uly":"{family}"}}"#,
                details.join(","),
                market.native_id,
                market.class,
            )
        })
        .collect()
}

/// Every third row is of an account without sides of its own.
fn detail(truth: &Truth) -> String {
    let position = if truth.seq % 3 == 2 {
        "net"
    } else {
        truth.word("long", "short")
    };
    format!(
        r#"{{"bkLoss":"0","bkPx":"{}","ccy":"","posSide":"{position}","side":"{}","sz":"{}","ts":"{}"}}"#,
        truth.price,
        truth.word("sell", "buy"),
        truth.size,
        truth.time,
    )
}

fn instruments(ask: &Ask, book: &Book) -> Answer {
    let class = ask.text("instType").unwrap_or_default();
    let list: Vec<Value> = book
        .of_class(class)
        .map(|market| {
            let (kind, settle, unit) = match market.unit {
                Unit::Dollars(_) => ("inverse", market.base, "USD"),
                _ => ("linear", market.quote, market.base),
            };
            json!({
                "instType": class, "instId": market.native_id, "instFamily": family(market), "uly": family(market),
                "baseCcy": "", "quoteCcy": "", "settleCcy": settle, "ctType": kind,
                "ctVal": market.contract_size().to_string(), "ctMult": "1", "ctValCcy": unit,
                "lotSz": market.step().to_string(), "minSz": market.step().to_string(),
                "tickSz": market.price(1).to_string(), "lever": "100", "state": "live", "ruleType": "normal",
                "listTime": "1573557408000", "expTime": if class == FUTURES { "1806048000000" } else { "" },
            })
        })
        .collect();
    done(&Value::from(list))
}

fn mark_prices(ask: &Ask, book: &Book) -> Answer {
    let class = ask.text("instType").unwrap_or_default();
    let now = book.now();
    let list: Vec<Value> = book
        .of_class_and_name(class, ask.text("instId"))
        .map(|market| {
            let price = chart::price(book.seed(), market, now);
            json!({"instType": class, "instId": market.native_id, "markPx": price.to_string(), "ts": now.to_string()})
        })
        .collect();
    done(&Value::from(list))
}

/// Newest first: those older than `after` and newer than `before`, neither included.
fn page(ask: &Ask, length: i64, limit: usize, oldest: i64, now: i64) -> Vec<i64> {
    let until = ask
        .number("after")
        .map_or(now, |after| (after - 1).min(now));
    let from = ask
        .number("before")
        .map_or(oldest, |before| (before + 1).max(oldest));
    last_bars(from, until, length, limit)
}

fn candles(market: &Market, ask: &Ask, book: &Book, deep: i64) -> Answer {
    let Some(limit) = ask.limit(100, 300) else {
        return failed("51000", "Parameter limit error");
    };
    let Some(length) = ask.text("bar").or(Some("1m")).and_then(length_of) else {
        return failed("51000", "Parameter bar error");
    };
    let now = book.now();
    let oldest = now.saturating_sub(deep.saturating_mul(length)).max(0);
    let rows: Vec<Value> = page(ask, length, limit, oldest, now)
        .into_iter()
        .map(|start| {
            let bar = chart::candle(book.seed(), market, start, length, now);
            let base = base(market, bar.volume, bar.close);
            let closed = start + length <= now;
            json!([
                start.to_string(),
                bar.open.to_string(),
                bar.high.to_string(),
                bar.low.to_string(),
                bar.close.to_string(),
                bar.volume.to_string(),
                base.to_string(),
                (base * bar.close).round_dp(8).to_string(),
                if closed { "1" } else { "0" },
            ])
        })
        .collect();
    done(&Value::from(rows))
}

/// Contracts in base units.
fn base(market: &Market, contracts: Decimal, price: Decimal) -> Decimal {
    let product = contracts * market.contract_size();
    if market.is_inverse() {
        (product / price).round_dp(8)
    } else {
        product
    }
}

fn usd(market: &Market, contracts: Decimal, price: Decimal) -> Decimal {
    let product = contracts * market.contract_size();
    if market.is_inverse() {
        product
    } else {
        product * price
    }
}

fn open_interest(ask: &Ask, book: &Book) -> Answer {
    let list: Vec<Value> = book
        .listed()
        .into_iter()
        .filter(|market| {
            ask.text("instType")
                .is_some_and(|class| class == market.class)
        })
        .filter(|market| {
            ask.text("instId")
                .is_none_or(|name| name == market.native_id)
        })
        .map(|market| interest(market, book))
        .collect();
    done(&Value::from(list))
}

fn interest(market: &Market, book: &Book) -> Value {
    let now = book.now();
    let open = chart::open_interest(book.seed(), market, now);
    let price = chart::price(book.seed(), market, now);
    json!({
        "instType": market.class, "instId": market.native_id, "oi": open.to_string(),
        "oiCcy": base(market, open, price).to_string(),
        "oiUsd": usd(market, open, price).to_string(), "ts": now.to_string(),
    })
}

/// The history has three days of 5 minutes, five of hours, a hundred of days.
fn open_interest_history(market: &Market, ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(100, 100) else {
        return failed("51000", "Parameter limit error");
    };
    let Some(length) = ask.text("period").or(Some("5m")).and_then(length_of) else {
        return failed("51000", "Parameter period error");
    };
    let now = book.now();
    let look_back = match length {
        ..3_600_000 => 3 * DAY,
        3_600_000..DAY => 5 * DAY,
        _ => 100 * DAY,
    };
    // Newer than `begin`, older than `end`.
    let from = ask
        .number("begin")
        .map_or(0, |begin| begin + 1)
        .max(now - look_back);
    let until = ask.number("end").map_or(now, |end| end - 1).min(now);
    let rows: Vec<Value> = last_bars(from, until, length, limit)
        .into_iter()
        .map(|time| {
            let open = chart::open_interest(book.seed(), market, time);
            let price = chart::price(book.seed(), market, time);
            json!([
                time.to_string(),
                open.to_string(),
                base(market, open, price).to_string(),
                usd(market, open, price).to_string(),
            ])
        })
        .collect();
    done(&Value::from(rows))
}

/// About seven days, of one underlying, newest first.
fn liquidations(ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(100, 100) else {
        return failed("51000", "Parameter limit error");
    };
    let class = ask.text("instType").unwrap_or_default().to_owned();
    let Some(underlying) = ask
        .text("uly")
        .or(ask.text("instFamily"))
        .map(str::to_owned)
    else {
        return failed("51000", "Parameter uly error");
    };
    let now = book.now();
    let until = ask
        .number("after")
        .map_or(now, |after| (after - 1).min(now));
    let from = ask
        .number("before")
        .map_or(0, |before| before + 1)
        .max(now - 7 * DAY);
    let mut found = book.between(from, until, |truth| {
        truth.market.class == class && family(truth.market) == underlying
    });
    found.reverse();
    found.truncate(limit);
    Answer::text(format!(
        r#"{{"code":"0","msg":"","data":[{}]}}"#,
        contracts(&found).join(",")
    ))
}
