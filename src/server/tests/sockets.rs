//! Tests the server over a real socket: limits for each client, and access checks.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use futures_util::stream;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::server::{Access, Limits, ServerSettings, Tokens, run_with};

/// Timeout of a wait. Every wait here normally takes far less, so a timeout means that the server hangs.
const STUCK: Duration = Duration::from_secs(20);

pub(super) struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
}

impl Running {
    pub(super) async fn start(limits: Limits, router: Router) -> Self {
        let settings = ServerSettings {
            limits,
            ..ServerSettings::default()
        };
        Self::with(settings, router).await
    }

    pub(super) async fn with(settings: ServerSettings, router: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let shutdown = async { drop(stopped.await) };
            run_with(settings, listener, router, shutdown).await
        });
        Self {
            address,
            stop,
            task,
        }
    }

    pub(super) async fn connect(&self) -> Peer {
        Peer(TcpStream::connect(self.address).await.unwrap())
    }

    /// Connects from another address, as another machine would.
    pub(super) async fn connect_from(&self, address: &str) -> Peer {
        let socket = TcpSocket::new_v4().unwrap();
        socket
            .bind(SocketAddr::new(address.parse().unwrap(), 0))
            .unwrap();
        Peer(socket.connect(self.address).await.unwrap())
    }

    pub(super) async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(STUCK, self.task).await.unwrap().unwrap().unwrap();
    }
}

pub(super) struct Peer(TcpStream);

impl Peer {
    pub(super) async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    pub(super) async fn ask(&mut self, path: &str) {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        self.send(&head).await;
    }

    pub(super) async fn ask_with(&mut self, path: &str, lines: &str) {
        self.send(&format!("GET {path} HTTP/1.1\r\n{lines}\r\n"))
            .await;
    }

    /// Closes the connection with a reset.
    pub(super) fn reset(self) {
        self.0.set_zero_linger().unwrap();
    }

    /// Returns the status of the next answer.
    pub(super) async fn status(&mut self) -> u16 {
        let (head, _) = self.answer().await;
        head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Reads up to and with `end`.
    pub(super) async fn until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            text.push(timeout(STUCK, self.0.read_u8()).await.unwrap().unwrap());
        }
        String::from_utf8(text).unwrap()
    }

    /// The head of the next answer.
    pub(super) async fn head(&mut self) -> String {
        self.until("\r\n\r\n").await
    }

    /// Reads a chunked body to its end.
    pub(super) async fn chunks(&mut self) {
        self.until("\r\n0\r\n\r\n").await;
    }

    /// Reads the head and the body of the next answer. The connection stays open.
    pub(super) async fn answer(&mut self) -> (String, String) {
        let head = self.head().await;
        let length = header(&head, "content-length").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        let read = self.0.read_exact(&mut body);
        timeout(STUCK, read).await.unwrap().unwrap();
        (head, String::from_utf8(body).unwrap())
    }

    /// Reads until the connection ends, possibly with a reset.
    pub(super) async fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let _ = timeout(STUCK, self.0.read_to_end(&mut rest)).await.unwrap();
        String::from_utf8(rest).unwrap()
    }
}

pub(super) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(given, _)| given.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

/// Creates a router with an answer that waits for `release`, and a channel that reports each waiting answer.
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
        let refused = run_with(
            ServerSettings {
                limits,
                ..ServerSettings::default()
            },
            listener,
            hello(),
            async {},
        )
        .await;
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
    // At shutdown, the server closes the listener before it waits for answers, so new connections soon fail.
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
async fn a_connection_beyond_the_limit_is_refused_with_a_retry() {
    let release = Arc::new(Notify::new());
    let (router, mut begins) = waiting(&release);
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let server = Running::start(limits, router).await;
    let mut first = server.connect().await;
    first.ask("/").await;
    begins.recv().await.unwrap();

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

    release.notify_one();
    assert_eq!(first.answer().await.1, "done");
    // The first connection is idle now, so the third connection evicts it.
    let mut third = server.connect().await;
    third.ask("/").await;
    begins.recv().await.unwrap();
    release.notify_one();
    assert_eq!(third.answer().await.1, "done");
    assert_eq!(first.rest().await, "");
    server.stop().await;
}

