//! The replay: the bars of a window, from an empty ledger to its last state.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use crate::engine::estimate::explanation::Explain;
use crate::engine::fit::Fit;
use crate::engine::ledger::parameters::version;
use crate::engine::observations::bar_sources::Bars;
use crate::engine::observations::coin_history::{Derived, Fresh, History, Readings, days};
use crate::engine::{EngineError, Ledger, Parameters, Step, Tier, View};
use crate::model::{Bar, Millis, Model, Side};

/// Windows longer than this have to be covered by bars; shorter ones take what there is of them.
const USUAL: i64 = 31 * Millis::DAY;

/// The closed bars of a coin in a window.
pub(crate) struct Frame<'a> {
    view: View<'a>,
    pub(crate) coin: String,
    model: Model,
    pub(crate) parameters: Parameters,
    history: &'a History,
    pub(crate) bars: &'a [Bar],
    derived: Cow<'a, [Derived]>,
    readings: Cow<'a, Readings>,
    /// Close of the last bar, the end of the window.
    pub(crate) end: Millis,
    /// Last price.
    pub(crate) price: f64,
    /// Length of the longest bar.
    pub(crate) interval: i64,
    feed: Feed,
    /// What is expected of each tier, once it has been asked for; the expected read-out's.
    fit: OnceCell<Option<Arc<Fit>>>,
}

/// What a ledger is told of realised orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feed {
    /// All until the last known one, which is taken for the end of their feed: right for an answer as of the end.
    Ends,
    /// All, and that nothing was liquidated since the last known one: that another came is not known of instants before.
    GoesOn,
    /// Nothing.
    Unheard,
}

/// A ledger on its way through the bars.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) ledger: Ledger,
    /// Whether a multiple of the volume stands in for unknown open interest.
    relative: bool,
    /// Whether it has gone through a bar whose open interest is known.
    heard: bool,
    last_close: Option<Millis>,
    /// The length of the last bar.
    last_interval: i64,
    gaps: usize,
}

/// What is counted of the bars that a ledger has gone through.
pub(crate) struct Tally<'a> {
    bars: usize,
    /// Length of the longest.
    interval: i64,
    /// Those at whose close a venue was missing from the open interest.
    partial: usize,
    fresh: Fresh<'a>,
}

/// The last state of a ledger and what it rests on.
pub(crate) struct Replayed {
    pub(crate) ledger: Ledger,
    pub(crate) explain: Explain,
}

