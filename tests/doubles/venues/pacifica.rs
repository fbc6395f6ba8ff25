//! Pacifica: the channel `trades`, market by market, and the list of markets.
//!
//! Before every other liquidation comes an ordinary trade; every third is taken over by the backstop.

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
pub struct Pacifica;

static MARKETS: [Market; 4] = [
    Market::new(
        "BTC",
        ["BTC", "USDC"],
        Unit::Base,
        "perp",
        (82_651, 0),
        (1, 5),
    ),
    Market::new(
        "ETH",
        ["ETH", "USDC"],
        Unit::Base,
        "perp",
        (24_462, 1),
        (1, 4),
    ),
    Market::new(
        "SOL",
        ["SOL", "USDC"],
        Unit::Base,
        "perp",
        (18_042, 2),
        (1, 2),
    ),
    Market::new(
        "NEW",
        ["NEW", "USDC"],
        Unit::Base,
        "perp",
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
];

/// Most subscriptions to a channel on one connection.
const CHANNELS: usize = 20;

impl Dialect for Pacifica {
    fn venue(&self) -> &'static str {
        "pacifica"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        if session.path == "/ws" {
            Ok(())
        } else {
            Err(404)
        }
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let (source, symbol) = (&request["params"]["source"], &request["params"]["symbol"]);
        let symbol = symbol.as_str().unwrap_or_default().to_owned();
        match request["method"].as_str() {
            Some("ping") => {
                session.pings += 1;
                session.say(json!({"channel": "pong"}).to_string());
            }
            Some("subscribe") if source == "trades" => {
                let exists = MARKETS.iter().any(|market| market.native_id == symbol);
                if !exists || book.is_refused(&symbol) {
                    session.refuse(symbol);
                    return session.say(json!({"error": "Symbol not found"}).to_string());
                }
                if session.topics.len() >= CHANNELS {
                    session
                        .over_limit
                        .push(format!("more than {CHANNELS} subscriptions"));
                }
                session.take(symbol.clone());
                let data = json!({"source": "trades", "symbol": symbol});
                session.say(json!({"channel": "subscribe", "data": data}).to_string());
            }
            Some("unsubscribe") => {
                session.topics.remove(&symbol);
                let data = json!({"source": "trades", "symbol": symbol});
                session.say(json!({"channel": "unsubscribe", "data": data}).to_string());
            }
            _ => {
                session.strange.push(text.to_owned());
                session.say(
                    json!({"code": 400, "err": "Invalid subscription parameters.", "t": book.now()})
                        .to_string(),
                );
            }
        }
    }

    fn patience(&self) -> Option<u64> {
        Some(60)
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![market.native_id.to_owned()]
    }

    fn most(&self) -> usize {
        10
    }

    fn render(&self, _topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let rows: Vec<String> = truths.iter().flat_map(rows).collect();
        vec![format!(
            r#"{{"channel":"trades","data":[{}]}}"#,
            rows.join(",")
        )]
    }

    fn quota(&self, ask: &Ask) -> Option<(Quota, u64)> {
        // Heavy requests cost up to twelve; which those are is not said.
        let cost = if ask.path.ends_with("/prices") { 12 } else { 1 };
        Some((Quota::new("100 credits in a minute", 100, 60, 429), cost))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.path.as_str() {
            "/api/v1/info" => {
                let list: Vec<Value> = book
                    .listed()
                    .into_iter()
                    .map(|market| {
                        json!({
                            "symbol": market.native_id, "tick_size": market.price(1).to_string(),
                            "min_tick": "0", "max_tick": "1000000", "lot_size": market.step().to_string(),
                            "max_leverage": 50, "isolated_only": false, "min_order_size": "10",
                            "max_order_size": "5000000", "funding_rate": "0.0000125",
                            "next_funding_rate": "0.0000125",
                        })
                    })
                    .collect();
                Answer::json(&json!({"success": true, "data": list, "error": null, "code": null}))
            }
            "/api/v1/info/prices" => prices(book),
            _ => Answer::not_found(),
        }
    }
}

fn prices(book: &Book) -> Answer {
    let now = book.now();
    let list: Vec<Value> = book
        .listed()
        .into_iter()
        .map(|market| {
            let price = chart::price(book.seed(), market, now).to_string();
            json!({
                "funding": "0.0000125", "mark": price, "mid": price, "next_funding": "0.0000125",
                "open_interest": "3634796", "oracle": price, "symbol": market.native_id, "timestamp": now,
                "volume_24h": "20896698.0672", "yesterday_price": price,
            })
        })
        .collect();
    Answer::json(&json!({"success": true, "data": list, "error": null, "code": null}))
}

/// The trade, and the one that comes before it.
fn rows(truth: &Truth) -> Vec<String> {
    let row = |mark: u8, cause: &str| {
        format!(
            r#"{{"h":{}{:04}{mark},"s":"{}","a":"{}","p":"{}","d":"{}","tc":"{cause}","t":{},"li":{},"it":0}}"#,
            truth.time,
            truth.seq % 10_000,
            truth.market.native_id,
            truth.size,
            truth.price,
            truth.word("close_long", "close_short"),
            truth.time,
            truth.seq
        )
    };
    let mut rows = Vec::new();
    if truth.seq.is_multiple_of(2) {
        rows.push(row(9, "normal"));
    }
    rows.push(row(
        0,
        if truth.seq.is_multiple_of(3) {
            "backstop_liquidation"
        } else {
            "market_liquidation"
        },
    ));
    rows
}
