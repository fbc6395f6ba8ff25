//! Every venue's tasks together, on whatever runtime they are begun on, and how they go.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::archive::{RawLine, RawLineKind, RawQueue, RawRetention, WriteQueue};
use crate::collect::clock::AdjustedClock;
use crate::collect::environment::Environment;
use crate::collect::health::coverage;
use crate::collect::health::staleness;
use crate::collect::health::status::{Status, VenueState};
use crate::collect::intake::delivery::Delivery;
use crate::collect::intake::intake::Intake;
use crate::collect::lock::locked;
use crate::collect::plan::{CollectError, CollectPlan};
use crate::collect::positions::discovery;
use crate::collect::positions::polling::PositionPoller;
use crate::collect::quality::reference_price::ReferencePrices;
use crate::collect::reference_data::instrument_cache::recall;
use crate::collect::rest_client::{HttpClients, RestClient};
use crate::collect::settings::Settings;
use crate::collect::subscription::coin_selection::coins_of;
use crate::collect::subscription::unlisted_coins;
use crate::collect::venue_context::VenueContext;
use crate::collect::venue_runner::run_venue;
use crate::collect::venue_tasks::VenueTasks;
use crate::model::Millis;

/// How long the venues may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(5);

/// The tasks of all venues.
#[derive(Debug)]
pub struct Supervisor {
    clock: Arc<AdjustedClock>,
    since: Millis,
    venues: Vec<Arc<VenueTasks>>,
    delivery: Delivery,
    /// Where positions are looked at.
    rounds: Option<Arc<PositionPoller>>,
    stop: watch::Sender<bool>,
    tasks: Mutex<Tasks>,
}

/// What runs.
#[derive(Debug, Default)]
struct Tasks {
    venues: JoinSet<()>,
    beside: JoinSet<()>,
}

impl Supervisor {
    /// Begins to listen on the runtime of the caller, in another `world` where there is one; what comes in is handed to
    /// the keeper of `archive`.
    ///
    /// # Errors
    ///
    /// [`CollectError`] where a venue, a coin or a setting cannot be used; nothing has been connected to then.
    pub fn begin(
        archive: &Path,
        inbox: WriteQueue,
        plan: &CollectPlan,
        world: Option<Arc<dyn Environment>>,
    ) -> Result<Self, CollectError> {
        let chosen = plan.venues()?;
        let coins = plan.coins()?;
        let settings = Arc::new(plan.settings.clone());
        let http = HttpClients::new(&settings, world.clone()).map_err(CollectError::Start)?;
        let world_is_ours = world.is_none();
        let clock = Arc::new(AdjustedClock::new(world));
        // Another world is not kept as it came.
        let raw = if world_is_ours {
            let (days, bytes) = (settings.raw_days, settings.raw_bytes);
            let rows = inbox.clone();
            RawQueue::start(archive, RawRetention { days, bytes }, move || {
                rows.status().is_full
            })?
        } else {
            RawQueue::default()
        };
        let delivery = Delivery::new(inbox, archive, &settings, &clock).keeping(raw.clone());
        let prices = Arc::new(ReferencePrices::default());
        let wanted = (!coins.is_empty()).then_some(coins);
        let of_settings = coins_of(&settings.coins);
        let of_settings = of_settings.map_err(|message| CollectError::Coin { message })?;
        let history_coins = wanted.clone().unwrap_or(of_settings);
        let (stop, stopped) = watch::channel(false);
        let mut tasks = Tasks::default();
        let mut venues = Vec::with_capacity(chosen.len());
        for venue in chosen {
            raw.offer(RawLine {
                coins: wanted.clone(),
                ..RawLine::new(venue.name(), clock.now(), RawLineKind::Start)
            });
            let context = Arc::new(VenueContext::new(
                venue,
                &settings,
                wanted.clone(),
                delivery.clone(),
                Arc::clone(&clock),
            ));
            context.report_cooldowns();
            let one = Arc::new(VenueTasks {
                rest: {
                    let http = http.of_venue(&settings, venue.name());
                    RestClient::new(Arc::clone(&context), http.map_err(CollectError::Start)?)
                },
                recalled: recall(archive, venue, clock.now()),
                is_compared: Mutex::default(),
                intake: Arc::new(Intake::new(&context, Arc::clone(&prices))),
                context,
                history_coins: history_coins.clone(),
                prices: Arc::clone(&prices),
                once: plan.once,
                filled: false.into(),
                has_begun: false.into(),
                known: watch::Sender::new(false),
                renewal: watch::Sender::new(None),
            });
            tasks
                .venues
                .spawn(run_venue(Arc::clone(&one), stopped.clone()));
            venues.push(one);
        }
        // What nobody named is nobody's mistake.
        if wanted.is_some() || settings.coins != Settings::default().coins {
            let looking = unlisted_coins::look(venues.clone(), history_coins.clone());
            tasks.beside.spawn(looking);
        }
        let mut rounds = None;
        if plan.positions && !plan.once {
            let (http, delivery) = (http.clone(), delivery.clone());
            let of = PositionPoller::new(&settings, http, &clock, delivery, wanted.clone());
            let of = Arc::new(of);
            of.remember(archive)?;
            tasks.venues.spawn(Arc::clone(&of).run(stopped.clone()));
            let hearing = discovery::listen(Arc::clone(&of), history_coins, stopped.clone());
            tasks.venues.spawn(hearing);
            rounds = Some(of);
        }
        if !plan.once {
            // A custom environment has no user who reads the coverage.
            if world_is_ours {
                tasks.beside.spawn(coverage::watch(
                    venues.clone(),
                    archive.to_owned(),
                    Arc::clone(&settings),
                    Arc::clone(&clock),
                ));
            }
            let watch =
                staleness::watch(venues.clone(), rounds.clone(), settings, Arc::clone(&clock));
            tasks.beside.spawn(watch);
        }
        let ticking = Arc::clone(&clock);
        tasks.beside.spawn(async move { ticking.tick().await });
        Ok(Self {
            since: clock.now(),
            clock,
            venues,
            delivery,
            rounds,
            stop,
            tasks: Mutex::new(tasks),
        })
    }

    /// The way into the archive.
    pub(crate) fn queue(&self) -> WriteQueue {
        self.delivery.queue()
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
                .map(|one| one.context.board.picture(now))
                .collect(),
            orders: count(&self.delivery.counts.orders),
            bars: count(&self.delivery.counts.bars),
            open_interest: count(&self.delivery.counts.open_interest),
            positions: self.rounds.as_ref().map(|rounds| rounds.status()),
            repeated: count(&self.delivery.counts.repeated),
            waiting: self.delivery.waiting(),
            trouble: self.delivery.trouble(),
            raw: self.delivery.raw.status(),
            is_filled: self
                .venues
                .iter()
                .all(|one| one.filled.load(Ordering::Acquire)),
        }
    }

    /// Whether every venue has ended, and no day is on its way into a file.
    pub(crate) fn is_over(&self) -> bool {
        let mut venues = self.venues.iter();
        venues.all(|one| one.context.board.picture(self.since).state == VenueState::Stopped)
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

    /// Writes what frames are left and ends their keeping; not on a thread that drives asynchronous tasks.
    pub(crate) fn end_raw(&self) {
        self.delivery.raw.stop();
    }

    /// Leaves the tasks alone: after a fork they are the parent's.
    pub(crate) fn forget(&self) {
        std::mem::forget(std::mem::take(&mut *locked(&self.tasks)));
    }
}