#[tokio::test]
async fn endless_heads_block_no_other_client() {
    let limits = Limits {
        connections: 16,
        per_peer: 8,
        ..Limits::default()
    };
    let server = Running::start(limits, hello()).await;
    let mut own = server.connect_from("127.0.0.2").await;
    own.ask("/").await;
    assert_eq!(own.answer().await.1, "hello");
    let mut open = Vec::new();
    for _ in 0..100 {
        let mut peer = server.connect().await;
        peer.send("GET / HTTP/1.1\r\nx-slow: ").await;
        open.push(peer);
    }
    // A peer with too many connections affects neither other peers nor its own new requests.
    own.ask("/").await;
    assert_eq!(own.answer().await.1, "hello");
    for address in ["127.0.0.1", "127.0.0.3"] {
        let mut other = server.connect_from(address).await;
        other.ask("/").await;
        assert_eq!(other.answer().await.1, "hello", "{address}");
    }
    // Many peers, each within its limit, use all slots. A further connection then evicts the one that has been idle
    // longest.
    for peer in 4..40 {
        let mut peer = server.connect_from(&format!("127.0.0.{peer}")).await;
        peer.send("GET / HTTP/1.1\r\nx-slow: ").await;
        open.push(peer);
    }
    let mut other = server.connect_from("127.0.0.99").await;
    other.ask("/").await;
    assert_eq!(other.answer().await.1, "hello");
    let began = Instant::now();
    server.stop().await;
    assert!(
        began.elapsed() < limits.grace,
        "no connection is waited for"
    );
}

