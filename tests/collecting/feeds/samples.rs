//! Every venue's samples and every recorded frame give the events that are expected of them.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use liqdata::feeds::{Event, Instrument, Instruments, VENUES, decode, venue};
use liqdata::model::{Side, Vocabulary};
use serde_json::{Value, json};

use crate::feeds::{fault, read};

/// Markets that the samples need, by exchange.
fn markets(listed: &Value, exchange: &str) -> Instruments {
    let Some(listed) = listed.get(exchange) else {
        return Instruments::default();
    };
    listed
        .as_object()
        .unwrap()
        .iter()
        .map(|(native_id, fields)| {
            let field = |name: &str| fields[name].as_str().unwrap();
            let instrument = Instrument::read(
                field("base"),
                field("quote"),
                field("kind"),
                field("contract_size"),
            );
            (native_id.clone(), instrument.unwrap())
        })
        .collect()
}

/// An event as the expectations spell it.
fn spelled(event: &Event) -> Value {
    let text = |value: Option<rust_decimal::Decimal>| value.map(|value| value.to_string());
    json!({
        "exchange": event.exchange,
        "native_id": event.native_id,
        "symbol": event.symbol,
        "coin": event.coin,
        "side": event.side,
        "price": event.price.to_string(),
        "price_kind": event.price_kind.name(),
        "qty": text(event.qty),
        "value_usd": text(event.value_usd),
        "timestamp": event.timestamp,
        "sampled": event.sampled,
        "dedupe_key": event.dedupe_key,
    })
}

/// A key of which the numbers have no trailing zeros.
fn without_zeros(key: &Value) -> Value {
    let plain = |field: &str| match field.parse::<rust_decimal::Decimal>() {
        Ok(number) if field.contains('.') => number.normalize().to_string(),
        _ => field.to_owned(),
    };
    let fields = key.as_str().unwrap().split('|').map(plain);
    fields.collect::<Vec<_>>().join("|").into()
}

/// Decodes every frame of every file under `folder` and compares with its expectations, line by line.
///
/// Frames without expectations must give nothing. Files in `skipped` are not read, and columns of exchanges in `other`
/// are not compared. Returns the number of compared events.
fn reproduces(
    folder: &Path,
    expected: &str,
    listed: &Value,
    skipped: &[&str],
    other: &[(&str, &str)],
) -> usize {
    let mut wanted: BTreeMap<(String, u64, u64), Value> = BTreeMap::new();
    for line in fs::read_to_string(folder.join(expected)).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let at = (
            row["file"].as_str().unwrap().to_owned(),
            row["line"].as_u64().unwrap_or(0),
            row["item"].as_u64().unwrap(),
        );
        assert_eq!(wanted.insert(at, row), None, "expected twice: {line}");
    }
    let compared = wanted.len();
    let files: HashSet<String> = wanted.keys().map(|(file, ..)| file.clone()).collect();
    let mut candidates: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match fs::read_dir(&path) {
            Ok(inside) => candidates.extend(inside.map(|entry| entry.unwrap().path())),
            Err(_) => candidates.push(path),
        }
    }
    for path in candidates {
        let file = path.strip_prefix(folder).unwrap().display().to_string();
        let exchange = file.split(['/', '.']).next().unwrap().to_owned();
        let lines = path
            .extension()
            .is_some_and(|extension| extension == "jsonl");
        let frames = venue(&exchange).is_ok() && (lines || files.contains(&file));
        if !frames || skipped.contains(&file.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let frames_by_line: Vec<(u64, &str)> = if lines {
            (1..).zip(text.lines()).collect()
        } else {
            vec![(0, &*text)]
        };
        let instruments = markets(listed, &exchange);
        for (line, frame) in frames_by_line {
            let events = decode(&exchange, frame.as_bytes(), None, &instruments)
                .unwrap_or_else(|error| panic!("{file}:{line}: {error}"));
            let mut found: Vec<Value> = events.iter().map(spelled).collect();
            let (first, last) = ((file.clone(), line, 0), (file.clone(), line, u64::MAX));
            let here: Vec<_> = wanted
                .range(first..=last)
                .map(|(at, row)| (at.clone(), row.clone()))
                .collect();
            assert_eq!(found.len(), here.len(), "{file}:{line}: {found:?}");
            for (event, (at, row)) in found.iter_mut().zip(here) {
                wanted.remove(&at);
                for (name, value) in row.as_object().unwrap() {
                    let is_left_alone = other.contains(&(&*exchange, name));
                    if !["file", "line", "item", "note"].contains(&name.as_str()) && !is_left_alone
                    {
                        let value = match name.as_str() {
                            "dedupe_key" => without_zeros(value),
                            _ => value.clone(),
                        };
                        assert_eq!(event[name.as_str()], value, "{file}:{line}: {name}");
                    }
                }
            }
        }
    }
    assert!(wanted.is_empty(), "never decoded: {:?}", wanted.keys());
    compared
}

