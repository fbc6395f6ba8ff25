//! Errors of frames name the path in the frame, at every venue.

use liqdata::feeds::{Error, Instruments, VENUES, decode, venue};
use serde_json::{Value, json};

use crate::feeds::{fault, read};

#[test]
fn an_unknown_side_is_an_error_with_path_and_allowed_values() {
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
            "htx",
            r#"{"code":200,"data":[{"id":"1","contract_code":"ETH-USDT","side":"sell","position_side":"short","volume":"1","amount":"1","bankrupt_price":"1","liquidation_time":"1790000000000"}]}"#,
            "data[0].position_side",
            r#""short" although the order is "sell""#,
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
fn an_unknown_cause_or_type_of_a_trade_is_an_error() {
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
