//! One ledger that is asked for many instants: what it says of each is, bit for bit, what a ledger that was made for that
//! instant alone would say.
//!
//! The bars of an earlier instant are the first of those of a later one, and what is derived of a bar is known at its close,
//! so one ledger can go through all of them. What may still change afterwards are the realised orders of a bar: one may
//! be received later, and a bar behind the last order is one of which nothing is known until a later order tells that the
//! feed went on. So the ledger goes no further than the bars of which nothing will change, and a copy of it goes on to the
//! instant, through the few that are left, with what was known of them then.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::estimate::heatmap::{column_ends, heatmap, shown as drawn};
use crate::engine::estimate::liquidation_map::{binned, shown};
use crate::engine::fit::Fit;
use crate::engine::ledger::ledger::Column;
use crate::engine::ledger::replay::{Frame, Running, Tally};
use crate::engine::{EngineError, Estimate, View};
use crate::model::{
    Bar, BinWidth, Chosen, HeatmapGrid, HeatmapRange, LiquidationMap, MapRange, Millis, Model,
    Side, Vocabulary,
};

/// The liquidation maps of all positions since the bars of a coin begin, as of each of `instants`, which may be in any
/// order: each is that of [`binned`] with the range [`MapRange::All`] as of that instant, and all of them are made of one
/// replay.
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
    let under = view.under(model.and_then(Chosen::own));
    // Where no model is named, the instants before and since it is fitted have different ones.
    let each = |at: &Millis| model.map_or_else(|| under.as_of(*at).usual(coin), Chosen::view);
    let models: Vec<Model> = instants.iter().map(each).collect();
    for model in [Model::Exposure, Model::Expected] {
        let of_it = instants.iter().zip(&models).enumerate();
        let of_it = of_it.filter(|(_, (_, of))| **of == model);
        let asked: Vec<(usize, Millis)> = of_it.map(|(place, (at, _))| (place, *at)).collect();
        let times: Vec<Millis> = asked.iter().map(|(_, at)| *at).collect();
        of_model(&under, coin, model, bin, &times, |place, map| {
            let found = asked
                .get(place)
                .and_then(|(place, _)| found.get_mut(*place));
            if let Some(found) = found {
                *found = Some(map);
            }
        });
    }
    // Before the first bar there is none.
    let alone = |at: &Millis| binned(&view.as_of(*at), coin, RANGE, model, bin);
    let pairs = found.into_iter().zip(instants);
    pairs
        .map(|(found, at)| found.unwrap_or_else(|| alone(at)))
        .collect()
}

