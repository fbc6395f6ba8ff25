//! What the doubles say on their sockets.

use std::time::Duration;

use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Client, seen};
use crate::doubles::{Act, Exchange, Setup};

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
