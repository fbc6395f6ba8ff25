//! A view: observations as of one instant, the input of every reply.

use std::ops::Range;

use crate::engine::fit::{FitSource, last_of_day};
use crate::engine::ledger::checkpoints::LedgerStore;
use crate::engine::ledger::parameters::MEASURED_ON;
use crate::engine::observations::coin_history::{CoinHistory, KnownOrder};
use crate::engine::observations::known_positions::KnownPositions;
use crate::engine::rolling::{Ring, SideSums, SumKey};
use crate::engine::{EngineError, Observations, Parameters};
use crate::model::{Bar, Millis, Model, Side, Specification, TimeRange, Window, nearest_f64};

/// Observations as of one instant, with the options of a question.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    observations: &'a Observations,
    /// The orders of the rolling windows.
    ring: &'a Ring,
    now: Millis,
    received_by: Option<Millis>,
    /// Model parameters set by the caller.
    own: Option<&'a Specification>,
    /// The exchange to which estimates are limited; `None` for all exchanges together.
    venue: Option<&'a str>,
    /// External source of fits, for observations that cover too little time.
    fitted: Option<&'a dyn FitSource>,
    /// An external store of ledgers, used if these observations do not start with the first bar.
    ledgers: Option<&'a dyn LedgerStore>,
    /// Positions that estimates place exactly.
    positions: Option<&'a KnownPositions>,
}

impl Observations {
    /// Creates a view of the observations at `now`, including orders that were received late.
    #[must_use]
    pub fn at_instant(&self, now: Millis) -> View<'_> {
        View {
            observations: self,
            ring: self.ring(),
            now,
            received_by: None,
            own: None,
            venue: None,
            fitted: None,
            ledgers: None,
            positions: None,
        }
    }

    /// Creates a view as of `as_of`, which becomes *now*.
    ///
    /// Orders received after `as_of` are hidden.
    ///
    /// With `None`, *now* is [`Observations::now`] and no order is hidden. In both cases, events after *now* are
    /// outside all windows.
    #[must_use]
    pub fn at(&self, as_of: Option<Millis>) -> View<'_> {
        View {
            received_by: as_of,
            ..self.at_instant(as_of.unwrap_or(self.now()))
        }
    }
}

impl Ring {
    /// Creates a view of the orders in this ring. Estimates use `observations`.
    #[must_use]
    pub fn view<'a>(&'a self, observations: &'a Observations) -> View<'a> {
        View {
            ring: self,
            ..observations.at_instant(self.now())
        }
    }
}

impl<'a> View<'a> {
    /// The instant of the view, at which all windows end.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Orders received after this instant are hidden; `None` if no order is hidden.
    #[must_use]
    pub fn received_by(&self) -> Option<Millis> {
        self.received_by
    }

