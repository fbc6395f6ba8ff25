//! One ledger that is asked for many instants: what it says of each is, bit for bit, what a ledger that was made for that
//! instant alone would say.
//!
//! The bars of an earlier instant are the first of those of a later one, and what is derived of a bar is known at its close,
//! so one ledger can go through all of them. What may still change afterwards are the realised orders of a bar: one may
//! be received later, and a bar behind the last order is one of which nothing is known until a later order tells that the
//! feed went on. So the ledger goes no further than the bars of which nothing will change, and a copy of it goes on to the
//! instant, through the few that are left, with what was known of them then.

use super::liqmap::{binned, shown};
use super::replay::{Frame, Running, Tally};
use super::{EngineError, Estimate, View};
use crate::model::{
    Bar, BinWidth, Chosen, LiquidationMap, MapRange, Millis, Model, Side, Vocabulary,
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
    const RANGE: MapRange = MapRange::All;
    let alone = |at: &Millis| binned(&view.as_of(*at), coin, RANGE, model, bin);
    let under = view.under(model.and_then(Chosen::own));
    let (length, name) = (RANGE.millis(), RANGE.name());
    let last = instants.iter().max().copied().unwrap_or_default();
    let model_view = model.map_or(Model::Exposure, Chosen::view);
    let Ok(frame) = Frame::new(under.as_of(last), coin, model_view, length, name, length) else {
        return instants.iter().map(alone).collect();
    };
    let mut found: Vec<Option<Result<Estimate<LiquidationMap>, EngineError>>> =
        vec![None; instants.len()];
    at_each(&frame, instants, |place, running, tally, price| {
        let explain = frame.explain(running, tally);
        let map = shown(&frame, (coin, RANGE, bin), &running.ledger, price, explain);
        if let Some(found) = found.get_mut(place) {
            *found = Some(map);
        }
    });
    // Before the first bar there is none.
    let pairs = found.into_iter().zip(instants);
    pairs
        .map(|(found, at)| found.unwrap_or_else(|| alone(at)))
        .collect()
}

/// Shows `take` the ledger as it was known at each of `instants` by which a bar of `frame` had closed: the place of the
/// instant, the ledger, what it has gone through, and the last price.
///
/// The frame is of all bars by the last of the instants.
fn at_each(
    frame: &Frame<'_>,
    instants: &[Millis],
    mut take: impl FnMut(usize, &Running, &Tally<'_>, f64),
) {
    let mut asked: Vec<(Millis, usize, usize)> = instants
        .iter()
        .enumerate()
        .map(|(place, at)| {
            let bars = frame.bars.partition_point(|bar| bar.close_time() <= *at);
            (*at, bars, place)
        })
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
        let mut settled = Settled::new(frame, &heard, opening);
        for (at, bars, place) in asked {
            tally.count(frame, *bars);
            let price = bars.checked_sub(1).and_then(|last| frame.bars.get(last));
            let price = price.map_or(frame.price, |bar| bar.close);
            take(*place, settled.at(*at, *bars), &tally, price);
        }
    }
}

/// Realised quantities of longs and shorts in a bar, where they are known.
type Known = [Option<f64>; 2];

/// A ledger that has gone as far as nothing will change, and a copy that goes on.
struct Settled<'a> {
    frame: &'a Frame<'a>,
    heard: &'a Heard,
    ledger: Running,
    bars: usize,
    ahead: Option<Ahead>,
}

/// A copy that went on from behind the bar `from` with what was `known` of the bars since.
struct Ahead {
    ledger: Running,
    from: usize,
    known: Vec<Known>,
}

impl<'a> Settled<'a> {
    fn new(frame: &'a Frame<'a>, heard: &'a Heard, opening: Option<f64>) -> Self {
        Self {
            frame,
            heard,
            ledger: frame.begin(opening),
            bars: 0,
            ahead: None,
        }
    }

    /// The ledger after so many bars with what was known at `at`; instants ascend.
    fn at(&mut self, at: Millis, bars: usize) -> &Running {
        while self.bars < bars && self.heard.settled(self.bars) <= at {
            let known = self.heard.at(self.bars, at);
            self.frame.advance(&mut self.ledger, self.bars, known);
            self.bars += 1;
        }
        if self.bars >= bars {
            return &self.ledger;
        }
        let known: Vec<Known> = (self.bars..bars)
            .map(|bar| self.heard.at(bar, at))
            .collect();
        let mut ahead = self
            .ahead
            .take()
            .filter(|ahead| ahead.from == self.bars && known.starts_with(&ahead.known))
            .unwrap_or_else(|| Ahead {
                ledger: self.ledger.clone(),
                from: self.bars,
                known: Vec::new(),
            });
        let done = ahead.known.len();
        for (bar, known) in (self.bars..).zip(&known).skip(done) {
            self.frame.advance(&mut ahead.ledger, bar, *known);
        }
        ahead.known = known;
        &self.ahead.insert(ahead).ledger
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
