//! The faults of the doubles.

use std::time::Duration;

use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::doubles::{Act, Ending, Exchange, Garbage, Limit};
use crate::exchange_doubles::client::{Client, seen};

const ALL: &str = "/market/ws/!forceOrder@arr";

async fn subscribed() -> (Exchange, Client) {
    let exchange = Exchange::open("binance").await;
    let client = Client::connect(&exchange, ALL).await;
    exchange.until(|tally| tally.subscribed.len() == 1).await;
    (exchange, client)
}

#[tokio::test]
async fn a_mute_exchange_answers_and_sends_no_data() {
    let (exchange, mut client) = subscribed().await;
    exchange.fault(|faults| faults.mute = true);
    exchange.liquidate(5);
    exchange.drained().await;
    exchange.mend();
    let truths = exchange.liquidate(1);
    assert_eq!(seen(&client.events(&exchange, 1).await), seen(&truths));
    exchange.drained().await;
    assert_eq!(exchange.tally().events_sent, 1);
}

#[tokio::test]
async fn a_half_open_exchange_takes_bytes_and_says_nothing() {
    let (exchange, mut client) = subscribed().await;
    exchange.act(Act::HalfOpen);
    client
        .say(r#"{"method":"LIST_SUBSCRIPTIONS","id":2}"#)
        .await;
    exchange.liquidate(5);
    exchange.drained().await;
    assert_eq!(exchange.tally().events_sent, 0);
    exchange.act(Act::Disconnect(Ending::Reset));
    let end = client.next().await;
    assert!(
        matches!(end, Err(Error::Io(_) | Error::Protocol(_))),
        "{end:?}"
    );
}

#[tokio::test]
async fn garbage_cannot_be_decoded() {
    for garbage in [
        Garbage::InvalidUtf8,
        Garbage::BadOpcode,
        Garbage::Huge,
        Garbage::HugeHead,
    ] {
        let (exchange, mut client) = subscribed().await;
        exchange.act(Act::Garbage(garbage));
        let end = client.next().await;
        let as_said = match garbage {
            Garbage::InvalidUtf8 => matches!(end, Err(Error::Utf8(_))),
            Garbage::BadOpcode => matches!(end, Err(Error::Protocol(_))),
            _ => matches!(
                end,
                Err(Error::Capacity(CapacityError::MessageTooLong { .. }))
            ),
        };
        assert!(as_said, "{garbage:?}: {end:?}");
    }
    let (exchange, mut client) = subscribed().await;
    exchange.act(Act::Garbage(Garbage::Binary));
    assert!(client.next().await.unwrap().is_binary());
    exchange.act(Act::Garbage(Garbage::TruncatedJson));
    let text = client.hear_text().await;
    assert!(
        serde_json::from_str::<serde_json::Value>(&text).is_err(),
        "{text}"
    );
}

#[tokio::test]
async fn connections_end_in_every_way() {
    for ending in [Ending::Close, Ending::Fin, Ending::Reset, Ending::MidFrame] {
        let (exchange, mut client) = subscribed().await;
        exchange.act(Act::Disconnect(ending));
        let end = client.next().await;
        let as_said = match ending {
            Ending::Close => {
                matches!(&end, Ok(Message::Close(Some(CloseFrame { code, .. }))) if u16::from(*code) == 1001)
            }
            _ => end.is_err(),
        };
        assert!(as_said, "{ending:?}: {end:?}");
        drop(client);
        exchange.until(|tally| tally.open == 0).await;
    }
}

#[tokio::test]
async fn frames_are_duplicated_repeated_and_shuffled() {
    let (exchange, mut client) = subscribed().await;
    exchange.fault(|faults| faults.duplicate = true);
    let truths = exchange.liquidate(2);
    let events = seen(&client.events(&exchange, 4).await);
    assert_eq!(events[0], events[1]);
    assert_eq!(
        [events[0].clone(), events[2].clone()].as_slice(),
        seen(&truths)
    );
    exchange.act(Act::Repeat);
    assert_eq!(seen(&client.events(&exchange, 1).await), seen(&truths[1..]));

    exchange.mend();
    exchange.fault(|faults| faults.shuffle = true);
    let truths = exchange.liquidate(20);
    let mut events = seen(&client.events(&exchange, 20).await);
    assert_ne!(events, seen(&truths));
    let mut expected = seen(&truths);
    events.sort();
    expected.sort();
    assert_eq!(events, expected);

    exchange.fault(|faults| faults.replay = 5);
    let mut late = Client::connect(&exchange, "/market/ws").await;
    late.say(r#"{"method":"SUBSCRIBE","params":["!forceOrder@arr"],"id":1}"#)
        .await;
    let again = seen(&late.events(&exchange, 5).await);
    let book = exchange.truth();
    assert_eq!(again, seen(&book[book.len() - 5..]));
}

#[tokio::test]
async fn refused_connections_are_counted_and_a_shut_port_refuses() {
    let exchange = Exchange::open("binance").await;
    exchange.fault(|faults| faults.refuse = true);
    assert!(Client::try_connect(&exchange, ALL).await.is_err());
    assert_eq!(
        exchange
            .until(|tally| tally.connections.len() == 1)
            .await
            .sockets
            .len(),
        0
    );
    exchange.mend();
    exchange.shut().await;
    let refused = Client::try_connect(&exchange, ALL).await.err().unwrap();
    assert!(
        matches!(&refused, Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused),
        "{refused}"
    );
    exchange.reopen().await;
    Client::connect(&exchange, ALL).await;
}

#[tokio::test]
async fn a_handshake_is_refused_with_the_given_status() {
    let exchange = Exchange::open("binance").await;
    exchange.fault(|faults| {
        faults.handshake = Some(Limit {
            status: 418,
            retry_after: Some(120),
        });
    });
    match Client::try_connect(&exchange, ALL).await.err().unwrap() {
        Error::Http(response) => {
            assert_eq!(response.status(), 418);
            assert_eq!(response.headers()["retry-after"], "120");
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn members_are_added_and_removed() {
    let (exchange, mut client) = subscribed().await;
    exchange.fault(|faults| {
        faults.new_field = true;
        faults.removed_field = Some("ap".to_owned());
    });
    exchange.liquidate(1);
    let frame: serde_json::Value = serde_json::from_str(&client.hear_text().await).unwrap();
    assert!(
        frame["o"]["xNew"].is_object() && frame["o"].get("ap").is_none(),
        "{frame}"
    );
}

#[tokio::test]
async fn a_slow_exchange_loses_nothing() {
    let (exchange, mut client) = subscribed().await;
    exchange.fault(|faults| faults.slow = Some(Duration::from_millis(1)));
    let truths = exchange.liquidate(5);
    assert_eq!(seen(&client.events(&exchange, 5).await), seen(&truths));
}
