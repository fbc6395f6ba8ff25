//! Every venue's tasks together, on whatever runtime they are begun on, and how they go.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::clock::Clock;
use super::delivery::Delivery;
use super::intake::Intake;
use super::lock::locked;
use super::mute;
use super::plan::{CollectError, Plan};
use super::rest::{Http, Rest};
use super::status::{Status, VenueState};
use super::tend::tend;
use super::venue::VenueTasks;
use super::world::World;
use super::yardstick::Yardstick;
use crate::archive::Inbox;
use crate::model::Millis;

/// How long the venues may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(5);

/// The tasks of all venues.
#[derive(Debug)]
pub struct Listening {
    clock: Arc<Clock>,
    since: Millis,
    venues: Vec<Arc<VenueTasks>>,
    delivery: Delivery,
    stop: watch::Sender<bool>,
    tasks: Mutex<Tasks>,
}

/// What runs.
#[derive(Debug, Default)]
struct Tasks {
    venues: JoinSet<()>,
    beside: JoinSet<()>,
}

impl Listening {
    /// Begins to listen on the runtime of the caller, in another `world` where there is one; what comes in is handed to
    /// the keeper of `archive`.
    ///
    /// # Errors
    ///
    /// [`CollectError`] where a venue, a coin or a setting cannot be used; nothing has been connected to then.
    pub fn begin(
        archive: &Path,
        inbox: Inbox,
        plan: &Plan,
        world: Option<Arc<dyn World>>,
    ) -> Result<Self, CollectError> {
        let chosen = plan.venues()?;
        let coins = plan.coins()?;
        let settings = Arc::new(plan.settings.clone());
        let http = Http::new(&settings, world.clone()).map_err(CollectError::Start)?;
        let clock = Arc::new(Clock::new(world));
        let delivery = Delivery::new(inbox, archive, &settings, &clock);
        let yardstick = Arc::new(Yardstick::default());
        let wanted = (!coins.is_empty()).then_some(coins);
        let of_settings = || settings.coins.iter().map(|coin| coin.to_uppercase());
        let history_coins = wanted.clone().unwrap_or_else(|| of_settings().collect());
        let (stop, stopped) = watch::channel(false);
        let mut tasks = Tasks::default();
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
                archive: archive.to_owned(),
                history_coins: history_coins.clone(),
                yardstick: Arc::clone(&yardstick),
                once: plan.once,
                filled: false.into(),
                known: watch::Sender::new(false),
                renewal: watch::Sender::new(None),
            });
            tasks.venues.spawn(tend(Arc::clone(&one), stopped.clone()));
            venues.push(one);
        }
        if !plan.once {
            let watch = mute::watch(venues.clone(), settings, Arc::clone(&clock));
            tasks.beside.spawn(watch);
        }
        let ticking = Arc::clone(&clock);
        tasks.beside.spawn(async move { ticking.tick().await });
        Ok(Self {
            since: clock.now(),
            clock,
            venues,
            delivery,
            stop,
            tasks: Mutex::new(tasks),
        })
    }

    /// The way into the archive.
    pub(super) fn inbox(&self) -> Inbox {
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

    /// Whether every venue has ended, and no day is on its way into a file.
    pub(super) fn is_over(&self) -> bool {
        let mut venues = self.venues.iter();
        venues.all(|one| one.intake.board.picture(self.since).state == VenueState::Stopped)
            && !self.delivery.is_rolling()
    }

    /// Closes the sockets and hands over what came in; returns once that is kept, or has not been for too long.
    pub async fn end(&self) {
        let _ = self.stop.send(true);
        let mut tasks = std::mem::take(&mut locked(&self.tasks).venues);
        let all = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FAREWELL, all).await;
        tasks.shutdown().await;
        self.delivery.hand_over(FAREWELL).await;
        self.delivery.flush().await;
    }

    /// Leaves the tasks alone: after a fork they are the parent's.
    pub(super) fn forget(&self) {
        std::mem::forget(std::mem::take(&mut *locked(&self.tasks)));
    }
}
