//! Runs a schedule: the doubles, the collector processes, and the faults.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use liqdata::archive::{Archive, CommitPolicy, ManualGroupCommitWriter};
use liqdata::collect::{CollectPlan, ExchangeAddress, Pace, Settings, Supervisor};
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, advance, sleep, sleep_until};

use super::oracle::{self, Happened};
use super::rare_events::Met;
use super::schedule::{Fault, Mishap, Schedule, Step, late};
use super::virtual_environment::{BEGINNING, Globe, Lags, Venues, true_clock};
use crate::bench::Folder;
use crate::doubles::{Act, Clock, Ending, Exchange, Faults, Setup, Skipped, Truth};

/// How often what was handed over is written.
pub(super) const WRITES: Duration = Duration::from_secs(1);
/// How long it is calm in the end, in milliseconds.
pub(super) const CALM: u64 = 150_000;

/// The outcome of a schedule.
#[derive(Debug)]
pub(super) struct Outcome {
    /// False statements of the archive.
    pub(super) faults: Vec<String>,
    pub(super) met: Met,
    pub(super) log: String,
}

/// A log of the schedule.
#[derive(Clone)]
pub(super) struct Log {
    time: Clock,
    lines: Arc<Mutex<String>>,
}

impl Log {
    /// Milliseconds since the beginning.
    fn now(&self) -> u64 {
        u64::try_from((self.time)() - BEGINNING).unwrap()
    }

    fn say(&self, what: &str) {
        let millis = self.now();
        let (seconds, rest) = (millis / 1000, millis % 1000);
        let mut lines = self.lines.lock().unwrap();
        writeln!(lines, "{seconds:>6}.{rest:03} {what}").unwrap();
    }
}

/// One process that listens.
pub(crate) struct Process {
    pub(super) globe: Arc<Globe>,
    pub(crate) listening: Supervisor,
    group_writer: Arc<Mutex<ManualGroupCommitWriter>>,
    writing: JoinHandle<()>,
    pub(super) full: Arc<AtomicBool>,
}

impl Process {
    pub(crate) fn start(folder: &Path, globe: Globe, plan: &CollectPlan, writes: Duration) -> Self {
        let archive = Archive::create_or_open(folder).unwrap();
        let folder = archive.archive().path().to_owned();
        let keeping = CommitPolicy {
            queue: plan.settings.queue_rows,
            ..CommitPolicy::default()
        };
        let group_writer = ManualGroupCommitWriter::new(archive, keeping);
        let inbox = group_writer.queue();
        let group_writer = Arc::new(Mutex::new(group_writer));
        let full = Arc::new(AtomicBool::new(false));
        let (desk, is_full) = (Arc::clone(&group_writer), Arc::clone(&full));
        let writing = tokio::spawn(async move {
            loop {
                sleep(writes).await;
                let mut desk = desk.lock().unwrap();
                if is_full.load(Ordering::Relaxed) {
                    desk.stall("no space is left");
                } else {
                    desk.work();
                }
            }
        });
        let globe = Arc::new(globe);
        let world = Some(Arc::clone(&globe) as _);
        let listening = Supervisor::start(&folder, inbox, plan, world).unwrap();
        Self {
            globe,
            listening,
            group_writer,
            writing,
            full,
        }
    }

    /// Ends it as `kill -9` does: nothing that was not written is.
    pub(super) async fn kill(self) {
        self.globe.die();
        self.writing.abort();
        let _ = self.writing.await;
        drop(self.listening);
        drop(self.group_writer);
        // Let what it left behind find out.
        sleep(Duration::from_millis(1)).await;
    }

    pub(crate) async fn stop(self) {
        self.listening.stop().await;
        self.group_writer.lock().unwrap().work();
        self.kill().await;
    }
}

/// What is going wrong with a venue now, and the switches that makes.
#[derive(Default)]
struct Weather {
    active: Vec<(usize, Fault)>,
}

impl Weather {
    fn faults(&self, exchange: &Exchange) -> Faults {
        let mut faults = Faults::default();
        for (_, fault) in &self.active {
            match fault {
                Fault::Refused(_) => faults.refuse = true,
                Fault::Handshake(_, limit) => faults.handshake = Some(*limit),
                Fault::Shut(_) => faults.shut.push(address_of(exchange.venue()).to_owned()),
                Fault::HalfOpen => faults.half_open = true,
                Fault::Mute => faults.mute = true,
                Fault::NoAcks(_) => faults.no_acks = true,
                Fault::Topic(_, topic) => faults.bad_topics.push((*topic).to_owned()),
                Fault::List(part) => faults.broken.push((*part).to_owned()),
                Fault::Rest(limit) => faults.rest = Some(*limit),
                Fault::LaterPages => faults.later_pages = true,
                Fault::RestHangs => faults.rest_hangs = true,
                Fault::Equal => faults.equal = true,
                Fault::Late => faults.rest_late = late(exchange.venue()).cast_signed(),
                Fault::RestCut => faults.rest_cut = true,
                Fault::Duplicates => faults.duplicate = true,
                Fault::Disorder => faults.shuffle = true,
                Fault::Replay(count) => faults.replay = *count,
                Fault::Slow(_)
                | Fault::Cut(_)
                | Fault::One(_)
                | Fault::Deaf
                | Fault::Garbage(_)
                | Fault::Announced
                | Fault::Withdrawn
                | Fault::Skip
                | Fault::Notice => {}
            }
        }
        faults
    }

