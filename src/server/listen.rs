//! Serving a router on a listener, within limits.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutWriter;
use tower::ServiceExt;

use super::limits::Limits;
use super::reject::Rejection;
use super::response::{EVENTS, sign};

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
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use liqdata::engine::Observations;
/// use liqdata::market::Market;
/// use liqdata::server::{router, run};
/// use tokio::net::TcpListener;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let observations = Observations::new(Vec::new(), Vec::new(), Vec::new(), None)?;
/// let market = Market::fixed(observations, "empty tables");
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let stop = async {};
/// run(listener, router(Arc::new(market)), stop).await?;
/// # Ok(())
/// # }
/// ```
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
/// Those of the listener that no later accept can mend, and [`InvalidInput`](io::ErrorKind::InvalidInput) for limits
/// that the machine cannot count to.
pub async fn run_within(
    limits: Limits,
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    limits.validate()?;
    let places = Arc::new(Semaphore::new(limits.connections));
    let anteroom = Arc::new(Semaphore::new(TURNED_AWAY));
    let graceful = GracefulShutdown::new();
    // The signal is given when the sender is dropped.
    let (running, stopping) = watch::channel(());
    let followers = Arc::new(Followers {
        places: Arc::new(Semaphore::new(limits.streams)),
        stopping,
    });
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
                    outlast(failure).await?;
                    continue;
                }
            },
        };
        let watcher = graceful.watcher();
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let connection = serve(
                limits,
                stream,
                router.clone(),
                Arc::clone(&followers),
                watcher,
            );
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
    drop(running);
    if timeout(limits.grace, graceful.shutdown()).await.is_err() {
        log::warn!("{} answers did not finish in time", connections.len());
    }
    connections.shutdown().await;
    Ok(())
}

/// Lets a failed accept pass where a later one may succeed.
async fn outlast(failure: io::Error) -> io::Result<()> {
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

/// Those who follow a stream: how many may, and what ends their streams.
struct Followers {
    places: Arc<Semaphore>,
    stopping: watch::Receiver<()>,
}

impl Followers {
    /// `response` as it is, unless it is a stream: that takes a place, and ends with the server.
    fn admit(&self, response: Response<Body>) -> Response<Body> {
        if response.headers().get(CONTENT_TYPE) != Some(&EVENTS) {
            return response;
        }
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => {
                let mut stopping = self.stopping.clone();
                let stopped = async move {
                    let _place = place;
                    while stopping.changed().await.is_ok() {}
                };
                let chunks = |body: Body| body.into_data_stream().take_until(Box::pin(stopped));
                response.map(|body| Body::from_stream(chunks(body)))
            }
            Err(_) => signed(Rejection::Busy),
        }
    }
}

