//! Maps that a server sends are stored in its archive by the writing process, and read again unchanged.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT, ACCEPT_ENCODING};
use axum::http::{Request, StatusCode};
use liqdata::archive::{Archive, Batch, CommitPolicy, Filter, GroupCommitWriter, MapRow};
use liqdata::contract::GRID_TYPE;
use liqdata::market::{MapRecorder, MapStatus, Market, WantedMaps};
use liqdata::model::{Millis, TimeRange};
use liqdata::server::router;
use tower::ServiceExt;

use crate::archive::folder::Folder;
use crate::archived::world::{START, bar, two_days};

/// Far more than any step here takes.
const STUCK: Duration = Duration::from_secs(30);
/// More than all maps of a test.
const PLENTY: u64 = 64 << 20;

const END: i64 = START + 2 * Millis::DAY;

/// The process that writes, with a server of what it writes.
struct Writing {
    group_writer: Option<GroupCommitWriter>,
    maps: Arc<MapRecorder>,
    service: Router,
}

impl Writing {
    fn start(archive: &Path, pace: CommitPolicy, bytes: u64) -> Self {
        Self::keeping(
            archive,
            pace,
            bytes,
            &["heatmap", "liqmap", "levels", "maxpain"],
        )
    }

    fn keeping(archive: &Path, pace: CommitPolicy, bytes: u64, wanted: &[&str]) -> Self {
        let mut writer = Archive::create_or_open(archive).unwrap();
        writer.append(&two_days()).unwrap();
        let group_writer = GroupCommitWriter::start_with(writer, pace).unwrap();
        let wanted = wanted.iter().map(|text| WantedMaps::read(text).unwrap());
        let (queue, wanted) = (group_writer.queue(), wanted.collect());
        let maps = Arc::new(MapRecorder::start(archive, queue, wanted, bytes).unwrap());
        let market = Market::open(archive, None)
            .unwrap()
            .keeping(Arc::clone(&maps));
        Self {
            group_writer: Some(group_writer),
            maps,
            service: router(Arc::new(market)),
        }
    }

    fn append(&self, batch: Batch) {
        let inbox = self.group_writer.as_ref().unwrap().queue();
        inbox.send_blocking(batch).unwrap().wait().unwrap();
    }

