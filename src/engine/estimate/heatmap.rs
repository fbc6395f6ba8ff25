//! The heatmap: the history of the ledger by liquidation price.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::engine::estimate::blend::Blend;
use crate::engine::estimate::estimate_basis::{EstimateBasis, SideBoundary};
use crate::engine::estimate::liquidation_map::shown_span;
use crate::engine::estimate::reach::{Reach, headline, within};
use crate::engine::fit::{Fit, day_of};
use crate::engine::ledger::ledger::MassColumn;
use crate::engine::ledger::ledger_state::LedgerState;
use crate::engine::ledger::replay::ReplayWindow;
use crate::engine::{EngineError, Estimate, View};
use crate::model::{
    Bar, ColumnUsd, ExactPart, FineGrid, HeatmapGrid, HeatmapRange, Millis, Model, Opened,
    ShownPrices, Side, SideUsd, Vocabulary,
};

/// Approximate number of columns of the range `all`.
const COLUMNS: i64 = 180;

/// Minimum number of columns.
const FEWEST_COLUMNS: i64 = 12;

/// Rows without positions end at this multiple of the current price, and at its inverse.
const FARTHEST: f64 = 100.0;

/// The rows cover the price range plus this share on both sides.
const MARGIN: f64 = 0.03;

/// Returns the heatmap of a coin: USD by price (rows, ascending) and time (columns, ascending).
///
/// A column is the map at its end, read with the weights of that day. Columns end at multiples of their length in
/// `(T − range, T]`, where T is the close of the last bar closed by now; the last column ends at T. The length is a
/// multiple of the bar length, at least the usual one of the range. Columns that end before the first bar opens are left
/// out. Columns before the first reading of open interest are NaN. Rows show the prices of `shown`; the last column and
/// its `outside` sum to the total of the [`liqmap`](crate::engine::liqmap) of the same positions and model.
///
/// With [`Opened::Range`], the ledger is empty at the start of the range.
///
/// # Errors
///
/// [`EngineError`] if the coin has no bars in the range or bars too long for 12 columns. For ranges of 31 days or more,
/// except `all`, also if the bars start later than the range does.
pub fn heatmap(
    view: &View,
    coin: &str,
    range: HeatmapRange,
    model: Model,
    (opened, shown): (Opened, ShownPrices),
) -> Result<Estimate<HeatmapGrid>, EngineError> {
    let coarsest = range.millis() / FEWEST_COLUMNS;
    let window = (range.millis(), range.name(), opened);
    let frame = ReplayWindow::new(*view, coin, model, window, coarsest)?;
    let times = column_ends(&frame, range);
    let is_settled = |at: &Millis| opened == Opened::Range || frame.is_settled_within(*at, *at);
    let (settled, others): (Vec<Millis>, Vec<Millis>) = times.iter().partition(|at| is_settled(at));
    let mut weights = DailyWeights::new(&frame);
    let mut columns: HashMap<Millis, HeatmapColumn> = HashMap::new();
    let state = frame.replay(&settled, |place, state| {
        if let Some(at) = settled.get(place) {
            columns.insert(*at, weights.column(state));
        }
    });
    for at in others {
        // A row that is an outlier now was used at this instant.
        let then = view.as_of(at);
        if let Ok(then) = ReplayWindow::new(then, coin, model, window, i64::MAX) {
            let state = then.replay(&[], |_, _| ());
            columns.insert(at, weights.column(&state));
        }
    }
    let fit = frame.fit().map(Arc::as_ref);
    let explain = frame.explain(&state, fit);
    let blend = Blend::new(&frame, &state, &frame.counted(), fit);
    let explain = match &blend {
        Some(blend) => blend.explain(explain),
        None => explain,
    };
    let nothing = HeatmapColumn::default();
    let columns: Vec<&HeatmapColumn> = times
        .iter()
        .map(|at| columns.get(at).unwrap_or(&nothing))
        .collect();
    let asked = (coin, range, model, shown);
    let mut estimate = render(&frame, asked, times, &columns, explain);
    if let (Some(blend), Some(last)) = (blend, columns.last()) {
        add_shares(&mut estimate.reply, &frame, range, last, &blend);
    }
    Ok(estimate)
}

