//! Tests the stream of orders, through the router.

use std::time::Duration;

use axum::body::BodyDataStream;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use futures_util::StreamExt;
use proptest::prelude::*;
use tokio::time::timeout;

use super::*;
use crate::contract::Stream;
use crate::market::{ArrivalId, MarketFeed};

/// Timeout of a wait. Every wait here normally takes far less, so a timeout means that the server hangs.
const STUCK: Duration = Duration::from_secs(20);

const PATH: &str = "/api/liquidations/stream";

/// An event as a reader sees it.
#[derive(Clone, Debug, PartialEq)]
struct Event {
    kind: String,
    id: String,
    data: Value,
}

/// A reader of events.
struct Reader {
    body: BodyDataStream,
    buffer: String,
    /// The id received last, including ids of blocks without data.
    id: String,
}

impl Reader {
    async fn open(service: &Router, uri: &str, last_event_id: Option<&str>) -> Self {
        let mut request = request(Method::GET, uri);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = service
            .clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        assert_eq!(response.headers()[CACHE_CONTROL], "no-store");
        Self {
            body: response.into_body().into_data_stream(),
            buffer: String::new(),
            id: String::new(),
        }
    }

    /// Waits for the next block of lines.
    async fn block(&mut self) -> Vec<String> {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let lines = block.lines().map(str::to_owned).collect();
                self.buffer = rest.to_owned();
                return lines;
            }
            let chunk = timeout(STUCK, self.body.next())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            self.buffer += std::str::from_utf8(&chunk).unwrap();
        }
    }

    async fn event(&mut self) -> Event {
        loop {
            let mut kind = String::new();
            let mut data = None;
            for line in self.block().await {
                match line.split_once(": ") {
                    Some(("id", id)) => id.clone_into(&mut self.id),
                    Some(("event", name)) => name.clone_into(&mut kind),
                    Some(("data", json)) => data = Some(serde_json::from_str(json).unwrap()),
                    _ => {}
                }
            }
            if let Some(data) = data
                && kind != Stream::POSITION
            {
                return Event {
                    kind,
                    id: self.id.clone(),
                    data,
                };
            }
        }
    }

    async fn events(&mut self, number: usize) -> Vec<Event> {
        let mut events = Vec::new();
        for _ in 0..number {
            events.push(self.event().await);
        }
        events
    }
}

pub(super) fn growing(retained: usize) -> (Arc<Market>, Router, MarketFeed) {
    let (market, feed) = Market::growing(retained, "a test");
    let market = Arc::new(market);
    (Arc::clone(&market), router(market), feed)
}

pub(super) fn grow(feed: &MarketFeed, orders: impl IntoIterator<Item = ObservedOrder>) {
    feed.append((orders.into_iter().collect(), Vec::new(), Vec::new()))
        .unwrap();
}

pub(super) fn order_of_cents(usd: i64) -> ObservedOrder {
    let venue = if usd % 2 == 0 { "okx" } else { "bybit" };
    let pair = if usd % 3 == 0 { "ETHUSDT" } else { "BTCUSDT" };
    let mut order = order(venue, pair, Side::Long, usd % 5, usd);
    order.received_at = Some(NOW.on(usd));
    order
}

fn usd_of(event: &Event) -> i64 {
    let value: Decimal = event.data["value_usd"].as_str().unwrap().parse().unwrap();
    (value * Decimal::from(100)).try_into().unwrap()
}

#[tokio::test]
async fn an_order_is_an_event_in_the_shape_of_a_row() {
    let (_, service, feed) = growing(100);
    let mut reader = Reader::open(&service, PATH, None).await;
    let opening = reader.block().await;
    assert_eq!(opening[..2], ["retry: 1000", "event: position"]);
    assert!(
        opening[2].starts_with("id: ") && opening[3] == "data: {}",
        "{opening:?}"
    );
    grow(&feed, [order_of_cents(1)]);
    let event = reader.event().await;
    let (_, page) = get_json(&service, "/api/liquidations").await;
    assert_eq!(page["data"][0], event.data);
    assert_eq!(event.kind, "");
    assert!(event.id.parse::<ArrivalId>().is_ok());
}

