//! The decoders of the exchanges' frames: every venue's samples, and what each of them gets wrong elsewhere.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests"
)]

mod page;
mod properties;
mod steady;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use liqdata::feeds::{
    Completeness, Error, Event, Instrument, Instruments, VENUES, Venue, accounts, answer, decode,
    venue,
};
use liqdata::model::{EXCHANGES, Millis, Side, Symbol, Vocabulary};
use serde_json::{Value, json};

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

fn market(native_id: &str, base: &str, quote: &str, kind: &str, size: &str) -> Instruments {
    let instrument = Instrument::read(base, quote, kind, size).unwrap();
    [(native_id.to_owned(), instrument)].into_iter().collect()
}

fn read(exchange: &str, frame: &str) -> Vec<Event> {
    decode(exchange, frame.as_bytes(), None, &Instruments::default())
        .unwrap_or_else(|error| panic!("{exchange}: {error}\n{frame}"))
}

/// Path and message of what is wrong with a frame.
fn fault(exchange: &str, frame: &str) -> (String, String) {
    match decode(exchange, frame.as_bytes(), None, &Instruments::default()) {
        Err(Error::Unexpected { path, message }) => (path, message),
        other => panic!("{exchange}: {other:?}\n{frame}"),
    }
}

fn keys(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event.dedupe_key.as_str())
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

