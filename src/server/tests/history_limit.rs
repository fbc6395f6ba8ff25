//! Tests the limit on historical queries, and the limit on the memory of answers.

use axum::http::header::{ETAG, RETRY_AFTER};
use futures_util::future::join_all;

use crate::contract::{self, Endpoint};
use crate::server::Limits;
use crate::server::tests::caching::text;
use crate::server::tests::ready::plain;
use crate::server::tests::*;

fn within(limits: &Limits) -> (PageState, Router) {
    let shared = PageState::within(Arc::new(market(false)), limits);
    (shared.clone(), routes(shared))
}

/// Whether queries of `path` without parameters are about a time range or a snapshot. The data of both may be years old.
fn of_a_range(path: &str) -> bool {
    [
        contract::Cascades::PATH,
        contract::Gaps::PATH,
        contract::Bars::PATH,
        contract::OpenInterest::PATH,
        contract::Maps::PATH,
        contract::Positions::PATH,
    ]
    .contains(&path)
}

/// Returns a historical query: one of three paths, as of `number` + 1 minutes ago.
fn earlier(number: i64) -> String {
    let path = [
        "/api/liquidations/overview?",
        "/api/liq-map?",
        "/api/liquidations/coins?",
    ];
    let path = path[usize::try_from(number).unwrap() % path.len()];
    format!("{path}as_of={}", NOW.back((1 + number) * Millis::MINUTE).0)
}

