//! `CoinEx`: REST only, market by market and page by page.

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
pub struct Coinex;

static MARKETS: [Market; 4] = [
    Market::new(
        "BTCUSDT",
        ["BTC", "USDT"],
        Unit::Base,
        "linear",
        (8_265_020, 2),
        (1, 4),
    ),
    Market::new(
        "ETHUSDT",
        ["ETH", "USDT"],
        Unit::Base,
        "linear",
        (244_622, 2),
        (1, 3),
    ),
    Market::new(
        "LATUSDT",
        ["LAT", "USDT"],
        Unit::Base,
        "linear",
        (9061, 6),
        (1, 0),
    ),
    Market::new(
        "NEWUSDT",
        ["NEW", "USDT"],
        Unit::Base,
        "linear",
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
];

impl Dialect for Coinex {
    fn venue(&self) -> &'static str {
        "coinex"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, _session: &mut Session, _book: &Book) -> Result<(), u16> {
        Err(404)
    }

    fn hear(&self, _session: &mut Session, _text: &str, _book: &Book) {}

    fn topics(&self, _market: &Market) -> Vec<String> {
        vec!["no channel".to_owned()]
    }

    fn most(&self) -> usize {
        1000
    }

    /// There is no channel; this is the body of a page that holds these events.
    fn render(&self, _topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        vec![body(truths, false)]
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("400 requests in a second", 400, 1, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.path.as_str() {
            "/v2/futures/market" => {
                let list: Vec<Value> = book
                    .listed()
                    .into_iter()
                    .map(|market| {
                        json!({
                            "market": market.native_id, "contract_type": "linear", "base_ccy": market.base,
                            "quote_ccy": market.quote, "min_amount": market.step().to_string(),
                            "tick_size": market.price(1).to_string(), "is_market_available": true,
                            "status": "online",
                        })
                    })
                    .collect();
                Answer::json(&json!({"code": 0, "data": list, "message": "OK"}))
            }
            "/v2/futures/ticker" => tickers(ask, book),
            "/v2/futures/liquidation-history" => liquidations(ask, book),
            _ => Answer::not_found(),
        }
    }
}

fn tickers(ask: &Ask, book: &Book) -> Answer {
    let now = book.now();
    let list: Vec<Value> = book
        .listed()
        .into_iter()
        .filter(|market| ask.text("market").is_none_or(|names| names.split(',').any(|name| name == market.native_id)))
        .map(|market| {
            let price = chart::price(book.seed(), market, now).to_string();
            json!({
                "market": market.native_id, "last": price, "open": price, "close": price, "index_price": price,
                "mark_price": price, "period": 86_400,
            })
        })
        .collect();
    Answer::json(&json!({"code": 0, "data": list, "message": "OK"}))
}

fn body(truths: &[Truth], has_next: bool) -> String {
    let rows: Vec<String> = truths
        .iter()
        .map(|truth| {
            let bankruptcy = truth.price * rust_decimal::Decimal::new(998, 3);
            format!(
                r#"{{"market":"{}","side":"{}","liq_price":"{}","liq_amount":"{}","bkr_price":"{}","created_at":{}}}"#,
                truth.market.native_id,
                truth.word("long", "short"),
                truth.price,
                truth.size,
                bankruptcy.round_dp(truth.market.start.1),
                truth.time
            )
        })
        .collect();
    format!(
        r#"{{"code":0,"data":[{}],"pagination":{{"has_next":{has_next}}},"message":"OK"}}"#,
        rows.join(",")
    )
}

fn liquidations(ask: &Ask, book: &Book) -> Answer {
    // Delisted markets still have their past liquidations.
    let of_name = |name: &str| MARKETS.iter().find(|market| market.native_id == name);
    let Some(market) = ask.text("market").and_then(of_name) else {
        return Answer::json(&json!({"code": 3639, "data": {}, "message": "invalid market"}));
    };
    let Some(limit) = ask.limit(10, 100) else {
        return Answer::json(&json!({"code": 3639, "data": {}, "message": "invalid limit"}));
    };
    let page = ask.number("page").unwrap_or(1).max(1).unsigned_abs();
    let (from, until) = (
        ask.number("start_time").unwrap_or(0),
        ask.number("end_time").unwrap_or(book.now()),
    );
    let side = ask.text("side");
    let found = book.between(from, until, |truth| {
        truth.market == market && side.is_none_or(|side| side == truth.word("long", "short"))
    });
    let skipped = usize::try_from(page - 1)
        .unwrap_or(usize::MAX)
        .saturating_mul(limit);
    let rows: Vec<Truth> = found.iter().skip(skipped).take(limit).cloned().collect();
    Answer::text(body(&rows, found.len() > skipped.saturating_add(limit)))
}
