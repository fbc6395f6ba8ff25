//! The supervisor: starts and stops the tasks of all exchanges, and reports their status.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::archive::{RawLine, RawLineKind, RawQueue, RawRetention, WriteQueue, log_bytes};
use crate::collect::clock::AdjustedClock;
use crate::collect::delivery::delivery::Delivery;
use crate::collect::environment::Environment;
use crate::collect::health::coverage;
use crate::collect::health::disk;
use crate::collect::health::staleness;
use crate::collect::intake::intake::Intake;
use crate::collect::lock::locked;
use crate::collect::market_lists::unlisted_coins;
use crate::collect::positions::discovery;
use crate::collect::positions::polling::PositionPoller;
use crate::collect::reference_data::instrument_cache;
use crate::collect::reference_data::reference_price::ReferencePrices;
use crate::collect::rest_client::{HttpClients, RestClient};
use crate::collect::settings::coin_selection::coins_of;
use crate::collect::settings::plan::{CollectError, CollectPlan};
use crate::collect::settings::settings::Settings;
use crate::collect::status::status::{Status, VenueState};
use crate::collect::status::status_board::StatusBoard;
use crate::collect::tape::tape_feed::TapeFeed;
use crate::collect::venue_context::VenueContext;
use crate::collect::venue_runner::run_venue;
use crate::collect::venue_tasks::VenueTasks;
use crate::model::Millis;

/// Time limit of a clean stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts, stops and reports the tasks of all exchanges.
#[derive(Debug)]
pub struct Supervisor {
    clock: Arc<AdjustedClock>,
    since: Millis,
    venues: Vec<Arc<VenueTasks>>,
    delivery: Delivery,
    /// Present if positions are polled.
    poller: Option<Arc<PositionPoller>>,
    /// Present if liquidations are found by watching makers.
    tape: Option<Arc<TapeFeed>>,
    stop: watch::Sender<bool>,
    tasks: Mutex<Tasks>,
}

/// The running tasks.
#[derive(Debug, Default)]
struct Tasks {
    venues: JoinSet<()>,
    common: JoinSet<()>,
}

impl Supervisor {
    /// Starts collection on the runtime of the caller; rows go into `inbox`, the write queue of `archive`.
    ///
    /// Tests may replace the clock and the network by an `environment`.
    ///
    /// # Errors
    ///
    /// [`CollectError`] for an invalid exchange, coin or setting. No connection is opened in these cases.
    #[expect(clippy::too_many_lines, reason = "one step after the other")]
    pub fn start(
        archive: &Path,
        inbox: WriteQueue,
        plan: &CollectPlan,
        environment: Option<Arc<dyn Environment>>,
    ) -> Result<Self, CollectError> {
        let chosen = plan.venues()?;
        let coins = plan.coins()?;
        let settings = Arc::new(plan.settings.clone());
        let http = HttpClients::new(&settings, environment.clone()).map_err(CollectError::Start)?;
        let is_real = environment.is_none();
        if is_real && let Some(fault) = http.proxy_fault(&settings, &chosen) {
            return Err(CollectError::Proxy(fault));
        }
        let clock = Arc::new(AdjustedClock::new(environment));
        let since = clock.now();
        // Raw frames of a test environment are not stored.
        let raw = if is_real {
            let (days, bytes) = (settings.raw_days, settings.raw_bytes);
            let rows = inbox.clone();
            RawQueue::start(archive, RawRetention { days, bytes }, move || {
                rows.status().is_full
            })?
        } else {
            RawQueue::default()
        };
        let delivery = Delivery::new(inbox, archive, &settings, &clock).with_raw(raw.clone());
        let prices = Arc::new(ReferencePrices::default());
        let selected = (!coins.is_empty()).then_some(coins);
        let of_settings = coins_of(&settings.coins);
        let of_settings = of_settings.map_err(|message| CollectError::Coin { message })?;
        let history_coins = selected.clone().unwrap_or(of_settings);
        let (stop, stopped) = watch::channel(false);
        let mut tasks = Tasks::default();
        let mut venues = Vec::with_capacity(chosen.len());
        for venue in chosen {
            raw.offer(RawLine {
                coins: selected.clone(),
                ..RawLine::new(venue.name(), clock.now(), RawLineKind::Start)
            });
            let context = Arc::new(VenueContext::new(
                venue,
                &settings,
                selected.clone(),
                delivery.clone(),
                Arc::clone(&clock),
            ));
            context.report_cooldowns();
            let one = Arc::new(VenueTasks {
                rest: {
                    let http = http.for_venue(&settings, venue.name());
                    RestClient::new(Arc::clone(&context), http.map_err(CollectError::Start)?)
                },
                cached_lists: instrument_cache::load(archive, venue, clock.now()),
                is_compared: Mutex::default(),
                intake: Arc::new(Intake::new(&context, Arc::clone(&prices))),
                context,
                history_coins: history_coins.clone(),
                prices: Arc::clone(&prices),
                once: plan.once,
                filled: false.into(),
                has_begun: false.into(),
                known: watch::Sender::new(false),
                restart: watch::Sender::new(None),
            });
            tasks
                .venues
                .spawn(run_venue(Arc::clone(&one), since, stopped.clone()));
            venues.push(one);
        }
        // A warning about coins without a market is useful only for coins that the user chose.
        if selected.is_some() || settings.coins != Settings::default().coins {
            let watch = unlisted_coins::watch(venues.clone(), history_coins.clone());
            tasks.common.spawn(watch);
        }
        let (mut poller, mut tape) = (None, None);
        if (plan.positions || plan.has_tape()) && !plan.once {
            let (http, coins) = (http.clone(), selected.clone());
            let positions =
                PositionPoller::new(&settings, http, &clock, delivery.clone(), coins.clone());
            let positions = Arc::new(positions);
            if plan.has_tape() {
                let feed = Arc::new(TapeFeed::new(&positions, delivery.clone(), coins));
                tasks.venues.spawn(Arc::clone(&feed).run(stopped.clone()));
                tape = Some(feed);
            }
            if plan.positions {
                positions.load_accounts(archive)?;
                let polling = Arc::clone(&positions).run(stopped.clone());
                tasks.venues.spawn(polling);
                let discovery = discovery::run(Arc::clone(&positions), history_coins, stopped);
                tasks.venues.spawn(discovery);
                poller = Some(positions);
            }
        }
        if !plan.once {
            // In a test environment nothing reads the status, so the coverage is not computed.
            if is_real {
                tasks.common.spawn(disk::watch(archive.to_owned()));
                tasks.common.spawn(coverage::watch(
                    venues.clone(),
                    tape.clone(),
                    archive.to_owned(),
                    Arc::clone(&settings),
                    Arc::clone(&clock),
                ));
            }
            let watch = staleness::watch(
                venues.clone(),
                poller.clone(),
                tape.clone(),
                settings,
                Arc::clone(&clock),
            );
            tasks.common.spawn(watch);
        }
        let ticking = Arc::clone(&clock);
        tasks.common.spawn(async move { ticking.tick().await });
        Ok(Self {
            since: clock.now(),
            clock,
            venues,
            delivery,
            poller,
            tape,
            stop,
            tasks: Mutex::new(tasks),
        })
    }