/// Decodes every frame of every file under `folder` and compares with its expectations, line by line.
///
/// Frames of which nothing is expected must give nothing; files in `aside` are left alone. Gives the events compared.
fn reproduces(folder: &Path, expected: &str, listed: &Value, aside: &[&str]) -> usize {
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
        if !frames || aside.contains(&file.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let numbered: Vec<(u64, &str)> = if lines {
            (1..).zip(text.lines()).collect()
        } else {
            vec![(0, &*text)]
        };
        let instruments = markets(listed, &exchange);
        for (line, frame) in numbered {
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
                    if !["file", "line", "item", "note"].contains(&name.as_str()) {
                        assert_eq!(&event[name.as_str()], value, "{file}:{line}: {name}");
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
    assert!(reproduces(&folder, "expected.jsonl", &listed, &[]) > 40);
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
    // Nothing is expected of these: money of a test network, an example of the documentation whose figures fit no lot, a
    // trade that does not name its market, and a venue without a feed.
    let aside = [
        "binance/force_order_testnet_2026-09.jsonl",
        "bitget/liquidation_doc_example.jsonl",
        "dydx/trade_live_2026-09.jsonl",
        "hyperliquid/user_fill_liquidation_nautilus.json",
    ];
    let folder = PathBuf::from(data).join("feeds");
    assert_eq!(
        reproduces(&folder, "expected_normalised.jsonl", &listed, &aside),
        44
    );
}

fn force_order(inside: &str, outside: &str) -> String {
    format!(
        r#"{{"e":"forceOrder","E":1790000000900{outside},"o":{{"s":"BTCUSD_PERP","S":"SELL","o":"LIMIT","f":"IOC","q":"5","p":"90000.1","ap":"90100.5","X":"FILLED","l":"5","z":"5","T":1790000000111{inside}}}}}"#
    )
}

#[test]
fn binance_is_told_the_class_of_a_contract_anywhere_or_by_its_name() {
    let known = market("BTCUSD_PERP", "BTC", "USD", "inverse", "100");
    let places = [
        (r#","st":2,"ps":"BTCUSD""#, ""),
        ("", r#","st":2,"ps":"BTCUSD""#),
        ("", ""),
    ];
    for (inside, outside) in places {
        let frame = force_order(inside, outside);
        let held = read("binance", &frame);
        assert!(held[0].is_held(), "{frame}");
        assert_eq!(held[0].value_usd, None, "{frame}");
        let counted = decode("binance", frame.as_bytes(), None, &known).unwrap();
        assert_eq!(counted[0].value_usd.unwrap().to_string(), "500");
        assert_eq!(counted[0].qty.unwrap().to_string(), "0.00554936");
        assert_eq!(keys(&held), keys(&counted));
    }
    let dated = force_order("", "").replace("BTCUSD_PERP", "BTCUSDT_261225");
    assert_eq!(read("binance", &dated)[0].qty.unwrap().to_string(), "5");
    let (path, message) = fault("binance", &force_order(r#","st":3"#, ""));
    assert_eq!(path, "o.st");
    assert!(message.contains("1 or 2"), "{message}");
}

#[test]
fn keys_that_differ_by_case_alone_are_different_keys() {
    let frame = r#"{"e":"forceOrder","E":1,"o":{"S":"SELL","s":"SOLUSDT","T":1790000000000,"t":7,"Z":"1","z":"2","P":"1","p":"3","AP":"9","ap":"4"}}"#;
    let event = &read("binance", frame)[0];
    assert_eq!(
        (event.side, event.native_id.as_str()),
        (Side::Long, "SOLUSDT")
    );
    assert_eq!(event.value_usd.unwrap().to_string(), "8");
    assert_eq!(event.timestamp, Some(Millis(1_790_000_000_000)));
}

#[test]
fn bybit_counts_equal_rows_of_one_frame_and_not_the_frame_again() {
    let row = r#"{"T":1790000200001,"s":"SOLUSDT","S":"Buy","v":"2.5","p":"180.40"}"#;
    let frame = format!(
        r#"{{"topic":"allLiquidation.SOLUSDT","type":"snapshot","ts":1,"data":[{row},{row},{row}]}}"#
    );
    let events = read("bybit", &frame);
    let key = "bybit|SOLUSDT|Buy|1790000200001|2.5|180.40";
    assert_eq!(
        keys(&events),
        [key, &format!("{key}|2"), &format!("{key}|3")]
    );
    let mut seen: HashSet<String> = HashSet::new();
    let counted = |seen: &mut HashSet<String>| {
        let fresh = read("bybit", &frame)
            .into_iter()
            .filter(|event| seen.insert(event.dedupe_key.clone()));
        fresh.count()
    };
    assert_eq!(counted(&mut seen), 3);
    assert_eq!(counted(&mut seen), 0);
}

#[test]
fn gate_reads_every_shape_it_has_ever_sent() {
    let eth = market("ETH_USDT", "ETH", "USDT", "linear", "0.01");
    let message = |result: &str| {
        format!(
            r#"{{"channel":"futures.public_liquidates","event":"update","time":1790000400,"result":{result}}}"#
        )
    };
    let mut events = Vec::new();
    for row in [
        r#"{"price":3151.40,"size":-250,"time_ms":1790000400123,"contract":"ETH_USDT"}"#,
        r#"{"price":"3151.4","size":"-250","time":1790000400123,"contract":"ETH_USDT"}"#,
        r#"{"price":"3151.4","size":"-250.0","time":"1790000400","contract":"ETH_USDT"}"#,
    ] {
        for result in [row.to_owned(), format!("[{row}]")] {
            let frame = message(&result);
            events.extend(decode("gate", frame.as_bytes(), None, &eth).unwrap());
        }
    }
    assert_eq!(events.len(), 6);
    for event in &events {
        assert_eq!(event.side, Side::Long);
        assert_eq!(event.value_usd.unwrap().to_string(), "7878.5");
        assert_eq!(event.timestamp.unwrap().0 / 1000, 1_790_000_400);
        assert_eq!(event.dedupe_key, "gate|ETH_USDT|1790000400|-250|3151.4");
    }
    // The REST body of the same order: the other sign of the position, the fill's price, and the same event.
    let body = r#"[{"time":1790000400,"contract":"ETH_USDT","size":250,"order_size":-250,"order_price":"3151.40","fill_price":"3149.9","left":0}]"#;
    let rest = &decode("gate", body.as_bytes(), None, &eth).unwrap()[0];
    assert_eq!(rest.side, Side::Long);
    assert_eq!(rest.price_kind.name(), "fill");
    assert_eq!(rest.dedupe_key, events[0].dedupe_key);
    let (path, _) = fault(
        "gate",
        &message(r#"[{"price":"1","size":0,"time":1,"contract":"A_USDT"}]"#),
    );
    assert_eq!(path, "result[0].size");
}

fn bitget_page(rows: &str) -> String {
    format!(
        r#"{{"code":"00000","msg":"success","requestTime":1,"data":{{"list":[{rows}],"cursor":"1"}}}}"#
    )
}

#[test]
fn bitgets_rest_amounts_are_read_by_the_lot_or_held() {
    let wld = market("WLDUSDT", "WLD", "USDT", "linear", "0.1");
    let row = |amount: &str, price: &str| {
        format!(
            r#"{{"symbol":"WLDUSDT","side":"sell","price":"{price}","amount":"{amount}","ts":"1790000500549"}}"#
        )
    };
    let amounts = |rows: &str, known: &Instruments| -> Vec<Option<String>> {
        decode("bitget", bitget_page(rows).as_bytes(), None, known)
            .unwrap()
            .iter()
            .map(|event| event.qty.map(|qty| qty.to_string()))
            .collect()
    };
    let some = |text: &str| Some(text.to_owned());
    let (quote, base) = (row("13.41489", "0.3217"), row("41.7", "0.3217"));
    assert_eq!(amounts(&quote, &wld), [some("41.7")]);
    assert_eq!(amounts(&base, &wld), [some("41.7")]);
    assert_eq!(amounts(&row("13.415", "0.3217"), &wld), [None]);
    assert_eq!(amounts(&quote, &Instruments::default()), [None]);
    // Products are cut behind twelve digits, so this one is a hair off its lot.
    let cut = row("143.330431857868", "0.500280739469");
    assert_eq!(amounts(&cut, &wld), [some("286.5")]);
    // What fits either way goes with what does not.
    let either = row("10", "0.5");
    assert_eq!(amounts(&either, &wld), [some("20")]);
    assert_eq!(
        amounts(&format!("{either},{base}"), &wld),
        [some("10"), some("41.7")]
    );
    assert_eq!(
        amounts(&format!("{either},{quote}"), &wld),
        [some("20"), some("41.7")]
    );
    // Both ways into the house name the event alike.
    let of = |frame: &str| decode("bitget", frame.as_bytes(), None, &wld).unwrap();
    let socket = format!(
        r#"{{"action":"update","arg":{{"instType":"usdt-futures","topic":"liquidation"}},"data":[{quote}],"ts":1}}"#
    );
    let socket = of(&socket);
    assert_eq!(socket[0].value_usd.unwrap().to_string(), "13.41489");
    assert_eq!(keys(&socket), keys(&of(&bitget_page(&quote))));
    assert_eq!(keys(&socket), keys(&of(&bitget_page(&base))));
    // As long as the lot is not known an amount in the base is not known for one.
    let held = |row: &str| read("bitget", &bitget_page(row));
    assert_eq!(keys(&socket), keys(&held(&quote)));
    assert_ne!(keys(&socket), keys(&held(&base)));
}

fn gzip(text: &str) -> Vec<u8> {
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    zipped.write_all(text.as_bytes()).unwrap();
    zipped.finish().unwrap()
}

#[test]
fn htx_frames_may_be_gzip() {
    let frame = r#"{"op":"notify","topic":"public.ETH-USDT.liquidation_orders","ts":1,"data":[{"symbol":"ETH","contract_code":"ETH-USDT","direction":"sell","offset":"close","volume":75.0,"price":3144.12,"created_at":1790000600212,"amount":0.75,"trade_turnover":2358.09}]}"#;
    let none = Instruments::default();
    let zipped = gzip(frame);
    assert_eq!(
        decode("htx", &zipped, None, &none).unwrap(),
        read("huobi", frame)
    );
    assert_eq!(
        decode("htx", &gzip(r#"{"op":"ping","ts":"1"}"#), None, &none),
        Ok(Vec::new())
    );
    let cut = &zipped[..zipped.len() / 2];
    let error = decode("htx", cut, None, &none).unwrap_err();
    assert!(error.to_string().contains("unzipped"), "{error}");
}

#[test]
fn a_gzip_frame_that_swells_beyond_all_measure_is_refused() {
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..65 {
        zipped.write_all(&blanks).unwrap();
    }
    let bomb = zipped.finish().unwrap();
    let error = decode("htx", &bomb, None, &Instruments::default()).unwrap_err();
    assert!(error.to_string().contains("larger than"), "{error}");
}

#[test]
fn htx_hears_the_very_token_it_pinged_with() {
    for (ping, pong) in [
        (
            r#"{"op":"ping","ts":"1790000605591"}"#,
            r#"{"op":"pong","ts":"1790000605591"}"#,
        ),
        (
            r#"{"op":"ping","ts":1790000605591}"#,
            r#"{"op":"pong","ts":1790000605591}"#,
        ),
        (r#"{"ping":1790000605591}"#, r#"{"pong":1790000605591}"#),
    ] {
        assert_eq!(
            answer("htx", ping.as_bytes()).unwrap().as_deref(),
            Some(pong)
        );
        assert_eq!(answer("htx", &gzip(ping)).unwrap().as_deref(), Some(pong));
        assert_eq!(read("htx", ping), []);
    }
    let repeated = r#"{"op":"sub","err-code":2014,"err-msg":"Repeated subscription.","ts":1}"#;
    assert_eq!(answer("htx", repeated.as_bytes()), Ok(None));
    assert_eq!(read("htx", repeated), []);
    assert_eq!(answer("bybit", br#"{"op":"ping"}"#), Ok(None));
}

#[test]
fn okx_reads_net_positions_by_the_order() {
    let frame = |detail: &str| {
        format!(
            r#"{{"arg":{{"channel":"liquidation-orders","instType":"SWAP"}},"data":[{{"instId":"ETH-USDT-SWAP","instType":"SWAP","details":[{detail}]}}]}}"#
        )
    };
    let detail = |position: &str, order: &str| {
        frame(&format!(
            r#"{{"bkPx":"3150","posSide":"{position}","side":"{order}","sz":"2","ts":"1790000300771"}}"#
        ))
    };
    for (position, order, side) in [
        ("net", "sell", Side::Long),
        ("net", "buy", Side::Short),
        ("long", "sell", Side::Long),
        ("short", "buy", Side::Short),
    ] {
        let event = &read("okx", &detail(position, order))[0];
        assert_eq!(event.side, side, "{position} {order}");
        assert!(event.is_held(), "no contract value was given");
    }
    assert_eq!(
        fault("okx", &detail("flat", "sell")).0,
        "data[0].details[0].posSide"
    );
    assert_eq!(
        fault("okx", &detail("net", "hold")).0,
        "data[0].details[0].side"
    );
    // A late row keeps its own time, whatever the time of receipt.
    let late = decode(
        "okx",
        detail("long", "sell").as_bytes(),
        Some(Millis(1_790_000_300_771 + 8 * Millis::MINUTE)),
        &Instruments::default(),
    );
    assert_eq!(late.unwrap()[0].timestamp, Some(Millis(1_790_000_300_771)));
    let refused = r#"{"code":"50011","data":[],"msg":"Too Many Requests"}"#;
    let (path, message) = fault("okx", refused);
    assert_eq!(path, "code");
    assert!(message.contains("Too Many Requests"), "{message}");
}

#[test]
fn bitmex_counts_an_order_once_and_at_its_receipt() {
    let frame = |action: &str| {
        format!(
            r#"{{"table":"liquidation","action":"{action}","data":[{{"orderID":"a-1","symbol":"XBTUSD","side":"Sell","price":91010.5,"leavesQty":8200}}]}}"#
        )
    };
    for action in ["partial", "update", "delete"] {
        assert_eq!(read("bitmex", &frame(action)), [], "{action}");
    }
    let known = Instruments::default();
    let at = Some(Millis(1_790_000_000_000));
    let event = &decode("bitmex", frame("insert").as_bytes(), at, &known).unwrap()[0];
    assert_eq!((event.timestamp, event.received_at), (at, at));
    assert_eq!(event.group_id.as_deref(), Some("order:a-1"));
    assert_eq!(read("bitmex", &frame("insert"))[0].timestamp, None);
}

#[test]
fn a_deribit_trade_that_liquidates_both_ends_is_two_events() {
    let trade = |flag: &str, direction: &str| {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","method":"subscription","params":{{"channel":"trades.BTC-PERPETUAL.100ms","data":[{{"trade_id":"7","timestamp":1790000700032,"price":91000,"liquidation":"{flag}","instrument_name":"BTC-PERPETUAL","direction":"{direction}","amount":910}}]}}}}"#
        );
        let events = read("deribit", &frame);
        assert!(
            events
                .iter()
                .all(|event| event.qty.unwrap().to_string() == "0.01")
        );
        events
            .into_iter()
            .map(|event| (event.side, event.dedupe_key))
            .collect::<Vec<_>>()
    };
    let taker = |side| (side, "deribit|BTC-PERPETUAL|7|T".to_owned());
    let maker = |side| (side, "deribit|BTC-PERPETUAL|7|M".to_owned());
    assert_eq!(trade("MT", "sell"), [taker(Side::Long), maker(Side::Short)]);
    assert_eq!(trade("MT", "buy"), [taker(Side::Short), maker(Side::Long)]);
    assert_eq!(trade("T", "sell"), [taker(Side::Long)]);
    assert_eq!(trade("M", "buy"), [maker(Side::Long)]);
}

#[test]
fn bitfinex_counts_matches_and_never_gives_out_the_entry_price() {
    let row = |matched: u8, price: &str| {
        format!(
            r#"["pos",500001,1790001000543,null,"tSOLF0:USTF0",0.4,201.5,null,{matched},1,null,{price}]"#
        )
    };
    let (trigger, one, other) = (row(0, "null"), row(1, "182.75"), row(1, "182.70"));
    let events = read(
        "bitfinex",
        &format!("[12,[{trigger},{one},{other}],88,1790001000595]"),
    );
    let prices: Vec<String> = events.iter().map(|event| event.price.to_string()).collect();
    assert_eq!(prices, ["182.75", "182.7"]);
    assert_eq!(read("bitfinex", &format!("[12,{one}]")).len(), 1);
    assert_eq!(read("bitfinex", &format!("[[{one}],[{trigger}]]")).len(), 1);
    assert_eq!(
        fault("bitfinex", &format!("[12,[{trigger},{}]]", row(1, "null"))).0,
        "[1][1][11]"
    );
    assert_eq!(
        fault("bitfinex", &format!("[12,[{}]]", row(2, "1"))).0,
        "[1][0][8]"
    );
    assert!(
        fault("bitfinex", r#"["error",11010,"ratelimit: error"]"#)
            .1
            .contains("ratelimit")
    );
}

#[test]
fn a_body_that_does_not_name_its_market_takes_the_only_instrument() {
    let kraken = r#"{"result":"success","history":[{"time":"2026-09-21T14:00:00.250Z","trade_id":3,"price":0.61,"size":90,"side":"sell","type":"liquidation","uid":"u-1"}]}"#;
    let known = market("PI_XRPUSD", "XRP", "USD", "inverse", "1");
    let event = &decode("kraken", kraken.as_bytes(), None, &known).unwrap()[0];
    assert_eq!((event.symbol.as_str(), event.side), ("XRPUSD", Side::Long));
    assert_eq!(event.value_usd.unwrap().to_string(), "90");
    assert_eq!(event.timestamp, Some(Millis(1_789_999_200_250)));
    assert_eq!(fault("kraken", kraken).0, "history[0].product_id");

    let dydx = r#"{"trades":[{"id":"t-1","side":"BUY","size":"2","price":"181","type":"LIQUIDATED","createdAt":"2026-09-21T14:00:00.250Z"}]}"#;
    let known = market("SOL-USD", "SOL", "USD", "linear", "1");
    let event = &decode("dydx", dydx.as_bytes(), None, &known).unwrap()[0];
    assert_eq!((event.symbol.as_str(), event.side), ("SOLUSD", Side::Short));
    assert_eq!(fault("dydx", dydx).0, "trades[0]");
}

#[test]
fn an_unknown_side_is_an_error_that_names_its_place_and_what_is_allowed() {
    for (exchange, frame, path, allowed) in [
        (
            "binance",
            r#"{"stream":"x","data":{"e":"forceOrder","o":{"s":"SOLUSDT","S":"sell","z":"1","ap":"1","T":1790000000000}}}"#,
            "data.o.S",
            r#""SELL" or "BUY""#,
        ),
        (
            "bybit",
            r#"{"topic":"allLiquidation.SOLUSDT","data":[{"T":1790000000000,"s":"SOLUSDT","S":"Long","v":"1","p":"1"}]}"#,
            "data[0].S",
            r#""Buy" or "Sell""#,
        ),
        (
            "htx",
            r#"{"op":"notify","topic":"public.*.liquidation_orders","data":[{"contract_code":"ETH-USDT","direction":"close","volume":1,"price":1,"created_at":1790000000000}]}"#,
            "data[0].direction",
            r#""sell" or "buy""#,
        ),
        (
            "coinex",
            r#"{"code":0,"data":[{"market":"TRXUSDT","side":"buy","liq_price":"1","liq_amount":"1","created_at":1790000000000}],"message":"OK"}"#,
            "data[0].side",
            r#""long" or "short""#,
        ),
        (
            "pacifica",
            r#"{"channel":"trades","data":[{"h":1,"s":"BTC","a":"1","p":"1","d":"open_long","tc":"market_liquidation","t":1790000000000}]}"#,
            "data[0].d",
            r#""close_long" or "close_short""#,
        ),
        (
            "orderly",
            r#"{"success":true,"data":{"rows":[{"timestamp":1790000000000,"liquidation_id":1,"type":"taken","positions_by_perp":[]}]}}"#,
            "data.rows[0].type",
            r#""liquidated" or "claim""#,
        ),
        (
            "deribit",
            r#"{"jsonrpc":"2.0","result":{"trades":[{"liquidation":"X","instrument_name":"BTC-PERPETUAL","direction":"buy"}]}}"#,
            "result.trades[0].liquidation",
            r#""T", "M" or "MT""#,
        ),
    ] {
        let (found, message) = fault(exchange, frame);
        assert_eq!(found, path);
        assert!(message.contains(allowed), "{message}");
    }
}

#[test]
fn a_cause_or_a_type_of_a_trade_that_nobody_knows_is_an_error() {
    let pacifica = |cause: &str| {
        format!(
            r#"{{"channel":"trades","data":[{{"h":1,"s":"BTC","a":"1","p":"1","d":"close_long","tc":"{cause}","t":1790000000000}}]}}"#
        )
    };
    assert_eq!(
        read("pacifica", &pacifica("insolvency_liquidation")).len(),
        1
    );
    let (path, message) = fault("pacifica", &pacifica("whim"));
    assert_eq!(path, "data[0].tc");
    assert!(message.contains("\"whim\""), "{message}");
    let extended = r#"{"data":[{"i":1,"m":"BTC-USD","S":"SELL","tT":"GIFT","T":1790000000000,"p":"1","q":"1"}],"ts":1,"seq":2}"#;
    let (path, message) = fault("extended", extended);
    assert_eq!(path, "data[0].tT");
    assert!(message.contains("\"GIFT\""), "{message}");
}

#[test]
fn open_interest_below_zero_is_an_error_at_its_field() {
    let none = Instruments::default();
    for (exchange, body, path) in [
        (
            "binance",
            r#"[{"sumOpenInterest":"-0.5","timestamp":1790000000000}]"#,
            "[0].sumOpenInterest",
        ),
        (
            "bybit",
            r#"{"result":{"list":[{"singleOpenInterest":"-0.5","timestamp":"1790000000000"}]},"retCode":0}"#,
            "result.list[0].singleOpenInterest",
        ),
        (
            "okx",
            r#"{"code":"0","data":[["1790000000000","1","-0.5","1"]]}"#,
            "data[0][2]",
        ),
    ] {
        let venue = venue(exchange).unwrap();
        let fault = venue
            .read_open_interest(&venue.frame(body, None, &none))
            .unwrap_err()
            .to_string();
        assert!(
            fault.contains(path) && fault.contains("\"-0.5\" is below zero"),
            "{exchange}: {fault}"
        );
    }
}

#[test]
fn a_broken_row_is_an_error_at_its_field() {
    let row = |change: &dyn Fn(&mut Value)| {
        let mut row = json!({"T": 1_790_000_000_000_i64, "s": "SOLUSDT", "S": "Buy", "v": "2.5", "p": "180.4"});
        change(&mut row);
        json!({"topic": "allLiquidation.SOLUSDT", "data": [row]}).to_string()
    };
    for (name, value) in [
        ("p", json!("NaN")),
        ("p", json!("")),
        ("p", json!("0")),
        ("p", json!("-1")),
        ("p", json!({"usd": 1})),
        ("p", Value::Null),
        ("v", json!("1e-40")),
        ("v", json!(true)),
        ("T", json!("yesterday")),
        ("T", json!(-5)),
        ("T", json!(1_790_000_000_000_000_i64)),
        ("T", json!(1_790_000_000_000.5)),
        ("s", json!(" ")),
    ] {
        let frame = row(&|row| row[name] = value.clone());
        assert_eq!(
            fault("bybit", &frame).0,
            format!("data[0].{name}"),
            "{frame}"
        );
        let frame = row(&|row| drop(row.as_object_mut().unwrap().remove(name)));
        assert_eq!(
            fault("bybit", &frame).0,
            format!("data[0].{name}"),
            "{frame}"
        );
    }
    let frame = r#"{"topic":"allLiquidation.SOLUSDT","data":[7]}"#;
    assert_eq!(fault("bybit", frame).0, "data[0]");
    assert_eq!(
        fault("bybit", r#"{"topic":"allLiquidation.SOLUSDT"}"#).0,
        "data"
    );
    // Each fits a decimal, their product does not.
    let frame = row(&|row| {
        row["p"] = json!("1.234567890123456789");
        row["v"] = json!("9.876543210987654321");
    });
    assert_eq!(fault("bybit", &frame).0, "data[0]");
}

#[test]
fn nonsense_is_an_error_at_every_venue() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_member = format!(r#"{{"e":{deep},"topic":{deep},"data":{deep}}}"#);
    for venue in VENUES {
        for frame in [
            "",
            " ",
            "nonsense",
            "{",
            "{}",
            "[1",
            "null",
            "7",
            "\"text\"",
            "true",
            "<html></html>",
            r#"{"hello":"world"}"#,
            "{\"e\":\"forceOrder\"",
            &deep,
            &deep_member,
        ] {
            let (path, message) = fault(venue.name(), frame);
            assert_eq!(path, "", "{}: {message}", venue.name());
            assert!(message.len() < 400, "{}: {message}", venue.name());
        }
        for bytes in [
            &b"\xff\xfe"[..],
            b"{\"e\":\"\xff\"}",
            b"\x1f\x8b",
            b"\x1f\x8bxxxxxxxxxxxx",
        ] {
            let read = decode(venue.name(), bytes, None, &Instruments::default());
            assert!(
                matches!(read, Err(Error::Unexpected { .. })),
                "{}",
                venue.name()
            );
        }
        assert_eq!(read(venue.name(), "pong"), []);
    }
}

#[test]
fn an_exchange_without_a_decoder_is_refused_with_the_list() {
    for name in ["hyperliquid", "", "Binance Futures"] {
        let error = decode(name, b"{}", None, &Instruments::default()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("binance, bybit, okx"), "{message}");
    }
    assert_eq!(venue("GateIO").unwrap().name(), "gate");
    assert_eq!(venue("huobi").unwrap().name(), "htx");
}

#[test]
fn only_venues_that_claim_it_count_as_complete() {
    let complete: Vec<&str> = VENUES
        .iter()
        .filter(|venue| venue.completeness() == Completeness::Complete)
        .map(|venue| venue.name())
        .collect();
    assert_eq!(
        complete,
        [
            "bybit",
            "gate",
            "deribit",
            "kraken",
            "bitmex",
            "bitfinex",
            "dydx",
            "lighter",
            "lighter_rh",
            "pacifica",
            "extended"
        ]
    );
}

#[test]
fn the_exchanges_known_by_name_are_those_that_are_listened_to() {
    let mut known = VENUES.map(Venue::name).to_vec();
    known.push(accounts::EXCHANGE);
    assert_eq!(known, EXCHANGES);
}

#[test]
fn a_venues_own_name_of_a_contract_means_the_pair_again() {
    for venue in VENUES {
        for pair in ["BTCUSDT", "BTCUSD", "ETHUSDC", "SOLUSDT"] {
            let symbol = Symbol::read(pair).unwrap();
            let Some(native_id) = venue.native_id(&symbol) else {
                continue;
            };
            let again = Symbol::read(&native_id).unwrap();
            assert_eq!(again, symbol, "{} {native_id}", venue.name());
        }
        let dated = Symbol::read("BTC-USDT-261225").unwrap();
        assert_eq!(venue.native_id(&dated), None);
    }
}

#[test]
fn fills_of_one_order_or_position_share_a_group() {
    let groups = |exchange: &str, frame: &str| -> Vec<Option<String>> {
        let events = decode(
            exchange,
            frame.as_bytes(),
            Some(Millis(1)),
            &Instruments::default(),
        );
        events
            .unwrap()
            .into_iter()
            .map(|event| event.group_id)
            .collect()
    };
    let of = |group: &str| Some(group.to_owned());
    let position = |id: u32, at: u32| {
        format!(r#"["pos",{id},{at}000,null,"tBTCF0:USTF0",0.5,41000,null,1,1,null,42735]"#)
    };
    let frame = format!(
        "[1,[{},{},{}]]",
        position(7, 1_790_000),
        position(7, 1_790_001),
        position(8, 1_790_001)
    );
    let told = ["position:7", "position:7", "position:8"].map(of);
    assert_eq!(groups("bitfinex", &frame), told);
    let trade = |id: u32, is_maker_ask: bool, orders: &str| {
        format!(
            r#"{{"trade_id":{id},"type":"liquidation","market_id":1,"size":"1","price":"2","usd_amount":"2",{orders}"is_maker_ask":{is_maker_ask},"timestamp":1790000000000}}"#
        )
    };
    let orders = r#""ask_id":5,"bid_id":6,"#;
    let trades = [
        trade(1, true, orders),
        trade(2, false, orders),
        trade(3, true, ""),
    ];
    let frame = format!(
        r#"{{"type":"update/trade","liquidation_trades":[{}]}}"#,
        trades.join(",")
    );
    assert_eq!(
        groups("lighter", &frame),
        [of("order:6"), of("order:5"), None]
    );
    // Elsewhere nothing says what belongs together.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/feeds");
    let telling = ["bitfinex", "lighter", "lighter_rh", "bitmex"];
    for venue in VENUES
        .iter()
        .filter(|venue| !telling.contains(&venue.name()))
    {
        let samples = fs::read_to_string(folder.join(format!("{}.jsonl", venue.name())));
        for frame in samples.unwrap().lines() {
            let told = groups(venue.name(), frame);
            assert!(told.iter().all(Option::is_none), "{frame}");
        }
    }
}
