//! The replay: advances a ledger bar by bar through a window.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use crate::engine::estimate::estimate_basis::EstimateBasis;
use crate::engine::fit::Fit;
use crate::engine::ledger::parameters::version;
use crate::engine::observations::bar_sources::BarCounts;
use crate::engine::observations::coin_history::{CoinHistory, DerivedBar, EstimateInputs};
use crate::engine::observations::durations::days;
use crate::engine::observations::open_interest_series::{FRESH, FreshReadings, OpenInterestSeries};
use crate::engine::{EngineError, Ledger, Parameters, Step, Tier, View};
use crate::model::{Bar, Millis, Model, Side};

/// Minimum length of a window, in milliseconds, that bars must cover completely. A shorter window uses the available
/// bars.
const USUAL: i64 = 31 * Millis::DAY;

/// The closed bars of a coin in a window, with the inputs of a replay.
pub(crate) struct ReplayWindow<'a> {
    view: View<'a>,
    pub(crate) coin: String,
    model: Model,
    pub(crate) parameters: Parameters,
    history: &'a CoinHistory,
    pub(crate) bars: Cow<'a, [Bar]>,
    derived: Cow<'a, [DerivedBar]>,
    readings: Cow<'a, OpenInterestSeries>,
    /// Start of the window.
    start: Millis,
    /// Close time of the last bar, at which the window ends.
    pub(crate) end: Millis,
    /// Close price of the last bar.
    pub(crate) price: f64,
    /// Length of the longest bar.
    pub(crate) interval: i64,
    feed: OrderFeed,
    /// Fit of the expected model, computed on first use.
    fit: OnceCell<Option<Arc<Fit>>>,
}

/// How a replay uses the liquidation orders of the coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrderFeed {
    /// The feed ends with the last known order. Used for a reply as of the end of the window.
    Ends,
    /// The feed continues after the last known order. Used for series of instants up to the end of the window.
    Continues,
    /// Orders are not used.
    Ignored,
}

/// A ledger during a replay.
#[derive(Clone)]
pub(crate) struct ReplayState {
    pub(crate) ledger: Ledger,
    /// Whether the volume per day replaces the open interest, because no open interest is known.
    relative: bool,
    /// Whether the replay has passed a bar with known open interest.
    has_open_interest: bool,
    last_close: Option<Millis>,
    /// Length of the last bar.
    last_interval: i64,
    gaps: usize,
}

/// Counts over the bars that a replay has passed.
pub(crate) struct BarTally<'a> {
    bars: usize,
    /// Length of the longest bar.
    interval: i64,
    /// Number of bars for which the open interest lacks a reading of at least one exchange.
    partial: usize,
    fresh: FreshReadings<'a>,
}

/// The result of a replay: the ledger and its explanation.
pub(crate) struct ReplayResult {
    pub(crate) ledger: Ledger,
    pub(crate) explain: EstimateBasis,
}

impl<'a> ReplayWindow<'a> {
    /// Selects the bars of the `range` milliseconds before the last close.
    ///
    /// The last close is the latest one at or before the instant of the view. Bars must open and close inside the
    /// window.
    ///
    /// # Errors
    ///
    /// [`EngineError`] if no bar has closed, if the last bar closed `range` or longer ago, or if a bar is longer than
    /// `coarsest`. For windows of 31 days or more, except [`Millis::ALL`], also if the bars start more than one bar
    /// after the window does.
    pub(crate) fn new(
        view: View<'a>,
        coin: &str,
        model: Model,
        range: i64,
        range_name: &'static str,
        coarsest: i64,
    ) -> Result<Self, EngineError> {
        let history = view.history(coin).ok_or_else(|| view.unknown(coin))?;
        let inputs = history.judged_at(view.now());
        let closed = inputs
            .bars
            .partition_point(|bar| bar.close_time() <= view.now());
        let bars = inputs.bars.get(..closed).unwrap_or_default();
        let last = *bars.last().ok_or_else(|| view.unknown(coin))?;
        let inputs = of_venue(view, coin, history, inputs)?;
        let bars = inputs.bars.get(..closed).unwrap_or_default();
        let end = last.close_time();
        if end <= view.now().back(range) {
            return Err(EngineError::NoBars {
                coin: coin.to_owned(),
                range: range_name,
                now: view.now(),
                last_close: end,
            });
        }
        let start = end.back(range);
        if let Some(first) = bars.first()
            && (USUAL..Millis::ALL).contains(&range)
            && first.open_time > start.on(first.interval)
        {
            return Err(EngineError::TooShort {
                coin: coin.to_owned(),
                range: range_name,
                start,
                first: first.open_time,
            });
        }
        let before = bars.partition_point(|bar| bar.open_time < start);
        let bars = part(inputs.bars, before..closed);
        // If even the last bar starts before the window, `bars` is empty. The last bar then has the interval to check.
        let interval = bars
            .iter()
            .map(|bar| bar.interval)
            .max()
            .unwrap_or(last.interval);
        if interval > coarsest {
            return Err(EngineError::TooCoarse {
                coin: coin.to_owned(),
                range: range_name,
                interval,
                coarsest,
            });
        }
        Ok(Self {
            view,
            coin: coin.to_owned(),
            model,
            parameters: view.parameters(coin),
            history,
            bars,
            derived: part(inputs.derived, before..closed),
            readings: inputs.readings,
            start,
            end,
            price: last.close,
            interval,
            feed: OrderFeed::Ends,
            fit: OnceCell::new(),
        })
    }