impl<'a> Frame<'a> {
    /// For an estimate of `model`, the bars that opened and closed in the `range` milliseconds before the last close by
    /// now.
    ///
    /// # Errors
    ///
    /// [`EngineError`] where no bar has closed, where the last one closed `range` or longer ago, where a bar lasts longer
    /// than `coarsest`, and where the bars begin later than a window of more than a month by more than a bar.
    pub(crate) fn new(
        view: View<'a>,
        coin: &str,
        model: Model,
        range: i64,
        range_name: &'static str,
        coarsest: i64,
    ) -> Result<Self, EngineError> {
        let history = view.history(coin).ok_or_else(|| view.unknown(coin))?;
        let closed = history
            .bars
            .partition_point(|bar| bar.close_time() <= view.now());
        let bars = history.bars.get(..closed).unwrap_or_default();
        let last = bars.last().ok_or_else(|| view.unknown(coin))?;
        let (readings, derived) = of_venue(view, coin, history)?;
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
        let bars = bars.get(before..).unwrap_or_default();
        // A last bar that reaches back beyond the window is too coarse for it by itself.
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
            derived: match derived {
                Cow::Borrowed(all) => Cow::Borrowed(all.get(before..closed).unwrap_or_default()),
                Cow::Owned(all) => Cow::Owned(all.get(before..closed).unwrap_or_default().to_vec()),
            },
            readings,
            end,
            price: last.close,
            interval,
            feed: Feed::Ends,
            fit: OnceCell::new(),
        })
    }

    /// The same, to be asked for instants long before its end.
    pub(crate) fn along(self) -> Self {
        Self {
            feed: Feed::GoesOn,
            ..self
        }
    }

    /// The same, in which the usual share of what is crossed counts as liquidated, whatever was realised.
    pub(crate) fn unheard(self) -> Self {
        Self {
            feed: Feed::Unheard,
            ..self
        }
    }

    /// The close of the first bar by which all is known that the ledger begins with: where open interest is known of a
    /// later bar only, what it began with was not known before that.
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

    /// Replays the bars and shows the ledger as it was at each of `times`, ascending.
    pub(crate) fn replay(&self, times: &[Millis], mut show: impl FnMut(&Ledger)) -> Replayed {
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

    /// Replays the bars and shows the ledger as it was before each, with the bar.
    pub(crate) fn walk(&self, mut before: impl FnMut(&Ledger, &Bar)) -> Replayed {
        let mut running = self.begin(self.opening());
        let mut realised = match (self.model, self.feed) {
            (Model::Exposure, _) | (_, Feed::Unheard) => Realised::default(),
            (Model::Expected, _) => self.realised(),
        };
        for (bar, derived) in self.bars.iter().zip(&*self.derived) {
            before(&running.ledger, bar);
            running.take(bar, derived, realised.of(bar));
        }
        let mut tally = self.tally();
        tally.count(self, self.bars.len());
        let explain = self.explain(&running, &tally, self.fit().map(Arc::as_ref));
        Replayed {
            ledger: running.ledger,
            explain,
        }
    }

    /// A ledger before the first bar, with the open interest that it begins with where that is known.
    pub(crate) fn begin(&self, opening: Option<f64>) -> Running {
        let relative = opening.is_none();
        let opening = opening.or_else(|| Some(self.derived.first()?.volume_per_day));
        Running {
            ledger: Ledger::new(self.parameters.clone(), opening.unwrap_or(0.0)),
            relative,
            heard: false,
            last_close: None,
            last_interval: 0,
            gaps: 0,
        }
    }

    /// Takes a ledger through the bar at `place`.
    pub(crate) fn advance(&self, running: &mut Running, place: usize, realised: [Option<f64>; 2]) {
        if let (Some(bar), Some(derived)) = (self.bars.get(place), self.derived.get(place)) {
            running.take(bar, derived, realised);
        }
    }

    /// The same by the close of so many of its bars.
    pub(crate) fn until(&self, bars: usize) -> Frame<'_> {
        let bars = self.bars.get(..bars).unwrap_or_default();
        let last = bars.last();
        Frame {
            view: self.view,
            model: self.model,
            parameters: self.parameters.clone(),
            history: self.history,
            bars,
            derived: Cow::Borrowed(self.derived.get(..bars.len()).unwrap_or_default()),
            readings: Cow::Borrowed(&self.readings),
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

    /// Nothing counted yet.
    pub(crate) fn tally(&self) -> Tally<'_> {
        let first = self.bars.first().map_or(self.end, Bar::close_time);
        Tally {
            bars: 0,
            interval: 0,
            partial: 0,
            fresh: self.readings.fresh_from(first),
        }
    }

    /// From when on the ledger of the exchange asked for is known, where one is.
    pub(crate) fn venue_since(&self) -> Millis {
        let first = self.view.venue().and_then(|_| self.readings.first());
        first.unwrap_or(Millis(i64::MIN))
    }

    /// Whether realised orders are part of the estimate.
    pub(crate) fn is_of_orders(&self) -> bool {
        self.model == Model::Expected
    }

    /// The orders of the coin by the end, newest first, with when each was known.
    pub(crate) fn orders(
        &self,
    ) -> impl DoubleEndedIterator<Item = (Millis, (Millis, Side, f64))> + use<'a> {
        self.view.orders_known_of(self.history)
    }

    /// What is expected of each tier at the end; none where exposure is read out, and where that is not what is asked.
    pub(crate) fn fit(&self) -> Option<&Arc<Fit>> {
        let expected = self.model == Model::Expected && self.feed == Feed::Ends;
        let made = || expected.then(|| self.view.fit(&self.coin));
        self.fit.get_or_init(made).as_ref()
    }

    /// What one located USD of each tier counts in the estimate, of longs and of shorts.
    pub(crate) fn counted(&self) -> [Vec<f64>; 2] {
        self.counted_by(self.fit().map(Arc::as_ref))
    }

    /// The same, expected as of `fit` where there is one.
    pub(crate) fn counted_by(&self, fit: Option<&Fit>) -> [Vec<f64>; 2] {
        match fit {
            Some(fit) => fit.theta.clone(),
            None => [self.parameters.weights(), self.parameters.weights()],
        }
    }

    /// The same at each of several instants, each as it was known then; none before the first that is fitted, where any is,
    /// as what the prior tells is of another size.
    pub(crate) fn counted_at(&self, instants: &[Millis]) -> Vec<Option<[Vec<f64>; 2]>> {
        match self.model {
            Model::Exposure => vec![Some(self.counted()); instants.len()],
            Model::Expected => {
                let fits = self.view.fits_at(&self.coin, instants);
                let any = fits.iter().any(|fit| fit.is_fitted());
                let told = |fit: &Arc<Fit>| (fit.is_fitted() || !any).then(|| fit.theta.clone());
                fits.iter().map(told).collect()
            }
        }
    }

    /// Open interest when the first bar opens: as read then, else the last known before, else at the first close where
    /// it is known.
    pub(crate) fn opening(&self) -> Option<f64> {
        self.reading_at_start()
            .and_then(|instant| self.readings.at(instant))
            .or_else(|| {
                self.derived
                    .iter()
                    .find_map(|derived| derived.open_interest)
            })
    }

    /// How many bars it takes to know the [opening](Frame::opening): none where it was known before; `None` where it is not
    /// known at all.
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

    /// The instant of the readings that are known when the first bar opens.
    fn reading_at_start(&self) -> Option<Millis> {
        let readings = &self.readings;
        let start = self.bars.first()?.open_time;
        if readings.at(start).is_some() {
            Some(start)
        } else {
            readings.last_by(start)
        }
    }

    /// At the close of how many bars each exchange had part in the open interest.
    fn open_interest_venues(&self, tally: &Tally<'_>) -> Bars {
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

    fn realised(&self) -> Realised {
        let orders = || self.view.orders_of(self.history);
        let known = orders().next_back().zip(orders().next());
        let last = |last: Millis| {
            if self.feed == Feed::GoesOn {
                Millis(i64::MAX)
            } else {
                last
            }
        };
        let start = self.bars.first().map_or(self.end, |bar| bar.open_time);
        Realised {
            known: known.map(|((first, ..), (newest, ..))| (first, last(newest))),
            orders: orders()
                .take_while(|(timestamp, ..)| *timestamp >= start)
                .collect(),
        }
    }

    /// What the state of a ledger rests on that has gone through the bars of `tally`.
    pub(crate) fn explain(
        &self,
        running: &Running,
        tally: &Tally<'_>,
        fit: Option<&Fit>,
    ) -> Explain {
        let relative = running.relative;
        let bars = self.bars.get(..tally.bars).unwrap_or_default();
        let end = bars.last().map_or(self.end, Bar::close_time);
        let tiers = &self.parameters.tiers;
        let column = |value: fn(&Tier) -> f64| tiers.iter().map(value).collect::<Vec<_>>();
        let view = match self.model {
            Model::Exposure => "exposure, USD of open interest",
            Model::Expected => "expected, USD reported",
        };
        let (price_venues, volume_venues) = self.history.sources.count(bars);
        Explain {
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
            bar_interval_ms: tally.interval,
            bars: tally.bars,
            damaged: Vec::new(),
            parted: Vec::new(),
            fine: None,
            gaps: running.gaps,
            price_venues,
            volume_venues,
            open_interest_venues: if relative {
                Bars::new()
            } else {
                self.open_interest_venues(tally)
            },
        }
    }
}

