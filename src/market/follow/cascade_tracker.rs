//! Groups arriving orders into cascades and reports each cascade once, when it closes.
//!
//! A cascade is a run of orders of one coin and side in which no two neighbours are further apart than the gap. The
//! result depends only on the order of arrival. Two trackers that start at different orders report the same cascades
//! at the same orders, if each starts early enough.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

use rust_decimal::Decimal;

use crate::model::{CascadeRow, ExactSum, Millis, Order, Side, Symbol, coin_of_pair};

/// Orders that are older than the newest order by more than this are ignored. In milliseconds.
pub(crate) const LATE: i64 = 2 * Millis::HOUR;

/// Replay can start after every order number that is a multiple of this.
const STEP: u64 = 64;

/// Orders of one coin and side, each within the gap of the next.
#[derive(Clone, Debug)]
struct CascadeRun {
    end: Millis,
    usd: ExactSum,
    cnt: u64,
    largest: Decimal,
    venues: Vec<String>,
    /// How many cascades were emitted up to and including this one; `None` if it was not emitted.
    emitted: Option<u64>,
}

impl CascadeRun {
    fn join(&mut self, other: Self) {
        self.end = self.end.max(other.end);
        self.usd += other.usd;
        self.cnt += other.cnt;
        self.largest = self.largest.max(other.largest);
        for venue in other.venues {
            if !self.venues.contains(&venue) {
                self.venues.push(venue);
            }
        }
        self.emitted = match (self.emitted, other.emitted) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

/// A closed cascade.
#[derive(Clone, Debug)]
pub(crate) struct ClosedCascade {
    /// The row computed from the orders so far, without prices and percentile.
    pub(crate) row: CascadeRow,
    /// How many cascades were emitted up to and including this one.
    pub(crate) turn: u64,
    /// Whether the orders that were read reach the minimum USD. If not, the cascade began before the first of them.
    pub(crate) whole: bool,
}

/// Tracks the orders of open and recently closed cascades.
#[derive(Debug)]
pub(crate) struct CascadeTracker {
    gap: i64,
    least: Decimal,
    symbols: Vec<Symbol>,
    newest: Millis,
    lines: HashMap<(String, Side), BTreeMap<Millis, CascadeRun>>,
    /// End times of the runs, the earliest on top. Entries of runs that have changed since are ignored.
    ends: BinaryHeap<Reverse<(Millis, String, Side, Millis)>>,
    /// The coin of each trading pair read so far; `None` if the filter excludes the pair.
    coins: HashMap<String, Option<String>>,
    turns: u64,
    taken: u64,
    /// Whether reading started at an [`anchor`](Self::anchor), so that all open cascades are complete.
    begun: bool,
    /// The newest event time among the first [`STEP`] orders. Runs that start by then may be incomplete.
    edge: Millis,
    /// Order numbers that replay can start after, each with the newest event time up to that order.
    places: VecDeque<(u64, Millis)>,
    tidied: Millis,
}

impl CascadeTracker {
    /// Creates an empty tracker for the orders with numbers above `from`.
    ///
    /// Unless `begun` is set, the first cascades may be incomplete.
    pub(crate) fn new(
        gap: i64,
        least: Decimal,
        symbols: Vec<Symbol>,
        from: u64,
        begun: bool,
    ) -> Self {
        Self {
            gap,
            least,
            symbols,
            newest: Millis(i64::MIN),
            lines: HashMap::new(),
            ends: BinaryHeap::new(),
            coins: HashMap::new(),
            turns: 0,
            taken: 0,
            begun,
            edge: Millis(i64::MIN),
            places: [(from, Millis(i64::MIN))].into(),
            tidied: Millis(i64::MIN),
        }
    }

    /// The coin of an order; `None` if the filter excludes the order's pair.
    fn coin(&mut self, order: &Order) -> Option<String> {
        if let Some(known) = self.coins.get(&order.symbol) {
            return known.clone();
        }
        let (coin, _) = coin_of_pair(&order.symbol);
        let mut wanted = self.symbols.iter();
        let is_wanted =
            self.symbols.is_empty() || wanted.any(|wanted| wanted.means(&order.symbol, &coin));
        let found = is_wanted.then_some(coin);
        self.coins.insert(order.symbol.clone(), found.clone());
        found
    }

    /// Reads the order with this `number`; returns the cascades that it closes.
    pub(crate) fn take(&mut self, order: &Order, number: u64) -> Vec<ClosedCascade> {
        self.taken += 1;
        let at = order.timestamp;
        let mut closed = Vec::new();
        if !self.begun && self.taken <= STEP {
            self.edge = self.edge.max(at);
        }
        if at.on(LATE) >= self.newest
            && let Some(coin) = self.coin(order)
        {
            let name = (coin, order.side);
            let start = self.put(&name, order);
            self.close(&name, start, true, &mut closed);
        }
        self.newest = self.newest.max(at);
        while let Some(Reverse((end, ..))) = self.ends.peek()
            && end.on(self.gap) < self.newest
            && let Some(Reverse((end, coin, side, start))) = self.ends.pop()
        {
            let name = (coin, side);
            let line = self.lines.get(&name);
            let run = line.and_then(|line| line.range(..=start).next_back());
            if let Some((start, _)) = run.filter(|(_, run)| run.end == end) {
                self.close(&name, *start, false, &mut closed);
            }
        }
        if number.is_multiple_of(STEP) {
            self.places.push_back((number, self.newest));
            self.tidy();
        }
        closed
    }

    /// Adds an order to its run, or starts a new run; returns the start of the run.
    fn put(&mut self, name: &(String, Side), order: &Order) -> Millis {
        let (at, gap) = (order.timestamp, self.gap);
        let line = self.lines.entry(name.clone()).or_default();
        let alone = CascadeRun {
            end: at,
            usd: order.value_usd.into(),
            cnt: 1,
            largest: order.value_usd,
            venues: vec![order.exchange.clone()],
            emitted: None,
        };
        let near = line.range_mut(..=at).next_back();
        let near = near.filter(|(_, run)| at <= run.end.on(gap));
        let (start, before) = if let Some((start, run)) = near {
            let before = run.end;
            run.join(alone);
            (*start, Some(before))
        } else {
            line.insert(at, alone);
            (at, None)
        };
        while let Some(end) = line.get(&start).map(|run| run.end)
            && let Some((next, _)) = line.range(start.on(1)..).next()
            && *next <= end.on(gap)
        {
            let next = *next;
            if let (Some(joined), Some(run)) = (line.remove(&next), line.get_mut(&start)) {
                run.join(joined);
            }
        }
        if let Some(run) = line.get(&start)
            && before != Some(run.end)
        {
            let (coin, side) = name.clone();
            self.ends.push(Reverse((run.end, coin, side, start)));
        }
        start
    }

    /// Reports the run that starts at `start` if it is closed, large enough and not yet reported.
    ///
    /// `grown` says that an order was just added to the run.
    fn close(
        &mut self,
        name: &(String, Side),
        start: Millis,
        grown: bool,
        closed: &mut Vec<ClosedCascade>,
    ) {
        let (gap, least, newest, edge) = (self.gap, self.least, self.newest, self.edge);
        let line = self.lines.get_mut(name);
        let Some(run) = line.and_then(|line| line.get_mut(&start)) else {
            return;
        };
        let usd = run.usd.decimal();
        let whole = start > edge;
        if run.emitted.is_some() || run.end.on(gap) >= newest || (usd < least && (whole || grown)) {
            return;
        }
        self.turns += 1;
        run.emitted = Some(self.turns);
        closed.push(ClosedCascade {
            row: CascadeRow {
                start,
                end: run.end,
                coin: name.0.clone(),
                side: name.1,
                usd,
                cnt: run.cnt,
                exchanges: run.venues.len() as u64,
                largest_usd: run.largest,
                price_before: None,
                price_after: None,
                change_1m: None,
                change_5m: None,
                change_1h: None,
                percentile_7d: None,
            },
            turn: self.turns,
            whole: usd >= least,
        });
    }

    /// Drops runs that no future order can change.
    fn tidy(&mut self) {
        if self.newest.back(LATE) < self.tidied.on(Millis::MINUTE) {
            return;
        }
        self.tidied = self.newest.back(LATE);
        let until = self.tidied.back(self.gap);
        for line in self.lines.values_mut() {
            line.retain(|_, run| run.end >= until);
        }
        self.lines.retain(|_, line| !line.is_empty());
        let bound = self.bound();
        while self
            .places
            .get(1)
            .is_some_and(|(_, newest)| *newest < bound)
        {
            self.places.pop_front();
        }
    }

    /// The event time before which replay positions are no longer needed, except for the last such position.
    fn bound(&self) -> Millis {
        let starts = self.lines.values().filter_map(|line| line.keys().next());
        let late = self.newest.back(LATE).back(self.gap);
        starts.min().map_or(late, |start| late.min(*start))
    }

    /// The number of the last order that a resumed tracker need not read.
    pub(crate) fn anchor(&self) -> u64 {
        let bound = self.bound();
        let old = self.places.iter().rev();
        let mut old = old.filter(|(_, newest)| *newest < bound);
        let place = old.next().or_else(|| self.places.front());
        place.map_or(0, |(number, _)| *number)
    }

    /// Whether a cascade that overlaps `row` in time was emitted before the cascade with the number `turn`.
    pub(crate) fn was_emitted(&self, row: &CascadeRow, turn: u64) -> bool {
        let line = self.lines.get(&(row.coin.clone(), row.side));
        let mut runs = line.into_iter().flatten();
        runs.any(|(start, run)| {
            let near = *start <= row.end && row.start <= run.end;
            near && run.emitted.is_some_and(|emitted| emitted < turn)
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use crate::market::follow::cascade_tracker::*;

    const GAP: i64 = 60_000;

    fn order(at: i64, usd: i64, long: bool) -> Order {
        Order {
            exchange: if usd % 2 == 0 { "okx" } else { "bybit" }.to_owned(),
            symbol: if at % 3 == 0 { "BTCUSDC" } else { "BTCUSDT" }.to_owned(),
            side: if long { Side::Long } else { Side::Short },
            price: 1.into(),
            qty: 1.into(),
            value_usd: usd.into(),
            timestamp: Millis(at),
        }
    }

    fn closing(least: i64, from: u64) -> CascadeTracker {
        CascadeTracker::new(GAP, least.into(), Vec::new(), from, true)
    }

    /// Passes the orders from index `from` on to the tracker. Each reported cascade comes with the number of the
    /// closing order and the anchor after it.
    fn emitted(
        closing: &mut CascadeTracker,
        orders: &[Order],
        from: usize,
    ) -> Vec<(u64, CascadeRow, u64)> {
        let mut emitted = Vec::new();
        for (order, number) in orders.iter().zip(1..).skip(from) {
            for closed in closing.take(order, number) {
                emitted.push((number, closed.row, closing.anchor()));
            }
        }
        emitted
    }

    #[test]
    fn an_event_closes_when_the_newest_time_has_passed_its_end_by_the_gap() {
        let orders = [
            order(0, 60, true),
            order(50_000, 50, true),
            order(50_000 + GAP, 1, false),
            order(50_000 + GAP + 1, 1, false),
            order(50_000 + GAP + 2, 1, false),
        ];
        let emitted = emitted(&mut closing(100, 0), &orders, 0);
        let [(number, row, _)] = emitted.as_slice() else {
            panic!("{emitted:?}");
        };
        assert_eq!((*number, row.start.0, row.end.0), (4, 0, 50_000));
        assert_eq!((row.cnt, row.exchanges, row.coin.as_str()), (2, 1, "BTC"));
        assert_eq!((row.usd, row.largest_usd), (110.into(), 60.into()));
    }

    #[test]
    fn late_orders_complete_an_event_and_never_tell_one_twice() {
        let orders = [
            order(0, 60, true),
            order(10 * GAP, 1, false),
            order(30_000, 45, true),
            order(31_000, 90, true),
            order(80_000, 500, true),
            order(11 * GAP, 1, false),
        ];
        let emitted = emitted(&mut closing(100, 0), &orders, 0);
        // The run is too small when it closes. The first late order makes it large enough; the later orders change
        // nothing.
        let numbers: Vec<u64> = emitted.iter().map(|(number, ..)| *number).collect();
        assert_eq!(numbers, [3], "{emitted:?}");
    }

    proptest! {
        #[test]
        fn a_tracker_that_starts_at_the_anchor_emits_the_same_cascades(
            drawn in proptest::collection::vec(
                (0_i64..200_000, 1_i64..80, any::<bool>(), 0_i64..10), 300..600,
            ),
            least in 1_i64..150,
        ) {
            let mut clock = 0;
            let orders: Vec<Order> = drawn
                .into_iter()
                .map(|(step, usd, long, late)| {
                    clock += step;
                    // One order in ten is late.
                    let at = if late == 0 { (clock - 5 * step).max(0) } else { clock };
                    order(at, usd, long)
                })
                .collect();
            let all = emitted(&mut closing(least, 0), &orders, 0);
            for (number, _, anchor) in all.iter().step_by(7) {
                let from = usize::try_from(*anchor).unwrap();
                let again = emitted(&mut closing(least, *anchor), &orders, from);
                let behind = |emitted: &[(u64, CascadeRow, u64)]| -> Vec<(u64, CascadeRow)> {
                    let emitted = emitted.iter().filter(|(at, ..)| at >= number);
                    emitted.filter(|(_, row, _)| row.usd >= least.into())
                        .map(|(at, row, _)| (*at, row.clone()))
                        .collect()
                };
                prop_assert_eq!(behind(&again), behind(&all));
            }
        }
    }
}
