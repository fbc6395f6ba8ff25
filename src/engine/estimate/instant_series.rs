//! Estimates at many instants from one replay, equal bit for bit to separate replays.
//!
//! The bars known at an earlier instant are a prefix of the bars known at a later one. Therefore one ledger can advance
//! through the bars of all instants. The liquidations of a closed bar can still change, in two ways. An order may be
//! received late. A bar after the last order has unknown liquidations until a later order shows that the feed
//! continued. The main ledger therefore stops before the first bar with liquidations that may still change. For each
//! instant, a copy of the ledger continues from that bar with the data known at the instant. If an outlier was not
//! judged yet at an instant, the instant gets a separate replay.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::estimate::heatmap::{column_ends, heatmap, render as render_heatmap};
use crate::engine::estimate::liquidation_map::{liqmap_with_bins, render};
use crate::engine::fit::Fit;
use crate::engine::ledger::ledger::MassColumn;
use crate::engine::ledger::replay::{BarTally, ReplayState, ReplayWindow};
use crate::engine::{EngineError, Estimate, View};
use crate::model::{
    Bar, BinWidth, Chosen, HeatmapGrid, HeatmapRange, LiquidationMap, MapRange, Millis, Model,
    Side, Vocabulary,
};

/// Returns liquidation maps of all bars of a coin, one as of each instant.
///
/// `instants` may be unsorted.
///
/// Each map equals that of [`liqmap_with_bins`] with the range [`MapRange::All`] as of its instant.
///
/// # Examples
///
/// ```
/// use liqdata::engine::{Observations, liqmap, liqmaps};
/// use liqdata::model::{MapRange, Millis, ObservedBar};
///
/// let bars = (0..100).map(|hour| ObservedBar {
///     symbol: "BTC".to_owned(),
///     timestamp: Millis(hour * Millis::HOUR),
///     closes_at: None,
///     open: 60_000.0, high: 60_300.0, low: 59_700.0, close: 60_000.0, volume: 10.0,
///     interval: None,
/// });
/// let observations = Observations::new(Vec::new(), bars.collect(), Vec::new(), None)?;
/// let instants = [Millis(80 * Millis::HOUR), Millis(40 * Millis::HOUR)];
/// let maps = liqmaps(&observations.at(None), "BTC", None, None, &instants);
/// for (map, at) in maps.into_iter().zip(instants) {
///     let alone = liqmap(&observations.at(Some(at)), "BTC", MapRange::All, None)?;
///     assert_eq!(map?, alone);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn liqmaps(
    view: &View<'_>,
    coin: &str,
    model: Option<&Chosen>,
    bin: Option<BinWidth>,
    instants: &[Millis],
) -> Vec<Result<Estimate<LiquidationMap>, EngineError>> {
    let mut found: Vec<Option<Result<Estimate<LiquidationMap>, EngineError>>> =
        vec![None; instants.len()];
    let under = view.with_model(model.and_then(Chosen::own));
    // If no model is requested, instants before the first fit use another model than instants after it.
    let each =
        |at: &Millis| model.map_or_else(|| under.as_of(*at).default_model(coin), Chosen::view);
    let models: Vec<Model> = instants.iter().map(each).collect();
    for model in [Model::Exposure, Model::Expected] {
        let of_it = instants.iter().zip(&models).enumerate();
        let of_it = of_it.filter(|(_, (at, of))| **of == model && is_settled(view, coin, **at));
        let requested: Vec<(usize, Millis)> = of_it.map(|(place, (at, _))| (place, *at)).collect();
        let times: Vec<Millis> = requested.iter().map(|(_, at)| *at).collect();
        maps_of_model(&under, coin, model, bin, &times, |place, map| {
            let found = requested
                .get(place)
                .and_then(|(place, _)| found.get_mut(*place));
            if let Some(found) = found {
                *found = Some(map);
            }
        });
    }
    // The remaining instants are before the first bar and give an error, or need a separate replay.
    let alone = |at: &Millis| liqmap_with_bins(&view.as_of(*at), coin, RANGE, model, bin);
    let pairs = found.into_iter().zip(instants);
    pairs
        .map(|(found, at)| found.unwrap_or_else(|| alone(at)))
        .collect()
}