/// A column of a heatmap.
#[derive(Clone, Debug, Default)]
pub struct HeatmapColumn {
    pub mass: MassColumn,
    /// Whether open interest was unknown.
    pub is_relative: bool,
    /// The part of the mass that is known positions.
    pub exact: MassColumn,
}

/// The fit of a day, and the factors of its tiers.
type DayWeights = (Option<Arc<Fit>>, [Vec<f64>; 2]);

/// Reads columns with the weights of their day.
pub struct DailyWeights<'a> {
    frame: &'a ReplayWindow<'a>,
    /// By UTC day.
    weights: HashMap<Millis, DayWeights>,
}

impl<'a> DailyWeights<'a> {
    pub fn new(frame: &'a ReplayWindow<'a>) -> Self {
        Self {
            frame,
            weights: HashMap::new(),
        }
    }

    /// The column of a state.
    pub fn column(&mut self, state: &LedgerState) -> HeatmapColumn {
        let frame = self.frame;
        let day = day_of(state.last_close.unwrap_or(state.since));
        let weights = self.weights.entry(day).or_insert_with(|| {
            let fit = if day == day_of(frame.end) {
                frame.fit().cloned()
            } else {
                frame.fit_at(day)
            };
            let counted = frame.counted_by(fit.as_deref());
            (fit, counted)
        });
        let (fit, weights) = weights;
        let Some(blend) = Blend::new(frame, state, weights, fit.as_deref()) else {
            return HeatmapColumn {
                mass: state.ledger.column(weights),
                is_relative: state.is_relative,
                exact: MassColumn::default(),
            };
        };
        let mass = state.ledger.column(&blend.counted);
        let exact = placed(&blend, frame.parameters.grid, state.ledger.price());
        HeatmapColumn {
            mass: mass.plus(&exact),
            is_relative: state.is_relative,
            exact,
        }
    }
}

/// The known positions as a column: as much mass as has their USD at the middle of its bin.
fn placed(blend: &Blend, grid: FineGrid, price: f64) -> MassColumn {
    let bins = blend.placed.iter().map(|position| position.fine);
    let (Some(first), Some(last)) = (bins.clone().min(), bins.max()) else {
        return MassColumn::default();
    };
    let mut mass = vec![0.0; usize::try_from(last - first).unwrap_or_default() + 1];
    for position in &blend.placed {
        let place = usize::try_from(position.fine - first).unwrap_or_default();
        if let Some(cell) = mass.get_mut(place) {
            *cell += position.usd;
        }
    }
    for (bin, cell) in (first..).zip(&mut mass) {
        *cell /= grid.mid(bin);
    }
    MassColumn {
        first,
        mass,
        longs_end: grid.bin(price),
        price,
    }
}

/// Adds the share of known positions in the last column.
fn add_shares(
    map: &mut HeatmapGrid,
    frame: &ReplayWindow<'_>,
    range: HeatmapRange,
    last: &HeatmapColumn,
    blend: &Blend,
) {
    let grid = frame.parameters.grid;
    let cells = |column: &MassColumn| -> Vec<(Side, f64, f64)> {
        let of = |side| {
            column
                .usd_of(grid, side)
                .into_iter()
                .map(move |(price, usd)| (side, price, usd))
        };
        of(Side::Long).chain(of(Side::Short)).collect()
    };
    let (all, exact) = (cells(&last.mass), cells(&last.exact));
    let near = |cells: &[(Side, f64, f64)]| within(&cells.iter().copied(), frame.price);
    let both = |usd: &SideUsd| usd.long_usd + usd.short_usd;
    let near_exact = near(&exact);
    let shares = near(&all).into_iter().filter(|(_, usd)| both(usd) > 0.0);
    let within = shares.map(|(percent, all)| {
        let exact = near_exact.get(&percent).map_or(0.0, both);
        (percent, (exact / both(&all)).min(1.0))
    });
    let within = within.collect();
    let sum = |cells: &[(Side, f64, f64)]| cells.iter().map(|(.., usd)| usd).sum::<f64>();
    let (exact, all) = (sum(&exact), sum(&all));
    let factor = bins_of_row(range);
    let first = map
        .prices
        .first()
        .map_or(0, |price| grid.bin(*price).div_euclid(factor));
    let rows = Rows {
        factor,
        first,
        last: first.saturating_add_unsigned(map.prices.len() as u64) - 1,
    };
    let exact_rows = rows.matrix(grid, &[Some(&last.exact)]);
    let all_rows = rows.matrix(grid, &[Some(&last.mass)]);
    let shares = exact_rows.iter().zip(&all_rows);
    let share = |(exact, all): (&f64, &f64)| {
        if *all > 0.0 {
            (exact / all).min(1.0)
        } else {
            f64::NAN
        }
    };
    map.exact_share = Some(shares.map(share).collect());
    map.exact = Some(ExactPart {
        share: (all > 0.0).then(|| (exact / all).min(1.0)),
        within,
        exchanges: blend.facts(),
    });
}

