//! Kraken Futures: the feed `trade` with its snapshot, and the REST history.

use liqdata::model::Millis;
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
pub struct Kraken;

static MARKETS: [Market; 5] = [
    Market::new(
        "PF_XBTUSD",
        ["BTC", "USD"],
        Unit::Base,
        "flexible_futures",
        (82_651, 0),
        (1, 4),
    ),
    Market::new(
        "PF_ETHUSD",
        ["ETH", "USD"],
        Unit::Base,
        "flexible_futures",
        (24_462, 1),
        (1, 3),
    ),
    Market::new(
        "PI_XBTUSD",
        ["BTC", "USD"],
        Unit::Usd,
        "futures_inverse",
        (826_495, 1),
        (1, 0),
    ),
    Market::new(
        "FI_XBTUSD_270326",
        ["BTC", "USD"],
        Unit::Usd,
        "futures_inverse",
        (836_495, 1),
        (1, 0),
    ),
    Market::new(
        "PF_NEWUSD",
        ["NEW", "USD"],
        Unit::Base,
        "flexible_futures",
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
];

/// Rows of a snapshot and of a page.
const PAGE: usize = 100;
const WEEK: i64 = 7 * 86_400_000;

impl Dialect for Kraken {
    fn venue(&self) -> &'static str {
        "kraken"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        if session.path != "/ws/v1" {
            return Err(404);
        }
        session.say(json!({"event": "info", "version": 1}).to_string());
        Ok(())
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let products = request["product_ids"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        match (request["event"].as_str(), request["feed"].as_str()) {
            (Some("subscribe"), Some("heartbeat")) if book.is_refused("heartbeat") => {
                session.refuse("heartbeat");
                session.say(
                    json!({"event": "subscribed_failed", "feed": "heartbeat", "message": "Invalid feed"})
                        .to_string(),
                );
            }
            (Some("subscribe"), Some("heartbeat")) => {
                session.take("heartbeat");
                session.say(json!({"event": "subscribed", "feed": "heartbeat"}).to_string());
            }
            (Some("subscribe"), Some("trade")) => {
                for product in products.iter().filter_map(Value::as_str) {
                    let exists = MARKETS.iter().any(|market| market.native_id == product);
                    if !exists || book.is_refused(product) {
                        session.refuse(product);
                        session.say(
                            json!({"event": "error", "message": "Invalid product id"}).to_string(),
                        );
                        continue;
                    }
                    session.take(product);
                    session.say(
                        json!({"event": "subscribed", "feed": "trade", "product_ids": [product]})
                            .to_string(),
                    );
                    let last = snapshot(product, book);
                    if !last.is_empty() {
                        session.sent_streams.push(product.to_owned());
                    }
                    session.say(format!(
                        r#"{{"feed":"trade_snapshot","product_id":"{product}","trades":[{last}]}}"#
                    ));
                }
            }
            (Some("unsubscribe"), Some(feed)) => {
                for product in products.iter().filter_map(Value::as_str) {
                    session.topics.remove(product);
                }
                session.say(
                    json!({"event": "unsubscribed", "feed": feed, "product_ids": products})
                        .to_string(),
                );
            }
            _ => {
                session.strange.push(text.to_owned());
                session.say(json!({"event": "error", "message": "Json Error"}).to_string());
            }
        }
    }

    fn beat(&self, session: &mut Session, _beat: u64, muted: bool, book: &Book) {
        if !muted && session.topics.contains("heartbeat") {
            session.say(json!({"feed": "heartbeat", "time": book.now()}).to_string());
        }
    }

    fn patience(&self) -> Option<u64> {
        Some(60)
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![market.native_id.to_owned()]
    }

    /// A fill comes before every third.
    fn render(&self, _topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        truths
            .iter()
            .flat_map(|truth| {
                let fill = truth.nth.is_multiple_of(3).then(|| trade(truth, "fill"));
                fill.into_iter().chain([trade(truth, "liquidation")])
            })
            .collect()
    }

    fn stream(&self, market: &Market) -> Option<&'static str> {
        Some(market.native_id)
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("500 requests in 10 seconds", 500, 10, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.path.as_str() {
            "/derivatives/api/v3/instruments" => {
                let list: Vec<Value> = book.listed().into_iter().map(instrument).collect();
                Answer::json(
                    &json!({"result": "success", "serverTime": iso(book.now()), "instruments": list}),
                )
            }
            "/derivatives/api/v3/tickers" => tickers(book),
            "/derivatives/api/v3/history" => history(ask, book),
            _ => Answer::not_found(),
        }
    }
}

fn iso(time: i64) -> String {
    Millis(time).to_string()
}

/// Fills have an id of their own.
fn uid(truth: &Truth, kind: &str) -> String {
    let uid = truth.uuid();
    if kind == "liquidation" {
        uid
    } else {
        uid.replacen('-', "-f", 1)
    }
}

fn trade(truth: &Truth, kind: &str) -> String {
    // The number within the market: a fill comes before every third.
    let fills = (truth.nth - u64::from(kind != "liquidation")) / 3;
    let number = truth.nth + fills;
    format!(
        r#"{{"feed":"trade","product_id":"{}","uid":"{}","side":"{}","type":"{kind}","seq":{},"time":{},"qty":{},"price":{}}}"#,
        truth.market.native_id,
        uid(truth, kind),
        truth.word("sell", "buy"),
        number,
        truth.time,
        truth.size.normalize(),
        truth.price.normalize()
    )
}

/// The last trades, newest first.
fn snapshot(product: &str, book: &Book) -> String {
    let mut last = book.last(PAGE, |truth| truth.market.native_id == product);
    last.reverse();
    let trades: Vec<String> = last
        .iter()
        .map(|truth| trade(truth, "liquidation"))
        .collect();
    trades.join(",")
}

fn instrument(market: &'static Market) -> Value {
    let size = serde_json::from_str::<Value>(&market.step().normalize().to_string()).unwrap();
    json!({
        "symbol": market.native_id, "type": market.class, "base": market.base, "quote": market.quote,
        "pair": format!("{}:{}", market.base, market.quote), "tradeable": true, "contractSize": 1,
        "contractValueTradePrecision": market.step.1, "tickSize": size, "tags": [],
    })
}

fn tickers(book: &Book) -> Answer {
    let now = book.now();
    let list: Vec<Value> = book
        .listed()
        .into_iter()
        .map(|market| {
            let price = chart::price(book.seed(), market, now).normalize().to_string();
            let price = serde_json::from_str::<Value>(&price).unwrap();
            json!({
                "symbol": market.native_id, "last": price, "lastTime": iso(now), "tag": "perpetual",
                "pair": format!("{}:{}", market.base, market.quote), "markPrice": price, "indexPrice": price,
                "suspended": false, "postOnly": false,
            })
        })
        // Indices stand there as well.
        .chain([json!({"symbol": "in_xbtusd", "last": 82_650.5, "lastTime": iso(now)})])
        .collect();
    Answer::json(&json!({"result": "success", "serverTime": iso(now), "tickers": list}))
}

/// The last 100 before a time, newest first, within seven days.
fn history(ask: &Ask, book: &Book) -> Answer {
    let Some(market) = ask.text("symbol").and_then(|name| book.market(name)) else {
        return Answer::json(
            &json!({"result": "error", "serverTime": iso(book.now()), "error": "contractNotFound"}),
        );
    };
    let now = book.now();
    let until = ask
        .text("lastTime")
        .and_then(Millis::read_iso)
        .map_or(now, |before| before.0 - 1);
    let mut found = book.between(now - WEEK, until, |truth| truth.market == market);
    found.reverse();
    let rows: Vec<String> = found
        .iter()
        .take(PAGE)
        .map(|truth| {
            format!(
                r#"{{"time":"{}","trade_id":{},"price":{},"size":{},"side":"{}","type":"liquidation","uid":"{}"}}"#,
                iso(truth.time),
                truth.seq,
                truth.price.normalize(),
                truth.size.normalize(),
                truth.word("sell", "buy"),
                uid(truth, "liquidation")
            )
        })
        .collect();
    Answer::text(format!(
        r#"{{"result":"success","serverTime":"{}","history":[{}]}}"#,
        iso(now),
        rows.join(",")
    ))
}
