//! Kills at any moment, and a full disk.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use liqdata::archive::Archive;
use liqdata::collect::{CollectPlan, Collector, Settings, VenueState};
use liqdata::model::Millis;

use crate::bench::{
    Doubles, Folder, OrderContent, content_of, gaps, is_soak, orders, quick, true_of,
};
use crate::doubles::{Act, Ending, Truth};

const ARCHIVE: &str = "LIQDATA_TEST_ARCHIVE";
const SETTINGS: &str = "LIQDATA_TEST_SETTINGS";

/// A collector in a process of its own: this test executable, run again.
struct Process {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(archive: &Path, settings: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crashes::collects", "--ignored", "--nocapture"])
            .env(ARCHIVE, archive)
            .env(SETTINGS, settings)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, output }
    }

    /// What follows `word` in the next line that has it; `None` once the process is gone.
    fn hear(&mut self, word: &str) -> Option<String> {
        self.output.by_ref().find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once(word)?;
            Some(rest.trim().to_owned())
        })
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it for `time` and lets it go on.
    async fn pause(&self, time: Duration) {
        self.signal("-STOP");
        tokio::time::sleep(time).await;
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Collects for ever and says how many orders are acknowledged.
#[test]
#[ignore = "run by other tests as a process of its own"]
fn collects() {
    let settings = Settings::read(&std::env::var(SETTINGS).unwrap()).unwrap();
    let plan = CollectPlan {
        venues: settings.exchanges.keys().cloned().collect(),
        settings,
        ..CollectPlan::default()
    };
    let archive = PathBuf::from(std::env::var(ARCHIVE).unwrap());
    let collector = Collector::start(archive, &plan).unwrap();
    let tell = |line: &str| {
        println!("\n{line}");
        std::io::stdout().flush().unwrap();
    };
    let (mut stored, mut live) = (0, false);
    loop {
        let status = collector.status();
        if !live
            && status
                .venues
                .iter()
                .all(|one| one.state == VenueState::Live)
        {
            live = true;
            tell("live");
        }
        if status.orders > stored {
            stored = status.orders;
            tell(&format!("stored {stored}"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The settings that the process reads.
fn written(doubles: &Doubles) -> String {
    let mut text = "coins = []\nbackfill_hours = 1\n[pace]\nretry_first = 0.02\nretry_most = 0.2\ncommit = 0.01\n\
                    checkpoint = 0.02\npoll = 0.5\n"
        .to_owned();
    for (venue, exchange) in doubles.exchanges() {
        writeln!(text, "[exchanges.{venue}]").unwrap();
        for (host, _) in liqdata::feeds::venue(venue).unwrap().hosts() {
            let base = if *host == "socket" {
                exchange.ws()
            } else {
                exchange.rest()
            };
            writeln!(text, "{host} = \"{base}\"").unwrap();
        }
    }
    text
}

/// Checks that every stored order happened and is there once; returns the number of rows.
fn check(archive: &Path, happened: &[Truth]) -> usize {
    let writer = Archive::create_or_open(archive).unwrap();
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
    drop(writer);
    let rows = orders(archive);
    let stored: BTreeSet<OrderContent> = rows.iter().map(content_of).collect();
    assert_eq!(stored.len(), rows.len(), "a row is there twice");
    let true_ones: BTreeSet<OrderContent> = happened.iter().map(true_of).collect();
    let strange: Vec<_> = stored.difference(&true_ones).collect();
    assert!(strange.is_empty(), "{strange:?}");
    rows.len()
}

async fn kill_twenty_times(random: &mut fastrand::Rng) {
    const KILLS: usize = 20;
    let folder = Folder::new();
    let doubles = Doubles::on_loopback(&["binance", "okx", "bitget"]).await;
    let settings = written(&doubles);
    let archive = folder.archive();
    let mut happened: Vec<Truth> = Vec::new();
    let mut rows = 0;
    for kill in 0..KILLS {
        let mut process = Process::start(&archive, &settings);
        // Some are killed before they have come to anything.
        let steps = random.usize(0..6);
        let mut acknowledged = 0;
        if steps > 0 {
            assert!(process.hear("live").is_some(), "kill {kill}");
        }
        for _ in 0..steps {
            for exchange in doubles.exchanges().values() {
                happened.extend(exchange.liquidate(random.usize(1..40)));
            }
            acknowledged = process.hear("stored").unwrap().parse().unwrap();
        }
        for exchange in doubles.exchanges().values() {
            happened.extend(exchange.liquidate(random.usize(1..40)));
        }
        process.kill();
        // Acknowledgements that it sent before it died count as well.
        while let Some(more) = process.hear("stored") {
            acknowledged = more.parse().unwrap_or(acknowledged);
        }
        if archive.exists() {
            let now = check(&archive, &happened);
            assert!(
                now >= rows + acknowledged,
                "kill {kill}: {now} rows, {rows} before and {acknowledged} acknowledged"
            );
            rows = now;
        }
    }
    // At last one that is not killed: the events that two venues send again are stored to the last row.
    let mut process = Process::start(&archive, &settings);
    assert!(process.hear("live").is_some());
    let sent_again: BTreeSet<OrderContent> = happened
        .iter()
        .filter(|truth| truth.venue != "binance")
        .map(true_of)
        .collect();
    loop {
        let stored: BTreeSet<OrderContent> = orders(&archive).iter().map(content_of).collect();
        if sent_again.is_subset(&stored) {
            break;
        }
        // Nothing new means that it will never come: a test that hangs says less than one that fails.
        assert!(process.hear("stored").is_some());
    }
    process.kill();
    check(&archive, &happened);
    let of_binance = gaps(&archive)
        .into_iter()
        .filter(|gap| gap.exchange == "binance")
        .count();
    assert!(of_binance > 0, "no gap is recorded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_killed_at_random_loses_no_acknowledged_row() {
    let mut random = fastrand::Rng::with_seed(11);
    // The long form kills a thousand times.
    let archives = if is_soak() { 50 } else { 1 };
    for _ in 0..archives {
        kill_twenty_times(&mut random).await;
    }
}

/// A closed lid or an overloaded machine: unread frames of that time are no silence of the venue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_collector_stays_connected_and_loses_no_order() {
    let folder = Folder::new();
    let doubles = Doubles::on_loopback(&["okx", "bybit", "kraken"]).await;
    let archive = folder.archive();
    // Three times as long as a pong may be missing.
    let (pings, absence) = ("[pace]\nping = 0.5\n", Duration::from_secs(3));
    let settings = written(&doubles).replace("[pace]\n", pings);
    let mut process = Process::start(&archive, &settings);
    assert!(process.hear("live").is_some());
    let sockets = |doubles: &Doubles| -> Vec<usize> {
        let all = doubles.exchanges().values();
        all.map(|exchange| exchange.tally().sockets.len()).collect()
    };
    let before = sockets(&doubles);
    let mut happened = Vec::new();
    let telling = async {
        tokio::time::sleep(absence / 2).await;
        for exchange in doubles.exchanges().values() {
            happened.extend(exchange.liquidate(20));
        }
    };
    tokio::join!(process.pause(absence), telling);
    let mut stored = 0;
    while stored < happened.len() {
        stored = process.hear("stored").unwrap().parse().unwrap();
    }
    // Pings are answered as before.
    for exchange in doubles.exchanges().values() {
        let pings = exchange.tally().pings;
        exchange.until(|tally| tally.pings >= pings + 3).await;
    }
    assert_eq!(sockets(&doubles), before);
    process.kill();
    check(&archive, &happened);
    let gaps = gaps(&archive);
    assert!(gaps.is_empty(), "{gaps:?}");
}

/// Unread frames of a suspended process do not prove that it was connected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_lost_during_a_suspension_is_a_gap_since_the_suspension() {
    let folder = Folder::new();
    let doubles = Doubles::on_loopback(&["okx"]).await;
    let okx = doubles.of("okx");
    let archive = folder.archive();
    let mut process = Process::start(&archive, &written(&doubles));
    assert!(process.hear("live").is_some());
    process.signal("-STOP");
    let stopped = okx.book().now();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    okx.liquidate(20);
    okx.drained().await;
    okx.act(Act::Disconnect(Ending::Fin));
    okx.until(|tally| tally.open == 0).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    process.signal("-CONT");
    // It is back, and has said that it was away.
    okx.until(|tally| tally.sockets.len() == 2).await;
    let found = || gaps(&archive).into_iter().find(|gap| gap.exchange == "okx");
    let started = Instant::now();
    while found().is_none() {
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "no gap is recorded"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    process.kill();
    let gap = found().unwrap();
    assert!(
        gap.start.0 <= stopped && gap.end.0 >= stopped + 3000,
        "{gap:?} of {stopped}"
    );
}

/// A disk of four megabytes that is unmounted in the end.
struct Disk(Folder);

impl Disk {
    fn mount() -> Option<Self> {
        let folder = Folder::new();
        let made = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
            .arg(folder.archive().parent().unwrap())
            .output()
            .ok()?;
        if made.status.success() {
            return Some(Self(folder));
        }
        eprintln!(
            "skipped: no disk could be mounted: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("-l")
            .arg(self.0.archive().parent().unwrap())
            .output();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collection_resumes_when_a_full_disk_has_space_again() {
    let Some(disk) = Disk::mount() else { return };
    let archive = disk.0.archive();
    let doubles = Doubles::on_loopback(&["okx"]).await;
    let mut settings = quick();
    settings.queue_rows = 500;
    settings.pace.patience = 0.2;
    // Every checkpoint of a session takes pages of a log that is as large as this disk.
    settings.pace.checkpoint = 60.0;
    settings.backfill_hours = Some(0);
    let collecting = doubles.collect(&archive, &doubles.plan(settings));
    collecting.until_live().await;
    let okx = doubles.of("okx");
    let mut happened = okx.liquidate(200);
    collecting.until_stored(200).await;
    let ballast = archive.parent().unwrap().join("ballast");
    let mut size = 4 << 20;
    while size > 4096 && std::fs::write(&ballast, vec![0; size]).is_err() {
        size -= 4096;
    }
    // Until the journal has no more room, and then until the queue has none either.
    let full = loop {
        happened.extend(okx.liquidate(100));
        // One step at a time: events in flight would fill the disk again as soon as there is space.
        let sent = u64::try_from(happened.len()).unwrap();
        collecting
            .until_of("okx", "all is received", |one| one.events >= sent)
            .await;
        let status = collecting.status();
        if status.trouble.is_some() && status.venues[0].lost > 0 {
            break status;
        }
        assert!(happened.len() < 1_000_000, "4 MB hold it all: {status:?}");
    };
    let trouble = full.trouble.unwrap();
    assert!(trouble.contains("no space"), "{trouble}");
    let acknowledged = usize::try_from(full.orders).unwrap();
    assert!(orders(&archive).len() >= acknowledged);
    std::fs::remove_file(&ballast).unwrap();
    collecting
        .until("it writes again", |status| {
            status.trouble.is_none() && status.waiting == 0
        })
        .await;
    okx.drained().await;
    let before = collecting.status().orders;
    let after = okx.liquidate(50);
    collecting
        .until("new orders are stored", |status| {
            let rows: BTreeSet<OrderContent> = orders(&archive).iter().map(content_of).collect();
            status.orders >= before + 50 && after.iter().all(|truth| rows.contains(&true_of(truth)))
        })
        .await;
    happened.extend(after.iter().cloned());
    collecting.stop().await;
    let rows = check(&archive, &happened);
    assert!(rows >= acknowledged + 50);
    let stored: BTreeSet<OrderContent> = orders(&archive).iter().map(content_of).collect();
    assert!(after.iter().all(|truth| stored.contains(&true_of(truth))));
    let gaps = gaps(&archive);
    let lost: Vec<_> = gaps
        .iter()
        .filter(|gap| gap.reason.contains("lost"))
        .collect();
    assert!(!lost.is_empty(), "{gaps:?}");
    // Every missing order lies in a gap, by its event time.
    for missing in happened
        .iter()
        .map(true_of)
        .filter(|row| !stored.contains(row))
    {
        let at = Millis(missing.6);
        let covered = lost.iter().any(|gap| gap.start <= at && at < gap.end);
        assert!(covered, "{missing:?} is in none of {lost:?}");
    }
}