#[tokio::test]
async fn what_arrived_before_is_not_in_a_stream_that_names_no_place() {
    let (_, service, feed) = growing(100);
    grow(&feed, [order_of_cents(1)]);
    let mut reader = Reader::open(&service, PATH, None).await;
    reader.block().await;
    grow(&feed, [order_of_cents(2)]);
    assert_eq!(usd_of(&reader.event().await), 2);
}

#[tokio::test]
async fn filters_are_those_of_the_pages() {
    let (_, service, feed) = growing(100);
    let mut readers = Vec::new();
    for query in [
        "",
        "?symbol=btcusdt",
        "?exchange=OKX",
        "?symbol=ethusdt&exchange=okx",
    ] {
        let mut reader = Reader::open(&service, &format!("{PATH}{query}"), None).await;
        reader.block().await;
        readers.push(reader);
    }
    grow(&feed, (1..=12).map(order_of_cents));
    for (reader, wanted) in readers.iter_mut().zip([
        vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
        vec![1, 2, 4, 5, 7, 8, 10, 11],
        vec![2, 4, 6, 8, 10, 12],
        vec![6, 12],
    ]) {
        let events = reader.events(wanted.len()).await;
        assert_eq!(events.iter().map(usd_of).collect::<Vec<_>>(), wanted);
    }
    for (query, parameter) in [
        ("?symbol=OKX:BTC", "symbol"),
        ("?symbol=NOPE", "symbol"),
        ("?exchange=bnance", "exchange"),
        ("?exchange=", "exchange"),
        ("?limit=5", "limit"),
        ("?as_of=1781136000000", "as_of"),
        ("?explain=1", "explain"),
        ("?last_event_id=", "last_event_id"),
    ] {
        let (status, answer) = get_json(&service, &format!("{PATH}{query}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(answer["error"]["parameter"], parameter);
    }
}

#[tokio::test]
async fn a_reader_that_is_too_slow_for_the_broadcast_loses_no_order() {
    let (_, service, feed) = growing(1000);
    let mut slow = Reader::open(&service, PATH, None).await;
    slow.block().await;
    let mut slow_and_filtered = Reader::open(&service, &format!("{PATH}?exchange=okx"), None).await;
    slow_and_filtered.block().await;
    let mut fast = Reader::open(&service, PATH, None).await;
    fast.block().await;
    // More pages than the broadcast retains.
    for usd in 1..=100 {
        grow(&feed, [order_of_cents(usd)]);
        assert_eq!(usd_of(&fast.event().await), usd);
    }
    let events = slow.events(100).await;
    assert!(events.iter().map(usd_of).eq(1..=100));
    let events = slow_and_filtered.events(50).await;
    assert!(events.iter().map(usd_of).eq((1..=50).map(|half| 2 * half)));
    // Both are at the newest order again.
    grow(&feed, [order_of_cents(102)]);
    for reader in [&mut slow, &mut slow_and_filtered, &mut fast] {
        assert_eq!(usd_of(&reader.event().await), 102);
    }
}

#[tokio::test]
async fn readers_that_come_after_all_others_have_left_get_the_next_order() {
    let (_, service, feed) = growing(100);
    for usd in 1..=3 {
        let mut reader = Reader::open(&service, PATH, None).await;
        reader.block().await;
        grow(&feed, [order_of_cents(usd)]);
        assert_eq!(usd_of(&reader.event().await), usd);
        drop(reader);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_reader_of_orders_and_cascades_resumes_at_the_id_of_an_order() {
    let (_, service, feed) = growing(100);
    let uri = format!("{PATH}?events=orders,cascades");
    let mut reader = Reader::open(&service, &uri, None).await;
    reader.block().await;
    grow(&feed, [order_of_cents(1)]);
    let first = reader.event().await;
    assert!(first.id.contains('~'), "{}", first.id);
    grow(&feed, [order_of_cents(2)]);
    let second = reader.event().await;
    let mut again = Reader::open(&service, &uri, Some(&first.id)).await;
    let resumed = again.event().await;
    let position = |event: &Event| event.id.split('~').next().map(str::to_owned);
    assert_eq!(resumed.data, second.data);
    assert_eq!(position(&resumed), position(&second));
}

#[tokio::test]
async fn the_index_lists_the_stream_as_an_extension() {
    let (_, service, _) = growing(1);
    let (_, index) = get_json(&service, "/api").await;
    let entry = &index["extensions"][0];
    assert_eq!(entry["path"], PATH);
    for parameter in entry["parameters"].as_array().unwrap() {
        let name = parameter["name"].as_str().unwrap();
        let (_, refusal) = get_json(&service, &format!("{PATH}?{name}=")).await;
        assert_eq!(refusal["error"]["allowed"], parameter["allowed"]);
    }
}

#[tokio::test]
async fn an_unknown_position_gives_a_gap_event() {
    let (market, service, feed) = growing(3);
    let lost = market.newest().unwrap().to_string();
    grow(&feed, (1..=5).map(order_of_cents));
    for id in [lost.as_str(), "nonsense", "1f-9"] {
        let mut reader = Reader::open(&service, PATH, Some(id)).await;
        let event = reader.event().await;
        assert_eq!(event.kind, "gap");
        assert_eq!(event.data["asked"], id);
        assert_eq!(event.id, market.newest().unwrap().to_string());
    }
    // A reader that resumes from the unknown position gets a gap event, and after it the next order.
    let mut reader = Reader::open(&service, PATH, Some(&lost)).await;
    reader.event().await;
    grow(&feed, [order_of_cents(6)]);
    assert_eq!(usd_of(&reader.event().await), 6);
}

#[tokio::test]
async fn the_header_is_newer_than_the_address() {
    let (market, service, feed) = growing(100);
    let start = market.newest().unwrap();
    grow(&feed, (1..=4).map(order_of_cents));
    let uri = format!("{PATH}?last_event_id={start}");
    let mut reader = Reader::open(&service, &uri, None).await;
    let first = reader.event().await;
    assert_eq!(usd_of(&first), 1);
    let mut reader = Reader::open(&service, &uri, Some(&first.id)).await;
    assert_eq!(usd_of(&reader.event().await), 2);
}

#[tokio::test]
async fn an_idle_stream_sends_keep_alives() {
    let (market, feed) = Market::growing(100, "a test");
    let mut shared = PageState::new(Arc::new(market));
    shared.keep_alive = Duration::from_millis(1);
    let service = routes(shared);
    let mut reader = Reader::open(&service, &format!("{PATH}?exchange=okx"), None).await;
    reader.block().await;
    grow(&feed, [order_of_cents(1)]);
    // The order is filtered out, but the heartbeat has the position after it. A reconnect does not read it again.
    loop {
        let block = reader.block().await;
        assert_eq!((&*block[0], &*block[2]), ("event: position", "data: {}"));
        if block[1].ends_with("-1") {
            break;
        }
    }
}

#[tokio::test]
async fn a_stream_is_not_compressed_and_a_head_has_none() {
    let (_, service, _) = growing(1);
    for method in [Method::GET, Method::HEAD] {
        let asked = request(method, PATH).header(ACCEPT_ENCODING, "gzip, br, zstd");
        let response = service
            .clone()
            .oneshot(asked.body(Body::empty()).unwrap())
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert!(!response.headers().contains_key(CONTENT_ENCODING));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn who_comes_back_to_where_it_was_misses_nothing_and_sees_nothing_twice(
        growths in proptest::collection::vec(1_i64..40, 1..6),
        cuts in proptest::collection::vec(0_usize..30, 0..8),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let (market, service, feed) = growing(10_000);
            let mut id = market.newest().unwrap().to_string();
            let total: i64 = growths.iter().sum();
            let mut next = 1;
            for number in growths {
                grow(&feed, (next..next + number).map(order_of_cents));
                next += number;
            }
            let mut seen = Vec::new();
            for cut in cuts {
                let left = usize::try_from(total).unwrap() - seen.len();
                let mut reader = Reader::open(&service, PATH, Some(&id)).await;
                for event in reader.events(cut.min(left)).await {
                    id.clone_from(&event.id);
                    seen.push(usd_of(&event));
                }
            }
            let left = usize::try_from(total).unwrap() - seen.len();
            let mut reader = Reader::open(&service, PATH, Some(&id)).await;
            seen.extend(reader.events(left).await.iter().map(usd_of));
            assert_eq!(seen, (1..=total).collect::<Vec<_>>());
        });
    }
}
