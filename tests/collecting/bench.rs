//! The test bench: a collector, the exchange doubles it connects to, and its archive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use liqdata::archive::{Archive, Filter, Gap, OrderRow, WriteQueue};
use liqdata::collect::{
    CollectPlan, Collector, ExchangeAddress, Pace, Settings, Status, VenueState, VenueStatus,
};
use liqdata::model::Millis;
use tokio::time::{Instant, sleep};

use crate::doubles::hyperliquid::Hyperliquid;
use crate::doubles::{Clock, Exchange, Setup, Truth, dialect};
use crate::harness::run::Process;
use crate::harness::virtual_environment::{Globe, Venues, true_clock};

/// How long a test waits for an expected state.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pauses between two looks grow from the first to the second.
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(50);

/// Whether the long form of a test is selected.
pub(crate) fn is_soak() -> bool {
    std::env::var_os("LIQDATA_SOAK").is_some()
}

/// A folder that is removed at the end, in memory if possible.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("liqdata-collecting-{}-{number}", std::process::id());
        let in_memory = Path::new("/dev/shm").join(&name);
        if std::fs::create_dir(&in_memory).is_ok() {
            return Self(in_memory);
        }
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.0.join("archive")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Times short enough for a test.
pub(crate) fn quick() -> Settings {
    Settings {
        coins: Vec::new(),
        backfill_hours: Some(1),
        // One connection; two have tests of their own.
        redundancy: 1,
        pace: Pace {
            connect: 5.0,
            retry_first: 0.02,
            retry_most: 0.2,
            healthy: 1.0,
            acknowledge: 2.0,
            overlap: 0.0,
            instruments_least: 0.05,
            delist: 0.0,
            pending: 5.0,
            poll: 0.2,
            bars: 0.2,
            settle: 0.0,
            commit: 0.02,
            checkpoint: 0.05,
            rewrite: 0.05,
            ..Pace::default()
        },
        ..Settings::default()
    }
}

/// Doubles of several exchanges.
///
/// In memory, the collector and the doubles share one thread and the paused clock of its runtime: time passes only
/// while every task waits, so no assertion depends on the load of the machine. On loopback, connections are real and
/// time is that of the machine.
pub(crate) struct Doubles {
    exchanges: Venues,
    /// The virtual clock; `None` on loopback.
    clock: Option<Clock>,
    /// The exchange of which accounts are polled, in memory.
    pub(crate) accounts: Option<Arc<Hyperliquid>>,
}

