//! Dedupe keys: every identifying member of an event is in its key, at every exchange.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use liqdata::feeds::{Instrument, Instruments, VENUES, Venue, decode, venue};
use serde_json::Value;

use crate::feeds::keys;

/// The members that identify an event, by exchange. A trade's id identifies it by itself. A number is an index into a
/// row that is a list.
const IDENTIFYING: &[(&str, &[&str])] = &[
    ("binance", &["s", "S", "T", "z", "ap", "p"]),
    (
        "bybit",
        &[
            "s",
            "S",
            "T",
            "v",
            "p",
            "symbol",
            "side",
            "updatedTime",
            "time",
            "size",
            "qty",
            "price",
            "id",
        ],
    ),
    ("okx", &["instId", "posSide", "side", "ts", "sz", "bkPx"]),
    (
        "gate",
        &[
            "contract",
            "time",
            "price",
            "size",
            "order_size",
            "order_price",
            "fill_price",
            "left",
        ],
    ),
    ("bitget", &["symbol", "side", "ts", "price", "amount"]),
    (
        "htx",
        &[
            "contract_code",
            "direction",
            "created_at",
            "volume",
            "price",
            "query_id",
        ],
    ),
    ("aster", &["s", "S", "T", "z", "ap"]),
    ("deribit", &["instrument_name", "trade_id", "liquidation"]),
    ("kraken", &["uid"]),
    ("bitmex", &["orderID"]),
    ("bitfinex", &["1", "2", "5", "9", "11"]),
    ("dydx", &["id"]),
    (
        "coinex",
        &["market", "side", "created_at", "liq_amount", "liq_price"],
    ),
    ("lighter", &["trade_id"]),
    ("lighter_rh", &["trade_id"]),
    ("pacifica", &["s", "h"]),
    ("extended", &["i"]),
    (
        "orderly",
        &[
            "timestamp",
            "liquidation_id",
            "symbol",
            "position_qty",
            "transfer_price",
        ],
    ),
];

/// Words and their opposites.
const OPPOSITES: [(&str, &str); 5] = [
    ("SELL", "BUY"),
    ("Sell", "Buy"),
    ("sell", "buy"),
    ("long", "short"),
    ("T", "M"),
];

/// Another value of the same kind; `None` if there is none.
fn changed(value: &Value) -> Option<Value> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let opposite = OPPOSITES.iter().find_map(|(one, other)| match &*text {
        text if text == *one => Some(*other),
        text if text == *other => Some(*one),
        _ => None,
    });
    if let Some(opposite) = opposite {
        return Some(Value::from(opposite));
    }
    if text == "net" {
        return None;
    }
    let mut bytes = text.into_bytes();
    match bytes.iter().rposition(u8::is_ascii_digit) {
        Some(last) if bytes[last] == b'9' => bytes[last] = b'8',
        Some(last) => bytes[last] += 1,
        None => {
            let first = bytes.first_mut()?;
            *first = if *first == b'X' { b'Y' } else { b'X' };
        }
    }
    let text = String::from_utf8(bytes).unwrap();
    if value.is_number() {
        serde_json::from_str(&text).ok()
    } else {
        Some(Value::from(text))
    }
}

/// Where members of that name are, as JSON pointers.
fn paths(value: &Value, name: &str, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                let at = format!("{at}/{member}");
                if member == name {
                    found.push(at.clone());
                }
                paths(value, name, &at, found);
            }
        }
        Value::Array(items) => {
            let is_row = items.first().is_some_and(|first| first == "pos");
            for (index, value) in items.iter().enumerate() {
                let at = format!("{at}/{index}");
                if is_row && index.to_string() == name {
                    found.push(at.clone());
                }
                paths(value, name, &at, found);
            }
        }
        _ => {}
    }
}

/// The keys of a frame's events; `None` if it cannot be decoded.
fn read(exchange: &str, frame: &Value, markets: &Instruments) -> Option<Vec<String>> {
    let events = decode(exchange, frame.to_string().as_bytes(), None, markets).ok()?;
    Some(keys(&events).into_iter().map(str::to_owned).collect())
}

/// The frame with another value at a path.
fn with(frame: &Value, pointer: &str, value: Value) -> Value {
    let mut frame = frame.clone();
    *frame.pointer_mut(pointer).unwrap() = value;
    frame
}

/// The list that a row is in, and its index there.
fn list_of<'v>(frame: &'v mut Value, row: &str) -> Option<(&'v mut Vec<Value>, usize)> {
    let (list, index) = row.rsplit_once('/')?;
    match frame.pointer_mut(list)? {
        Value::Array(rows) => Some((rows, index.parse().unwrap())),
        _ => None,
    }
}

/// Whether a member is part of an event: without its row, and without its value, something else is read.
fn is_read(
    exchange: &str,
    frame: &Value,
    pointer: &str,
    before: &[String],
    markets: &Instruments,
) -> bool {
    let mut without = frame.clone();
    let (row, _) = pointer.rsplit_once('/').unwrap();
    if let Some((rows, index)) = list_of(&mut without, row) {
        rows.remove(index);
        if read(exchange, &without, markets).as_deref() == Some(before) {
            return false;
        }
    }
    let without = with(frame, pointer, Value::Null);
    read(exchange, &without, markets).as_deref() != Some(before)
}