    /// Waits until so many maps are kept and lost.
    async fn until(&self, recorded: u64, lost: u64) {
        let started = Instant::now();
        while self.maps.status() != (MapStatus { recorded, lost }) {
            assert!(started.elapsed() < STUCK, "{:?}", self.maps.status());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn get(service: &Router, uri: &str) -> String {
    let request = Request::get(uri)
        .header(ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .unwrap();
    let response = service.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{uri}");
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

fn recorded(archive: &Path) -> Vec<MapRow> {
    let archive = Archive::read(archive).unwrap();
    archive.maps(&Filter::default(), None).unwrap().rows
}

/// The four, and what is kept of their questions.
const FOUR: [(&str, &str, &str); 5] = [
    (
        "/api/liq-heatmap?symbol=BTC",
        "heatmap",
        "range=24h&model=2",
    ),
    (
        "/api/liq-heatmap?symbol=btc&range=12h&model=3",
        "heatmap",
        "range=12h&model=3",
    ),
    ("/api/liq-map?symbol=BTC&range=7d", "liqmap", "range=7d"),
    ("/api/liq-levels?symbol=BTC", "levels", ""),
    ("/api/liq-maxpain?symbol=BTC", "maxpain", ""),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heatmap_that_was_sent_as_bytes_is_stored_as_json() {
    let folder = Folder::new();
    let writing = Writing::start(&folder.archive(), CommitPolicy::default(), PLENTY);
    let (uri, kind, params) = FOUR[0];
    for values in ["u16", "f64"] {
        let request = Request::get(format!("{uri}&values={values}"))
            .header(ACCEPT, GRID_TYPE)
            .header(ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .unwrap();
        let response = writing.service.clone().oneshot(request).await.unwrap();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert!(body.starts_with(b"LIQGRID1"));
        writing.until(1, 0).await;
    }
    let rows = recorded(&folder.archive());
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].kind.as_str(), rows[0].params.as_str()),
        (kind, params)
    );
    assert_eq!(rows[0].timestamp.0, END);
    assert_eq!(rows[0].reply, get(&writing.service, uri).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_map_is_stored_as_served_once_for_every_bar() {
    let folder = Folder::new();
    let writing = Writing::start(&folder.archive(), CommitPolicy::default(), PLENTY);
    let service = &writing.service;
    let mut served = Vec::new();
    let mut ask_all = async |closed: i64| {
        for (uri, kind, params) in FOUR {
            let body = get(service, uri).await;
            assert_eq!(get(service, uri).await, body);
            // Explained it is the same map, and as of an instant none that was shown.
            get(service, &format!("{uri}&explain=1")).await;
            let past = format!("{uri}&as_of={}", closed - Millis::HOUR);
            assert_ne!(get(service, &past).await, body);
            served.push((closed, kind, params, body));
        }
        get(service, "/api/liquidations/overview").await;
    };
    ask_all(END).await;
    writing.until(5, 0).await;
    // A bar that has not closed changes nothing; four more minutes do.
    let minute = |minute: i64| bar("binance", 2 * 24 * 60 + minute, END);
    writing.append(Batch {
        bars: vec![minute(0)],
        ..Batch::default()
    });
    for (uri, ..) in FOUR {
        get(service, uri).await;
    }
    writing.append(Batch {
        bars: (1..5).map(minute).collect(),
        ..Batch::default()
    });
    ask_all(END + 5 * Millis::MINUTE).await;
    writing.until(10, 0).await;

    let rows = recorded(&folder.archive());
    assert_eq!(rows.len(), 10);
    for (closed, kind, params, body) in &served {
        let found: Vec<&MapRow> = rows
            .iter()
            .filter(|row| row.timestamp.0 == *closed && row.kind == *kind && row.params == *params)
            .collect();
        assert_eq!(found.len(), 1, "{kind} {params}");
        assert_eq!(found[0].reply, *body);
        assert_eq!(found[0].symbol, "BTC");
        assert!(found[0].computed_at.0 > END);
        let explain: serde_json::Value =
            serde_json::from_str(found[0].explain.as_ref().unwrap()).unwrap();
        assert_eq!(
            explain["modelVersion"],
            found[0].version.as_deref().unwrap()
        );
        assert_eq!(
            explain["priceExchanges"],
            serde_json::json!({"binance": explain["bars"]})
        );
    }

    // A reader stores nothing and finds the served map; a query as of then returns the same.
    let reader = Market::open(folder.archive(), None).unwrap();
    assert_eq!(
        reader
            .maps(
                Some("heatmap"),
                Some("BTC"),
                None,
                None,
                TimeRange::bounded(None, Some(Millis(END + 1))),
                usize::MAX
            )
            .unwrap()
            .len(),
        2
    );
    let reading = router(Arc::new(reader));
    for ((uri, ..), (.., body)) in FOUR.iter().zip(&served) {
        // Every bar up to the close had been received a second later.
        let again = get(&reading, &format!("{uri}&as_of={}", END + 1000)).await;
        assert_eq!(again, *body);
        get(&reading, uri).await;
    }
    assert_eq!(recorded(&folder.archive()).len(), 10);
    let still = Market::open(folder.archive(), Some(Millis(END))).unwrap();
    let all = |market: &Market, as_of| {
        market
            .maps(None, None, None, as_of, TimeRange::ALL, usize::MAX)
            .unwrap()
            .len()
    };
    assert_eq!(all(&still, None), 0, "they were computed later");
    let fresh = Market::open(folder.archive(), None).unwrap();
    let last = rows.iter().map(|row| row.computed_at).max().unwrap();
    assert_eq!(all(&fresh, Some(last)), 10);
    assert!(all(&fresh, Some(last.back(1))) < 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_do_not_wait_for_an_archive_that_does_not_write() {
    let folder = Folder::new();
    let never = CommitPolicy {
        delay: Duration::from_hours(1),
        ..CommitPolicy::default()
    };
    let mut writing = Writing::start(&folder.archive(), never, PLENTY);
    let mut bodies = Vec::new();
    for (uri, ..) in FOUR {
        bodies.push(get(&writing.service, uri).await);
    }
    assert_eq!(writing.maps.status(), MapStatus::default());
    assert_eq!(recorded(&folder.archive()), []);
    // The recorder of the maps is stopped first, and does not wait for ever.
    writing.maps.finish(Duration::from_millis(50));
    let group_writer = writing.group_writer.take().unwrap();
    let writer = tokio::task::spawn_blocking(move || group_writer.stop().unwrap())
        .await
        .unwrap();
    // What had been handed over when the archive stopped is kept, and what came after it is counted.
    let started = Instant::now();
    let counted = || {
        let status = writing.maps.status();
        status.recorded + status.lost
    };
    while counted() < 5 {
        assert!(started.elapsed() < STUCK, "{:?}", writing.maps.status());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let rows = writer
        .archive()
        .maps(&Filter::default(), None)
        .unwrap()
        .rows;
    assert_eq!(rows.len() as u64, writing.maps.status().recorded);
    assert!(!rows.is_empty());
    assert!(rows.iter().all(|row| bodies.contains(&row.reply)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_map_that_cannot_be_stored_is_answered_and_counted() {
    let folder = Folder::new();
    let mut writing = Writing::start(&folder.archive(), CommitPolicy::default(), PLENTY);
    get(&writing.service, FOUR[0].0).await;
    writing.until(1, 0).await;
    drop(writing.group_writer.take().unwrap().stop().unwrap());
    get(&writing.service, FOUR[2].0).await;
    writing.until(1, 1).await;
    writing.maps.finish(STUCK);
    get(&writing.service, FOUR[3].0).await;
    writing.until(1, 2).await;
    assert_eq!(recorded(&folder.archive()).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_maps_of_a_day_stay_within_their_limit() {
    let folder = Folder::new();
    let writing = Writing::start(&folder.archive(), CommitPolicy::default(), 1);
    get(&writing.service, FOUR[0].0).await;
    writing.until(1, 0).await;
    get(&writing.service, FOUR[2].0).await;
    writing.until(1, 1).await;
    // The limit is per day.
    let next_day = (0..24 * 60).map(|minute| bar("binance", 2 * 24 * 60 + minute, END));
    writing.append(Batch {
        bars: next_day.collect(),
        ..Batch::default()
    });
    get(&writing.service, FOUR[2].0).await;
    writing.until(2, 1).await;
    assert_eq!(recorded(&folder.archive()).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_maps_of_the_named_queries_are_stored() {
    let folder = Folder::new();
    let wanted = ["heatmap?range=12h&symbol=btc", "/api/levels"];
    let writing = Writing::keeping(&folder.archive(), CommitPolicy::default(), PLENTY, &wanted);
    for (uri, ..) in FOUR {
        get(&writing.service, uri).await;
    }
    writing.until(2, 0).await;
    let mut stored: Vec<(String, String)> = recorded(&folder.archive())
        .into_iter()
        .map(|row| (row.kind, row.params))
        .collect();
    stored.sort();
    let pair = |kind: &str, params: &str| (kind.to_owned(), params.to_owned());
    assert_eq!(
        stored,
        [pair("heatmap", "range=12h&model=3"), pair("levels", "")]
    );
    for (text, named) in [
        ("", "maps"),
        ("overview", "maps"),
        ("heatmap?range=1s", "range"),
        ("heatmap?colour=red", "colour"),
        ("levels?symbol=", "symbol"),
    ] {
        let refusal = WantedMaps::read(text).unwrap_err();
        assert_eq!(refusal.parameter, named, "{text}: {refusal}");
    }
}

/// What an open page requests for its pictures, again after each bar.
const PAGE: [&str; 4] = [
    "/api/liq-heatmap?symbol=BTC&range=24h&model=2",
    "/api/liq-map?symbol=BTC&range=24h",
    "/api/liq-levels?symbol=BTC",
    "/api/liq-maxpain?symbol=BTC",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_left_open_for_a_week_adds_less_than_a_hundred_megabytes() {
    const HOURS: i64 = 8;
    let folder = Folder::new();
    let wanted = ["levels"];
    let writing = Writing::keeping(&folder.archive(), CommitPolicy::default(), PLENTY, &wanted);
    let mut requests = 0;
    for step in 0..7 * 24 / HOURS {
        let minutes =
            (step * HOURS * 60..(step + 1) * HOURS * 60).map(|minute| 2 * 24 * 60 + minute);
        writing.append(Batch {
            bars: minutes.map(|minute| bar("binance", minute, END)).collect(),
            ..Batch::default()
        });
        for uri in PAGE {
            get(&writing.service, uri).await;
        }
        requests += 1;
        writing.until(requests, 0).await;
    }
    let stored = recorded(&folder.archive());
    assert_eq!(stored.len() as u64, requests);
    // The page requests its pictures again for each bar of five minutes.
    let bytes: usize = stored
        .iter()
        .map(|row| row.reply.len() + row.explain.as_ref().map_or(0, String::len))
        .sum();
    let of_week = bytes * usize::try_from(HOURS * 12).unwrap();
    assert!(of_week < 100_000_000, "{of_week}");
    let parts = Archive::read(folder.archive())
        .unwrap()
        .catalog()
        .bytes_by_part()
        .unwrap();
    let all: u64 = parts.values().sum();
    assert!(all < 100_000_000, "{parts:?}");
}
