//! Tests the page `/metrics` over a real socket. The page is parsed by the rules of its format.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::routing::get;
use futures_util::future::join_all;
use tokio::time::Instant;

use super::events::{grow, growing, order_of_cents};
use super::ready::{Folder, recorded};
use super::sockets::{Running, header};
use super::*;
use crate::archive::Archive;
use crate::server::{Access, Limits, ServerSettings, Tokens};

/// Values of samples. A key consists of name and labels as they are written.
type Samples = BTreeMap<String, f64>;

/// Parses the samples of a page, and checks every line against the format.
fn parsed(page: &str) -> Samples {
    let mut samples = Samples::new();
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    assert!(page.ends_with('\n'));
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            assert!(help.split_once(' ').unwrap().1.ends_with('.'), "{line}");
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(kinds.insert(name, kind).is_none(), "{line}");
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        assert!(
            name.chars()
                .all(|one| one.is_ascii_lowercase() || "_:".contains(one) || one.is_ascii_digit()),
            "{line}"
        );
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| {
                name.strip_suffix(end)
                    .filter(|name| kinds.get(name) == Some(&"histogram"))
            })
            .unwrap_or(name);
        assert!(kinds.contains_key(family), "{line}");
        if let Some(labels) = series
            .strip_prefix(name)
            .filter(|labels| !labels.is_empty())
        {
            let labels = labels.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
            for label in labels.split(',') {
                let (_, text) = label.split_once('=').unwrap();
                assert!(
                    text.starts_with('"') && text.ends_with('"') && text.len() > 2,
                    "{line}"
                );
            }
        }
        let value: f64 = value.parse().unwrap();
        assert!(samples.insert(series.to_owned(), value).is_none(), "{line}");
    }
    samples
}

async fn scraped(server: &Running) -> Samples {
    let mut peer = server.connect().await;
    peer.ask("/metrics").await;
    let (head, body) = peer.answer().await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let kind = header(&head, "content-type").unwrap();
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    parsed(&body)
}

#[tokio::test]
async fn requests_are_counted_by_endpoint_and_status_and_unknown_paths_as_one() {
    let server = Running::start(Limits::default(), service()).await;
    let mut peer = server.connect().await;
    for path in [
        "/api/liquidations/overview",
        "/api/liquidations/overview?as_of=1781135000000",
        "/api/liq-map?symbol=NOPE",
        "/nope",
        "/api/%22%0a%7d",
        "/api/liquidations/overview/",
    ] {
        peer.ask(path).await;
        peer.answer().await;
    }
    let found = scraped(&server).await;
    for (series, count) in [
        (
            "liqdata_http_requests_total{endpoint=\"/api/liquidations/overview\",status=\"200\"}",
            2.0,
        ),
        (
            "liqdata_http_requests_total{endpoint=\"/api/liq-map\",status=\"400\"}",
            1.0,
        ),
        (
            "liqdata_http_requests_total{endpoint=\"other\",status=\"404\"}",
            3.0,
        ),
        (
            "liqdata_http_request_duration_seconds_count{endpoint=\"other\"}",
            3.0,
        ),
        (
            "liqdata_http_request_duration_seconds_bucket{endpoint=\"other\",le=\"+Inf\"}",
            3.0,
        ),
        ("liqdata_http_connections", 2.0),
        ("liqdata_http_connections_turned_away_total", 0.0),
        ("liqdata_past_questions", 0.0),
        ("liqdata_market_readable", 1.0),
        ("liqdata_damaged_files", 0.0),
        ("liqdata_market_newest_timestamp_seconds", 1_781_136_000.0),
    ] {
        assert_eq!(found.get(series), Some(&count), "{series} of {found:#?}");
    }
    // One count for each bucket of latency, and one beyond them.
    let classes: Vec<f64> = found
        .iter()
        .filter(|(series, _)| series.contains("_bucket{endpoint=\"/api/liquidations/overview\""))
        .map(|(_, count)| *count)
        .collect();
    assert_eq!(classes.len(), 13);
    assert!(classes.contains(&2.0));
    let memory = found["liqdata_answer_memory_bytes"];
    assert!(memory > 0.0 && memory < found["liqdata_answer_memory_limit_bytes"]);
    if cfg!(target_os = "linux") {
        assert!(found["process_resident_memory_bytes"] > 1e6);
        assert!(found["process_open_fds"] > 3.0);
    }
    // A scrape counts as a request only after its answer. The next scrape therefore shows it.
    let names = |samples: &Samples| samples.keys().cloned().collect::<BTreeSet<_>>();
    let again = scraped(&server).await;
    let new: Vec<String> = names(&again).difference(&names(&found)).cloned().collect();
    assert!(
        new.iter().all(|series| series.contains("\"/metrics\"")),
        "{new:?}"
    );
    server.stop().await;
}

