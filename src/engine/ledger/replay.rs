//! The replay: advances a ledger through the bars of a coin.
//!
//! A ledger is causal. A bar changes it by what was known when the bar closed, so the state after a bar is the same at
//! every later instant. A replay may therefore start from a [checkpoint](LedgerCheckpoint).

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::estimate::estimate_basis::{EstimateBasis, ExchangeShares};
use crate::engine::estimate::reach::volatility;
use crate::engine::fit::{Fit, day_of};
use crate::engine::ledger::bar_liquidations::BarLiquidations;
use crate::engine::ledger::bar_tally::BarTally;
use crate::engine::ledger::checkpoints::{LedgerCheckpoint, LedgerKey};
use crate::engine::ledger::ledger_state::{BarQuantities, LedgerCounts, LedgerState, next_month};
use crate::engine::ledger::located_shares::LocatedShares;
use crate::engine::ledger::parameters::version;
use crate::engine::observations::bar_sources::BarCounts;
use crate::engine::observations::coin_history::{CoinHistory, DerivedBar, EstimateInputs};
use crate::engine::observations::known_positions::KnownPositions;
use crate::engine::observations::open_interest_series::{FRESH, OpenInterestSeries};
use crate::engine::observations::row_store::{RowSlice, RowStore};
use crate::engine::{EngineError, Ledger, Parameters, Tier, View};
use crate::model::{Bar, Millis, Model, Opened};

/// Minimum length of a window, in milliseconds, that bars must cover completely. A shorter window uses the available
/// bars.
const USUAL: i64 = 31 * Millis::DAY;

/// A ledger with fewer bars is replayed each time: its first rows may still turn out to be outliers.
const FEWEST_BARS: usize = 64;

/// A replay of more bars before the day of the first instant leaves a checkpoint at the start of that day.
const FAR: usize = 512;

/// The closed bars of a coin, and the window of a range at their end.
pub struct ReplayWindow<'a> {
    view: View<'a>,
    pub coin: String,
    model: Model,
    pub parameters: Parameters,
    history: &'a CoinHistory,
    /// All bars in memory.
    all: Cow<'a, RowStore<Bar>>,
    derived: Cow<'a, RowStore<DerivedBar>>,
    readings: Cow<'a, OpenInterestSeries>,
    /// Number of closed bars.
    closed: usize,
    /// Index of the first bar that opened in the window.
    first: usize,
    opened: Opened,
    /// Length of the window in milliseconds.
    range: i64,
    /// Start of the window.
    start: Millis,
    /// Close time of the last bar, at which the window ends.
    pub end: Millis,
    /// Close price of the last bar.
    pub price: f64,
    /// Length of the longest bar in the window.
    pub interval: i64,
    /// Whether the orders of the coin are used.
    has_orders: bool,
    /// Fit of the expected model, computed on first use.
    fit: OnceCell<Option<Arc<Fit>>>,
}