/// Builds the heatmap from columns that end at `times`.
pub fn render(
    frame: &ReplayWindow<'_>,
    (coin, range, model, shown): (&str, HeatmapRange, Model, ShownPrices),
    times: Vec<Millis>,
    columns: &[&HeatmapColumn],
    mut explain: EstimateBasis,
) -> Estimate<HeatmapGrid> {
    let grid = frame.parameters.grid;
    // The unit of these columns is another one.
    let is_unknown = |column: &HeatmapColumn| column.is_relative && !explain.is_relative();
    let known: Vec<Option<&MassColumn>> = columns
        .iter()
        .map(|column| (!is_unknown(column)).then_some(&column.mass))
        .collect();
    explain.span = span(
        frame,
        (range, shown),
        columns.last().copied(),
        explain.sigma_day,
    );
    let rows = match explain.span {
        None => Rows::new(frame, grid, range, known.iter().flatten().copied()),
        Some(span) => {
            let all = Rows::new(frame, grid, range, known.iter().flatten().copied());
            all.between(grid, span, frame.price)
        }
    };
    let outside = rows.outside(grid, &known);
    let side_boundaries = known.iter().map(|column| match column {
        Some(column) => rows.parting(grid, column),
        None => SideBoundary::UNKNOWN,
    });
    explain.side_boundaries = side_boundaries.collect();
    explain.partial = Some(frame.end.0.rem_euclid(step(frame, range)) != 0);
    Estimate {
        reply: HeatmapGrid {
            symbol: coin.to_owned(),
            range: range.to_string(),
            model: model.number(),
            updated_at: frame.end,
            current_price: frame.price,
            prices: rows.prices(grid),
            matrix: rows.matrix(grid, &known),
            times,
            labels: explain.labels(),
            outside: Some(outside),
            step: Some(step(frame, range)),
            row_step: Some(rows.width(grid)),
            edges: None,
            exact_share: None,
            exact: None,
        },
        explain,
    }
}

/// The lowest and the highest price that a heatmap shows; `None` if it shows all.
///
/// A side without positions in between is shown up to its headline, both in the last column.
fn span(
    frame: &ReplayWindow<'_>,
    (range, shown): (HeatmapRange, ShownPrices),
    last: Option<&HeatmapColumn>,
    sigma_day: Option<f64>,
) -> Option<[f64; 2]> {
    let grid = frame.parameters.grid;
    let reach = sigma_day.map(|sigma| Reach::new(frame.price, sigma, range.millis()));
    let cells = |side| -> Vec<(f64, f64)> {
        last.map(|column| column.mass.usd_of(grid, side))
            .unwrap_or_default()
    };
    let has = |side, [low, high]: [f64; 2]| {
        let cells = cells(side);
        cells.iter().any(|(price, _)| (low..=high).contains(price))
    };
    let headline = |side| {
        let width = frame.price * grid.h;
        headline(&cells(side), frame.price, width, reach.as_ref()).map(|level| level.price)
    };
    shown_span(
        frame.bars(),
        (range.millis(), shown),
        reach,
        &has,
        &headline,
    )
}

