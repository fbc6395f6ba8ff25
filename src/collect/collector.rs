//! Collecting: every venue's tasks on a runtime of their own, one archive that takes what they bring.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::clock::Clock;
use super::delivery::Delivery;
use super::intake::Intake;
use super::lock::locked;
use super::mute;
use super::plan::{CollectError, Plan};
use super::rest::{Http, Rest};
use super::settings::span;
use super::status::{Status, VenueState};
use super::tend::tend;
use super::venue::VenueTasks;
use super::yardstick::Yardstick;
use crate::archive::{Archive, Inbox, Keeper, NotKept, Pace as Keeping};
use crate::model::Millis;

/// How long the venues may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(5);

/// What runs, until it is stopped.
#[derive(Debug)]
struct Running {
    runtime: Runtime,
    tasks: JoinSet<()>,
    keeper: Keeper,
}

/// A collector at work.
///
/// # Examples
///
/// ```no_run
/// use liqdata::collect::{Collector, Plan};
///
/// let collector = Collector::start("my-archive", &Plan {
///     venues: vec!["binance".to_owned(), "bybit".to_owned()],
///     ..Plan::default()
/// })?;
/// std::thread::sleep(std::time::Duration::from_secs(60));
/// println!("{} orders kept", collector.status().orders);
/// collector.stop()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Collector {
    clock: Arc<Clock>,
    since: Millis,
    archive: PathBuf,
    venues: Vec<Arc<VenueTasks>>,
    delivery: Delivery,
    stop: watch::Sender<bool>,
    running: Mutex<Option<Running>>,
    pid: u32,
}

impl Collector {
    /// Opens the archive in the folder `archive` for writing (makes it where there is none) and begins to collect.
    ///
    /// # Errors
    ///
    /// [`CollectError`] where a venue, a coin or a setting cannot be used, or the archive cannot be written; nothing has
    /// been connected to then.
    pub fn start(archive: impl AsRef<Path>, plan: &Plan) -> Result<Self, CollectError> {
        let chosen = plan.venues()?;
        let coins = plan.coins()?;
        plan.settings.check()?;
        let settings = Arc::new(plan.settings.clone());
        let writer = Archive::create_or_open(archive)?;
        let archive = writer.path().to_owned();
        let keeper = Keeper::start_at(
            writer,
            Keeping {
                delay: span(settings.pace.commit),
                rows: settings.commit_rows,
                queue: settings.queue_rows,
                retry: span(settings.pace.rewrite),
            },
        )?;
        let http = Http::new(&settings).map_err(CollectError::Start)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("liqdata-collect")
            .enable_all()
            .build()
            .map_err(|error| CollectError::Start(error.to_string()))?;
        let inside = runtime.enter();
        let delivery = Delivery::new(keeper.inbox(), &archive, &settings);
        let yardstick = Arc::new(Yardstick::default());
        let clock = Arc::new(Clock::new());
        let wanted = (!coins.is_empty()).then_some(coins);
        let of_settings = || settings.coins.iter().map(|coin| coin.to_uppercase());
        let history_coins = wanted.clone().unwrap_or_else(|| of_settings().collect());
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let mut venues = Vec::with_capacity(chosen.len());
        for venue in chosen {
            let intake = Arc::new(Intake::new(
                venue,
                &settings,
                wanted.clone(),
                delivery.clone(),
                Arc::clone(&yardstick),
                Arc::clone(&clock),
            ));
            let one = Arc::new(VenueTasks {
                rest: {
                    let http = http.of_venue(&settings, venue.name());
                    Rest::new(Arc::clone(&intake), http.map_err(CollectError::Start)?)
                },
                intake,
                archive: archive.clone(),
                history_coins: history_coins.clone(),
                yardstick: Arc::clone(&yardstick),
                once: plan.once,
                filled: false.into(),
                known: watch::Sender::new(false),
                renewal: watch::Sender::new(None),
            });
            tasks.spawn(tend(Arc::clone(&one), stopped.clone()));
            venues.push(one);
        }
        if !plan.once {
            runtime.spawn(mute::watch(venues.clone(), settings, Arc::clone(&clock)));
        }
        let ticking = Arc::clone(&clock);
        runtime.spawn(async move { ticking.tick().await });
        drop(inside);
        Ok(Self {
            since: clock.now(),
            clock,
            archive,
            venues,
            delivery,
            stop,
            running: Mutex::new(Some(Running {
                runtime,
                tasks,
                keeper,
            })),
            pid: std::process::id(),
        })
    }

    /// The archive's folder.
    #[must_use]
    pub fn archive(&self) -> &Path {
        &self.archive
    }

    /// The way into the archive, for what else this process has to keep there.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        self.delivery.inbox()
    }

    /// How it goes.
    #[must_use]
    pub fn status(&self) -> Status {
        let now = self.clock.now();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Status {
            at: now,
            since: self.since,
            venues: self
                .venues
                .iter()
                .map(|one| one.intake.board.picture(now))
                .collect(),
            orders: count(&self.delivery.counts.orders),
            bars: count(&self.delivery.counts.bars),
            open_interest: count(&self.delivery.counts.open_interest),
            repeated: count(&self.delivery.counts.repeated),
            waiting: self.delivery.waiting(),
            trouble: self.delivery.trouble(),
            is_filled: self
                .venues
                .iter()
                .all(|one| one.filled.load(Ordering::Acquire)),
        }
    }

    /// Whether every venue has ended, as it does where only the past was asked for, and no day is on its way into a file.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let mut venues = self.venues.iter();
        venues.all(|one| one.intake.board.picture(self.since).state == VenueState::Stopped)
            && !self.delivery.is_rolling()
    }

    /// Closes the sockets, keeps what came in, ends the runs and lets go of the archive; again is harmless.
    ///
    /// Not to be called on a thread of an asynchronous runtime.
    ///
    /// # Errors
    ///
    /// [`NotKept`] where the archive's keeper had failed.
    pub fn stop(&self) -> Result<(), NotKept> {
        let running = locked(&self.running).take();
        let Some(Running {
            runtime,
            mut tasks,
            keeper,
        }) = running
        else {
            return Ok(());
        };
        let _ = self.stop.send(true);
        runtime.block_on(async {
            let all = async { while tasks.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(FAREWELL, all).await;
            tasks.shutdown().await;
            // What the keeper has it keeps before it stops, however long that takes; the runtime ends with what it has not.
            self.delivery.hand_over(FAREWELL).await;
            self.delivery.flush().await;
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        keeper.stop().map(drop)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let running = locked(&self.running).take();
        match running {
            // After a fork its threads are the parent's, and waiting for them would never end.
            Some(running) if self.pid != std::process::id() => std::mem::forget(running),
            Some(running) => running.runtime.shutdown_background(),
            None => {}
        }
    }
}
