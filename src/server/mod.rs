//! Answering the contract over HTTP: a router without I/O, and a loop that serves it on a listener.
//!
//! [`Answer`] turns a question into the engine's answer, [`Rejection`] an error into its status and body; the ten
//! endpoints are listed once, in `answer.rs`. What one client can cost the others is capped by [`Limits`].

mod answer;
mod index;
mod listen;
mod market;
mod question;
mod reject;
mod stream;
#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::thread;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, SERVER, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::FutureExt;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;

use answer::{Visit, every_endpoint};
use index::{Health, Index};
use question::{Question, nothing};

use crate::api::{self, Endpoint, Envelope};
use crate::engine::{Explain, VenueCoverage};
use crate::model::Millis;

pub use answer::{Answer, Answered};
pub use listen::{Limits, run, run_within};
pub use market::{ArrivalId, Arrivals, Market, NoArrivalId, Revision};
pub use reject::Rejection;

/// Bodies below this many bytes fit a packet or two as they are.
const WORTH_COMPRESSING: u64 = 1024;

/// Quick answers computed at once, per slow one.
const QUICK_PER_SLOW: usize = 4;

const SIMULATED: HeaderName = HeaderName::from_static(api::SIMULATED);
const PRODUCT: HeaderValue =
    HeaderValue::from_static(concat!("liqdata/", env!("CARGO_PKG_VERSION")));

/// The service of the ten endpoints on `market`, with `/api` (and `/`) to list them and `/health`.
///
/// No I/O happens here; answers are computed on the runtime's blocking threads, slow ones on a lane of their own.
pub fn router(market: Arc<Market>) -> Router {
    let desk = Desk::new(market);
    every_endpoint(Routes(Router::new()))
        .0
        .route("/", get(index))
        .route("/api", get(index))
        .route("/health", get(health))
        .fallback(no_such_path)
        .method_not_allowed_fallback(read_only)
        .layer(
            CompressionLayer::new()
                .quality(CompressionLevel::Fastest)
                .compress_when(SizeAbove::new(WORTH_COMPRESSING)),
        )
        .layer(from_fn_with_state(desk.clone(), settle))
        .layer(from_fn_with_state(desk.clone(), finish))
        .with_state(desk)
}

/// What every handler shares.
#[derive(Clone)]
struct Desk {
    market: Arc<Market>,
    quick: Arc<Semaphore>,
    slow: Arc<Semaphore>,
}

impl Desk {
    fn new(market: Arc<Market>) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            market,
            quick: Arc::new(Semaphore::new(cores * QUICK_PER_SLOW)),
            slow: Arc::new(Semaphore::new(cores)),
        }
    }

    /// Runs `work` on a blocking thread once its lane has room, and gives its bytes.
    async fn compute(
        &self,
        slow: bool,
        work: impl FnOnce(&Market) -> Result<Bytes, Rejection> + Send + 'static,
    ) -> Result<Bytes, Rejection> {
        let lane = if slow { &self.slow } else { &self.quick };
        // A lane is never closed.
        let place = Arc::clone(lane)
            .acquire_owned()
            .await
            .map_err(|_| Rejection::Defect)?;
        let market = Arc::clone(&self.market);
        let work = spawn_blocking(move || {
            // The place is given back when the work ends, even if nobody waits for it any more.
            let _place = place;
            work(&market)
        });
        match work.await {
            Ok(bytes) => bytes,
            Err(failure) => {
                log::error!("an answer failed: {failure}");
                Err(Rejection::Defect)
            }
        }
    }
}

struct Routes(Router<Desk>);

impl Visit for Routes {
    fn endpoint<E: Answer>(self) -> Self {
        Self(self.0.route(E::PATH, get(respond::<E>)))
    }
}

async fn respond<E: Answer>(State(desk): State<Desk>, uri: Uri) -> Result<Response, Rejection> {
    let question = Question::<E>::read(uri.query().unwrap_or_default())?;
    let body = desk.compute(E::SLOW, move |market| encode(&question, market));
    let mut response = json(body.await?);
    if E::SLOW {
        response.extensions_mut().insert(Slow);
    }
    Ok(response)
}