#[test]
fn every_venues_samples_give_the_expected_events() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/feeds");
    let listed = fs::read_to_string(folder.join("instruments.json")).unwrap();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert!(reproduces(&folder, "expected.jsonl", &listed, &[], &[]) > 40);
    for venue in VENUES {
        let samples = folder.join(format!("{}.jsonl", venue.name()));
        assert!(samples.is_file(), "no samples of {}", venue.name());
    }
}

#[test]
fn every_recorded_frame_gives_the_expected_events() {
    let Some(data) = std::env::var_os("LIQDATA_REAL_DATA") else {
        eprintln!("skipped: LIQDATA_REAL_DATA names no folder of recordings");
        return;
    };
    let usd = |base: &str, size: &str| json!({"base": base, "quote": "USD", "kind": "inverse", "contract_size": size});
    let usdt = |base: &str, size: &str| json!({"base": base, "quote": "USDT", "kind": "linear", "contract_size": size});
    let listed = json!({
        "binance": {"BTCUSD_200925": usd("BTC", "100")},
        "okx": {"BTC-USDT-SWAP": usdt("BTC", "0.01"), "XRP-USD-230929": usd("XRP", "10")},
        "gate": {"BTC_USDT": usdt("BTC", "0.0001")},
        "htx": {
            "ETH-USD": usd("ETH", "10"),
            "BSV-USD": usd("BSV", "10"),
            "BTC200703": usd("BTC", "100"),
            "BTC200925": usd("BTC", "100"),
        },
        "lighter": {"1": {"base": "BTC", "quote": "USD", "kind": "linear", "contract_size": "1"}},
    });
    // Nothing is expected of these: money of a test network, an example of the documentation with figures that fit no lot,
    // retired channels, a trade that does not name its market, and a venue without a feed.
    let skipped = [
        "binance/force_order_testnet_2026-09.jsonl",
        "bitget/liquidation_doc_example.jsonl",
        "bybit/legacy_liquidation_tardis.jsonl",
        "okx/rest_derived_2020_2021_tardis.jsonl",
        "dydx/trade_live_2026-09.jsonl",
        "hyperliquid/user_fill_liquidation_nautilus.json",
    ];
    let folder = PathBuf::from(data).join("feeds");
    let expected = "expected_normalised.jsonl";
    // Keys of Gate and Bitfinex are expected as they are stored, with less than the frames have. OKX calls its price a
    // bankruptcy price, although it equals the market price.
    let other = [
        ("gate", "dedupe_key"),
        ("bitfinex", "dedupe_key"),
        ("okx", "price_kind"),
    ];
    let compared = reproduces(&folder, expected, &listed, &skipped, &other);
    assert_eq!(compared, 44);
    let retired = fs::read_to_string(folder.join(skipped[2])).unwrap();
    let sides: Vec<Side> = retired
        .lines()
        .flat_map(|frame| read("bybit", frame))
        .map(|event| event.side)
        .collect();
    assert_eq!(
        sides,
        [
            Side::Short,
            Side::Short,
            Side::Short,
            Side::Long,
            Side::Short
        ]
    );
    for frame in fs::read_to_string(folder.join(skipped[3])).unwrap().lines() {
        let (path, message) = fault("okx", frame);
        assert!(
            ["table", "arg.channel"].contains(&&*path) && message.contains("is not decoded"),
            "{message}"
        );
    }
}
