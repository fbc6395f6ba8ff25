//! Tests the router without a socket.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

pub(super) mod caching;
mod damaged;
mod events;
pub(super) mod history_limit;
mod metrics;
mod ready;
mod sockets;
mod streams;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, SERVER, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use futures_util::FutureExt;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::Rejection;
use super::router::{SIMULATED, finish, pages, router, routes};
use super::shared::{Lane, PageState};
use crate::contract::{self, Arguments, Endpoint, ReplyEnvelope};
use crate::engine::{self, Observations, OrderFilter};
use crate::market::{
    EndpointVisitor, Market, MarketQuery, QueryInputs, every_endpoint, wall_clock,
};
use crate::model::{
    HeatmapRange, Millis, Model, ObservedBar, ObservedOpenInterest, ObservedOrder, Opened, Order,
    ShownPrices, Side, SimulatedFeeds, Span, TimeRange, Window,
};

const NOW: Millis = Millis(1_781_136_000_000);
const FIVE_MINUTES: i64 = 5 * Millis::MINUTE;

fn order(exchange: &str, symbol: &str, side: Side, minutes_ago: i64, usd: i64) -> ObservedOrder {
    ObservedOrder {
        order: Order {
            exchange: exchange.to_owned(),
            symbol: symbol.to_owned(),
            side,
            price: Decimal::new(6_543_210, 2),
            qty: Decimal::new(125, 3),
            value_usd: Decimal::new(usd, 2),
            timestamp: NOW.back(minutes_ago * Millis::MINUTE),
        },
        coin: None,
        received_at: None,
        group_id: None,
    }
}

/// Creates some orders, and eight days of five-minute bars of BTC that end now.
fn observed() -> Observations {
    let mut bars = Vec::new();
    let mut open_interest = Vec::new();
    for i in 0..8 * 288_i32 {
        let timestamp = NOW.back((8 * 288 - i64::from(i)) * FIVE_MINUTES);
        let price = |i: i32| 60_000.0 + 1_500.0 * (f64::from(i) / 40.0).sin();
        let (open, close) = (price(i), price(i + 1));
        bars.push(ObservedBar {
            symbol: "BTC".to_owned(),
            timestamp,
            closes_at: None,
            interval: None,
            open,
            high: open.max(close) * 1.001,
            low: open.min(close) * 0.999,
            close,
            volume: 100.0 + f64::from(i % 7),
        });
        open_interest.push(ObservedOpenInterest {
            symbol: "BTC".to_owned(),
            exchange: None,
            timestamp,
            open_interest: 50_000.0 + 100.0 * (f64::from(i) / 11.0).cos(),
        });
    }
    let orders = (0..120)
        .map(|i| {
            let side = if i % 3 == 0 { Side::Short } else { Side::Long };
            order("binance", "BTCUSDT", side, i * 11, 1_234_567 - i)
        })
        .collect();
    Observations::new(orders, bars, open_interest, Some(NOW)).unwrap()
}

fn market(simulated: bool) -> Market {
    if simulated {
        Market::simulated(observed(), SimulatedFeeds::default(), Vec::new(), "a table")
    } else {
        Market::fixed(observed(), "a table")
    }
}

fn service() -> Router {
    router(Arc::new(market(false)))
}

async fn ask(service: &Router, request: Request) -> (StatusCode, HeaderMap, Bytes) {
    let response = service.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (parts.status, parts.headers, body)
}

fn request(method: Method, uri: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(uri)
}

async fn get_json(service: &Router, uri: &str) -> (StatusCode, Value) {
    let request = request(Method::GET, uri).body(Body::empty()).unwrap();
    let (status, headers, body) = ask(service, request).await;
    assert_eq!(headers[CONTENT_TYPE], "application/json", "{uri}");
    (status, serde_json::from_slice(&body).unwrap())
}

