//! Bitfinex: `status` with the key `liq:global`, and the REST history.
//!
//! A trigger without a price comes before every match.

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
pub struct Bitfinex;

static MARKETS: [Market; 4] = [
    Market::new(
        "tBTCF0:USTF0",
        ["BTC", "USDT"],
        Unit::Base,
        "future",
        (82_650, 0),
        (1, 8),
    ),
    Market::new(
        "tETHF0:USTF0",
        ["ETH", "USDT"],
        Unit::Base,
        "future",
        (24_463, 1),
        (13, 7),
    ),
    Market::new(
        "tBTCUSD",
        ["BTC", "USD"],
        Unit::Base,
        "margin",
        (82_648, 0),
        (7, 8),
    ),
    Market::new(
        "tNEWF0:USTF0",
        ["NEW", "USDT"],
        Unit::Base,
        "future",
        (1234, 4),
        (1, 2),
    )
    .unlisted(),
];

const CHANNEL: u64 = 386_841;
const KEY: &str = "liq:global";

impl Dialect for Bitfinex {
    fn venue(&self) -> &'static str {
        "bitfinex"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        if session.path != "/ws/2" {
            return Err(404);
        }
        session.say(
            json!({"event": "info", "version": 2, "serverId": "double", "platform": {"status": 1}})
                .to_string(),
        );
        Ok(())
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let error = |code: u16, said: &str| {
            json!({"event": "error", "msg": said, "code": code}).to_string()
        };
        match (request["event"].as_str(), request["key"].as_str()) {
            (Some("ping"), _) => {
                session.pings += 1;
                session.say(
                    json!({"event": "pong", "ts": book.now(), "cid": request["cid"]}).to_string(),
                );
            }
            (Some("subscribe"), Some(KEY)) if session.topics.contains(KEY) => {
                session.say(error(10301, "subscribe: dup"));
            }
            (Some("subscribe"), Some(KEY))
                if request["channel"] == "status" && !book.is_refused(KEY) =>
            {
                session.take(KEY);
                session.say(json!({"event": "subscribed", "channel": "status", "chanId": CHANNEL, "key": KEY}).to_string());
            }
            (Some("subscribe"), key) => {
                session.refuse(key.unwrap_or_default());
                session.say(error(10300, "subscribe: invalid"));
            }
            (Some("unsubscribe"), _) if request["chanId"] == CHANNEL => {
                session.topics.remove(KEY);
                session.say(
                    json!({"event": "unsubscribed", "status": "OK", "chanId": CHANNEL}).to_string(),
                );
            }
            (Some("conf"), _) => session.say(
                json!({"event": "conf", "status": "OK", "flags": request["flags"]}).to_string(),
            ),
            _ => {
                session.strange.push(text.to_owned());
                session.say(error(10000, "unknown event"));
            }
        }
    }

    fn beat(&self, session: &mut Session, beat: u64, muted: bool, book: &Book) {
        // The venue's clock of these is its own: the first may come at once.
        if !muted && beat % 15 == 1 && session.topics.contains(KEY) && !book.is_ignored("hb") {
            session.say(json!([CHANNEL, "hb"]).to_string());
        }
    }

    fn topics(&self, _market: &Market) -> Vec<String> {
        vec![KEY.to_owned()]
    }

    fn most(&self) -> usize {
        5
    }

    fn render(&self, _topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let mut said: Vec<String> = truths
            .iter()
            .map(|truth| format!("[{CHANNEL},[{}]]", row(truth, false)))
            .collect();
        let matches: Vec<String> = truths.iter().map(|truth| row(truth, true)).collect();
        said.push(format!("[{CHANNEL},[{}]]", matches.join(",")));
        said
    }

    fn quota(&self, ask: &Ask) -> Option<(Quota, u64)> {
        Some(if ask.path == "/v2/liquidations/hist" {
            (Quota::new("3 histories in a minute", 3, 60, 429), 1)
        } else {
            (Quota::new("90 requests in a minute", 90, 60, 429), 1)
        })
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.path.as_str() {
            "/v2/conf/pub:list:pair:futures" => {
                let list: Vec<&str> = book
                    .of_class("future")
                    .map(|market| &market.native_id[1..])
                    .collect();
                Answer::json(&json!([list]))
            }
            "/v2/status/deriv" => states(ask, book),
            "/v2/liquidations/hist" => history(ask, book),
            _ => Answer::not_found(),
        }
    }
}

/// Of contracts alone; of a key that there is not, nothing is said.
fn states(ask: &Ask, book: &Book) -> Answer {
    let now = book.now();
    let keys = ask.text("keys").unwrap_or_default();
    let list: Vec<String> = book
        .listed()
        .into_iter()
        .filter(|market| market.class == "future")
        .filter(|market| keys == "ALL" || keys.split(',').any(|key| key == market.native_id))
        .map(|market| {
            let price = chart::price(book.seed(), market, now).normalize();
            format!(
                r#"["{}",{now},null,{price},{price},null,1396531.67460709,null,{now},0,18,null,0,null,null,{price},null,null,12.5,null,null,null,0.0005,0.0025]"#,
                market.native_id
            )
        })
        .collect();
    Answer::text(format!("[{}]", list.join(",")))
}

/// The position's id: of the event's own time, so that no other start of the double has it.
fn position(truth: &Truth) -> i64 {
    truth.time % 1_000_000_000 * 1000 + (truth.seq % 1000).cast_signed()
}

/// How long before its match a trigger is reported.
const BEFORE: i64 = 9;

/// The time in a row.
fn time(truth: &Truth, is_match: bool) -> i64 {
    truth.time - if is_match { 0 } else { BEFORE }
}

fn row(truth: &Truth, is_match: bool) -> String {
    let entry =
        truth.price * rust_decimal::Decimal::new(truth.word("104", "96").parse().unwrap(), 2);
    let price = if is_match {
        truth.price.normalize().to_string()
    } else {
        "null".to_owned()
    };
    let time = time(truth, is_match);
    format!(
        r#"["pos",{},{time},null,"{}",{}{},{},null,{},1,null,{price}]"#,
        position(truth),
        truth.market.native_id,
        truth.word("", "-"),
        truth.size.normalize(),
        entry.normalize(),
        u8::from(is_match),
    )
}

/// Newest first unless sorted otherwise, each row by its own time; triggers stand among the matches.
fn history(ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(120, 500) else {
        return Answer::status(500, &json!(["error", 10020, "limit: invalid"]));
    };
    let (from, until) = (
        ask.number("start").unwrap_or(0),
        ask.number("end").unwrap_or(book.now()),
    );
    let found = book.between(from, until + BEFORE, |_| true);
    let mut rows: Vec<(i64, String)> = found
        .iter()
        .flat_map(|truth| {
            [false, true].map(|is_match| (time(truth, is_match), row(truth, is_match)))
        })
        .filter(|(time, _)| (from..=until).contains(time))
        .collect();
    rows.sort_by_key(|(time, _)| *time);
    if ask.text("sort") != Some("1") {
        rows.reverse();
    }
    rows.truncate(limit);
    let rows: Vec<String> = rows
        .into_iter()
        .map(|(_, row)| format!("[{row}]"))
        .collect();
    Answer::text(format!("[{}]", rows.join(",")))
}