#[tokio::test]
async fn the_one_that_makes_room_is_the_idlest() {
    let limits = Limits {
        connections: 3,
        ..Limits::default()
    };
    let server = Running::start(limits, hello()).await;
    let mut peers = Vec::new();
    for _ in 0..3 {
        let mut peer = server.connect().await;
        peer.ask("/").await;
        peer.answer().await;
        peers.push(peer);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    peers[0].ask("/").await;
    peers[0].answer().await;
    let mut more = server.connect().await;
    more.ask("/").await;
    assert_eq!(more.answer().await.1, "hello");
    assert_eq!(peers[1].rest().await, "");
    for index in [0, 2] {
        peers[index].ask("/").await;
        assert_eq!(peers[index].answer().await.1, "hello");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_head_has_less_time_than_silence() {
    let limits = Limits {
        head: Duration::from_millis(200),
        ..Limits::default()
    };
    let server = Running::start(limits, hello()).await;
    let mut silent = server.connect().await;
    let mut slow = server.connect().await;
    slow.send("GET / HTTP/1.1\r\nx-slow: ").await;
    let began = Instant::now();
    assert_eq!(slow.rest().await, "");
    assert!(began.elapsed() < limits.idle / 2);
    silent.ask("/").await;
    assert_eq!(silent.answer().await.1, "hello");
    server.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_not_made_in_time_is_refused() {
    let limits = Limits {
        request: Duration::from_millis(50),
        ..Limits::default()
    };
    let (router, mut begins) = waiting(&Arc::new(Notify::new()));
    let server = Running::start(limits, router).await;
    let mut peer = server.connect().await;
    peer.ask("/").await;
    begins.recv().await.unwrap();
    let (head, body) = peer.answer().await;
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert_eq!(header(&head, "retry-after"), Some("5"));
    assert!(body.contains("within 0.05 s"), "{body}");
    server.stop().await;
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_client_has_a_share_of_its_own() {
    let release = Arc::new(Notify::new());
    let (router, mut begins) = waiting(&release);
    let settings = ServerSettings {
        limits: Limits {
            per_peer: 2,
            ..Limits::default()
        },
        trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()],
        ..ServerSettings::default()
    };
    let server = Running::with(settings, router).await;
    let mut busy = Vec::new();
    let lines = |client: &str| format!("host: localhost\r\nx-forwarded-for: {client}\r\n");
    // One peer opens more connections than its limit. The limit does not apply, because the peer is a trusted proxy.
    for client in ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.2"] {
        let mut peer = server.connect().await;
        peer.ask_with("/", &lines(client)).await;
        begins.recv().await.unwrap();
        busy.push(peer);
    }
    let mut more = server.connect().await;
    more.ask_with("/", &lines("192.0.2.1")).await;
    let (head, body) = more.answer().await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    assert!(body.contains("2 requests of yours"), "{body}");
    more.ask_with("/", &lines("192.0.2.3")).await;
    begins.recv().await.unwrap();
    busy.push(more);
    release.notify_waiters();
    for peer in &mut busy {
        assert_eq!(peer.answer().await.1, "done");
    }
    server.stop().await;
}

const TOKEN: &str = "correct-horse-battery";

async fn statuses(server: &Running, all: &[(&str, u16)]) {
    for (lines, status) in all {
        let mut peer = server.connect().await;
        peer.ask_with("/", lines).await;
        assert_eq!(peer.status().await, *status, "{lines:?}");
    }
}

#[tokio::test]
async fn only_a_token_opens_a_server_that_has_one() {
    let access = Access {
        tokens: Tokens::default().with(TOKEN).unwrap(),
        ..Access::default()
    };
    let settings = ServerSettings {
        access,
        ..ServerSettings::default()
    };
    let server = Running::with(settings, hello()).await;
    let with = |line: &str| format!("host: localhost\r\n{line}\r\n");
    let given = with(&format!("authorization: Bearer {TOKEN}"));
    let lower = with(&format!("Authorization: bearer  {TOKEN} "));
    let twice = with(&format!(
        "authorization: Bearer {TOKEN}\r\nauthorization: Bearer x"
    ));
    let digest = with(&format!("authorization: Bearer {}", Tokens::digest(TOKEN)));
    statuses(
        &server,
        &[
            ("host: localhost\r\n", 401),
            (&given, 200),
            (&lower, 200),
            (&twice, 401),
            (&digest, 401),
            (&with(&format!("authorization: Basic {TOKEN}")), 401),
            (&with("authorization: Bearer"), 401),
        ],
    )
    .await;
    let mut peer = server.connect().await;
    peer.ask("/").await;
    let (head, body) = peer.answer().await;
    assert_eq!(header(&head, "www-authenticate"), Some("Bearer"));
    assert!(body.contains("token="), "{body}");
    server.stop().await;
}

#[tokio::test]
async fn tokens_of_a_file_change_while_the_server_runs() {
    let file = std::env::temp_dir().join(format!("liqdata-tokens-{}", fastrand::u64(..)));
    let line = |token: &str| format!("# who\n{}  # a name\n\n", Tokens::digest(token));
    std::fs::write(&file, line(TOKEN)).unwrap();
    let settings = ServerSettings {
        access: Access {
            tokens: Tokens::default().with_file(PathBuf::from(&file)).unwrap(),
            ..Access::default()
        },
        ..ServerSettings::default()
    };
    let server = Running::with(settings, hello()).await;
    let lines = |token: &str| format!("host: localhost\r\nauthorization: Bearer {token}\r\n");
    let (old, new) = (lines(TOKEN), lines("another-horse-battery"));
    statuses(&server, &[(&old, 200), (&new, 401)]).await;
    // If a token file cannot be parsed, the accepted tokens stay the same.
    std::fs::write(&file, "plain text\n").unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    statuses(&server, &[(&old, 200), (&new, 401)]).await;
    std::fs::write(&file, line("another-horse-battery")).unwrap();
    let changed = async {
        loop {
            let mut peer = server.connect().await;
            peer.ask_with("/", &new).await;
            if peer.status().await == 200 {
                break;
            }
        }
    };
    timeout(STUCK, changed).await.unwrap();
    statuses(&server, &[(&old, 401)]).await;
    // With a file that contains no token, the server admits no client.
    std::fs::write(&file, "").unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    statuses(&server, &[(&new, 401), ("host: localhost\r\n", 401)]).await;
    server.stop().await;
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn a_server_answers_to_its_names_alone() {
    let access = Access {
        hosts: vec!["liqdata.example.org".to_owned()],
        ..Access::default()
    };
    let settings = ServerSettings {
        access,
        ..ServerSettings::default()
    };
    let server = Running::with(settings, hello()).await;
    let own = format!("host: {}\r\n", server.address);
    statuses(
        &server,
        &[
            (&own, 200),
            ("host: localhost:1\r\n", 200),
            ("host: LOCALHOST.\r\n", 200),
            ("host: [::1]:80\r\n", 200),
            ("host: LIQDATA.example.org:443\r\n", 200),
            ("host: liqdata.example.org.\r\n", 200),
            // As in DNS rebinding, the request reaches this server under a foreign host name. Such requests are
            // refused.
            ("host: evil.example\r\n", 421),
            ("host: localhost.evil.example\r\n", 421),
            ("host: 192.0.2.1\r\n", 421),
            ("host: \r\n", 421),
            ("host: localhost\r\nhost: evil.example\r\n", 421),
            ("host: localhost\r\nhost: localhost\r\n", 421),
        ],
    )
    .await;
    server.stop().await;
}

#[tokio::test]
async fn pages_of_known_origins_alone_may_read_the_answers() {
    let access = Access {
        origins: vec!["https://board.example.org".to_owned()],
        tokens: Tokens::default().with(TOKEN).unwrap(),
        ..Access::default()
    };
    let settings = ServerSettings {
        access,
        ..ServerSettings::default()
    };
    let server = Running::with(settings, hello()).await;
    let mut peer = server.connect().await;
    let token = format!("host: localhost\r\nauthorization: Bearer {TOKEN}\r\n");
    let asked = [
        (
            "https://board.example.org",
            Some("https://board.example.org"),
        ),
        ("https://evil.example", None),
        ("null", None),
    ];
    for (origin, allowed) in asked {
        peer.ask_with("/", &format!("{token}origin: {origin}\r\n"))
            .await;
        let (head, _) = peer.answer().await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert_eq!(header(&head, "access-control-allow-origin"), allowed);
        assert_eq!(header(&head, "vary"), Some("origin"));
        // A browser sends the CORS preflight request (OPTIONS) without the token.
        peer.send(&format!(
            "OPTIONS / HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\n\
             access-control-request-method: GET\r\n\r\n"
        ))
        .await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(peer.0.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        assert_eq!(header(&head, "access-control-allow-origin"), allowed);
        let status = if allowed.is_some() { "204" } else { "401" };
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        if allowed.is_none() {
            let length = header(&head, "content-length").unwrap().parse().unwrap();
            let mut body = vec![0; length];
            peer.0.read_exact(&mut body).await.unwrap();
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_connection_that_does_not_finish_its_request_is_closed() {
    let limits = Limits {
        idle: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = Running::start(limits, hello()).await;
    for beginning in ["", "G", "GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: 1"] {
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
        // A write to a closed connection fails once the reset has arrived.
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
        "GET / HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n"
    ))
    .await;
    let (head, body) = peer.answer().await;
    assert!(head.starts_with("HTTP/1.1 431"), "{head}");
    let refusal: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(refusal.pointer("/success"), Some(&Value::Bool(false)));

    // Both refusals leave the connection open. A request within the limits is then answered.
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
    struct LogRecords(Option<oneshot::Sender<()>>);
    impl Drop for LogRecords {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }

    let (records, mut dropped) = mpsc::unbounded_channel();
    let endless = move || async move {
        let (sender, receiver) = oneshot::channel();
        records.send(receiver).unwrap();
        let chunks = stream::unfold(LogRecords(Some(sender)), |guard| async move {
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

    // Other clients are not affected.
    let mut other = server.connect().await;
    other.ask("/").await;
    assert_eq!(other.answer().await.1, "hello");
    server.stop().await;
}

#[tokio::test]
async fn a_peer_that_leaves_much_unread_is_refused_and_others_are_not() {
    // The answer is larger than the kernel's socket buffers.
    let big = Bytes::from(vec![b'x'; 32 << 20]);
    let router = Router::new()
        .route("/big", get(move || async move { big }))
        .route("/", get(|| async { "hello" }));
    let limits = Limits {
        answer_memory: 16 << 20,
        ..Limits::default()
    };
    let server = Running::start(limits, router).await;
    let mut slow = server.connect_from("127.0.0.2").await;
    slow.ask("/big").await;
    let mut head = [0; 12];
    timeout(STUCK, slow.0.read_exact(&mut head))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    let mut second = server.connect_from("127.0.0.2").await;
    second.ask("/").await;
    let (head, body) = second.answer().await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    assert_eq!(header(&head, "retry-after"), Some("1"));
    assert!(
        body.contains("bytes of earlier answers; allowed: 4194304"),
        "{body}"
    );
    let mut other = server.connect().await;
    other.ask("/").await;
    assert_eq!(other.status().await, 200);
    drop(slow);
    // Retries until the server has noticed that the slow peer has disconnected.
    let began = Instant::now();
    loop {
        second.ask("/").await;
        if second.status().await == 200 {
            break;
        }
        assert!(began.elapsed() < STUCK);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_has_closed_its_half_is_answered() {
    let slow = get(|| async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        "late"
    });
    let server = Running::start(Limits::default(), hello().route("/slow", slow)).await;
    for (path, body) in [("/", "hello"), ("/slow", "late")] {
        let mut peer = server.connect().await;
        peer.ask(path).await;
        peer.0.shutdown().await.unwrap();
        let answer = peer.rest().await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with(body), "{answer}");
    }
    // If a client closes its sending side without a request, the server closes the connection.
    let mut peer = server.connect().await;
    peer.0.shutdown().await.unwrap();
    assert_eq!(peer.rest().await, "");
    server.stop().await;
}
