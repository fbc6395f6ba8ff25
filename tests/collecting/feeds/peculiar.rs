//! Peculiarities of single venues, and data that is easily mistaken there.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use liqdata::feeds::{Instruments, VENUES, decode};
use liqdata::model::{Millis, Side, Vocabulary};

use crate::feeds::{fault, keys, market, read};

fn force_order(inside: &str, outside: &str) -> String {
    format!(
        r#"{{"e":"forceOrder","E":1790000000900{outside},"o":{{"s":"BTCUSD_PERP","S":"SELL","o":"LIMIT","f":"IOC","q":"5","p":"90000.1","ap":"90100.5","X":"FILLED","l":"5","z":"5","T":1790000000111{inside}}}}}"#
    )
}

#[test]
fn binance_takes_the_contract_class_from_any_level_or_the_name() {
    let known = market("BTCUSD_PERP", "BTC", "USD", "inverse", "100");
    let variants = [
        (r#","st":2,"ps":"BTCUSD""#, ""),
        ("", r#","st":2,"ps":"BTCUSD""#),
        ("", ""),
    ];
    for (inside, outside) in variants {
        let frame = force_order(inside, outside);
        let pending = read("binance", &frame);
        assert!(pending[0].is_pending(), "{frame}");
        assert_eq!(pending[0].value_usd, None, "{frame}");
        let counted = decode("binance", frame.as_bytes(), None, &known).unwrap();
        assert_eq!(counted[0].value_usd.unwrap().to_string(), "500");
        assert_eq!(counted[0].qty.unwrap().to_string(), "0.00554936");
        assert_eq!(keys(&pending), keys(&counted));
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
fn equal_rows_of_a_bybit_frame_count_and_its_repetition_does_not() {
    let row = r#"{"T":1790000200001,"s":"SOLUSDT","S":"Buy","v":"2.5","p":"180.40"}"#;
    let frame = format!(
        r#"{{"topic":"allLiquidation.SOLUSDT","type":"snapshot","ts":1,"data":[{row},{row},{row}]}}"#
    );
    let events = read("bybit", &frame);
    let key = "bybit|SOLUSDT|Buy|1790000200001|2.5|180.4";
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
fn every_known_shape_of_gate_frames_is_decoded() {
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
    let shared = "gate|ETH_USDT|1790000400|-250|3151.4";
    for event in &events {
        assert_eq!(event.side, Side::Long);
        assert_eq!(event.value_usd.unwrap().to_string(), "7878.5");
        assert_eq!(event.timestamp.unwrap().0 / 1000, 1_790_000_400);
        let key = match event.timestamp.unwrap().0 % 1000 {
            0 => shared.to_owned(),
            millis => format!("{shared}|{millis}ms"),
        };
        assert_eq!(event.dedupe_key, key);
    }
    // The REST body of the same order: the other sign of the position, the fill's price, and the same event.
    let body = r#"[{"time":1790000400,"contract":"ETH_USDT","size":250,"order_size":-250,"order_price":"3151.40","fill_price":"3149.9","left":0}]"#;
    let rest = &decode("gate", body.as_bytes(), None, &eth).unwrap()[0];
    assert_eq!(rest.side, Side::Long);
    assert_eq!(rest.price_kind.name(), "fill");
    assert_eq!(rest.dedupe_key, format!("{shared}|250|0|3149.9"));
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
fn amounts_of_bitget_by_rest_are_decoded_by_the_lot_or_pending() {
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
    // A row that fits either unit takes the unit of the others.
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
    // Socket and REST give an event the same key.
    let of = |frame: &str| decode("bitget", frame.as_bytes(), None, &wld).unwrap();
    let socket = format!(
        r#"{{"action":"update","arg":{{"instType":"usdt-futures","topic":"liquidation"}},"data":[{quote}],"ts":1}}"#
    );
    let socket = of(&socket);
    assert_eq!(socket[0].value_usd.unwrap().to_string(), "13.41489");
    assert_eq!(keys(&socket), keys(&of(&bitget_page(&quote))));
    assert_eq!(keys(&socket), keys(&of(&bitget_page(&base))));
    // Without the lot an amount in the base cannot be recognised.
    let without_lot = |row: &str| read("bitget", &bitget_page(row));
    assert_eq!(keys(&socket), keys(&without_lot(&quote)));
    assert_ne!(keys(&socket), keys(&without_lot(&base)));
}

#[test]
fn okx_takes_the_side_of_net_positions_from_the_order() {
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
        assert!(event.is_pending(), "no contract value was given");
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
    let expected = ["position:7", "position:7", "position:8"].map(of);
    assert_eq!(groups("bitfinex", &frame), expected);
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
    // Other exchanges have no groups.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/feeds");
    let grouped = ["bitfinex", "lighter", "lighter_rh", "bitmex"];
    for venue in VENUES
        .iter()
        .filter(|venue| !grouped.contains(&venue.name()))
    {
        let samples = fs::read_to_string(folder.join(format!("{}.jsonl", venue.name())));
        for frame in samples.unwrap().lines() {
            let found = groups(venue.name(), frame);
            assert!(found.iter().all(Option::is_none), "{frame}");
        }
    }
}
