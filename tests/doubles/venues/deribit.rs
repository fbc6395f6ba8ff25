//! Deribit: the trade tape over JSON-RPC, with heartbeats that want an answer, and the same methods over REST.
//!
//! Every other liquidation is one of the maker. Every other trade is no liquidation.

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
pub struct Deribit;

static MARKETS: [Market; 5] = [
    Market::new(
        "BTC-PERPETUAL",
        ["BTC", "USD"],
        Unit::Usd,
        "BTC",
        (826_495, 1),
        (10, 0),
    ),
    Market::new(
        "ETH-PERPETUAL",
        ["ETH", "USD"],
        Unit::Usd,
        "ETH",
        (244_605, 2),
        (1, 0),
    ),
    Market::new(
        "BTC-26MAR27",
        ["BTC", "USD"],
        Unit::Usd,
        "BTC",
        (836_485, 1),
        (10, 0),
    ),
    Market::new(
        "BTC_USDC-PERPETUAL",
        ["BTC", "USDC"],
        Unit::Base,
        "USDC",
        (826_496, 1),
        (1, 4),
    ),
    Market::new(
        "NEW_USDC-PERPETUAL",
        ["NEW", "USDC"],
        Unit::Base,
        "USDC",
        (1235, 4),
        (1, 0),
    )
    .unlisted(),
];

/// The last price of one contract.
const TICKER: &str = "ticker.BTC-PERPETUAL.agg2";

impl Dialect for Deribit {
    fn venue(&self) -> &'static str {
        "deribit"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        if session.path == "/ws/api/v2" {
            Ok(())
        } else {
            Err(404)
        }
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let (id, params) = (&request["id"], &request["params"]);
        let result = match request["method"].as_str() {
            Some("public/subscribe") => match subscribe(session, params, book) {
                Ok(result) => result,
                Err(error) => {
                    return session
                        .say(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
                }
            },
            Some("public/unsubscribe") => {
                for channel in channels(params) {
                    session.topics.remove(&channel);
                }
                params["channels"].clone()
            }
            Some("public/set_heartbeat") => {
                let interval = params["interval"].as_u64().unwrap_or_default();
                if interval < 10 {
                    return session.say(
                        json!({"jsonrpc": "2.0", "id": id, "error":
                        {"code": -32602, "message": "Invalid params", "data": {"param": "interval",
                            "reason": "must be at least 10"}}})
                        .to_string(),
                    );
                }
                *session.note("heartbeat") = interval;
                "ok".into()
            }
            Some("public/disable_heartbeat") => {
                *session.note("heartbeat") = 0;
                "ok".into()
            }
            Some("public/test") => {
                session.note_pong();
                json!({"version": "1.2.26"})
            }
            Some("public/hello") => json!({"version": "1.2.26"}),
            Some("public/get_time") => book.now().into(),
            Some(method) => {
                let ask = Ask {
                    path: format!("/api/v2/{method}"),
                    query: params
                        .as_object()
                        .into_iter()
                        .flatten()
                        .map(|(name, value)| {
                            (
                                name.clone(),
                                value
                                    .as_str()
                                    .map_or_else(|| value.to_string(), str::to_owned),
                            )
                        })
                        .collect(),
                };
                match method_of(&ask, book) {
                    Some(result) => {
                        return session.say(format!(
                            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
                        ));
                    }
                    None => {
                        session.strange.push(text.to_owned());
                        return session.say(
                            json!({"jsonrpc": "2.0", "id": id,
                            "error": {"code": -32601, "message": "Method not found"}})
                            .to_string(),
                        );
                    }
                }
            }
            None => {
                session.strange.push(text.to_owned());
                json!({"error": "no method"})
            }
        };
        session.say(json!({"jsonrpc": "2.0", "id": id, "result": result, "usIn": 1, "usOut": 2, "usDiff": 1,
            "testnet": false}).to_string());
    }

    fn beat(&self, session: &mut Session, beat: u64, muted: bool, book: &Book) {
        // In bundles of two seconds; the first is sent at once.
        if !muted && session.topics.contains(TICKER) && beat % 2 == 1 {
            let now = book.now();
            let price = chart::price(book.seed(), &MARKETS[0], now);
            session.say(format!(
                r#"{{"jsonrpc":"2.0","method":"subscription","params":{{"channel":"{TICKER}","data":{{"timestamp":{now},"state":"open","last_price":{price},"instrument_name":"BTC-PERPETUAL"}}}}}}"#
            ));
        }
        let every = *session.note("heartbeat");
        if every == 0 || !beat.is_multiple_of(every) {
            return;
        }
        if session.unanswered > 1 {
            return session.close(1001, "test request was not answered");
        }
        session.unanswered += 1;
        for kind in ["heartbeat", "test_request"] {
            session.say(
                json!({"jsonrpc": "2.0", "method": "heartbeat", "params": {"type": kind}})
                    .to_string(),
            );
        }
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![
            format!("trades.{}.100ms", market.native_id),
            format!("trades.future.{}.100ms", market.class),
            "trades.future.any.100ms".to_owned(),
        ]
    }

    fn most(&self) -> usize {
        10
    }

    fn render(&self, topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        vec![format!(
            r#"{{"jsonrpc":"2.0","method":"subscription","params":{{"channel":"{topic}","data":[{}]}}}}"#,
            trades(truths)
        )]
    }

    fn stream(&self, market: &Market) -> Option<&'static str> {
        Some(market.native_id)
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("20 requests in a second", 20, 1, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match method_of(ask, book) {
            Some(result) => Answer::text(format!(
                r#"{{"jsonrpc":"2.0","result":{result},"usIn":1,"usOut":2,"usDiff":1,"testnet":false}}"#
            )),
            None => Answer::status(
                400,
                &json!({"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params"}}),
            ),
        }
    }
}

