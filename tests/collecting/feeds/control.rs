//! Control topics: topics without liquidations that are never silent for long.

use liqdata::feeds::{Frame, FrameKind, Instruments, SentSubscriptions, Venue, venue};
use liqdata::model::Millis;

/// As each venue sends them.
const SENT: [(&str, &str); 12] = [
    (
        "binance",
        r#"{"e":"markPriceUpdate","E":1790000000000,"s":"BTCUSDT","p":"82650.1","T":1790000000000}"#,
    ),
    (
        "bybit",
        r#"{"topic":"orderbook.1.BTCPERP","type":"snapshot","ts":1790000000000,"data":{"s":"BTCPERP","b":[["1","2"]],"a":[["1","2"]],"u":1,"seq":1},"cts":1}"#,
    ),
    (
        "okx",
        r#"{"arg":{"channel":"open-interest","instId":"BTC-USDT-SWAP"},"data":[{"instType":"SWAP","instId":"BTC-USDT-SWAP","oi":"1","oiCcy":"1","ts":"1790000000000"}]}"#,
    ),
    (
        "gate",
        r#"{"time":1790000000,"time_ms":1790000000000,"channel":"futures.tickers","event":"update","result":[{"contract":"BTC_USDT","last":"82650.1"}]}"#,
    ),
    (
        "bitget",
        r#"{"data":[{"lastPrice":"100000"}],"arg":{"instType":"usdt-futures","symbol":"BTCUSDT","topic":"ticker"},"action":"snapshot","ts":1790000000000}"#,
    ),
    (
        "htx",
        r#"{"op":"notify","topic":"public.BTC-USDT.contract_info","ts":1790000000000,"event":"init","data":[{"symbol":"BTC","contract_code":"BTC-USDT","contract_status":1}]}"#,
    ),
    (
        "deribit",
        r#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"ticker.BTC-PERPETUAL.agg2","data":{"timestamp":1790000000000,"last_price":82650.1}}}"#,
    ),
    (
        "deribit",
        r#"{"params":{"data":{"last_price":82650.1},"channel":"ticker.BTC-PERPETUAL.agg2"},"method":"subscription","jsonrpc":"2.0"}"#,
    ),
    ("kraken", r#"{"feed":"heartbeat","time":1790000000000}"#),
    ("bitfinex", r#"[5,"hb"]"#),
    (
        "dydx",
        r#"{"type":"channel_data","connection_id":"1","message_id":7,"id":"v4_block_height","channel":"v4_block_height","version":"1.0.0","contents":{"blockHeight":"1","time":"2026-10-01T00:00:00.000Z"}}"#,
    ),
    (
        "lighter",
        r#"{"channel":"height","height":227535532,"timestamp":1790000000000,"type":"update/height"}"#,
    ),
];

/// As each venue acknowledges them.
const ACKNOWLEDGED: [(&str, &str); 10] = [
    ("binance", r#"{"result":null,"id":1}"#),
    (
        "bybit",
        r#"{"success":true,"ret_msg":"subscribe","req_id":"1","op":"subscribe"}"#,
    ),
    (
        "okx",
        r#"{"arg":{"channel":"open-interest","instId":"BTC-USDT-SWAP"},"connId":"1","event":"subscribe"}"#,
    ),
    (
        "gate",
        r#"{"time":1790000000,"channel":"futures.tickers","event":"subscribe","error":null,"result":{"status":"success"}}"#,
    ),
    (
        "bitget",
        r#"{"event":"subscribe","arg":{"instType":"usdt-futures","topic":"ticker","symbol":"BTCUSDT"}}"#,
    ),
    (
        "htx",
        r#"{"op":"sub","cid":"1","topic":"public.BTC-USDT.contract_info","ts":1790000000000,"err-code":0}"#,
    ),
    (
        "deribit",
        r#"{"jsonrpc":"2.0","id":1,"result":["ticker.BTC-PERPETUAL.agg2"]}"#,
    ),
    ("kraken", r#"{"event":"subscribed","feed":"heartbeat"}"#),
    (
        "dydx",
        r#"{"type":"subscribed","connection_id":"1","message_id":1,"channel":"v4_block_height","id":"v4_block_height","contents":{"height":"1","time":"2026-10-01T00:00:00.000Z"}}"#,
    ),
    (
        "lighter",
        r#"{"channel":"height","height":1,"type":"subscribed/height"}"#,
    ),
];

/// The meaning of a frame for a connection without open subscriptions.
fn kind(venue: &Venue, frame: &Frame<'_>) -> FrameKind {
    venue
        .read(frame, &SentSubscriptions::default(), false)
        .kind
        .unwrap()
}

/// The control messages of each venue: the quick check of a frame's beginning agrees with the full check, and an
/// acknowledgement of the same topic is no control message.
#[test]
fn a_control_message_is_distinguished_from_its_acknowledgement() {
    let none = Instruments::default();
    for (name, text) in SENT {
        let venue = venue(name).unwrap();
        let frame = venue.frame(text, Some(Millis(1_790_000_000_000)), &none);
        assert_eq!(venue.decode(&frame).unwrap().events, [], "{name}");
        let found = kind(venue, &frame);
        assert_eq!(found, FrameKind::Control, "{name}: {text}");
    }
    // The quick check finds those with an unmistakable beginning.
    let quick = SENT
        .iter()
        .filter(|(name, text)| venue(name).unwrap().is_steady(text));
    assert_eq!(quick.count(), 5);
    for (name, text) in ACKNOWLEDGED {
        let venue = venue(name).unwrap();
        assert!(!venue.is_steady(text), "{name}");
        let frame = venue.frame(text, None, &none);
        let found = kind(venue, &frame);
        assert!(matches!(found, FrameKind::Ack { .. }), "{name}: {found:?}");
    }
}
