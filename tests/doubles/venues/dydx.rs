//! `dYdX` v4: the channel `v4_trades`, one by one or in batches, and the REST trades.
//!
//! Before every other liquidation comes an ordinary trade, before every fifth a deleveraging.

use std::time::Duration;

use tokio::time::Instant;

use liqdata::model::Millis;
use serde_json::{Map, Value, json};
use tokio_tungstenite::tungstenite::Bytes;

use crate::doubles::book::Book;
use crate::doubles::chart;
use crate::doubles::dialect::Dialect;
use crate::doubles::market::{Market, Unit};
use crate::doubles::quota::Quota;
use crate::doubles::rest::{Answer, Ask};
use crate::doubles::session::Session;
use crate::doubles::truth::Truth;

#[derive(Debug)]
pub struct Dydx;

static MARKETS: [Market; 4] = [
    Market::new(
        "BTC-USD",
        ["BTC", "USD"],
        Unit::Base,
        "perpetual",
        (82_650, 0),
        (1, 4),
    ),
    Market::new(
        "ETH-USD",
        ["ETH", "USD"],
        Unit::Base,
        "perpetual",
        (24_461, 1),
        (1, 3),
    ),
    Market::new(
        "SOL-USD",
        ["SOL", "USD"],
        Unit::Base,
        "perpetual",
        (18_041, 2),
        (1, 1),
    ),
    Market::new(
        "NEW-USD",
        ["NEW", "USD"],
        Unit::Base,
        "perpetual",
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
];

/// The channel of the chain's height.
const HEIGHT: &str = "v4_block_height";
/// Most trade channels of one connection.
const CHANNELS: usize = 32;
/// Most subscriptions in a second, with the burst that is let pass.
const SUBSCRIBES: u64 = 2;
/// What stands in a message where the number of its connection belongs.
const NUMBER: &str = "\"message_id\":4294967295";
/// Trades that come with the acknowledgement.
const RECENT: usize = 20;

impl Dialect for Dydx {
    fn venue(&self) -> &'static str {
        "dydx"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        if session.path != "/v4/ws" {
            return Err(404);
        }
        session.say(
            json!({"type": "connected", "connection_id": "double", "message_id": 0}).to_string(),
        );
        Ok(())
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let market = request["id"].as_str().unwrap_or_default().to_owned();
        let batched = request["batched"] == true;
        let topic = topic(&market, batched);
        // A request has its number before it is answered; a ping has none.
        let counts = matches!(request["type"].as_str(), Some("subscribe" | "unsubscribe"));
        *session.note("message") += u64::from(counts);
        let number = *session.note("message");
        session.sent_streams.extend(counts.then(String::new));
        let error = |said: &str| {
            json!({"type": "error", "message": said, "connection_id": "double", "message_id": number}).to_string()
        };
        match (request["type"].as_str(), request["channel"].as_str()) {
            (Some("ping"), _) => {
                session.pings += 1;
                session.say(json!({"type": "pong", "connection_id": "double"}).to_string());
            }
            (Some("subscribe"), Some("v4_trades")) => {
                let exists = MARKETS.iter().any(|listed| listed.native_id == market);
                if !exists || book.is_refused(&market) {
                    session.refuse(market.clone());
                    session.say(error(&format!(
                        "Invalid subscription id for channel: (v4_trades-{market})"
                    )));
                } else if book.setup.limits && too_fast(session) {
                    session
                        .over_limit
                        .push(format!("more than {SUBSCRIBES} subscriptions in a second"));
                    session.say(error("Too many subscribe attempts for channel v4_trades"));
                } else if session.topics.iter().filter(|one| *one != HEIGHT).count() >= CHANNELS {
                    session
                        .over_limit
                        .push(format!("more than {CHANNELS} channels"));
                    session.say(error(
                        "Per-connection subscription limit reached for v4_trades",
                    ));
                } else {
                    session.take(topic);
                    let recent = book.last(RECENT, |truth| truth.market.native_id == market);
                    session.say(format!(
                        r#"{{"type":"subscribed","connection_id":"double","message_id":{number},"channel":"v4_trades","id":"{market}","contents":{{"trades":[{}]}}}}"#,
                        trades(recent.iter().rev())
                    ));
                }
            }
            (Some("subscribe"), Some(HEIGHT)) if book.is_ignored(HEIGHT) => {
                // Without an answer there is no number.
                *session.note("message") -= 1;
                session.sent_streams.clear();
            }
            (Some("subscribe"), Some(HEIGHT)) if book.is_refused(HEIGHT) => {
                session.refuse(HEIGHT);
                session.say(error(&format!("Invalid channel: {HEIGHT}")));
            }
            (Some("subscribe"), Some(HEIGHT)) => {
                session.take(HEIGHT);
                session.say(
                    json!({"type": "subscribed", "connection_id": "double", "message_id": number,
                    "channel": HEIGHT, "id": HEIGHT, "contents": {"height": "1", "time": "2026-10-01T00:00:00.000Z"}})
                    .to_string(),
                );
            }
            (Some("unsubscribe"), Some("v4_trades")) => {
                session.topics.remove(&topic);
                session.say(
                    json!({"type": "unsubscribed", "connection_id": "double", "message_id": number,
                    "channel": "v4_trades", "id": market})
                    .to_string(),
                );
            }
            _ => {
                session.strange.push(text.to_owned());
                session.say(error("Invalid message type"));
            }
        }
    }

    fn beat(&self, session: &mut Session, beat: u64, muted: bool, book: &Book) {
        if !muted && session.topics.contains(HEIGHT) {
            *session.note("message") += 1;
            session.sent_streams.push(String::new());
            let number = *session.note("message");
            let now = book.now();
            session.say(format!(
                r#"{{"type":"channel_data","connection_id":"double","message_id":{number},"id":"{HEIGHT}","channel":"{HEIGHT}","version":"1.0.0","contents":{{"blockHeight":"{}","time":"{}"}}}}"#,
                now / 1000,
                Millis(now)
            ));
        }
        if beat.is_multiple_of(30) {
            session.ping();
        }
        if session.unanswered > 1 || (session.unanswered == 1 && beat % 30 == 10) {
            session.close(1001, "no pong");
        }
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![
            topic(market.native_id, false),
            topic(market.native_id, true),
        ]
    }

    fn most(&self) -> usize {
        10
    }

    fn render(&self, topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let (channel, market) = topic.split_once(' ').unwrap();
        let contents = format!(r#"{{"trades":[{}]}}"#, trades(truths.iter()));
        let (kind, contents) = if channel == "batches" {
            ("channel_batch_data", format!("[{contents}]"))
        } else {
            ("channel_data", contents)
        };
        vec![format!(
            r#"{{"type":"{kind}","connection_id":"double",{NUMBER},"id":"{market}","channel":"v4_trades","version":"2.1.0","contents":{contents}}}"#,
        )]
    }

    /// The messages of a connection carry sequence numbers.
    fn stamp(&self, session: &mut Session, rendered: &Bytes) -> Bytes {
        let mut bytes = rendered.to_vec();
        let (mark, digits) = (NUMBER.as_bytes(), 10);
        let found = bytes.windows(mark.len()).position(|part| part == mark);
        if let Some(at) = found {
            *session.note("message") += 1;
            let number = format!("{:>digits$}", session.note("message"));
            let end = at + mark.len();
            bytes[end - digits..end].copy_from_slice(number.as_bytes());
        }
        bytes.into()
    }

    fn stream(&self, _market: &Market) -> Option<&'static str> {
        Some("")
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("100 requests in 10 seconds", 100, 10, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        if ask.path == "/v4/perpetualMarkets" {
            let markets: Map<String, Value> = book
                .listed()
                .into_iter()
                .map(|market| (market.native_id.to_owned(), listing(market, book)))
                .collect();
            return Answer::json(&json!({"markets": markets}));
        }
        match ask.behind("/v4/trades/perpetualMarket/") {
            Some(name) => match book.market(name) {
                Some(market) => last_trades(market, ask, book),
                None => Answer::status(
                    404,
                    &json!({"errors": [{"msg": "ticker not found", "value": name}]}),
                ),
            },
            None => Answer::not_found(),
        }
    }
}

fn topic(market: &str, batched: bool) -> String {
    format!("{} {market}", if batched { "batches" } else { "trades" })
}

/// Whether a subscription is one too many of the last second.
fn too_fast(session: &mut Session) -> bool {
    let now = Instant::now();
    session
        .times
        .retain(|time| now.duration_since(*time) < Duration::from_secs(1));
    session.times.push(now);
    session.times.len() as u64 > SUBSCRIBES
}

fn trades<'a>(truths: impl Iterator<Item = &'a Truth>) -> String {
    let rows: Vec<String> = truths.flat_map(rows).collect();
    rows.join(",")
}

