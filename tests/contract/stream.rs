//! The stream of orders over real sockets: server and client, and connections that break.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail where it stands"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use liqdata::client::{Client, Config, Error, OrderStream};
use liqdata::contract::{Overview, Stream};
use liqdata::market::{Market, MarketFeed};
use liqdata::model::{Millis, ObservedOrder, Order, Side};
use liqdata::server::{Limits, ServerSettings, router, run_with};
use proptest::prelude::*;
use rust_decimal::Decimal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Far more than any test here takes; what is still pending then is stuck.
const STUCK: Duration = Duration::from_secs(30);

const PATH: &str = "/api/liquidations/stream";

fn order(number: i64) -> ObservedOrder {
    ObservedOrder {
        order: Order {
            exchange: if number % 2 == 0 { "okx" } else { "bybit" }.to_owned(),
            symbol: "BTCUSDT".to_owned(),
            side: Side::Long,
            price: Decimal::new(6_012_345, 2),
            qty: Decimal::new(125, 3),
            value_usd: Decimal::from(number),
            timestamp: Millis(1_781_136_000_000 + number),
        },
        coin: None,
        received_at: None,
        group_id: None,
    }
}

fn grow(feed: &MarketFeed, numbers: impl IntoIterator<Item = i64>) {
    let orders = numbers.into_iter().map(order).collect();
    feed.append((orders, Vec::new(), Vec::new())).unwrap();
}

fn number(order: &Order) -> i64 {
    order.value_usd.try_into().unwrap()
}

struct Server {
    address: SocketAddr,
    market: Arc<Market>,
    feed: MarketFeed,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    async fn start(retained: usize, limits: Limits) -> Self {
        let (market, feed) = Market::growing(retained, "a test");
        let market = Arc::new(market);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async { drop(stopped.await) };
        let task = tokio::spawn(run_with(
            ServerSettings {
                limits,
                ..ServerSettings::default()
            },
            listener,
            router(Arc::clone(&market)),
            shutdown,
        ));
        Self {
            address,
            market,
            feed,
            stop,
            task,
        }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(STUCK, self.task).await.unwrap().unwrap().unwrap();
    }
}

fn client(address: SocketAddr) -> Client {
    Client::new(config(address)).unwrap()
}

fn config(address: SocketAddr) -> Config {
    Config::new(&format!("http://{address}")).unwrap()
}

/// All orders behind a place, or from now on.
fn behind(place: Option<&str>) -> Stream {
    Stream::new(None, None, place).unwrap()
}

fn stream(address: SocketAddr, from: Option<&str>) -> OrderStream {
    OrderStream::new(client(address), behind(from))
}

/// The next orders, as numbers, up to at least `wanted` of them.
async fn numbers(stream: &mut OrderStream, wanted: usize) -> Vec<i64> {
    let mut seen = Vec::new();
    while seen.len() < wanted {
        let orders = timeout(STUCK, stream.next()).await.unwrap().unwrap();
        assert!(!orders.is_empty());
        assert_eq!(orders.last().unwrap().0.as_deref(), stream.last_event_id());
        seen.extend(orders.iter().map(|(_, order)| number(order)));
    }
    seen
}

async fn failure(stream: &mut OrderStream) -> Error {
    timeout(STUCK, stream.next()).await.unwrap().unwrap_err()
}

#[tokio::test]
async fn orders_arrive_unchanged_and_a_returning_reader_resumes() {
    let server = Server::start(1000, Limits::default()).await;
    let start = server.market.newest().unwrap().to_string();
    grow(&server.feed, 1..=3);
    let mut reader = stream(server.address, Some(&start));
    let orders = timeout(STUCK, reader.next()).await.unwrap().unwrap();
    let wanted: Vec<Order> = (1..=3).map(|number| order(number).order).collect();
    let got: Vec<Order> = orders.iter().map(|(_, order)| order.clone()).collect();
    assert_eq!(got, wanted);
    // Any order's id is a place to come back to.
    let mut another = stream(server.address, orders[1].0.as_deref());
    assert_eq!(numbers(&mut another, 1).await, [3]);
    grow(&server.feed, [4]);
    assert_eq!(numbers(&mut reader, 1).await, [4]);
    assert_eq!(numbers(&mut another, 1).await, [4]);
    drop((reader, another));
    server.stop().await;
}

