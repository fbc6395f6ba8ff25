//! Asking on the caller's own thread: which connections are used, kept and let go.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use liqdata::client::{Client, Config, Error};
use liqdata::contract::Overview;

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 26\r\n\r\n{\"success\":true,\"data\":{}}";

/// What happened at the service: which connection asked, and which was closed.
#[derive(Debug, Default)]
struct Seen {
    asked: Vec<usize>,
    closed: Vec<usize>,
}

/// A service on threads of its own, so that only the caller drives the client.
struct Service {
    at: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl Service {
    fn start(
        answer: impl Fn(usize, TcpStream) -> Option<TcpStream> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (log, answer) = (Arc::clone(&seen), Arc::new(answer));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut stream = Some(stream.unwrap());
                    while let Some(mut open) = stream.take() {
                        if !request(&mut open) {
                            log.lock().unwrap().closed.push(number);
                            return;
                        }
                        let n = {
                            let mut seen = log.lock().unwrap();
                            seen.asked.push(number);
                            seen.asked.len()
                        };
                        stream = answer(n, open);
                    }
                    log.lock().unwrap().closed.push(number);
                });
            }
        });
        Self { at, seen }
    }

    fn client(&self) -> Client {
        Client::new(Config::new(&format!("http://{}", self.at)).unwrap()).unwrap()
    }

    fn asked(&self) -> Vec<usize> {
        self.seen.lock().unwrap().asked.clone()
    }

    /// Waits until `connections` are closed.
    fn wait_for_closed(&self, connections: &[usize]) {
        let patience = Instant::now() + Duration::from_secs(10);
        loop {
            let mut closed = self.seen.lock().unwrap().closed.clone();
            closed.sort_unstable();
            if closed == connections {
                return;
            }
            assert!(Instant::now() < patience, "{closed:?} are closed");
            thread::yield_now();
        }
    }
}

/// Reads one request; whether there was one.
fn request(stream: &mut TcpStream) -> bool {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"\r\n\r\n") {
        if stream.read_exact(&mut byte).is_err() {
            return false;
        }
        seen.push(byte[0]);
    }
    true
}

#[expect(clippy::unnecessary_wraps, reason = "a service may also close")]
fn keep_alive(_: usize, mut stream: TcpStream) -> Option<TcpStream> {
    stream.write_all(ANSWER.as_bytes()).unwrap();
    Some(stream)
}

fn ask(client: &Client) -> Result<(), Error> {
    let caller = client.blocking().unwrap();
    let outcome = caller
        .block_on(caller.client().send(&Overview::default()))
        .unwrap();
    caller.leave();
    outcome.map(drop)
}

#[test]
fn sequential_calls_share_a_connection() {
    let service = Service::start(keep_alive);
    let client = service.client();
    for _ in 0..5 {
        ask(&client).unwrap();
    }
    assert_eq!(service.asked(), [0; 5]);
    client.close();
    service.wait_for_closed(&[0]);
    ask(&client).unwrap();
    assert_eq!(service.asked(), [0, 0, 0, 0, 0, 1]);
}

#[test]
fn a_connection_that_was_closed_while_idle_costs_no_retry() {
    // The service answers twice, then closes; the caller drives nothing between its calls.
    let service = Service::start(|n, stream| keep_alive(n, stream).filter(|_| n % 2 == 1));
    let config = Config::new(&format!("http://{}", service.at)).unwrap();
    let client = Client::new(config.retries(0).unwrap()).unwrap();
    for closed in [&[0][..], &[0, 1], &[0, 1, 2]] {
        ask(&client).unwrap();
        ask(&client).unwrap();
        service.wait_for_closed(closed);
    }
    assert_eq!(service.asked(), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn a_cancelled_call_closes_its_connection() {
    let service = Service::start(|n, stream| {
        if n == 1 {
            Some(stream)
        } else {
            keep_alive(n, stream)
        }
    });
    let client = service.client();
    let caller = client.blocking().unwrap();
    let given_up = caller
        .block_on(async {
            let asked = Overview::default();
            let work = caller.client().send(&asked);
            tokio::time::timeout(Duration::from_millis(50), work).await
        })
        .unwrap();
    assert!(given_up.is_err());
    drop(caller);
    service.wait_for_closed(&[0]);
    ask(&client).unwrap();
    assert_eq!(service.asked(), [0, 1]);
}

#[test]
fn a_failed_call_leaves_no_partial_answer_on_its_connection() {
    // More than is allowed, and more than the sockets hold: the service can only end when its peer goes.
    let service = Service::start(|_, mut stream| {
        let mut answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        while stream.write_all(&answer).is_ok() {
            answer = [b"1000\r\n", &[b' '; 0x1000][..], b"\r\n"].concat();
        }
        None
    });
    let config = Config::new(&format!("http://{}", service.at)).unwrap();
    let client = Client::new(config.max_body(1 << 20).unwrap()).unwrap();
    let caller = client.blocking().unwrap();
    let outcome = caller
        .block_on(caller.client().send(&Overview::default()))
        .unwrap();
    assert!(matches!(outcome, Err(Error::UnexpectedReply { .. })));
    caller.settle().unwrap();
    caller.leave();
    service.wait_for_closed(&[0]);
}

#[test]
fn threads_have_connections_of_their_own_and_one_quota() {
    // 503 for ever: 500 tokens at 14 a retry let 35 retries through, and one more where the last was given back.
    let service = Service::start(|_, mut stream| {
        stream
            .write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        Some(stream)
    });
    let client = service.client();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    assert!(matches!(
                        ask(&client),
                        Err(Error::Refused { status: 503, .. })
                    ));
                }
            });
        }
    });
    let asked = service.asked();
    assert!((201..=236).contains(&asked.len()), "{}", asked.len());
    assert!(asked.iter().max() >= Some(&1), "one connection served all");
}