/// Returns heatmaps of all bars of a coin, one as of each instant.
///
/// `instants` may be unsorted.
///
/// Each heatmap equals that of [`heatmap`] with the range [`HeatmapRange::All`] as of its instant.
#[must_use]
pub fn heatmaps(
    view: &View<'_>,
    coin: &str,
    model: Model,
    instants: &[Millis],
) -> Vec<Result<Estimate<HeatmapGrid>, EngineError>> {
    let mut found: Vec<Option<Estimate<HeatmapGrid>>> = vec![None; instants.len()];
    // One replay serves all instants with the same fit.
    let mut alike: Vec<(Option<Arc<Fit>>, Vec<usize>)> = Vec::new();
    for (place, at) in instants.iter().enumerate() {
        if !is_settled(view, coin, *at) {
            continue;
        }
        let fit = (model == Model::Expected).then(|| view.as_of(*at).fit(coin));
        let theta = |fit: &Option<Arc<Fit>>| fit.as_ref().map(|fit| fit.theta.clone());
        let same = alike.iter_mut().rfind(|(of, _)| theta(of) == theta(&fit));
        match same {
            Some((_, places)) => places.push(place),
            None => alike.push((fit, vec![place])),
        }
    }
    for (fit, places) in alike {
        let times = places
            .iter()
            .filter_map(|place| instants.get(*place).copied());
        let times: Vec<Millis> = times.collect();
        let fit = fit.as_deref();
        heatmaps_of_fit(view, coin, (model, fit), &times, |place, map| {
            let found = places.get(place).and_then(|place| found.get_mut(*place));
            if let Some(found) = found {
                *found = Some(map);
            }
        });
    }
    let alone = |at: &Millis| heatmap(&view.as_of(*at), coin, HeatmapRange::All, model);
    let pairs = found.into_iter().zip(instants);
    pairs
        .map(|(found, at)| found.map_or_else(|| alone(at), Ok))
        .collect()
}

/// Passes the index of each instant and its heatmap to `take`.
///
/// Skips instants before the first close. All heatmaps use the same model and fit.
fn heatmaps_of_fit(
    view: &View<'_>,
    coin: &str,
    (model, fit): (Model, Option<&Fit>),
    instants: &[Millis],
    mut take: impl FnMut(usize, Estimate<HeatmapGrid>),
) {
    const RANGE: HeatmapRange = HeatmapRange::All;
    let (length, name) = (RANGE.millis(), RANGE.name());
    let Some(last) = instants.iter().max() else {
        return;
    };
    let Ok(frame) = ReplayWindow::new(view.as_of(*last), coin, model, length, name, length) else {
        return;
    };
    let ends = |bars: usize| column_ends(&frame.until(bars), RANGE);
    let bars_by = |at: &Millis| closed(&frame, *at);
    let mut wanted = vec![false; frame.bars.len() + 1];
    for bars in instants.iter().map(bars_by).filter(|bars| *bars > 0) {
        for end in ends(bars) {
            if let Some(wanted) = wanted.get_mut(bars_by(&end)) {
                *wanted = true;
            }
        }
    }
    let columns = ColumnCache {
        wanted,
        counted: frame.counted_by(fit),
        settled: HashMap::new(),
        provisional: HashMap::new(),
    };
    for_each_instant(&frame, instants, Some(columns), |known| {
        let times = ends(known.bars);
        let nothing = MassColumn::default();
        let columns: Vec<&MassColumn> = times
            .iter()
            .map(|end| known.column(bars_by(end)).unwrap_or(&nothing))
            .collect();
        let at = instants.get(known.place);
        let own = at
            .filter(|_| fit.is_some())
            .map(|at| view.as_of(*at).fit(coin));
        let explain = frame.explain(known.ledger, known.tally, own.as_deref());
        let until = frame.until(known.bars);
        take(
            known.place,
            render_heatmap(&until, (coin, RANGE, model), times, &columns, explain),
        );
    });
}

