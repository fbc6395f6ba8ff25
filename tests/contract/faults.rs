//! The fault matrix: what the client does when the service, or the way to it, misbehaves.
//!
//! The service is a script on a loopback socket: it answers the n-th request with the n-th act.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use liqdata::client::{Client, Config, DialectQuery, Error};
use liqdata::contract::{
    BadQuery, Chart, Coins, Heatmap, Levels, Liqmap, Maxpain, Overview, RawModel,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// What the service does with one request.
#[derive(Clone)]
enum Act {
    /// Sends these bytes and waits for the next request.
    Send(Vec<u8>),
    /// Sends these bytes and closes the connection.
    Last(Vec<u8>),
    /// Sends these bytes and resets the connection.
    Reset(Vec<u8>),
    /// Sends these bytes, then one byte at each tick.
    Drip(Vec<u8>, Duration),
    /// Sends these bytes over and over.
    Flood(Vec<u8>),
}

/// What a service saw of its clients.
#[derive(Default)]
struct Log {
    requests: Mutex<Vec<String>>,
    opened: AtomicUsize,
    closed: AtomicUsize,
    /// Bytes that [`Act::Flood`] sent.
    flooded: AtomicUsize,
}

/// A scripted service.
struct Service {
    at: SocketAddr,
    log: Arc<Log>,
}

impl Service {
    /// Answers the n-th request with `script(n, request)`.
    async fn start(script: impl Fn(usize, &str) -> Act + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), script)
    }

    /// The same for the connections of `listener`.
    fn on(
        listener: TcpListener,
        script: impl Fn(usize, &str) -> Act + Send + Sync + 'static,
    ) -> Self {
        let at = listener.local_addr().unwrap();
        let log = Arc::new(Log::default());
        let script = Arc::new(script);
        let shared = Arc::clone(&log);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, log) = (Arc::clone(&script), Arc::clone(&shared));
                log.opened.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    serve(stream, &*script, &log).await;
                    log.closed.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        Self { at, log }
    }

    /// Answers with these acts in turn, the last one for ever.
    async fn acts(acts: Vec<Act>) -> Self {
        Self::start(move |n, _| acts[n.min(acts.len() - 1)].clone()).await
    }

    fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    fn config(&self) -> Config {
        Config::new(&self.url()).unwrap()
    }

    fn requests(&self) -> Vec<String> {
        self.log.requests.lock().unwrap().clone()
    }

    fn count(&self) -> usize {
        self.log.requests.lock().unwrap().len()
    }

    /// Connections so far.
    fn connections(&self) -> usize {
        self.log.opened.load(Ordering::Relaxed)
    }

    /// Waits until so many connections are closed.
    async fn until_closed(&self, connections: usize) {
        let patience = Instant::now() + Duration::from_secs(10);
        while self.log.closed.load(Ordering::Relaxed) < connections {
            assert!(Instant::now() < patience, "a connection stays open");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    script: &(dyn Fn(usize, &str) -> Act + Send + Sync),
    log: &Log,
) {
    let mut head = Vec::new();
    loop {
        let mut piece = [0; 4096];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(read) => head.extend_from_slice(&piece[..read]),
            }
        }
        let request = String::from_utf8(std::mem::take(&mut head)).unwrap();
        let number = {
            let mut requests = log.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() - 1
        };
        match script(number, &request) {
            Act::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Act::Last(bytes) => {
                // The client may have gone already.
                let _ = stream.write_all(&bytes).await;
                return;
            }
            Act::Reset(bytes) => {
                let _ = stream.write_all(&bytes).await;
                stream.set_zero_linger().unwrap();
                return;
            }
            Act::Drip(bytes, tick) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
                while stream.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(tick).await;
                }
                return;
            }
            Act::Flood(bytes) => {
                while let Ok(sent) = stream.write(&bytes).await {
                    log.flooded.fetch_add(sent, Ordering::Relaxed);
                }
                return;
            }
        }
    }
}

fn http(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn json(body: &str) -> Act {
    Act::Send(http("200 OK", "content-type: application/json\r\n", body))
}

fn status(status: &str) -> Act {
    Act::Send(http(status, "", "{}"))
}

const GOOD: &str =
    r#"{"success":true,"data":[{"coin":"BTC","long_usd":1,"short_usd":2,"total_usd":3,"cnt":4}]}"#;

fn good() -> Act {
    json(GOOD)
}

/// An answer that never comes.
fn silence() -> Act {
    Act::Send(Vec::new())
}

fn question() -> Coins {
    Coins::new(Some("24h"), 30).unwrap()
}

async fn ask(config: Config) -> Result<usize, Error> {
    let client = Client::new(config).unwrap();
    client.send(&question()).await.map(|rows| rows.len())
}

fn chain(error: &Error) -> String {
    let mut text = format!("{error:?} {error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text} {cause} {cause:?}");
        source = cause.source();
    }
    text
}

