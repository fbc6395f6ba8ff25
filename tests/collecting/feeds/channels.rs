//! Channels that are not decoded: those without liquidations give nothing, every other one is named.

use liqdata::model::Side;

use crate::feeds::{fault, read};

#[test]
fn a_liquidation_channel_without_a_decoder_is_named() {
    for (exchange, frame, path, words) in [
        (
            "okx",
            r#"{"table":"swap/liquidation","data":[{"loss":"0","size":"8","price":"3.523","created_at":"2020-12-18T00:30:58.374Z","type":"3","instrument_id":"UNI-USD-SWAP"}]}"#,
            "table",
            &["\"swap/liquidation\"", "retired with version 3"][..],
        ),
        (
            "okx",
            r#"{"arg":{"channel":"liquidations","instId":"BTC-USD-220624"},"data":[{"bkPx":"51886.2","posSide":"short","side":"buy","sz":"12","ts":"1640140210617"}]}"#,
            "arg.channel",
            &["\"liquidations\"", "REST bodies"],
        ),
        (
            "okx",
            r#"{"arg":{"channel":"liquidation-warning","instType":"ANY"},"data":[{"instId":"ETH-USDT-SWAP"}]}"#,
            "arg.channel",
            &["one account"],
        ),
        (
            "gate",
            r#"{"channel":"futures.liquidates","event":"update","result":[{"liq_price":213,"order_size":-124,"contract":"BTC_USD","user":"7"}]}"#,
            "channel",
            &["\"futures.liquidates\"", "futures.public_liquidates"],
        ),
        (
            "dydx",
            r#"{"type":"channel_data","id":"ETH-USD","channel":"v3_trades","contents":{"trades":[{"size":"1","side":"SELL","price":"1800","createdAt":"2023-03-01T00:00:00.000Z","liquidation":true}]}}"#,
            "channel",
            &["\"v3_trades\"", "October 2024"],
        ),
        (
            "orderly",
            r#"{"topic":"liquidation","ts":1790001700235,"data":[{"liquidationId":1,"type":"liquidated","positionsByPerp":[{"symbol":"PERP_NEAR_USDC","positionQty":12.6}]}]}"#,
            "topic",
            &["without a price", "liquidated_positions"],
        ),
        (
            "pacifica",
            r#"{"channel":"account_liquidations","data":[{"s":"BTC","m":"market","d":"bid","a":"1","p":"90000"}]}"#,
            "channel",
            &["one account"],
        ),
        (
            "deribit",
            r#"{"notifications":[{"message":"trade_event","result":[{"instrument":"BTC-PERPETUAL","liquidation":"T"}]}]}"#,
            "notifications",
            &["version 1"],
        ),
        (
            "bybit",
            r#"{"ret_code":0,"ret_msg":"OK","result":[{"id":1,"qty":1,"side":"Sell","time":1580000000000,"symbol":"BTCUSD","price":8000}]}"#,
            "ret_code",
            &["liq-records"],
        ),
        (
            "binance",
            r#"[{"symbol":"BTCUSDT","price":"7918.33","origQty":"0.014","executedQty":"0.014","averagePrice":"7918.33","side":"SELL","time":1568014460893}]"#,
            "[0]",
            &["allForceOrders"],
        ),
        (
            "htx",
            r#"{"status":"ok","data":{"orders":[{"contract_code":"BTC-USD","direction":"sell","volume":26,"price":1.5,"created_at":1408076414000}],"total_page":1},"ts":1578124684692}"#,
            "data",
            &["version 1", "swap_liquidation_orders"],
        ),
    ] {
        let (found, message) = fault(exchange, frame);
        assert_eq!(found, path, "{exchange}: {message}");
        for word in words {
            assert!(message.contains(word), "{exchange}: {message}");
        }
    }
}