/// Whether all outliers known by `at` were judged by `at`.
///
/// If not, estimates as of `at` use rows that later estimates leave out.
fn is_settled(view: &View<'_>, coin: &str, at: Millis) -> bool {
    view.history(coin)
        .is_none_or(|history| history.is_settled(at))
}

/// Number of bars closed by an instant.
fn closed(frame: &ReplayWindow<'_>, at: Millis) -> usize {
    frame.bars.partition_point(|bar| bar.close_time() <= at)
}

/// The state of the replay at one instant.
struct StateAt<'a> {
    /// Index of the instant in the caller's list.
    place: usize,
    bars: usize,
    price: f64,
    ledger: &'a ReplayState,
    tally: &'a BarTally<'a>,
    columns: Option<&'a ColumnCache>,
}

impl StateAt<'_> {
    /// The heatmap column that ends after this number of bars.
    fn column(&self, bars: usize) -> Option<&MassColumn> {
        let columns = self.columns?;
        let provisional = columns.provisional.get(&bars);
        provisional.or_else(|| columns.settled.get(&bars))
    }
}

/// Heatmap columns by the number of bars at their end.
struct ColumnCache {
    /// By number of bars: whether the column that ends after so many bars is needed.
    wanted: Vec<bool>,
    counted: [Vec<f64>; 2],
    /// Columns that no later data can change.
    settled: HashMap<usize, MassColumn>,
    /// Columns that later data may change, as known at the present instant.
    provisional: HashMap<usize, MassColumn>,
}

impl ColumnCache {
    fn column(&self, bars: usize, ledger: &ReplayState) -> Option<MassColumn> {
        let wanted = self.wanted.get(bars).copied().unwrap_or_default();
        wanted.then(|| ledger.ledger.column(&self.counted))
    }
}

/// Range of the maps.
const RANGE: MapRange = MapRange::All;

/// Passes the index of each instant and its map to `take`.
///
/// Skips instants before the first close. All maps use the same model.
fn maps_of_model(
    view: &View<'_>,
    coin: &str,
    model: Model,
    bin: Option<BinWidth>,
    instants: &[Millis],
    mut take: impl FnMut(usize, Result<Estimate<LiquidationMap>, EngineError>),
) {
    let (length, name) = (RANGE.millis(), RANGE.name());
    let Some(last) = instants.iter().max() else {
        return;
    };
    let Ok(frame) = ReplayWindow::new(view.as_of(*last), coin, model, length, name, length) else {
        return;
    };
    for_each_instant(&frame, instants, None, |known| {
        let expected = instants
            .get(known.place)
            .filter(|_| model == Model::Expected);
        let fit = expected.map(|at| view.as_of(*at).fit(coin));
        let fit = fit.as_deref();
        let counted = frame.counted_by(fit);
        let explain = frame.explain(known.ledger, known.tally, fit);
        let ledger = &known.ledger.ledger;
        let map = render(&frame, (RANGE, bin), ledger, known.price, &counted, explain);
        take(known.place, map);
    });
}