/// The message of a [`Error::NoAnswer`] that contains `says`.
#[track_caller]
fn no_answer(result: Result<usize, Error>, says: &str) -> String {
    match result {
        Err(Error::NoAnswer { message, .. }) => {
            assert!(message.contains(says), "{message}");
            message
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(result: Result<usize, Error>) -> (u16, String, Option<f64>, String) {
    match result {
        Err(Error::Refused {
            status,
            body,
            retry_after,
            message,
        }) => (status, body, retry_after, message),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn unexpected(result: Result<usize, Error>, says: &str) {
    match result {
        Err(Error::UnexpectedReply { message, .. }) => assert!(message.contains(says), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_request_carries_its_query_and_headers_once() {
    let service = Service::acts(vec![good()]).await;
    let config = Config::new(&format!("{}/prefix/", service.url())).unwrap();
    let config = config.headers([("X-Key", "secret")]).unwrap();
    let client = Client::new(config.user_agent("test/1").unwrap()).unwrap();
    let rows = client.send(&question()).await.unwrap();
    assert_eq!((rows[0].coin.as_str(), rows[0].cnt), ("BTC", 4));
    let request = service.requests()[0].to_lowercase();
    assert!(
        request.starts_with("get /prefix/api/liquidations/coins?range=24h&limit=30 http/1.1\r\n")
    );
    for header in [
        "x-key: secret\r\n",
        "accept: application/json\r\n",
        "accept-encoding: ",
        &format!(
            "user-agent: liqdata/{} test/1\r\n",
            env!("CARGO_PKG_VERSION")
        ),
    ] {
        assert!(request.contains(header), "{request}");
    }
    assert_eq!(service.count(), 1);
}

// H1
#[tokio::test]
async fn a_refused_connection_is_no_answer_until_the_service_starts() {
    // A bound socket that does not listen refuses connections, and no other process gets its port.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let config = Config::new(&format!("http://{}", socket.local_addr().unwrap())).unwrap();
    let client = Client::new(config.retries(2).unwrap()).unwrap();
    let result = ask_with(&client).await;
    no_answer(result, "refused the connection; 3 attempts");
    let service = Service::on(socket.listen(16).unwrap(), |_, _| good());
    assert_eq!(ask_with(&client).await.unwrap(), 1);
    assert_eq!(service.count(), 1);
}

// H2
#[tokio::test]
async fn a_service_that_does_not_accept_fails_at_the_connect_timeout() {
    // A backlog of one without a call to accept: once it is full, the system drops further attempts to connect.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let at = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    while let Ok(stream) =
        tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(at)).await
    {
        queue.push(stream.unwrap());
    }
    let config = |retries| {
        let config = Config::new(&format!("http://{at}")).unwrap();
        config.connect_timeout(0.3).unwrap().retries(retries)
    };
    let start = Instant::now();
    no_answer(ask(config(0).unwrap()).await, "within 0.3 s");
    let took = start.elapsed().as_secs_f64();
    assert!((0.24..0.6).contains(&took), "{took}");
    no_answer(ask(config(1).unwrap()).await, "2 attempts");
    // The deadline leaves room for two or three attempts of nine.
    let start = Instant::now();
    let result = ask(config(9).unwrap().timeout(0.75).unwrap()).await;
    match result {
        Err(Error::NoAnswer { message, .. } | Error::TooSlow { message, .. }) => assert!(
            message.contains("2 attempts") || message.contains("3 attempts"),
            "{message}"
        ),
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() < Duration::from_millis(1150));
}

// H3
#[tokio::test]
async fn a_name_that_does_not_resolve_is_named() {
    // The resolver itself refuses a label of this length.
    let name = format!("{}.invalid", "a".repeat(64));
    let config = Config::new(&format!("http://{name}")).unwrap();
    let result = ask(config.retries(1).unwrap()).await;
    let message = no_answer(result, &format!("cannot resolve the name of {name}"));
    assert!(message.contains("2 attempts"), "{message}");
}

// H4, H5
#[tokio::test]
async fn a_truncated_answer_is_retried_and_never_parsed() {
    let half_a_head = b"HTTP/1.1 200 OK\r\ncontent-le".to_vec();
    let a_bit_of_body = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec();
    let mut truncated = http("200 OK", "", format!("{GOOD}   "));
    truncated.truncate(truncated.len() - 3);
    let size = GOOD.len();
    let chunks = |chunks: &str| {
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}").into_bytes()
    };
    let closed = "closed the connection";
    let broke_off = format!("broke off after {size} bytes");
    for (act, says) in [
        (Act::Last(Vec::new()), closed),
        (Act::Reset(Vec::new()), closed),
        (Act::Last(half_a_head.clone()), closed),
        (Act::Reset(half_a_head), closed),
        // The reset may overtake the head.
        (Act::Reset(a_bit_of_body), ""),
        (Act::Last(truncated), &broke_off),
        (
            Act::Last(chunks(&format!("{size:x}\r\n{GOOD}\r\n"))),
            &broke_off,
        ),
        (Act::Last(chunks("5\r\n{\r\n")), "broke off after"),
    ] {
        let service = Service::acts(vec![act.clone(), good()]).await;
        assert_eq!(ask(service.config()).await.unwrap(), 1);
        assert_eq!(service.count(), 2);
        let service = Service::acts(vec![act]).await;
        let message = no_answer(ask(service.config().retries(1).unwrap()).await, says);
        assert!(message.contains("2 attempts"), "{message}");
        assert_eq!(service.count(), 2);
    }
}

// H17
#[tokio::test]
async fn an_idle_connection_that_died_is_replaced_at_once() {
    for act in [Act::Reset(Vec::new()), Act::Last(Vec::new())] {
        let script = move |n: usize, _: &str| if n == 1 { act.clone() } else { good() };
        let service = Service::start(script).await;
        let client = Client::new(service.config().retries(1).unwrap()).unwrap();
        for _ in 0..3 {
            assert_eq!(ask_with(&client).await.unwrap(), 1);
        }
        assert_eq!(service.count(), 4);
    }
    let service = Service::acts(vec![Act::Last(http("200 OK", "", GOOD))]).await;
    let client = Client::new(service.config().retries(1).unwrap()).unwrap();
    for call in 1..=5 {
        assert_eq!(ask_with(&client).await.unwrap(), 1);
        service.until_closed(call).await;
    }
    assert_eq!(service.count(), 5);
}

#[tokio::test]
async fn a_connection_is_reused_after_answers_refusals_and_redirects() {
    let moved = http("302 Found", "location: /x\r\n", "moved");
    let acts = vec![good(), status("404 Not Found"), Act::Send(moved), good()];
    let service = Service::acts(acts).await;
    let client = Client::new(service.config()).unwrap();
    assert_eq!(ask_with(&client).await.unwrap(), 1);
    assert_eq!(refused(ask_with(&client).await).0, 404);
    for _ in 0..10 {
        assert_eq!(ask_with(&client).await.unwrap(), 1);
    }
    assert_eq!((service.count(), service.connections()), (13, 1));
}

// H6, H7
#[tokio::test]
async fn an_endless_answer_fails_at_the_total_deadline() {
    let tick = Duration::from_millis(20);
    let body = Act::Drip(
        b"HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n".to_vec(),
        tick,
    );
    let head = Act::Drip(b"HTTP/1.1 200 OK\r\nx: ".to_vec(), tick);
    for act in [body, head, silence()] {
        let service = Service::acts(vec![act, good()]).await;
        let client = Client::new(service.config().timeout(0.5).unwrap()).unwrap();
        let start = Instant::now();
        let result = ask_with(&client).await;
        let took = start.elapsed().as_secs_f64();
        match result {
            Err(Error::TooSlow { seconds, .. }) => assert!((seconds - 0.5).abs() < 1e-9),
            other => panic!("{other:?}"),
        }
        assert!((0.45..0.75).contains(&took), "{took}");
        service.until_closed(1).await;
        assert_eq!(ask_with(&client).await.unwrap(), 1);
    }
}

#[tokio::test]
async fn the_deadline_covers_retries_and_names_the_failure_before() {
    let busy = Act::Send(http("503 Busy", "retry-after: 0\r\n", ""));
    let service = Service::acts(vec![busy.clone(), busy, silence()]).await;
    let start = Instant::now();
    let error = ask(service.config().timeout(0.5).unwrap())
        .await
        .unwrap_err();
    let took = start.elapsed().as_secs_f64();
    assert!((0.45..0.75).contains(&took), "{took}");
    assert!(matches!(error, Error::TooSlow { .. }), "{error:?}");
    assert!(error.to_string().contains("3 attempts"), "{error}");
    let before = std::error::Error::source(&error).unwrap().to_string();
    assert!(before.contains("503"), "{before}");
}

// H7
#[tokio::test]
async fn endless_headers_are_an_error() {
    let line = format!("x-{}: y\r\n", "n".repeat(1000)).into_bytes();
    let service = Service::start(move |_, _| {
        Act::Flood([b"HTTP/1.1 200 OK\r\n".as_slice(), &line.repeat(1000)].concat())
    })
    .await;
    no_answer(ask(service.config()).await, "does not reply with HTTP");
    assert_eq!(service.count(), 1);
    service.until_closed(1).await;
    // The buffers of both sockets count too.
    assert!(service.log.flooded.load(Ordering::Relaxed) < 32 << 20);
}

// H7
#[tokio::test]
async fn a_reply_that_is_not_http_is_no_answer() {
    let long = format!("x-long: {}\r\n", "1".repeat(1 << 20));
    for reply in [
        b"SSH-2.0-OpenSSH\r\n\r\n".to_vec(),
        b"HTTP/1.1 two hundred\r\n\r\n".to_vec(),
        vec![0; 64],
        http("200 OK", &long, "{}"),
    ] {
        let service = Service::acts(vec![Act::Last(reply)]).await;
        let message = no_answer(ask(service.config()).await, "does not reply with HTTP");
        assert!(message.len() < 500, "{message}");
        assert_eq!(service.count(), 1);
    }
}

// H8
#[tokio::test]
async fn retry_after_is_waited_for_as_specified() {
    let throttled = |value: &str| {
        let headers = format!("retry-after: {value}\r\n");
        Act::Send(http("429 Too Many Requests", &headers, ""))
    };
    // Without one, the first wait is at most a second.
    for (value, least, most) in [
        ("1", 1.0, 1.5),
        ("0", 0.0, 0.4),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0, 0.4),
        (
            "Wed, 21 Oct 2015 07:28:01 GMT\r\ndate: Wed, 21 Oct 2015 07:28:00 GMT",
            1.0,
            1.5,
        ),
        ("-5", 0.0, 1.4),
        ("soon", 0.0, 1.4),
    ] {
        let service = Service::acts(vec![throttled(value), good()]).await;
        let start = Instant::now();
        assert_eq!(ask(service.config()).await.unwrap(), 1);
        let took = start.elapsed().as_secs_f64();
        assert!((least..most).contains(&took), "{value}: {took}");
    }
    let far = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(30));
    for (value, seconds) in [("61", 61.0), ("9", 9.0), ("1e9", 1e9), (&far, 30.0)] {
        let service = Service::acts(vec![throttled(value)]).await;
        let start = Instant::now();
        let result = ask(service.config().timeout(5.0).unwrap()).await;
        let (status, _, retry_after, _) = refused(result);
        assert_eq!(status, 429);
        assert!((retry_after.unwrap() - seconds).abs() < 3.0, "{value}");
        assert!(start.elapsed() < Duration::from_secs(1));
        assert_eq!(service.count(), 1);
    }
}

const TRANSIENT: [&str; 6] = [
    "408 Request Timeout",
    "425 Too Early",
    "500 Internal Server Error",
    "502 Bad Gateway",
    "503 Service Unavailable",
    "504 Gateway Timeout",
];

// H9
#[tokio::test]
async fn transient_errors_are_retried_within_the_jitter_bounds() {
    for bad in TRANSIENT {
        let service = Service::acts(vec![status(bad), status(bad), good()]).await;
        let start = Instant::now();
        assert_eq!(ask(service.config()).await.unwrap(), 1);
        let took = start.elapsed().as_secs_f64();
        assert!(took < 0.1 + 0.2 + 0.4, "{bad}: {took}");
        assert_eq!(service.count(), 3);
    }
}

#[tokio::test]
async fn n_retries_are_n_plus_one_attempts_and_418_is_retried_once() {
    let later = |code: &str| Act::Send(http(code, "retry-after: 0\r\n", "later"));
    for code in TRANSIENT.into_iter().chain(["429 Too Many Requests"]) {
        for (retries, attempts) in [(0, 1), (1, 2), (4, 5)] {
            let service = Service::acts(vec![later(code)]).await;
            let result = ask(service.config().retries(retries).unwrap()).await;
            let (status, body, retry_after, _) = refused(result);
            assert!(code.starts_with(&status.to_string()));
            assert_eq!((body.as_str(), retry_after), ("later", Some(0.0)));
            assert_eq!(service.count(), attempts);
        }
    }
    let service = Service::acts(vec![later("418 I'm a teapot")]).await;
    assert_eq!(refused(ask(service.config()).await).0, 418);
    assert_eq!(service.count(), 2);
}

// H10
#[tokio::test]
async fn the_retry_quota_protects_a_dead_service() {
    let recovered = Arc::new(AtomicBool::new(false));
    let is_up = Arc::clone(&recovered);
    let service = Service::start(move |_, _| {
        if is_up.load(Ordering::Relaxed) {
            good()
        } else {
            status("503 Service Unavailable")
        }
    })
    .await;
    let client = Client::new(service.config()).unwrap();
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { ask_with(&client).await })
        })
        .collect();
    for call in calls {
        assert_eq!(refused(call.await.unwrap()).0, 503);
    }
    let before = service.count();
    assert!((201..=236).contains(&before), "{before}");
    let start = Instant::now();
    assert_eq!(refused(ask_with(&client).await).0, 503);
    assert!(start.elapsed() < Duration::from_millis(100), "fails fast");
    assert_eq!(service.count(), before + 1);
    recovered.store(true, Ordering::Relaxed);
    assert_eq!(ask_with(&client).await.unwrap(), 1);
}

async fn ask_with(client: &Client) -> Result<usize, Error> {
    client.send(&question()).await.map(|rows| rows.len())
}

// H11
#[tokio::test]
async fn a_refusal_is_asked_once_and_carries_status_and_excerpt() {
    let own = r#"{"success":false,"error":{"parameter":"limit","message":"limit: 0 is out of bounds","allowed":"1 to 200"}}"#;
    let html = format!("<html>{}</html>", "é".repeat(5000));
    for code in [
        "400 Bad Request",
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "405 Method Not Allowed",
        "410 Gone",
        "422 Unprocessable",
        "451 No",
        "501 No",
        "505 No",
        "304 Not Modified",
    ] {
        for body in [html.as_str(), own, ""] {
            if code.starts_with("304") && !body.is_empty() {
                continue;
            }
            let service = Service::acts(vec![Act::Send(http(code, "", body))]).await;
            let (status, excerpt, retry_after, message) = refused(ask(service.config()).await);
            assert!(code.starts_with(&status.to_string()));
            assert!(excerpt.len() <= 2048 && body.starts_with(&excerpt));
            assert!(body.is_empty() || excerpt.len() > 100 - 50);
            assert_eq!(retry_after, None);
            assert_eq!(
                message.contains("limit: 0 is out of bounds"),
                body == own,
                "{message}"
            );
            assert_eq!(service.count(), 1);
        }
    }
}

#[tokio::test]
async fn a_refusal_gives_the_services_reason_and_a_hint() {
    let no_token = "who are you?; no token was sent: give a token with token= or $LIQDATA_TOKEN, or another key with \
                    headers=";
    let sent = "who are you?; a token was sent";
    let wrong = "who are you?; the token that was sent is not accepted";
    for (code, reply, token, says) in [
        ("404 Not Found", "slow down\nplease", None, ": slow down"),
        (
            "404 Not Found",
            r#"{"detail": "no plan"}"#,
            None,
            r#": {"detail": "no plan"}"#,
        ),
        (
            "404 Not Found",
            r#"{"success": false, "message": "no luck"}"#,
            None,
            ": no luck",
        ),
        (
            "404 Not Found",
            "<html>nginx</html>",
            None,
            "(404 Not Found)",
        ),
        (
            "429 Too Many Requests",
            "slow down",
            None,
            "(429 Too Many Requests): slow down; retry after 61 s",
        ),
        ("401 Unauthorized", "who are you?", None, no_token),
        ("403 Forbidden", "who are you?", None, no_token),
        (
            "401 Unauthorized",
            "who are you?",
            Some("Bearer hunter2"),
            wrong,
        ),
        (
            "403 Forbidden",
            "who are you?",
            Some("Bearer hunter2"),
            sent,
        ),
    ] {
        let wait = if code.starts_with("429") {
            "retry-after: 61\r\n"
        } else {
            ""
        };
        let service = Service::acts(vec![Act::Send(http(code, wait, reply))]).await;
        let token = token.map(|token| ("Authorization", token));
        let config = service.config().timeout(100.0).unwrap();
        let (.., message) = refused(ask(config.headers(token).unwrap()).await);
        assert!(message.ends_with(says), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
        assert_eq!(service.count(), 1);
    }
}

// H12
#[tokio::test]
async fn success_false_is_a_refusal_in_and_out_of_an_envelope() {
    let body = r#"{"success":false,"error":"maintenance"}"#;
    let service = Service::acts(vec![json(body)]).await;
    let (status, excerpt, _, message) = refused(ask(service.config()).await);
    assert_eq!((status, excerpt.as_str()), (200, body));
    assert!(message.contains("maintenance"), "{message}");
    let client = Client::new(service.config()).unwrap();
    let question = Heatmap::new("BTC", "24h", RawModel::Number(2), None).unwrap();
    match client.send(&question).await {
        Err(Error::Refused { status, .. }) => assert_eq!(status, 200),
        other => panic!("{other:?}"),
    }
    assert_eq!(service.count(), 2);
}

// H13, H19
#[tokio::test]
async fn a_reply_outside_the_contract_is_unexpected_and_requested_once() {
    let portal = http(
        "200 OK",
        "content-type: text/html; charset=utf-8\r\n",
        "<html>Sign in</html>",
    );
    let service = Service::acts(vec![Act::Send(portal)]).await;
    unexpected(ask(service.config()).await, "text/html");
    assert_eq!(service.count(), 1);
    // The content type is judged only where the body cannot be read.
    let text = http("200 OK", "content-type: text/plain\r\n", GOOD);
    let service = Service::acts(vec![Act::Send(text)]).await;
    assert_eq!(ask(service.config()).await.unwrap(), 1);
    let deep = "[".repeat(10_000);
    for body in [
        "",
        "{}",
        "null",
        "{\"success\":true,\"data\":[{\"coin\":1e400}]}",
        "\u{feff}{}",
        &deep,
    ] {
        let service = Service::acts(vec![json(body)]).await;
        unexpected(ask(service.config()).await, "");
        assert_eq!(service.count(), 1);
    }
}

// H14
#[tokio::test]
async fn a_body_beyond_the_limit_is_not_read_further() {
    let cap = |service: &Service| service.config().max_body(1000).unwrap();
    let service = Service::acts(vec![json(&" ".repeat(1001))]).await;
    unexpected(ask(cap(&service)).await, "max_body = 1000 bytes");
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let service = Service::start(move |_, _| {
        let chunks = b"400\r\n".iter().chain(&[b' '; 1024]).chain(b"\r\n");
        let chunks: Vec<u8> = chunks.copied().collect();
        Act::Flood([head.as_slice(), &chunks.repeat(100)].concat())
    })
    .await;
    unexpected(ask(cap(&service)).await, "max_body = 1000 bytes");
    // 20 MB of blanks in 19 kB, and ten times as much.
    let bomb = include_bytes!("../data/bomb.json.gz");
    for bomb in [bomb.to_vec(), bomb.repeat(10)] {
        let packed = http("200 OK", "content-encoding: gzip\r\n", bomb);
        let service = Service::acts(vec![Act::Send(packed)]).await;
        let start = Instant::now();
        unexpected(ask(cap(&service)).await, "max_body = 1000 bytes");
        assert!(start.elapsed() < Duration::from_millis(500));
        assert_eq!(service.count(), 1);
    }
    let exact = format!("{GOOD}{}", " ".repeat(1000 - GOOD.len()));
    let service = Service::acts(vec![json(&exact)]).await;
    assert_eq!(ask(cap(&service)).await.unwrap(), 1);
}

// H15
#[tokio::test]
async fn redirects_stay_with_the_service() {
    let to = |code: &str, location: &str| {
        let headers = format!("location: {location}\r\n");
        Act::Send(http(code, &headers, "moved"))
    };
    let elsewhere = Service::acts(vec![good()]).await;
    for code in [
        "301 Moved",
        "302 Found",
        "303 See",
        "307 Moved",
        "308 Moved",
    ] {
        for target in [
            elsewhere.url(),
            "http://169.254.169.254/latest/meta-data".to_owned(),
            format!("https://{}", elsewhere.at),
            format!("http://localhost:{}/", elsewhere.at.port()),
        ] {
            let service = Service::acts(vec![to(code, &target)]).await;
            let (status, body, _, message) = refused(ask(service.config()).await);
            assert!(code.starts_with(&status.to_string()));
            assert_eq!(body, "moved");
            assert!(message.contains(&target), "{message}");
            assert_eq!(service.count(), 1);
        }
        let acts = vec![
            to(code, "/a"),
            to(code, "b?x=1"),
            to(code, "/c?x=2"),
            good(),
        ];
        let service = Service::acts(acts).await;
        assert_eq!(ask(service.config().retries(0).unwrap()).await.unwrap(), 1);
        assert!(service.requests()[2].starts_with("GET /b?x=1 HTTP/1.1\r\n"));
        assert!(service.requests()[3].starts_with("GET /c?x=2 HTTP/1.1\r\n"));
    }
    assert_eq!(elsewhere.connections(), 0);

    let service = Service::acts(vec![to("307 Moved", "/again")]).await;
    let (status, _, _, message) = refused(ask(service.config()).await);
    assert_eq!(status, 307);
    assert!(message.contains("\"/again\""), "{message}");
    assert!(message.contains("at most 3 redirects"), "{message}");
    assert_eq!(service.count(), 4);
}

// H16
#[tokio::test]
async fn a_service_without_tls_is_no_answer_that_names_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let calls = tokio::spawn(async move {
        let mut calls = 0;
        while let Ok(Ok((mut stream, _))) =
            tokio::time::timeout(Duration::from_millis(500), listener.accept()).await
        {
            calls += 1;
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .unwrap();
            let mut rest = Vec::new();
            // The client hangs up.
            let _ = stream.read_to_end(&mut rest).await;
        }
        calls
    });
    match ask(Config::new(&url).unwrap()).await {
        // A machine without a trust store says that instead.
        Err(Error::NoAnswer { message, .. }) if message.contains("certificates") => {}
        Err(Error::NoAnswer { message, .. }) => {
            assert!(message.contains("TLS"), "{message}");
            assert_eq!(calls.await.unwrap(), 1);
        }
        other => panic!("{other:?}"),
    }
}

// H18
#[tokio::test]
async fn a_proxy_is_used_named_and_its_password_masked() {
    let proxy = Service::acts(vec![good(), status("407 Proxy Authentication Required")]).await;
    let through = format!("http://me:hunter2@{}", proxy.at);
    let config = || {
        let config = Config::new("http://data.example").unwrap();
        config.proxy(Some(&through)).unwrap()
    };
    assert_eq!(ask(config()).await.unwrap(), 1);
    let request = &proxy.requests()[0];
    assert!(
        request.starts_with("GET http://data.example/api/"),
        "{request}"
    );
    assert!(
        request
            .to_lowercase()
            .contains("proxy-authorization: basic ")
    );
    let (code, _, _, message) = refused(ask(config()).await);
    assert_eq!(code, 407);
    assert!(
        message.contains(&proxy.at.to_string()) && !message.contains("hunter2"),
        "{message}"
    );

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = listener.local_addr().unwrap();
    drop(listener);
    let config = Config::new("http://data.example")
        .unwrap()
        .retries(0)
        .unwrap();
    let config = config
        .proxy(Some(&format!("http://me:hunter2@{dead}")))
        .unwrap();
    let error = ask(config).await.unwrap_err();
    let text = chain(&error);
    let named = format!("through the proxy http://{dead}) refused");
    assert!(text.contains(&named), "{text}");
    assert!(!text.contains("hunter2"), "{text}");

    // A tunnel.
    let proxy = Service::acts(vec![status("407 Proxy Authentication Required")]).await;
    let config = Config::new("https://data.example").unwrap();
    let config = config.retries(0).unwrap();
    let through = format!("http://me:hunter2@{}", proxy.at);
    let error = ask(config.proxy(Some(&through)).unwrap())
        .await
        .unwrap_err();
    let text = chain(&error);
    assert!(!text.contains("hunter2"), "{text}");
    // A machine without a trust store says that instead.
    if !text.contains("certificates") {
        assert!(text.contains("through the proxy"), "{text}");
        assert!(proxy.requests()[0].starts_with("CONNECT data.example:443 "));
    }
}

#[tokio::test]
async fn rate_limit_waits_do_not_count_against_the_deadline() {
    let service = Service::acts(vec![good()]).await;
    let config = service.config().rate_limit(Some(20.0)).unwrap();
    let client = Client::new(config.timeout(0.2).unwrap()).unwrap();
    let start = Instant::now();
    let calls: Vec<_> = (0..11)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { ask_with(&client).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), 1);
    }
    assert!(start.elapsed() >= Duration::from_millis(500));
}