fn channels(params: &Value) -> Vec<String> {
    let list = params["channels"].as_array().cloned().unwrap_or_default();
    list.iter()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

/// Channels that do not exist are left out of the answer.
fn subscribe(session: &mut Session, params: &Value, book: &Book) -> Result<Value, Value> {
    let names = channels(params);
    if names
        .iter()
        .any(|name| name.split('.').next_back() == Some("raw"))
    {
        return Err(
            json!({"code": 13778, "message": "raw_subscriptions_not_available_for_unauthorized"}),
        );
    }
    let mut taken = Vec::new();
    for name in names {
        let exists = name == TICKER
            || MARKETS
                .iter()
                .any(|market| Deribit.topics(market).contains(&name));
        if exists && !book.is_refused(&name) {
            session.take(name.clone());
            taken.push(name);
        } else {
            session.refuse(name);
        }
    }
    Ok(taken.into())
}

/// The number of a trade, of the event's own time so that no other start of the double has it.
fn trade_id(truth: &Truth) -> String {
    format!("{}{:05}", truth.time, truth.seq % 100_000)
}

fn trades(truths: &[Truth]) -> String {
    let mut rows = Vec::new();
    for truth in truths {
        let id = trade_id(truth);
        // The direction is the taker's: he was liquidated himself, or traded with one who was.
        let (flag, direction) = if truth.seq.is_multiple_of(2) {
            ("T", truth.word("sell", "buy"))
        } else {
            ("M", truth.word("buy", "sell"))
        };
        // The number within the contract: every other liquidation has a trade behind it.
        let number = truth.nth + (truth.nth - 1) / 2;
        let row = |id: &str, flag: &str, number: u64| {
            format!(
                r#"{{"trade_seq":{},"trade_id":"{id}","timestamp":{},"tick_direction":3,"price":{},{flag}"instrument_name":"{}","index_price":{},"direction":"{direction}","amount":{}}}"#,
                number,
                truth.time,
                truth.price.normalize(),
                truth.market.native_id,
                truth.price.normalize(),
                truth.size.normalize()
            )
        };
        rows.push(row(&id, &format!("\"liquidation\":\"{flag}\","), number));
        if truth.nth.is_multiple_of(2) {
            rows.push(row(&format!("{id}9"), "", number + 1));
        }
    }
    rows.join(",")
}

/// The result of a method as JSON.
fn method_of(ask: &Ask, book: &Book) -> Option<String> {
    match ask.behind("/api/v2/public/")? {
        "get_time" => Some(book.now().to_string()),
        "test" => Some(json!({"version": "1.2.26"}).to_string()),
        "get_instruments" => {
            let currency = ask.text("currency").unwrap_or("any");
            let list: Vec<Value> = book
                .listed()
                .into_iter()
                .filter(|market| ["any", market.class].contains(&currency))
                .filter(|_| ask.text("kind").is_none_or(|kind| kind == "future"))
                .map(instrument)
                .collect();
            Some(Value::from(list).to_string())
        }
        "get_book_summary_by_currency" => {
            let currency = ask.text("currency")?;
            let list: Vec<Value> = book
                .of_class(currency)
                .filter(|_| ask.text("kind").is_none_or(|kind| kind == "future"))
                .map(|market| summary(market, book))
                .collect();
            Some(Value::from(list).to_string())
        }
        "get_last_trades_by_currency_and_time" => {
            let currency = ask.text("currency")?.to_owned();
            Some(last_trades(ask, book, |truth| {
                truth.market.class == currency
            }))
        }
        "get_last_trades_by_instrument_and_time" => {
            let name = ask.text("instrument_name")?.to_owned();
            Some(last_trades(ask, book, |truth| {
                truth.market.native_id == name
            }))
        }
        _ => None,
    }
}

fn instrument(market: &'static Market) -> Value {
    let reversed = market.is_inverse();
    let size = serde_json::from_str::<Value>(&market.step().normalize().to_string()).unwrap();
    json!({
        "instrument_name": market.native_id, "kind": "future", "base_currency": market.base,
        "quote_currency": market.quote, "counter_currency": market.quote,
        "settlement_currency": if reversed { market.base } else { market.quote },
        "instrument_type": if reversed { "reversed" } else { "linear" },
        "contract_size": size, "min_trade_amount": size, "is_active": true, "state": "open",
        "settlement_period": "perpetual", "creation_timestamp": 1_534_167_754_000_i64,
    })
}

fn summary(market: &'static Market, book: &Book) -> Value {
    let now = book.now();
    let price = chart::price(book.seed(), market, now)
        .normalize()
        .to_string();
    let price = serde_json::from_str::<Value>(&price).unwrap();
    json!({
        "instrument_name": market.native_id, "base_currency": market.base, "quote_currency": market.quote,
        "last": null, "mark_price": price, "mid_price": price, "creation_timestamp": now,
    })
}

/// From the start on, oldest first, unless sorted otherwise.
fn last_trades(ask: &Ask, book: &Book, wanted: impl Fn(&Truth) -> bool) -> String {
    let count = ask
        .number("count")
        .unwrap_or(10)
        .clamp(1, 1000)
        .unsigned_abs();
    let from = ask.number("start_timestamp").unwrap_or(0);
    let until = ask.number("end_timestamp").unwrap_or(book.now());
    let mut found = book.between(from, until, wanted);
    if ask.text("sorting") == Some("desc") {
        found.reverse();
    }
    // Each may bring an ordinary trade along, so half of the rows are allowed.
    let most = usize::try_from(count.div_ceil(2)).unwrap();
    let has_more = found.len() > most;
    found.truncate(most);
    format!(r#"{{"trades":[{}],"has_more":{has_more}}}"#, trades(&found))
}