impl Doubles {
    /// Doubles in memory. The test must run with `start_paused`.
    pub(crate) fn in_memory(venues: &[&'static str]) -> Self {
        Self::in_memory_with(venues, |setup| setup)
    }

    /// Doubles in memory with a changed setup.
    pub(crate) fn in_memory_with(venues: &[&'static str], change: impl Fn(Setup) -> Setup) -> Self {
        fastrand::seed(1);
        let clock = true_clock();
        let open = |venue: &&'static str| {
            let setup = Setup {
                clock: Arc::clone(&clock),
                ..Setup::of(venue)
            };
            (*venue, Exchange::in_memory(change(setup)))
        };
        Self {
            exchanges: Arc::new(venues.iter().map(open).collect()),
            clock: Some(clock),
            accounts: None,
        }
    }

    /// Doubles on loopback.
    pub(crate) async fn on_loopback(venues: &[&'static str]) -> Self {
        let mut exchanges = BTreeMap::new();
        for venue in venues {
            exchanges.insert(*venue, Exchange::open(venue).await);
        }
        Self {
            exchanges: Arc::new(exchanges),
            clock: None,
            accounts: None,
        }
    }

    pub(crate) fn exchanges(&self) -> &BTreeMap<&'static str, Exchange> {
        &self.exchanges
    }

    pub(crate) fn of(&self, venue: &str) -> &Exchange {
        &self.exchanges[venue]
    }

    /// `settings` with the hosts of the doubles.
    pub(crate) fn settings(&self, mut settings: Settings) -> Settings {
        for (venue, exchange) in self.exchanges() {
            settings
                .exchanges
                .insert((*venue).to_owned(), reach(venue, exchange));
        }
        settings
    }

    pub(crate) fn plan(&self, settings: Settings) -> CollectPlan {
        CollectPlan {
            venues: self
                .exchanges
                .keys()
                .map(|name| (*name).to_owned())
                .collect(),
            settings: self.settings(settings),
            ..CollectPlan::default()
        }
    }

    /// Starts a collector that connects to the doubles.
    pub(crate) fn collect(&self, archive: &Path, plan: &CollectPlan) -> Collecting {
        let running = match &self.clock {
            Some(clock) => Running::InMemory(self.process(archive, plan, clock)),
            None => Running::OnLoopback(Collector::start(archive, plan).unwrap()),
        };
        Collecting {
            running: Some(running),
        }
    }

    fn process(&self, archive: &Path, plan: &CollectPlan, clock: &Clock) -> Process {
        let no_lag = |venue: &&'static str| (*venue, Arc::default());
        let lags = Arc::new(self.exchanges.keys().map(no_lag).collect());
        let mut globe = Globe::new(Arc::clone(clock), Arc::clone(&self.exchanges), lags, 0);
        globe.accounts.clone_from(&self.accounts);
        let commit = Duration::from_secs_f64(plan.settings.pace.commit);
        Process::start(archive, globe, plan, commit)
    }
}

fn reach(venue: &str, exchange: &Exchange) -> ExchangeAddress {
    let hosts = liqdata::feeds::venue(venue).unwrap().hosts();
    let hosts = hosts.iter().map(|(host, _)| {
        let base = if *host == "socket" {
            exchange.ws()
        } else {
            exchange.rest()
        };
        ((*host).to_owned(), base)
    });
    ExchangeAddress {
        hosts: hosts.collect(),
        ..ExchangeAddress::default()
    }
}

enum Running {
    InMemory(Process),
    OnLoopback(Collector),
}

/// A running collector that ends with the test.
pub(crate) struct Collecting {
    running: Option<Running>,
}

impl Collecting {
    pub(crate) fn status(&self) -> Status {
        match self.running.as_ref().unwrap() {
            Running::InMemory(process) => process.listening.status(),
            Running::OnLoopback(collector) => collector.status(),
        }
    }

    /// Whether a collector without live collection has ended.
    pub(crate) fn is_over(&self) -> bool {
        match self.running.as_ref().unwrap() {
            Running::InMemory(process) => process.listening.is_over(),
            Running::OnLoopback(collector) => collector.is_over(),
        }
    }

    /// The write queue of a collector on loopback.
    pub(crate) fn queue(&self) -> WriteQueue {
        match self.running.as_ref().unwrap() {
            Running::InMemory(_) => panic!("the collector is in memory"),
            Running::OnLoopback(collector) => collector.queue(),
        }
    }

    pub(crate) fn of(&self, venue: &str) -> VenueStatus {
        let status = self.status();
        let of_venue = |one: &&VenueStatus| one.exchange == venue;
        status.venues.iter().find(of_venue).unwrap().clone()
    }

    /// Waits until the status is as wanted.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        let started = (Instant::now(), std::time::Instant::now());
        let mut pause = SHORTEST;
        loop {
            let status = self.status();
            if wanted(&status) {
                return status;
            }
            // Threads, such as that of a compaction, need time of the machine.
            assert!(
                started.0.elapsed() < PATIENCE || started.1.elapsed() < PATIENCE,
                "waited in vain until {what}: {status:#?}"
            );
            sleep(pause).await;
            // In memory, time costs nothing, but a look into the archive does.
            pause = LONGEST.min(2 * pause);
        }
    }

    pub(crate) async fn until_of(
        &self,
        venue: &str,
        what: &str,
        wanted: impl Fn(&VenueStatus) -> bool,
    ) -> VenueStatus {
        self.until(what, |status| {
            status
                .venues
                .iter()
                .any(|one| one.exchange == venue && wanted(one))
        })
        .await;
        self.of(venue)
    }

    pub(crate) async fn until_live(&self) -> Status {
        self.until("all are live", |status| {
            status
                .venues
                .iter()
                .all(|one| one.state == VenueState::Live)
        })
        .await
    }

