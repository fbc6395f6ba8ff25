//! Serves one connection: admits or rejects its requests and closes it.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutWriter;
use tokio_rustls::server::TlsStream;
use tower::ServiceExt;

use super::reject::Rejection;
use super::router::{NOW, SIMULATED};
use crate::contract::{ENDPOINTS, EXTENSIONS, LLMS, MCP, RefusedBody, llms_text};
use crate::server::access::guard::{Access, Guarded};
use crate::server::access::peers::{PeerCount, Peers};
use crate::server::access::tls::Tls;
use crate::server::admission::backpressure::UnreadBytes;
use crate::server::admission::connection_slots::{Answering, Connection, SlotGuard};
use crate::server::admission::limits::Limits;
use crate::server::admission::stream_slots::StreamSlots;
use crate::server::answers::agent_calls::Agents;
use crate::server::answers::page_files::page_file;
use crate::server::answers::response::{DAMAGED, sign};
use crate::server::answers::validator::{REVALIDATE, make_private};
use crate::server::metrics::traffic::Traffic;

/// Path of the metrics page, which receives the counters in [`ServerState`].
const METRICS: &str = "/metrics";

/// Paths that need no token. Without one the answer says nothing about data. A wrong token is refused.
const PROBES: [&str; 2] = ["/health", "/ready"];

/// State shared by all connections of a server.
pub(crate) struct ServerState {
    pub(crate) limits: Limits,
    pub(crate) router: Router,
    pub(crate) access: Access,
    /// Whether the server listens on a loopback address only.
    pub(crate) local: bool,
    pub(crate) tls: Option<Tls>,
    pub(crate) access_log: bool,
    /// Whether the live page is served at `/`.
    pub(crate) page: bool,
    /// What answers `/mcp`.
    pub(crate) agents: Option<Agents>,
    pub(crate) peers: Peers,
    pub(crate) streams: StreamSlots,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) unread: Arc<UnreadBytes>,
}

impl ServerState {
    /// Answers a request from `peer` and counts it for the metrics.
    async fn answer(
        &self,
        peer: IpAddr,
        seat: &Connection,
        mut request: Request<Incoming>,
    ) -> (Response<Body>, Option<PeerCount>) {
        let began = Instant::now();
        let path = request.uri().path().to_owned();
        if path == METRICS {
            request.extensions_mut().insert(Arc::clone(&self.traffic));
        }
        let of_agents = path == MCP;
        seat.watch(of_agents);
        let answered = tokio::select! {
            biased;
            answered = self.admitted(peer, request) => answered,
            () = seat.hung_up(), if of_agents => (signed(Rejection::HungUp.into_response()), None),
        };
        let status = answered.0.status().as_u16();
        self.traffic.note(&path, status, began.elapsed());
        answered
    }

    /// Checks a request against the limits and access rules, then answers or rejects it.
    async fn admitted(
        &self,
        peer: IpAddr,
        mut request: Request<Incoming>,
    ) -> (Response<Body>, Option<PeerCount>) {
        if let Err(rejection) = self.limits.check(&request) {
            return (signed(rejection.into_response()), None);
        }
        let page = self.page.then(|| page_file(&request)).flatten();
        let page = page.or_else(|| self.llms(&request));
        let probe = PROBES.contains(&request.uri().path())
            && !request.headers().contains_key(AUTHORIZATION);
        let open = page.is_some() || probe;
        let passed = match self.access.check(&request, self.local, open) {
            Ok(passed) => passed,
            Err(response) => return (signed(*response), None),
        };
        if let Some(mut page) = page {
            passed.add_headers(page.headers_mut());
            return (page, None);
        }
        if !self.access.is_open() {
            request.extensions_mut().insert(Guarded);
        }
        if request.uri().path() == MCP
            && let Some(agents) = &self.agents
        {
            request.extensions_mut().insert(agents.clone());
        }
        let client = self.peers.client_of(peer, request.headers());
        if let Err(rejection) = self.unread.check(client) {
            return (signed(rejection.into_response()), None);
        }
        let under_way = if self.peers.trusts(peer) {
            match self.peers.admit(client) {
                Ok(under_way) => Some(under_way),
                Err(rejection) => return (signed(rejection.into_response()), None),
            }
        } else {
            None
        };
        let within = self.limits.request;
        let answer = self.router.clone().oneshot(request.map(Body::new));
        let mut response = match timeout(within, answer).await {
            Ok(Ok(response)) => self.streams.admit(client, passed.token, response),
            Err(_) => signed(Rejection::TooSlow { within }.into_response()),
        };
        // The client may have several requests under way. The answers to its other requests may exceed the bound by
        // now.
        if let Err(rejection) = self.unread.check(client) {
            response = signed(rejection.into_response());
        }
        if probe && !self.access.is_open() {
            response = anonymous(response);
        }
        if !self.access.is_open() {
            make_private(response.headers_mut());
        }
        passed.add_headers(response.headers_mut());
        (response, under_way)
    }