    /// Returns the same window, for a series of instants up to its end.
    pub(crate) fn along(self) -> Self {
        Self {
            feed: OrderFeed::Continues,
            ..self
        }
    }

    /// Returns the same window without orders.
    ///
    /// Without orders, the default share of the crossed mass counts as liquidated.
    pub(crate) fn without_orders(self) -> Self {
        Self {
            feed: OrderFeed::Ignored,
            ..self
        }
    }

    /// The first close at which the initial state of the ledger is known.
    ///
    /// If the first open interest becomes known only at a later bar, the initial state is unknown before that bar
    /// closes.
    pub(crate) fn known_from(&self) -> Millis {
        let at_start = self.reading_at_start();
        let later = self
            .derived
            .iter()
            .position(|derived| derived.open_interest.is_some())
            .filter(|_| {
                at_start
                    .and_then(|instant| self.readings.at(instant))
                    .is_none()
            });
        self.bars
            .get(later.unwrap_or(0))
            .map_or(self.end, Bar::close_time)
    }

    /// Replays the bars and calls `show` with the ledger at each of the ascending `times`.
    pub(crate) fn replay(&self, times: &[Millis], mut show: impl FnMut(&Ledger)) -> ReplayResult {
        let mut times = times.iter().peekable();
        let replayed = self.walk(|ledger, bar| {
            while times.next_if(|time| **time < bar.close_time()).is_some() {
                show(ledger);
            }
        });
        for _ in times {
            show(&replayed.ledger);
        }
        replayed
    }

    /// Replays the bars and calls `before` ahead of each bar.
    ///
    /// `before` gets the ledger as it is before the bar, and the bar.
    pub(crate) fn walk(&self, mut before: impl FnMut(&Ledger, &Bar)) -> ReplayResult {
        let mut running = self.begin(self.opening());
        let mut realised = match (self.model, self.feed) {
            (Model::Exposure, _) | (_, OrderFeed::Ignored) => RealisedOrders::default(),
            (Model::Expected, _) => self.realised(),
        };
        for (bar, derived) in self.bars.iter().zip(&*self.derived) {
            before(&running.ledger, bar);
            running.take(bar, derived, realised.of(bar));
        }
        let mut tally = self.tally();
        tally.count(self, self.bars.len());
        let explain = self.explain(&running, &tally, self.fit().map(Arc::as_ref));
        ReplayResult {
            ledger: running.ledger,
            explain,
        }
    }

    /// Creates the replay state before the first bar.
    ///
    /// `opening` is the initial open interest, if known.
    pub(crate) fn begin(&self, opening: Option<f64>) -> ReplayState {
        let relative = opening.is_none();
        let opening = opening.or_else(|| Some(self.derived.first()?.volume_per_day));
        ReplayState {
            ledger: Ledger::new(self.parameters.clone(), opening.unwrap_or(0.0)),
            relative,
            has_open_interest: false,
            last_close: None,
            last_interval: 0,
            gaps: 0,
        }
    }

    /// Advances a ledger by the bar at index `place`.
    pub(crate) fn advance(
        &self,
        running: &mut ReplayState,
        place: usize,
        realised: [Option<f64>; 2],
    ) {
        if let (Some(bar), Some(derived)) = (self.bars.get(place), self.derived.get(place)) {
            running.take(bar, derived, realised);
        }
    }

