//! A cascade: ten thousand events a second.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;

use crate::doubles::Exchange;
use crate::exchange_doubles::client::Client;

const RATE: u64 = 10_000;

/// Two seconds, or thirty where `LIQDATA_SOAK` is set.
fn seconds() -> u64 {
    if std::env::var_os("LIQDATA_SOAK").is_some() {
        30
    } else {
        2
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_events_a_second_arrive_in_their_time_and_order() {
    let exchange = Exchange::open("binance").await;
    let mut client = Client::connect(&exchange, "/market/ws/!forceOrder@arr").await;
    exchange.until(|tally| tally.subscribed.len() == 1).await;
    let count = RATE * seconds();
    let start = exchange.book().now();
    let times = (0..count.cast_signed()).map(|number| start + number * 1000 / RATE.cast_signed());
    let prepared = exchange.prepare(&exchange.imagine(times));
    let hearing = tokio::spawn(async move {
        let mut last = 0;
        for number in 0..count {
            let message = client.socket.next().await.unwrap().unwrap();
            let text = message.to_text().unwrap();
            let (_, time) = text.split_once("\"T\":").unwrap();
            let time: i64 = time[..13].parse().unwrap();
            assert!(time >= last, "event {number} is out of order");
            last = time;
        }
    });
    let begun = Instant::now();
    exchange.play(&prepared, RATE).await;
    hearing.await.unwrap();
    let took = begun.elapsed();
    // Not before its time; how much later depends on the load of the machine.
    let planned = Duration::from_secs(seconds());
    assert!(took > planned.mul_f64(0.95), "{took:?}");
    exchange.until(|tally| tally.events_sent == count).await;
}
