//! Estimates the orders that sampled exchanges do not publish, from complete order tapes.
//!
//! A tape is the recorded orders of one exchange. A sampled exchange publishes at most one order per second; its
//! sampling rule says which one. Complete tapes of the same window are thinned by that rule. A cell is one symbol in
//! one hour; its activity is the number of published orders. Cells of a sampled exchange are compared with reference
//! cells, which are cells of thinned tapes with similar activity. Both the published and the full amount of a reference
//! cell are known. The interval is a Bayesian bootstrap (Rubin 1981, The Annals of Statistics 9) over the reference
//! cells. Each draw picks one reference cell for each cell. Therefore the interval shows the variation of single cells,
//! not only that of their mean.

use std::collections::{BTreeMap, HashMap};

use crate::engine::{RecordedRanges, View};
use crate::model::{
    ExactSum, Millis, OrderBrief, Sampling, Side, SimulatedFeeds, UndercountRow, Window,
};
use fastrand::Rng;

/// Minimum number of reference cells.
const FEWEST: usize = 20;
/// Number of bootstrap draws.
const DRAWS: usize = 400;
/// Share of the draws below the interval. The same share lies above it.
const OUTSIDE: f64 = 0.05;
/// Minimum recorded share of the window for a tape to count as complete.
const ENOUGH: f64 = 0.99;
/// Sampling period of the exchanges: one order per second, in milliseconds.
const SECOND: i64 = 1000;

/// The times in which everything that exchanges publish was recorded, and how much they publish.
#[derive(Clone, Debug, Default)]
pub struct CompleteTapes {
    /// The recorded ranges in the window.
    pub recorded: RecordedRanges,
    /// How the exchanges of a simulation publish; those of a real market are as [`Sampling::of_venue`] says.
    pub simulated: Option<SimulatedFeeds>,
}

impl CompleteTapes {
    /// Which of its liquidations an exchange publishes.
    fn sampling(&self, name: &str) -> Sampling {
        match &self.simulated {
            Some(feeds) => feeds.sampling(name),
            None => Sampling::of_venue(name),
        }
    }

    /// Whether everything that an exchange published at an instant was recorded.
    fn holds(&self, name: &str, at: Millis) -> bool {
        self.recorded.get(name).is_some_and(|spans| {
            let next = spans.partition_point(|range| range.start <= at);
            let last = next.checked_sub(1).and_then(|place| spans.get(place));
            last.is_some_and(|range| at < range.end)
        })
    }

    /// Share of the window that was recorded of an exchange.
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of a day are exact"
    )]
    fn share(&self, name: &str, window: Window) -> f64 {
        let spans = self.recorded.get(name).map(Vec::as_slice);
        let lengths = spans.unwrap_or_default().iter().map(|range| range.length());
        lengths.sum::<i64>() as f64 / window.millis() as f64
    }
}

/// One order on a tape.
#[derive(Clone, Copy)]
struct TapeOrder {
    symbol: u32,
    side: Side,
    at: Millis,
    usd: f64,
}

/// Orders of one exchange in the window, oldest first.
#[derive(Default)]
struct Tape {
    symbols: HashMap<String, u32>,
    orders: Vec<TapeOrder>,
    total: ExactSum,
}

impl Tape {
    fn take(&mut self, order: &OrderBrief<'_>, usd: f64) {
        let next = u32::try_from(self.symbols.len()).unwrap_or(u32::MAX);
        let symbol = match self.symbols.get(order.symbol) {
            Some(code) => *code,
            None => *self.symbols.entry(order.symbol.to_owned()).or_insert(next),
        };
        self.total.add(order.value_usd);
        self.orders.push(TapeOrder {
            symbol,
            side: order.side,
            at: order.timestamp,
            usd,
        });
    }

    /// The cells of a sampled exchange. Their full amounts are unknown and 0.
    fn cells(&self) -> Vec<HourCell> {
        cells(self.orders.iter().copied(), std::iter::empty())
    }

    /// The cells of a complete tape, as if `rule` had selected the published orders.
    fn thinned(&self, rule: Rule) -> Vec<HourCell> {
        let mut published: BTreeMap<(u32, i64, Option<Side>), TapeOrder> = BTreeMap::new();
        for order in &self.orders {
            let side = (rule == Rule::LargestOfSide).then_some(order.side);
            let second = order.at.0.div_euclid(SECOND);
            published
                .entry((order.symbol, second, side))
                .and_modify(|best| {
                    if rule == Rule::Latest || order.usd > best.usd {
                        *best = *order;
                    }
                })
                .or_insert(*order);
        }
        cells(published.into_values(), self.orders.iter().copied())
    }
}

/// How an exchange chooses one order per second.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Latest,
    Largest,
    LargestOfSide,
}