/// Passes the state at each instant to `take`. Skips instants before the first close.
///
/// The replay window must reach the last of the instants.
fn for_each_instant(
    frame: &ReplayWindow<'_>,
    instants: &[Millis],
    mut columns: Option<ColumnCache>,
    mut take: impl FnMut(StateAt<'_>),
) {
    let mut requested: Vec<(Millis, usize, usize)> = instants
        .iter()
        .enumerate()
        .map(|(place, at)| (*at, closed(frame, *at), place))
        .filter(|(at, bars, _)| *bars > 0 && *at >= frame.venue_since())
        .collect();
    requested.sort_unstable();
    let arrivals = OrderArrivals::of(frame);
    let mut tally = frame.tally();
    // Instants before the first known open interest need a second replay, because their ledger starts without it.
    let opening = frame.bars_to_opening().unwrap_or(usize::MAX);
    let known = requested.partition_point(|(_, bars, _)| *bars < opening);
    let (before, since) = requested.split_at(known);
    for (requested, opening) in [(before, None), (since, frame.opening())] {
        if requested.is_empty() {
            continue;
        }
        let mut settled = LedgerCursor::new(frame, &arrivals, opening, columns.take());
        for (at, bars, place) in requested {
            tally.count(frame, *bars);
            settled.advance(*at, *bars);
            let last = bars.checked_sub(1).and_then(|last| frame.bars.get(last));
            take(StateAt {
                place: *place,
                bars: *bars,
                price: last.map_or(frame.price, |bar| bar.close),
                ledger: settled.ledger(*bars),
                tally: &tally,
                columns: settled.columns.as_ref(),
            });
        }
        columns = settled.columns;
    }
}

/// Liquidated quantities of longs and shorts in a bar, if known.
type BarQuantities = [Option<f64>; 2];

/// A ledger up to the last final bar, and a provisional copy.
///
/// A bar is final when its liquidations can no longer change.
struct LedgerCursor<'a> {
    frame: &'a ReplayWindow<'a>,
    arrivals: &'a OrderArrivals,
    running: ReplayState,
    bars: usize,
    provisional: Option<ProvisionalLedger>,
    columns: Option<ColumnCache>,
}

/// A provisional copy of the ledger.
///
/// It is copied after `from` bars and advanced by one bar per item of `known`.
struct ProvisionalLedger {
    ledger: ReplayState,
    from: usize,
    known: Vec<BarQuantities>,
}

impl<'a> LedgerCursor<'a> {
    fn new(
        frame: &'a ReplayWindow<'a>,
        arrivals: &'a OrderArrivals,
        opening: Option<f64>,
        columns: Option<ColumnCache>,
    ) -> Self {
        let running = frame.begin(opening);
        let columns = columns.map(|columns| ColumnCache {
            settled: columns
                .column(0, &running)
                .map(|column| (0, column))
                .into_iter()
                .collect(),
            provisional: HashMap::new(),
            ..columns
        });
        Self {
            frame,
            arrivals,
            running,
            bars: 0,
            provisional: None,
            columns,
        }
    }

    /// The ledger after `bars` bars.
    fn ledger(&self, bars: usize) -> &ReplayState {
        match &self.provisional {
            Some(provisional) if self.bars < bars => &provisional.ledger,
            _ => &self.running,
        }
    }

    /// Advances to `bars` bars with the data known at `at`.
    ///
    /// `at` must not decrease from call to call.
    fn advance(&mut self, at: Millis, bars: usize) {
        while self.bars < bars && self.arrivals.settled(self.bars) <= at {
            let known = self.arrivals.at(self.bars, at);
            self.frame.advance(&mut self.running, self.bars, known);
            self.bars += 1;
            if let Some(columns) = &mut self.columns
                && let Some(column) = columns.column(self.bars, &self.running)
            {
                columns.settled.insert(self.bars, column);
            }
        }
        if self.bars >= bars {
            self.drop_provisional();
            return;
        }
        let known: Vec<BarQuantities> = (self.bars..bars)
            .map(|bar| self.arrivals.at(bar, at))
            .collect();
        let goes_on = self.provisional.as_ref().is_some_and(|provisional| {
            provisional.from == self.bars && known.starts_with(&provisional.known)
        });
        if !goes_on {
            self.drop_provisional();
        }
        let provisional = self.provisional.get_or_insert_with(|| ProvisionalLedger {
            ledger: self.running.clone(),
            from: self.bars,
            known: Vec::new(),
        });
        for (bar, known) in (self.bars..).zip(&known).skip(provisional.known.len()) {
            self.frame.advance(&mut provisional.ledger, bar, *known);
            if let Some(columns) = &mut self.columns
                && let Some(column) = columns.column(bar + 1, &provisional.ledger)
            {
                columns.provisional.insert(bar + 1, column);
            }
        }
        provisional.known = known;
    }