/// The trade, and those that come before it.
fn rows(truth: &Truth) -> Vec<String> {
    let row = |mark: &str, kind: &str| {
        format!(
            r#"{{"id":"{:012x}{mark}{:08x}","side":"{}","size":"{}","price":"{}","type":"{kind}","createdAt":"{}","createdAtHeight":"105764029"}}"#,
            truth.time,
            truth.seq,
            truth.word("SELL", "BUY"),
            truth.size,
            truth.price,
            Millis(truth.time)
        )
    };
    let mut rows = Vec::new();
    if truth.seq.is_multiple_of(2) {
        rows.push(row("1", "LIMIT"));
    }
    if truth.seq.is_multiple_of(5) {
        rows.push(row("2", "DELEVERAGED"));
    }
    rows.push(row("0", "LIQUIDATED"));
    rows
}

fn listing(market: &'static Market, book: &Book) -> Value {
    let now = book.now();
    json!({
        "clobPairId": "0", "ticker": market.native_id, "status": "ACTIVE", "marketType": "CROSS",
        "oraclePrice": chart::price(book.seed(), market, now).to_string(), "stepSize": market.step().to_string(),
        "openInterest": chart::open_interest(book.seed(), market, now).to_string(),
        "tickSize": market.price(1).to_string(),
    })
}

/// Newest first, from `createdBeforeOrAt` on.
fn last_trades(market: &'static Market, ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(100, 1000) else {
        return Answer::status(
            400,
            &json!({"errors": [{"msg": "limit must be at most 1000"}]}),
        );
    };
    let until = ask
        .text("createdBeforeOrAt")
        .and_then(Millis::read_iso)
        .map_or(book.now(), |time| time.0);
    let found = book.between(0, until, |truth| truth.market == market);
    let mut rows: Vec<String> = found.iter().rev().flat_map(rows).collect();
    rows.truncate(limit);
    Answer::text(format!(r#"{{"trades":[{}]}}"#, rows.join(",")))
}
