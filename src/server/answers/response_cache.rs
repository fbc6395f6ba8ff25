//! Cache of complete responses in front of the pages, for identical requests.
//!
//! Requests are identical if target, accepted encodings, accepted form and preferences are equal. Apart from these, pages read
//! only conditional headers, which this cache evaluates. A cached response is sent again until the data that it depends
//! on change.

use std::convert::Infallible;
use std::future::{Future, Ready as Done, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LAST_MODIFIED,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::future::Either;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Equivalent, OptionsBuilder, Weighter};
use tower::{Service, ServiceExt};

use crate::market::{Dependency, SourceState, wall_clock};
use crate::model::Millis;
use crate::server::answers::query::{accepts_grid, prefers_explained};
use crate::server::answers::response::{DAMAGED, sign};
use crate::server::answers::validator::{REVALIDATE, Validator};
use crate::server::reject::Rejection;
use crate::server::shared::PageState;

/// Share of the answer memory for this cache, in sixteenths.
const READY: usize = 2;
/// Overhead of an entry in bytes: two sets of headers, and the cache key.
const OVERHEAD: usize = 4096;

/// How long a response stays valid. The page attaches it to the response as an extension.
#[derive(Clone, Debug)]
pub(crate) struct Lasting {
    /// The data that the answer depends on.
    pub(crate) basis: Dependency,
    /// The revision of these data.
    pub(crate) revision: u64,
    /// The instant of the market's time from which the answer changes even without new data.
    pub(crate) until: Option<Millis>,
    pub(crate) validator: Validator,
}

impl Lasting {
    /// Whether the cached response still equals what the page would return.
    fn holds(&self, standing: &SourceState) -> bool {
        standing.revision.number == self.revision
            && self.until.is_none_or(|until| standing.now < until)
    }
}

/// The cache key: everything that a page reads from a request, except conditional headers.
#[derive(PartialEq, Eq, Hash)]
struct Asking<'a> {
    target: &'a str,
    encodings: Option<&'a [u8]>,
    explained: bool,
    grid: bool,
}

impl<'a> Asking<'a> {
    /// The key of `request`, if its response may be cached: a GET with at most one `Accept-Encoding` header.
    fn of(request: &'a Request) -> Option<Self> {
        let target = request.uri().path_and_query()?.as_str();
        let mut lists = request.headers().get_all(ACCEPT_ENCODING).iter();
        let encodings = lists.next().map(HeaderValue::as_bytes);
        (request.method() == Method::GET && lists.next().is_none()).then(|| Self {
            target,
            encodings,
            explained: prefers_explained(request.headers()),
            grid: accepts_grid(request.headers()),
        })
    }

    fn to_owned(&self) -> Asked {
        Asked {
            target: self.target.into(),
            encodings: self.encodings.map(Into::into),
            explained: self.explained,
            grid: self.grid,
        }
    }
}

/// [`Asking`] with owned fields. Equal keys of both types have equal hashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Asked {
    target: Box<str>,
    encodings: Option<Box<[u8]>>,
    explained: bool,
    grid: bool,
}

impl Equivalent<Asked> for Asking<'_> {
    fn equivalent(&self, asked: &Asked) -> bool {
        self.target == &*asked.target
            && self.encodings == asked.encodings.as_deref()
            && self.explained == asked.explained
            && self.grid == asked.grid
    }
}

/// A cached response.
#[derive(Debug)]
struct ReadyAnswer {
    lasting: Lasting,
    headers: HeaderMap,
    /// The headers of a 304 response.
    unchanged: HeaderMap,
    /// Time in `Last-Modified`, in epoch seconds.
    modified: i64,
    body: Bytes,
}

impl ReadyAnswer {
    fn new(lasting: Lasting, headers: HeaderMap, body: Bytes, now: Millis) -> Self {
        let mut ready = Self {
            modified: lasting.validator.modified(now),
            lasting,
            unchanged: HeaderMap::new(),
            headers,
            body,
        };
        let date = ready.lasting.validator.last_modified(now);
        ready.headers.insert(LAST_MODIFIED, date);
        ready.unchanged = ready.headers.clone();
        for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LENGTH] {
            ready.unchanged.remove(name);
        }
        ready
    }

    /// The response to a request with the headers `asked`.
    fn answer(&self, asked: &HeaderMap) -> Response {
        let validator = &self.lasting.validator;
        let mut response = Response::default();
        if validator.is_current(asked) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.headers_mut() = self.unchanged.clone();
        } else {
            *response.headers_mut() = self.headers.clone();
            *response.body_mut() = Body::from(self.body.clone());
        }
        // During the second of the change, `Last-Modified` has an earlier date than after that second.
        let now = wall_clock();
        if validator.modified(now) != self.modified {
            let date = validator.last_modified(now);
            response.headers_mut().insert(LAST_MODIFIED, date);
        }
        response
    }
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Asked, Arc<ReadyAnswer>> for Weight {
    fn weight(&self, asked: &Asked, ready: &Arc<ReadyAnswer>) -> u64 {
        let encodings = asked.encodings.as_ref().map_or(0, |list| list.len());
        (asked.target.len() + encodings + ready.body.len() + OVERHEAD) as u64
    }
}

