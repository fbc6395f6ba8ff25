//! `BitMEX`: the table `liquidation` with its partial, and the instruments.
//!
//! There is no time in its rows. Of every third order an update and its deletion follow.

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
pub struct Bitmex;

static MARKETS: [Market; 4] = [
    Market::new(
        "XBTUSD",
        ["XBT", "USD"],
        Unit::Usd,
        "FFWCSX",
        (826_490, 1),
        (100, 0),
    ),
    Market::new(
        "XBTUSDT",
        ["XBT", "USDT"],
        Unit::Contracts("0.000001"),
        "FFWCSX",
        (826_497, 1),
        (1000, 0),
    ),
    Market::new(
        "ETHUSDT",
        ["ETH", "USDT"],
        Unit::Contracts("0.00001"),
        "FFWCSX",
        (244_610, 2),
        (1000, 0),
    ),
    Market::new(
        "NEWUSDT",
        ["NEW", "USDT"],
        Unit::Contracts("0.1"),
        "FFWCSX",
        (1234, 4),
        (10, 0),
    )
    .unlisted(),
];

/// The prices of one contract.
const PRICES: &str = "instrument:XBTUSD";
/// Orders that are still there for who subscribes.
const LIVE: usize = 3;

impl Dialect for Bitmex {
    fn venue(&self) -> &'static str {
        "bitmex"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, book: &Book) -> Result<(), u16> {
        if session.path != "/realtime" {
            return Err(404);
        }
        session.say(
            json!({"info": "Welcome to the BitMEX Realtime API.", "version": "2.0.0",
            "timestamp": "2026-10-01T00:00:00.000Z", "limit": {"remaining": 40}})
            .to_string(),
        );
        let tables = session.query.get("subscribe").cloned().unwrap_or_default();
        for table in tables.split(',').filter(|table| !table.is_empty()) {
            subscribe(session, table, &Value::Null, book);
        }
        Ok(())
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        if text == "ping" {
            session.pings += 1;
            return session.say("pong");
        }
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let args = match &request["args"] {
            Value::Array(args) => args.clone(),
            one => vec![one.clone()],
        };
        for table in args.iter().filter_map(Value::as_str) {
            match request["op"].as_str() {
                Some("subscribe") => subscribe(session, table, &request, book),
                Some("unsubscribe") => {
                    session.topics.remove(table);
                    session.say(
                        json!({"success": true, "unsubscribe": table, "request": request})
                            .to_string(),
                    );
                }
                _ => {}
            }
        }
        if request["op"].is_null() {
            session.strange.push(text.to_owned());
            session.say(json!({"status": 400, "error": "Unrecognized request", "meta": {}, "request": text}).to_string());
        }
    }

    /// The subscribed prices, each second here.
    fn beat(&self, session: &mut Session, _beat: u64, muted: bool, book: &Book) {
        if !muted && session.topics.contains(PRICES) {
            let price = chart::price(book.seed(), &MARKETS[0], book.now());
            session.say(format!(
                r#"{{"table":"instrument","action":"update","data":[{{"symbol":"XBTUSD","markPrice":{price}}}]}}"#
            ));
        }
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![
            "liquidation".to_owned(),
            format!("liquidation:{}", market.native_id),
        ]
    }

    fn render(&self, _topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let mut said = Vec::new();
        for truth in truths {
            let change = |action: &str, row: &str| {
                format!(r#"{{"table":"liquidation","action":"{action}","data":[{row}]}}"#)
            };
            said.push(change("insert", &row(truth)));
            if truth.seq.is_multiple_of(3) {
                let key = format!(
                    r#"{{"orderID":"{}","symbol":"{}""#,
                    truth.uuid(),
                    truth.market.native_id
                );
                said.push(change(
                    "update",
                    &format!("{key},\"leavesQty\":{}}}", truth.market.step().normalize()),
                ));
                said.push(change("delete", &format!("{key}}}")));
            }
        }
        said
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("30 requests in a minute", 30, 60, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.path.as_str() {
            "/api/v1/instrument/active" | "/api/v1/instrument" => {
                let list: Vec<Value> = book
                    .listed()
                    .into_iter()
                    .map(|market| instrument(market, book))
                    .collect();
                Answer::json(&Value::from(list))
            }
            "/api/v1/liquidation" => Answer::text(format!("[{}]", live(book, "").join(","))),
            _ => Answer::status(
                404,
                &json!({"error": {"message": "Not Found", "name": "HTTPError"}}),
            ),
        }
    }
}

fn row(truth: &Truth) -> String {
    format!(
        r#"{{"orderID":"{}","symbol":"{}","side":"{}","price":{},"leavesQty":{}}}"#,
        truth.uuid(),
        truth.market.native_id,
        truth.word("Sell", "Buy"),
        truth.price.normalize(),
        truth.size.normalize()
    )
}

fn live(book: &Book, symbol: &str) -> Vec<String> {
    book.last(LIVE, |truth| {
        symbol.is_empty() || truth.market.native_id == symbol
    })
    .iter()
    .map(row)
    .collect()
}

fn subscribe(session: &mut Session, table: &str, request: &Value, book: &Book) {
    if table == PRICES && !book.is_refused(table) {
        session.take(table);
        return session
            .say(json!({"success": true, "subscribe": table, "request": request}).to_string());
    }
    let symbol = table
        .strip_prefix("liquidation")
        .map(|rest| rest.trim_start_matches(':'));
    let Some(symbol) = symbol.filter(|_| !book.is_refused(table)) else {
        session.refuse(table);
        return session.say(
            json!({"status": 400, "error": format!("Unknown table: {table}"), "meta": {},
            "request": request})
            .to_string(),
        );
    };
    session.take(table);
    session.say(json!({"success": true, "subscribe": table, "request": request}).to_string());
    session.say(format!(
        r#"{{"table":"liquidation","action":"partial","keys":["orderID"],"types":{{"orderID":"guid","symbol":"symbol","side":"symbol","price":"float","leavesQty":"long"}},"filter":{{}},"data":[{}]}}"#,
        live(book, symbol).join(",")
    ));
}

fn instrument(market: &'static Market, book: &Book) -> Value {
    let inverse = market.is_inverse();
    let price = chart::price(book.seed(), market, book.now());
    let per_base = (rust_decimal::Decimal::ONE / market.contract_size()).normalize();
    let number = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let mut row = json!({
        "symbol": market.native_id, "rootSymbol": market.base, "state": "Open", "typ": market.class,
        "underlying": market.base, "quoteCurrency": market.quote, "lotSize": number(market.step().normalize().to_string()),
        "isQuanto": false, "isInverse": inverse, "markPrice": number(price.normalize().to_string()),
        "tickSize": number(market.price(1).to_string()), "timestamp": "2026-10-01T00:00:00.000Z",
    });
    if inverse {
        row["positionCurrency"] = "USD".into();
        row["settlCurrency"] = "XBt".into();
        row["multiplier"] = (-100_000_000).into();
        row["underlyingToSettleMultiplier"] = (-100_000_000).into();
        row["underlyingToPositionMultiplier"] = Value::Null;
    } else {
        row["positionCurrency"] = market.base.into();
        row["settlCurrency"] = "USDt".into();
        row["multiplier"] = 1.into();
        row["quoteToSettleMultiplier"] = 1_000_000.into();
        row["underlyingToPositionMultiplier"] = number(per_base.to_string());
    }
    row
}
