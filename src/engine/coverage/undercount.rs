//! What sampled exchanges leave out, by thinning complete tapes of the same window as those exchanges sample.
//!
//! A cell is a symbol in an hour. Of a cell of a complete tape both is known: what was liquidated, and what would have
//! been published of it; how busy a cell is told by how many orders would have been. A cell of a sampled exchange is
//! held against those that are as busy. The interval is a Bayesian bootstrap over the cells of the tapes, and each draw
//! takes for each cell of the sampled exchange one of theirs, so that it is one of what happened and not of a mean.

use std::collections::{BTreeMap, HashMap};

use crate::engine::View;
use crate::model::{
    ExactSum, Millis, OrderBrief, Sampling, Side, TimeRange, UndercountRow, Window,
};
use fastrand::Rng;

/// Fewer cells of complete tapes tell nothing.
const FEWEST: usize = 20;
/// How often the sum is drawn.
const DRAWS: usize = 400;
/// The share of draws that lies outside of either end of the interval.
const OUTSIDE: f64 = 0.05;
/// A tape of less than this share of the window is none of the window.
const ENOUGH: f64 = 0.99;
/// A second, of which exchanges publish one order.
const SECOND: i64 = 1000;

/// Stretches of time by exchange, each in order and apart from each other.
pub type Spans = BTreeMap<String, Vec<TimeRange>>;

/// When all that exchanges published was told.
#[derive(Clone, Debug)]
pub enum WholeTapes {
    /// Always, and they publish everything.
    All,
    /// Of those that publish everything, in these stretches, which lie in the window.
    At(Spans),
}

impl WholeTapes {
    /// Whether an exchange's tape was whole at an instant.
    fn holds(&self, name: &str, at: Millis) -> bool {
        match self {
            Self::All => true,
            Self::At(spans) => spans.get(name).is_some_and(|spans| {
                let next = spans.partition_point(|range| range.start <= at);
                let last = next.checked_sub(1).and_then(|place| spans.get(place));
                last.is_some_and(|range| at < range.end)
            }),
        }
    }

    /// The share of the window in which it was.
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of a day are exact"
    )]
    fn share(&self, name: &str, window: Window) -> f64 {
        match self {
            Self::All => 1.0,
            Self::At(spans) => {
                let spans = spans.get(name).map(Vec::as_slice).unwrap_or_default();
                let lengths = spans.iter().map(|range| range.length());
                lengths.sum::<i64>() as f64 / window.millis() as f64
            }
        }
    }
}

/// One order as a rule looks at it.
#[derive(Clone, Copy)]
struct Seen {
    symbol: u32,
    side: Side,
    at: Millis,
    usd: f64,
}

/// The orders of one exchange in the window, oldest first.
#[derive(Default)]
struct Tape {
    symbols: HashMap<String, u32>,
    orders: Vec<Seen>,
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
        self.orders.push(Seen {
            symbol,
            side: order.side,
            at: order.timestamp,
            usd,
        });
    }

    /// Its cells as they are: what is published of each, and nothing more.
    fn cells(&self) -> Vec<Cell> {
        cells(self.orders.iter().copied(), std::iter::empty())
    }

    /// Its cells if a rule had chosen what is published.
    fn thinned(&self, rule: Rule) -> Vec<Cell> {
        let mut kept: BTreeMap<(u32, i64, Option<Side>), Seen> = BTreeMap::new();
        for order in &self.orders {
            let side = (rule == Rule::LargestOfSide).then_some(order.side);
            let second = order.at.0.div_euclid(SECOND);
            kept.entry((order.symbol, second, side))
                .and_modify(|best| {
                    if rule == Rule::Latest || order.usd > best.usd {
                        *best = *order;
                    }
                })
                .or_insert(*order);
        }
        cells(kept.into_values(), self.orders.iter().copied())
    }
}

/// How one order of a second is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Latest,
    Largest,
    LargestOfSide,
}

