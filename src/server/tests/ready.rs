//! Tests the cache of complete responses: it sends what the pages would send, and only while the data are unchanged.

use axum::http::header::{ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};

use super::*;
use crate::archive::{Archive, BarRow, Batch, Completeness, OrderRow};
use crate::market::wall_clock;
use crate::server::answers::response_cache::ReadyAnswers;
use crate::server::tests::caching::text;

async fn answer(
    service: &Router,
    method: &Method,
    uri: &str,
    headers: &[(HeaderName, String)],
) -> (StatusCode, HeaderMap, Bytes) {
    let mut request = request(method.clone(), uri);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    ask(service, request.body(Body::empty()).unwrap()).await
}

pub(super) async fn plain(service: &Router, uri: &str) -> (StatusCode, HeaderMap, Bytes) {
    answer(service, &Method::GET, uri, &[]).await
}

/// Returns a response cache of `room` bytes, and the service that uses it.
fn front(shared: &PageState, room: u64) -> (ReadyAnswers, Router) {
    let front = ReadyAnswers::of(shared.clone(), pages(shared.clone()), room);
    (front.clone(), Router::new().fallback_service(front))
}

#[tokio::test]
async fn what_is_ready_is_what_the_page_says_header_for_header() {
    let shared = PageState::new(Arc::new(market(true)));
    let pages = pages(shared.clone());
    let (cached, service) = front(&shared, 32 << 20);
    let mut uris: Vec<String> = Vec::new();
    for (path, _, _) in paths() {
        uris.push(path.to_owned());
        uris.push(format!("{path}?explain=1"));
        uris.push(format!("{path}?as_of=2026-06-10T18:00:00Z&"));
        uris.push(format!("{path}?nothing=of&the=kind"));
    }
    uris.extend(["/", "/api", "/health", "/nope", "/api/liq-map?symbol=NOPE"].map(str::to_owned));
    for uri in &uris {
        plain(&pages, uri).await;
    }
    // Waits for the next second, so that no date header changes between two answers.
    let made = wall_clock().0.div_euclid(1000);
    while wall_clock().0.div_euclid(1000) <= made {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for uri in &uris {
        let (status, named, _) = plain(&pages, uri).await;
        let mut conditions = vec![Vec::new(), vec![(IF_NONE_MATCH, "\"another\"".to_owned())]];
        if status == StatusCode::OK && named.contains_key(ETAG) {
            let tag = text(&named, &ETAG).to_owned();
            conditions.push(vec![(IF_NONE_MATCH, format!("\"another\", {tag}"))]);
            let date = text(&named, &LAST_MODIFIED).to_owned();
            conditions.push(vec![(IF_MODIFIED_SINCE, date)]);
        }
        for encodings in [
            &[][..],
            &["identity"],
            &["gzip"],
            &["br, zstd"],
            &["gzip", "br"],
            &["identity;q=0"],
        ] {
            for condition in &conditions {
                let mut headers = condition.clone();
                headers.extend(
                    encodings
                        .iter()
                        .map(|list| (ACCEPT_ENCODING, (*list).to_owned())),
                );
                for method in [Method::GET, Method::HEAD, Method::POST] {
                    let mut wanted = answer(&pages, &method, uri, &headers).await;
                    if wanted.0 == StatusCode::NOT_MODIFIED {
                        // A 304 response has no body, so the service sends it without a Content-Length.
                        wanted.1.remove(CONTENT_LENGTH);
                    }
                    for turn in 0..2 {
                        let got = answer(&service, &method, uri, &headers).await;
                        assert_eq!(got.0, wanted.0, "{method} {uri} {headers:?} {turn}");
                        assert_eq!(got.1, wanted.1, "{method} {uri} {headers:?} {turn}");
                        assert!(got.2 == wanted.2, "{method} {uri} {headers:?} {turn}");
                    }
                }
            }
        }
    }
    // Every answer about the present is cached, once for each spelling of the accepted encodings.
    assert!(cached.usage().0 >= 10 * 6, "{:?}", cached.usage());
}

#[tokio::test]
async fn what_is_ready_needs_no_lane() {
    let shared = PageState::new(Arc::new(market(false)));
    let service = routes(shared.clone());
    let uris: Vec<&str> = paths().into_iter().map(|(path, ..)| path).collect();
    let mut first = Vec::new();
    for uri in &uris {
        first.push(plain(&service, uri).await.2);
    }
    shared.quick.close();
    shared.slow.close();
    for (uri, first) in uris.iter().zip(&first) {
        let (status, _, body) = plain(&service, uri).await;
        assert_eq!((status, &body), (StatusCode::OK, first), "{uri}");
    }
    // Any other query needs a computation. The lanes are closed, so it fails.
    let (status, ..) = plain(&service, "/api/liquidations?limit=7").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn a_new_order_is_in_the_next_answer_and_an_old_one_leaves_its_window() {
    let (market, feed) = Market::growing(1000, "a test");
    let service = routes(PageState::new(Arc::new(market)));
    let grow = |minutes_ago: i64| {
        let new = order("okx", "BTCUSDT", Side::Long, minutes_ago, 500);
        feed.append((vec![new], Vec::new(), Vec::new())).unwrap();
    };
    let uri = "/api/liquidations/exchanges?range=1h";
    let count = async || {
        let (status, headers, body) = plain(&service, uri).await;
        assert_eq!(status, StatusCode::OK);
        // A repeated query gets the same answer. A client that sends the validator of its copy gets 304.
        assert_eq!(plain(&service, uri).await.2, body);
        let blocked = (IF_NONE_MATCH, text(&headers, &ETAG).to_owned());
        let (status, ..) = answer(&service, &Method::GET, uri, &[blocked]).await;
        assert_eq!(status, StatusCode::NOT_MODIFIED);
        let all: Value = serde_json::from_slice(&body).unwrap();
        all["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["cnt"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(count().await, 0);
    grow(30);
    assert_eq!(count().await, 1);
    grow(20);
    assert_eq!(count().await, 2);
    // The time window ends at the last order. The first order is now exactly an hour older, which is outside the
    // window.
    grow(-29);
    assert_eq!(count().await, 3);
    grow(-30);
    assert_eq!(count().await, 3);
    grow(-200);
    assert_eq!(count().await, 1);
}

/// The archive folder of a test. Dropping it removes the folder.
pub(super) struct Folder(pub(super) std::path::PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let name = format!("liqdata-ready-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn recorded(key: u32, minutes: i64) -> Batch {
    let at = NOW.on(minutes * Millis::MINUTE);
    Batch {
        orders: vec![OrderRow {
            order: order("okx", "BTCUSDT", Side::Short, -minutes, 70_000).order,
            coin: "BTC".to_owned(),
            price_kind: "avg_fill".to_owned(),
            completeness: Completeness::Sampled,
            native_id: None,
            dedupe_key: key.to_string(),
            received_at: at,
            raw: None,
            group_id: None,
        }],
        ..Batch::default()
    }
}

#[tokio::test]
async fn an_archive_that_grows_is_answered_as_it_was_committed_last() {
    let folder = Folder::new("grows");
    let mut writer = Archive::create_or_open(&folder.0).unwrap();
    writer.append(&recorded(1, 0)).unwrap();
    let market = Market::open(&folder.0, None).unwrap();
    assert!(market.is_on_disk());
    let shared = PageState::new(Arc::new(market));
    let (cached, service) = front(&shared, 1 << 20);
    let questions = [
        "/api/liquidations",
        "/api/liquidations/overview",
        "/api/liquidations/coins?range=1h",
        "/api/liquidations/exchanges?range=1h&explain=1",
        "/api/liquidations/largest?range=1h",
        "/api/liquidations/chart?symbol=BTCUSDT",
    ];
    let price = Decimal::from(60_000);
    let bar = |minutes: i64| Batch {
        bars: vec![BarRow {
            exchange: "okx".to_owned(),
            symbol: "BTC".to_owned(),
            timestamp: NOW.on((minutes - 1) * Millis::MINUTE),
            interval: Millis::MINUTE,
            open: price,
            high: price,
            low: price,
            close: price,
            volume: Decimal::ONE,
            received_at: NOW.on(minutes * Millis::MINUTE),
        }],
        ..Batch::default()
    };
    // The third commit adds only a bar. The bar moves the end of every time window, so that the first order is outside.
    let commits = [recorded(2, 10), recorded(3, 30), bar(61), recorded(4, 1500)];
    let mut seen = Vec::new();
    for commit in std::iter::once(None).chain(commits.iter().map(Some)) {
        if let Some(commit) = commit {
            writer.append(commit).unwrap();
        }
        let fresh = router(Arc::new(Market::open(&folder.0, None).unwrap()));
        for uri in questions {
            let (_, _, wanted) = plain(&fresh, uri).await;
            for _ in 0..3 {
                let (status, _, got) = plain(&service, uri).await;
                assert_eq!(status, StatusCode::OK);
                assert_eq!(got, wanted, "{uri}");
            }
            seen.push((uri, wanted));
        }
    }
    assert_eq!(cached.usage().0, questions.len());
    for uri in questions {
        let mut answers: Vec<&Bytes> = seen
            .iter()
            .filter(|(of, _)| *of == uri)
            .map(|(_, body)| body)
            .collect();
        answers.dedup();
        assert!(answers.len() >= 4, "{uri}: {}", answers.len());
    }
}

#[tokio::test]
async fn many_different_questions_stay_within_the_room() {
    let shared = PageState::new(Arc::new(market(false)));
    let room = 200_000;
    let (cached, service) = front(&shared, room);
    for offset in 0..400 {
        let uri = format!("/api/liquidations?limit=20&offset={offset}");
        let (status, _, body) = plain(&service, &uri).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(plain(&service, &uri).await.2, body);
        // A long URL counts towards the size of the cache: empty pairs have no meaning, but they are part of the cache
        // key.
        let uri = format!("{uri}{}", "&".repeat(offset * 7));
        assert_eq!(plain(&service, &uri).await.2, body);
        assert!(cached.usage().1 <= room);
    }
    let (entries, weight) = cached.usage();
    assert!(entries > 10 && weight > room / 2, "{entries} {weight}");
}
