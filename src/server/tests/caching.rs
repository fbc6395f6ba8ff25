//! Tests validators, conditional requests and the caches of encoded answers, through the router.

use std::collections::HashMap;

use axum::http::header::{
    ACCEPT, CACHE_CONTROL, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use futures_util::future::join_all;

use crate::contract::{GRID_TYPE, grid_parts};
use crate::market::MarketFeed;
use crate::server::tests::*;

const PREFER: HeaderName = HeaderName::from_static(contract::PREFER);
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static(contract::PREFERENCE_APPLIED);

async fn get(
    service: &Router,
    uri: &str,
    headers: &[(HeaderName, &str)],
) -> (StatusCode, HeaderMap, Bytes) {
    let mut request = request(Method::GET, uri);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    ask(service, request.body(Body::empty()).unwrap()).await
}

pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers[name].to_str().unwrap()
}

/// Creates a growing market that contains the observations of the fixed market.
fn growing() -> (PageState, Router, MarketFeed) {
    let (market, feed) = Market::growing(1000, "a test");
    feed.append(observed().rows()).unwrap();
    let shared = PageState::new(Arc::new(market));
    (shared.clone(), routes(shared), feed)
}

fn bar(opens: Millis) -> ObservedBar {
    ObservedBar {
        symbol: "BTC".to_owned(),
        timestamp: opens,
        closes_at: None,
        interval: Some(FIVE_MINUTES),
        open: 60_000.0,
        high: 61_000.0,
        low: 59_000.0,
        close: 60_500.0,
        volume: 100.0,
    }
}

#[tokio::test]
async fn every_answer_has_a_name_by_which_it_need_not_be_sent_again() {
    let service = service();
    for (path, _, _) in paths() {
        for query in ["", "?explain=1", "?as_of=2026-06-10T18:00:00Z"] {
            let uri = format!("{path}{query}");
            for encoding in ["identity", "gzip"] {
                let accept = (ACCEPT_ENCODING, encoding);
                let (status, headers, body) =
                    get(&service, &uri, std::slice::from_ref(&accept)).await;
                assert_eq!(status, StatusCode::OK, "{uri}");
                assert!(!body.is_empty());
                let lasts = if query.contains("as_of") {
                    "public, max-age=86400, immutable"
                } else {
                    "public, max-age=300"
                };
                assert_eq!(headers[CACHE_CONTROL], lasts, "{uri}");
                let tag = text(&headers, &ETAG);
                assert!(tag.starts_with("W/\"") && tag.ends_with('"'), "{tag}");
                let date = httpdate::parse_http_date(text(&headers, &LAST_MODIFIED)).unwrap();
                assert!(date <= std::time::SystemTime::now());
                let cached = [accept, (IF_NONE_MATCH, tag)];
                for method in [Method::GET, Method::HEAD] {
                    let mut again = request(method, &uri);
                    for (name, value) in &cached {
                        again = again.header(name, *value);
                    }
                    let again = again.body(Body::empty()).unwrap();
                    let (status, same, nothing) = ask(&service, again).await;
                    assert_eq!(status, StatusCode::NOT_MODIFIED, "{uri}");
                    assert!(nothing.is_empty());
                    assert_eq!(same[ETAG], headers[ETAG]);
                    assert_eq!(same[CACHE_CONTROL], lasts, "{uri}");
                    assert_eq!(same[VARY], "accept, accept-encoding, prefer");
                    assert!(
                        !same.contains_key(CONTENT_TYPE) && !same.contains_key(CONTENT_ENCODING)
                    );
                }
                let (status, ..) = get(&service, &uri, &[(IF_NONE_MATCH, "\"another\"")]).await;
                assert_eq!(status, StatusCode::OK, "{uri}");
            }
        }
    }
}