impl Rule {
    /// The rules that may be those of an exchange.
    fn of(sampling: Sampling) -> &'static [Self] {
        match sampling {
            Sampling::Latest => &[Self::Latest],
            Sampling::LargestOfSide => &[Self::LargestOfSide],
            Sampling::LatestOrLargest => &[Self::Latest, Self::Largest],
            Sampling::Complete | Sampling::Unknown => &[],
        }
    }
}

/// A symbol in an hour.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// Orders that are published.
    kept: u32,
    /// Their USD.
    kept_usd: f64,
    /// USD of all.
    all_usd: f64,
}

impl Cell {
    /// How busy it is: cells of one number have about as many published orders.
    fn busy(&self) -> u32 {
        self.kept.max(1).ilog2()
    }
}

fn cells(kept: impl Iterator<Item = Seen>, all: impl Iterator<Item = Seen>) -> Vec<Cell> {
    let mut cells: BTreeMap<(i64, u32), Cell> = BTreeMap::new();
    let place = |order: &Seen| (order.at.0.div_euclid(Millis::HOUR), order.symbol);
    for order in kept {
        let cell = cells.entry(place(&order)).or_default();
        cell.kept += 1;
        cell.kept_usd += order.usd;
    }
    for order in all {
        cells.entry(place(&order)).or_default().all_usd += order.usd;
    }
    cells.into_values().collect()
}

/// The cells of complete tapes by how busy they are.
struct Known(BTreeMap<u32, Vec<Cell>>);

impl Known {
    fn of(cells: impl Iterator<Item = Cell>) -> Self {
        let mut known: BTreeMap<u32, Vec<Cell>> = BTreeMap::new();
        for cell in cells.filter(|cell| cell.kept_usd > 0.0) {
            known.entry(cell.busy()).or_default().push(cell);
        }
        Self(known)
    }

    fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The cells that are as busy, or else those that come next to it.
    fn like(&self, cell: &Cell) -> &[Cell] {
        let less = self.0.range(..=cell.busy()).next_back();
        let found = less.or_else(|| self.0.iter().next());
        found.map(|(_, cells)| cells.as_slice()).unwrap_or_default()
    }

    /// The share of the published USD that is of cells busier than any that is known.
    fn beyond(&self, cells: &[Cell]) -> f64 {
        let busiest = self.0.keys().next_back().copied().unwrap_or_default();
        let usd = |cells: &mut dyn Iterator<Item = &Cell>| cells.map(|cell| cell.kept_usd).sum();
        let all: f64 = usd(&mut cells.iter());
        let over: f64 = usd(&mut cells.iter().filter(|cell| cell.busy() > busiest));
        if all > 0.0 { over / all } else { 0.0 }
    }

    /// The estimate: of each cell what those like it lost together.
    fn estimate(&self, cells: &[Cell]) -> f64 {
        let factor = |like: &[Cell]| {
            let all: f64 = like.iter().map(|cell| cell.all_usd).sum();
            all / like.iter().map(|cell| cell.kept_usd).sum::<f64>()
        };
        let each = cells
            .iter()
            .map(|cell| cell.kept_usd * factor(self.like(cell)));
        each.sum()
    }

    /// Sums as they may have been, smallest first.
    fn draws(&self, cells: &[Cell], chance: &mut Rng) -> Vec<f64> {
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| self.draw(cells, chance)).collect();
        draws.sort_by(f64::total_cmp);
        draws
    }

    fn draw(&self, cells: &[Cell], chance: &mut Rng) -> f64 {
        // Each cell weighs as much as chance and its USD give it; a sum of the weights up to it finds one.
        let mut weights: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (busy, like) in &self.0 {
            let mut sum = 0.0;
            let weigh = |cell: &Cell| {
                sum -= (1.0 - chance.f64()).ln() * cell.kept_usd;
                sum
            };
            weights.insert(*busy, like.iter().map(weigh).collect());
        }
        let one = |cell: &Cell| {
            let like = self.like(cell);
            let sums = like.first().and_then(|first| weights.get(&first.busy()));
            let sums = sums.map(Vec::as_slice).unwrap_or_default();
            let drawn = chance.f64() * sums.last().copied().unwrap_or_default();
            let found = like
                .get(sums.partition_point(|sum| *sum <= drawn))
                .or(like.last());
            found.map_or(cell.kept_usd, |known| {
                cell.kept_usd * known.all_usd / known.kept_usd
            })
        };
        cells.iter().map(one).sum()
    }
}