    pub(crate) async fn until_stored(&self, orders: usize) -> Status {
        let wanted = u64::try_from(orders).unwrap();
        self.until(&format!("{orders} orders are stored"), |status| {
            status.orders >= wanted
        })
        .await
    }

    /// Stops the collector. All rows are in the archive afterwards.
    pub(crate) async fn stop(mut self) {
        match self.running.take().unwrap() {
            Running::InMemory(process) => process.stop().await,
            // A stop blocks its thread.
            Running::OnLoopback(collector) => {
                let stopped = tokio::task::spawn_blocking(move || collector.stop().unwrap());
                stopped.await.unwrap();
            }
        }
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        if let Some(Running::OnLoopback(collector)) = self.running.take() {
            std::thread::spawn(move || drop(collector));
        }
    }
}

pub(crate) fn orders(archive: &Path) -> Vec<OrderRow> {
    let archive = Archive::read(archive).unwrap();
    archive.orders(&Filter::default()).unwrap().rows
}

pub(crate) fn gaps(archive: &Path) -> Vec<Gap> {
    let archive = Archive::read(archive).unwrap();
    archive
        .coverage()
        .gaps(Millis(0), Millis(i64::MAX / 2))
        .unwrap()
}

/// Each of the venues has a gap with these words in its reason.
pub(crate) fn assert_gaps_say(archive: &Path, venues: &[&str], words: &str) {
    let gaps = gaps(archive);
    for venue in venues {
        let mut of_venue = gaps.iter().filter(|gap| gap.exchange == *venue);
        assert!(
            of_venue.any(|gap| gap.reason.contains(words)),
            "{venue}: no gap says {words:?}: {gaps:?}"
        );
    }
}

/// The fields of an order that both a row and a truth have: venue, contract, side, price, quantity, value, time.
pub(crate) type OrderContent = (String, String, String, String, String, String, i64);

pub(crate) fn content_of(row: &OrderRow) -> OrderContent {
    (
        row.order.exchange.clone(),
        row.native_id.clone().unwrap(),
        format!("{:?}", row.order.side),
        row.order.price.normalize().to_string(),
        row.order.qty.normalize().to_string(),
        row.order.value_usd.normalize().to_string(),
        row.order.timestamp.0,
    )
}

pub(crate) fn true_of(truth: &Truth) -> OrderContent {
    (
        truth.venue.to_owned(),
        truth.native_id().to_owned(),
        format!("{:?}", truth.side),
        truth.price.normalize().to_string(),
        truth.qty().to_string(),
        truth.value().to_string(),
        truth.time,
    )
}

/// Checks that the archive holds exactly these, each once. An order that a back-fill reported before the socket is stored
/// as the back-fill reported it, for example with its time cut to the second.
pub(crate) fn assert_stored(archive: &Path, truths: &[Truth]) {
    let rows = orders(archive);
    let happened: BTreeSet<OrderContent> = truths.iter().map(true_of).collect();
    let mut by_rest: BTreeMap<OrderContent, Vec<OrderContent>> = BTreeMap::new();
    for truth in truths {
        let backfilled = true_of(&dialect(truth.venue).unwrap().reported_by_rest(truth));
        by_rest.entry(backfilled).or_default().push(true_of(truth));
    }
    let all = rows.iter().map(content_of);
    let (by_socket, others): (Vec<OrderContent>, Vec<OrderContent>) =
        all.partition(|row| happened.contains(row));
    let mut stored: BTreeSet<OrderContent> = by_socket.into_iter().collect();
    for row in others {
        let candidates = by_rest.get(&row).into_iter().flatten();
        let one = candidates.filter(|one| !stored.contains(*one)).min();
        stored.insert(one.cloned().unwrap_or(row));
    }
    assert_eq!(stored.len(), rows.len(), "a row is there twice");
    let missing: Vec<_> = happened.difference(&stored).collect();
    let strange: Vec<_> = stored.difference(&happened).collect();
    assert!(
        missing.is_empty() && strange.is_empty(),
        "missing: {missing:#?}\nstrange: {strange:#?}"
    );
}