#[tokio::test]
async fn a_dropped_wait_loses_nothing() {
    let server = Server::start(1000, Limits::default()).await;
    let start = server.market.newest().unwrap().to_string();
    let mut reader = stream(server.address, Some(&start));
    let mut seen = Vec::new();
    for round in 0..40 {
        grow(&server.feed, [round]);
        // Long enough for some, too short for others.
        let wait = Duration::from_micros(u64::try_from(round * 50).unwrap());
        if let Ok(orders) = timeout(wait, reader.next()).await {
            seen.extend(orders.unwrap().iter().map(|(_, order)| number(order)));
        }
    }
    seen.extend(numbers(&mut reader, 40 - seen.len()).await);
    assert_eq!(seen, (0..40).collect::<Vec<_>>());
    drop(reader);
    server.stop().await;
}

/// Passes connections on to `target`, and cuts each after the given number of bytes; the last ones never.
async fn cutting(target: SocketAddr, cuts: Vec<usize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut cuts = cuts.into_iter();
        while let Ok((mut near, _)) = listener.accept().await {
            let cut = cuts.next().unwrap_or(usize::MAX);
            tokio::spawn(async move {
                let mut far = TcpStream::connect(target).await.unwrap();
                let (mut asking, mut up) = near.split();
                let (mut answer, mut down) = far.split();
                let back = async {
                    let mut left = cut;
                    let mut buffer = [0; 777];
                    while left > 0 {
                        let most = buffer.len().min(left);
                        match answer.read(&mut buffer[..most]).await {
                            Ok(read) if read > 0 => {
                                left -= read;
                                // The reader would wait a second before each reconnection.
                                let text = b"retry: 1000";
                                let place =
                                    buffer[..read].windows(text.len()).position(|at| at == text);
                                if let Some(place) = place {
                                    buffer[place..place + text.len()]
                                        .copy_from_slice(b"retry: 0001");
                                }
                                if up.write_all(&buffer[..read]).await.is_err() {
                                    break;
                                }
                            }
                            _ => break,
                        }
                    }
                };
                tokio::select! {
                    () = back => {}
                    _ = tokio::io::copy(&mut asking, &mut down) => {}
                }
            });
        }
    });
    address
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn every_order_arrives_once_over_interrupted_connections(
        growths in proptest::collection::vec(1_i64..60, 1..8),
        cuts in proptest::collection::vec(0_usize..6000, 0..8),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let server = Server::start(100_000, Limits::default()).await;
            let start = server.market.newest().unwrap().to_string();
            let proxy = cutting(server.address, cuts).await;
            let config = config(proxy).retries(100).unwrap();
            let client = Client::new(config).unwrap();
            let mut reader = OrderStream::new(client, behind(Some(&start)));
            let total: i64 = growths.iter().sum();
            let feed = server.feed.clone();
            let growing = tokio::spawn(async move {
                let mut next = 1;
                for growth in growths {
                    grow(&feed, next..next + growth);
                    next += growth;
                    tokio::task::yield_now().await;
                }
            });
            let seen = numbers(&mut reader, total.try_into().unwrap()).await;
            growing.await.unwrap();
            assert_eq!(seen, (1..=total).collect::<Vec<_>>());
            drop(reader);
            server.stop().await;
        });
    }
}

