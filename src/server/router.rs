//! Routes paths to pages, and adds the common headers to every response.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Extension, Request, State};
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::FutureExt;
use hyper::body::Body as HttpBody;
use tokio::runtime::Handle;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use super::reject::Rejection;
use super::shared::{Lane, PageState};
use crate::contract::{
    self, ENDPOINTS, EXTENSIONS, Endpoint, Features, MCP, OPENAPI, Stream, openapi,
};
use crate::market::{EndpointVisitor, Market, MarketQuery, every_endpoint};
use crate::server::access::guard::Guarded;
use crate::server::admission::limits::Limits;
use crate::server::answers::agent_calls::{answer_agent, only_post};
use crate::server::answers::answer_cache::CacheKey;
use crate::server::answers::event_stream::follow;
use crate::server::answers::feature_lines::{CSV, features};
use crate::server::answers::index::{Health, Index, Readiness};
use crate::server::answers::pages::{EndpointPage, Origin};
use crate::server::answers::query::{max_age, nothing};
use crate::server::answers::response::{encoded, json, sign};
use crate::server::answers::response_cache::ReadyAnswers;
use crate::server::answers::validator::REVALIDATE;
use crate::server::metrics::exposition::metrics;

/// Minimum size of a compressed body, in bytes. Smaller bodies fit into one or two packets uncompressed.
const WORTH_COMPRESSING: u64 = 1024;

pub(crate) const NOW: HeaderName = HeaderName::from_static(contract::NOW);
pub(crate) const SIMULATED: HeaderName = HeaderName::from_static(contract::SIMULATED);

/// Creates the router that serves `market`.
///
/// It has the ten endpoints of the API and their extensions, the event stream, `/api` (and `/`), `/health`, `/ready`
/// and `/metrics`. `/mcp` needs [`Agents`](super::Agents). The router performs no network I/O. Blocking threads compute the answers. Slow answers have a
/// separate concurrency limit.
pub fn router(market: Arc<Market>) -> Router {
    routes(PageState::new(market))
}

/// Creates the router as [`router`] does, with limits for historical queries and memory.
///
/// The listener enforces the other limits.
pub fn router_with(market: Arc<Market>, limits: &Limits) -> Router {
    routes(PageState::within(market, limits))
}

pub(crate) fn routes(shared: PageState) -> Router {
    let pages = pages(shared.clone());
    Router::new().fallback_service(ReadyAnswers::new(shared, pages))
}

/// The routes of all pages, without the response cache.
pub(crate) fn pages(shared: PageState) -> Router {
    every_endpoint(Routes(Router::new()))
        .0
        .route(Stream::PATH, get(follow))
        .route(Features::PATH, get(features))
        .route("/", get(index))
        .route("/api", get(index))
        .route(OPENAPI, get(description))
        .route("/health", get(health))
        .route("/ready", get(readiness))
        .route("/metrics", get(metrics))
        .route(MCP, post(answer_agent).fallback(only_post))
        .fallback(no_such_path)
        .method_not_allowed_fallback(read_only)
        .layer(from_fn(mark_identity_refused))
        .layer(
            CompressionLayer::new()
                .quality(CompressionLevel::Fastest)
                .compress_when(Compressible),
        )
        .layer(from_fn_with_state(shared.clone(), settle))
        .layer(from_fn_with_state(shared.clone(), finish))
        .with_state(shared)
}

struct Routes(Router<PageState>);

impl EndpointVisitor for Routes {
    fn endpoint<E: MarketQuery>(self) -> Self {
        Self(self.0.route(E::PATH, get(EndpointPage::of::<E>())))
    }
}

async fn index(State(shared): State<PageState>, uri: Uri) -> Result<Response, Rejection> {
    nothing(uri.query().unwrap_or_default())?;
    let index = shared
        .market
        .look(|market| encoded(&Index::of(market)))
        .await?;
    Ok(json(index?))
}

/// Returns the machine-readable description of the API in `OpenAPI` format. It says whether a token is required.
async fn description(
    State(shared): State<PageState>,
    guarded: Option<Extension<Guarded>>,
    uri: Uri,
) -> Result<Response, Rejection> {
    nothing(uri.query().unwrap_or_default())?;
    let mut document = openapi(
        env!("CARGO_PKG_VERSION"),
        ENDPOINTS,
        EXTENSIONS,
        guarded.is_some(),
    );
    let recorded = shared.market.look(Market::recorded_sources).await??;
    if let (Some(members), false) = (document.as_object_mut(), recorded.is_empty()) {
        members.insert("x-liqdata-recorded".to_owned(), serde_json::json!(recorded));
    }
    Ok(json(encoded(&document)?))
}

async fn health(State(shared): State<PageState>, uri: Uri) -> Result<Response, Rejection> {
    nothing(uri.query().unwrap_or_default())?;
    let health = shared
        .market
        .look(|market| encoded(&Health::of(market)))
        .await?;
    Ok(json(health?))
}

async fn readiness(State(shared): State<PageState>, uri: Uri) -> Result<Response, Rejection> {
    let max_age = max_age(uri.query().unwrap_or_default())?;
    let read = move |market: &Market| Readiness::of(market, max_age);
    let found = shared.market.look(read).await??;
    Ok(json(encoded(&found)?))
}