    /// The text for language models. It contains no data, so it needs no token.
    fn llms<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_read || request.uri().path() != LLMS {
            return None;
        }
        let guarded = !self.access.is_open();
        let version = env!("CARGO_PKG_VERSION");
        let text = llms_text(version, ENDPOINTS, EXTENSIONS, guarded, self.page);
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        let headers = [(CONTENT_TYPE, kind), (CACHE_CONTROL, REVALIDATE)];
        Some(signed((headers, text).into_response()))
    }
}

/// Serves a connection until it ends, is evicted, or the server stops.
pub(crate) async fn serve(
    state: Arc<ServerState>,
    stream: TcpStream,
    peer: IpAddr,
    slot: SlotGuard,
    stopping: watch::Receiver<()>,
) {
    // Without `TCP_NODELAY` the kernel may delay a small answer until the client acknowledges the previous one.
    let _ = stream.set_nodelay(true);
    let seat = Arc::clone(&slot.seat);
    match &state.tls {
        None => talk(Arc::clone(&state), stream, peer, &seat, stopping).await,
        Some(tls) => {
            let agreed = tokio::select! {
                agreed = timeout(state.limits.head, tls.accept(stream)) => agreed,
                () = seat.left() => return,
            };
            match agreed {
                Ok(Ok(stream)) => talk(Arc::clone(&state), stream, peer, &seat, stopping).await,
                Ok(Err(failure)) => log::debug!("the TLS handshake with {peer} failed: {failure}"),
                Err(_) => log::debug!("the TLS handshake with {peer} took too long"),
            }
        }
    }
    drop(slot);
}

/// A stream that says, without reading from it, whether its peer sends nothing more.
trait Ends: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Is ready once the peer has closed its side and everything before that was read.
    fn poll_ended(&self, context: &mut Context<'_>) -> Poll<()>;
}

impl Ends for TcpStream {
    fn poll_ended(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut next = [0];
        match self.poll_peek(context, &mut ReadBuf::new(&mut next)) {
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }
}

impl Ends for TlsStream<TcpStream> {
    fn poll_ended(&self, context: &mut Context<'_>) -> Poll<()> {
        self.get_ref().0.poll_ended(context)
    }
}

async fn talk<S: Ends>(
    state: Arc<ServerState>,
    stream: S,
    peer: IpAddr,
    seat: &Arc<Connection>,
    mut stopping: watch::Receiver<()>,
) {
    let limits = state.limits;
    let theirs = Arc::clone(seat);
    let service = service_fn(move |request: Request<Incoming>| {
        let answering = theirs.answering();
        let (state, theirs) = (Arc::clone(&state), Arc::clone(&theirs));
        async move {
            let client = state.peers.client_of(peer, request.headers());
            let unread = Arc::clone(&state.unread);
            let noted = state
                .access_log
                .then(|| AccessLogLine::of(&state, peer, &request));
            let (response, under_way) = state.answer(peer, &theirs, request).await;
            if let Some(noted) = noted {
                noted.log(&response);
            }
            Ok::<_, Infallible>(response.map(|body| Sent {
                body,
                client,
                unread,
                _answering: answering,
                _under_way: under_way,
            }))
        }
    });
    let stream = TrackedStream {
        stream: wrapped(limits, stream),
        seat: Arc::clone(seat),
    };
    let connection = protocol(limits).serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut last = false;
    let ended = loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => break ended,
            () = seat.left(), if !last => last = true,
            // The sender sends no value. Dropping the sender signals the shutdown.
            _ = stopping.changed(), if !last => last = true,
        }
        if !seat.is_answered() {
            return;
        }
        connection.as_mut().graceful_shutdown();
    };
    if let Err(failure) = ended {
        log::debug!("a connection of {peer} ended early: {failure}");
    }
}

