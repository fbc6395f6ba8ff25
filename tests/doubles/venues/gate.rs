//! Gate: `futures.public_liquidates`, and the answers of `/api/v4/futures`.
//!
//! The socket reports the order, so a size below zero closed a long; REST adds the position and the price of the fill.

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
pub struct Gate;

const USDT: &str = "usdt";
const BTC: &str = "btc";

static MARKETS: [Market; 6] = [
    Market::new(
        "BTC_USDT",
        ["BTC", "USDT"],
        Unit::Contracts("0.0001"),
        USDT,
        (826_510, 1),
        (1, 0),
    ),
    Market::new(
        "ETH_USDT",
        ["ETH", "USDT"],
        Unit::Contracts("0.01"),
        USDT,
        (244_618, 2),
        (1, 0),
    ),
    Market::new(
        "PEPE_USDT",
        ["PEPE", "USDT"],
        Unit::Contracts("10000000"),
        USDT,
        (10_432, 9),
        (1, 0),
    ),
    Market::new(
        "BTC_USD",
        ["BTC", "USD"],
        Unit::Dollars("1"),
        BTC,
        (826_488, 1),
        (1, 0),
    ),
    Market::new(
        "NEW_USDT",
        ["NEW", "USDT"],
        Unit::Contracts("10"),
        USDT,
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
    Market::new(
        "NEW_USD",
        ["NEW", "USD"],
        Unit::Dollars("1"),
        BTC,
        (1235, 4),
        (1, 0),
    )
    .unlisted(),
];

const CHANNEL: &str = "futures.public_liquidates";
const EVERYTHING: &str = "!all";

/// The channel of last prices.
const TICKERS: &str = "futures.tickers";

impl Dialect for Gate {
    fn venue(&self) -> &'static str {
        "gate"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        match session.path.strip_prefix("/v4/ws/") {
            Some("usdt" | "btc" | "usd1") => Ok(()),
            _ => Err(404),
        }
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let settle = session
            .path
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        let now = book.now();
        let (seconds, channel, event) = (now / 1000, &request["channel"], &request["event"]);
        match (channel.as_str(), event.as_str()) {
            (Some("futures.ping"), _) => {
                session.pings += 1;
                session.say(
                    json!({"time": seconds, "time_ms": now, "channel": "futures.pong", "event": "",
                    "error": null, "result": null})
                    .to_string(),
                );
            }
            (Some(TICKERS), Some("subscribe")) => {
                let name = request["payload"][0].as_str().unwrap_or_default();
                let topic = format!("{TICKERS} {name}");
                let (error, status) = if book.is_refused(&topic) {
                    session.refuse(topic);
                    let message = format!("unknown contract {name}");
                    (json!({"code": 2, "message": message}), "fail")
                } else {
                    session.take(topic);
                    (Value::Null, "success")
                };
                session.say(
                    json!({"time": seconds, "time_ms": now, "channel": TICKERS, "event": "subscribe",
                    "payload": [name], "error": error, "result": {"status": status}})
                    .to_string(),
                );
            }
            (Some(CHANNEL), Some(word @ ("subscribe" | "unsubscribe"))) => {
                let names = request["payload"].as_array().cloned().unwrap_or_default();
                for name in names.iter().filter_map(Value::as_str) {
                    let exists = name == EVERYTHING
                        || MARKETS
                            .iter()
                            .any(|market| market.native_id == name && market.class == settle);
                    if !exists || book.is_refused(name) {
                        session.refuse(name);
                        return session.say(json!({"time": seconds, "time_ms": now, "channel": CHANNEL, "event": word,
                            "error": {"code": 2, "message": format!("unknown contract {name}")},
                            "result": {"status": "fail"}}).to_string());
                    }
                }
                for name in names.iter().filter_map(Value::as_str) {
                    let topic = format!("{settle} {name}");
                    if word == "subscribe" {
                        session.take(topic);
                    } else {
                        session.topics.remove(&topic);
                    }
                }
                session.say(
                    json!({"time": seconds, "time_ms": now, "channel": CHANNEL, "event": word,
                    "payload": names, "error": null, "result": {"status": "success"}})
                    .to_string(),
                );
            }
            _ => {
                session.strange.push(text.to_owned());
                session.say(
                    json!({"time": seconds, "channel": channel, "event": event,
                    "error": {"code": 1, "message": "invalid request"}, "result": null})
                    .to_string(),
                );
            }
        }
    }

    /// The subscribed last price, each second here.
    fn beat(&self, session: &mut Session, _beat: u64, muted: bool, book: &Book) {
        if muted {
            return;
        }
        let now = book.now();
        for name in session.names_of(TICKERS) {
            session.say(format!(
                r#"{{"time":{},"time_ms":{now},"channel":"{TICKERS}","event":"update","result":[{{"contract":"{name}","last":"82650.1","mark_price":"82650.2"}}]}}"#,
                now / 1000
            ));
        }
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![
            format!("{} {}", market.class, market.native_id),
            format!("{} {EVERYTHING}", market.class),
        ]
    }

    fn most(&self) -> usize {
        20
    }

    fn render(&self, _topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let rows: Vec<String> = truths.iter().map(row).collect();
        let latest = truths
            .iter()
            .map(|truth| truth.time)
            .max()
            .unwrap_or_default()
            + 12;
        // A single row came without a list before the channel was changed.
        let result = match (rows.as_slice(), truths[0].seq % 4) {
            ([one], 0) => one.clone(),
            _ => format!("[{}]", rows.join(",")),
        };
        vec![format!(
            r#"{{"channel":"{CHANNEL}","event":"update","time":{},"time_ms":{latest},"result":{result}}}"#,
            latest / 1000
        )]
    }

    fn reported_by_rest(&self, truth: &Truth) -> Truth {
        Truth {
            price: fill_price(truth),
            time: truth.time / 1000 * 1000,
            ..truth.clone()
        }
    }

    fn quota(&self, ask: &Ask) -> Option<(Quota, u64)> {
        let quota = if ask.path.ends_with("/liq_orders") {
            Quota::new("200 orders in 10 seconds", 200, 10, 429)
        } else {
            Quota::new("200 requests in 10 seconds", 200, 10, 429)
        };
        Some((quota, 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        let Some((settle, path)) = ask
            .behind("/api/v4/futures/")
            .and_then(|rest| rest.split_once('/'))
        else {
            return Answer::not_found();
        };
        match path {
            "contracts" => contracts(settle, book),
            "liq_orders" => liquidations(settle, ask, book),
            "contract_stats" => statistics(ask, book),
            _ => Answer::not_found(),
        }
    }
}

/// The size of the order: below zero where a long was closed.
fn order_size(truth: &Truth) -> Decimal {
    truth.size * Decimal::from(truth.word("-1", "1").parse::<i64>().unwrap())
}

/// Sizes are numbers or text, times are seconds, with or without milliseconds.
fn row(truth: &Truth) -> String {
    let size = order_size(truth);
    let size = if truth.seq.is_multiple_of(2) {
        size.to_string()
    } else {
        format!("\"{size}\"")
    };
    let time = if truth.seq.is_multiple_of(3) {
        format!(r#""time":{},"time_ms":{}"#, truth.time / 1000, truth.time)
    } else {
        format!(r#""time":{}"#, truth.time)
    };
    format!(
        r#"{{"price":"{}","size":{size},{time},"contract":"{}"}}"#,
        truth.price, truth.market.native_id
    )
}

/// Better than the limit of the order, by a fifth of a percent.
fn fill_price(truth: &Truth) -> Decimal {
    let better = truth.price * Decimal::new(truth.word("2", "-2").parse().unwrap(), 3);
    (truth.price + better).round_dp(truth.market.start.1)
}

fn refused(message: &str) -> Answer {
    Answer::status(
        400,
        &json!({"label": "INVALID_PARAM_VALUE", "message": message}),
    )
}

fn contracts(settle: &str, book: &Book) -> Answer {
    let list: Vec<Value> = book
        .of_class(settle)
        .map(|market| {
            let (kind, size) = match market.unit {
                Unit::Dollars(_) => ("inverse", "0".to_owned()),
                _ => ("direct", market.contract_size().to_string()),
            };
            let price = chart::price(book.seed(), market, book.now()).to_string();
            json!({
                "name": market.native_id, "type": kind, "quanto_multiplier": size, "mark_price": price,
                "index_price": price, "last_price": price, "order_size_min": 1, "in_delisting": false,
                "order_price_round": market.price(1).to_string(), "status": "trading",
                "position_size": chart::open_interest(book.seed(), market, book.now()).to_string(),
                "create_time": 1_669_688_556, "maintenance_rate": "0.005", "leverage_max": "100",
            })
        })
        .collect();
    Answer::json(&Value::from(list))
}

/// At most an hour, newest first.
fn liquidations(settle: &str, ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(100, 1000) else {
        return refused("Invalid parameter limit");
    };
    let until = ask.number("to").unwrap_or(book.now() / 1000);
    let from = ask.number("from").unwrap_or(until - 3600);
    if until - from > 3600 {
        return refused(
            "Invalid parameter: the interval between from and to is limited to 3600 seconds",
        );
    }
    let contract = ask.text("contract");
    let mut found = book.between(from * 1000, until * 1000 + 999, |truth| {
        truth.market.class == settle && contract.is_none_or(|name| name == truth.market.native_id)
    });
    found.reverse();
    found.truncate(limit);
    let rows: Vec<String> = found
        .iter()
        .map(|truth| {
            let ordered = order_size(truth);
            format!(
                r#"{{"time":{},"contract":"{}","size":{},"order_size":{ordered},"order_price":"{}","fill_price":"{}","left":0}}"#,
                truth.time / 1000,
                truth.market.native_id,
                -ordered,
                truth.price,
                fill_price(truth),
            )
        })
        .collect();
    Answer::text(format!("[{}]", rows.join(",")))
}

/// What was liquidated in each interval, and the open interest at its start.
fn statistics(ask: &Ask, book: &Book) -> Answer {
    let Some(market) = ask.text("contract").and_then(|name| book.market(name)) else {
        return refused("Invalid parameter contract");
    };
    let length = ask.text("interval").or(Some("5m")).and_then(length_of);
    let (Some(limit), Some(length)) = (ask.limit(30, 100), length) else {
        return refused("Invalid parameter limit or interval");
    };
    let now = book.now();
    let times = match ask.number("from") {
        Some(from) => first_bars(from * 1000, now, length, limit),
        None => {
            let mut times = last_bars(0, now, length, limit);
            times.reverse();
            times
        }
    };
    let rows: Vec<Value> = times
        .into_iter()
        .map(|time| {
            let price = chart::price(book.seed(), market, time);
            let open = chart::open_interest(book.seed(), market, time);
            let product = open * market.contract_size();
            let usd = |long: bool| -> Decimal {
                let wanted = truth_side(long);
                book.between(time, time + length - 1, |truth| truth.market == market && truth.side == wanted)
                    .iter()
                    .map(Truth::value)
                    .sum()
            };
            json!({
                "time": time / 1000, "mark_price": price.to_string(), "open_interest": open.to_string(),
                "open_interest_usd": if market.is_inverse() { product } else { product * price }.to_string(),
                "long_liq_usd": usd(true).to_string(), "short_liq_usd": usd(false).to_string(),
            })
        })
        .collect();
    Answer::json(&Value::from(rows))
}

fn truth_side(long: bool) -> liqdata::model::Side {
    if long {
        liqdata::model::Side::Long
    } else {
        liqdata::model::Side::Short
    }
}