    /// Drops the provisional copy and its columns.
    fn drop_provisional(&mut self) {
        self.provisional = None;
        if let Some(columns) = &mut self.columns {
            columns.provisional.clear();
        }
    }
}

/// The orders of each bar, with the times at which they became known.
struct OrderArrivals {
    /// Time at which the order became known, side and quantity, in order of event time.
    orders: Vec<(Millis, Side, f64)>,
    bars: Vec<BarArrivals>,
}

/// Times at which the liquidations of one bar became known.
#[derive(Clone, Copy)]
struct BarArrivals {
    /// Index of the first order of the bar, and (in `end`) of the order after the last one.
    first: usize,
    end: usize,
    /// Time at which it became known whether the bar has orders. Two orders must be known for that: one before the
    /// bar's close, and one at or after its open.
    since: Millis,
    /// Time at which the last order of the bar became known.
    settled: Millis,
}

/// A time after all instants, for data that never become known.
const NEVER: Millis = Millis(i64::MAX);

impl OrderArrivals {
    fn of(frame: &ReplayWindow<'_>) -> Self {
        let mut times = Vec::new();
        let mut orders = Vec::new();
        if frame.is_of_orders() {
            for (known, (timestamp, side, qty)) in frame.orders().rev() {
                times.push(timestamp);
                orders.push((known, side, qty));
            }
        }
        let earliest = |earliest: &mut Millis, (known, ..): &(Millis, Side, f64)| {
            *earliest = (*earliest).min(*known);
            Some(*earliest)
        };
        // For each order, the earliest time at which it or an order before it became known. `from` has the same for it
        // and the orders after it.
        let up_to: Vec<Millis> = orders.iter().scan(NEVER, earliest).collect();
        let mut from: Vec<Millis> = orders.iter().rev().scan(NEVER, earliest).collect();
        from.reverse();
        let of_bar = |bar: &Bar| {
            let first = times.partition_point(|time| *time < bar.open_time);
            let end = times.partition_point(|time| *time < bar.close_time());
            let before = end.checked_sub(1).and_then(|last| up_to.get(last));
            let since = before
                .zip(from.get(first))
                .map_or(NEVER, |(before, behind)| *before.max(behind));
            let its = orders.get(first..end).unwrap_or_default();
            let last = its.iter().map(|(known, ..)| *known).max();
            // If the liquidations of a bar never become known, they cannot change, so the bar is final from the start.
            let settled = if since == NEVER {
                Millis(i64::MIN)
            } else {
                last.unwrap_or(since)
            };
            BarArrivals {
                first,
                end,
                since,
                settled,
            }
        };
        let bars = frame.bars.iter().map(of_bar).collect();
        Self { orders, bars }
    }

    /// Time at which the liquidations of a bar are final.
    fn settled(&self, bar: usize) -> Millis {
        self.bars.get(bar).map_or(NEVER, |bar| bar.settled)
    }

    /// The liquidated quantities of a bar, as known at `at`.
    fn at(&self, bar: usize, at: Millis) -> BarQuantities {
        let Some(bar) = self.bars.get(bar).filter(|bar| bar.since <= at) else {
            return [None; 2];
        };
        let mut sums = [0.0; 2];
        let orders = self.orders.get(bar.first..bar.end).unwrap_or_default();
        for (_, side, qty) in orders.iter().filter(|(known, ..)| *known <= at) {
            if let Some(sum) = sums.get_mut(side.index()) {
                *sum += qty;
            }
        }
        sums.map(Some)
    }
}