impl Rule {
    /// Possible rules of an exchange.
    fn of(sampling: Sampling) -> &'static [Self] {
        match sampling {
            Sampling::Latest => &[Self::Latest],
            Sampling::LargestOfSide => &[Self::LargestOfSide],
            Sampling::LatestOrLargest => &[Self::Latest, Self::Largest],
            Sampling::Complete | Sampling::Unknown => &[],
        }
    }
}

/// A cell: the orders of one symbol in one hour.
#[derive(Clone, Copy, Default)]
struct HourCell {
    /// Number of published orders.
    published: u32,
    /// Published USD.
    published_usd: f64,
    /// Full USD.
    all_usd: f64,
}

impl HourCell {
    /// Activity class: the binary logarithm of the number of published orders, rounded down.
    fn busy(&self) -> u32 {
        self.published.max(1).ilog2()
    }
}

fn cells(
    published: impl Iterator<Item = TapeOrder>,
    all: impl Iterator<Item = TapeOrder>,
) -> Vec<HourCell> {
    let mut cells: BTreeMap<(i64, u32), HourCell> = BTreeMap::new();
    let place = |order: &TapeOrder| (order.at.0.div_euclid(Millis::HOUR), order.symbol);
    for order in published {
        let cell = cells.entry(place(&order)).or_default();
        cell.published += 1;
        cell.published_usd += order.usd;
    }
    for order in all {
        cells.entry(place(&order)).or_default().all_usd += order.usd;
    }
    cells.into_values().collect()
}

/// Reference cells of complete tapes by activity class.
struct ReferenceCells(BTreeMap<u32, Vec<HourCell>>);

impl ReferenceCells {
    fn of(cells: impl Iterator<Item = HourCell>) -> Self {
        let mut known: BTreeMap<u32, Vec<HourCell>> = BTreeMap::new();
        for cell in cells.filter(|cell| cell.published_usd > 0.0) {
            known.entry(cell.busy()).or_default().push(cell);
        }
        Self(known)
    }

    fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The reference cells of the same activity class.
    ///
    /// If there are none, those of the next lower class; else those of the lowest class.
    fn like(&self, cell: &HourCell) -> &[HourCell] {
        let less = self.0.range(..=cell.busy()).next_back();
        let found = less.or_else(|| self.0.iter().next());
        found.map(|(_, cells)| cells.as_slice()).unwrap_or_default()
    }

    /// Share of the published USD in cells busier than all reference cells.
    ///
    /// Compares activity classes.
    fn beyond(&self, cells: &[HourCell]) -> f64 {
        let busiest = self.0.keys().next_back().copied().unwrap_or_default();
        let usd =
            |cells: &mut dyn Iterator<Item = &HourCell>| cells.map(|cell| cell.published_usd).sum();
        let all: f64 = usd(&mut cells.iter());
        let over: f64 = usd(&mut cells.iter().filter(|cell| cell.busy() > busiest));
        if all > 0.0 { over / all } else { 0.0 }
    }

    /// The estimated full USD.
    ///
    /// Sums the published USD of each cell, multiplied by the ratio of full to published USD of similar reference
    /// cells.
    fn estimate(&self, cells: &[HourCell]) -> f64 {
        let factor = |like: &[HourCell]| {
            let all: f64 = like.iter().map(|cell| cell.all_usd).sum();
            all / like.iter().map(|cell| cell.published_usd).sum::<f64>()
        };
        let each = cells
            .iter()
            .map(|cell| cell.published_usd * factor(self.like(cell)));
        each.sum()
    }

    /// Sorted bootstrap sums.
    fn draws(&self, cells: &[HourCell], chance: &mut Rng) -> Vec<f64> {
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| self.draw(cells, chance)).collect();
        draws.sort_by(f64::total_cmp);
        draws
    }

    fn draw(&self, cells: &[HourCell], chance: &mut Rng) -> f64 {
        // Cumulative random weights of the reference cells. A weight is an exponential random number times the
        // published USD.
        let mut weights: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (busy, like) in &self.0 {
            let mut sum = 0.0;
            let weigh = |cell: &HourCell| {
                sum -= (1.0 - chance.f64()).ln() * cell.published_usd;
                sum
            };
            weights.insert(*busy, like.iter().map(weigh).collect());
        }
        let one = |cell: &HourCell| {
            let like = self.like(cell);
            let sums = like.first().and_then(|first| weights.get(&first.busy()));
            let sums = sums.map(Vec::as_slice).unwrap_or_default();
            let drawn = chance.f64() * sums.last().copied().unwrap_or_default();
            let found = like
                .get(sums.partition_point(|sum| *sum <= drawn))
                .or(like.last());
            found.map_or(cell.published_usd, |known| {
                cell.published_usd * known.all_usd / known.published_usd
            })
        };
        cells.iter().map(one).sum()
    }
}