async fn serve(
    limits: Limits,
    stream: TcpStream,
    router: Router,
    followers: Arc<Followers>,
    watcher: Watcher,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (router, followers) = (router.clone(), Arc::clone(&followers));
        async move {
            if let Err(rejection) = limits.check(&request) {
                return Ok::<_, Infallible>(signed(rejection));
            }
            let response = router.oneshot(request.map(Body::new)).await?;
            Ok(followers.admit(response))
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

/// A connection that gives up on a reader who stops reading: one whose writes fail once none has moved for a while.
fn wrapped(limits: Limits, stream: TcpStream) -> TokioIo<Pin<Box<TimeoutWriter<TcpStream>>>> {
    // Without it a small answer may wait for the acknowledgement of the one before; with it nothing else changes.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(limits.stall));
    TokioIo::new(Box::pin(stream))
}

fn signed(rejection: Rejection) -> Response<Body> {
    let mut response = rejection.into_response();
    sign(response.headers_mut());
    response
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::net::SocketAddr;
    use std::time::Instant;

    use axum::body::Bytes;
    use axum::routing::get;
    use futures_util::stream;
    use serde_json::Value;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::{Notify, mpsc, oneshot};
    use tokio::task::JoinHandle;

    use super::*;

    /// Far more than any test here takes; what is still pending then is stuck.
    const STUCK: Duration = Duration::from_secs(20);

    struct Running {
        address: SocketAddr,
        stop: oneshot::Sender<()>,
        task: JoinHandle<io::Result<()>>,
    }

    impl Running {
        async fn start(limits: Limits, router: Router) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = oneshot::channel::<()>();
            let task = tokio::spawn(async move {
                let shutdown = async { drop(stopped.await) };
                run_within(limits, listener, router, shutdown).await
            });
            Self {
                address,
                stop,
                task,
            }
        }

        async fn connect(&self) -> Peer {
            Peer(TcpStream::connect(self.address).await.unwrap())
        }

        async fn stop(self) {
            self.stop.send(()).unwrap();
            timeout(STUCK, self.task).await.unwrap().unwrap().unwrap();
        }
    }

    struct Peer(TcpStream);

    impl Peer {
        async fn send(&mut self, text: &str) {
            self.0.write_all(text.as_bytes()).await.unwrap();
        }

        async fn ask(&mut self, path: &str) {
            let head = format!("GET {path} HTTP/1.1\r\nhost: here\r\n\r\n");
            self.send(&head).await;
        }

        /// The next answer of a connection that stays open: its head and its body.
        async fn answer(&mut self) -> (String, String) {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(timeout(STUCK, self.0.read_u8()).await.unwrap().unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let length = header(&head, "content-length").unwrap().parse().unwrap();
            let mut body = vec![0; length];
            let read = self.0.read_exact(&mut body);
            timeout(STUCK, read).await.unwrap().unwrap();
            (head, String::from_utf8(body).unwrap())
        }

        /// Everything up to the end of the connection; a reset ends it as well.
        async fn rest(&mut self) -> String {
            let mut rest = Vec::new();
            let _ = timeout(STUCK, self.0.read_to_end(&mut rest)).await.unwrap();
            String::from_utf8(rest).unwrap()
        }
    }

    fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    fn hello() -> Router {
        Router::new().route("/", get(|| async { "hello" }))
    }

    /// A router whose answer waits for `release`, and tells when it has begun to.
    fn waiting(release: &Arc<Notify>) -> (Router, mpsc::UnboundedReceiver<()>) {
        let release = Arc::clone(release);
        let (begun, begins) = mpsc::unbounded_channel();
        let answer = move || async move {
            begun.send(()).unwrap();
            release.notified().await;
            "done"
        };
        (Router::new().route("/", get(answer)), begins)
    }

    #[tokio::test]
    async fn limits_beyond_counting_are_refused() {
        let most = Limits::default();
        for limits in [
            Limits {
                connections: usize::MAX,
                ..most
            },
            Limits {
                idle: Duration::MAX,
                ..most
            },
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let refused = run_within(limits, listener, hello(), async {}).await;
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[tokio::test]
    async fn a_connection_serves_one_request_after_another() {
        let server = Running::start(Limits::default(), hello()).await;
        let mut peer = server.connect().await;
        for _ in 0..3 {
            peer.ask("/").await;
            assert_eq!(peer.answer().await.1, "hello");
        }
        let began = Instant::now();
        server.stop().await;
        assert_eq!(peer.rest().await, "");
        let grace = Limits::default().grace;
        assert!(
            began.elapsed() < grace,
            "an idle connection must not be waited for"
        );
    }

    #[tokio::test]
    async fn an_answer_in_flight_is_finished_after_the_stop() {
        let release = Arc::new(Notify::new());
        let (router, mut begins) = waiting(&release);
        let server = Running::start(Limits::default(), router).await;
        let mut peer = server.connect().await;
        peer.ask("/").await;
        begins.recv().await.unwrap();

        let address = server.address;
        let stopped = tokio::spawn(server.stop());
        // The listener is closed before anything is waited for, so sooner or later nobody gets in.
        timeout(STUCK, async {
            while TcpStream::connect(address).await.is_ok() {}
        })
        .await
        .unwrap();
        assert!(!stopped.is_finished());
        release.notify_one();
        let (head, body) = peer.answer().await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert_eq!(body, "done");
        assert_eq!(peer.rest().await, "");
        stopped.await.unwrap();
    }

    #[tokio::test]
    async fn an_answer_that_takes_longer_than_the_grace_is_cut_off() {
        let (router, mut begins) = waiting(&Arc::new(Notify::new()));
        let limits = Limits {
            grace: Duration::from_millis(50),
            ..Limits::default()
        };
        let server = Running::start(limits, router).await;
        let mut peer = server.connect().await;
        peer.ask("/").await;
        begins.recv().await.unwrap();
        server.stop().await;
        assert_eq!(peer.rest().await, "");
    }

    #[tokio::test]
    async fn dropping_the_server_closes_its_connections() {
        let (router, mut begins) = waiting(&Arc::new(Notify::new()));
        let server = Running::start(Limits::default(), router).await;
        let mut peer = server.connect().await;
        peer.ask("/").await;
        begins.recv().await.unwrap();
        server.task.abort();
        assert_eq!(peer.rest().await, "");
    }

    #[tokio::test]
    async fn one_connection_too_many_is_told_to_come_back() {
        let limits = Limits {
            connections: 1,
            ..Limits::default()
        };
        let server = Running::start(limits, hello()).await;
        let mut first = server.connect().await;
        first.ask("/").await;
        first.answer().await;

        let mut second = server.connect().await;
        second.ask("/").await;
        let (head, body) = second.answer().await;
        assert!(head.starts_with("HTTP/1.1 503"), "{head}");
        assert_eq!(header(&head, "retry-after"), Some("1"));
        assert_eq!(header(&head, "connection"), Some("close"));
        assert_eq!(header(&head, "content-type"), Some("application/json"));
        assert!(header(&head, "server").unwrap().starts_with("liqdata/"));
        let refusal: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(refusal.pointer("/success"), Some(&Value::Bool(false)));
        assert_eq!(second.rest().await, "");

        first.ask("/").await;
        assert_eq!(first.answer().await.1, "hello");
        drop(first);
        let third = async {
            loop {
                let mut peer = server.connect().await;
                peer.ask("/").await;
                if peer.answer().await.1 == "hello" {
                    break;
                }
            }
        };
        timeout(STUCK, third).await.unwrap();
        server.stop().await;
    }

    #[tokio::test]
    async fn a_connection_that_does_not_finish_its_request_is_closed() {
        let limits = Limits {
            idle: Duration::from_millis(100),
            ..Limits::default()
        };
        let server = Running::start(limits, hello()).await;
        for beginning in ["", "G", "GET / HTTP/1.1\r\nhost: here\r\nx-slow: 1"] {
            let mut peer = server.connect().await;
            peer.send(beginning).await;
            let began = Instant::now();
            assert_eq!(peer.rest().await, "", "{beginning:?}");
            assert!(began.elapsed() < STUCK / 2, "{beginning:?}");
        }
        server.stop().await;
    }

    #[tokio::test]
    async fn a_drip_of_header_bytes_does_not_keep_a_connection_open() {
        let limits = Limits {
            idle: Duration::from_millis(200),
            ..Limits::default()
        };
        let server = Running::start(limits, hello()).await;
        let mut peer = server.connect().await;
        peer.send("GET / HTTP/1.1\r\nx-slow: ").await;
        let mut tick = tokio::time::interval(Duration::from_millis(10));
        let drip = async {
            // A write to a closed connection fails at the latest once its reset has come back.
            while peer.0.write_all(b"1").await.is_ok() {
                tick.tick().await;
            }
        };
        timeout(STUCK, drip).await.unwrap();
        server.stop().await;
    }

    #[tokio::test]
    async fn a_connection_idle_after_an_answer_is_closed() {
        let limits = Limits {
            idle: Duration::from_millis(100),
            ..Limits::default()
        };
        let server = Running::start(limits, hello()).await;
        let mut peer = server.connect().await;
        peer.ask("/").await;
        assert_eq!(peer.answer().await.1, "hello");
        assert_eq!(peer.rest().await, "");
        server.stop().await;
    }

    #[tokio::test]
    async fn a_head_too_large_is_refused_in_the_shape_of_every_refusal() {
        let server = Running::start(Limits::default(), hello()).await;
        let mut peer = server.connect().await;
        peer.ask(&format!("/?x={}", "1".repeat(Limits::default().query)))
            .await;
        let (head, body) = peer.answer().await;
        assert!(head.starts_with("HTTP/1.1 414"), "{head}");
        assert!(body.contains("allowed: 8192"), "{body}");

        let long = "1".repeat(Limits::default().headers);
        peer.send(&format!(
            "GET / HTTP/1.1\r\nhost: here\r\nx: {long}\r\n\r\n"
        ))
        .await;
        let (head, body) = peer.answer().await;
        assert!(head.starts_with("HTTP/1.1 431"), "{head}");
        let refusal: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(refusal.pointer("/success"), Some(&Value::Bool(false)));

        // Neither costs the connection, and a request within the limits still has its answer.
        peer.ask("/?x=1").await;
        assert_eq!(peer.answer().await.1, "hello");
        server.stop().await;
    }

    #[tokio::test]
    async fn headers_without_end_are_refused_before_they_fill_the_memory() {
        let server = Running::start(Limits::default(), hello()).await;
        let mut peer = server.connect().await;
        peer.send("GET / HTTP/1.1\r\nx: ").await;
        let line = "1".repeat(64 * 1024);
        let mut sent = 0;
        while sent < 64 << 20 && peer.0.write_all(line.as_bytes()).await.is_ok() {
            sent += line.len();
        }
        assert!(sent < 64 << 20, "the server read on and on");
        server.stop().await;
    }

    #[tokio::test]
    async fn a_client_that_stops_reading_is_given_up() {
        struct Told(Option<oneshot::Sender<()>>);
        impl Drop for Told {
            fn drop(&mut self) {
                let _ = self.0.take().unwrap().send(());
            }
        }

        let (told, mut dropped) = mpsc::unbounded_channel();
        let endless = move || async move {
            let (sender, receiver) = oneshot::channel();
            told.send(receiver).unwrap();
            let chunks = stream::unfold(Told(Some(sender)), |guard| async move {
                let chunk = Bytes::from(vec![b'x'; 1 << 20]);
                Some((Ok::<_, Infallible>(chunk), guard))
            });
            Body::from_stream(chunks)
        };
        let limits = Limits {
            stall: Duration::from_millis(200),
            ..Limits::default()
        };
        let router = hello().route("/endless", get(endless));
        let server = Running::start(limits, router).await;
        let mut peer = server.connect().await;
        peer.ask("/endless").await;
        let gone = dropped.recv().await.unwrap();
        timeout(STUCK, gone).await.unwrap().unwrap();

        // Nobody else is harmed.
        let mut other = server.connect().await;
        other.ask("/").await;
        assert_eq!(other.answer().await.1, "hello");
        server.stop().await;
    }
}
