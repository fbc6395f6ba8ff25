//! Event streams behind real sockets: each client's share, hang-ups, and revoked tokens.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::events::{grow, growing, order_of_cents};
use super::sockets::{Peer, Running, header};
use super::*;
use crate::server::{Access, Limits, ServerSettings, Tokens};

const PATH: &str = "/api/liquidations/stream";

/// Opens a stream and returns it with the head of the answer.
async fn follow(server: &Running, address: &str, lines: &str) -> (Peer, String) {
    let mut peer = server.connect_from(address).await;
    let lines = format!("host: localhost\r\n{lines}");
    peer.ask_with(PATH, &lines).await;
    let head = peer.head().await;
    (peer, head)
}

/// Opens streams until one is admitted, for at most `within`.
async fn admitted(server: &Running, address: &str, within: Duration) -> Peer {
    let began = Instant::now();
    loop {
        let (peer, head) = follow(server, address, "").await;
        if head.starts_with("HTTP/1.1 200") {
            return peer;
        }
        assert!(began.elapsed() < within, "{head}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn one_client_follows_a_quarter_of_the_streams_at_most() {
    let (_, service, _feed) = growing(100);
    let limits = Limits {
        streams: 8,
        ..Limits::default()
    };
    let server = Running::start(limits, service).await;
    let mut open = Vec::new();
    for address in ["127.0.0.2", "127.0.0.3", "127.0.0.4"] {
        for _ in 0..2 {
            let (peer, head) = follow(&server, address, "").await;
            assert!(head.starts_with("HTTP/1.1 200"), "{address}: {head}");
            open.push(peer);
        }
        let mut third = server.connect_from(address).await;
        third.ask(PATH).await;
        let (head, body) = third.answer().await;
        assert!(head.starts_with("HTTP/1.1 429"), "{head}");
        assert_eq!(header(&head, "retry-after"), Some("1"));
        assert!(body.contains("2 event streams of yours"), "{body}");
        // The share of streams takes nothing from other answers.
        third.ask("/health").await;
        assert_eq!(third.status().await, 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_forwarded_address_has_the_share() {
    let (_, service, _feed) = growing(100);
    let settings = ServerSettings {
        limits: Limits {
            streams: 4,
            ..Limits::default()
        },
        trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()],
        ..ServerSettings::default()
    };
    let server = Running::with(settings, service).await;
    let mut open = Vec::new();
    for (client, status) in [
        ("192.0.2.1", "200"),
        ("192.0.2.1", "429"),
        ("2001:db8:0:1::1", "200"),
        // The same customer's network.
        ("2001:db8:0:1::2", "429"),
        ("2001:db8:0:2::1", "200"),
    ] {
        let line = format!("x-forwarded-for: {client}\r\n");
        let (peer, head) = follow(&server, "127.0.0.1", &line).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        open.push(peer);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_limit_of_its_own_replaces_the_quarter() {
    let (_, service, _feed) = growing(100);
    let limits = Limits {
        streams: 4,
        streams_per_peer: Some(4),
        ..Limits::default()
    };
    let server = Running::start(limits, service).await;
    let mut open = Vec::new();
    for status in ["200", "200", "200", "200", "429"] {
        let (peer, head) = follow(&server, "127.0.0.1", "").await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        open.push(peer);
    }
    server.stop().await;
}

#[tokio::test]
async fn streams_never_take_more_than_a_quarter_of_few_connections() {
    let limits = Limits {
        connections: 20,
        ..Limits::default()
    };
    assert_eq!(limits.stream_share(), 5);
    assert_eq!(Limits::default().stream_share(), 64);
}

#[tokio::test]
async fn a_reader_that_hung_up_frees_its_place() {
    let (market, _feed) = Market::growing(100, "a test");
    let mut shared = PageState::new(Arc::new(market));
    // Three of the usual intervals are less than the five seconds that are promised.
    assert!(3 * shared.keep_alive < Duration::from_secs(5));
    shared.keep_alive = Duration::from_millis(50);
    let limits = Limits {
        streams: 4,
        ..Limits::default()
    };
    let server = Running::start(limits, routes(shared)).await;
    for reset in [false, true] {
        let gone = admitted(&server, "127.0.0.1", Duration::from_secs(5)).await;
        if reset {
            gone.reset();
        } else {
            drop(gone);
        }
    }
    admitted(&server, "127.0.0.1", Duration::from_secs(5)).await;
    server.stop().await;
}

#[tokio::test]
async fn a_stream_ends_when_its_token_leaves_the_file() {
    const VALID: &str = "correct-horse-battery";
    const REVOKED: &str = "another-horse-battery";
    let file = std::env::temp_dir().join(format!("liqdata-revoked-{}", fastrand::u64(..)));
    let line = |token: &str| format!("{}\n", Tokens::digest(token));
    std::fs::write(&file, line(VALID) + &line(REVOKED)).unwrap();
    let settings = ServerSettings {
        access: Access {
            tokens: Tokens::default().with_file(PathBuf::from(&file)).unwrap(),
            ..Access::default()
        },
        ..ServerSettings::default()
    };
    let (_, service, feed) = growing(100);
    let server = Running::with(settings, service).await;
    let given = |token: &str| format!("authorization: Bearer {token}\r\n");
    let (mut valid, head) = follow(&server, "127.0.0.1", &given(VALID)).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let (mut revoked, head) = follow(&server, "127.0.0.1", &given(REVOKED)).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");

    std::fs::write(&file, line(VALID)).unwrap();
    let began = Instant::now();
    revoked.chunks().await;
    assert!(began.elapsed() < Duration::from_secs(1));
    // Its connection is open, but the token no longer opens anything.
    let lines = format!("host: localhost\r\n{}", given(REVOKED));
    revoked.ask_with(PATH, &lines).await;
    assert_eq!(revoked.status().await, 401);

    // The stream of the other token goes on.
    grow(&feed, [order_of_cents(7)]);
    valid.until("\"value_usd\":\"0.07\"").await;
    server.stop().await;
    std::fs::remove_file(&file).unwrap();
}
