//! The messages of the doubles on their sockets.

use std::time::Duration;

use liqdata::model::Millis;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

use crate::doubles::{Act, Exchange, Setup, dialect, names};
use crate::exchange_doubles::client::{Client, seen};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn binance_acknowledges_lists_and_sends_on_the_routed_path() {
    let exchange = Exchange::open("binance").await;
    let mut client = Client::connect(&exchange, "/market/ws").await;
    client
        .say(r#"{"method":"SUBSCRIBE","params":["!forceOrder@arr"],"id":1}"#)
        .await;
    assert_eq!(
        json(&client.hear_text().await),
        json(r#"{"result":null,"id":1}"#)
    );
    client
        .say(r#"{"method":"LIST_SUBSCRIPTIONS","id":2}"#)
        .await;
    assert_eq!(
        json(&client.hear_text().await),
        json(r#"{"result":["!forceOrder@arr"],"id":2}"#)
    );
    let truths = exchange.liquidate(50);
    assert_eq!(seen(&client.events(&exchange, 50).await), seen(&truths));
    exchange.drained().await;
    let tally = exchange.tally();
    assert_eq!(tally.subscribed, [(0, "ws !forceOrder@arr".to_owned())]);
    assert_eq!((tally.frames_sent, tally.events_sent), (50, 50));
}

#[tokio::test]
async fn binance_acknowledges_on_the_old_path_and_sends_nothing() {
    let exchange = Exchange::open("binance").await;
    let mut old = Client::connect(&exchange, "/ws/!forceOrder@arr").await;
    let mut new = Client::connect(&exchange, "/market/stream?streams=!forceOrder@arr").await;
    exchange.until(|tally| tally.subscribed.len() == 2).await;
    let truths = exchange.liquidate(3);
    assert_eq!(seen(&new.events(&exchange, 3).await), seen(&truths));
    old.say(r#"{"method":"LIST_SUBSCRIPTIONS","id":2}"#).await;
    // The list is the first that comes, so no event came before it.
    assert_eq!(
        json(&old.hear_text().await),
        json(r#"{"result":["!forceOrder@arr"],"id":2}"#)
    );
}

#[tokio::test]
async fn binance_sends_mark_prices_each_second_and_pings() {
    let mut setup = Setup::of("binance");
    setup.second = Duration::from_millis(2);
    let exchange = Exchange::with(setup).await;
    let mut client = Client::connect(&exchange, "/market/ws/btcusdt@markPrice@1s").await;
    let mut prices = 0;
    loop {
        match client.next().await.unwrap() {
            Message::Text(text) => {
                assert_eq!(json(&text)["e"], "markPriceUpdate");
                prices += 1;
            }
            Message::Ping(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(prices, 179, "a price each second, a ping with the 180th");
}

#[tokio::test]
async fn bybit_rejects_a_whole_batch_for_one_bad_topic() {
    let exchange = Exchange::open("bybit").await;
    let mut client = Client::connect(&exchange, "/v5/public/linear").await;
    client
        .say(r#"{"op":"subscribe","args":["allLiquidation.BTCUSDT","allLiquidation.SOONUSDT"]}"#)
        .await;
    assert_eq!(json(&client.hear_text().await)["success"], false);
    client
        .say(r#"{"op":"subscribe","args":["allLiquidation.BTCUSDT"]}"#)
        .await;
    assert_eq!(json(&client.hear_text().await)["success"], true);
    client.say(r#"{"op":"ping"}"#).await;
    assert_eq!(json(&client.hear_text().await)["ret_msg"], "pong");
    let tally = exchange.tally();
    assert_eq!(
        tally.subscribed,
        [(0, "linear allLiquidation.BTCUSDT".to_owned())]
    );
    assert_eq!(tally.refused, [(0, "allLiquidation.SOONUSDT".to_owned())]);
    assert_eq!(tally.pings, 1);
    let truths = exchange.imagine_of("BTCUSDT", [5, 6, 6]);
    exchange.publish(&truths);
    let rows = json(&client.hear_text().await);
    assert_eq!(
        rows["data"].as_array().unwrap().len(),
        3,
        "one frame of three rows"
    );
}

#[tokio::test]
async fn okx_acknowledges_each_argument_and_answers_pings_in_words() {
    let exchange = Exchange::open("okx").await;
    let mut client = Client::connect(&exchange, "/ws/v5/public").await;
    client
        .say(
            r#"{"op":"subscribe","args":[{"channel":"liquidation-orders","instType":"SWAP"},
                {"channel":"liquidation-orders","instType":"FUTURES"},{"channel":"liquidations"}]}"#,
        )
        .await;
    assert_eq!(json(&client.hear_text().await)["arg"]["instType"], "SWAP");
    assert_eq!(
        json(&client.hear_text().await)["arg"]["instType"],
        "FUTURES"
    );
    assert_eq!(json(&client.hear_text().await)["code"], "60018");
    client.say("ping").await;
    assert_eq!(client.hear_text().await, "pong");
    exchange.act(Act::Notice);
    assert_eq!(json(&client.hear_text().await)["event"], "notice");
    let truths = exchange.liquidate(40);
    assert_eq!(seen(&client.events(&exchange, 40).await), seen(&truths));
}

/// Where a venue is listened to, what is said to it, and a part of each message that comes before the data.
const TALKS: [(&str, &str, &[&str], &[&str]); 15] = [
    (
        "binance",
        "/market/stream?streams=!forceOrder@arr",
        &[],
        &[],
    ),
    ("aster", "/ws/!forceOrder@arr", &[], &[]),
    (
        "bybit",
        "/v5/public/linear",
        &[r#"{"op":"subscribe","args":["allLiquidation.BTCUSDT"]}"#],
        &[r#""success":true"#],
    ),
    (
        "okx",
        "/ws/v5/public",
        &[r#"{"op":"subscribe","args":[{"channel":"liquidation-orders","instType":"SWAP"}]}"#],
        &[r#""event":"subscribe""#],
    ),
    (
        "gate",
        "/v4/ws/usdt",
        &[
            r#"{"time":1,"channel":"futures.ping"}"#,
            r#"{"time":1,"channel":"futures.public_liquidates","event":"subscribe","payload":["!all"]}"#,
        ],
        &["futures.pong", r#""status":"success""#],
    ),
    (
        "bitget",
        "/v3/ws/public",
        &[
            "ping",
            r#"{"op":"subscribe","args":[{"instType":"usdt-futures","topic":"liquidation"}]}"#,
        ],
        &["pong", r#""event":"subscribe""#],
    ),
    (
        "htx",
        "/linear-swap-notification",
        &[
            r#"{"op":"sub","cid":"1","topic":"public.*.liquidation_orders"}"#,
            r#"{"op":"sub","cid":"1","topic":"public.*.liquidation_orders"}"#,
        ],
        &[r#""err-code":0"#, r#""err-code":2014"#],
    ),
    (
        "deribit",
        "/ws/api/v2",
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"public/set_heartbeat","params":{"interval":30}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"public/subscribe","params":{"channels":["trades.future.any.100ms","trades.X.100ms"]}}"#,
        ],
        &[
            r#""result":"ok""#,
            r#""result":["trades.future.any.100ms"]"#,
        ],
    ),
    (
        "kraken",
        "/ws/v1",
        &[r#"{"event":"subscribe","feed":"trade","product_ids":["PF_XBTUSD"]}"#],
        &[
            r#""version":1"#,
            r#""event":"subscribed""#,
            "trade_snapshot",
        ],
    ),
    (
        "bitfinex",
        "/ws/2",
        &[r#"{"event":"subscribe","channel":"status","key":"liq:global"}"#],
        &[r#""version":2"#, r#""event":"subscribed""#],
    ),
    (
        "dydx",
        "/v4/ws",
        &[r#"{"type":"subscribe","channel":"v4_trades","id":"BTC-USD","batched":true}"#],
        &[r#""type":"connected""#, r#""type":"subscribed""#],
    ),
    (
        "lighter",
        "/stream",
        &[
            r#"{"type":"ping"}"#,
            r#"{"type":"subscribe","channel":"trade/1"}"#,
        ],
        &[
            r#""type":"connected""#,
            r#""type":"pong""#,
            "subscribed/trade",
        ],
    ),
    (
        "lighter_rh",
        "/stream",
        &[r#"{"type":"subscribe","channel":"trade/0"}"#],
        &[r#""type":"connected""#, "subscribed/trade"],
    ),
    (
        "pacifica",
        "/ws",
        &[
            r#"{"method":"ping"}"#,
            r#"{"method":"subscribe","params":{"source":"trades","symbol":"SOON"}}"#,
            r#"{"method":"subscribe","params":{"source":"trades","symbol":"BTC"}}"#,
        ],
        &[
            r#""channel":"pong""#,
            "Symbol not found",
            r#""channel":"subscribe""#,
        ],
    ),
    (
        "extended",
        "/stream.extended.exchange/v1/publicTrades",
        &[],
        &[r#""seq":1}"#],
    ),
];

/// The words of a frame, unzipped where it is gzip.
fn words(frame: &[u8]) -> String {
    use std::io::Read as _;
    if !frame.starts_with(&[0x1f, 0x8b]) {
        return String::from_utf8(frame.to_vec()).unwrap();
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(frame)
        .read_to_string(&mut text)
        .unwrap();
    text
}

#[tokio::test]
async fn every_venue_answers_in_its_own_words_and_sends_the_truth() {
    assert_eq!(
        TALKS.len(),
        names().len() - 2,
        "all but the two without a socket"
    );
    for (venue, path, said, answers) in TALKS {
        let exchange = Exchange::open(venue).await;
        let mut client = Client::connect(&exchange, path).await;
        for text in said {
            client.say(text).await;
        }
        for part in answers {
            let answer = words(&client.hear().await);
            assert!(
                answer.contains(part),
                "{venue} answers {answer}, without {part}"
            );
        }
        let subscribed = exchange
            .until(|tally| !tally.subscribed.is_empty())
            .await
            .subscribed;
        let market = exchange.book().markets.iter().find(|market| {
            let topics = dialect(venue).unwrap().topics(market);
            subscribed.iter().any(|(_, topic)| topics.contains(topic))
        });
        let times = std::iter::repeat_n(exchange.book().now(), 25);
        let truths = exchange.imagine_of(market.unwrap().native_id, times);
        exchange.publish(&truths);
        let mut events = client.events(&exchange, 25).await;
        for event in &mut events {
            // Where the venue sends no time, the time of receipt stands in, and none was given.
            event.timestamp = event.timestamp.or(Some(Millis(truths[0].time)));
        }
        assert_eq!(seen(&events), seen(&truths), "{venue}");
        assert!(exchange.tally().strange.is_empty(), "{venue}");
    }
}

#[tokio::test]
async fn htx_hangs_up_unless_its_token_comes_back() {
    let mut setup = Setup::of("htx");
    setup.second = Duration::from_millis(2);
    let exchange = Exchange::with(setup).await;
    let mut client = Client::connect(&exchange, "/swap-notification").await;
    let ping = words(&client.hear().await);
    assert!(json(&ping)["ts"].is_number(), "{ping}");
    let echo = liqdata::feeds::answer("htx", ping.as_bytes())
        .unwrap()
        .unwrap();
    client.say(&echo).await;
    assert_eq!(
        exchange.until(|tally| tally.pongs == 1).await.strange.len(),
        0
    );
    let mut pings = 0;
    while let Ok(message) = client.next().await {
        pings += usize::from(message.is_binary());
        if message.is_close() {
            break;
        }
    }
    assert!(pings >= 5, "it hung up after {pings}");
}

#[tokio::test]
async fn deribit_hangs_up_if_its_test_request_is_not_answered() {
    let mut setup = Setup::of("deribit");
    setup.second = Duration::from_millis(1);
    let exchange = Exchange::with(setup).await;
    let mut client = Client::connect(&exchange, "/ws/api/v2").await;
    client
        .say(r#"{"jsonrpc":"2.0","id":1,"method":"public/set_heartbeat","params":{"interval":10}}"#)
        .await;
    let mut said = Vec::new();
    loop {
        match client.next().await.unwrap() {
            Message::Text(text) => said.push(text.to_string()),
            Message::Close(_) => break,
            _ => {}
        }
    }
    assert!(
        said[1].contains("heartbeat") && said[2].contains("test_request"),
        "{said:?}"
    );
}

#[tokio::test]
async fn dydx_takes_two_subscriptions_a_second() {
    let exchange = Exchange::open("dydx").await;
    let mut client = Client::connect(&exchange, "/v4/ws").await;
    for market in ["BTC-USD", "ETH-USD", "SOL-USD"] {
        client
            .say(&format!(
                r#"{{"type":"subscribe","channel":"v4_trades","id":"{market}"}}"#
            ))
            .await;
    }
    client.hear().await;
    client.hear().await;
    client.hear().await;
    assert_eq!(json(&client.hear_text().await)["type"], "error");
    assert_eq!(exchange.tally().over_limit.len(), 1);
}