    /// How long what the venue says is on its way, at most.
    fn lag(&self) -> u64 {
        let lags = self.active.iter().map(|(_, fault)| match fault {
            Fault::Slow(lag) => *lag,
            _ => 0,
        });
        lags.max().unwrap_or(0)
    }
}

/// Does something to one of the open connections to each address.
fn act_on_one_of_each(exchange: &Exchange, number: usize, act: Act) {
    let mut paths: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (socket, (_, path)) in exchange.tally().sockets.iter().enumerate() {
        paths.entry(path.clone()).or_default().push(socket);
    }
    for mut sockets in paths.into_values() {
        // Of two that are open the older is meant, or the newer.
        if number.is_multiple_of(2) {
            sockets.reverse();
        }
        let _ = sockets.iter().find(|socket| exchange.act_on(**socket, act));
    }
}

/// One of a venue's addresses, where it has several.
fn address_of(venue: &str) -> &'static str {
    match venue {
        "bybit" => "/v5/public/inverse",
        "gate" => "/v4/ws/btc",
        _ => "/",
    }
}

/// Lets a fault of a venue happen.
async fn happen(
    (venues, lags): (Venues, Lags),
    venue: &'static str,
    number: usize,
    step: Step<Fault>,
    weather: Arc<Mutex<Weather>>,
    log: Log,
) -> (&'static str, Step<Fault>) {
    let exchange = &venues[venue];
    sleep(Duration::from_millis(step.at)).await;
    let at = log.now();
    log.say(&format!("{venue}: {:?} for {} ms", step.what, step.lasts));
    let set = |change: &dyn Fn(&mut Weather)| {
        let mut weather = weather.lock().unwrap();
        change(&mut weather);
        let faults = weather.faults(exchange);
        exchange.fault(|all| *all = faults);
        lags[venue].store(weather.lag(), Ordering::Relaxed);
    };
    set(&|weather| weather.active.push((number, step.what.clone())));
    match &step.what {
        Fault::Refused(ending)
        | Fault::Handshake(ending, _)
        | Fault::Shut(ending)
        | Fault::NoAcks(ending)
        | Fault::Topic(ending, _)
        | Fault::Cut(ending) => {
            exchange.act(Act::Disconnect(*ending));
        }
        Fault::One(ending) => act_on_one_of_each(exchange, number, Act::Disconnect(*ending)),
        Fault::Deaf => act_on_one_of_each(exchange, number, Act::Mute),
        Fault::Garbage(garbage) => {
            exchange.act(Act::Garbage(*garbage));
        }
        Fault::Skip => {
            exchange.act(Act::Skip);
        }
        Fault::Notice => {
            exchange.act(Act::Notice);
        }
        Fault::Announced => {
            let all = exchange.book().markets.iter();
            for market in all.filter(|market| !market.listed) {
                exchange.book().announce(market.native_id);
            }
        }
        _ => {}
    }
    let withdrawn = match step.what {
        Fault::Withdrawn => {
            let listed = exchange.book().listed();
            let market = listed.get(number % listed.len().max(1));
            market.map(|market| market.native_id)
        }
        _ => None,
    };
    if let Some(native_id) = withdrawn {
        exchange.book().withdraw(native_id);
    }
    sleep(Duration::from_millis(step.lasts)).await;
    set(&|weather| weather.active.retain(|(one, _)| *one != number));
    if let Some(native_id) = withdrawn {
        exchange.book().announce(native_id);
    }
    log.say(&format!("{venue}: {:?} is over", step.what));
    // A process that was frozen does what it is to do late.
    let lasts = log.now() - at;
    (venue, Step { at, lasts, ..step })
}

/// Events of markets that are listed, at these times.
fn imagine(exchange: &Exchange, rng: &mut fastrand::Rng, times: &[i64]) -> Vec<Truth> {
    let listed = exchange.book().listed();
    if listed.is_empty() {
        return Vec::new();
    }
    let mut truths = Vec::new();
    for time in times {
        let market = listed[rng.usize(..listed.len())];
        truths.extend(exchange.imagine_of(market.native_id, [*time]));
    }
    truths
}