impl<'a> ReplayWindow<'a> {
    /// Selects the bars that closed by now, and the window of `range` milliseconds before the last close.
    ///
    /// # Errors
    ///
    /// [`EngineError`] if no bar has closed, if the last one closed `range` or longer ago, if a bar of the window is
    /// longer than `coarsest`, and if the bars start more than a bar after a window of more than a month.
    pub fn new(
        view: View<'a>,
        coin: &str,
        model: Model,
        (range, range_name, opened): (i64, &'static str, Opened),
        coarsest: i64,
    ) -> Result<Self, EngineError> {
        let history = view.history(coin).ok_or_else(|| view.unknown(coin))?;
        let inputs = history.judged_at(view.now());
        let bars = inputs.bars.rows();
        let closed = bars.partition_point(|bar| bar.close_time() <= view.now());
        let last = bars
            .within(0..closed)
            .last()
            .ok_or_else(|| view.unknown(coin))?;
        let inputs = of_venue(view, coin, history, inputs)?;
        let bars = inputs.bars.rows().within(0..closed);
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
        let first = bars.partition_point(|bar| bar.open_time < start);
        // If even the last bar starts before the window, that bar is too long for it.
        let inside = bars.within(first..closed);
        let interval = inside.longest().unwrap_or(last.interval);
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
            all: inputs.bars,
            derived: inputs.derived,
            readings: inputs.readings,
            closed,
            first,
            opened,
            range,
            start,
            end,
            price: last.close,
            interval,
            has_orders: model == Model::Expected,
            fit: OnceCell::new(),
        })
    }

    /// The same window without orders: the default share of crossed mass counts as liquidated.
    pub fn without_orders(self) -> Self {
        Self {
            has_orders: false,
            ..self
        }
    }

    /// The bars of the window, in order of time.
    pub fn bars(&self) -> RowSlice<'_, Bar> {
        self.all.rows().within(self.first..self.closed)
    }

    /// All closed bars in memory, in order of time.
    pub fn all_bars(&self) -> RowSlice<'_, Bar> {
        self.all.rows().within(0..self.closed)
    }

    /// Number of bars that closed by an instant.
    pub fn closed_by(&self, instant: Millis) -> usize {
        self.all_bars()
            .partition_point(|bar| bar.close_time() <= instant)
    }

    /// The same window at an earlier close, after `closed` bars. The range must be [`Millis::ALL`].
    pub fn until(&self, closed: usize) -> ReplayWindow<'_> {
        let bars = self.all.rows();
        let last = closed.checked_sub(1).and_then(|last| bars.get(last));
        let inside = bars.within(self.first..closed);
        ReplayWindow {
            view: self.view,
            coin: self.coin.clone(),
            model: self.model,
            parameters: self.parameters.clone(),
            history: self.history,
            all: Cow::Borrowed(&self.all),
            derived: Cow::Borrowed(&self.derived),
            readings: Cow::Borrowed(&self.readings),
            closed,
            first: self.first,
            opened: self.opened,
            range: self.range,
            start: self.start,
            end: last.map_or(self.end, |bar| bar.close_time()),
            price: last.map_or(self.price, |bar| bar.close),
            interval: inside.longest().unwrap_or(self.interval),
            has_orders: self.has_orders,
            fit: OnceCell::new(),
        }
    }

    /// The first close at which the ledger is in USD, or the first close if it never is.
    pub fn known_from(&self) -> Millis {
        let bars = self.bars();
        let known = bars.first().filter(|_| self.opening(self.first).is_none());
        let known = known.and_then(|_| {
            let derived = self.derived.rows().within(self.first..self.closed);
            derived
                .iter()
                .position(|derived| derived.open_interest.is_some())
        });
        bars.get(known.unwrap_or(0))
            .map_or(self.end, |bar| bar.close_time())
    }

    /// Replays the bars and calls `show` with the index of each of `times`, which ascend, and the state then.
    ///
    /// Returns the state at the end.
    pub fn replay(
        &self,
        times: &[Millis],
        mut show: impl FnMut(usize, &LedgerState),
    ) -> LedgerState {
        let by = times.first().copied().unwrap_or(self.end);
        let mut places = times.iter().enumerate().peekable();
        let state = self.walk_from(by, |state, bar| {
            while let Some((place, _)) = places.next_if(|(_, time)| **time < bar.close_time()) {
                show(place, state);
            }
        });
        for (place, _) in places {
            show(place, &state);
        }
        state
    }

    /// Replays the bars of the window and calls `before` with the state before each bar.
    pub fn walk(&self, before: impl FnMut(&LedgerState, &Bar)) -> LedgerState {
        let from = self.bars().first().map_or(self.end, |bar| bar.open_time);
        self.walk_from(from, before)
    }

    /// Replays the bars, from a checkpoint at or before `by` if there is one.
    fn walk_from(&self, by: Millis, mut before: impl FnMut(&LedgerState, &Bar)) -> LedgerState {
        let by = by.min(self.end);
        let mut checkpoints = Checkpoints::of(self, by);
        let (mut state, place) = match checkpoints.start() {
            Some(found) => {
                let place = self.closed_by(found.closed);
                (found.state.clone(), place)
            }
            None => (self.begin(self.replayed_from()), self.replayed_from()),
        };
        let mut liquidations = self.liquidations(place);
        let bars = self.all.rows().within(place..self.closed);
        let derived = self.derived.rows().within(place..self.closed);
        let start = bars.first().map_or(self.end, |bar| bar.close_time());
        let mut located = LocatedShares::new(&self.readings, &self.parameters.shares, start);
        for (bar, derived) in bars.iter().zip(derived) {
            checkpoints.pass(&state, &bar);
            before(&state, &bar);
            let realised = quantities(liquidations.as_mut(), &bar);
            state.take(&bar, &derived, realised, located.at(bar.close_time()));
        }
        checkpoints.end(&state);
        state
    }

    /// Index of the first bar that a replay without a checkpoint takes.
    pub fn replayed_from(&self) -> usize {
        match self.opened {
            Opened::Ever => 0,
            Opened::Range => self.first,
        }
    }

    /// Liquidated quantities of the bars from `place` on, if they are used.
    pub fn liquidations(&self, place: usize) -> Option<BarLiquidations<'a>> {
        let start = self.all.rows().get(place);
        let start = start.map_or(self.end, |bar| bar.open_time);
        self.has_orders
            .then(|| BarLiquidations::new(self.view, self.history, start))
    }

    /// Creates a ledger before the bar at `place`.
    pub fn begin(&self, place: usize) -> LedgerState {
        let opening = self.opening(place);
        let bar = self.all.rows().get(place);
        let level = opening.or_else(|| {
            let derived = self.derived.rows().get(place)?;
            Some(derived.volume_per_day(&bar?))
        });
        LedgerState {
            ledger: Ledger::new(self.parameters.clone(), level.unwrap_or(0.0)),
            is_relative: opening.is_none(),
            has_open_interest: false,
            since: bar.map_or(self.end, |bar| bar.open_time),
            last_close: None,
            last_interval: 0,
            counts: LedgerCounts::default(),
        }
    }

    /// Open interest before the bar at `place`: the reading when it opens, else the last one before it.
    fn opening(&self, place: usize) -> Option<f64> {
        self.readings.at(self.reading_at(place)?)
    }

    /// Time of the readings that are known when the bar at `place` opens.
    fn reading_at(&self, place: usize) -> Option<Millis> {
        let start = self.all.rows().get(place)?.open_time;
        if self.readings.at(start).is_some() {
            Some(start)
        } else {
            self.readings.last_by(start)
        }
    }

    /// Whether an estimate as of any instant from `start` to `end` leaves out the same rows as this one.
    pub fn is_settled_within(&self, start: Millis, end: Millis) -> bool {
        self.history.excursions.is_settled_within(start, end)
            && self.readings.excursions.is_settled_within(start, end)
    }

    /// Time of the last verdict on the rows unjudged from `start` to `end`.
    ///
    /// A row is unjudged until later rows show whether it is an outlier. `None` if no row was unjudged.
    pub fn judged_after(&self, start: Millis, end: Millis) -> Option<Millis> {
        let bars = self.history.excursions.judged_after(start, end);
        bars.max(self.readings.excursions.judged_after(start, end))
    }

    /// Starts counting the bars of the window.
    pub fn tally(&self) -> BarTally<'_> {
        BarTally::new(&self.readings, self.bars().first(), self.parameters.gap)
    }

    /// Counts the bars of the window up to `closed`, after those that were already counted.
    pub fn count(&self, tally: &mut BarTally<'_>, closed: usize) {
        let places = self.first + tally.counts.bars..closed.min(self.closed);
        let bars = self.all.rows().within(places.clone());
        let derived = self.derived.rows().within(places);
        for (bar, derived) in bars.iter().zip(derived) {
            tally.count(&bar, &derived);
        }
    }

    /// Positions that the estimate places exactly.
    pub fn known_positions(&self) -> Option<&'a KnownPositions> {
        self.view.positions()
    }

    /// Open interest of each exchange with a reading of the day before an instant; the name of readings that are a total
    /// over exchanges is `None`.
    pub fn interest_by_exchange(&self, at: Millis) -> Vec<(Option<&str>, f64)> {
        let mut cursor = self.readings.cursor_back(at, Millis::DAY);
        let levels = cursor.levels(at, Millis::DAY);
        let exchanges = self.readings.exchanges().zip(levels);
        exchanges
            .filter_map(|(exchange, level)| Some((exchange, level?)))
            .collect()
    }

    /// The lowest and the highest price of the bars that opened from `start` on and closed by `end`, if there are any.
    pub fn range_since(&self, start: Millis, end: Millis) -> Option<[f64; 2]> {
        let bars = self.all_bars();
        let first = bars.partition_point(|bar| bar.open_time < start);
        let bars = bars.within(first..bars.len()).iter();
        bars.take_while(|bar| bar.close_time() <= end)
            .map(|bar| [bar.low, bar.high])
            .reduce(|[low, high], bar| [low.min(bar[0]), high.max(bar[1])])
    }

    /// The view of the model.
    pub fn model(&self) -> Model {
        self.model
    }

    /// The version of the model.
    pub fn model_version(&self) -> String {
        version(self.view.own(), self.model)
    }

    /// Time of the last open interest reading by an instant.
    pub fn last_reading(&self, at: Millis) -> Option<Millis> {
        self.readings.last_by(at)
    }

    /// Time of the first open interest reading of the view's exchange.
    ///
    /// If the view is not limited to one exchange, the earliest possible time.
    pub fn venue_since(&self) -> Millis {
        let first = self.view.venue().and_then(|_| self.readings.first());
        first.unwrap_or(Millis(i64::MIN))
    }

    /// The fit at the end; `None` for the exposure model.
    pub fn fit(&self) -> Option<&Arc<Fit>> {
        self.fit.get_or_init(|| self.fit_at(self.end)).as_ref()
    }

    /// The fit of the UTC day of an instant; `None` for the exposure model.
    pub fn fit_at(&self, instant: Millis) -> Option<Arc<Fit>> {
        (self.model == Model::Expected).then(|| self.view.fit_at(&self.coin, instant))
    }

    /// Factors by which located USD are multiplied, per tier, for longs and shorts.
    pub fn counted(&self) -> [Vec<f64>; 2] {
        self.counted_by(self.fit().map(Arc::as_ref))
    }

    /// The [factors](ReplayWindow::counted) from `fit` if given, else the tier weights.
    pub fn counted_by(&self, fit: Option<&Fit>) -> [Vec<f64>; 2] {
        match fit {
            Some(fit) => fit.theta.clone(),
            None => [self.parameters.weights(), self.parameters.weights()],
        }
    }

    /// The same at several instants, as known then, for scores.
    ///
    /// If any instant has a fit, instants without one get `None`. They would use the prior, which is on a different
    /// scale than a fit.
    pub fn counted_at(&self, instants: &[Millis]) -> Vec<Option<[Vec<f64>; 2]>> {
        match self.model {
            Model::Exposure => vec![Some(self.counted_by(None)); instants.len()],
            Model::Expected => {
                let fits = self.view.fits_at(&self.coin, instants);
                let any = fits.iter().any(|fit| fit.is_fitted());
                let factors = |fit: &Arc<Fit>| (fit.is_fitted() || !any).then(|| fit.theta.clone());
                fits.iter().map(factors).collect()
            }
        }
    }

    /// Number of bars with open interest of each exchange.
    fn open_interest_exchanges(&self, tally: &BarTally<'_>) -> BarCounts {
        let mut venues = tally.open_interest();
        if let Some(start) = self.reading_at(self.first) {
            let mut fresh = self.readings.fresh_from(start);
            fresh.count(start);
            for venue in fresh.counts().into_keys() {
                venues.entry(venue).or_insert(0);
            }
        }
        venues
    }

    /// The liquidatable shares of the exchanges with open interest read by `end`.
    fn liquidatable_shares(&self, end: Millis) -> BTreeMap<String, ExchangeShares> {
        let exchanges = self.readings.venues_by(end).into_iter();
        let shares = exchanges.map(|exchange| {
            let shares = &self.parameters.shares;
            let known = shares.iter().find(|one| one.exchange == exchange);
            (exchange, ExchangeShares::of(known))
        });
        shares.collect()
    }

    /// Explains the state of a ledger at the end, with a tally of the bars of the window.
    pub fn explain(&self, state: &LedgerState, fit: Option<&Fit>) -> EstimateBasis {
        let mut tally = self.tally();
        self.count(&mut tally, self.closed);
        self.explain_tally(state, &tally, fit)
    }

    /// Explains the state of a ledger after the bars of `tally`.
    pub fn explain_tally(
        &self,
        state: &LedgerState,
        tally: &BarTally<'_>,
        fit: Option<&Fit>,
    ) -> EstimateBasis {
        let bars = self.bars().within(0..tally.counts.bars);
        // The bars in memory may be the last ones of all.
        let is_all = self.opened == Opened::Ever && self.range == Millis::ALL;
        let counts = if is_all { state.counts } else { tally.counts };
        let end = bars.last().map_or(self.end, |bar| bar.close_time());
        let tiers = &self.parameters.tiers;
        let column = |value: fn(&Tier) -> f64| tiers.iter().map(value).collect::<Vec<_>>();
        let view = match self.model {
            Model::Exposure => "exposure, USD of open interest",
            Model::Expected => "expected, USD liquidated and reported",
        };
        let (price_exchanges, volume_exchanges) = self.history.sources.count(bars);
        let readings_in_doubt = self.readings.excursions.counts(self.start.back(FRESH), end);
        let bars_in_doubt = self.history.excursions.counts(self.start.on(1), end);
        EstimateBasis {
            closed: end,
            opened: self.opened,
            opened_since: match self.opened {
                Opened::Ever => state.since,
                Opened::Range => self.start.max(state.since),
            },
            partial: None,
            model_number: self.model.number(),
            model: self.parameters.specification(self.view.own(), self.model),
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
            fit: fit.map(|fit| fit.of_map(&state.ledger)),
            located_share: state.ledger.located_share(),
            liquidatable_shares: self.liquidatable_shares(end),
            measured: BTreeMap::new(),
            open_interest_scale: if state.is_relative { "relative" } else { "usd" },
            open_interest_age_ms: self
                .readings
                .last_by(end)
                .map(|last| end.0.saturating_sub(last.0)),
            sigma_day: volatility(self.all.rows().within(0..self.closed_by(end)), end),
            span: None,
            headlines: None,
            open_interest_partial_bars: counts.partial,
            open_interest_outliers: readings_in_doubt.outliers,
            open_interest_unjudged: readings_in_doubt.unjudged,
            open_interest_factors: self
                .history
                .open_interest
                .factors(self.start.back(FRESH), end),
            bar_outliers: bars_in_doubt.outliers,
            bars_unjudged: bars_in_doubt.unjudged,
            bar_interval_ms: counts.interval,
            bars: counts.bars,
            damaged: Vec::new(),
            side_boundaries: Vec::new(),
            fine: None,
            gaps: counts.gaps,
            price_exchanges,
            volume_exchanges,
            open_interest_exchanges: if state.is_relative {
                BarCounts::new()
            } else {
                self.open_interest_exchanges(tally)
            },
        }
    }
}