async fn no_such_path(uri: Uri) -> Rejection {
    Rejection::NoSuchPath {
        path: uri.path().to_owned(),
    }
}

async fn read_only(method: Method) -> Rejection {
    Rejection::ReadOnly { method }
}

/// Marks the response to a request that refuses bodies without an encoding.
#[derive(Clone, Copy, Debug)]
struct IdentityRefused;

/// Marks a response before compression, which does not see the request.
async fn mark_identity_refused(request: Request, next: Next) -> Response {
    let refused = refuses_identity(request.headers());
    let mut response = next.run(request).await;
    if refused {
        response.extensions_mut().insert(IdentityRefused);
    }
    response
}

/// Whether `Accept-Encoding` excludes bodies without an encoding, by name or by the wildcard.
fn refuses_identity(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter();
    let codings = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    let mut others = false;
    for coding in codings {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix(['q', 'Q']);
        let excluded = weight
            .and_then(|weight| weight.strip_prefix('='))
            .is_some_and(|weight| weight.starts_with('0') && weight.bytes().all(is_zero));
        match name.trim() {
            "*" => others = excluded,
            name if name.eq_ignore_ascii_case("identity") => return excluded,
            _ => {}
        }
    }
    others
}

fn is_zero(digit: u8) -> bool {
    matches!(digit, b'0' | b'.')
}

/// Selects the responses to compress: those worth it, and all to requests that accept nothing else.
#[derive(Clone, Copy, Debug)]
struct Compressible;

impl Predicate for Compressible {
    fn should_compress<B: HttpBody>(&self, response: &axum::http::Response<B>) -> bool {
        let needed = response.extensions().get::<IdentityRefused>().is_some()
            && response.status() != StatusCode::NOT_MODIFIED;
        // Lines are sent while they are computed, which compression would wait for.
        response.headers().get(CONTENT_TYPE) != Some(&CSV)
            && NotForContentType::SSE.should_compress(response)
            && (needed || SizeAbove::new(WORTH_COMPRESSING).should_compress(response))
    }
}

/// Compresses the body of an answer on a blocking thread, within the concurrency limit of the answer's lane. Caches the
/// compressed body if the answer is cached.
async fn settle(State(shared): State<PageState>, request: Request, next: Next) -> Response {
    // Only the body of a GET is cached, because a response to HEAD has no body.
    let whole = request.method() == Method::GET;
    let response = next.run(request).await;
    let Some(encoding) = response.headers().get(CONTENT_ENCODING) else {
        return response;
    };
    let origin = response.extensions().get::<Origin>().copied();
    let key = origin
        .and_then(|origin| origin.number)
        .filter(|_| whole)
        .map(|number| CacheKey::Packed {
            number,
            encoding: String::from_utf8_lossy(encoding.as_bytes()).into_owned(),
        });
    let (parts, body) = response.into_parts();
    let lane = origin.map_or(Lane::Quick, |origin| origin.lane);
    let theirs = shared.clone();
    let pack = async move {
        let runtime = Handle::current();
        let memory = theirs.memory.clone();
        let work = move |_: &Market| {
            runtime
                .block_on(to_bytes(body, usize::MAX))
                .map(|packed| memory.count(packed.into()))
                .map_err(|failure| {
                    log::error!("an answer could not be compressed: {failure}");
                    Rejection::Defect
                })
        };
        theirs.compute(lane, work).await
    };
    let packed = match key {
        Some(key) => shared.encoded(lane).packed(&key, pack).await,
        None => pack.await,
    };
    match packed {
        Ok(packed) => Response::from_parts(parts, packed.into()),
        Err(rejection) => rejection.into_response(),
    }
}

/// Turns errors into responses and adds the server's headers.
pub(crate) async fn finish(
    State(shared): State<PageState>,
    request: Request,
    next: Next,
) -> Response {
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = match answer {
        // The compression layer sets this status if it supports none of the accepted encodings, but leaves the body as
        // it is. The refusal replaces that body.
        Ok(response) if response.status() == StatusCode::NOT_ACCEPTABLE => {
            Rejection::NotAcceptable.into_response()
        }
        // Event streams and lines are never compressed.
        Ok(response)
            if response.status() == StatusCode::OK
                && response.extensions().get::<IdentityRefused>().is_some()
                && !response.headers().contains_key(CONTENT_ENCODING) =>
        {
            Rejection::NotAcceptable.into_response()
        }
        Ok(response) => response,
        Err(_) => Rejection::Defect.into_response(),
    };
    let headers = response.headers_mut();
    sign(headers);
    headers.insert(
        VARY,
        HeaderValue::from_static("accept, accept-encoding, prefer"),
    );
    headers.entry(CACHE_CONTROL).or_insert(REVALIDATE);
    headers.insert(NOW, HeaderValue::from(shared.market.now().0));
    if shared.market.is_simulated() {
        headers.insert(SIMULATED, HeaderValue::from_static("true"));
    }
    response
}
