//! Rows of a small market, and everything that a market says about them.

use liqdata::archive::{BarRow, Batch, Completeness, OpenInterestRow, OrderRow};
use liqdata::contract::{
    Chart, Coins, Exchanges, Heatmap, Largest, Levels, Liqmap, Maxpain, Orders, Overview, RawModel,
};
use liqdata::market::{Market, MarketQuery};
use liqdata::model::{Millis, Order, Side};
use liqdata::server::Rejection;
use rust_decimal::Decimal;

/// The first instant of a day.
pub(crate) const START: i64 = 20_000 * Millis::DAY;

/// An order with all fields derived from `key` and its times.
pub(crate) fn order(key: u64, timestamp: i64, received_at: i64) -> OrderRow {
    let exchange = ["binance", "bybit", "okx"][usize::try_from(key % 3).unwrap()];
    let (symbol, coin) =
        [("BTCUSDT", "BTC"), ("1000PEPEUSDT", "PEPE")][usize::try_from(key / 3 % 2).unwrap()];
    let price = Decimal::new(6_000_000 + i64::try_from(key % 1_000_000).unwrap(), 2);
    let qty = Decimal::new(1 + i64::try_from(key % 97).unwrap(), 3);
    OrderRow {
        order: Order {
            exchange: exchange.to_owned(),
            symbol: symbol.to_owned(),
            side: if key.is_multiple_of(2) {
                Side::Long
            } else {
                Side::Short
            },
            price,
            qty,
            value_usd: price * qty,
            timestamp: Millis(timestamp),
        },
        coin: coin.to_owned(),
        price_kind: "avg_fill".to_owned(),
        completeness: Completeness::Sampled,
        native_id: None,
        dedupe_key: format!("{key:08}"),
        received_at: Millis(received_at),
        raw: None,
        group_id: None,
    }
}

/// A bar of one minute of BTC; the price goes up and down by a few percent in a day.
pub(crate) fn bar(exchange: &str, minute: i64, received_at: i64) -> BarRow {
    let price = |minute: i64| {
        let wave = (minute as f64 / 170.0).sin() * 1500.0 + (minute as f64 / 17.0).cos() * 90.0;
        Decimal::new(6_000_000 + (wave * 100.0).round() as i64, 2)
    };
    let (open, close) = (price(minute), price(minute + 1));
    let timestamp = START + minute * Millis::MINUTE;
    BarRow {
        exchange: exchange.to_owned(),
        symbol: "BTC".to_owned(),
        timestamp: Millis(timestamp),
        interval: Millis::MINUTE,
        open,
        high: open.max(close) + Decimal::new(75, 1),
        low: open.min(close) - Decimal::new(75, 1),
        close,
        volume: Decimal::new(30 + minute % 7, 1),
        received_at: Millis(received_at),
    }
}

pub(crate) fn reading(exchange: &str, minute: i64, received_at: i64) -> OpenInterestRow {
    OpenInterestRow {
        exchange: exchange.to_owned(),
        symbol: "BTC".to_owned(),
        timestamp: Millis(START + minute * Millis::MINUTE),
        open_interest: Decimal::new(50_000 + minute % 300, 1),
        received_at: Millis(received_at),
    }
}

/// Two days of everything, each row received a little after it happened.
pub(crate) fn two_days() -> Batch {
    some_days(2)
}

/// As `two_days`, of so many.
pub(crate) fn some_days(days: i64) -> Batch {
    let minutes = days * 24 * 60;
    let late = |minute: i64| START + minute * Millis::MINUTE + 900;
    Batch {
        orders: (0..300 * days.unsigned_abs())
            .map(|key| {
                let at = START + i64::try_from(key).unwrap() * 287_977;
                order(key, at, at + 250)
            })
            .collect(),
        bars: (0..minutes)
            .map(|minute| bar("binance", minute, late(minute + 1)))
            .collect(),
        open_interest: (0..minutes / 5)
            .map(|step| reading("okx", step * 5, late(step * 5)))
            .collect(),
        ..Batch::default()
    }
}

fn said<E: MarketQuery>(market: &Market, question: &E, as_of: Option<Millis>) -> String {
    match market.answer(question, as_of) {
        Ok(answered) => format!(
            "{} {:?}",
            serde_json::to_string(&answered.reply).unwrap(),
            answered.explain
        ),
        Err(refusal) => {
            let rejection = Rejection::from(refusal);
            format!("{} {rejection}", rejection.status())
        }
    }
}

/// What a market says to the six questions about what was realised.
pub(crate) fn realised(market: &Market, as_of: Option<Millis>) -> Vec<String> {
    let mut all = vec![said(market, &Overview::default(), as_of)];
    for window in ["1h", "4h", "12h", "24h"] {
        all.push(said(market, &Coins::new(Some(window), 30).unwrap(), as_of));
        all.push(said(market, &Exchanges::new(Some(window)).unwrap(), as_of));
        all.push(said(market, &Largest::new(Some(window), 7).unwrap(), as_of));
    }
    for orders in [
        Orders::new(None, None, 50, 0),
        Orders::new(Some("BTCUSDT"), None, 5, 3),
        Orders::new(None, Some("okx"), 20, 1),
    ] {
        all.push(said(market, &orders.unwrap(), as_of));
    }
    all.push(said(market, &Chart::new("BTCUSDT").unwrap(), as_of));
    all
}

/// What it says to the four about what is estimated.
pub(crate) fn estimated(market: &Market, coin: &str, as_of: Option<Millis>) -> Vec<String> {
    let mut all = Vec::new();
    for (range, model, venue) in [
        ("12h", 2, None),
        ("24h", 3, None),
        ("3d", 2, None),
        ("1M", 2, None),
        ("3M", 2, None),
        ("all", 3, None),
        ("24h", 3, Some("okx")),
        ("all", 3, Some("binance")),
        ("24h", 2, Some("nope")),
    ] {
        let question = Heatmap::new(coin, range, RawModel::Number(model), venue).unwrap();
        all.push(said(market, &question, as_of));
    }
    for (range, bin, venue) in [
        ("1d", None, None),
        ("7d", None, None),
        ("1d", Some(25.0), Some("OKX")),
        ("all", Some(1e-9), None),
    ] {
        let question = Liqmap::new(coin, range, None, bin, venue).unwrap();
        all.push(said(market, &question, as_of));
    }
    all.push(said(market, &Levels::new(coin, None).unwrap(), as_of));
    all.push(said(market, &Maxpain::new(coin, None).unwrap(), as_of));
    all
}

/// Everything it says.
pub(crate) fn everything(market: &Market, as_of: Option<Millis>) -> Vec<String> {
    let mut all = realised(market, as_of);
    all.extend(estimated(market, "BTC", as_of));
    all.push(said(market, &Levels::new("NOPE", None).unwrap(), as_of));
    all
}