impl Running {
    /// Takes in the next bar.
    fn take(&mut self, bar: &Bar, derived: &Derived, realised: [Option<f64>; 2]) {
        if let Some(close) = self.last_close {
            let gap = bar.open_time.0.saturating_sub(close.0);
            let most = self.ledger.parameters().gap;
            // Beside a longer bar a time is missing as soon as it would be between two of the shorter ones.
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
            // What a ledger begins with is of whichever venues were known then.
            if let Some(factor) = derived.regrouped.filter(|_| self.heard) {
                self.ledger.regroup(factor);
            }
            self.heard |= derived.open_interest.is_some();
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

impl Tally<'_> {
    /// Counts the first `bars` of `frame`, of which those counted before are not counted again.
    pub(crate) fn count(&mut self, frame: &Frame<'_>, bars: usize) {
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

/// The readings of open interest that the view is of, and what is derived of a coin's bars with them.
fn of_venue<'a>(
    view: View<'a>,
    coin: &str,
    history: &'a History,
) -> Result<(Cow<'a, Readings>, Cow<'a, [Derived]>), EngineError> {
    let readings = &history.open_interest;
    let Some(venue) = view.venue() else {
        return Ok((Cow::Borrowed(readings), Cow::Borrowed(&history.derived)));
    };
    let known = readings.venues_by(view.now());
    if !known.iter().any(|known| known == venue) {
        return Err(EngineError::UnknownVenue {
            coin: coin.to_owned(),
            exchange: venue.to_owned(),
            now: view.now(),
            known,
        });
    }
    let (readings, derived) = history.of_venue(venue);
    Ok((Cow::Owned(readings), Cow::Owned(derived)))
}

/// The realised orders of a window, to be handed out bar by bar.
#[derive(Default)]
struct Realised {
    /// Event times of the coin's first and last known order.
    known: Option<(Millis, Millis)>,
    /// Event time, side and quantity in units of the coin; the oldest is last.
    orders: Vec<(Millis, Side, f64)>,
}

impl Realised {
    /// Long and short quantity in `bar`; unknown before the bar of the first order and after the bar of the last.
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