#[test]
fn an_unknown_channel_is_named() {
    for (exchange, frame, path) in [
        (
            "binance",
            r#"{"stream":"x","data":{"e":"forcedOrder","o":{}}}"#,
            "data.e",
        ),
        ("aster", r#"{"e":"liquidation"}"#, "e"),
        (
            "bybit",
            r#"{"topic":"allLiquidations.BTCUSDT","data":[]}"#,
            "topic",
        ),
        (
            "okx",
            r#"{"arg":{"channel":"liquidation-fills"},"data":[]}"#,
            "arg.channel",
        ),
        (
            "okx",
            r#"{"table":"margin/liquidation","data":[]}"#,
            "table",
        ),
        (
            "gate",
            r#"{"channel":"futures.liquidations","event":"update","result":[]}"#,
            "channel",
        ),
        (
            "bitget",
            r#"{"action":"update","arg":{"topic":"liquidations"},"data":[]}"#,
            "arg.topic",
        ),
        (
            "bitget",
            r#"{"action":"update","arg":{"channel":"liq-orders"},"data":[]}"#,
            "arg.channel",
        ),
        (
            "htx",
            r#"{"op":"notify","topic":"public.BTC-USD.liquidations","data":[]}"#,
            "topic",
        ),
        ("htx", r#"{"ch":"liquidation.btc","tick":{}}"#, "ch"),
        (
            "deribit",
            r#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"liquidations.BTC","data":[]}}"#,
            "params.channel",
        ),
        ("kraken", r#"{"feed":"liquidations","trades":[]}"#, "feed"),
        (
            "bitmex",
            r#"{"table":"liquidations","action":"insert","data":[]}"#,
            "table",
        ),
        (
            "dydx",
            r#"{"type":"channel_data","channel":"v5_trades","id":"BTC-USD","contents":{}}"#,
            "channel",
        ),
        (
            "coinex",
            r#"{"method":"liquidation.update","data":{},"id":null}"#,
            "method",
        ),
        (
            "lighter",
            r#"{"type":"update/liquidation","channel":"liquidation:1"}"#,
            "type",
        ),
        (
            "lighter_rh",
            r#"{"type":"update/liquidation","channel":"liquidation:1"}"#,
            "type",
        ),
        (
            "pacifica",
            r#"{"channel":"liquidations","data":[]}"#,
            "channel",
        ),
        (
            "extended",
            r#"{"type":"LIQUIDATION","data":{},"ts":1,"seq":1}"#,
            "type",
        ),
        (
            "orderly",
            r#"{"topic":"PERP_BTC_USDC@forced","data":{}}"#,
            "topic",
        ),
    ] {
        let (found, message) = fault(exchange, frame);
        assert_eq!(found, path, "{exchange}: {message}");
        let words = format!("is not a known channel of {exchange},");
        assert!(message.contains(&words), "{message}");
    }
}

#[test]
fn channels_without_liquidations_give_nothing() {
    for (exchange, frame) in [
        (
            "binance",
            r#"{"e":"aggTrade","s":"BTCUSDT","p":"1","q":"1"}"#,
        ),
        (
            "binance",
            r#"[{"e":"24hrMiniTicker","s":"BTCUSDT"},{"e":"markPriceUpdate","s":"BTCUSDT"}]"#,
        ),
        (
            "bybit",
            r#"{"topic":"orderBookL2_25.BTCUSD","type":"delta","data":{"delete":[]}}"#,
        ),
        (
            "bybit",
            r#"{"topic":"kline.1.BTCUSDT","data":[{"start":1}]}"#,
        ),
        (
            "okx",
            r#"{"table":"swap/trade","data":[{"instrument_id":"BTC-USD-SWAP"}]}"#,
        ),
        (
            "okx",
            r#"{"arg":{"channel":"funding-rate","instId":"BTC-USDT-SWAP"},"data":[{}]}"#,
        ),
        (
            "gate",
            r#"{"channel":"futures.order_book","event":"all","result":{"t":1}}"#,
        ),
        (
            "gate",
            r#"{"channel":"futures.liquidates","event":"subscribe","result":{"status":"success"}}"#,
        ),
        (
            "bitget",
            r#"{"action":"snapshot","arg":{"instType":"mc","channel":"candle1m","instId":"BTCUSDT"},"data":[]}"#,
        ),
        (
            "htx",
            r#"{"ch":"market.BTC-USDT.trade.detail","ts":1,"tick":{}}"#,
        ),
        (
            "deribit",
            r#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC-PERPETUAL.100ms","data":{}}}"#,
        ),
        (
            "kraken",
            r#"{"feed":"book_snapshot","product_id":"PI_XBTUSD"}"#,
        ),
        (
            "bitmex",
            r#"{"table":"quote","action":"insert","data":[{"symbol":"XBTUSD"}]}"#,
        ),
        (
            "dydx",
            r#"{"type":"channel_data","channel":"v4_markets","id":"v4_markets","contents":{}}"#,
        ),
        (
            "coinex",
            r#"{"method":"deals.update","data":{"market":"BTCUSDT"},"id":null}"#,
        ),
        (
            "lighter",
            r#"{"type":"update/market_stats","channel":"market_stats:1"}"#,
        ),
        ("pacifica", r#"{"channel":"bbo","data":{"s":"BTC"}}"#),
        (
            "extended",
            r#"{"type":"SNAPSHOT","data":{"m":"BTC-USD"},"ts":1,"seq":1}"#,
        ),
        ("orderly", r#"{"topic":"PERP_BTC_USDC@kline_1m","data":{}}"#),
    ] {
        assert_eq!(read(exchange, frame), [], "{frame}");
    }
}

#[test]
fn the_retired_topic_of_bybit_gives_rows() {
    let of = |row: &str| {
        let frame = format!(r#"{{"topic":"liquidation.BTCUSDT","type":"snapshot","data":{row}}}"#);
        read("bybit", &frame)
    };
    let old = of(
        r#"{"symbol":"BTCUSDT","side":"Buy","price":"45212.50","qty":"0.009","time":1632123952732}"#,
    );
    let new = of(
        r#"{"updatedTime":1632123952732,"symbol":"BTCUSDT","side":"Buy","size":"0.009","price":"45212.50"}"#,
    );
    assert_eq!(old, new, "members were renamed");
    // The topic that replaced it gives the same order, although that one has every order.
    let current = read(
        "bybit",
        r#"{"topic":"allLiquidation.BTCUSDT","data":[{"T":1632123952732,"s":"BTCUSDT","S":"Buy","v":"0.009","p":"45212.50"}]}"#,
    );
    assert_eq!(old[0].dedupe_key, current[0].dedupe_key);
    assert_eq!((old[0].side, current[0].side), (Side::Long, Side::Long));
    assert_eq!((old[0].sampled, current[0].sampled), (true, false));
    let unknown = r#"{"topic":"liquidation.BTCUSDT","data":{"symbol":"BTCUSDT","side":"None","price":"1","qty":"1","time":1632123952732}}"#;
    assert_eq!(fault("bybit", unknown).0, "data.side");
}