#[tokio::test]
async fn questions_about_the_past_wait_among_themselves_and_only_so_many() {
    let (shared, service) = within(&Limits {
        past: 1,
        past_queue: 5,
        ..Limits::default()
    });
    let worker = Arc::clone(&shared.past.workers)
        .acquire_owned()
        .await
        .unwrap();
    // The server computes one of these six queries at a time and lets five wait.
    let waiting: Vec<_> = (0..6)
        .map(|number| {
            let service = service.clone();
            tokio::spawn(async move { plain(&service, &earlier(number)).await })
        })
        .collect();
    while shared.past.under_way() < 6 {
        tokio::task::yield_now().await;
    }
    for number in 6..20 {
        let (status, headers, body) = plain(&service, &earlier(number)).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(text(&headers, &RETRY_AFTER), "3");
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert!(
            body["error"]["message"]
                .as_str()
                .unwrap()
                .contains("5 historical queries"),
            "{body}"
        );
    }
    // Queries that are not historical do not wait.
    for (path, _, _) in paths() {
        let (status, ..) = plain(&service, path).await;
        let wanted = if of_a_range(path) {
            StatusCode::SERVICE_UNAVAILABLE
        } else {
            StatusCode::OK
        };
        assert_eq!(status, wanted, "{path}");
    }
    drop(worker);
    for answer in join_all(waiting).await {
        assert_eq!(answer.unwrap().0, StatusCode::OK);
    }
    assert_eq!(shared.past.under_way(), 0);
    let (status, ..) = plain(&service, &earlier(6)).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn equal_questions_about_the_past_are_one_piece_of_work() {
    let (shared, service) = within(&Limits {
        past: 1,
        past_queue: 1,
        ..Limits::default()
    });
    let worker = Arc::clone(&shared.past.workers)
        .acquire_owned()
        .await
        .unwrap();
    // There are more queries than the limit admits. But all are equal, so they share one computation.
    let requests: Vec<_> = (0..30)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move { plain(&service, &earlier(1)).await })
        })
        .collect();
    while shared.past.under_way() < 1 {
        tokio::task::yield_now().await;
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop(worker);
    let mut bodies = Vec::new();
    for answer in join_all(requests).await {
        let (status, _, body) = answer.unwrap();
        assert_eq!(status, StatusCode::OK);
        bodies.push(body);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(shared.encoded(Lane::History).made(), 1);
}

#[tokio::test]
async fn where_the_past_is_switched_off_its_questions_are_refused() {
    let (_, service) = within(&Limits {
        past: 0,
        ..Limits::default()
    });
    for number in 0..3 {
        let (status, _, body) = plain(&service, &earlier(number)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["parameter"], "as_of");
    }
    for (path, _, _) in paths() {
        let (status, _, body) = plain(&service, path).await;
        // Without historical queries, the server refuses queries about data that may be years old.
        if of_a_range(path) {
            assert_eq!(status, StatusCode::BAD_REQUEST);
            let body: Value = serde_json::from_slice(&body).unwrap();
            // A query for positions has no time range. The last snapshot may be years old, so the refusal names
            // `as_of`.
            let snapshot = path == contract::Positions::PATH;
            let named = if snapshot { "as_of" } else { "start" };
            assert_eq!(body["error"]["parameter"], named);
        } else {
            assert_eq!(status, StatusCode::OK, "{path}");
        }
    }
}

#[tokio::test]
async fn ranges_of_the_last_two_days_are_answered_like_questions_about_now() {
    let (shared, service) = within(&Limits {
        past: 0,
        ..Limits::default()
    });
    for path in [
        "/api/liquidations/history?interval=5m&by=none",
        "/api/bars?interval=5m",
        "/api/gaps?end=2026-06-11",
    ] {
        let from = |hours| format!("{path}&start={}", NOW.back(hours * Millis::HOUR).0);
        let (status, headers, body) = plain(&service, &from(47)).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        let made = shared.encoded(Lane::Slow).made();
        let again = plain(&service, &from(47)).await;
        assert_eq!((&again.1[ETAG], &again.2), (&headers[ETAG], &body));
        assert_eq!(shared.encoded(Lane::Slow).made(), made, "{path}");
        let (status, _, body) = plain(&service, &from(49)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["parameter"], "start");
    }
}

#[tokio::test]
async fn what_is_asked_about_the_past_takes_no_room_from_answers_about_now() {
    let (shared, service) = within(&Limits {
        answer_memory: 32 << 20,
        ..Limits::default()
    });
    let (_, headers, _) = plain(&service, "/api/liq-heatmap").await;
    for number in 0..40 {
        let (status, ..) = plain(&service, &earlier(3 * number + 1)).await;
        assert_eq!(status, StatusCode::OK);
    }
    let made = shared.encoded(Lane::Slow).made();
    let (_, again, _) = plain(&service, "/api/liq-heatmap?").await;
    assert_eq!(headers[ETAG], again[ETAG]);
    assert_eq!(shared.encoded(Lane::Slow).made(), made);
}

#[tokio::test]
async fn unread_answers_are_bounded_and_released() {
    let most = 32 << 20;
    let (shared, service) = within(&Limits {
        answer_memory: most,
        past_queue: 10,
        ..Limits::default()
    });
    let mut unread = Vec::new();
    let mut refused = 0;
    for number in 0..400 {
        let uri = format!(
            "/api/liq-heatmap?as_of={}",
            NOW.back(number * FIVE_MINUTES).0
        );
        let asked = request(Method::GET, &uri).body(Body::empty()).unwrap();
        let response = service.clone().oneshot(asked).await.unwrap();
        // A computation may start while any memory is free, so one answer may exceed the limit.
        assert!(
            shared.memory.used() < most + (4 << 20),
            "{}",
            shared.memory.used()
        );
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            assert_eq!(response.headers()[RETRY_AFTER], "3");
            refused += 1;
        } else {
            assert_eq!(response.status(), StatusCode::OK);
            unread.push(response);
        }
    }
    assert!(unread.len() > 5, "{}", unread.len());
    assert!(refused > 100, "{refused}");
    drop(unread);
    // Only cached answers remain in memory, and the cache has its own limit.
    assert!(
        shared.memory.used() <= most * 9 / 16,
        "{}",
        shared.memory.used()
    );
    let (status, ..) = plain(&service, "/api/liq-heatmap").await;
    assert_eq!(status, StatusCode::OK);
    drop((service, shared.clone()));
    let memory = shared.memory.clone();
    drop(shared);
    assert_eq!(memory.used(), 0);
}

#[tokio::test]
async fn concurrent_questions_are_checked_against_the_bound_in_turn() {
    let most = 8 << 20;
    let (shared, service) = within(&Limits {
        answer_memory: most,
        ..Limits::default()
    });
    let requests = (0..60).map(|number| {
        let service = service.clone();
        let model = 1 + number % 3;
        let range = ["12h", "1d", "3d", "7d"][number % 4];
        let uri = format!("/api/liq-heatmap?range={range}&model={model}&symbol=BTC&x{number}");
        // The page refuses unknown parameters, so `explain` replaces the number: each explained answer is encoded
        // separately.
        let uri = uri.replace(&format!("&x{number}"), "&explain=1");
        async move {
            let asked = request(Method::GET, &uri).body(Body::empty()).unwrap();
            service.oneshot(asked).await.unwrap()
        }
    });
    let unread: Vec<Response> = join_all(requests.map(tokio::spawn))
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let refused = unread
        .iter()
        .filter(|response| response.status() == StatusCode::SERVICE_UNAVAILABLE)
        .count();
    assert!(refused > 0 && refused < 60, "{refused}");
    // Concurrent computations may each exceed the limit by one answer.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let blocked = shared.memory.used();
    assert!(blocked < most + 5 * cores * (4 << 20), "{blocked}");
}