    /// The write queue of the archive.
    pub(crate) fn queue(&self) -> WriteQueue {
        self.delivery.queue()
    }

    /// The current status.
    #[must_use]
    pub fn status(&self) -> Status {
        let now = self.clock.now();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Status {
            at: now,
            since: self.since,
            venues: self.boards().map(|board| board.status(now)).collect(),
            orders: count(&self.delivery.counts.orders),
            bars: count(&self.delivery.counts.bars),
            open_interest: count(&self.delivery.counts.open_interest),
            positions: self.poller.as_ref().map(|poller| poller.status()),
            repeated: count(&self.delivery.counts.repeated),
            waiting: self.delivery.waiting(),
            log_bytes: log_bytes(&self.delivery.archive),
            trouble: self.delivery.trouble(),
            raw: self.delivery.raw.status(),
            is_filled: self
                .venues
                .iter()
                .all(|one| one.filled.load(Ordering::Acquire)),
        }
    }

    /// Whether all exchanges have ended and no day is being compacted.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let mut boards = self.boards();
        boards.all(|board| board.status(self.since).state == VenueState::Stopped)
            && !self.delivery.is_rolling()
    }

    /// The status boards of all exchanges.
    fn boards(&self) -> impl Iterator<Item = &StatusBoard> {
        let venues = self.venues.iter().map(|one| &one.context.board);
        venues.chain(self.tape.iter().map(|tape| &tape.board))
    }

    /// Closes the connections. Returns once all rows are durable, or after a time limit.
    pub async fn stop(&self) {
        let _ = self.stop.send(true);
        let mut tasks = std::mem::take(&mut locked(&self.tasks).venues);
        let all = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(STOP_TIMEOUT, all).await;
        tasks.shutdown().await;
        self.delivery.hand_over(STOP_TIMEOUT).await;
        self.delivery.flush().await;
    }

    /// Writes the remaining raw frames. Must not be called on a thread of an asynchronous runtime.
    pub(crate) fn stop_raw(&self) {
        self.delivery.raw.stop();
    }

    /// Leaks the tasks, because after a fork they belong to the parent process.
    pub(crate) fn forget(&self) {
        std::mem::forget(std::mem::take(&mut *locked(&self.tasks)));
    }
}