/// Changes each identifying member of a frame, which has to change a key. Gives the members that the frame has.
fn distinguished(
    exchange: &str,
    frame: &Value,
    names: &[&'static str],
    markets: &Instruments,
) -> HashSet<&'static str> {
    let mut found = HashSet::new();
    let Some(before) = read(exchange, frame, markets).filter(|keys| !keys.is_empty()) else {
        return found;
    };
    assert_eq!(read(exchange, frame, markets).as_ref(), Some(&before));
    for name in names {
        let mut pointers = Vec::new();
        paths(frame, name, "", &mut pointers);
        for pointer in pointers {
            let Some(other) = changed(frame.pointer(&pointer).unwrap()) else {
                continue;
            };
            if !is_read(exchange, frame, &pointer, &before, markets) {
                continue;
            }
            let changed = with(frame, &pointer, other);
            let Some(after) = read(exchange, &changed, markets) else {
                continue;
            };
            let is_new = after.iter().any(|key| !before.contains(key));
            // The market of a message is no part of a trade that its id identifies.
            if exchange == "dydx" && pointer == "/id" {
                assert!(!is_new, "{changed}");
                continue;
            }
            assert!(is_new, "{exchange} {pointer}: {before:?} and {after:?}");
            found.insert(*name);
            // In one frame each of the two has the key that it has by itself.
            let mut both = changed.clone();
            let (row, _) = pointer.rsplit_once('/').unwrap();
            if let Some((rows, _)) = list_of(&mut both, row) {
                rows.push(frame.pointer(row).unwrap().clone());
                let both = read(exchange, &both, markets).unwrap();
                let distinct: HashSet<&String> = both.iter().collect();
                assert_eq!(distinct.len(), both.len(), "{exchange}: {both:?}");
                let all_there = after.iter().all(|key| both.contains(key));
                assert!(all_there, "{exchange} {pointer}: {after:?} and {both:?}");
            }
        }
    }
    found
}

/// The markets of the samples.
fn markets(exchange: &str) -> Instruments {
    let text = fs::read_to_string(samples().join("instruments.json")).unwrap();
    let listed: Value = serde_json::from_str(&text).unwrap();
    let Some(Value::Object(listed)) = listed.get(exchange) else {
        return Instruments::default();
    };
    let read = |(native_id, fields): (&String, &Value)| {
        let field = |name: &str| fields[name].as_str().unwrap();
        let instrument = Instrument::read(
            field("base"),
            field("quote"),
            field("kind"),
            field("contract_size"),
        );
        (native_id.clone(), instrument.unwrap())
    };
    listed.iter().map(read).collect()
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/feeds")
}

/// The JSON frames of a file.
fn frames(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    match serde_json::from_str(&text) {
        Ok(body) => vec![body],
        Err(_) => text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect(),
    }
}

#[test]
fn every_identifying_member_of_an_event_is_in_its_key() {
    let named: Vec<&str> = IDENTIFYING.iter().map(|(exchange, _)| *exchange).collect();
    assert_eq!(named, VENUES.map(Venue::name));
    for (exchange, names) in IDENTIFYING {
        let markets = markets(exchange);
        let mut found = HashSet::new();
        for frame in frames(&samples().join(format!("{exchange}.jsonl"))) {
            found.extend(distinguished(exchange, &frame, names, &markets));
        }
        let missing: Vec<_> = names.iter().filter(|name| !found.contains(*name)).collect();
        assert!(missing.is_empty(), "{exchange}: no sample has {missing:?}");
    }
}

#[test]
fn every_identifying_member_of_a_recorded_event_is_in_its_key() {
    let Some(data) = std::env::var_os("LIQDATA_REAL_DATA") else {
        eprintln!("skipped: LIQDATA_REAL_DATA names no folder of recordings");
        return;
    };
    let mut checked = 0;
    for (exchange, names) in IDENTIFYING {
        let folder = PathBuf::from(&data).join("feeds").join(exchange);
        let Ok(files) = fs::read_dir(folder) else {
            continue;
        };
        for file in files {
            for frame in frames(&file.unwrap().path()) {
                let found = distinguished(exchange, &frame, names, &Instruments::default());
                checked += usize::from(!found.is_empty());
            }
        }
    }
    assert!(checked > 40, "{checked} frames");
}

#[test]
fn a_stored_key_is_the_same_by_socket_and_by_rest() {
    for (exchange, socket, rest) in [
        (
            "gate",
            r#"{"channel":"futures.public_liquidates","event":"update","result":[{"price":"0.52","size":"-30","time_ms":1790000400017,"contract":"XRP_USDT"}]}"#,
            r#"[{"time":1790000400,"contract":"XRP_USDT","size":30,"order_size":-30,"order_price":"0.520","fill_price":"0.519","left":0}]"#,
        ),
        (
            "htx",
            r#"{"op":"notify","topic":"public.XRP-USD.liquidation_orders","data":[{"contract_code":"XRP-USD","direction":"buy","volume":25,"price":0.6123,"created_at":1790000601167}]}"#,
            r#"{"code":200,"data":[{"query_id":5,"contract_code":"XRP-USD","direction":"buy","volume":25.0,"price":0.6123,"created_at":1790000601167}]}"#,
        ),
    ] {
        let none = Instruments::default();
        let key = |frame: &str| {
            let events = decode(exchange, frame.as_bytes(), None, &none).unwrap();
            events[0].dedupe_key.clone()
        };
        let (socket, rest) = (key(socket), key(rest));
        let rules = venue(exchange).unwrap().keyed();
        assert_ne!(socket, rest);
        assert_eq!(rules.shared(&socket), rules.shared(&rest));
    }
}
