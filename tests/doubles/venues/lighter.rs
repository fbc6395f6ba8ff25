//! Lighter: `trade/<market>`, markets by number; and its like on Robinhood Chain, with other numbers.

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
pub struct Lighter {
    name: &'static str,
    markets: &'static [Market],
}

pub static MAIN: Lighter = Lighter {
    name: "lighter",
    markets: &MARKETS,
};

pub static ON_ROBINHOOD_CHAIN: Lighter = Lighter {
    name: "lighter_rh",
    markets: &OTHERS,
};

static OTHERS: [Market; 3] = [
    Market::new(
        "0",
        ["BTC", "USD"],
        Unit::Base,
        "perp",
        (826_505, 1),
        (1, 5),
    ),
    Market::new(
        "1",
        ["ETH", "USD"],
        Unit::Base,
        "perp",
        (244_619, 2),
        (1, 4),
    ),
    Market::new("57", ["NEW", "USD"], Unit::Base, "perp", (1234, 4), (1, 0)).unlisted(),
];

static MARKETS: [Market; 4] = [
    Market::new(
        "1",
        ["BTC", "USD"],
        Unit::Base,
        "perp",
        (826_507, 1),
        (1, 5),
    ),
    Market::new(
        "0",
        ["ETH", "USD"],
        Unit::Base,
        "perp",
        (244_617, 2),
        (1, 4),
    ),
    Market::new(
        "2",
        ["SOL", "USD"],
        Unit::Base,
        "perp",
        (180_403, 3),
        (1, 3),
    ),
    Market::new("77", ["NEW", "USD"], Unit::Base, "perp", (1234, 4), (1, 0)).unlisted(),
];

/// The channel of the chain's height, which is sent and not acknowledged.
const HEIGHT: &str = "height";

impl Dialect for Lighter {
    fn venue(&self) -> &'static str {
        self.name
    }

    fn markets(&self) -> &'static [Market] {
        self.markets
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        if session.path != "/stream" {
            return Err(404);
        }
        session.say(json!({"session_id": "double", "type": "connected"}).to_string());
        Ok(())
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        let request = serde_json::from_str::<Value>(text).unwrap_or_default();
        let channel = request["channel"].as_str().unwrap_or_default().to_owned();
        match request["type"].as_str() {
            Some("ping") => {
                session.pings += 1;
                session.say(json!({"type": "pong"}).to_string());
            }
            Some("pong") => session.note_pong(),
            Some("subscribe") if channel == HEIGHT && !book.is_refused(HEIGHT) => {
                session.take(HEIGHT);
            }
            Some("subscribe") => {
                let exists = self
                    .markets
                    .iter()
                    .any(|market| channel == format!("trade/{}", market.native_id));
                if !exists || book.is_refused(&channel) {
                    session.refuse(channel.clone());
                    return session.say(json!({"error": {"code": 30005, "message": format!("Invalid Channel: {channel}")}}).to_string());
                }
                session.take(channel.clone());
                let market = channel.trim_start_matches("trade/");
                let recent = book.last(5, |truth| truth.market.native_id == market);
                session.say(message("subscribed/trade", market, &recent));
            }
            Some("unsubscribe") => {
                session.topics.remove(&channel);
                session.say(
                    json!({"type": "unsubscribed", "channel": channel.replace('/', ":")})
                        .to_string(),
                );
            }
            _ => {
                session.strange.push(text.to_owned());
                session.say(
                    json!({"error": {"code": 30003, "message": "Invalid Message"}}).to_string(),
                );
            }
        }
    }

    fn beat(&self, session: &mut Session, _beat: u64, muted: bool, book: &Book) {
        if !muted && session.topics.contains(HEIGHT) {
            let now = book.now();
            session.say(format!(
                r#"{{"channel":"{HEIGHT}","height":{},"timestamp":{now},"type":"update/height"}}"#,
                now / 100
            ));
        }
    }

    /// How often tests ping is their own affair.
    fn messages(&self, text: &str) -> Option<Quota> {
        let is_it = text.contains("subscribe");
        is_it.then(|| Quota::new("200 messages in a minute", 200, 60, 429))
    }

    fn patience(&self) -> Option<u64> {
        Some(60)
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![format!("trade/{}", market.native_id)]
    }

    fn most(&self) -> usize {
        10
    }

    fn render(&self, topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        vec![message(
            "update/trade",
            topic.trim_start_matches("trade/"),
            truths,
        )]
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("60 requests in a minute", 60, 60, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.path.as_str() {
            "/api/v1/orderBooks" => {
                let list: Vec<Value> = book
                    .listed()
                    .into_iter()
                    .map(|market| {
                        json!({
                            "symbol": market.base, "market_id": market.native_id.parse::<u32>().unwrap(),
                            "market_type": "perp", "status": "active", "taker_fee": "0", "maker_fee": "0",
                            "supported_size_decimals": market.step.1, "supported_price_decimals": market.start.1,
                        })
                    })
                    .collect();
                Answer::json(&json!({"code": 200, "order_books": list}))
            }
            "/api/v1/orderBookDetails" => {
                let list: Vec<Value> = book
                    .listed()
                    .into_iter()
                    .map(|market| details(market, book))
                    .collect();
                Answer::json(
                    &json!({"code": 200, "order_book_details": list, "spot_order_book_details": []}),
                )
            }
            _ => Answer::status(404, &json!({"code": 404, "message": "not found"})),
        }
    }
}

/// One deployment reports the mark price; the other only the last trade's, as both did once.
fn details(market: &'static Market, book: &Book) -> Value {
    let price = chart::price(book.seed(), market, book.now());
    let last = serde_json::from_str::<Value>(&price.normalize().to_string()).unwrap();
    let mut details = json!({
        "symbol": market.base, "market_id": market.native_id.parse::<u32>().unwrap(), "market_type": "perp",
        "status": "active", "last_trade_price": last,
    });
    if book.setup.venue == "lighter" {
        details["mark_price"] = price.to_string().into();
    }
    details
}

fn message(kind: &str, market: &str, truths: &[Truth]) -> String {
    let liquidations: Vec<String> = truths
        .iter()
        .map(|truth| trade(truth, "liquidation", ""))
        .collect();
    let trades: Vec<String> = truths
        .iter()
        .filter(|truth| truth.seq.is_multiple_of(2))
        .map(|truth| trade(truth, "trade", "9"))
        .collect();
    format!(
        r#"{{"type":"{kind}","channel":"trade:{market}","nonce":{},"trades":[{}],"liquidation_trades":[{}]}}"#,
        truths.first().map_or(0, |truth| truth.seq),
        trades.join(","),
        liquidations.join(",")
    )
}

/// The taker was liquidated: a long where the maker did not ask.
fn trade(truth: &Truth, kind: &str, mark: &str) -> String {
    let id = format!("{}{:04}{mark}", truth.time, truth.seq % 10_000);
    format!(
        r#"{{"trade_id":{id},"trade_id_str":"{id}","tx_hash":"00","type":"{kind}","market_id":{},"size":"{}","price":"{}","usd_amount":"{}","ask_account_id":72056,"bid_account_id":27927,"is_maker_ask":{},"block_height":218829719,"timestamp":{},"transaction_time":{}000}}"#,
        truth.market.native_id,
        truth.size,
        truth.price,
        truth.value(),
        truth.word("false", "true"),
        truth.time,
        truth.time
    )
}