/// For each endpoint: its path, whether it has an envelope, and whether it is slow.
struct Paths(Vec<(&'static str, bool, bool)>);

impl EndpointVisitor for Paths {
    fn endpoint<E: MarketQuery>(mut self) -> Self {
        let question = E::from_arguments(&Arguments::default()).unwrap();
        let slow = matches!(question.material(), QueryInputs::Estimated(_));
        self.0.push((E::PATH, E::ENVELOPED, slow));
        self
    }
}

fn paths() -> Vec<(&'static str, bool, bool)> {
    every_endpoint(Paths(Vec::new())).0
}

#[tokio::test]
async fn every_endpoint_answers_without_parameters() {
    let service = service();
    assert_eq!(paths().len(), 19);
    for (path, enveloped, _) in paths() {
        let (status, answer) = get_json(&service, path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        assert!(answer.get("explain").is_none(), "{path}");
        assert_eq!(
            answer.get("success"),
            enveloped.then_some(&Value::Bool(true)),
            "{path}"
        );
        assert_eq!(answer.get("data").is_some(), enveloped, "{path}");
    }
}

/// The time of a rolling window, its end included.
fn last(view: &engine::View<'_>, window: Window) -> TimeRange {
    let now = view.now();
    TimeRange::new(now.back(window.millis()).on(1), now.on(1))
}

#[tokio::test]
async fn an_answer_is_the_encoded_reply_of_the_engine() {
    let service = service();
    let observations = observed();
    let view = observations.at(None);
    let largest = engine::largest(&view, last(&view, Window::H4), OrderFilter::default(), 7);
    assert_eq!(largest.len(), 7);
    let wanted = serde_json::to_vec(&ReplyEnvelope::around(largest)).unwrap();
    let request_ = request(Method::GET, "/api/liquidations/largest?range=4h&limit=7");
    let (_, _, body) = ask(&service, request_.body(Body::empty()).unwrap()).await;
    assert_eq!(body, wanted);

    let mut map = engine::heatmap(
        &view,
        "BTC",
        HeatmapRange::D3,
        Model::Expected,
        (Opened::Ever, ShownPrices::of(Span::Reach)),
    )
    .unwrap();
    map.reply.labels.simulated = Some(false);
    let wanted = serde_json::to_vec(&map.reply).unwrap();
    let request_ = request(Method::GET, "/api/liq-heatmap?symbol=btc&range=3d&model=3");
    let (_, _, body) = ask(&service, request_.body(Body::empty()).unwrap()).await;
    assert_eq!(body, wanted);
}

#[tokio::test]
async fn what_lies_outside_the_contract_is_a_400_that_names_the_parameter() {
    let service = service();
    for (uri, parameter) in [
        ("/api/liquidations/overview?range=2h", "range"),
        ("/api/liquidations/coins?range=2h", "range"),
        ("/api/liquidations/coins?limit=0", "limit"),
        ("/api/liquidations/coins?limit=201", "limit"),
        ("/api/liquidations/coins?limit=ten", "limit"),
        ("/api/liquidations/coins?limit=", "limit"),
        ("/api/liquidations/coins?limit=5&limit=5", "limit"),
        ("/api/liquidations/coins?Limit=5", "Limit"),
        ("/api/liquidations/coins?limit=%zz", "limit"),
        ("/api/liquidations/exchanges?range=", "range"),
        ("/api/liquidations/largest?limit=1001", "limit"),
        ("/api/liquidations?offset=-1", "offset"),
        ("/api/liquidations?offset=9223372036854775808", "offset"),
        ("/api/liquidations?exchange=+", "exchange"),
        ("/api/liquidations?symbol=BINANCE:BTCUSDT", "symbol"),
        ("/api/liquidations?exchange=bnance", "exchange"),
        ("/api/liquidations/chart?symbol=", "symbol"),
        ("/api/liq-heatmap?symbol=OKX:BTC", "symbol"),
        ("/api/liq-heatmap?range=1m", "range"),
        ("/api/liq-heatmap?model=1", "model"),
        ("/api/liq-map?range=2d", "range"),
        ("/api/liq-levels?range=1d", "range"),
        ("/api/liq-maxpain?symbol=%ff", "symbol"),
        ("/api?limit=5", "limit"),
        ("/health?explain=1", "explain"),
    ] {
        let (status, answer) = get_json(&service, uri).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{uri}");
        assert_eq!(answer["success"], false, "{uri}");
        assert_eq!(answer["error"]["parameter"], parameter, "{uri}");
        for key in ["message", "allowed"] {
            let text = answer["error"][key].as_str().unwrap();
            assert!(!text.is_empty(), "{uri}: {key}");
        }
    }
    for (path, _, _) in paths() {
        for (query, parameter) in [
            ("explain=yes", "explain"),
            ("as_of=now", "as_of"),
            ("page=1", "page"),
        ] {
            let (status, answer) = get_json(&service, &format!("{path}?{query}")).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path}?{query}");
            assert_eq!(answer["error"]["parameter"], parameter, "{path}?{query}");
        }
    }
}

#[tokio::test]
async fn an_unknown_coin_is_refused_with_the_nearest_and_one_without_bars_is_a_404() {
    let service = service();
    for path in [
        "/api/liq-heatmap",
        "/api/liq-map",
        "/api/liq-levels",
        "/api/liq-maxpain",
    ] {
        for (coin, wanted) in [
            ("NOPE", StatusCode::BAD_REQUEST),
            ("BTCC", StatusCode::BAD_REQUEST),
            ("SEI", StatusCode::NOT_FOUND),
        ] {
            let (status, answer) = get_json(&service, &format!("{path}?symbol={coin}")).await;
            assert_eq!(status, wanted, "{path} {coin}");
            assert_eq!(answer["success"], false);
            assert_eq!(answer["error"]["parameter"], "symbol");
            let message = answer["error"]["message"].as_str().unwrap();
            let hinted = message.ends_with("did you mean \"BTC\"?");
            assert_eq!(hinted, coin == "BTCC", "{message}");
        }
        let (status, _) = get_json(&service, &format!("{path}?symbol=btc-perp")).await;
        assert_eq!(status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn a_window_without_bars_is_a_404_and_bars_too_coarse_are_a_400() {
    let service = service();
    let later = NOW.on(Millis::DAY);
    let (status, answer) = get_json(&service, &format!("/api/liq-map?as_of={later}")).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{answer}");
    assert_eq!(answer["error"]["parameter"], "symbol");

    let daily = (0..40_i32).map(|day| ObservedBar {
        symbol: "BTC".to_owned(),
        timestamp: NOW.back((40 - i64::from(day)) * Millis::DAY),
        closes_at: None,
        interval: None,
        open: 100.0,
        high: 101.0 + f64::from(day),
        low: 99.0,
        close: 100.0,
        volume: 1.0,
    });
    let observations = Observations::new(Vec::new(), daily.collect(), Vec::new(), None).unwrap();
    let service = router(Arc::new(Market::fixed(observations, "daily bars")));
    let (status, answer) = get_json(&service, "/api/liq-heatmap").await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"]["parameter"], "range");
}

#[tokio::test]
async fn an_unknown_path_is_a_404_in_the_same_shape() {
    let service = service();
    for uri in [
        "/api/",
        "/api/liquidations/",
        "/api/Liquidations",
        "/nope",
        "/api/liq-map/x",
        "//",
    ] {
        let (status, answer) = get_json(&service, uri).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{uri}");
        assert_eq!(answer["success"], false, "{uri}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(uri), "{message}");
    }
}

#[tokio::test]
async fn any_other_method_is_a_405_that_lists_the_two_allowed() {
    let service = service();
    let pages = paths().into_iter().map(|(path, _, _)| path);
    for path in pages.chain(["/", "/api", "/health"]) {
        for method in [
            Method::POST,
            Method::PUT,
            Method::DELETE,
            Method::PATCH,
            Method::OPTIONS,
        ] {
            let request = request(method.clone(), path).body(Body::empty()).unwrap();
            let (status, headers, body) = ask(&service, request).await;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert_eq!(
                headers.get_all(ALLOW).iter().collect::<Vec<_>>(),
                ["GET, HEAD"]
            );
            assert_eq!(headers[CONTENT_TYPE], "application/json");
            let answer: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(answer["success"], false);
            assert_eq!(answer["error"]["parameter"], Value::Null);
        }
    }
}

#[tokio::test]
async fn head_answers_with_the_headers_of_get_and_no_body() {
    let service = service();
    for encoding in ["identity", "zstd"] {
        for uri in [
            "/api/liq-map",
            "/api/liquidations/coins?limit=0",
            "/nope",
            "/health",
        ] {
            let ask = |method| {
                let request = request(method, uri).header(ACCEPT_ENCODING, encoding);
                ask(&service, request.body(Body::empty()).unwrap())
            };
            let (got, headers, body) = ask(Method::GET).await;
            let (status, head, nothing) = ask(Method::HEAD).await;
            let (_, later, _) = ask(Method::GET).await;
            assert_eq!(status, got, "{uri}");
            // Once the second of a change is over, `Last-Modified` has a later date. The second may end before the HEAD
            // request.
            let same = if head == later { later } else { headers };
            assert_eq!(head, same, "{uri}");
            assert!(nothing.is_empty() && !body.is_empty(), "{uri}");
        }
    }
}

#[tokio::test]
async fn explain_adds_one_field_and_changes_no_other() {
    let service = service();
    for (path, _, slow) in paths() {
        let (_, plain) = get_json(&service, &format!("{path}?explain=0")).await;
        let (status, mut explained) = get_json(&service, &format!("{path}?explain=1")).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        let explain = explained
            .as_object_mut()
            .unwrap()
            .remove("explain")
            .unwrap();
        assert_eq!(explained, plain, "{path}");
        assert_eq!(explain["source"], "a table");
        assert_eq!(explain["simulated"], false);
        assert_eq!(explain["as_of"], NOW.0);
        // Explanations of estimates contain the model's view. Explanations of observed totals contain the coverage.
        assert_eq!(explain.get("view").is_some(), slow, "{path}: {explain}");
        assert_eq!(
            explain.get("coverage").is_some(),
            !slow,
            "{path}: {explain}"
        );
    }
    let (_, answer) = get_json(&service, "/api/liquidations/coins?range=1h&explain=1").await;
    let venue = &answer["explain"]["coverage"][0];
    assert_eq!(
        (&venue["exchange"], &venue["cnt"]),
        (&json!("binance"), &json!(6))
    );
}

#[tokio::test]
async fn as_of_sets_the_instant_of_every_answer() {
    let service = service();
    let then = NOW.back(6 * Millis::HOUR);
    for (path, _, _) in paths() {
        let (_, now) = get_json(&service, path).await;
        let (status, by_number) = get_json(&service, &format!("{path}?as_of={}", then.0)).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        let (_, by_text) = get_json(&service, &format!("{path}?as_of={then}")).await;
        assert_eq!(by_number, by_text, "{path}");
        // These answers are empty at any instant. A market from tables has no gaps, positions or served maps, and no
        // cascade in these data reaches 100,000 USD.
        let nothing = [
            contract::Gaps::PATH,
            contract::Maps::PATH,
            contract::Positions::PATH,
            contract::Cascades::PATH,
        ];
        if !nothing.contains(&path) {
            assert_ne!(by_number, now, "{path}");
        }
        let (_, spelled_out) = get_json(&service, &format!("{path}?as_of={}", NOW.0)).await;
        assert_eq!(spelled_out, now, "{path}");
    }
}

#[tokio::test]
async fn answers_are_signed_and_a_simulation_says_so() {
    for simulated in [false, true] {
        let service = router(Arc::new(market(simulated)));
        for uri in [
            "/api/liq-map",
            "/api/liquidations",
            "/nope",
            "/api",
            "/health",
            "/api?x=1",
        ] {
            let request = request(Method::GET, uri).body(Body::empty()).unwrap();
            let (_, headers, _) = ask(&service, request).await;
            assert_eq!(
                headers[SERVER],
                concat!("liqdata/", env!("CARGO_PKG_VERSION"))
            );
            assert_eq!(headers[VARY], "accept, accept-encoding, prefer");
            let label = headers.get(SIMULATED).map(HeaderValue::as_bytes);
            assert_eq!(label, simulated.then_some(b"true".as_slice()), "{uri}");
        }
        let (_, index) = get_json(&service, "/").await;
        assert_eq!(index["simulated"], simulated);
    }
}

#[tokio::test]
async fn an_answer_is_compressed_when_asked_and_worth_it() {
    let service = service();
    for (accept, uri, encoding) in [
        ("gzip", "/api/liq-map", Some("gzip")),
        ("br", "/api/liq-map", None),
        ("zstd", "/api/liq-map", Some("zstd")),
        ("gzip, br, zstd", "/api/liq-map", Some("zstd")),
        ("gzip;q=1, zstd;q=0.5", "/api/liq-map", Some("gzip")),
        ("identity", "/api/liq-map", None),
        ("deflate", "/api/liq-map", None),
        ("gzip", "/api/liquidations?limit=1", None),
        // A client that refuses plain bodies gets small ones compressed, too.
        (
            "gzip, identity;q=0",
            "/api/liquidations?limit=1",
            Some("gzip"),
        ),
        ("*;q=0, zstd", "/health", Some("zstd")),
        ("*, Identity; q=0.000", "/api/liq-map", Some("zstd")),
        ("gzip;q=0.5, *;q=0", "/api/liq-map?symbol=BTC", Some("gzip")),
        ("identity, *;q=0, gzip;q=0.1", "/health", None),
    ] {
        let request_ = request(Method::GET, uri).header(ACCEPT_ENCODING, accept);
        let (status, headers, body) = ask(&service, request_.body(Body::empty()).unwrap()).await;
        assert_eq!(status, StatusCode::OK);
        let got = headers
            .get(CONTENT_ENCODING)
            .map(|name| name.to_str().unwrap());
        assert_eq!(got, encoding, "{accept} {uri}");
        assert_eq!(headers[VARY], "accept, accept-encoding, prefer");
        let plain = request(Method::GET, uri).body(Body::empty()).unwrap();
        let (_, headers, plain) = ask(&service, plain).await;
        assert_eq!(headers[CONTENT_LENGTH], plain.len().to_string());
        if encoding.is_some() {
            assert!(
                uri != "/api/liq-map" || body.len() < plain.len() / 2,
                "{} of {}",
                body.len(),
                plain.len()
            );
        } else {
            assert_eq!(body, plain);
        }
    }
}

#[tokio::test]
async fn an_unavailable_encoding_is_refused_in_the_same_shape() {
    let service = service();
    for (accept, uri) in [
        ("snappy, identity;q=0", "/api/liq-map"),
        ("identity;q=0", "/health"),
        ("*;q=0", "/api/liquidations"),
        ("identity;q=0.0, gzip;q=0, zstd;q=0", "/api"),
        // An event stream is never compressed.
        ("gzip, identity;q=0", "/api/liquidations/stream"),
    ] {
        for method in [Method::GET, Method::HEAD] {
            let asked = request(method.clone(), uri).header(ACCEPT_ENCODING, accept);
            let (status, _, body) = ask(&service, asked.body(Body::empty()).unwrap()).await;
            assert_eq!(
                status,
                StatusCode::NOT_ACCEPTABLE,
                "{method} {accept} {uri}"
            );
            if method == Method::GET {
                let answer: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(answer["success"], false, "{accept} {uri}");
            }
        }
    }
}

#[tokio::test]
async fn the_index_describes_every_parameter_as_the_refusals_do() {
    let service = service();
    let (_, index) = get_json(&service, "/api").await;
    assert_eq!(get_json(&service, "/").await.1, index);
    assert_eq!(index["coins"], json!(["BTC"]));
    let mut endpoints = index["endpoints"].as_array().unwrap().clone();
    assert_eq!(endpoints.len(), 10);
    // Adds the extensions except the event stream and the lines of features, which need a different request.
    let extensions = index["extensions"].as_array().unwrap().iter();
    endpoints.extend(
        extensions
            .filter(|entry| entry["name"] != "stream" && entry["name"] != "features")
            .cloned(),
    );
    let listed: Vec<&str> = endpoints
        .iter()
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    let wanted: Vec<&str> = paths().iter().map(|(path, _, _)| *path).collect();
    assert_eq!(listed, wanted);
    for entry in &endpoints {
        let path = entry["path"].as_str().unwrap();
        let mut query = Vec::new();
        for parameter in entry["parameters"].as_array().unwrap() {
            let name = parameter["name"].as_str().unwrap();
            let (_, refusal) = get_json(&service, &format!("{path}?{name}=")).await;
            assert_eq!(
                refusal["error"]["allowed"], parameter["allowed"],
                "{path} {name}"
            );
            if let Some(default) = parameter["default"].as_str() {
                query.push(format!("{name}={default}"));
            }
        }
        let (_, spelled_out) = get_json(&service, &format!("{path}?{}", query.join("&"))).await;
        assert_eq!(spelled_out, get_json(&service, path).await.1, "{path}");
    }
}

#[tokio::test]
async fn health_says_how_far_the_data_reach() {
    let (status, health) = get_json(&service(), "/health").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(health, json!({"success": true, "now": NOW.0}));
}

#[tokio::test]
async fn ready_says_how_old_the_newest_is_and_refuses_what_is_too_old() {
    let (status, ready) = get_json(&service(), "/ready").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        (&ready["now"], &ready["damaged"]),
        (&json!(NOW.0), &json!([]))
    );
    let age = wall_clock().0 - NOW.0;
    let document = ready["age"].as_i64().unwrap();
    assert!((age - 60_000..=age).contains(&document), "{document} {age}");
    let (status, refused) = get_json(&service(), "/ready?max_age=60").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("allowed: 60"), "{message}");
    let (status, _) = get_json(&service(), "/ready?max_age=4000000000").await;
    assert_eq!(status, StatusCode::OK);
    for query in ["max_age=-1", "max_age=soon", "max_age=", "age=5"] {
        let (status, _) = get_json(&service(), &format!("/ready?{query}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
    }
}

#[tokio::test]
async fn a_panic_is_a_500_in_the_same_shape() {
    async fn here() -> Response {
        panic!("a defect on purpose")
    }
    async fn elsewhere(State(shared): State<PageState>) -> Result<Response, Rejection> {
        shared
            .compute(Lane::Quick, |_| panic!("a defect on purpose"))
            .await
            .map(|body: Bytes| crate::server::answers::response::json(body))
    }
    let shared = PageState::new(Arc::new(market(false)));
    let service = Router::new()
        .route("/here", get(here))
        .route("/elsewhere", get(elsewhere))
        .layer(from_fn_with_state(shared.clone(), finish))
        .with_state(shared.clone());
    for uri in ["/here", "/elsewhere"] {
        let (status, answer) = get_json(&service, uri).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{uri}");
        assert_eq!(answer["success"], false, "{uri}");
        assert_eq!(answer["error"]["parameter"], Value::Null, "{uri}");
    }
    let room = shared.quick.available_permits();
    assert_eq!(
        room,
        PageState::new(Arc::clone(&shared.market))
            .quick
            .available_permits()
    );
}

#[tokio::test]
async fn quick_answers_do_not_queue_behind_slow_ones() {
    let shared = PageState::new(Arc::new(market(false)));
    let slow = Arc::clone(&shared.slow);
    let room = u32::try_from(slow.available_permits()).unwrap();
    let _all = slow.acquire_many(room).await.unwrap();
    let waiting = shared.compute(Lane::Slow, |_| Ok(Bytes::new()));
    assert!(waiting.now_or_never().is_none());
    assert_eq!(
        shared
            .compute(Lane::Quick, |_| Ok(Bytes::from(vec![1])))
            .await
            .unwrap(),
        vec![1]
    );
}
