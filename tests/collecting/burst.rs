//! Ten thousand events a second, while a server answers questions about totals.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use liqdata::archive::{Batch, OpenInterestRow, WriteQueue};
use liqdata::market::Market;
use liqdata::model::Millis;
use liqdata::server::{router, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use crate::bench::{Doubles, Folder, assert_stored, gaps, is_soak, quick};

/// Everything that is read off the orders.
const REALISED: [&str; 6] = [
    "/api/liquidations/overview",
    "/api/liquidations/coins?range=1h",
    "/api/liquidations/exchanges?range=24h",
    "/api/liquidations/largest?range=24h&limit=100",
    "/api/liquidations?limit=100",
    "/api/liquidations/chart?symbol=BTCUSDT",
];
/// Connections that ask, and how long each leaves between two questions: 200 questions a second in all.
const ASKERS: usize = 4;
const BETWEEN: Duration = Duration::from_millis(20);

/// A server over an archive, on a runtime of its own as in a program.
struct Served {
    address: std::net::SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn start(archive: &Path) -> Self {
        let market = Arc::new(Market::open(archive, None).unwrap());
        let (stop, stopped) = oneshot::channel();
        let (said, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                said.send(listener.local_addr().unwrap()).unwrap();
                let enough = async { drop(stopped.await) };
                run(listener, router(market), enough).await.unwrap();
            });
        });
        Self {
            address: address.recv().unwrap(),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    async fn connect(&self) -> Asker {
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Asker {
            stream,
            buffer: Vec::new(),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        let thread = self.thread.take().unwrap();
        // The reported failure is the test's own.
        if !std::thread::panicking() {
            thread.join().unwrap();
        }
    }
}

/// A stored connection.
struct Asker {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Asker {
    /// The body of an answer, which has to be a good one.
    async fn ask(&mut self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.buffer.clear();
        let (head, length) = loop {
            self.more().await;
            let text = String::from_utf8_lossy(&self.buffer);
            if let Some((head, _)) = text.split_once("\r\n\r\n") {
                assert!(head.starts_with("HTTP/1.1 200"), "{head}");
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: "));
                break (head.len() + 4, length.unwrap().parse::<usize>().unwrap());
            }
        };
        while self.buffer.len() < head + length {
            self.more().await;
        }
        String::from_utf8(self.buffer.split_off(head)).unwrap()
    }

    async fn more(&mut self) {
        let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
        assert!(read > 0, "the server has closed the connection");
    }
}

/// Asks one thing after the other, at its time whether the answer before came late or not; how long each answer took
/// from when the question was due.
async fn ask_on(
    mut asker: Asker,
    first: usize,
    enough: Arc<AtomicBool>,
) -> Vec<(Duration, &'static str)> {
    let mut times = Vec::new();
    let mut ticks = interval(BETWEEN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for path in REALISED.iter().cycle().skip(first) {
        if enough.load(Ordering::Relaxed) {
            break;
        }
        let due = ticks.tick().await;
        asker.ask(path).await;
        times.push((due.elapsed(), *path));
    }
    times
}

/// Commits a row every so often while orders arrive; returns how long each took to be durable.
async fn commit_on(inbox: WriteQueue, enough: Arc<AtomicBool>) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut ticks = interval(Duration::from_millis(50));
    for number in 0.. {
        if enough.load(Ordering::Relaxed) {
            break;
        }
        ticks.tick().await;
        let sent = Instant::now();
        let row = OpenInterestRow {
            exchange: "probe".to_owned(),
            symbol: "BTC".to_owned(),
            timestamp: Millis(number),
            open_interest: 1.into(),
            received_at: Millis(number),
        };
        let batch = Batch {
            open_interest: vec![row],
            ..Batch::default()
        };
        inbox.send(batch).await.unwrap().await.unwrap();
        times.push(sent.elapsed());
    }
    times
}

/// The resident memory of this process in bytes; 0 where the system does not report it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

/// A percentile of sorted times, in milliseconds.
fn at(times: &[Duration], share: usize) -> f64 {
    times[times.len() * share / 100].as_secs_f64() * 1000.0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cascade_is_stored_completely_while_a_server_answers() {
    // The short form has fewer events than the queue has rows, so that no machine is too slow for it.
    let (rate, seconds): (u64, u64) = if is_soak() { (10_000, 30) } else { (2_000, 3) };
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&["binance"]).await);
    let archive = folder.archive();
    let mut settings = quick();
    settings.queue_rows = 20_000;
    settings.pace.patience = 30.0;
    // As it is in use.
    settings.pace.commit = liqdata::collect::Settings::default().pace.commit;
    let bound = u64::try_from(settings.queue_rows).unwrap();
    let collecting = doubles.collect(&archive, &doubles.plan(settings));
    let inbox = collecting.queue();
    collecting.until_live().await;
    let served = Served::start(&archive);
    let binance = doubles.of("binance");
    let now = binance.book().now();
    let count = seconds * rate;
    let cascade = binance
        .imagine((0..count.cast_signed()).map(|event| now + event * 1000 / rate.cast_signed()));
    let prepared = binance.prepare(&cascade);

    let enough = Arc::new(AtomicBool::new(false));
    let mut asking = Vec::new();
    for number in 0..ASKERS {
        let asker = served.connect().await;
        asking.push(tokio::spawn(ask_on(asker, number, Arc::clone(&enough))));
    }
    let committing = tokio::spawn(commit_on(inbox.clone(), Arc::clone(&enough)));
    let before = resident();
    let peak = AtomicU64::new(before);
    let started = Instant::now();
    let playing = binance.play(&prepared, rate);
    let keeping = async {
        loop {
            let status = collecting.status();
            assert!(status.waiting <= bound, "{} wait", status.waiting);
            peak.fetch_max(resident(), Ordering::Relaxed);
            let passed = started.elapsed();
            if status.orders >= count {
                break (status, passed);
            }
            let patience = Duration::from_secs(60 + 2 * seconds);
            assert!(
                passed < patience,
                "not stored after {passed:?}: {status:#?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ((), (status, stored_after)) = tokio::join!(playing, keeping);
    enough.store(true, Ordering::Relaxed);
    let mut answers = Vec::new();
    for task in asking {
        answers.extend(task.await.unwrap());
    }
    let mut commits = committing.await.unwrap();
    for path in REALISED {
        let of_path = answers.iter().filter(|(_, target)| *target == path);
        let mut times: Vec<Duration> = of_path.map(|(time, _)| *time).collect();
        times.sort_unstable();
        println!(
            "{path}: {:.2} ms (median), {:.2} ms (p99)",
            at(&times, 50),
            at(&times, 99)
        );
    }
    let mut answers: Vec<Duration> = answers.into_iter().map(|(time, _)| time).collect();
    answers.sort_unstable();
    commits.sort_unstable();
    let grown = peak.into_inner().saturating_sub(before) >> 20;
    println!(
        "{count} events at {rate}/s were stored after {:.2} s, {} lost; memory grew by {grown} MB; {} commits, durable \
         after {:.1} ms (median) and {:.1} ms (p99); {} answers after {:.2} ms (median), {:.2} ms (p99), {:.2} ms (most)",
        stored_after.as_secs_f64(),
        status.venues[0].lost,
        inbox.status().commits,
        at(&commits, 50),
        at(&commits, 99),
        answers.len(),
        at(&answers, 50),
        at(&answers, 99),
        answers.last().unwrap().as_secs_f64() * 1000.0,
    );
    assert_eq!((status.venues[0].lost, status.venues[0].rejected), (0, 0));
    // An order takes some hundred bytes in the server's ring, and as much again in the double's book.
    assert!(grown < 128 + count / 1024, "{grown} MB");
    // The bound is one of a quiet machine and optimised code, as the long form is run; neither holds for the short one.
    if is_soak() {
        assert!(at(&answers, 99) < 50.0, "{:.2} ms", at(&answers, 99));
    }

    // What was acknowledged is in the next answer.
    let overview = served.connect().await.ask(REALISED[0]).await;
    assert!(overview.contains(&format!("\"cnt\":{count}")), "{overview}");
    drop(served);
    collecting.stop().await;
    assert_stored(&archive, &cascade);
    assert!(gaps(&archive).is_empty());
}