/// Advances the ledger of all open positions to now, and leaves checkpoints.
///
/// # Errors
///
/// [`EngineError`] if no bar has closed.
pub fn advance_ledger(view: &View<'_>, coin: &str, model: Model) -> Result<(), EngineError> {
    let window = (Millis::ALL, "all", Opened::Ever);
    let frame = ReplayWindow::new(*view, coin, model, window, i64::MAX)?;
    frame.replay(&[], |_, _| ());
    Ok(())
}

/// The quantities of a bar; unknown where orders are not used.
pub fn quantities(liquidations: Option<&mut BarLiquidations<'_>>, bar: &Bar) -> BarQuantities {
    liquidations.map_or([None; 2], |liquidations| liquidations.of(bar))
}

/// Finds the checkpoint before a replay, and leaves others.
struct Checkpoints<'a> {
    window: &'a ReplayWindow<'a>,
    /// The ledger, if it has checkpoints.
    key: Option<LedgerKey>,
    start: Option<Arc<LedgerCheckpoint>>,
    /// Bars that close later may still be judged otherwise.
    until: Millis,
    /// Start of the next UTC month.
    month: Millis,
    /// Start of the UTC day of the first instant.
    midnight: Millis,
    /// Number of bars before it.
    before: usize,
}

impl<'a> Checkpoints<'a> {
    fn of(window: &'a ReplayWindow<'a>, by: Millis) -> Self {
        let view = window.view;
        let has_checkpoints =
            window.opened == Opened::Ever && (window.has_orders || window.model == Model::Exposure);
        let key = has_checkpoints
            .then(|| LedgerKey::new(&window.coin, window.model, view.own(), view.venue()));
        let different = window.history.first_difference(view.now());
        let readings = &window.readings.excursions;
        let different = different
            .into_iter()
            .chain(readings.first_difference(view.now()));
        let unjudged = window.history.first_unjudged().into_iter();
        let unjudged = unjudged.chain(readings.first_unjudged());
        let until = different
            .chain(unjudged)
            .min()
            .map_or(Millis(i64::MAX), |row| row.back(1));
        let by = by.min(until);
        let start = key.as_ref().and_then(|key| view.ledgers().last(key, by));
        let from = start.as_ref().map(|start| start.closed);
        let from = from.or_else(|| window.all.rows().first().map(|bar| bar.open_time));
        Self {
            window,
            key,
            start,
            until,
            month: next_month(from.unwrap_or(window.end)),
            midnight: day_of(by),
            before: 0,
        }
    }

    fn start(&self) -> Option<&LedgerCheckpoint> {
        self.start.as_deref()
    }

    /// Called with the state before each bar.
    fn pass(&mut self, state: &LedgerState, bar: &Bar) {
        let close = bar.close_time();
        if close > self.month {
            self.put(state, true);
            self.month = next_month(close.back(1));
        }
        if close <= self.midnight {
            self.before += 1;
        } else if self.before > FAR {
            self.put(state, false);
            self.before = 0;
        }
    }

    /// Called with the state at the end.
    fn end(&self, state: &LedgerState) {
        let is_new = self.start.as_ref().map(|start| start.closed) != state.last_close;
        if is_new {
            self.put(state, self.month <= self.window.view.now());
        }
    }

    fn put(&self, state: &LedgerState, is_month: bool) {
        let (Some(key), Some(closed)) = (&self.key, state.last_close) else {
            return;
        };
        if closed <= self.until && state.counts.bars >= FEWEST_BARS {
            self.window.view.ledgers().put(
                key,
                LedgerCheckpoint {
                    closed,
                    is_month,
                    known_by: None,
                    state: state.compact(),
                },
            );
        }
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