    /// Returns the same window, limited to the first `bars` bars.
    pub(crate) fn until(&self, bars: usize) -> ReplayWindow<'_> {
        let bars = self.bars.get(..bars).unwrap_or_default();
        let last = bars.last();
        ReplayWindow {
            view: self.view,
            model: self.model,
            parameters: self.parameters.clone(),
            history: self.history,
            bars: Cow::Borrowed(bars),
            derived: Cow::Borrowed(self.derived.get(..bars.len()).unwrap_or_default()),
            readings: Cow::Borrowed(&self.readings),
            start: self.start,
            end: last.map_or(self.end, Bar::close_time),
            price: last.map_or(self.price, |bar| bar.close),
            interval: bars
                .iter()
                .map(|bar| bar.interval)
                .max()
                .unwrap_or(self.interval),
            coin: self.coin.clone(),
            feed: self.feed,
            fit: OnceCell::new(),
        }
    }

    /// Whether no outlier is unjudged at any time from `start` to `end`.
    ///
    /// If so, estimates as of these times leave out the same rows as this estimate.
    pub(crate) fn is_settled_within(&self, start: Millis, end: Millis) -> bool {
        self.history.excursions.is_settled_within(start, end)
            && self.readings.excursions.is_settled_within(start, end)
    }

    /// Time of the last verdict on the rows unjudged from `start` to `end`.
    ///
    /// A row is unjudged until later rows show whether it is an outlier. `None` if no row was unjudged.
    pub(crate) fn judged_after(&self, start: Millis, end: Millis) -> Option<Millis> {
        let bars = self.history.excursions.judged_after(start, end);
        bars.max(self.readings.excursions.judged_after(start, end))
    }

    /// Returns a tally that has counted no bars.
    pub(crate) fn tally(&self) -> BarTally<'_> {
        let first = self.bars.first().map_or(self.end, Bar::close_time);
        BarTally {
            bars: 0,
            interval: 0,
            partial: 0,
            fresh: self.readings.fresh_from(first),
        }
    }

    /// Time of the first open interest reading of the view's exchange.
    ///
    /// If the view is not limited to one exchange, the earliest possible time.
    pub(crate) fn venue_since(&self) -> Millis {
        let first = self.view.venue().and_then(|_| self.readings.first());
        first.unwrap_or(Millis(i64::MIN))
    }

    /// Whether the estimate uses orders.
    pub(crate) fn is_of_orders(&self) -> bool {
        self.model == Model::Expected
    }

    /// The visible orders of the coin, newest first.
    ///
    /// Each order follows the time at which it became known.
    pub(crate) fn orders(
        &self,
    ) -> impl DoubleEndedIterator<Item = (Millis, (Millis, Side, f64))> + use<'a> {
        self.view.orders_known_of(self.history)
    }

    /// The fit as of the end of the window.
    ///
    /// `None` for the exposure model and for series of instants.
    pub(crate) fn fit(&self) -> Option<&Arc<Fit>> {
        let expected = self.model == Model::Expected && self.feed == OrderFeed::Ends;
        let made = || expected.then(|| self.view.fit(&self.coin));
        self.fit.get_or_init(made).as_ref()
    }

    /// Factors by which located USD are multiplied, per tier, for longs and shorts.
    pub(crate) fn counted(&self) -> [Vec<f64>; 2] {
        self.counted_by(self.fit().map(Arc::as_ref))
    }

    /// The [factors](ReplayWindow::counted) from `fit` if given, else the tier weights.
    pub(crate) fn counted_by(&self, fit: Option<&Fit>) -> [Vec<f64>; 2] {
        match fit {
            Some(fit) => fit.theta.clone(),
            None => [self.parameters.weights(), self.parameters.weights()],
        }
    }

    /// The [factors](ReplayWindow::counted) at several instants, each from data known at that instant.
    ///
    /// If any instant has a fit, instants without one get `None`. They would use the prior, which is on a different
    /// scale than a fit.
    pub(crate) fn counted_at(&self, instants: &[Millis]) -> Vec<Option<[Vec<f64>; 2]>> {
        match self.model {
            Model::Exposure => vec![Some(self.counted()); instants.len()],
            Model::Expected => {
                let fits = self.view.fits_at(&self.coin, instants);
                let any = fits.iter().any(|fit| fit.is_fitted());
                let factors = |fit: &Arc<Fit>| (fit.is_fitted() || !any).then(|| fit.theta.clone());
                fits.iter().map(factors).collect()
            }
        }
    }

    /// Initial open interest.
    ///
    /// This is the reading at the time when the first bar opens. If there is none, it is the last reading before that
    /// time. If there is none either, it is the first reading at a close.
    pub(crate) fn opening(&self) -> Option<f64> {
        self.reading_at_start()
            .and_then(|instant| self.readings.at(instant))
            .or_else(|| {
                self.derived
                    .iter()
                    .find_map(|derived| derived.open_interest)
            })
    }

    /// Number of bars after which the [initial open interest](ReplayWindow::opening) is known.
    ///
    /// 0 if it is known before the first bar, `None` if it never becomes known.
    pub(crate) fn bars_to_opening(&self) -> Option<usize> {
        let before = self
            .reading_at_start()
            .and_then(|instant| self.readings.at(instant));
        if before.is_some() {
            return Some(0);
        }
        let first = self
            .derived
            .iter()
            .position(|derived| derived.open_interest.is_some())?;
        Some(first + 1)
    }

    /// Time of the readings that are known when the first bar opens.
    fn reading_at_start(&self) -> Option<Millis> {
        let readings = &self.readings;
        let start = self.bars.first()?.open_time;
        if readings.at(start).is_some() {
            Some(start)
        } else {
            readings.last_by(start)
        }
    }

    /// Number of bars with fresh open interest, by exchange.
    fn open_interest_exchanges(&self, tally: &BarTally<'_>) -> BarCounts {
        let mut venues = tally.fresh.counts();
        if let Some(start) = self.reading_at_start() {
            let mut fresh = self.readings.fresh_from(start);
            fresh.count(start);
            for venue in fresh.counts().into_keys() {
                venues.entry(venue).or_insert(0);
            }
        }
        venues
    }

    fn realised(&self) -> RealisedOrders {
        let orders = || self.view.orders_of(self.history);
        let known = orders().next_back().zip(orders().next());
        let last = |last: Millis| {
            if self.feed == OrderFeed::Continues {
                Millis(i64::MAX)
            } else {
                last
            }
        };
        let start = self.bars.first().map_or(self.end, |bar| bar.open_time);
        RealisedOrders {
            known: known.map(|((first, ..), (newest, ..))| (first, last(newest))),
            orders: orders()
                .take_while(|(timestamp, ..)| *timestamp >= start)
                .collect(),
        }
    }

    /// Describes the inputs and the state of a ledger after the bars of `tally`.
    pub(crate) fn explain(
        &self,
        running: &ReplayState,
        tally: &BarTally<'_>,
        fit: Option<&Fit>,
    ) -> EstimateBasis {
        let relative = running.relative;
        let bars = self.bars.get(..tally.bars).unwrap_or_default();
        let end = bars.last().map_or(self.end, Bar::close_time);
        let tiers = &self.parameters.tiers;
        let column = |value: fn(&Tier) -> f64| tiers.iter().map(value).collect::<Vec<_>>();
        let view = match self.model {
            Model::Exposure => "exposure, USD of open interest",
            Model::Expected => "expected, USD reported",
        };
        let (price_exchanges, volume_exchanges) = self.history.sources.count(bars);
        let readings_in_doubt = self.readings.excursions.counts(self.start.back(FRESH), end);
        let bars_in_doubt = self.history.excursions.counts(self.start.on(1), end);
        EstimateBasis {
            closed: end,
            model: self.model.number(),
            model_version: version(self.view.own(), self.model),
            exchange: self.view.venue().map(str::to_owned),
            view,
            tiers: column(|tier| tier.leverage),
            clocks: self
                .parameters
                .clocks
                .iter()
                .map(|clock| (clock.share, clock.per_day))
                .collect(),
            maintenance_margins: column(|tier| tier.maintenance),
            weights: column(|tier| tier.weight),
            theta: fit.map(|fit| fit.theta.clone()),
            kappa: fit.map(|fit| fit.kappa),
            fit: fit.map(|fit| fit.of_map(&running.ledger)),
            located_share: running.ledger.located_share(),
            open_interest_scale: if relative { "relative" } else { "usd" },
            open_interest_age_ms: self
                .readings
                .last_by(end)
                .map(|last| end.0.saturating_sub(last.0)),
            open_interest_partial_bars: tally.partial,
            open_interest_outliers: readings_in_doubt.outliers,
            open_interest_unjudged: readings_in_doubt.unjudged,
            bar_outliers: bars_in_doubt.outliers,
            bars_unjudged: bars_in_doubt.unjudged,
            bar_interval_ms: tally.interval,
            bars: tally.bars,
            damaged: Vec::new(),
            side_boundaries: Vec::new(),
            fine: None,
            gaps: running.gaps,
            price_exchanges,
            volume_exchanges,
            open_interest_exchanges: if relative {
                BarCounts::new()
            } else {
                self.open_interest_exchanges(tally)
            },
        }
    }
}