/// Usual length of a column; about 180 make the range. `length` is that of all bars, in milliseconds.
#[must_use]
pub fn usual_column(range: HeatmapRange, length: i64) -> i64 {
    match range {
        HeatmapRange::H12 => 5 * Millis::MINUTE,
        HeatmapRange::H24 => 10 * Millis::MINUTE,
        HeatmapRange::D3 => 30 * Millis::MINUTE,
        HeatmapRange::D7 => Millis::HOUR,
        HeatmapRange::M1 => 4 * Millis::HOUR,
        HeatmapRange::M3 => 12 * Millis::HOUR,
        HeatmapRange::M6 => Millis::DAY,
        HeatmapRange::Y1 => 2 * Millis::DAY,
        HeatmapRange::All => round_step(length / COLUMNS),
    }
}

/// The first round length, or else number of whole days, not below `least`.
fn round_step(least: i64) -> i64 {
    let minutes = [5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720];
    let round = minutes.map(|minutes| minutes * Millis::MINUTE);
    let days = least / Millis::DAY + i64::from(least % Millis::DAY != 0);
    round
        .into_iter()
        .find(|length| *length >= least)
        .unwrap_or_else(|| days.saturating_mul(Millis::DAY))
}

/// Length of a column: the usual one, or the next multiple of the bar length.
fn step(frame: &ReplayWindow, range: HeatmapRange) -> i64 {
    let first = frame.bars().first().map_or(frame.end, |bar| bar.open_time);
    let usual = usual_column(range, frame.end.0.saturating_sub(first.0));
    let bars = usual / frame.interval + i64::from(usual % frame.interval != 0);
    bars.saturating_mul(frame.interval)
}

/// End times of the columns: multiples of their length, and the end of the window.
pub fn column_ends(frame: &ReplayWindow, range: HeatmapRange) -> Vec<Millis> {
    let step = step(frame, range);
    let open = frame
        .all_bars()
        .first()
        .map_or(frame.end, |bar| bar.open_time);
    let start = frame.end.back(range.millis()).max(open);
    let last = Millis(frame.end.0.div_euclid(step).saturating_mul(step));
    let mut times: Vec<Millis> = std::iter::successors(Some(last), |end| Some(end.back(step)))
        .take_while(|end| *end > start)
        .collect();
    times.reverse();
    if last < frame.end {
        times.push(frame.end);
    }
    times
}

/// Number of fine bins in a row.
fn bins_of_row(range: HeatmapRange) -> i64 {
    match range {
        HeatmapRange::H12 | HeatmapRange::H24 | HeatmapRange::D3 => 1,
        HeatmapRange::D7 | HeatmapRange::M1 => 2,
        HeatmapRange::M3 | HeatmapRange::M6 | HeatmapRange::Y1 | HeatmapRange::All => 4,
    }
}

/// Heatmap rows: coarse bins of `factor` fine bins.
struct Rows {
    factor: i64,
    first: i64,
    last: i64,
}