    /// The underlying observations.
    #[must_use]
    pub fn observations(&self) -> &'a Observations {
        self.observations
    }

    /// Returns the same view as of `at`, which becomes *now*.
    #[must_use]
    pub fn as_of(self, at: Millis) -> Self {
        Self {
            now: at,
            received_by: Some(at),
            ..self
        }
    }

    /// Sets the model parameters of the estimates.
    ///
    /// They must be [checked](Specification::check). `None` leaves the present parameters in use.
    #[must_use]
    pub fn with_model(self, own: Option<&'a Specification>) -> Self {
        Self {
            own: own.or(self.own),
            ..self
        }
    }

    /// Limits estimates to the ledger of one exchange.
    #[must_use]
    pub fn of_venue(self, venue: Option<&'a str>) -> Self {
        Self { venue, ..self }
    }

    /// The exchange to which estimates are limited.
    pub fn venue(self) -> Option<&'a str> {
        self.venue
    }

    /// Places these positions exactly in maps of their coin; the model spreads the rest of the open interest.
    #[must_use]
    pub fn with_positions(self, positions: &'a KnownPositions) -> Self {
        Self {
            positions: Some(positions),
            ..self
        }
    }

    /// Positions that estimates place exactly.
    pub fn positions(self) -> Option<&'a KnownPositions> {
        self.positions
    }

    /// Sets an external source of fits.
    #[must_use]
    pub fn with_fits(self, fitted: &'a dyn FitSource) -> Self {
        Self {
            fitted: Some(fitted),
            ..self
        }
    }

    /// Reads and writes checkpoints of ledgers in an external store.
    #[must_use]
    pub fn with_ledgers(self, ledgers: &'a dyn LedgerStore) -> Self {
        Self {
            ledgers: Some(ledgers),
            ..self
        }
    }

    /// The store of ledgers.
    pub fn ledgers(self) -> &'a dyn LedgerStore {
        self.ledgers.unwrap_or(self.observations.ledgers())
    }

    /// The external source of fits.
    pub fn fitted(self) -> Option<&'a dyn FitSource> {
        self.fitted
    }

    /// Model parameters set by the caller.
    pub fn own(self) -> Option<&'a Specification> {
        self.own
    }

    /// The parameters of the estimates for a coin, with the open interest known by now.
    pub fn parameters(self, coin: &str) -> Parameters {
        let usual = Parameters::of(self.own, coin);
        if self
            .all_read_from(coin)
            .is_some_and(|from| from <= self.now)
        {
            usual.of_all(self.own)
        } else {
            usual
        }
    }

    /// Time from which on the open interest of the estimates includes all exchanges of [`MEASURED_ON`].
    pub fn all_read_from(self, coin: &str) -> Option<Millis> {
        let history = self.history(coin).filter(|_| self.venue.is_none())?;
        history.open_interest.all_read_from(&MEASURED_ON)
    }

    /// The orders of the rolling windows.
    pub fn ring(self) -> &'a Ring {
        self.ring
    }

    /// Whether the running sums of the ring equal the sums of the visible orders.
    pub fn is_current(self) -> bool {
        self.received_by.is_none() && self.now == self.ring.now()
    }

    pub fn sees(self, place: usize) -> bool {
        self.received_by
            .is_none_or(|instant| self.ring.received_at(place) <= instant)
    }

    /// Indexes of the orders in `(now − range, now]`, hidden ones included.
    pub fn places(self, range: i64) -> Range<usize> {
        self.ring.within(self.now.back(range), self.now)
    }

    /// Indexes of the visible orders of the last `range` milliseconds, oldest first.
    pub fn seen(self, range: i64) -> impl DoubleEndedIterator<Item = usize> {
        self.places(range).filter(move |place| self.sees(*place))
    }

    /// Indexes of the orders in `range` and up to now, hidden ones included.
    pub fn places_between(self, range: TimeRange) -> Range<usize> {
        let last = range.end.back(1).min(self.now);
        self.ring.within(range.start.back(1), last)
    }

    /// Indexes of the visible orders in `range`, oldest first.
    pub fn seen_between(self, range: TimeRange) -> impl DoubleEndedIterator<Item = usize> {
        let places = self.places_between(range);
        places.filter(move |place| self.sees(*place))
    }

    /// The group of the order at index `place`.
    ///
    /// `None` if the view uses another ring than the one in its observations.
    pub fn group(self, place: usize) -> Option<&'a str> {
        let is_theirs = std::ptr::eq(self.ring, self.observations.ring());
        is_theirs.then(|| self.observations.group(place)).flatten()
    }

    /// Passes the sums of a window by exchange and coin to `take`.
    ///
    /// Uses the running sums if they equal the sums of the visible orders. Otherwise it adds up the orders.
    pub fn each_sum(self, window: Window, mut take: impl FnMut(SumKey, &SideSums)) {
        if self.is_current() {
            self.ring
                .sums(window)
                .for_each(|(name, sums)| take(name, sums));
            return;
        }
        let names = self.ring.names();
        let mut counted = vec![SideSums::default(); names.len()];
        for place in self.seen(window.millis()) {
            let (kind, usd) = self.ring.amount(place);
            if let Some(sums) = counted.get_mut(names.sum_of(kind.pair())) {
                sums.add(kind.side(), usd);
            }
        }
        names
            .sums()
            .zip(&counted)
            .for_each(|(name, sums)| take(name, sums));
    }

    /// The history of a coin, if it has bars.
    pub fn history(self, coin: &str) -> Option<&'a CoinHistory> {
        self.observations.history(coin)
    }

    /// The error for a coin without a closed bar.
    ///
    /// It lists the coins with a closed bar.
    pub fn unknown(self, coin: &str) -> EngineError {
        let closed = |bar: &Bar| bar.close_time() <= self.now;
        let mut known = self.observations.coins();
        known.retain(|coin| {
            self.observations
                .bars(coin)
                .first()
                .is_some_and(|bar| closed(&bar))
        });
        EngineError::UnknownCoin {
            coin: coin.to_owned(),
            now: self.now,
            known,
        }
    }

    /// Returns the same view as of the close of the last bar of a coin.
    pub fn at_last_bar(self, coin: &str) -> Self {
        let history = self.history(coin);
        let last = history.and_then(|history| history.bars.rows().last());
        Self {
            now: last.map_or(self.now, |bar| bar.close_time()),
            ..self
        }
    }

    /// The close of the last bar of a coin that closed by now.
    pub fn last_close(self, coin: &str) -> Option<Millis> {
        let history = self.history(coin)?;
        let inputs = history.judged_at(self.now);
        let bars = inputs.bars.rows();
        let closed = bars.partition_point(|bar| bar.close_time() <= self.now);
        Some(bars.get(closed.checked_sub(1)?)?.close_time())
    }

    /// The default model of an estimate: expected if it is fitted, exposure otherwise.
    pub fn default_model(self, coin: &str) -> Model {
        let instant = self.last_close(coin).unwrap_or(self.now);
        if self.fit_at(coin, instant).is_fitted() {
            Model::Expected
        } else {
            Model::Exposure
        }
    }

    /// Event time, side and USD of all orders of a coin, oldest first.
    ///
    /// Limited to the exchange of the view, if it has one. Orders after now are included.
    ///
    /// An order received after the UTC day of its event counts only if `late` accepts the time of receipt.
    pub fn amounts_of(
        self,
        history: &'a CoinHistory,
        late: impl Fn(Millis) -> bool,
    ) -> impl Iterator<Item = (Millis, Side, f64)> {
        let ring = self.observations.ring();
        let places = history.orders.iter().map(|place| *place as usize);
        places
            .filter(move |place| {
                let (at, received) = (ring.timestamp(*place), ring.received_at(*place));
                received <= last_of_day(at) || late(received)
            })
            .filter(move |place| {
                self.venue
                    .is_none_or(|venue| venue == ring.exchange(*place))
            })
            .map(move |place| {
                let (kind, usd) = ring.amount(place);
                (ring.timestamp(place), kind.side(), usd.f64())
            })
    }

    /// Orders of a coin on the exchange of the view from `start` on, oldest first, later than now included.
    pub fn orders_from(
        self,
        history: &'a CoinHistory,
        start: Millis,
    ) -> impl Iterator<Item = KnownOrder> + use<'a> {
        // The indexes in a history refer to the ring of the observations, not to that of the view.
        let ring = self.observations.ring();
        let places = history.orders_from(ring, start).iter();
        places
            .map(|place| *place as usize)
            .filter(move |place| {
                self.venue
                    .is_none_or(|venue| venue == ring.exchange(*place))
            })
            .map(move |place| {
                let kind = ring.kind(place);
                // Pairs listed in thousands count 1,000 units each.
                let scale = f64::from(ring.names().scale(kind.pair()));
                let timestamp = ring.timestamp(place);
                KnownOrder {
                    timestamp,
                    known_at: ring.received_at(place).max(timestamp),
                    side: kind.side(),
                    qty: nearest_f64(ring.qty(place)) * scale,
                }
            })
    }
}
