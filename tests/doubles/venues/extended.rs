//! Extended: `publicTrades` of all markets; the path of the socket is the subscription.
//!
//! The first frame repeats the last trades. Before every other liquidation comes an ordinary trade, before every fifth a
//! deleveraging.

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

#[derive(Debug)]
pub struct Extended;

static MARKETS: [Market; 3] = [
    Market::new(
        "BTC-USD",
        ["BTC", "USD"],
        Unit::Base,
        "PERPETUAL",
        (82_650, 0),
        (1, 5),
    ),
    Market::new(
        "ETH-USD",
        ["ETH", "USD"],
        Unit::Base,
        "PERPETUAL",
        (24_461, 1),
        (1, 3),
    ),
    Market::new(
        "SOL-USD",
        ["SOL", "USD"],
        Unit::Base,
        "PERPETUAL",
        (18_041, 2),
        (1, 2),
    ),
];

const TOPIC: &str = "publicTrades";
/// The placeholder for the sequence number of a frame.
const NUMBER: u64 = 4_294_967_295;
/// How many trades are repeated.
const RECENT: usize = 50;

impl Dialect for Extended {
    fn venue(&self) -> &'static str {
        "extended"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, book: &Book) -> Result<(), u16> {
        if session.path != "/stream.extended.exchange/v1/publicTrades" {
            return Err(404);
        }
        session.take(TOPIC);
        let recent = book.last(RECENT, |_| true);
        *session.note("seq") = 1;
        session.say(frame(&recent, book.now(), 1));
        Ok(())
    }

    fn hear(&self, session: &mut Session, text: &str, _book: &Book) {
        session.strange.push(text.to_owned());
    }

    fn beat(&self, session: &mut Session, beat: u64, _muted: bool, _book: &Book) {
        if beat.is_multiple_of(15) {
            session.ping();
        }
        if session.unanswered > 0 && beat % 15 == 10 {
            session.close(1001, "no pong");
        }
    }

    fn topics(&self, _market: &Market) -> Vec<String> {
        vec![TOPIC.to_owned()]
    }

    fn most(&self) -> usize {
        10
    }

    fn render(&self, _topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let last = truths.last().map_or(0, |truth| truth.time);
        vec![frame(truths, last, NUMBER)]
    }

    /// The frames of a connection carry sequence numbers.
    fn stamp(&self, session: &mut Session, rendered: &Bytes) -> Bytes {
        let mut bytes = rendered.to_vec();
        let mark = format!("\"seq\":{NUMBER}");
        let found = bytes
            .windows(mark.len())
            .position(|part| part == mark.as_bytes());
        if let Some(at) = found {
            *session.note("seq") += 1;
            let number = format!("{:>10}", session.note("seq"));
            let end = at + mark.len();
            bytes[end - number.len()..end].copy_from_slice(number.as_bytes());
        }
        bytes.into()
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("1000 requests in a minute", 1000, 60, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.path.as_str() {
            "/api/v1/info/markets" => markets(book),
            _ => Answer::not_found(),
        }
    }
}

fn markets(book: &Book) -> Answer {
    let now = book.now();
    let list: Vec<Value> = book
        .listed()
        .into_iter()
        .map(|market| {
            let price = chart::price(book.seed(), market, now).to_string();
            json!({
                "name": market.native_id, "assetName": market.base, "collateralAssetName": market.quote,
                "active": true, "status": "ACTIVE", "marketStats": {
                    "lastPrice": price, "askPrice": price, "bidPrice": price, "markPrice": price, "indexPrice": price,
                    "fundingRate": "0.000013", "openInterestBase": "1500.40958",
                },
            })
        })
        .collect();
    Answer::json(&json!({"status": "OK", "data": list}))
}

fn frame(truths: &[Truth], ts: i64, seq: u64) -> String {
    let rows: Vec<String> = truths.iter().flat_map(rows).collect();
    format!(r#"{{"data":[{}],"ts":{ts},"seq":{seq}}}"#, rows.join(","))
}

/// The trade, and those that come before it.
fn rows(truth: &Truth) -> Vec<String> {
    let row = |mark: u8, kind: &str| {
        format!(
            r#"{{"i":{}{:04}{mark},"m":"{}","S":"{}","tT":"{kind}","T":{},"p":"{}","q":"{}"}}"#,
            truth.time,
            truth.seq % 10_000,
            truth.market.native_id,
            truth.word("SELL", "BUY"),
            truth.time,
            truth.price,
            truth.size
        )
    };
    let mut rows = Vec::new();
    if truth.seq.is_multiple_of(2) {
        rows.push(row(1, "TRADE"));
    }
    if truth.seq.is_multiple_of(5) {
        rows.push(row(2, "DELEVERAGE"));
    }
    rows.push(row(0, "LIQUIDATION"));
    rows
}
