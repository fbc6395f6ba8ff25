//! Collecting: every venue's tasks on a runtime of their own, one archive that takes what they bring.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::board::{Status, VenueState};
use super::intake::Intake;
use super::keep::Keep;
use super::rest::{Http, Rest};
use super::settings::{Settings, SettingsError, millis, span};
use super::tend::{self, Tended};
use super::yardstick::Yardstick;
use crate::archive::{Archive, ArchiveError, Inbox, Keeper, NotKept, Pace as Keeping};
use crate::feeds::{Error, VENUES, Venue};
use crate::model::{Millis, did_you_mean, hint_coin};

/// How long the venues may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(5);

/// Why nothing is collected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// A venue that is none.
    #[error("venues: {0}")]
    Venue(#[from] Error),
    /// A coin that cannot be one.
    #[error("symbols: {message}")]
    Coin {
        /// What is wrong, with the name and what is allowed.
        message: String,
    },
    /// A setting that cannot be used.
    #[error("settings: {0}")]
    Settings(#[from] SettingsError),
    /// The archive cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Threads or TLS cannot be had.
    #[error("nothing can be started: {0}")]
    Start(String),
}

/// What is to be collected.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The venues by name; all of them where there are none.
    pub venues: Vec<String>,
    /// The coins: orders of no others are kept, and bars and open interest of these. Without any, orders of all coins
    /// are kept, and bars and open interest of those in the settings.
    pub coins: Vec<String>,
    /// Whether only the past is asked for.
    pub once: bool,
    /// Everything else.
    pub settings: Settings,
}

impl Plan {
    fn venues(&self) -> Result<Vec<&'static Venue>, CollectError> {
        if self.venues.is_empty() {
            return Ok(VENUES.to_vec());
        }
        let mut chosen: Vec<&'static Venue> = Vec::new();
        for name in &self.venues {
            let venue = crate::feeds::venue(name)?;
            if !chosen.iter().any(|known| known.name() == venue.name()) {
                chosen.push(venue);
            }
        }
        Ok(chosen)
    }

    fn coins(&self) -> Result<Vec<String>, CollectError> {
        let mut coins = BTreeSet::new();
        for name in &self.coins {
            let coin = name.trim().to_uppercase();
            if coin.is_empty() {
                return Err(CollectError::Coin {
                    message: format!("{name:?} is blank; a coin such as \"BTC\" is expected"),
                });
            }
            if let Some(hint) = hint_coin(&coin) {
                return Err(CollectError::Coin {
                    message: format!(
                        "{name:?} is a pair; coins are collected, {}",
                        did_you_mean(&hint)
                    ),
                });
            }
            coins.insert(coin);
        }
        Ok(coins.into_iter().collect())
    }
}

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
    since: Millis,
    archive: PathBuf,
    tended: Vec<Arc<Tended>>,
    keep: Keep,
    stop: watch::Sender<bool>,
    running: Mutex<Option<Running>>,
    pid: u32,
}

impl std::fmt::Debug for Tended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tended")
            .field("venue", &self.intake.name())
            .finish_non_exhaustive()
    }
}

impl Collector {
    /// Opens the archive in the folder `archive` for writing (makes it where there is none) and begins to collect.
    ///
    /// # Errors
    ///
    /// [`CollectError`] where a venue, a coin or a setting cannot be used, or the archive cannot be written; nothing has
    /// been connected to then.
    pub fn start(archive: impl AsRef<Path>, plan: &Plan) -> Result<Self, CollectError> {
        plan.venues()?;
        plan.coins()?;
        plan.settings.check()?;
        let writer = Archive::create_or_open(archive)?;
        let folder = writer.path().to_owned();
        let settings = &plan.settings;
        let keeper = Keeper::start_at(
            writer,
            Keeping {
                delay: span(settings.pace.commit),
                rows: settings.commit_rows,
                queue: settings.queue_rows,
                retry: span(settings.pace.rewrite),
            },
        )?;
        Self::begin(folder, keeper, plan)
    }

