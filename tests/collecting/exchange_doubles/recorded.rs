//! Compares the doubles with recorded messages of exchanges, where those are available.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use liqdata::feeds::{Instruments, decode};
use liqdata::model::Millis;
use serde_json::Value;

use crate::doubles::{Book, Exchange, Liquidations, Setup, dialect};
use crate::exchange_doubles::client::Client;

/// The folder of recorded messages; tests skip without it.
fn recorded() -> Option<PathBuf> {
    let folder = std::env::var_os("LIQDATA_REAL_DATA").map(|root| Path::new(&root).join("feeds"));
    if folder.is_none() {
        eprintln!("skipped: LIQDATA_REAL_DATA does not name a folder of recorded messages");
    }
    folder
}

/// The path of every member of a message, with one path for all items of a list.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let at = format!("{at}.{name}");
                paths(member, &at, found);
                found.insert(at);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| paths(item, &format!("{at}[]"), found)),
        _ => {}
    }
}

fn paths_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in texts {
        let message: Value = serde_json::from_str(text).unwrap();
        // Of Binance some are recorded in the envelope of a combined stream and some raw.
        let inside = message.get("stream").and(message.get("data"));
        paths(inside.unwrap_or(&message), "", &mut found);
    }
    found
}

/// Recorded files, and the topic with the same messages of the double.
const ALIKE: [(&str, &str, &str); 11] = [
    (
        "binance",
        "force_order_live_2026-10.jsonl",
        "stream !forceOrder@arr",
    ),
    (
        "binance",
        "force_order_testnet_2026-09.jsonl",
        "ws !forceOrder@arr",
    ),
    (
        "aster",
        "force_order_live_2026-09.jsonl",
        "ws !forceOrder@arr",
    ),
    (
        "bybit",
        "all_liquidation_live_2026.jsonl",
        "linear allLiquidation.BTCUSDT",
    ),
    (
        "okx",
        "liquidation_orders_live_2026.jsonl",
        "liquidation-orders SWAP",
    ),
    (
        "bitget",
        "liquidation_2026-04_tardis.jsonl",
        "liquidation usdt-futures",
    ),
    (
        "gate",
        "public_liquidates_doc_example_2026-08-20.jsonl",
        "usdt !all",
    ),
    (
        "htx",
        "liquidation_orders_linear_live_2026-09.jsonl",
        "linear-swap-notification public.*.liquidation_orders",
    ),
    (
        "deribit",
        "trades_liquidation_2020-03_tardis.jsonl",
        "trades.BTC-PERPETUAL.100ms",
    ),
    ("kraken", "trade_liquidation_2020_tardis.jsonl", "PF_XBTUSD"),
    ("dydx", "v4_trades_tardis.jsonl", "trades BTC-USD"),
];

#[test]
fn the_double_has_every_member_of_the_recorded_messages() {
    let Some(folder) = recorded() else { return };
    for (venue, file, topic) in ALIKE {
        let text = std::fs::read_to_string(folder.join(venue).join(file)).unwrap();
        let real = paths_of(text.lines());
        let dialect = dialect(venue).unwrap();
        let book = Book::new(Setup::of(venue), dialect.markets());
        let mut stream = Liquidations::new(venue, dialect.markets(), 1);
        let market = dialect
            .markets()
            .iter()
            .find(|market| dialect.topics(market).iter().any(|own| own == topic));
        let native_id = market.unwrap().native_id;
        let truths: Vec<_> = (0..12)
            .map(|number| stream.next_of(native_id, 1_790_000_000_000 + number))
            .collect();
        let said: Vec<String> = truths
            .chunks(dialect.most().min(2))
            .flat_map(|frame| dialect.render(topic, frame, &book))
            .collect();
        let ours = paths_of(said.iter().map(String::as_str));
        let missing: Vec<&String> = real.difference(&ours).collect();
        assert!(
            missing.is_empty(),
            "{venue} {file}: {missing:?} are not in {ours:?}"
        );
    }
}

#[tokio::test]
async fn recorded_messages_are_replayed_as_they_are() {
    let Some(folder) = recorded() else { return };
    for (venue, file, path) in [
        (
            "binance",
            "force_order_live_2026-10.jsonl",
            "/market/stream",
        ),
        (
            "bybit",
            "all_liquidation_live_2026.jsonl",
            "/v5/public/linear",
        ),
        (
            "htx",
            "liquidation_orders_linear_live_2026-09.jsonl",
            "/linear-swap-notification",
        ),
    ] {
        let text = std::fs::read_to_string(folder.join(venue).join(file)).unwrap();
        let exchange = Exchange::open(venue).await;
        let mut client = Client::connect(&exchange, path).await;
        exchange.until(|tally| tally.open == 1).await;
        for line in text.lines() {
            assert_eq!(exchange.say(line), 1);
            let frame = client.hear().await;
            let none = Instruments::default();
            let decoded = decode(venue, &frame, Some(Millis(0)), &none).unwrap();
            assert_eq!(
                decoded,
                decode(venue, line.as_bytes(), Some(Millis(0)), &none).unwrap()
            );
            assert!(!decoded.is_empty());
        }
    }
}