impl Rows {
    fn new<'a>(
        frame: &ReplayWindow,
        grid: FineGrid,
        range: HeatmapRange,
        columns: impl Iterator<Item = &'a MassColumn>,
    ) -> Self {
        let bars = frame.bars().iter();
        let (low, high) = bars.fold((frame.price, frame.price), |(low, high), bar: Bar| {
            (low.min(bar.low), high.max(bar.high))
        });
        let edges = (
            grid.bin(low * (1.0 - MARGIN)),
            grid.bin(high * (1.0 + MARGIN)),
        );
        let factor = bins_of_row(range);
        let occupied = |column: &MassColumn| {
            let first = column.mass.iter().position(|mass| *mass > 0.0)?;
            let last = column.mass.iter().rposition(|mass| *mass > 0.0)?;
            let bin = |place: usize| column.first + i64::try_from(place).unwrap_or(0);
            Some((bin(first), bin(last)))
        };
        let (low, high) = columns
            .filter_map(occupied)
            .fold(edges, |(low, high), (first, last)| {
                (low.min(first), high.max(last))
            });
        Self {
            factor,
            first: low.div_euclid(factor),
            last: high.div_euclid(factor),
        }
    }

    /// The rows that lie between two prices, at least partly.
    ///
    /// Rows without positions are left out below a hundredth and above a hundred times the current price.
    fn between(self, grid: FineGrid, [low, high]: [f64; 2], current: f64) -> Self {
        let row = |price: f64| grid.bin(price).div_euclid(self.factor);
        let first = if low > 0.0 {
            row(low).max(self.first.min(row(current / FARTHEST)))
        } else {
            self.first
        };
        let last = if high.is_finite() {
            row(high).min(self.last.max(row(current * FARTHEST)))
        } else {
            self.last
        };
        Self {
            first,
            last: last.max(first),
            ..self
        }
    }

    /// USD by column and side in the bins that are in no row; NaN in the columns that are unknown.
    fn outside(&self, grid: FineGrid, columns: &[Option<&MassColumn>]) -> ColumnUsd {
        let bins = self.first * self.factor..(self.last + 1) * self.factor;
        let mut outside = ColumnUsd::default();
        for column in columns {
            let mut usd = SideUsd::default();
            match column {
                None => {
                    usd = SideUsd {
                        long_usd: f64::NAN,
                        short_usd: f64::NAN,
                    }
                }
                Some(column) => {
                    for (bin, mass) in (column.first..).zip(&column.mass) {
                        if !bins.contains(&bin) && *mass > 0.0 {
                            usd.add(column.side_of(bin), mass * grid.mid(bin));
                        }
                    }
                }
            }
            outside.long_usd.push(usd.long_usd);
            outside.short_usd.push(usd.short_usd);
        }
        outside
    }

    /// Width of a row in log price.
    #[expect(clippy::cast_precision_loss, reason = "a row has few bins")]
    fn width(&self, grid: FineGrid) -> f64 {
        self.factor as f64 * grid.h
    }

    fn prices(&self, grid: FineGrid) -> Vec<f64> {
        (self.first..=self.last)
            .map(|row| grid.coarse_mid(row, self.factor))
            .collect()
    }

    /// The boundary between the longs and the shorts of a column.
    fn parting(&self, grid: FineGrid, column: &MassColumn) -> SideBoundary {
        let usd = |bins: Range<i64>| {
            let mids: Vec<f64> = bins.clone().map(|bin| grid.mid(bin)).collect();
            dot(column.between(bins), &mids)
        };
        let end = column.longs_end.max(self.first * self.factor - 1);
        let row = end.div_euclid(self.factor);
        SideBoundary {
            row: row - self.first,
            long: usd(row * self.factor..end),
            short: usd(end..(row + 1) * self.factor),
            price: column.price,
        }
    }

    /// Cells in USD, row by row; NaN in the columns that are unknown.
    fn matrix(&self, grid: FineGrid, columns: &[Option<&MassColumn>]) -> Vec<f64> {
        let bins = self.first * self.factor..(self.last + 1) * self.factor;
        let mids: Vec<f64> = bins.clone().map(|bin| grid.mid(bin)).collect();
        let height = usize::try_from(self.factor).unwrap_or(1);
        let mut matrix = vec![0.0; mids.len() / height * columns.len()];
        for (place, column) in columns.iter().enumerate() {
            let Some(column) = column else {
                let cells = matrix.iter_mut().skip(place).step_by(columns.len().max(1));
                cells.for_each(|cell| *cell = f64::NAN);
                continue;
            };
            let (skipped, masses) = column.between(bins.clone());
            for ((bin, mid), mass) in mids.iter().enumerate().skip(skipped).zip(masses) {
                if let Some(cell) = matrix.get_mut(bin / height * columns.len() + place) {
                    *cell += mass * mid;
                }
            }
        }
        matrix
    }
}

/// Sum of masses multiplied by the middle prices of their bins, in USD.
fn dot((skipped, masses): (usize, &[f64]), mids: &[f64]) -> f64 {
    let mids = mids.get(skipped..).unwrap_or_default();
    masses
        .iter()
        .zip(mids)
        .fold(0.0, |sum, (mass, mid)| sum + mass * mid)
}