/// Answers connections one after another with these bytes, and sends each request head on; the last answer is repeated. A
/// connection stays open as long as its answer does not end in `CLOSE`.
async fn scripted(answers: Vec<String>) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (heads, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut open = Vec::new();
        let mut place = 0;
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            let _ = heads.send(String::from_utf8(head).unwrap());
            let answer = &answers[place.min(answers.len() - 1)];
            place += 1;
            let (text, close) = match answer.strip_suffix(CLOSE) {
                Some(text) => (text, true),
                None => (answer.as_str(), false),
            };
            let _ = stream.write_all(text.as_bytes()).await;
            if !close {
                open.push(stream);
            }
        }
    });
    (address, requests)
}

const CLOSE: &str = "CLOSE";

fn events(headers: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{headers}\r\n{body}")
}

fn event(id: &str, number: i64) -> String {
    let json = serde_json::to_string(&order(number).order).unwrap();
    format!("id: {id}\ndata: {json}\n\n")
}

#[tokio::test]
async fn duplicates_of_two_connections_are_delivered_once() {
    let first = events("", &format!("{}{}", event("a", 1), event("b", 2))) + CLOSE;
    let second = events("", &format!("{}{}", event("b", 2), event("c", 3)));
    let (address, mut requests) = scripted(vec![first, second]).await;
    let mut reader = stream(address, None);
    assert_eq!(numbers(&mut reader, 3).await, [1, 2, 3]);
    let head = requests.recv().await.unwrap().to_lowercase();
    assert!(head.contains("accept: text/event-stream"), "{head}");
    assert!(!head.contains("last-event-id"), "{head}");
    let head = requests.recv().await.unwrap().to_lowercase();
    assert!(head.contains("last-event-id: b\r\n"), "{head}");
}

#[tokio::test]
async fn a_silent_connection_is_replaced() {
    let mute = events("x-liqdata-keep-alive: 0.05\r\n", "id: a\n\n");
    let alive = events("", &event("b", 1));
    let (address, mut requests) = scripted(vec![mute, alive]).await;
    let mut reader = stream(address, None);
    let began = Instant::now();
    assert_eq!(numbers(&mut reader, 1).await, [1]);
    assert!(began.elapsed() >= Duration::from_millis(150));
    requests.recv().await.unwrap();
    let head = requests.recv().await.unwrap().to_lowercase();
    assert!(head.contains("last-event-id: a\r\n"), "{head}");
}

/// The next orders as numbers, asked for again and again in waits shorter than anything takes.
async fn impatiently(reader: &mut OrderStream) -> Result<Vec<i64>, Error> {
    let patience = async {
        loop {
            if let Ok(next) = timeout(Duration::from_millis(10), reader.next()).await {
                return next.map(|orders| orders.iter().map(|(_, order)| number(order)).collect());
            }
        }
    };
    timeout(STUCK, patience).await.unwrap()
}

#[tokio::test]
async fn a_cancelled_wait_does_not_cancel_the_connection_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            // Nothing more comes once the test is over.
            match timeout(Duration::from_secs(2), listener.accept()).await {
                Ok(Ok((mut stream, _))) => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    stream
                        .write_all(events("", &event("a", 1)).as_bytes())
                        .await
                        .unwrap();
                    open.push(stream);
                }
                Ok(Err(_)) | Err(_) => return open.len(),
            }
        }
    });
    let mut reader = stream(address, None);
    assert_eq!(impatiently(&mut reader).await.unwrap(), [1]);
    assert_eq!(connections.await.unwrap(), 1);
}