impl ReplayState {
    /// Advances by one bar.
    fn take(&mut self, bar: &Bar, derived: &DerivedBar, realised: [Option<f64>; 2]) {
        if let Some(close) = self.last_close {
            let gap = bar.open_time.0.saturating_sub(close.0);
            let most = self.ledger.parameters().gap;
            // A gap between two bars of different lengths is measured in multiples of the shorter length.
            let interval = bar.interval.min(self.last_interval);
            if gap > interval.saturating_mul(most) {
                self.gaps += 1;
                self.ledger.lapse(days(gap));
            }
        }
        self.last_close = Some(bar.close_time());
        self.last_interval = bar.interval;
        let open_interest = if self.relative {
            derived.volume_per_day
        } else {
            // The initial open interest sums the exchanges known at that time. Only changes of this set after it
            // rescale the ledger.
            if let Some(factor) = derived.regrouped.filter(|_| self.has_open_interest) {
                self.ledger.regroup(factor);
            }
            self.has_open_interest |= derived.open_interest.is_some();
            derived.open_interest.unwrap_or(self.ledger.open_interest())
        };
        self.ledger.step(&Step {
            low: bar.low,
            high: bar.high,
            close: bar.close,
            volume_ratio: derived.volume_ratio,
            days: days(bar.interval),
            open_interest,
            realised,
        });
    }
}