/// The pages behind the response cache; cheap to clone.
#[derive(Clone)]
pub(crate) struct ReadyAnswers {
    shared: PageState,
    pages: Router,
    ready: Arc<Cache<Asked, Arc<ReadyAnswer>, Weight>>,
}

impl ReadyAnswers {
    /// A cache in front of `pages`.
    pub(crate) fn new(shared: PageState, pages: Router) -> Self {
        let room = shared.memory.share(READY);
        Self::of(shared, pages, room)
    }

    pub(crate) fn of(shared: PageState, pages: Router, room: u64) -> Self {
        // With a single shard, one entry may use the whole memory.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(usize::try_from(room).unwrap_or(usize::MAX) / (4 * OVERHEAD))
            .weight_capacity(room)
            .build();
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let ready = match options {
            Ok(options) => Cache::with_options(options, Weight, hasher, lifecycle),
            // All three options are set, so `build` cannot fail.
            Err(_) => Cache::with(16, room, Weight, hasher, lifecycle),
        };
        Self {
            shared,
            pages,
            ready: Arc::new(ready),
        }
    }

    /// Number of cached responses, and their total weight.
    #[cfg(test)]
    pub(crate) fn usage(&self) -> (usize, u64) {
        (self.ready.len(), self.ready.weight())
    }

    /// Returns the response of the page itself, without the cache.
    async fn page(self, request: Request) -> Response {
        let Ok(mut response) = self.pages.oneshot(request).await;
        if response.status() == StatusCode::NOT_MODIFIED {
            // The router sets the length of an uncompressed body. A 304 response has no body.
            response.headers_mut().remove(CONTENT_LENGTH);
        }
        response
    }

    /// Answers a request. `found` is a cached response that may be outdated.
    async fn ask(
        self,
        found: Option<Arc<ReadyAnswer>>,
        asked: Asked,
        request: Request,
    ) -> Response {
        if let Some(found) = found {
            let standing = self.shared.market.look_at(&found.lasting.basis).await;
            // If the market state cannot be read, the page reports the error.
            if standing.is_ok_and(|standing| found.lasting.holds(&standing)) {
                return found.answer(request.headers());
            }
        }
        let cached = Arc::clone(&self.ready);
        let mut response = self.page(request).await;
        if response.status() != StatusCode::OK {
            return response;
        }
        let Some(lasting) = response.extensions_mut().remove::<Lasting>() else {
            return response;
        };
        let (parts, body) = response.into_parts();
        // The body is already complete, so this does not wait.
        match to_bytes(body, usize::MAX).await {
            Ok(body) => {
                let headers = parts.headers.clone();
                let ready = ReadyAnswer::new(lasting, headers, body.clone(), wall_clock());
                cached.insert(asked, Arc::new(ready));
                Response::from_parts(parts, Body::from(body))
            }
            Err(failure) => {
                log::error!("an answer broke off: {failure}");
                let mut response = Rejection::Defect.into_response();
                sign(response.headers_mut());
                response
            }
        }
    }
}

/// Updates the damage header, which is never cached. An answer without the rows of damaged files changes with their
/// repair.
fn marked(shared: &PageState, mut response: Response) -> Response {
    if let Ok(damaged) = shared.market.damaged_files()
        && damaged > 0
    {
        let headers = response.headers_mut();
        headers.insert(DAMAGED, HeaderValue::from(damaged));
        if headers
            .get(CACHE_CONTROL)
            .is_some_and(|value| value != "no-store")
        {
            headers.insert(CACHE_CONTROL, REVALIDATE);
        }
    }
    response
}

type Answering = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

impl Service<Request> for ReadyAnswers {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Done<Result<Response, Infallible>>, Answering>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Some(asking) = Asking::of(&request) else {
            let answers = self.clone();
            return Either::Right(Box::pin(async {
                let shared = answers.shared.clone();
                Ok(marked(&shared, answers.page(request).await))
            }));
        };
        let mut found = self.ready.get(&asking);
        if let Some(cached) = &found
            && !self.shared.market.is_on_disk()
        {
            let standing = self.shared.market.state(&cached.lasting.basis);
            if standing.is_ok_and(|standing| cached.lasting.holds(&standing)) {
                let answer = cached.answer(request.headers());
                return Either::Left(ready(Ok(marked(&self.shared, answer))));
            }
            found = None;
        }
        let (answers, asked) = (self.clone(), asking.to_owned());
        Either::Right(Box::pin(async move {
            let shared = answers.shared.clone();
            Ok(marked(&shared, answers.ask(found, asked, request).await))
        }))
    }
}
