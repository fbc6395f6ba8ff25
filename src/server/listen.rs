//! Serving a router on a listener, within limits.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use super::stream::Patient;
use super::{Rejection, sign};

/// What one client can cost the others.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use liqdata::server::Limits;
///
/// let limits = Limits { connections: 64, idle: Duration::from_secs(5), ..Limits::default() };
/// assert_eq!(limits.grace, Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections served at once; one more is told to come back in a second.
    pub connections: usize,
    /// Longest query string, in bytes.
    pub query: usize,
    /// Longest sum of header names and values, in bytes.
    pub headers: usize,
    /// Longest wait for the whole head of a connection's next request, silence before it included.
    pub idle: Duration,
    /// Longest time in which a client that is being answered reads nothing.
    pub stall: Duration,
    /// Longest wait for answers in flight once the server has been told to stop.
    pub grace: Duration,
}

impl Default for Limits {
    /// 512 connections (a process may often hold no more than 1,024 files), queries of 8 KiB, headers of 16 KiB, 30 s
    /// idle, 30 s stalled, 5 s grace.
    fn default() -> Self {
        Self {
            connections: 512,
            query: 8 * 1024,
            headers: 16 * 1024,
            idle: Duration::from_secs(30),
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// Refuses a request whose head is too large.
    fn check<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
        let length = request.uri().query().map_or(0, str::len);
        if length > self.query {
            return Err(Rejection::QueryTooLong {
                length,
                allowed: self.query,
            });
        }
        let length = request
            .headers()
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        if length > self.headers {
            return Err(Rejection::HeadersTooLong {
                length,
                allowed: self.headers,
            });
        }
        Ok(())
    }

    /// The largest head the parser buffers: everything [`Limits::check`] lets pass, and room to refuse more politely.
    fn head(&self) -> usize {
        const ROOM: usize = 64 * 1024;
        self.query.saturating_add(self.headers).saturating_add(ROOM)
    }
}

/// How many connections beyond the cap are answered with a refusal at a time; any more are just closed.
const TURNED_AWAY: usize = 64;

/// Longest time to turn a connection away.
const TURNING_AWAY: Duration = Duration::from_secs(2);

/// Pause after a failed accept, which most often means that the process is out of files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` on `listener` within the default [`Limits`] until `shutdown` completes.
///
/// Answers in flight then have five seconds to finish.
///
/// # Errors
///
/// Those of the listener that no later accept can mend.
pub async fn run(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    run_within(Limits::default(), listener, router, shutdown).await
}

/// Serves `router` on `listener` within `limits` until `shutdown` completes.
///
/// Dropping the future closes every connection at once.
///
/// # Errors
///
/// Those of the listener that no later accept can mend.
pub async fn run_within(
    limits: Limits,
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(limits.connections));
    let anteroom = Arc::new(Semaphore::new(TURNED_AWAY));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let stream = tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(failure) => {
                    weather(failure).await?;
                    continue;
                }
            },
        };
        let watcher = graceful.watcher();
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let connection = serve(limits, stream, router.clone(), watcher);
            connections.spawn(async move {
                connection.await;
                drop(place);
            });
        } else if let Ok(place) = Arc::clone(&anteroom).try_acquire_owned() {
            log::warn!(
                "more than {} connections: turning one away",
                limits.connections
            );
            connections.spawn(async move {
                let _ = timeout(TURNING_AWAY, turn_away(limits, stream, watcher)).await;
                drop(place);
            });
        }
    }
    drop(listener);
    if timeout(limits.grace, graceful.shutdown()).await.is_err() {
        log::warn!("{} answers did not finish in time", connections.len());
    }
    connections.shutdown().await;
    Ok(())
}

/// Lets a failed accept pass where a later one may succeed.
async fn weather(failure: io::Error) -> io::Result<()> {
    match failure.kind() {
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionRefused
        | io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::InvalidInput => Err(failure),
        _ => {
            log::error!("a connection could not be accepted: {failure}");
            sleep(ACCEPT_PAUSE).await;
            Ok(())
        }
    }
}

async fn serve(limits: Limits, stream: TcpStream, router: Router, watcher: Watcher) {
    let service = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        async move {
            if let Err(rejection) = limits.check(&request) {
                return Ok(signed(rejection));
            }
            router.oneshot(request.map(Body::new)).await
        }
    });
    let connection = protocol(limits).serve_connection(wrapped(limits, stream), service);
    if let Err(failure) = watcher.watch(connection).await {
        log::debug!("a connection ended early: {failure}");
    }
}

async fn turn_away(limits: Limits, stream: TcpStream, watcher: Watcher) {
    let service = service_fn(|_| async { Ok::<_, Infallible>(signed(Rejection::Busy)) });
    let connection = protocol(limits)
        .keep_alive(false)
        .serve_connection(wrapped(limits, stream), service);
    let _ = watcher.watch(connection).await;
}

fn protocol(limits: Limits) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_buf_size(limits.head());
    protocol
}

fn wrapped(limits: Limits, stream: TcpStream) -> TokioIo<Patient<TcpStream>> {
    // Without it a small answer may wait for the acknowledgement of the one before; with it nothing else changes.
    let _ = stream.set_nodelay(true);
    TokioIo::new(Patient::new(stream, limits.stall))
}

fn signed(rejection: Rejection) -> Response<Body> {
    let mut response = rejection.into_response();
    sign(response.headers_mut());
    response
}