/// The heatmaps of all positions since the bars of a coin begin, as of each of `instants`, which may be in any order: each
/// is that of [`heatmap`] with the range [`HeatmapRange::All`] as of that instant, and all of them are made of one replay.
#[must_use]
pub fn heatmaps(
    view: &View<'_>,
    coin: &str,
    model: Model,
    instants: &[Millis],
) -> Vec<Result<Estimate<HeatmapGrid>, EngineError>> {
    let mut found: Vec<Option<Estimate<HeatmapGrid>>> = vec![None; instants.len()];
    // What is expected of a tier is the same throughout a day, and in all columns of an answer.
    let mut alike: Vec<(Option<Arc<Fit>>, Vec<usize>)> = Vec::new();
    for (place, at) in instants.iter().enumerate() {
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
        of_columns(view, coin, (model, fit), &times, |place, map| {
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

/// Shows `take` the heatmaps as of each of `instants` by which a bar had closed, all of one model and fit, with the
/// instant's place.
fn of_columns(
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
    let Ok(frame) = Frame::new(view.as_of(*last), coin, model, length, name, length) else {
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
    let columns = Columns {
        wanted,
        counted: frame.counted_by(fit),
        settled: HashMap::new(),
        ahead: HashMap::new(),
    };
    at_each(&frame, instants, Some(columns), |known| {
        let times = ends(known.bars);
        let nothing = Column::default();
        let columns: Vec<&Column> = times
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
            drawn(&until, (coin, RANGE, model), times, &columns, explain),
        );
    });
}

/// How many bars of a frame had closed by an instant.
fn closed(frame: &Frame<'_>, at: Millis) -> usize {
    frame.bars.partition_point(|bar| bar.close_time() <= at)
}

/// What is known at one of the instants.
struct KnownAt<'a> {
    /// The instant's place among those asked about.
    place: usize,
    bars: usize,
    price: f64,
    ledger: &'a Running,
    tally: &'a Tally<'a>,
    columns: Option<&'a Columns>,
}

impl KnownAt<'_> {
    /// The column that ended with so many bars.
    fn column(&self, bars: usize) -> Option<&Column> {
        let columns = self.columns?;
        let ahead = columns.ahead.get(&bars);
        ahead.or_else(|| columns.settled.get(&bars))
    }
}

/// Columns of a heatmap, each by the number of bars that it ended with.
struct Columns {
    /// Which of them are asked for.
    wanted: Vec<bool>,
    counted: [Vec<f64>; 2],
    /// Those in which nothing will change.
    settled: HashMap<usize, Column>,
    /// Those behind them, as they are known at the instant.
    ahead: HashMap<usize, Column>,
}

impl Columns {
    fn column(&self, bars: usize, ledger: &Running) -> Option<Column> {
        let wanted = self.wanted.get(bars).copied().unwrap_or_default();
        wanted.then(|| ledger.ledger.column(&self.counted))
    }
}

/// Of the maps.
const RANGE: MapRange = MapRange::All;

/// Shows `take` the maps of one model as of each of `instants` by which a bar had closed, with the instant's place.
fn of_model(
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
    let Ok(frame) = Frame::new(view.as_of(*last), coin, model, length, name, length) else {
        return;
    };
    at_each(&frame, instants, None, |known| {
        let expected = instants
            .get(known.place)
            .filter(|_| model == Model::Expected);
        let fit = expected.map(|at| view.as_of(*at).fit(coin));
        let fit = fit.as_deref();
        let counted = frame.counted_by(fit);
        let explain = frame.explain(known.ledger, known.tally, fit);
        let ledger = &known.ledger.ledger;
        let map = shown(&frame, (RANGE, bin), ledger, known.price, &counted, explain);
        take(known.place, map);
    });
}

/// Shows `take` what was known at each of `instants` by which a bar of `frame` had closed, with the columns that are asked
/// for.
///
/// The frame is of all bars by the last of the instants.
fn at_each(
    frame: &Frame<'_>,
    instants: &[Millis],
    mut columns: Option<Columns>,
    mut take: impl FnMut(KnownAt<'_>),
) {
    let mut asked: Vec<(Millis, usize, usize)> = instants
        .iter()
        .enumerate()
        .map(|(place, at)| (*at, closed(frame, *at), place))
        .filter(|(at, bars, _)| *bars > 0 && *at >= frame.venue_since())
        .collect();
    asked.sort_unstable();
    let heard = Heard::of(frame);
    let mut tally = frame.tally();
    // By instants that knew of no open interest yet the ledger began with something else.
    let opening = frame.bars_to_opening().unwrap_or(usize::MAX);
    let known = asked.partition_point(|(_, bars, _)| *bars < opening);
    let (before, since) = asked.split_at(known);
    for (asked, opening) in [(before, None), (since, frame.opening())] {
        if asked.is_empty() {
            continue;
        }
        let mut settled = Settled::new(frame, &heard, opening, columns.take());
        for (at, bars, place) in asked {
            tally.count(frame, *bars);
            settled.go_on(*at, *bars);
            let last = bars.checked_sub(1).and_then(|last| frame.bars.get(last));
            take(KnownAt {
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

/// Realised quantities of longs and shorts in a bar, where they are known.
type Known = [Option<f64>; 2];

/// A ledger that has gone as far as nothing will change, and a copy that goes on.
struct Settled<'a> {
    frame: &'a Frame<'a>,
    heard: &'a Heard,
    running: Running,
    bars: usize,
    ahead: Option<Ahead>,
    columns: Option<Columns>,
}

/// A copy that went on from behind the bar `from` with what was `known` of the bars since.
struct Ahead {
    ledger: Running,
    from: usize,
    known: Vec<Known>,
}

impl<'a> Settled<'a> {
    fn new(
        frame: &'a Frame<'a>,
        heard: &'a Heard,
        opening: Option<f64>,
        columns: Option<Columns>,
    ) -> Self {
        let running = frame.begin(opening);
        let columns = columns.map(|columns| Columns {
            settled: columns
                .column(0, &running)
                .map(|column| (0, column))
                .into_iter()
                .collect(),
            ahead: HashMap::new(),
            ..columns
        });
        Self {
            frame,
            heard,
            running,
            bars: 0,
            ahead: None,
            columns,
        }
    }

    /// The ledger after so many bars, to which it has gone on.
    fn ledger(&self, bars: usize) -> &Running {
        match &self.ahead {
            Some(ahead) if self.bars < bars => &ahead.ledger,
            _ => &self.running,
        }
    }

    /// Goes on through so many bars with what was known at `at`; instants ascend.
    fn go_on(&mut self, at: Millis, bars: usize) {
        while self.bars < bars && self.heard.settled(self.bars) <= at {
            let known = self.heard.at(self.bars, at);
            self.frame.advance(&mut self.running, self.bars, known);
            self.bars += 1;
            if let Some(columns) = &mut self.columns
                && let Some(column) = columns.column(self.bars, &self.running)
            {
                columns.settled.insert(self.bars, column);
            }
        }
        if self.bars >= bars {
            self.let_go();
            return;
        }
        let known: Vec<Known> = (self.bars..bars)
            .map(|bar| self.heard.at(bar, at))
            .collect();
        let goes_on = self
            .ahead
            .as_ref()
            .is_some_and(|ahead| ahead.from == self.bars && known.starts_with(&ahead.known));
        if !goes_on {
            self.let_go();
        }
        let ahead = self.ahead.get_or_insert_with(|| Ahead {
            ledger: self.running.clone(),
            from: self.bars,
            known: Vec::new(),
        });
        for (bar, known) in (self.bars..).zip(&known).skip(ahead.known.len()) {
            self.frame.advance(&mut ahead.ledger, bar, *known);
            if let Some(columns) = &mut self.columns
                && let Some(column) = columns.column(bar + 1, &ahead.ledger)
            {
                columns.ahead.insert(bar + 1, column);
            }
        }
        ahead.known = known;
    }

    /// Lets go of the copy.
    fn let_go(&mut self) {
        self.ahead = None;
        if let Some(columns) = &mut self.columns {
            columns.ahead.clear();
        }
    }
}

/// What was heard of realised orders, bar by bar, and when.
struct Heard {
    /// When each was known, its side and its quantity, in order of time.
    orders: Vec<(Millis, Side, f64)>,
    bars: Vec<OfBar>,
}

/// What was heard of a bar.
#[derive(Clone, Copy)]
struct OfBar {
    /// The places of its orders.
    first: usize,
    end: usize,
    /// From when on it is known whether it had any: an order before its close, and one at its open or later, tell.
    since: Millis,
    /// From when on nothing more is heard of it.
    settled: Millis,
}

/// Never.
const NEVER: Millis = Millis(i64::MAX);

impl Heard {
    fn of(frame: &Frame<'_>) -> Self {
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
        // By when an order up to each was known, and one from each on.
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
            // One of which nothing is heard by the end stays as it is.
            let settled = if since == NEVER {
                Millis(i64::MIN)
            } else {
                last.unwrap_or(since)
            };
            OfBar {
                first,
                end,
                since,
                settled,
            }
        };
        let bars = frame.bars.iter().map(of_bar).collect();
        Self { orders, bars }
    }

    /// From when on nothing more is heard of a bar.
    fn settled(&self, bar: usize) -> Millis {
        self.bars.get(bar).map_or(NEVER, |bar| bar.settled)
    }

    /// What was known of a bar at `at`.
    fn at(&self, bar: usize, at: Millis) -> Known {
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
