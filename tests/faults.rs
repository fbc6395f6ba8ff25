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
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use liqdata::api::{Chart, Coins, Heatmap, Overview, RawModel};
use liqdata::client::{Client, Config, Error};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// What the service does with one request.
#[derive(Clone)]
enum Act {
    /// Sends these bytes and waits for the next request.
    Send(Vec<u8>),
    /// Sends these bytes and closes the connection.
    Last(Vec<u8>),
    /// Closes the connection with a reset.
    Reset,
    /// Sends these bytes, then one byte at each tick.
    Drip(Vec<u8>, Duration),
    /// Sends these bytes over and over.
    Flood(Vec<u8>),
}

/// A scripted service.
struct Service {
    at: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Service {
    /// Answers the n-th request with `script(n, request)`.
    async fn start(script: impl Fn(usize, &str) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(script);
        let log = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                tokio::spawn(async move { serve(stream, &*script, &log).await });
            }
        });
        Self { at, requests }
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
        self.requests.lock().unwrap().clone()
    }

    fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

async fn serve(
    mut stream: TcpStream,
    script: &(dyn Fn(usize, &str) -> Act + Send + Sync),
    log: &Mutex<Vec<String>>,
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
            let mut log = log.lock().unwrap();
            log.push(request.clone());
            log.len() - 1
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
            Act::Reset => {
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
                while stream.write_all(&bytes).await.is_ok() {}
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

fn question() -> Coins {
    Coins::new("24h", 30).unwrap()
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

#[track_caller]
fn no_answer(result: Result<usize, Error>, says: &str) {
    match result {
        Err(Error::NoAnswer { message, .. }) => assert!(message.contains(says), "{message}"),
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
async fn a_good_answer_is_asked_for_once_with_its_query_and_headers() {
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
async fn a_refused_connection_is_no_answer_after_all_retries() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let config = Config::new(&url).unwrap().retries(2).unwrap();
    let result = ask(config).await;
    no_answer(result, "refused the connection; 3 attempts");
}

// H2
#[tokio::test]
async fn a_service_that_does_not_accept_fails_at_the_connect_timeout() {
    // A backlog of one that nobody accepts: once it is full, the system drops further attempts to connect.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let at = listener.local_addr().unwrap();
    let mut held = Vec::new();
    while let Ok(stream) =
        tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(at)).await
    {
        held.push(stream.unwrap());
    }
    let config = || {
        let config = Config::new(&format!("http://{at}")).unwrap();
        config.connect_timeout(0.3).unwrap()
    };
    let start = Instant::now();
    no_answer(ask(config().retries(0).unwrap()).await, "within 0.3 s");
    let took = start.elapsed().as_secs_f64();
    assert!((0.24..0.6).contains(&took), "{took}");
    no_answer(ask(config().retries(1).unwrap()).await, "2 attempts");
}

// H4, H17
#[tokio::test]
async fn a_reset_is_tried_again() {
    let partial = b"HTTP/1.1 200 OK\r\ncontent-le".to_vec();
    for act in [Act::Reset, Act::Last(Vec::new()), Act::Last(partial)] {
        let service = Service::acts(vec![act.clone(), good()]).await;
        assert_eq!(ask(service.config()).await.unwrap(), 1);
        assert_eq!(service.count(), 2);
        let service = Service::acts(vec![act]).await;
        let result = ask(service.config().retries(1).unwrap()).await;
        no_answer(result, "closed the connection");
        assert_eq!(service.count(), 2);
    }
}

// H17
#[tokio::test]
async fn an_idle_connection_that_died_is_replaced_at_once() {
    let service = Service::start(|n, _| if n == 1 { Act::Reset } else { good() }).await;
    let client = Client::new(service.config().retries(1).unwrap()).unwrap();
    for _ in 0..3 {
        assert_eq!(client.send(&question()).await.unwrap().len(), 1);
    }
    assert_eq!(service.count(), 4);
}

// H5
#[tokio::test]
async fn a_body_that_breaks_off_is_never_parsed_and_tried_again() {
    let mut truncated = http("200 OK", "", format!("{GOOD}   "));
    truncated.truncate(truncated.len() - 3);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{GOOD}\r\n",
        GOOD.len()
    );
    for broken in [truncated, chunked.into_bytes()] {
        let service = Service::acts(vec![Act::Last(broken.clone()), good()]).await;
        assert_eq!(ask(service.config()).await.unwrap(), 1);
        assert_eq!(service.count(), 2);
        let service = Service::acts(vec![Act::Last(broken)]).await;
        no_answer(
            ask(service.config().retries(0).unwrap()).await,
            "broke off after",
        );
    }
}

// H6, H7
#[tokio::test]
async fn a_drip_ends_at_the_total_deadline() {
    let tick = Duration::from_millis(20);
    let body = Act::Drip(
        b"HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n".to_vec(),
        tick,
    );
    let head = Act::Drip(b"HTTP/1.1 200 OK\r\nx: ".to_vec(), tick);
    for act in [body, head] {
        let service = Service::acts(vec![act]).await;
        let start = Instant::now();
        let result = ask(service.config().timeout(0.5).unwrap()).await;
        let took = start.elapsed().as_secs_f64();
        match result {
            Err(Error::TooSlow { seconds, .. }) => assert!((seconds - 0.5).abs() < 1e-9),
            other => panic!("{other:?}"),
        }
        assert!((0.45..0.75).contains(&took), "{took}");
    }
}

// H7
#[tokio::test]
async fn headers_without_end_are_an_error() {
    let line = format!("x-{}: y\r\n", "n".repeat(1000)).into_bytes();
    let service = Service::start(move |_, _| {
        Act::Flood([b"HTTP/1.1 200 OK\r\n".as_slice(), &line.repeat(1000)].concat())
    })
    .await;
    no_answer(ask(service.config()).await, "does not answer in HTTP");
    assert_eq!(service.count(), 1);
}

#[tokio::test]
async fn what_is_not_http_is_no_answer() {
    let service = Service::acts(vec![Act::Last(b"SSH-2.0-OpenSSH\r\n\r\n".to_vec())]).await;
    no_answer(ask(service.config()).await, "does not answer in HTTP");
    assert_eq!(service.count(), 1);
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

// H9
#[tokio::test]
async fn what_may_get_better_is_tried_again_within_the_jitter_bounds() {
    for bad in [
        "408 Request Timeout",
        "425 Too Early",
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
    ] {
        let service = Service::acts(vec![status(bad), status(bad), good()]).await;
        let start = Instant::now();
        assert_eq!(ask(service.config()).await.unwrap(), 1);
        let took = start.elapsed().as_secs_f64();
        assert!(took < 0.1 + 0.2 + 0.4, "{bad}: {took}");
        assert_eq!(service.count(), 3);
    }
}

#[tokio::test]
async fn n_retries_are_n_plus_one_attempts_and_a_teapot_gets_one() {
    let service = Service::acts(vec![status("500 Oh")]).await;
    assert_eq!(
        refused(ask(service.config().retries(3).unwrap()).await).0,
        500
    );
    assert_eq!(service.count(), 4);
    let headers = "retry-after: 0\r\n";
    let teapot = Act::Send(http("418 I'm a teapot", headers, ""));
    let service = Service::acts(vec![teapot]).await;
    assert_eq!(refused(ask(service.config()).await).0, 418);
    assert_eq!(service.count(), 2);
}

// H10
#[tokio::test]
async fn a_dead_service_is_not_stormed() {
    let service = Service::acts(vec![status("503 Service Unavailable")]).await;
    let client = Client::new(service.config()).unwrap();
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.send(&question()).await.map(|rows| rows.len()) })
        })
        .collect();
    for call in calls {
        assert_eq!(refused(call.await.unwrap()).0, 503);
    }
    assert!(
        (200..=236).contains(&service.count()),
        "{}",
        service.count()
    );
    let start = Instant::now();
    assert_eq!(refused(ask_with(&client).await).0, 503);
    assert!(start.elapsed() < Duration::from_millis(100), "fails fast");
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
        "404 Not Found",
        "422 Unprocessable",
        "501 No",
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
async fn what_is_not_the_contract_is_an_unexpected_reply_that_is_asked_once() {
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
async fn a_body_over_the_cap_is_not_read_on() {
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
    // 20 MB of blanks in 19 kB.
    let bomb = include_bytes!("data/bomb.json.gz");
    let packed = http("200 OK", "content-encoding: gzip\r\n", bomb);
    let service = Service::acts(vec![Act::Send(packed)]).await;
    unexpected(ask(cap(&service)).await, "max_body = 1000 bytes");
    assert_eq!(service.count(), 1);
    let exact = format!("{GOOD}{}", " ".repeat(1000 - GOOD.len()));
    let service = Service::acts(vec![json(&exact)]).await;
    assert_eq!(ask(cap(&service)).await.unwrap(), 1);
}

// H15
#[tokio::test]
async fn redirects_stay_with_the_service() {
    let to = |location: &str| {
        let headers = format!("location: {location}\r\n");
        Act::Send(http("302 Found", &headers, "moved"))
    };
    let elsewhere = Service::acts(vec![good()]).await;
    for target in [
        elsewhere.url(),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        format!("https://{}", elsewhere.at),
        format!("http://localhost:{}/", elsewhere.at.port()),
    ] {
        let service = Service::acts(vec![to(&target)]).await;
        let (status, body, _, message) = refused(ask(service.config()).await);
        assert_eq!((status, body.as_str()), (302, "moved"));
        assert!(message.contains(&target), "{message}");
        assert_eq!(service.count(), 1);
    }
    assert_eq!(elsewhere.count(), 0);

    let service = Service::acts(vec![to("/a"), to("/b"), to("/c"), good()]).await;
    assert_eq!(ask(service.config().retries(0).unwrap()).await.unwrap(), 1);
    assert!(service.requests()[3].starts_with("GET /c HTTP/1.1\r\n"));
    let service = Service::acts(vec![to("/again")]).await;
    let (status, _, _, message) = refused(ask(service.config()).await);
    assert_eq!(status, 302);
    assert!(message.contains("more than 3 redirects"), "{message}");
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
    let (status, _, _, message) = refused(ask(config()).await);
    assert_eq!(status, 407);
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
    assert!(
        text.contains(&dead.to_string()) && text.contains("refused"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
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
    let gzip: &[u8] = include_bytes!("data/empty_rows.json.gz");
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
    let service = Service::acts(vec![
        Act::Last(b"nonsense\r\n\r\n".to_vec()),
        status("404 Not Found"),
        json("{"),
        good(),
    ])
    .await;
    let client = Client::new(service.config()).unwrap();
    for _ in 0..3 {
        assert!(ask_with(&client).await.is_err());
    }
    assert_eq!(ask_with(&client).await.unwrap(), 1);
}

#[tokio::test]
async fn endpoints_go_to_their_own_paths() {
    let service = Service::acts(vec![status("404 Not Found")]).await;
    let client = Client::new(service.config()).unwrap();
    let _ = client.send(&Overview).await;
    let _ = client.send(&Chart::new("BTCUSDT").unwrap()).await;
    let requests = service.requests();
    assert!(requests[0].starts_with("GET /api/liquidations/overview HTTP/1.1"));
    assert!(requests[1].starts_with("GET /api/liquidations/chart?symbol=BTCUSDT HTTP/1.1"));
}

/// Runs the ignored test `name` of this file in a process of its own with these environment variables.
fn in_a_process(name: &str, environment: &[(&str, &str)]) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--ignored", "--nocapture"])
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
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
fn loopback_is_direct_whatever_proxy_the_environment_names() {
    let environment = [
        ("HTTP_PROXY", "http://127.0.0.1:9"),
        ("http_proxy", "http://127.0.0.1:9"),
    ];
    in_a_process("loopback_answers", &environment);
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
    assert_eq!(ask(service.config()).await.unwrap(), 1);
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