#[tokio::test]
async fn compressed_answers_are_taken_and_damaged_ones_refused() {
    // gzip -n of {"success":true,"data":[]}
    let gzip: &[u8] = include_bytes!("../data/empty_rows.json.gz");
    let packed = http("200 OK", "content-encoding: gzip\r\n", gzip);
    let service = Service::acts(vec![Act::Send(packed)]).await;
    assert_eq!(ask(service.config()).await.unwrap(), 0);
    let torn = http(
        "200 OK",
        "content-encoding: gzip\r\n",
        &gzip[..gzip.len() / 2],
    );
    let service = Service::acts(vec![Act::Send(torn)]).await;
    unexpected(ask(service.config()).await, "cannot be decompressed");
    assert_eq!(service.count(), 1);
}

#[tokio::test]
async fn the_client_is_usable_after_every_fault() {
    let mut truncated = http("200 OK", "", GOOD);
    truncated.pop();
    let faults = vec![
        Act::Last(b"nonsense\r\n\r\n".to_vec()),
        Act::Last(Vec::new()),
        Act::Reset(Vec::new()),
        Act::Last(truncated),
        status("404 Not Found"),
        status("503 Service Unavailable"),
        Act::Send(http("302 Found", "location: http://127.0.0.1:9/\r\n", "")),
        json(r#"{"success": false}"#),
        json("{"),
        json(&" ".repeat(1001)),
        Act::Send(http("200 OK", "content-encoding: gzip\r\n", "no gzip")),
    ];
    let number = faults.len();
    let script = move |n: usize, _: &str| match faults.get(n / 2) {
        Some(fault) if n.is_multiple_of(2) => fault.clone(),
        _ => good(),
    };
    let service = Service::start(script).await;
    let config = service.config().retries(0).unwrap();
    let client = Client::new(config.max_body(1000).unwrap()).unwrap();
    for fault in 0..number {
        assert!(ask_with(&client).await.is_err(), "{fault}");
        assert_eq!(ask_with(&client).await.unwrap(), 1, "{fault}");
    }
    assert_eq!(service.count(), 2 * number);
}

/// Edits of a fixture, and where the edited reply is damaged, if it is.
type Edits = [(&'static str, &'static str, Option<&'static str>)];

async fn check_edits<E: DialectQuery>(question: Result<E, BadQuery>, reply: &str, edits: &Edits) {
    let question = question.unwrap();
    for &(from, to, damaged) in edits {
        assert!(reply.contains(from), "{from}");
        let service = Service::acts(vec![json(&reply.replacen(from, to, 1))]).await;
        let client = Client::new(service.config()).unwrap();
        match (client.send(&question).await, damaged) {
            (Ok(_), None) => {}
            (Err(Error::UnexpectedReply { path, message }), Some(place)) => {
                assert_eq!(path, place, "{to}: {message}");
            }
            (other, _) => panic!("{}: {other:?} with {to}", E::NAME),
        }
    }
}

#[tokio::test]
async fn the_answer_to_another_question_is_damage() {
    let (bitcoin, ether) = (r#""symbol": "BTC""#, r#""symbol": "ETH""#);
    check_edits(
        Heatmap::new("BTC", "24h", RawModel::Number(2), None),
        include_str!("../data/heatmap.json"),
        &[
            (bitcoin, ether, Some("symbol")),
            (r#""range": "24h""#, r#""range": "7d""#, Some("range")),
            (r#""model": 2"#, r#""model": 3"#, Some("model")),
            // Other spellings of the same question.
            (bitcoin, r#""symbol": "btc""#, None),
            (r#""range": "24h""#, r#""range": "1d""#, None),
        ],
    )
    .await;
    check_edits(
        Liqmap::new("BTC", "1d", None, None, None),
        include_str!("../data/liqmap.json"),
        &[
            (bitcoin, ether, Some("symbol")),
            (r#""range": "1d""#, r#""range": "7d""#, Some("range")),
            (r#""range": "1d""#, r#""range": "24h""#, None),
        ],
    )
    .await;
    check_edits(
        Levels::new("BTC", None),
        include_str!("../data/levels.json"),
        &[
            (bitcoin, ether, Some("data.symbol")),
            (bitcoin, r#""symbol": " btc ""#, None),
        ],
    )
    .await;
    check_edits(
        Maxpain::new("BTC", None),
        include_str!("../data/maxpain.json"),
        &[(bitcoin, r#""symbol": """#, Some("data.symbol"))],
    )
    .await;
}

#[tokio::test]
async fn endpoints_go_to_their_own_paths() {
    let service = Service::acts(vec![status("404 Not Found")]).await;
    let client = Client::new(service.config()).unwrap();
    let _ = client.send(&Overview::default()).await;
    let _ = client.send(&Chart::new("BTCUSDT").unwrap()).await;
    let requests = service.requests();
    assert!(requests[0].starts_with("GET /api/liquidations/overview HTTP/1.1"));
    assert!(requests[1].starts_with("GET /api/liquidations/chart?symbol=BTCUSDT HTTP/1.1"));
}

/// A proxy that refuses connections.
const DEAD_PROXY: &str = "http://me:hunter2@127.0.0.1:9";

/// Runs the ignored test `name` of this file in a process of its own with these environment variables.
fn in_a_process(name: &str, environment: &[(&str, &str)]) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    for other in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(other);
        command.env_remove(other.to_lowercase());
    }
    let output = command
        .args([
            &format!("faults::{name}"),
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{output:?}"
    );
}

#[test]
fn loopback_connections_bypass_the_proxy_of_the_environment() {
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        in_a_process("loopback_answers", &[(name, DEAD_PROXY)]);
    }
}

// H18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_environments_proxy_is_used_and_named_with_its_variable() {
    let proxy = Service::acts(vec![good()]).await;
    in_a_process("a_distant_service_answers", &[("HTTP_PROXY", &proxy.url())]);
    assert!(proxy.requests()[0].starts_with("GET http://data.example/"));
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        in_a_process("a_dead_proxy_is_named", &[(name, DEAD_PROXY)]);
    }
    // An explicit proxy takes precedence.
    in_a_process(
        "http_through_a_proxy_answers",
        &[("HTTP_PROXY", DEAD_PROXY)],
    );
}

#[test]
fn http_works_without_a_trust_store() {
    let environment = [
        ("SSL_CERT_FILE", "/dev/null"),
        ("SSL_CERT_DIR", "/dev/null"),
    ];
    in_a_process("loopback_answers", &environment);
    in_a_process("http_through_a_proxy_answers", &environment);
    in_a_process("https_names_the_missing_trust_store", &environment);
}

#[tokio::test]
#[ignore = "run by others in a process of its own"]
async fn loopback_answers() {
    let service = Service::acts(vec![good()]).await;
    for host in ["127.0.0.1", "localhost"] {
        let config = Config::new(&format!("http://{host}:{}", service.at.port())).unwrap();
        assert_eq!(ask(config).await.unwrap(), 1);
    }
}

#[tokio::test]
#[ignore = "run by others in a process of its own"]
async fn a_distant_service_answers() {
    let config = Config::new("http://data.example").unwrap();
    assert_eq!(ask(config).await.unwrap(), 1);
}

#[tokio::test]
#[ignore = "run by others in a process of its own"]
async fn a_dead_proxy_is_named() {
    let is_proxy = |name: &String| name.to_lowercase().ends_with("_proxy");
    let name = std::env::vars()
        .map(|(name, _)| name)
        .find(is_proxy)
        .unwrap();
    let config = Config::new("http://data.example").unwrap();
    let error = ask(config.retries(0).unwrap()).await.unwrap_err();
    let text = chain(&error);
    let named = format!(
        "data.example through the proxy http://127.0.0.1:9 ({name}) refused the connection"
    );
    assert!(text.contains(&named), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
#[ignore = "run by others in a process of its own"]
async fn http_through_a_proxy_answers() {
    let proxy = Service::acts(vec![good()]).await;
    let config = Config::new("http://data.example").unwrap();
    let config = config.proxy(Some(&proxy.url())).unwrap();
    assert_eq!(ask(config).await.unwrap(), 1);
}

#[tokio::test]
#[ignore = "run by others in a process of its own"]
async fn https_names_the_missing_trust_store() {
    let config = Config::new("https://127.0.0.1:1").unwrap();
    no_answer(ask(config).await, "SSL_CERT_FILE");
}
