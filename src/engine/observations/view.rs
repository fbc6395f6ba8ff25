//! Observations at one instant: what every answer is read from.

use std::ops::Range;

use crate::engine::fit::{Fitted, last_of_day};
use crate::engine::observations::coin_history::History;
use crate::engine::rolling::{Ring, SumName, Sums};
use crate::engine::{EngineError, Observations, Parameters};
use crate::model::{Bar, Millis, Model, Side, Specification, TimeRange, Window, nearest_f64};

/// Observations at one instant.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    observations: &'a Observations,
    /// Where the orders stand.
    ring: &'a Ring,
    now: Millis,
    received_by: Option<Millis>,
    /// What the caller chose of the parameters of estimates.
    own: Option<&'a Specification>,
    /// The exchange whose ledger estimates are read from; all together where absent.
    venue: Option<&'a str>,
    /// Who knows the fits, where the observations are too short for them.
    fitted: Option<&'a dyn Fitted>,
}

impl Observations {
    /// These observations at `now`; none is hidden for having been received late.
    #[must_use]
    pub fn seen_from(&self, now: Millis) -> View<'_> {
        View {
            observations: self,
            ring: self.ring(),
            now,
            received_by: None,
            own: None,
            venue: None,
            fitted: None,
        }
    }

    /// What was known at `as_of`: it becomes *now*, and orders received later are hidden.
    ///
    /// With `None`, *now* is [`Observations::now`] and nothing is hidden for having been received late. Events after
    /// *now* are outside every window either way.
    #[must_use]
    pub fn at(&self, as_of: Option<Millis>) -> View<'_> {
        View {
            received_by: as_of,
            ..self.seen_from(as_of.unwrap_or(self.now()))
        }
    }
}

impl Ring {
    /// The ring's orders as what realised replies are read from; estimates are made from `observations`.
    #[must_use]
    pub fn view<'a>(&'a self, observations: &'a Observations) -> View<'a> {
        View {
            ring: self,
            ..observations.seen_from(self.now())
        }
    }
}

impl<'a> View<'a> {
    /// The instant every window ends at.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// The instant after which orders were received too late to be seen, if there is one.
    #[must_use]
    pub fn received_by(&self) -> Option<Millis> {
        self.received_by
    }

