//! State that all tasks of one exchange share: its feed, settings, clock, status and markets.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;

use crate::archive::{Batch, Measurement, MeasurementKind};
use crate::collect::clock::{AdjustedClock, ClockUpdate};
use crate::collect::delivery::delivery::Delivery;
use crate::collect::limits::cooldown::Cooldowns;
use crate::collect::limits::pacer::SubscriptionPacer;
use crate::collect::reference_data::markets::Markets;
use crate::collect::settings::settings::{Settings, span_or};
use crate::collect::status::status_board::StatusBoard;
use crate::feeds::{Listing, Venue};
use crate::model::Millis;

/// State that all tasks of one exchange share.
pub(crate) struct VenueContext {
    pub(crate) venue: &'static Venue,
    pub(crate) settings: Arc<Settings>,
    pub(crate) clock: Arc<AdjustedClock>,
    pub(crate) board: StatusBoard,
    pub(crate) delivery: Delivery,
    /// The markets as they were last read.
    pub(crate) markets: ArcSwap<Markets>,
    /// Cooldowns of requests and of hosts that refused a handshake.
    pub(crate) cooldowns: Cooldowns,
    pub(crate) pacer: SubscriptionPacer,
    /// When this process started to collect.
    pub(crate) begun: Millis,
    /// The coins to collect; `None` for all.
    coins: Option<Vec<String>>,
}

impl VenueContext {
    pub(crate) fn new(
        venue: &'static Venue,
        settings: &Arc<Settings>,
        coins: Option<Vec<String>>,
        delivery: Delivery,
        clock: Arc<AdjustedClock>,
    ) -> Self {
        Self {
            venue,
            settings: Arc::clone(settings),
            board: StatusBoard::new(venue.name()),
            markets: ArcSwap::default(),
            cooldowns: Cooldowns::load(&delivery.archive, venue.name(), clock.now()),
            pacer: SubscriptionPacer::new(venue.between()),
            begun: clock.now(),
            delivery,
            clock,
            coins,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.venue.name()
    }

    /// Whether two connections carry the same feeds.
    pub(crate) fn is_redundant(&self) -> bool {
        self.settings.redundancy > 1 && self.venue.redundant_connections() > 1
    }

    /// Whether rows of a coin are collected.
    pub(crate) fn is_collected(&self, coin: &str) -> bool {
        self.coins
            .as_ref()
            .is_none_or(|coins| coins.iter().any(|wanted| wanted == coin))
    }

    /// Shows a warning in the status and the log.
    pub(crate) fn trouble(&self, message: String) {
        self.board.trouble(message);
    }

    /// Whether all market lists of the exchange were read.
    pub(crate) fn knows_all_markets(&self) -> bool {
        self.is_complete(&self.markets.load())
    }

    /// Whether `markets` contains a reply for every market list of the exchange.
    pub(crate) fn is_complete(&self, markets: &Markets) -> bool {
        let lists = self.venue.listing_requests().len();
        markets.lists.iter().flatten().count() >= lists
    }

    /// The markets of the coins to collect.
    pub(crate) fn wanted(&self) -> Vec<Listing> {
        self.wanted_of(&self.markets.load())
    }

    /// The listings in `markets` with a collected coin.
    pub(crate) fn wanted_of(&self, markets: &Markets) -> Vec<Listing> {
        let listings = markets.listings.iter();
        let wanted = listings.filter(|listing| self.is_collected(&listing.coin().0));
        wanted.cloned().collect()
    }

    /// The markets to collect, including those that closed or were delisted after `from`.
    pub(crate) fn traded_since(&self, from: Millis) -> Vec<Listing> {
        let mut wanted = self.wanted();
        let markets = self.markets.load();
        let closed = markets.closed_since(from);
        for listing in closed.filter(|listing| self.is_collected(&listing.coin().0)) {
            wanted.retain(|known| known.native_id != listing.native_id);
            wanted.push(Listing {
                trading: true,
                ..listing.clone()
            });
        }
        wanted
    }

    /// How late an event may first appear in REST data, in milliseconds.
    pub(crate) fn lateness(&self) -> i64 {
        let late = Duration::from_millis(u64::try_from(self.venue.late()).unwrap_or(0));
        let late = span_or(self.settings.pace.late, late).as_millis();
        i64::try_from(late).unwrap_or(i64::MAX)
    }

    /// Starts a cooldown of one WebSocket host or of all REST requests.
    pub(crate) fn cool_down(&self, scope: &str, wait: Duration) {
        if let Err(fault) = self.cooldowns.begin(scope, wait, self.clock.now()) {
            self.trouble(format!("the cooldown cannot be saved: {fault}"));
        }
    }

    /// Reports the cooldowns of an earlier process that still last.
    pub(crate) fn report_cooldowns(&self) {
        for (scope, left) in self.cooldowns.active() {
            let seconds = left.as_secs();
            self.trouble(format!(
                "cooldown: {scope} for another {seconds} s, as the exchange demanded before the restart"
            ));
        }
    }

    /// Updates the clock offset from the `date` of a reply to a request that lasted `took`.
    pub(crate) fn measure_clock(&self, date: SystemTime, took: Duration) {
        let ClockUpdate {
            of_venue,
            corrected,
        } = self.clock.measure(self.name(), date, took);
        let now = self.clock.now();
        if let Some(ahead) = of_venue {
            self.board.notes().status.clock_ahead = Some(ahead);
            self.delivery.note(Batch {
                measurements: vec![Measurement {
                    exchange: self.name().to_owned(),
                    kind: MeasurementKind::ClockAhead,
                    at: now,
                    value: ahead,
                }],
                ..Batch::default()
            });
        }
        match corrected {
            Some(0) => {
                log::info!(
                    target: "liqdata::feeds",
                    "the clock of this machine agrees with the exchanges again"
                );
            }
            Some(ahead) => log::warn!(
                target: "liqdata::feeds",
                "the clock of this machine is {ahead} ms ahead of the exchanges; timestamps are corrected"
            ),
            None => {}
        }
    }
}