#[tokio::test]
async fn silence_accumulates_over_consecutive_waits() {
    let mute = events("x-liqdata-keep-alive: 0.05\r\n", "id: a\n\n");
    let alive = events("", &event("b", 1));
    let (address, mut requests) = scripted(vec![mute, alive]).await;
    let began = Instant::now();
    assert_eq!(impatiently(&mut stream(address, None)).await.unwrap(), [1]);
    assert!(began.elapsed() >= Duration::from_millis(150));
    for _ in 0..2 {
        requests.recv().await.unwrap();
    }
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn short_waits_do_not_flood_a_refusing_service() {
    let client = Client::new(config(closed_port().await).retries(3).unwrap()).unwrap();
    let mut reader = OrderStream::new(client, behind(None));
    let began = Instant::now();
    let error = impatiently(&mut reader).await.unwrap_err();
    assert!(error.to_string().contains("4 attempts"), "{error}");
    // Waits of nought to 0.25, 0.5 and 1 s lie between: as good as never are all three nought.
    assert!(began.elapsed() > Duration::from_millis(10), "{error}");
}

async fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

#[tokio::test]
async fn a_stream_without_events_fails_after_the_retries() {
    let (address, mut requests) = scripted(vec![events("", CLOSE)]).await;
    let client = Client::new(config(address).retries(2).unwrap()).unwrap();
    let mut reader = OrderStream::new(client, behind(None));
    let error = failure(&mut reader).await;
    assert!(matches!(error, Error::NoAnswer { .. }), "{error}");
    for _ in 0..3 {
        requests.recv().await.unwrap();
    }
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn a_stream_of_repeated_events_fails_after_the_retries() {
    let same = format!("retry: 300\n\nid: p\n\n{}", event("a", 1));
    let (address, mut requests) = scripted(vec![events("", &same) + CLOSE]).await;
    let client = Client::new(config(address).retries(2).unwrap()).unwrap();
    let mut reader = OrderStream::new(client, behind(None));
    let began = Instant::now();
    assert_eq!(numbers(&mut reader, 1).await, [1]);
    let error = failure(&mut reader).await;
    assert!(matches!(error, Error::NoAnswer { .. }), "{error}");
    assert!(
        error.to_string().contains("3 attempts without a new event"),
        "{error}"
    );
    assert!(
        began.elapsed() >= Duration::from_millis(600),
        "retry: is waited for"
    );
    for _ in 0..3 {
        requests.recv().await.unwrap();
    }
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn new_events_reset_the_retries_but_not_the_delay() {
    let answers = (1..=5)
        .map(|number| {
            events(
                "",
                &format!("retry: 150\n\n{}", event(&number.to_string(), number)),
            ) + CLOSE
        })
        .collect();
    let (address, _asked) = scripted(answers).await;
    let client = Client::new(config(address).retries(1).unwrap()).unwrap();
    let mut reader = OrderStream::new(client, behind(None));
    let began = Instant::now();
    assert_eq!(numbers(&mut reader, 5).await, [1, 2, 3, 4, 5]);
    assert!(began.elapsed() >= Duration::from_millis(600));
}

#[tokio::test]
async fn a_service_without_a_stream_is_named() {
    let without = [
        "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
    ];
    for answer in without {
        let (address, mut requests) = scripted(vec![format!("{answer}{CLOSE}")]).await;
        let error = failure(&mut stream(address, None)).await;
        let Error::BadQuery(bad) = &error else {
            panic!("{error}");
        };
        let message = bad.to_string();
        assert!(message.contains("does not announce"), "{message}");
        assert!(message.contains("poll orders()"), "{message}");
        assert!(requests.recv().await.unwrap().contains("/stream"));
        assert!(requests.recv().await.unwrap().starts_with("GET /api "));
        assert!(requests.try_recv().is_err());
    }
}

#[tokio::test]
async fn an_error_of_the_endpoint_list_is_raised() {
    let refused = "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nnoCLOSE".to_owned();
    let closed = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\nCLOSE".to_owned();
    let (address, _asked) = scripted(vec![refused, closed]).await;
    let error = failure(&mut stream(address, None)).await;
    assert!(
        matches!(error, Error::Refused { status: 401, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("/api"), "{error}");
}

#[tokio::test]
async fn a_busy_service_is_retried() {
    let busy = "HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\nCLOSE".to_owned();
    let (address, _asked) = scripted(vec![busy.clone(), busy, events("", &event("a", 1))]).await;
    assert_eq!(numbers(&mut stream(address, None), 1).await, [1]);
}

#[tokio::test]
async fn an_event_outside_the_contract_is_an_error_and_loses_no_other() {
    let body = format!(
        "{}id: b\ndata: {{\"exchange\": 5}}\n\n{}id: d\nevent: news\ndata: x\n\n{}",
        event("a", 1),
        event("c", 3),
        event("e", 5)
    );
    let (address, _asked) = scripted(vec![events("", &body)]).await;
    let mut reader = stream(address, None);
    assert_eq!(numbers(&mut reader, 1).await, [1]);
    let error = failure(&mut reader).await;
    assert!(matches!(error, Error::UnexpectedReply { .. }), "{error}");
    assert_eq!(numbers(&mut reader, 2).await, [3, 5]);
    assert_eq!(reader.last_event_id(), Some("e"));
}

#[tokio::test]
async fn two_orders_in_one_event_are_outside_the_contract() {
    let json = serde_json::to_string(&order(1).order).unwrap();
    let (address, _asked) =
        scripted(vec![events("", &format!("id: a\ndata: {json},{json}\n\n"))]).await;
    let error = failure(&mut stream(address, None)).await;
    assert!(matches!(error, Error::UnexpectedReply { .. }), "{error}");
}

#[tokio::test]
async fn a_gap_is_an_error_and_the_stream_continues() {
    let server = Server::start(2, Limits::default()).await;
    let lost = server.market.newest().unwrap().to_string();
    grow(&server.feed, 1..=5);
    let mut reader = stream(server.address, Some(&lost));
    let error = failure(&mut reader).await;
    let Error::Refused {
        status, message, ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(*status, 410);
    assert!(message.contains(&lost), "{message}");
    let place = server.market.newest().unwrap().to_string();
    assert_eq!(reader.last_event_id(), Some(place.as_str()));
    grow(&server.feed, [6]);
    assert_eq!(numbers(&mut reader, 1).await, [6]);
    drop(reader);
    server.stop().await;
}

#[tokio::test]
async fn a_disconnection_without_event_ids_is_an_error() {
    let json = serde_json::to_string(&order(1).order).unwrap();
    let body = events("", &format!("data: {json}\n\n")) + CLOSE;
    let (address, _asked) = scripted(vec![body]).await;
    let mut reader = stream(address, None);
    assert_eq!(
        timeout(STUCK, reader.next()).await.unwrap().unwrap().len(),
        1
    );
    let error = failure(&mut reader).await;
    assert!(error.to_string().contains("may be missing"), "{error}");
}

#[tokio::test]
async fn an_event_beyond_the_size_limit_is_not_buffered() {
    let body = events("", &format!("data: {}", "x".repeat(5000)));
    let (address, _asked) = scripted(vec![body]).await;
    let client = Client::new(config(address).max_body(1000).unwrap()).unwrap();
    let mut reader = OrderStream::new(client, behind(None));
    let error = failure(&mut reader).await;
    assert!(error.to_string().contains("max_body = 1000"), "{error}");
}

#[tokio::test]
async fn a_stop_ends_streams_at_once() {
    let server = Server::start(10, Limits::default()).await;
    let mut raw = TcpStream::connect(server.address).await.unwrap();
    let head = format!("GET {PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    raw.write_all(head.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !seen.windows(4).any(|bytes| bytes == b"id: ") {
        seen.push(timeout(STUCK, raw.read_u8()).await.unwrap().unwrap());
    }
    let began = Instant::now();
    server.stop().await;
    assert!(
        began.elapsed() < Limits::default().grace,
        "{:?}",
        began.elapsed()
    );
    let mut rest = Vec::new();
    timeout(STUCK, raw.read_to_end(&mut rest))
        .await
        .unwrap()
        .unwrap();
    // The body has its regular end.
    assert!(
        rest.ends_with(b"0\r\n\r\n"),
        "{}",
        String::from_utf8_lossy(&rest)
    );
}

#[tokio::test]
async fn streams_do_not_block_queries() {
    let limits = Limits {
        connections: 8,
        streams: 2,
        streams_per_peer: Some(3),
        ..Limits::default()
    };
    let server = Server::start(10, limits).await;
    let mut readers = Vec::new();
    for _ in 0..2 {
        let mut reader = stream(server.address, None);
        // Connected once something has come.
        assert!(
            timeout(Duration::from_millis(50), reader.next())
                .await
                .is_err()
        );
        grow(&server.feed, [1]);
        numbers(&mut reader, 1).await;
        readers.push(reader);
    }
    let client = Client::new(config(server.address).retries(0).unwrap()).unwrap();
    let mut third = OrderStream::new(client.clone(), behind(None));
    let error = failure(&mut third).await;
    assert!(
        matches!(error, Error::Refused { status: 503, .. }),
        "{error}"
    );
    for _ in 0..20 {
        client.send(&Overview::default()).await.unwrap();
    }
    // A place that is given back is taken by the next.
    readers.pop();
    let again = Client::new(config(server.address).retries(100).unwrap()).unwrap();
    let newest = server.market.newest().unwrap().to_string();
    let mut fourth = OrderStream::new(again, behind(Some(&newest)));
    grow(&server.feed, [2]);
    assert_eq!(numbers(&mut fourth, 1).await, [2]);
    drop((readers, fourth, client));
    server.stop().await;
}

#[tokio::test]
async fn an_idle_stream_outlives_the_limits_of_idle_and_stalled_connections() {
    let limits = Limits {
        idle: Duration::from_millis(50),
        stall: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = Server::start(10, limits).await;
    let mut raw = TcpStream::connect(server.address).await.unwrap();
    let head = format!("GET {PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    raw.write_all(head.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !seen.windows(4).any(|bytes| bytes == b"id: ") {
        seen.push(timeout(STUCK, raw.read_u8()).await.unwrap().unwrap());
    }
    // Nothing ends it during many times the limits.
    let mut rest = [0; 512];
    loop {
        match timeout(Duration::from_millis(400), raw.read(&mut rest)).await {
            Ok(Ok(read)) => assert!(read > 0, "the stream was ended"),
            Ok(Err(error)) => panic!("{error}"),
            Err(_) => break,
        }
    }
    grow(&server.feed, [1]);
    assert!(timeout(STUCK, raw.read(&mut rest)).await.unwrap().unwrap() > 0);
    server.stop().await;
}

#[tokio::test]
async fn a_slow_reader_gets_all_orders_at_its_own_pace() {
    let server = Server::start(1_000_000, Limits::default()).await;
    let start = server.market.newest().unwrap().to_string();
    let mut raw = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "GET {PATH}?last_event_id={start} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    );
    raw.write_all(head.as_bytes()).await.unwrap();
    // Far more than the buffers of two sockets hold.
    let total = 60_000;
    grow(&server.feed, 1..=total);
    let mut quick = stream(server.address, Some(&start));
    let seen = numbers(&mut quick, total.try_into().unwrap()).await;
    assert_eq!(i64::try_from(seen.len()).unwrap(), total);
    // The slow one has lost nothing meanwhile.
    let mut text = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    let last = format!("\"value_usd\":\"{total}\"");
    while !text
        .windows(last.len())
        .rev()
        .take(2000)
        .any(|bytes| bytes == last.as_bytes())
    {
        let read = timeout(STUCK, raw.read(&mut buffer))
            .await
            .unwrap()
            .unwrap();
        assert!(read > 0);
        text.extend_from_slice(&buffer[..read]);
    }
    let text = String::from_utf8(text).unwrap();
    let count = text.matches("value_usd").count();
    assert_eq!(i64::try_from(count).unwrap(), total);
    drop((quick, raw));
    server.stop().await;
}