/// Lets liquidations happen at a venue, again and again.
pub(super) async fn liquidate(venues: Venues, venue: &'static str, seed: u64, pause: u64) {
    let exchange = &venues[venue];
    let mut rng = fastrand::Rng::with_seed(seed);
    loop {
        sleep(Duration::from_millis(rng.u64(100..pause))).await;
        let now = exchange.book().now();
        let times = vec![now; rng.usize(1..4)];
        let truths = imagine(exchange, &mut rng, &times);
        if !exchange.faults().equal {
            exchange.publish(&truths);
            continue;
        }
        // In one frame: in two frames they would equal one event that is sent twice.
        for truth in truths {
            exchange.publish(&[truth.clone(), truth]);
        }
    }
}

/// The process does not run for so long, while the venues send on, and perhaps hang up.
async fn freeze(process: &Process, venues: &Venues, schedule: &Schedule, cut: bool, lasts: u64) {
    process.globe.freeze();
    let mut rng = fastrand::Rng::with_seed(schedule.seed + 77);
    for exchange in venues.values() {
        let now = exchange.book().now();
        let long = i64::try_from(lasts).unwrap();
        let mut times: Vec<i64> = (0..lasts / schedule.pause)
            .map(|_| now + rng.i64(1..long))
            .collect();
        times.sort_unstable();
        let truths = imagine(exchange, &mut rng, &times);
        let sent = if cut {
            rng.usize(..=truths.len())
        } else {
            truths.len()
        };
        exchange.publish(&truths[..sent]);
        if cut {
            exchange.act(Act::Disconnect(Ending::Fin));
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            exchange.record(&truths[sent..]);
        }
    }
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    process.globe.thaw();
    advance(Duration::from_millis(lasts)).await;
}

pub(super) fn doubles(names: &[&'static str], seed: u64, time: &Clock) -> Venues {
    let open = |name: &&'static str| {
        let setup = Setup {
            seed,
            // So few that a list has several.
            page: 2,
            clock: Arc::clone(time),
            ..Setup::of(name)
        };
        (*name, Exchange::in_memory(setup))
    };
    Arc::new(names.iter().map(open).collect())
}

/// The settings that lead to the doubles.
pub(super) fn plan(venues: &Venues, settings: Settings) -> CollectPlan {
    let mut settings = settings;
    for (name, exchange) in venues.iter() {
        let hosts = liqdata::feeds::venue(name).unwrap().hosts();
        let hosts = hosts.iter().map(|(host, _)| {
            let base = if *host == "socket" {
                exchange.ws()
            } else {
                exchange.rest()
            };
            ((*host).to_owned(), base)
        });
        let reach = ExchangeAddress {
            hosts: hosts.collect(),
            ..ExchangeAddress::default()
        };
        settings.exchanges.insert((*name).to_owned(), reach);
    }
    CollectPlan {
        venues: venues.keys().map(|name| (*name).to_owned()).collect(),
        settings,
        ..CollectPlan::default()
    }
}

fn settings(schedule: &Schedule) -> Settings {
    Settings {
        coins: Vec::new(),
        history_days: 0,
        backfill_hours: Some(1),
        queue_rows: schedule.queue,
        pace: Pace {
            rotate: schedule.rotate,
            instruments: schedule.instruments,
            poll: schedule.poll,
            ..Pace::default()
        },
        ..Settings::default()
    }
}

/// Performs a schedule and questions its archive.
pub(super) fn perform(schedule: &Schedule) -> Outcome {
    perform_looking(schedule, |_| {})
}

/// The same; each hour `look` gets the doubles.
pub(super) fn perform_looking(
    schedule: &Schedule,
    look: impl Fn(&Venues) + Send + 'static,
) -> Outcome {
    fastrand::seed(schedule.seed);
    let folder = Folder::new();
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let happened = runtime.block_on(act(schedule, &folder.archive(), look));
    runtime.shutdown_background();
    let faults = oracle::question(&folder.archive(), &happened);
    let mut log = happened.log.clone();
    if !faults.is_empty() {
        writeln!(log, "{schedule:#?}").unwrap();
        log += &oracle::tell(&folder.archive());
    }
    Outcome {
        faults,
        met: Met::of(&happened),
        log,
    }
}

/// Lets liquidations happen everywhere, and `look` see the doubles each hour.
fn tell(
    schedule: &Schedule,
    venues: &Venues,
    look: impl Fn(&Venues) + Send + 'static,
) -> JoinSet<()> {
    let mut tellers = JoinSet::new();
    for (number, venue) in (0..).zip(&schedule.venues) {
        let seed = schedule.seed * 1000 + number;
        tellers.spawn(liquidate(Arc::clone(venues), venue, seed, schedule.pause));
    }
    let venues = Arc::clone(venues);
    tellers.spawn(async move {
        loop {
            look(&venues);
            sleep(Duration::from_hours(1)).await;
        }
    });
    tellers
}

