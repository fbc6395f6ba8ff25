//! Bitget v3: the topic `liquidation` of a type of instrument, and the answers of `/api/v3/market`.
//!
//! On the socket amounts are in the quote coin; over REST in the base, or in the quote where the faults say so.

use serde_json::{Value, json};

use crate::doubles::book::Book;
use crate::doubles::chart;
use crate::doubles::dialect::Dialect;
use crate::doubles::market::{Market, Unit};
use crate::doubles::quota::Quota;
use crate::doubles::rest::{Answer, Ask};
use crate::doubles::session::Session;
use crate::doubles::truth::Truth;

#[derive(Debug)]
pub struct Bitget;

const USDT: &str = "usdt-futures";
const USDC: &str = "usdc-futures";
const COIN: &str = "coin-futures";

static MARKETS: [Market; 6] = [
    Market::new(
        "BTCUSDT",
        ["BTC", "USDT"],
        Unit::Base,
        USDT,
        (826_508, 1),
        (1, 4),
    ),
    Market::new(
        "ETHUSDT",
        ["ETH", "USDT"],
        Unit::Base,
        USDT,
        (244_621, 2),
        (1, 2),
    ),
    Market::new(
        "APEUSDT",
        ["APE", "USDT"],
        Unit::Base,
        USDT,
        (1649, 4),
        (1, 1),
    ),
    Market::new(
        "BTCPERP",
        ["BTC", "USDC"],
        Unit::Base,
        USDC,
        (826_509, 1),
        (1, 4),
    ),
    Market::new(
        "BTCUSD",
        ["BTC", "USD"],
        Unit::Base,
        COIN,
        (826_491, 1),
        (1, 3),
    ),
    Market::new(
        "NEWUSDT",
        ["NEW", "USDT"],
        Unit::Base,
        USDT,
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
];

const DAY: i64 = 86_400_000;

impl Dialect for Bitget {
    fn venue(&self) -> &'static str {
        "bitget"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        if session.path == "/v3/ws/public" {
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
        let (Some(op @ ("subscribe" | "unsubscribe")), Some(args)) =
            (request["op"].as_str(), request["args"].as_array())
        else {
            session.strange.push(text.to_owned());
            return session.say(
                json!({"event": "error", "code": "30003", "msg": "Illegal request"}).to_string(),
            );
        };
        for arg in args {
            let class = arg["instType"].as_str().unwrap_or_default();
            let topic = match (arg["topic"].as_str(), arg["symbol"].as_str()) {
                (Some("ticker"), Some(symbol)) => format!("ticker {symbol}"),
                (topic, _) => format!("{} {class}", topic.unwrap_or_default()),
            };
            let exists = [
                "liquidation usdt-futures",
                "liquidation usdc-futures",
                "liquidation coin-futures",
                "ticker BTCUSDT",
            ]
            .contains(&topic.as_str());
            if !exists || book.is_refused(&topic) {
                session.refuse(topic);
                session.say(
                    json!({"event": "error", "arg": arg, "code": "30001", "msg": "Param error"})
                        .to_string(),
                );
                continue;
            }
            if op == "subscribe" {
                session.take(topic);
            } else {
                session.topics.remove(&topic);
            }
            session.say(json!({"event": op, "arg": arg}).to_string());
        }
    }

    /// The subscribed last price, each second here.
    fn beat(&self, session: &mut Session, _beat: u64, muted: bool, book: &Book) {
        if !muted && session.topics.contains("ticker BTCUSDT") {
            let price = chart::price(book.seed(), &MARKETS[0], book.now());
            session.say(format!(
                r#"{{"action":"snapshot","arg":{{"instType":"usdt-futures","symbol":"BTCUSDT","topic":"ticker"}},"data":[{{"symbol":"BTCUSDT","lastPrice":"{price}","markPrice":"{price}"}}],"ts":{}}}"#,
                book.now()
            ));
        }
    }

    fn patience(&self) -> Option<u64> {
        Some(120)
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![format!("liquidation {}", market.class)]
    }

    fn most(&self) -> usize {
        20
    }

    fn render(&self, topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let (topic, class) = topic.split_once(' ').unwrap();
        let rows: Vec<String> = truths.iter().map(|truth| row(truth, true)).collect();
        let latest = truths
            .iter()
            .map(|truth| truth.time)
            .max()
            .unwrap_or_default();
        vec![format!(
            r#"{{"action":"update","arg":{{"instType":"{class}","topic":"{topic}"}},"data":[{}],"ts":{}}}"#,
            rows.join(","),
            latest + 618
        )]
    }

    fn quota(&self, ask: &Ask) -> Option<(Quota, u64)> {
        let quota = if ask.path.ends_with("/liquidations") {
            Quota::new("5 liquidations in a second", 5, 1, 429)
        } else {
            Quota::new("20 requests in a second", 20, 1, 429)
        };
        Some((quota, 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        let class = ask
            .text("category")
            .or(ask.text("productType"))
            .unwrap_or_default()
            .to_lowercase();
        match ask.path.as_str() {
            "/api/v3/market/instruments" | "/api/v2/mix/market/contracts" => {
                instruments(&class, ask, book)
            }
            "/api/v3/market/tickers" => tickers(&class, ask, book),
            "/api/v3/market/liquidations" => liquidations(&class, ask, book),
            _ => Answer::status(
                404,
                &json!({"code": "40404", "msg": "Request URL NOT FOUND", "data": null}),
            ),
        }
    }
}

fn row(truth: &Truth, in_quote: bool) -> String {
    let amount = if in_quote { truth.value() } else { truth.size };
    format!(
        r#"{{"symbol":"{}","side":"{}","price":"{}","amount":"{amount}","ts":"{}"}}"#,
        truth.market.native_id,
        truth.word("buy", "sell"),
        truth.price,
        truth.time
    )
}

fn failed(code: &str, message: &str, book: &Book) -> Answer {
    Answer::status(
        400,
        &json!({"code": code, "msg": message, "requestTime": book.now(), "data": null}),
    )
}

fn instruments(class: &str, ask: &Ask, book: &Book) -> Answer {
    let list: Vec<Value> = book
        .of_class_and_name(class, ask.text("symbol"))
        .map(|market| {
            json!({
                "symbol": market.native_id, "category": class.to_uppercase(), "baseCoin": market.base,
                "quoteCoin": market.quote, "minOrderQty": market.step().to_string(),
                "pricePrecision": market.start.1.to_string(), "quantityPrecision": market.step.1.to_string(),
                "quantityMultiplier": market.step().to_string(), "sizeMultiplier": market.step().to_string(),
                "priceMultiplier": market.price(1).to_string(), "type": "perpetual", "status": "online",
                "symbolStatus": "normal", "symbolType": "crypto", "isRwa": "NO",
            })
        })
        .collect();
    Answer::json(
        &json!({"code": "00000", "msg": "success", "requestTime": book.now(), "data": list}),
    )
}

fn tickers(class: &str, ask: &Ask, book: &Book) -> Answer {
    let now = book.now();
    let list: Vec<Value> = book
        .of_class_and_name(class, ask.text("symbol"))
        .map(|market| {
            let price = chart::price(book.seed(), market, now).to_string();
            json!({
                "category": class.to_uppercase(), "symbol": market.native_id, "lastPrice": price,
                "indexPrice": price, "markPrice": price, "fundingRate": "0.000001", "deliveryTime": "",
            })
        })
        .collect();
    Answer::json(&json!({"code": "00000", "msg": "success", "requestTime": now, "data": list}))
}

/// The last three days, newest first; the cursor is the number of rows that came before.
fn liquidations(class: &str, ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(100, 100) else {
        return failed("40017", "Parameter limit error", book);
    };
    let now = book.now();
    let symbol = ask.text("symbol");
    let mut found = book.between(now - 3 * DAY, now, |truth| {
        truth.market.class == class && symbol.is_none_or(|symbol| symbol == truth.market.native_id)
    });
    found.reverse();
    let before = ask
        .number("cursor")
        .and_then(|at| usize::try_from(at).ok())
        .unwrap_or(0);
    let page: Vec<String> = found
        .iter()
        .skip(before)
        .take(limit)
        .map(|truth| row(truth, book.amounts_in_quote()))
        .collect();
    let cursor = if before + limit < found.len() {
        format!("\"{}\"", before + limit)
    } else {
        "null".to_owned()
    };
    Answer::text(format!(
        r#"{{"code":"00000","msg":"success","requestTime":{now},"data":{{"list":[{}],"cursor":{cursor}}}}}"#,
        page.join(",")
    ))
}
