//! Orderly: REST only, all markets together and page by page.
//!
//! Every third liquidation names a position of which nothing was handed over.

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
pub struct Orderly;

static MARKETS: [Market; 3] = [
    Market::new(
        "PERP_BTC_USDC",
        ["BTC", "USDC"],
        Unit::Base,
        "PERP",
        (826_506, 1),
        (1, 5),
    ),
    Market::new(
        "PERP_ETH_USDC",
        ["ETH", "USDC"],
        Unit::Base,
        "PERP",
        (244_618, 2),
        (1, 4),
    ),
    Market::new(
        "PERP_SOL_USDC",
        ["SOL", "USDC"],
        Unit::Base,
        "PERP",
        (180_402, 3),
        (1, 2),
    ),
];

impl Dialect for Orderly {
    fn venue(&self) -> &'static str {
        "orderly"
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
        vec![body(truths, 1)]
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("10 requests in a second", 10, 1, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.path.as_str() {
            "/v1/public/liquidated_positions" => {}
            "/v1/public/futures" => return futures(book),
            _ => return Answer::not_found(),
        }
        let size = usize::try_from(ask.number("size").unwrap_or(60)).unwrap();
        let page = usize::try_from(ask.number("page").unwrap_or(1).max(1)).unwrap();
        let (from, until) = (
            ask.number("start_t").unwrap_or(0),
            ask.number("end_t").unwrap_or(book.now()),
        );
        let symbol = ask.text("symbol");
        let mut found = book.between(from, until, |truth| {
            symbol.is_none_or(|symbol| truth.market.native_id == symbol)
        });
        // The newest first.
        found.reverse();
        let rows: Vec<Truth> = found
            .into_iter()
            .skip((page - 1) * size)
            .take(size)
            .collect();
        Answer::text(body(&rows, page))
    }
}

fn futures(book: &Book) -> Answer {
    let now = book.now();
    let list: Vec<Value> = book
        .listed()
        .into_iter()
        .map(|market| {
            let price = chart::price(book.seed(), market, now)
                .normalize()
                .to_string();
            let price = serde_json::from_str::<Value>(&price).unwrap();
            json!({
                "symbol": market.native_id, "index_price": price, "mark_price": price, "24h_close": price,
                "next_funding_time": now, "open_interest": "1500.4",
            })
        })
        .collect();
    Answer::json(&json!({"success": true, "timestamp": now, "data": {"rows": list}}))
}

fn body(truths: &[Truth], page: usize) -> String {
    let rows: Vec<String> = truths.iter().map(row).collect();
    let meta = json!({"total": truths.len(), "records_per_page": 100, "current_page": page});
    format!(
        r#"{{"success":true,"data":{{"meta":{meta},"rows":[{}]}},"timestamp":1702989203989}}"#,
        rows.join(",")
    )
}

fn row(truth: &Truth) -> String {
    let leg = |symbol: &str, qty: &str| {
        format!(
            r#"{{"symbol":"{symbol}","position_qty":{qty},"liquidator_fee":0.015,"cost_position_transfer":0,"transfer_price":{},"insurance_fund_fee":0.011999,"abs_insurance_fund_fee":0,"seq":{},"abs_liquidator_fee":0}}"#,
            truth.price, truth.seq
        )
    };
    let sign = truth.word("", "-");
    let mut legs = vec![leg(
        truth.market.native_id,
        &format!("{sign}{}", truth.size),
    )];
    if truth.seq.is_multiple_of(3) {
        legs.push(leg("PERP_NEAR_USDC", "0"));
    }
    format!(
        r#"{{"timestamp":{},"liquidation_id":{},"transfer_amount_to_insurance_fund":0,"type":"liquidated","positions_by_perp":[{}]}}"#,
        truth.time,
        truth.seq + 1,
        legs.join(",")
    )
}