/// A quantile of sorted draws.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "draws are counted in hundreds"
)]
fn quantile(draws: &[f64], share: f64) -> f64 {
    let place = (draws.len().saturating_sub(1) as f64 * share).round() as usize;
    draws.get(place).copied().unwrap_or(f64::NAN)
}

/// Returns published and estimated full USD of each exchange in a window.
///
/// `whole` has the times in which tapes were recorded completely.
#[must_use]
pub fn undercount(view: &View<'_>, window: Window, whole: &CompleteTapes) -> Vec<UndercountRow> {
    let ring = view.ring();
    let mut tapes: BTreeMap<&str, Tape> = BTreeMap::new();
    // Only the orders recorded while the tape of their exchange was complete.
    let mut complete_tapes: BTreeMap<&str, Tape> = BTreeMap::new();
    for place in view.seen(window.millis()) {
        let order = ring.brief(place);
        let (_, usd) = ring.amount(place);
        tapes
            .entry(order.exchange)
            .or_default()
            .take(&order, usd.f64());
        if whole.holds(order.exchange, order.timestamp) {
            complete_tapes
                .entry(order.exchange)
                .or_default()
                .take(&order, usd.f64());
        }
    }
    let complete: Vec<(&str, &Tape)> = complete_tapes
        .iter()
        .filter(|(name, _)| whole.sampling(name) == Sampling::Complete)
        .map(|(name, tape)| (*name, tape))
        .collect();
    let rows = tapes.iter().map(|(name, tape)| {
        let sampling = whole.sampling(name);
        let mut row = UndercountRow {
            exchange: (*name).to_owned(),
            sampling,
            observed_usd: tape.total.decimal(),
            estimated_usd: None,
            low_usd: None,
            high_usd: None,
            method: "unknown".to_owned(),
        };
        match sampling {
            Sampling::Complete => {
                let share = whole.share(name, window);
                if share >= ENOUGH {
                    let usd = Some(tape.total.f64());
                    (row.estimated_usd, row.low_usd, row.high_usd) = (usd, usd, usd);
                }
                row.method = listened(share);
            }
            Sampling::Unknown => {
                "unknown: the exchange does not say what it leaves out".clone_into(&mut row.method);
            }
            _ => estimated(&mut row, tape, &complete),
        }
        row
    });
    rows.collect()
}

/// Text that says how completely a tape was recorded.
fn listened(share: f64) -> String {
    let percent = (100.0 * share).min(99.9);
    if share >= 1.0 {
        "a complete tape".to_owned()
    } else if share >= ENOUGH {
        format!("a complete tape of {percent:.1} % of the window")
    } else if share > 0.0 {
        format!("unknown: a complete tape of only {percent:.1} % of the window")
    } else {
        "unknown: no complete recording in the window".to_owned()
    }
}

/// Fills in the estimate of a sampled exchange, if there are enough reference cells.
fn estimated(row: &mut UndercountRow, tape: &Tape, complete: &[(&str, &Tape)]) {
    let cells = tape.cells();
    let mut intervals: Vec<[f64; 3]> = Vec::new();
    let (mut known_cells, mut beyond) = (0, 0.0_f64);
    for rule in Rule::of(row.sampling) {
        let thinned = complete.iter().flat_map(|(_, tape)| tape.thinned(*rule));
        let known = ReferenceCells::of(thinned);
        if known.len() < FEWEST {
            let few = "unknown: no complete tape in the window, or one with too few hours";
            few.clone_into(&mut row.method);
            return;
        }
        known_cells = known.len();
        beyond = beyond.max(known.beyond(&cells));
        let draws = known.draws(&cells, &mut Rng::with_seed(0));
        intervals.push([
            known.estimate(&cells),
            quantile(&draws, OUTSIDE),
            quantile(&draws, 1.0 - OUTSIDE),
        ]);
    }
    #[expect(clippy::cast_precision_loss, reason = "there are two rules at most")]
    let mean =
        intervals.iter().map(|[estimate, ..]| estimate).sum::<f64>() / intervals.len() as f64;
    row.estimated_usd = Some(mean);
    row.low_usd = intervals.iter().map(|[_, low, _]| *low).reduce(f64::min);
    row.high_usd = intervals.iter().map(|[.., high]| *high).reduce(f64::max);
    let names: Vec<&str> = complete.iter().map(|(name, _)| *name).collect();
    row.method = format!(
        "thinned tapes of {}: {known_cells} hours of single symbols; 90 % interval",
        names.join(", ")
    );
    if beyond > 0.0 {
        let percent = 100.0 * beyond;
        let more = format!(
            "; {percent:.1} % of the published USD is in hours busier than any hour of these tapes"
        );
        row.method.push_str(&more);
    }
}