#[tokio::test]
async fn an_explanation_is_sent_only_if_preferred() {
    let service = service();
    let mut uris: Vec<String> = paths()
        .into_iter()
        .map(|(path, ..)| path.to_owned())
        .collect();
    uris.push(format!("{}?interval=1h", contract::Bars::PATH));
    for uri in uris {
        let mark = if uri.contains('?') { '&' } else { '?' };
        let (_, _, explained) = get(&service, &format!("{uri}{mark}explain=1"), &[]).await;
        let (_, _, plain) = get(&service, &uri, &[]).await;
        assert_ne!(plain, explained, "{uri}");
        // Each query is sent twice: the second answer comes from the cache.
        for prefers in [
            "explain",
            "wait=1, EstimateBasis",
            "explain",
            "",
            "explain=0",
            "explained",
        ] {
            let wanted = prefers
                .to_ascii_lowercase()
                .split(", ")
                .any(|one| one == "explain");
            let (status, headers, body) = get(&service, &uri, &[(PREFER, prefers)]).await;
            assert_eq!(status, StatusCode::OK, "{uri} {prefers:?}");
            assert!(
                body == if wanted { &explained } else { &plain },
                "{uri} {prefers:?}"
            );
            let followed = headers.get(&PREFERENCE_APPLIED).map(HeaderValue::as_bytes);
            assert_eq!(
                followed,
                wanted.then_some(b"explain".as_slice()),
                "{uri} {prefers:?}"
            );
            let cached = [(PREFER, prefers), (IF_NONE_MATCH, text(&headers, &ETAG))];
            let (status, again, _) = get(&service, &uri, &cached).await;
            assert_eq!(status, StatusCode::NOT_MODIFIED, "{uri} {prefers:?}");
            assert_eq!(again[VARY], "accept, accept-encoding, prefer");
            let packed = [(PREFER, prefers), (ACCEPT_ENCODING, "gzip")];
            let (_, headers, body) = get(&service, &uri, &packed).await;
            if !headers.contains_key(CONTENT_ENCODING) {
                assert!(
                    body == if wanted { &explained } else { &plain },
                    "{uri} {prefers:?}"
                );
            }
        }
    }
    let (status, headers, _) =
        get(&service, "/api/liq-map?symbol=NOPE", &[(PREFER, "explain")]).await;
    assert!(status.is_client_error() && !headers.contains_key(&PREFERENCE_APPLIED));
    let (_, index) = get_json(&service, "/api").await;
    assert_eq!(index["preferences"], json!(["explain"]));
}

#[tokio::test]
async fn a_refusal_has_no_name() {
    let service = service();
    for uri in [
        "/api/liq-map?symbol=NOPE",
        "/api/liquidations?limit=0",
        "/nope",
    ] {
        let (status, headers, _) = get(&service, uri, &[(IF_NONE_MATCH, "*")]).await;
        assert!(status.is_client_error(), "{uri}");
        assert!(!headers.contains_key(ETAG) && !headers.contains_key(LAST_MODIFIED));
        assert_eq!(headers[CACHE_CONTROL], "no-cache");
    }
}