/// Without delays at the start.
fn lags(schedule: &Schedule) -> Lags {
    let venues = schedule.venues.iter();
    Arc::new(venues.map(|name| (*name, Arc::default())).collect())
}

/// Each event as REST reports it, and as the socket does.
fn truths(venues: &Venues) -> Vec<(Truth, Truth)> {
    let truths = venues.values().flat_map(|exchange| {
        let truths = exchange.truth().into_iter();
        truths.map(|truth| (exchange.reported_by_rest(&truth), truth))
    });
    truths.collect()
}

/// The lost frames of numbered streams.
fn skipped(venues: &Venues) -> Vec<(&'static str, Skipped)> {
    let skipped = venues.values().flat_map(|exchange| {
        let skipped = exchange.tally().skipped.into_iter();
        skipped.map(|one| (exchange.venue(), one))
    });
    skipped.collect()
}

async fn act(
    schedule: &Schedule,
    folder: &Path,
    look: impl Fn(&Venues) + Send + 'static,
) -> Happened {
    let begun = Instant::now();
    let time = true_clock();
    let log = Log {
        time: Arc::clone(&time),
        lines: Arc::default(),
    };
    let venues = doubles(&schedule.venues, schedule.seed, &time);
    let plan = plan(&venues, settings(schedule));
    let lags = lags(schedule);
    let mut tellers = tell(schedule, &venues, look);
    let mut faults = JoinSet::new();
    for venue in &schedule.venues {
        let weather = Arc::default();
        for (number, (of, step)) in schedule.faults.iter().enumerate() {
            if of == venue {
                let (weather, log) = (Arc::clone(&weather), log.clone());
                let shared = (Arc::clone(&venues), Arc::clone(&lags));
                faults.spawn(happen(shared, venue, number, step.clone(), weather, log));
            }
        }
    }
    // Faults at the very beginning start before the collector.
    tokio::task::yield_now().await;
    sleep(Duration::from_millis(1)).await;
    let globe = |ahead| {
        let (venues, lags) = (Arc::clone(&venues), Arc::clone(&lags));
        Globe::new(Arc::clone(&time), venues, lags, ahead)
    };
    let mut process = Process::start(folder, globe(0), &plan, WRITES);
    let mut performed = schedule.clone();
    for step in &mut performed.mishaps {
        let lasts = Duration::from_millis(step.lasts);
        sleep_until(begun + Duration::from_millis(step.at)).await;
        let at = log.now();
        log.say(&format!("{:?} for {} ms", step.what, step.lasts));
        match step.what {
            Mishap::Killed => {
                process.kill().await;
                sleep(lasts).await;
                process = Process::start(folder, globe(0), &plan, WRITES);
            }
            Mishap::Stopped => {
                process.stop().await;
                sleep(lasts).await;
                process = Process::start(folder, globe(0), &plan, WRITES);
            }
            Mishap::Frozen { cut } => freeze(&process, &venues, schedule, cut, step.lasts).await,
            Mishap::Full { killed } => {
                process.full.store(true, Ordering::Relaxed);
                sleep(lasts).await;
                process.full.store(false, Ordering::Relaxed);
                if let Some(soon) = killed {
                    sleep(Duration::from_millis(soon)).await;
                    process.kill().await;
                    log.say("killed");
                    process = Process::start(folder, globe(0), &plan, WRITES);
                }
            }
            Mishap::Restarted(off) => {
                process.kill().await;
                process = Process::start(folder, globe(off), &plan, WRITES);
                sleep(lasts).await;
                process.globe.ahead.store(0, Ordering::Relaxed);
            }
            Mishap::Clock(off) => {
                process.globe.ahead.store(off, Ordering::Relaxed);
                sleep(lasts).await;
                process.globe.ahead.store(0, Ordering::Relaxed);
            }
        }
        log.say(&format!("{:?} is over", step.what));
        (step.at, step.lasts) = (at, log.now() - at);
    }
    sleep_until(begun + Duration::from_millis(schedule.lasts)).await;
    performed.faults.clear();
    while let Some(step) = faults.join_next().await {
        performed.faults.push(step.unwrap());
    }
    log.say("calm");
    sleep(Duration::from_millis(CALM)).await;
    tellers.shutdown().await;
    let ends = (time)();
    sleep(Duration::from_secs(30)).await;
    process.stop().await;
    let log = log.lines.lock().unwrap().clone();
    Happened {
        performed,
        truths: truths(&venues),
        skipped: skipped(&venues),
        pages_refused: venues.values().map(|one| one.tally().pages_refused).sum(),
        ends,
        log,
    }
}