/// Marks the answer of a slow endpoint.
#[derive(Clone, Copy)]
struct Slow;

/// The JSON of the answer to `question`.
fn encode<E: Answer>(question: &Question<E>, market: &Market) -> Result<Bytes, Rejection> {
    let answered = market.answer(&question.endpoint, question.as_of)?;
    if !question.explain {
        return enveloped::<E, _>(answered.reply);
    }
    let explain = Explanation {
        source: market.source(),
        simulated: market.is_simulated(),
        as_of: question.as_of.unwrap_or_else(|| market.now()),
        coverage: question
            .endpoint
            .window()
            .map(|window| market.coverage(question.as_of, window))
            .transpose()?,
        estimate: answered.explain,
    };
    if E::ENVELOPED {
        bytes(&Beside {
            reply: Envelope::around(answered.reply),
            explain,
        })
    } else {
        bytes(&Beside {
            reply: answered.reply,
            explain,
        })
    }
}

fn enveloped<E: Endpoint, T: Serialize>(reply: T) -> Result<Bytes, Rejection> {
    if E::ENVELOPED {
        bytes(&Envelope::around(reply))
    } else {
        bytes(&reply)
    }
}

fn bytes<T: Serialize>(value: &T) -> Result<Bytes, Rejection> {
    serde_json::to_vec(value)
        .map(Bytes::from)
        .map_err(|failure| {
            log::error!("an answer could not be encoded: {failure}");
            Rejection::Defect
        })
}

/// A reply with the extra field `explain` beside its own fields.
#[derive(Serialize)]
struct Beside<'a, T> {
    #[serde(flatten)]
    reply: T,
    explain: Explanation<'a>,
}

/// How an answer came to be.
#[derive(Serialize)]
struct Explanation<'a> {
    source: &'a str,
    simulated: bool,
    as_of: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<Vec<VenueCoverage>>,
    #[serde(flatten)]
    estimate: Option<Explain>,
}

async fn index(State(desk): State<Desk>, uri: Uri) -> Result<Response, Rejection> {
    nothing(uri.query().unwrap_or_default())?;
    Ok(json(bytes(&Index::of(&desk.market))?))
}

async fn health(State(desk): State<Desk>, uri: Uri) -> Result<Response, Rejection> {
    nothing(uri.query().unwrap_or_default())?;
    Ok(json(bytes(&Health::of(&desk.market))?))
}

async fn no_such_path(uri: Uri) -> Rejection {
    Rejection::NoSuchPath {
        path: uri.path().to_owned(),
    }
}

async fn read_only(method: Method) -> Rejection {
    Rejection::ReadOnly { method }
}

fn json(body: impl Into<Body>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, kind)], body.into()).into_response()
}

/// Runs around the compression: does its work on a blocking thread too, in the lane of the answer.
async fn settle(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if !response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let slow = response.extensions().get::<Slow>().is_some();
    let (parts, body) = response.into_parts();
    let runtime = Handle::current();
    let packed = desk.compute(slow, move |_| {
        runtime
            .block_on(to_bytes(body, usize::MAX))
            .map_err(|failure| {
                log::error!("an answer could not be compressed: {failure}");
                Rejection::Defect
            })
    });
    match packed.await {
        Ok(packed) => Response::from_parts(parts, packed.into()),
        Err(rejection) => rejection.into_response(),
    }
}

/// Runs around every page: catches what fails, and signs what leaves.
async fn finish(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = match answer {
        // The compression layer keeps the answer under this status; a refusal has the refusals' shape.
        Ok(response) if response.status() == StatusCode::NOT_ACCEPTABLE => {
            Rejection::NotAcceptable.into_response()
        }
        Ok(response) => response,
        Err(_) => Rejection::Defect.into_response(),
    };
    let headers = response.headers_mut();
    sign(headers);
    headers.insert(VARY, HeaderValue::from(ACCEPT_ENCODING));
    if desk.market.is_simulated() {
        headers.insert(SIMULATED, HeaderValue::from_static("true"));
    }
    response
}

/// Says which server this is.
fn sign(headers: &mut HeaderMap) {
    headers.insert(SERVER, PRODUCT);
}