/// Answers a connection beyond the connection limit with a refusal and closes it.
pub(crate) async fn turn_away(state: Arc<ServerState>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    match &state.tls {
        None => refuse(state.limits, stream).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                refuse(state.limits, stream).await;
            }
        }
    }
}

async fn refuse<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(limits: Limits, stream: S) {
    let busy = || signed(Rejection::Busy.into_response());
    let service = service_fn(|_| async { Ok::<_, Infallible>(busy()) });
    let connection = protocol(limits)
        .keep_alive(false)
        .serve_connection(TokioIo::new(wrapped(limits, stream)), service);
    let _ = connection.await;
}

fn protocol(limits: Limits) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        // A client that has closed its sending side may still read the answer.
        .half_close(true)
        .header_read_timeout(limits.idle)
        .max_buf_size(limits.head_bytes());
    protocol
}

/// Wraps a stream so that a write fails once the peer has accepted no byte for `limits.stall`.
fn wrapped<S: AsyncWrite>(limits: Limits, stream: S) -> Pin<Box<TimeoutWriter<S>>> {
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(limits.stall));
    Box::pin(stream)
}

/// Reduces the answer to a probe without a token to its status.
fn anonymous(mut response: Response<Body>) -> Response<Body> {
    let body = match response.status() {
        StatusCode::OK => b"{\"success\":true}".to_vec(),
        StatusCode::SERVICE_UNAVAILABLE => {
            let said = RefusedBody::new(
                None,
                "not ready; with a token the answer says why".to_owned(),
                None,
            );
            serde_json::to_vec(&said).unwrap_or_default()
        }
        _ => {
            for name in [NOW, SIMULATED, DAMAGED] {
                response.headers_mut().remove(name);
            }
            return response;
        }
    };
    let json = HeaderValue::from_static("application/json");
    let mut short = signed((response.status(), [(CONTENT_TYPE, json)], body).into_response());
    short.headers_mut().insert(CACHE_CONTROL, REVALIDATE);
    short
}

fn signed(mut response: Response<Body>) -> Response<Body> {
    sign(response.headers_mut());
    response
}

/// The data of one line in the access log.
struct AccessLogLine {
    who: IpAddr,
    owner: Option<String>,
    what: String,
    began: Instant,
}

impl AccessLogLine {
    fn of<B>(state: &ServerState, peer: IpAddr, request: &Request<B>) -> Self {
        Self {
            who: state.peers.client_of(peer, request.headers()),
            owner: state.access.owner(request.headers()),
            what: format!("{} {}", request.method(), request.uri()),
            began: Instant::now(),
        }
    }

    fn log(self, response: &Response<Body>) {
        let bytes = response.body().size_hint().exact();
        log::info!(
            target: "liqdata::access",
            "{} {} \"{}\" {} {} {:.1} ms",
            self.who,
            self.owner.as_deref().unwrap_or("-"),
            self.what,
            response.status().as_u16(),
            bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            1000.0 * self.began.elapsed().as_secs_f64()
        );
    }
}

/// The body of a response. The request counts as under way until the body is dropped.
struct Sent {
    body: Body,
    client: IpAddr,
    unread: Arc<UnreadBytes>,
    _answering: Answering,
    _under_way: Option<PeerCount>,
}

impl hyper::body::Body for Sent {
    type Data = axum::body::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map_ok(|frame| frame.map_data(|bytes| self.unread.count(self.client, bytes)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection that reports received bytes and completed writes to its slot.
struct TrackedStream<S> {
    stream: S,
    seat: Arc<Connection>,
}

impl<S: AsyncRead + Unpin> AsyncRead for TrackedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.seat.note_received();
        }
        polled
    }
}

impl<S: Ends> AsyncWrite for TrackedStream<Pin<Box<TimeoutWriter<S>>>> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes once all output is written, so a completed flush is reported to the slot.
    ///
    /// It also flushes while it waits for an answer, when it reads nothing: only this sees that the client has gone.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.seat.sent();
        }
        if self.seat.is_watched() && self.stream.get_ref().poll_ended(context).is_ready() {
            self.seat.hang_up();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