impl BarTally<'_> {
    /// Extends the counts to the first `bars` bars of `frame`. Bars that were already counted are skipped.
    pub(crate) fn count(&mut self, frame: &ReplayWindow<'_>, bars: usize) {
        let new = self.bars..bars.max(self.bars);
        let pairs = frame.bars.iter().zip(&*frame.derived);
        for (bar, derived) in pairs.skip(new.start).take(new.len()) {
            self.interval = self.interval.max(bar.interval);
            self.partial += usize::from(derived.partial);
            self.fresh.count(bar.close_time());
            self.bars += 1;
        }
    }
}

/// The items of a series at the indices `places`.
fn part<T: Clone>(all: Cow<'_, [T]>, places: Range<usize>) -> Cow<'_, [T]> {
    match all {
        Cow::Borrowed(all) => Cow::Borrowed(all.get(places).unwrap_or_default()),
        Cow::Owned(all) => Cow::Owned(all.get(places).unwrap_or_default().to_vec()),
    }
}

/// Limits the open interest to the exchange of the view, if any.
fn of_venue<'a>(
    view: View<'a>,
    coin: &str,
    history: &'a CoinHistory,
    inputs: EstimateInputs<'a>,
) -> Result<EstimateInputs<'a>, EngineError> {
    let Some(venue) = view.venue() else {
        return Ok(inputs);
    };
    let known = inputs.readings.venues_by(view.now());
    if !known.iter().any(|known| known == venue) {
        return Err(EngineError::UnknownVenue {
            coin: coin.to_owned(),
            exchange: venue.to_owned(),
            now: view.now(),
            known,
        });
    }
    Ok(history.judged_of(venue, view.now()))
}

/// Liquidation orders of a window, to be summed by bar.
#[derive(Default)]
struct RealisedOrders {
    /// Event times of the first and last known order of the coin.
    known: Option<(Millis, Millis)>,
    /// Event time, side and quantity in units of the coin. The oldest order is last.
    orders: Vec<(Millis, Side, f64)>,
}

impl RealisedOrders {
    /// Liquidated long and short quantity in `bar`.
    ///
    /// Unknown for bars before the one of the first order, and after the one of the last order.
    fn of(&mut self, bar: &Bar) -> [Option<f64>; 2] {
        let mut sums = [0.0; 2];
        while let Some(&(timestamp, side, qty)) = self.orders.last()
            && timestamp < bar.close_time()
        {
            self.orders.pop();
            if timestamp >= bar.open_time
                && let Some(sum) = sums.get_mut(side.index())
            {
                *sum += qty;
            }
        }
        match self.known {
            Some((first, last)) if bar.close_time() > first && bar.open_time <= last => {
                sums.map(Some)
            }
            _ => [None; 2],
        }
    }
}