#[tokio::test]
async fn an_answer_took_as_long_as_it_took_and_each_class_holds_those_before() {
    let slowly = || async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        "done"
    };
    let service = service().route("/slow", get(slowly));
    let server = Running::start(Limits::default(), service).await;
    let began = Instant::now();
    let mut peer = server.connect().await;
    for _ in 0..3 {
        peer.ask("/slow").await;
        peer.answer().await;
    }
    let took = began.elapsed().as_secs_f64();
    let found = scraped(&server).await;
    let of = |end: &str| found[&format!("liqdata_http_request_duration_seconds_{end}")];
    let sum = of("sum{endpoint=\"other\"}");
    assert!((0.09..=took).contains(&sum), "{sum} of {took}");
    let mut before = 0.0;
    for bound in ["0.025", "0.05", "0.1", "0.25", "1", "5", "30", "+Inf"] {
        let count = of(&format!("bucket{{endpoint=\"other\",le=\"{bound}\"}}"));
        assert!(count >= before, "{bound}");
        assert!(
            bound != "0.025" || count < 0.5,
            "nothing is quicker than it was"
        );
        before = count;
    }
    assert_eq!((before, of("count{endpoint=\"other\"}")), (3.0, 3.0));
    server.stop().await;
}

/// Scrapes until the sample `series` has the value `wanted`. Calls `between` after each scrape without success.
async fn becomes(server: &Running, series: &str, wanted: f64, between: impl Fn()) {
    let began = Instant::now();
    loop {
        let found = scraped(server).await.get(series).copied().unwrap_or(0.0);
        if (found - wanted).abs() < 0.5 {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{series} is {found}"
        );
        between();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn whoever_follows_and_whoever_goes_before_the_answer_is_counted() {
    let (_, service, feed) = growing(100);
    let slowly = || tokio::time::sleep(Duration::from_millis(300));
    let service = service.route("/slow", get(slowly));
    let server = Running::start(Limits::default(), service).await;
    becomes(&server, "liqdata_streams", 0.0, || ()).await;
    let mut readers = Vec::new();
    for _ in 0..3 {
        let mut reader = server.connect().await;
        reader.ask("/api/liquidations/stream").await;
        readers.push(reader);
    }
    becomes(&server, "liqdata_streams", 3.0, || ()).await;
    becomes(&server, "liqdata_streams_limit", 256.0, || ()).await;
    readers.pop().unwrap().reset();
    // The server notices that a client has closed a stream only when it sends something.
    becomes(&server, "liqdata_streams", 2.0, || {
        grow(&feed, [order_of_cents(1)]);
    })
    .await;

    // A request is counted even if its client disconnects before the answer.
    let mut peer = server.connect().await;
    peer.ask("/slow").await;
    becomes(&server, "liqdata_http_connections", 4.0, || ()).await;
    peer.reset();
    let answered = "liqdata_http_requests_total{endpoint=\"other\",status=\"200\"}";
    becomes(&server, answered, 1.0, || ()).await;
    server.stop().await;
}

#[tokio::test]
async fn concurrent_scrapes_get_the_exchanges_of_an_archive() {
    let folder = Folder::new("scraped");
    let mut writer = Archive::create_or_open(&folder.0).unwrap();
    writer.append(&recorded(0, 0)).unwrap();
    drop(writer);
    let market = Arc::new(Market::open(&folder.0, None).unwrap());
    let server = Running::start(Limits::default(), router(market)).await;
    let pages = join_all((0..30).map(|_| scraped(&server))).await;
    for page in &pages {
        let venues: Vec<&String> = page
            .keys()
            .filter(|series| series.starts_with("liqdata_exchange_orders{"))
            .collect();
        assert!(!venues.is_empty());
        assert_eq!(page.get("liqdata_market_readable"), Some(&1.0));
    }
    server.stop().await;
}

#[tokio::test]
async fn the_page_is_behind_the_token_and_takes_no_parameters() {
    let token = "0123456789abcdef0123456789abcdef";
    let settings = ServerSettings {
        access: Access {
            tokens: Tokens::default().with(token).unwrap(),
            ..Access::default()
        },
        ..ServerSettings::default()
    };
    let server = Running::with(settings, service()).await;
    let mut peer = server.connect().await;
    peer.ask("/metrics").await;
    assert_eq!(peer.status().await, 401);
    let lines = format!("host: localhost\r\nauthorization: Bearer {token}\r\n");
    peer.ask_with("/metrics", &lines).await;
    let (_, body) = peer.answer().await;
    let refused = "liqdata_http_requests_total{endpoint=\"/metrics\",status=\"401\"}";
    assert_eq!(parsed(&body).get(refused), Some(&1.0));
    peer.ask_with("/metrics?x=1", &lines).await;
    assert_eq!(peer.status().await, 400);
    server.stop().await;
}