#[tokio::test]
async fn a_copy_of_a_second_that_is_over_is_known_by_its_date() {
    let shared = PageState::new(Arc::new(market(false)));
    let made = shared.market.revision().changed_at.0.div_euclid(1000);
    let service = routes(shared);
    // Only a date after the second of the change proves that the client's copy is newer than the change.
    let date = |second: i64| {
        let since = std::time::Duration::from_secs(second.try_into().unwrap());
        httpdate::fmt_http_date(std::time::UNIX_EPOCH + since)
    };
    let uri = "/api/liquidations/overview";
    let (status, ..) = get(&service, uri, &[(IF_MODIFIED_SINCE, &date(made))]).await;
    assert_eq!(status, StatusCode::OK);
    let later = date(made + 1);
    loop {
        let (status, headers, _) = get(&service, uri, &[(IF_MODIFIED_SINCE, &later)]).await;
        if status == StatusCode::NOT_MODIFIED {
            assert_eq!(text(&headers, &LAST_MODIFIED), later);
            break;
        }
        // The server answered within the second of the change, so `Last-Modified` may still have the earlier date.
        assert_eq!(status, StatusCode::OK);
        assert!([date(made), later.clone()].contains(&text(&headers, &LAST_MODIFIED).to_owned()));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn no_name_ever_stands_for_two_answers() {
    let (shared, service, feed) = growing();
    let mut known: HashMap<String, Bytes> = HashMap::new();
    let mut uris: Vec<String> = Vec::new();
    for (path, _, _) in paths() {
        for query in [
            "?explain=0",
            "?explain=1",
            "?explain=1&as_of=2026-06-10T18:00:00Z",
        ] {
            uris.push(format!("{path}{query}"));
        }
    }
    for i in 0..4_i64 {
        for uri in &uris {
            for _ in 0..2 {
                let (status, headers, body) = get(&service, uri, &[]).await;
                assert_eq!(status, StatusCode::OK, "{uri}");
                let first = known
                    .entry(text(&headers, &ETAG).to_owned())
                    .or_insert_with(|| body.clone());
                assert_eq!(*first, body, "{uri}");
            }
        }
        let mut late = order("okx", "BTCUSDT", Side::Long, 10 - 5 * i, 500 + i);
        late.received_at = Some(NOW);
        let bars = if i == 1 { vec![bar(NOW)] } else { Vec::new() };
        feed.append((vec![late], bars, Vec::new())).unwrap();
    }
    // The data changed during the test, so each query had more than one answer.
    assert!(known.len() > 2 * uris.len(), "{}", known.len());
    assert!(shared.encoded(Lane::Quick).made() > 4);
}

#[tokio::test]
async fn a_hundred_askers_of_one_map_cost_one_computation() {
    let shared = PageState::new(Arc::new(market(false)));
    let service = routes(shared.clone());
    let asked = (0..100).map(|i| {
        let service = service.clone();
        let encoding = ["identity", "gzip", "zstd"][i % 3];
        tokio::spawn(async move {
            let headers = [(ACCEPT_ENCODING, encoding)];
            let (status, headers, body) =
                get(&service, "/api/liq-heatmap?symbol=btc", &headers).await;
            assert_eq!(status, StatusCode::OK);
            (text(&headers, &ETAG).to_owned(), encoding, body)
        })
    });
    let answers: Vec<_> = join_all(asked)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    for (tag, encoding, body) in &answers {
        assert_eq!(*tag, answers[0].0);
        let same = answers
            .iter()
            .find(|(_, other, _)| other == encoding)
            .unwrap();
        assert!(*body == same.2, "{encoding}");
    }
    assert_eq!(shared.encoded(Lane::Quick).made(), 1);
    // An answer with an explanation uses the same computed map.
    let (_, headers, _) = get(&service, "/api/liq-heatmap?explain=1", &[]).await;
    assert_ne!(text(&headers, &ETAG), answers[0].0);
    assert_eq!(shared.encoded(Lane::Quick).made(), 1);
}

#[tokio::test]
async fn head_requests_do_not_cache_an_empty_body() {
    let service = service();
    let head = request(Method::HEAD, "/api/liq-map").header(ACCEPT_ENCODING, "gzip");
    let (_, _, nothing) = ask(&service, head.body(Body::empty()).unwrap()).await;
    assert!(nothing.is_empty());
    let (_, headers, body) = get(&service, "/api/liq-map", &[(ACCEPT_ENCODING, "gzip")]).await;
    assert_eq!(headers[CONTENT_ENCODING], "gzip");
    assert!(!body.is_empty());
}

#[tokio::test]
async fn an_estimate_is_made_once_per_closed_bar() {
    let (shared, service, feed) = growing();
    let uri = "/api/liq-heatmap?model=3";
    let tag = async || {
        let (status, headers, _) = get(&service, uri, &[]).await;
        assert_eq!(status, StatusCode::OK);
        text(&headers, &ETAG).to_owned()
    };
    let first = tag().await;
    // An order within a bar that is not closed yet does not change the estimate.
    feed.append((
        vec![order("okx", "BTCUSDT", Side::Long, -1, 1)],
        Vec::new(),
        Vec::new(),
    ))
    .unwrap();
    assert_eq!(tag().await, first);
    assert_eq!(shared.encoded(Lane::Quick).made(), 1);
    feed.append((Vec::new(), vec![bar(NOW)], Vec::new()))
        .unwrap();
    let second = tag().await;
    assert_ne!(second, first);
    assert_eq!(tag().await, second);
    // A late order within a closed bar changes the estimate.
    feed.append((
        vec![order("okx", "BTCUSDT", Side::Long, 30, 1)],
        Vec::new(),
        Vec::new(),
    ))
    .unwrap();
    assert_ne!(tag().await, second);
    assert_eq!(shared.encoded(Lane::Quick).made(), 3);
}

#[tokio::test]
async fn a_cached_estimate_expires_when_its_bars_are_too_old() {
    let (_, service, feed) = growing();
    let uri = "/api/liq-heatmap?range=12h";
    let as_of = format!("{uri}&as_of={}", NOW.0);
    for uri in [uri, &as_of] {
        assert_eq!(get(&service, uri, &[]).await.0, StatusCode::OK);
    }
    let much_later = order("okx", "BTCUSDT", Side::Long, -12 * 60, 1);
    feed.append((vec![much_later], Vec::new(), Vec::new()))
        .unwrap();
    assert_eq!(get(&service, uri, &[]).await.0, StatusCode::NOT_FOUND);
    assert_eq!(get(&service, &as_of, &[]).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_gap_makes_an_explanation_another_answer_and_leaves_the_plain_one() {
    let folder = std::env::temp_dir().join(format!("liqdata-explained-{}", std::process::id()));
    let mut writer = crate::archive::Archive::create_or_open(&folder).unwrap();
    let at = |minutes: i64| Millis(1_781_136_000_000 + minutes * Millis::MINUTE);
    let complete = crate::archive::Completeness::Complete;
    let run = writer.begin_session("okx", complete, at(0)).unwrap();
    let market = Market::open(&folder, None).unwrap();
    let service = routes(PageState::new(Arc::new(market)));
    let uri = "/api/liquidations/exchanges";
    let explained = format!("{uri}?explain=1");
    let mut tags = Vec::new();
    for uri in [uri, &explained] {
        let (_, headers, _) = get(&service, uri, &[]).await;
        tags.push(text(&headers, &ETAG).to_owned());
    }
    let noted = crate::archive::Batch {
        gaps: vec![crate::archive::Gap {
            exchange: "okx".to_owned(),
            start: at(1),
            end: at(2),
            reason: "a test".to_owned(),
            recorded_at: at(2),
            ..crate::archive::Gap::default()
        }],
        seen: vec![(run, at(5))],
        ..crate::archive::Batch::default()
    };
    writer.append(&noted).unwrap();
    let mut statuses = Vec::new();
    for (uri, tag) in [uri, &explained].into_iter().zip(&tags) {
        let (status, ..) = get(&service, uri, &[(IF_NONE_MATCH, tag)]).await;
        statuses.push(status);
    }
    assert_eq!(statuses, [StatusCode::NOT_MODIFIED, StatusCode::OK]);
    drop(writer);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The head of a heatmap in bytes, and its columns of type f64.
fn read_grid(body: &[u8]) -> (Value, Vec<Vec<u64>>) {
    let (head, numbers) = grid_parts(body).unwrap();
    let head: Value = serde_json::from_slice(head).unwrap();
    let rows = usize::try_from(head["rows"].as_u64().unwrap()).unwrap();
    let numbers: Vec<u64> = numbers
        .chunks_exact(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let columns = numbers[rows..].chunks(rows).map(<[u64]>::to_vec).collect();
    (head, columns)
}

#[tokio::test]
async fn of_a_heatmap_only_new_columns_are_sent_and_all_if_others_changed() {
    let (_, service, feed) = growing();
    let uri = "/api/liq-heatmap?low=58000&high=62000";
    let form = (ACCEPT, GRID_TYPE);
    let (_, headers, body) = get(&service, uri, std::slice::from_ref(&form)).await;
    assert_eq!(headers[CONTENT_TYPE], GRID_TYPE);
    let (head, known) = read_grid(&body);
    let times = head["times"].as_array().unwrap();
    let since = times.last().unwrap().as_i64().unwrap();
    let tag = text(&headers, &ETAG).to_owned();
    let cut = format!("{uri}&since={since}");
    let conditional = [form.clone(), (IF_NONE_MATCH, &*tag)];
    let (status, ..) = get(&service, &cut, &conditional).await;
    assert_eq!(status, StatusCode::NOT_MODIFIED);
    // The same map is asked for by other parameters.
    let wide = format!("/api/liq-heatmap?low=57999.9&high=62000&since={since}");
    let (status, ..) = get(&service, &wide, &conditional).await;
    assert_eq!(status, StatusCode::NOT_MODIFIED);

    let rows = Observations::new(vec![], vec![bar(NOW)], vec![], None).unwrap();
    feed.append(rows.rows()).unwrap();
    let (_, whole, body) = get(&service, uri, std::slice::from_ref(&form)).await;
    let (all, columns) = read_grid(&body);
    for explain in ["", "&explain=1"] {
        let (status, headers, body) = get(&service, &format!("{cut}{explain}"), &conditional).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(headers[CACHE_CONTROL], "no-store");
        let (head, new) = read_grid(&body);
        assert_eq!(head["since"], since);
        assert_eq!(head["begin"], all["times"][0]);
        assert_eq!(head.get("explain").is_some(), !explain.is_empty());
        assert_eq!(new.len(), 1);
        let old = columns.len() - new.len();
        assert_eq!(known[known.len() - old..], columns[..old]);
        assert_eq!(new[..], columns[old..]);
        assert_eq!(explain.is_empty(), headers[ETAG] == whole[ETAG]);
    }
    // Without the tag of what the client has, the answer is whole.
    for tags in [
        &[form.clone()][..],
        &[form.clone(), (IF_NONE_MATCH, "\"x\"")],
    ] {
        let (_, _, body) = get(&service, &cut, tags).await;
        assert_eq!(read_grid(&body).1, columns);
    }
    // The tag is that of a map with other columns.
    let other = format!("{uri}&model=3");
    let (_, headers, _) = get(&service, &other, std::slice::from_ref(&form)).await;
    let others = [form.clone(), (IF_NONE_MATCH, text(&headers, &ETAG))];
    let (status, _, body) = get(&service, &cut, &others).await;
    let (head, again) = read_grid(&body);
    assert_eq!((status, again), (StatusCode::OK, columns));
    assert!(head.get("since").is_none());

    let (status, _, body) = get(&service, &cut, &[]).await;
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (status, &body["error"]["parameter"]),
        (StatusCode::BAD_REQUEST, &"since".into())
    );
}
