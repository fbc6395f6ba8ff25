//! The state of one venue: its set-up, its clock, and the events that have happened.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::fault::Faults;
use super::market::Market;
use super::truth::Truth;

/// Epoch milliseconds, as the test wants them.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The time of this machine.
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        i64::try_from(since.as_millis()).unwrap()
    })
}

/// How a double is set up.
#[derive(Clone)]
pub struct Setup {
    pub venue: String,
    /// Of the liquidations, the candles and the open interest.
    pub seed: u64,
    /// When events happen, and up to when there are candles.
    pub clock: Clock,
    /// 0 takes any that is free.
    pub port: u16,
    /// How long a second of the venue's heartbeats, control streams and patience lasts.
    pub second: Duration,
    /// Most rows in one data frame; the venue's own limit where that is lower.
    pub rows: usize,
    /// Most markets in one page of a list, where the venue gives such a list in pages; its own limit where that is lower.
    pub page: usize,
    /// Whether the venue's limits on requests hold.
    pub limits: bool,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Setup of {} with seed {}", self.venue, self.seed)
    }
}

impl Setup {
    pub fn of(venue: &str) -> Self {
        Self {
            venue: venue.to_owned(),
            seed: 1,
            clock: system_clock(),
            port: 0,
            second: Duration::from_secs(1),
            rows: usize::MAX,
            page: usize::MAX,
            limits: true,
        }
    }
}

/// What has happened at a venue, for its REST bodies.
pub struct Book {
    pub setup: Setup,
    pub markets: &'static [Market],
    truth: RwLock<Vec<Recorded>>,
    rest_late: AtomicI64,
    announced: Mutex<HashSet<&'static str>>,
    withdrawn: Mutex<HashSet<&'static str>>,
    refused: Mutex<Vec<String>>,
    ignored: Mutex<Vec<String>>,
    amounts_in_quote: AtomicBool,
}

/// What has happened.
struct Recorded {
    truth: Truth,
    /// From when on REST reports it.
    visible_from: i64,
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Book of {:?}", self.setup)
    }
}

impl Book {
    pub fn new(setup: Setup, markets: &'static [Market]) -> Self {
        Self {
            setup,
            markets,
            truth: RwLock::default(),
            rest_late: AtomicI64::new(0),
            announced: Mutex::default(),
            withdrawn: Mutex::default(),
            refused: Mutex::default(),
            ignored: Mutex::default(),
            amounts_in_quote: AtomicBool::new(false),
        }
    }

    pub fn now(&self) -> i64 {
        (self.setup.clock)()
    }

    pub fn seed(&self) -> u64 {
        self.setup.seed
    }

    /// The markets that the instruments call names.
    pub fn listed(&self) -> Vec<&'static Market> {
        let announced = self.announced.lock().unwrap();
        let withdrawn = self.withdrawn.lock().unwrap();
        self.markets
            .iter()
            .filter(|market| market.listed || announced.contains(market.native_id))
            .filter(|market| !withdrawn.contains(market.native_id))
            .collect()
    }

    /// Those of one class.
    pub fn of_class(&self, class: &str) -> impl Iterator<Item = &'static Market> {
        let listed = self.listed().into_iter();
        listed.filter(move |market| market.class == class)
    }

    /// Those of one class and, where one is given, of that name.
    pub fn of_class_and_name(
        &self,
        class: &str,
        name: Option<&str>,
    ) -> impl Iterator<Item = &'static Market> {
        self.of_class(class)
            .filter(move |market| name.is_none_or(|name| name == market.native_id))
    }

    /// The listed market of that name.
    pub fn market(&self, native_id: &str) -> Option<&'static Market> {
        self.listed()
            .into_iter()
            .find(|market| market.native_id == native_id)
    }

    /// Lists a market from now on.
    pub fn announce(&self, native_id: &str) {
        let market = self
            .markets
            .iter()
            .find(|market| market.native_id == native_id);
        let market = market.unwrap_or_else(|| panic!("there is no {native_id}"));
        self.withdrawn.lock().unwrap().remove(market.native_id);
        self.announced.lock().unwrap().insert(market.native_id);
    }

    /// Lists a market no more.
    pub fn withdraw(&self, native_id: &str) {
        let market = self.market(native_id);
        let market = market.unwrap_or_else(|| panic!("{native_id} is not listed"));
        self.withdrawn.lock().unwrap().insert(market.native_id);
    }

    /// Applies the faults that concern the dialects.
    pub fn set(&self, faults: &Faults) {
        self.refused.lock().unwrap().clone_from(&faults.bad_topics);
        self.ignored
            .lock()
            .unwrap()
            .clone_from(&faults.ignored_topics);
        self.rest_late.store(faults.rest_late, Ordering::Relaxed);
        self.amounts_in_quote
            .store(faults.amounts_in_quote, Ordering::Relaxed);
    }

    pub fn amounts_in_quote(&self) -> bool {
        self.amounts_in_quote.load(Ordering::Relaxed)
    }

    pub fn is_ignored(&self, topic: &str) -> bool {
        let ignored = self.ignored.lock().unwrap();
        ignored.iter().any(|ignored| ignored == topic)
    }

    pub fn is_refused(&self, topic: &str) -> bool {
        self.refused
            .lock()
            .unwrap()
            .iter()
            .any(|refused| refused == topic)
    }

    pub fn record(&self, truths: &[Truth]) {
        let most = self.rest_late.load(Ordering::Relaxed);
        let recorded = truths.iter().map(|truth| Recorded {
            truth: truth.clone(),
            visible_from: truth.time + most * (truth.seq * 37 % 101).cast_signed() / 100,
        });
        self.truth.write().unwrap().extend(recorded);
    }

    /// The memory of the recorded events, in bytes.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a test")]
    pub fn recorded_bytes(&self) -> f64 {
        (self.truth.read().unwrap().capacity() * size_of::<Recorded>()) as f64
    }

    /// Everything that has happened, in the order in which it was recorded.
    pub fn truth(&self) -> Vec<Truth> {
        let recorded = self.truth.read().unwrap();
        recorded.iter().map(|one| one.truth.clone()).collect()
    }

    /// What happened from `start` to `end`, both included, in the order of time, as far as REST reports it by now.
    pub fn between(&self, start: i64, end: i64, wanted: impl Fn(&Truth) -> bool) -> Vec<Truth> {
        let now = self.now();
        let recorded = self.truth.read().unwrap();
        // Only tests request the future.
        let visible = recorded
            .iter()
            .filter(|one| one.visible_from <= now.max(one.truth.time));
        let truths = visible.map(|one| &one.truth);
        let mut found: Vec<Truth> = truths
            .filter(|truth| (start..=end).contains(&truth.time) && wanted(truth))
            .cloned()
            .collect();
        found.sort_by_key(|truth| (truth.time, truth.seq));
        found
    }

    /// The last `count` that happened of the wanted, the newest last.
    pub fn last(&self, count: usize, wanted: impl Fn(&Truth) -> bool) -> Vec<Truth> {
        let truth = self.truth.read().unwrap();
        let mut found: Vec<Truth> = truth
            .iter()
            .rev()
            .map(|one| &one.truth)
            .filter(|truth| wanted(truth))
            .take(count)
            .cloned()
            .collect();
        found.reverse();
        found
    }
}