    fn begin(archive: PathBuf, keeper: Keeper, plan: &Plan) -> Result<Self, CollectError> {
        let venues = plan.venues()?;
        let coins = plan.coins()?;
        plan.settings.check()?;
        let settings = Arc::new(plan.settings.clone());
        let http = Http::new(&settings).map_err(CollectError::Start)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("liqdata-collect")
            .enable_all()
            .build()
            .map_err(|error| CollectError::Start(error.to_string()))?;
        let keep = {
            let _inside = runtime.enter();
            Keep::new(keeper.inbox(), &archive, &settings)
        };
        let yardstick = Arc::new(Yardstick::default());
        let wanted = (!coins.is_empty()).then(|| coins.clone());
        let history_coins = if coins.is_empty() {
            settings
                .coins
                .iter()
                .map(|coin| coin.to_uppercase())
                .collect()
        } else {
            coins
        };
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let mut tended = Vec::with_capacity(venues.len());
        for venue in venues {
            let intake = Intake::new(
                venue,
                &settings,
                wanted.clone(),
                keep.clone(),
                Arc::clone(&yardstick),
            );
            let one = Arc::new(Tended {
                intake: Arc::new(intake),
                rest: Arc::new(Rest::new(venue, Arc::clone(&settings), http.clone())),
                archive: archive.clone(),
                history_coins: history_coins.clone(),
                yardstick: Arc::clone(&yardstick),
                once: plan.once,
                filled: false.into(),
                known: watch::Sender::new(false),
                orders: watch::Sender::new(None),
            });
            tasks.spawn_on(
                tend::tend(Arc::clone(&one), stopped.clone()),
                runtime.handle(),
            );
            tended.push(one);
        }
        if !plan.once {
            let watched = tended.clone();
            runtime.spawn(watch_rates(watched, settings));
        }
        Ok(Self {
            since: super::now(),
            archive,
            tended,
            keep,
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
        self.keep.inbox()
    }

    /// How it goes.
    #[must_use]
    pub fn status(&self) -> Status {
        let now = super::now();
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        Status {
            at: now,
            since: self.since,
            venues: self
                .tended
                .iter()
                .map(|one| one.intake.seat.picture(now))
                .collect(),
            orders: count(&self.keep.kept.orders),
            bars: count(&self.keep.kept.bars),
            open_interest: count(&self.keep.kept.open_interest),
            repeated: count(&self.keep.kept.repeated),
            waiting: self.keep.waiting(),
            trouble: self.keep.trouble(),
            is_filled: self
                .tended
                .iter()
                .all(|one| one.filled.load(Ordering::Acquire)),
        }
    }

    /// Whether every venue has ended, as it does where only the past was asked for, and no day is on its way into a file.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let mut venues = self.tended.iter();
        venues.all(|one| one.intake.seat.picture(self.since).state == VenueState::Stopped)
            && !self.keep.is_rolling()
    }

    /// Closes the sockets, keeps what came in, ends the runs and lets go of the archive; again is harmless.
    ///
    /// Not to be called on a thread of an asynchronous runtime.
    ///
    /// # Errors
    ///
    /// [`NotKept`] where the archive's keeper had failed.
    pub fn stop(&self) -> Result<(), NotKept> {
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
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
            self.keep.hand_over(FAREWELL).await;
            self.keep.flush().await;
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        keeper.stop().map(drop)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match running {
            // After a fork its threads are the parent's, and waiting for them would never end.
            Some(running) if self.pid != std::process::id() => std::mem::forget(running),
            Some(running) => running.runtime.shutdown_background(),
            None => {}
        }
    }
}

/// Finds out venues that are connected and mute: silent for long while others report.
async fn watch_rates(tended: Vec<Arc<Tended>>, settings: Arc<Settings>) {
    let mute = millis(settings.pace.mute);
    let mut quiet_from: HashMap<&'static str, Millis> = HashMap::new();
    let tick = span(settings.pace.mute)
        .div_f64(20.0)
        .max(Duration::from_millis(10));
    let last_event = |name: &str| {
        tended
            .iter()
            .find(|one| one.intake.name() == name)
            .and_then(|one| one.intake.seat.notes().last_event_at)
    };
    loop {
        tokio::time::sleep(tick).await;
        let now = super::now();
        for one in &tended {
            let venue = one.intake.venue;
            one.intake.seat.sum_up(now);
            if venue.witnesses().is_empty() {
                continue;
            }
            let live = one.intake.seat.notes().state() == VenueState::Live;
            let since = quiet_from.entry(venue.name()).or_insert(now);
            if !live {
                *since = now;
                continue;
            }
            *since = (*since).max(last_event(venue.name()).unwrap_or_default());
            let reporting = venue
                .witnesses()
                .iter()
                .find(|name| last_event(name).is_some_and(|at| at > *since));
            if now.0.saturating_sub(since.0) >= mute
                && let Some(witness) = reporting
            {
                let reason = format!(
                    "no event for {} s while {witness} reports: connected but mute",
                    settings.pace.mute
                );
                *since = now;
                one.orders.send_replace(Some(reason));
            }
        }
    }
}