/// The end of an interval, of draws in order.
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

/// What each exchange published in a window, and what is estimated of all that it liquidated; of the tapes that are `whole`.
#[must_use]
pub fn undercount(view: &View<'_>, window: Window, whole: &WholeTapes) -> Vec<UndercountRow> {
    let ring = view.ring();
    let mut tapes: BTreeMap<&str, Tape> = BTreeMap::new();
    // Of those that publish everything, what was told while all of it was.
    let mut told: BTreeMap<&str, Tape> = BTreeMap::new();
    for place in view.seen(window.millis()) {
        let order = ring.brief(place);
        let (_, usd) = ring.amount(place);
        tapes
            .entry(order.exchange)
            .or_default()
            .take(&order, usd.f64());
        if whole.holds(order.exchange, order.timestamp) {
            told.entry(order.exchange)
                .or_default()
                .take(&order, usd.f64());
        }
    }
    let sampling = |name: &str| {
        if matches!(whole, WholeTapes::All) {
            Sampling::Complete
        } else {
            Sampling::of_venue(name)
        }
    };
    let complete: Vec<(&str, &Tape)> = told
        .iter()
        .filter(|(name, _)| sampling(name) == Sampling::Complete)
        .map(|(name, tape)| (*name, tape))
        .collect();
    let rows = tapes.iter().map(|(name, tape)| {
        let sampling = sampling(name);
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

/// How a tape that an exchange publishes whole was listened to.
fn listened(share: f64) -> String {
    let percent = (100.0 * share).min(99.9);
    if share >= 1.0 {
        "a complete tape".to_owned()
    } else if share >= ENOUGH {
        format!("a complete tape of {percent:.1} % of the window")
    } else if share > 0.0 {
        format!("unknown: all of it is told of {percent:.1} % of the window")
    } else {
        "unknown: nobody is on record as having listened to all of it".to_owned()
    }
}

/// Fills in the estimate of a sampled exchange, as far as complete tapes tell.
fn estimated(row: &mut UndercountRow, tape: &Tape, complete: &[(&str, &Tape)]) {
    let cells = tape.cells();
    let mut told: Vec<[f64; 3]> = Vec::new();
    let (mut known_cells, mut beyond) = (0, 0.0_f64);
    for rule in Rule::of(row.sampling) {
        let thinned = complete.iter().flat_map(|(_, tape)| tape.thinned(*rule));
        let known = Known::of(thinned);
        if known.len() < FEWEST {
            let few = "unknown: no complete tape that was listened to in the window, or too little of one";
            few.clone_into(&mut row.method);
            return;
        }
        known_cells = known.len();
        beyond = beyond.max(known.beyond(&cells));
        let draws = known.draws(&cells, &mut Rng::with_seed(0));
        told.push([
            known.estimate(&cells),
            quantile(&draws, OUTSIDE),
            quantile(&draws, 1.0 - OUTSIDE),
        ]);
    }
    #[expect(clippy::cast_precision_loss, reason = "there are two rules at most")]
    let mean = told.iter().map(|[estimate, ..]| estimate).sum::<f64>() / told.len() as f64;
    row.estimated_usd = Some(mean);
    row.low_usd = told.iter().map(|[_, low, _]| *low).reduce(f64::min);
    row.high_usd = told.iter().map(|[.., high]| *high).reduce(f64::max);
    let names: Vec<&str> = complete.iter().map(|(name, _)| *name).collect();
    row.method = format!(
        "thinned tapes of {}: {known_cells} hours of symbols; 90 %",
        names.join(", ")
    );
    if beyond > 0.0 {
        let percent = 100.0 * beyond;
        let more = format!("; {percent:.1} % of it busier than any tape");
        row.method.push_str(&more);
    }
}