    /// The observations viewed.
    #[must_use]
    pub fn observations(&self) -> &'a Observations {
        self.observations
    }

    /// The same observations as they were known at `at`, which becomes *now*.
    #[must_use]
    pub fn as_of(self, at: Millis) -> Self {
        Self {
            now: at,
            received_by: Some(at),
            ..self
        }
    }

    /// The same view, its estimates made with what `own` chooses, which has been [checked](Specification::check); as
    /// they are where it is none.
    #[must_use]
    pub fn under(self, own: Option<&'a Specification>) -> Self {
        Self {
            own: own.or(self.own),
            ..self
        }
    }

    /// The same view, its estimates those of the ledger of one exchange.
    #[must_use]
    pub fn of_venue(self, venue: Option<&'a str>) -> Self {
        Self { venue, ..self }
    }

    /// The exchange whose ledger estimates are read from.
    pub(crate) fn venue(self) -> Option<&'a str> {
        self.venue
    }

    /// The same view, its fits told by somebody who knows more than these observations.
    #[must_use]
    pub fn fitted_by(self, fitted: &'a dyn Fitted) -> Self {
        Self {
            fitted: Some(fitted),
            ..self
        }
    }

    /// Who knows the fits.
    pub(crate) fn fitted(self) -> Option<&'a dyn Fitted> {
        self.fitted
    }

    /// What the caller chose of the parameters of estimates.
    pub(crate) fn own(self) -> Option<&'a Specification> {
        self.own
    }

    /// What an estimate is made with.
    pub(crate) fn parameters(self, coin: &str) -> Parameters {
        Parameters::of(self.own, coin)
    }

    /// Where the orders stand.
    pub(crate) fn ring(self) -> &'a Ring {
        self.ring
    }

    /// Whether the ring's running sums are those of the orders seen.
    pub(crate) fn stands(self) -> bool {
        self.received_by.is_none() && self.now == self.ring.now()
    }

    pub(crate) fn sees(self, place: usize) -> bool {
        self.received_by
            .is_none_or(|instant| self.ring.received_at(place) <= instant)
    }

    /// The places of the orders of the last `range` milliseconds, `(now − range, now]`, those not seen among them.
    pub(crate) fn places(self, range: i64) -> Range<usize> {
        self.ring.within(self.now.back(range), self.now)
    }

    /// The places of the orders seen of the last `range` milliseconds, oldest first.
    pub(crate) fn seen(self, range: i64) -> impl DoubleEndedIterator<Item = usize> {
        self.places(range).filter(move |place| self.sees(*place))
    }

    /// The places of the orders seen in `range`, oldest first.
    pub(crate) fn seen_between(self, range: TimeRange) -> impl DoubleEndedIterator<Item = usize> {
        let last = range.end.back(1).min(self.now);
        let places = self.ring.within(range.start.back(1), last);
        places.filter(move |place| self.sees(*place))
    }

    /// What the order at a place has in common with others, where it is one of the observations themselves.
    pub(crate) fn group(self, place: usize) -> Option<&'a str> {
        let is_theirs = std::ptr::eq(self.ring, self.observations.ring());
        is_theirs.then(|| self.observations.group(place)).flatten()
    }

    /// Shows `take` the sums of a window by exchange and coin: read off where they are kept, else counted.
    pub(crate) fn each_sum(self, window: Window, mut take: impl FnMut(SumName, &Sums)) {
        if self.stands() {
            self.ring
                .sums(window)
                .for_each(|(name, sums)| take(name, sums));
            return;
        }
        let names = self.ring.names();
        let mut counted = vec![Sums::default(); names.len()];
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

    /// What is known of a coin, if it has bars.
    pub(crate) fn history(self, coin: &str) -> Option<&'a History> {
        self.observations.history(coin)
    }

    /// The answer about a coin that has no closed bar: which coins have one.
    pub(crate) fn unknown(self, coin: &str) -> EngineError {
        let closed = |bar: &Bar| bar.close_time() <= self.now;
        let mut known = self.observations.coins();
        known.retain(|coin| self.observations.bars(coin).first().is_some_and(closed));
        EngineError::UnknownCoin {
            coin: coin.to_owned(),
            now: self.now,
            known,
        }
    }

    /// The same as of the close of a coin's last bar, so that all of its bars have closed.
    pub(crate) fn at_last_bar(self, coin: &str) -> Self {
        let last = self.history(coin).and_then(|history| history.bars.last());
        Self {
            now: last.map_or(self.now, Bar::close_time),
            ..self
        }
    }

    /// The read-out of an estimate that names none: the expected one where that is fitted.
    pub(crate) fn usual(self, coin: &str) -> Model {
        if self.fit(coin).is_fitted() {
            Model::Expected
        } else {
            Model::Exposure
        }
    }

    /// All orders of a coin, on the view's exchange, that were received in time, later ones than now among them, oldest first: event time, side
    /// and USD. Of those received after the UTC day of their event `late` says which are.
    pub(crate) fn amounts_of(
        self,
        history: &'a History,
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

    /// The orders of a coin up to now, newest first: event time, side, and quantity in units of the coin.
    pub(crate) fn orders_of(
        self,
        history: &'a History,
    ) -> impl DoubleEndedIterator<Item = (Millis, Side, f64)> {
        self.orders_known_of(history).map(|(_, order)| order)
    }

    /// The same, each with the instant from which on it was known.
    pub(crate) fn orders_known_of(
        self,
        history: &'a History,
    ) -> impl DoubleEndedIterator<Item = (Millis, (Millis, Side, f64))> + use<'a> {
        // The places of a history are the observations', whatever ring the realised replies are read from.
        let view = Self {
            ring: self.observations.ring(),
            ..self
        };
        let places = history.orders.iter().rev().map(|place| *place as usize);
        places
            .filter(move |place| view.ring.timestamp(*place) <= view.now && view.sees(*place))
            .filter(move |place| {
                let exchange = || view.ring.exchange(*place);
                view.venue.is_none_or(|venue| venue == exchange())
            })
            .map(move |place| {
                let kind = view.ring.kind(place);
                // A listing in thousands counts a thousand.
                let scale = f64::from(view.ring.names().scale(kind.pair()));
                let qty = nearest_f64(view.ring.qty(place)) * scale;
                let timestamp = view.ring.timestamp(place);
                let known = view.ring.received_at(place).max(timestamp);
                (known, (timestamp, kind.side(), qty))
            })
    }
}
