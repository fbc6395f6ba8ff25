//! The heatmap: the ledger by liquidation price over time.

use std::ops::Range;

use crate::engine::estimate::estimate_basis::{EstimateBasis, SideBoundary};
use crate::engine::ledger::ledger::MassColumn;
use crate::engine::ledger::replay::ReplayWindow;
use crate::engine::{EngineError, Estimate, View};
use crate::model::{FineGrid, HeatmapGrid, HeatmapRange, Millis, Model, Vocabulary};

/// Approximate number of columns of the range `all`.
const COLUMNS: i64 = 180;

/// Minimum number of columns.
const FEWEST_COLUMNS: i64 = 12;

/// The rows cover the price range plus this share on both sides.
const MARGIN: f64 = 0.03;

/// Maximum number of rows in the price range with its margins. Positions outside that range add more rows.
const ROWS: i64 = 300;

/// Returns the heatmap of a coin: USD by price and time.
///
/// Rows ascend in price, columns in time.
///
/// The window is `(T − range, T]`, where T is the close of the last bar that closed by now. The bars in the window are
/// replayed from a ledger without located positions. A column shows the ledger at the end of the column. The length of
/// a column is the usual one of the range, rounded up to a multiple of the bar length. Rows cover all non-empty cells,
/// so the last column sums to the total of the `liqmap` of the same range and model. Columns that end before the first
/// bar opens are left out.
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
) -> Result<Estimate<HeatmapGrid>, EngineError> {
    let coarsest = range.millis() / FEWEST_COLUMNS;
    let frame = ReplayWindow::new(*view, coin, model, range.millis(), range.name(), coarsest)?;
    let times = column_ends(&frame, range);
    let counted = frame.counted();
    let mut columns = Vec::with_capacity(times.len());
    let replayed = frame.replay(&times, |ledger| columns.push(ledger.column(&counted)));
    let columns: Vec<&MassColumn> = columns.iter().collect();
    let asked = (coin, range, model);
    Ok(render(&frame, asked, times, &columns, replayed.explain))
}

/// Builds the heatmap from columns that end at `times`.
pub(crate) fn render(
    frame: &ReplayWindow<'_>,
    (coin, range, model): (&str, HeatmapRange, Model),
    times: Vec<Millis>,
    columns: &[&MassColumn],
    mut explain: EstimateBasis,
) -> Estimate<HeatmapGrid> {
    let grid = frame.parameters.grid;
    let rows = Rows::new(frame, grid, columns);
    let side_boundaries = columns.iter().map(|column| rows.parting(grid, column));
    explain.side_boundaries = side_boundaries.collect();
    Estimate {
        reply: HeatmapGrid {
            symbol: coin.to_owned(),
            range: range.to_string(),
            model: model.number(),
            updated_at: frame.end,
            current_price: frame.price,
            prices: rows.prices(grid),
            matrix: rows.matrix(grid, columns),
            times,
        },
        explain,
    }
}

/// Usual length of a column in milliseconds. A range has at most about 180 columns.
fn stride(frame: &ReplayWindow, range: HeatmapRange) -> i64 {
    match range {
        HeatmapRange::H12 => 5 * Millis::MINUTE,
        HeatmapRange::H24 => 10 * Millis::MINUTE,
        HeatmapRange::D3 => 30 * Millis::MINUTE,
        HeatmapRange::D7 => Millis::HOUR,
        HeatmapRange::M1 => 4 * Millis::HOUR,
        HeatmapRange::M3 => 12 * Millis::HOUR,
        HeatmapRange::M6 => Millis::DAY,
        HeatmapRange::Y1 => 2 * Millis::DAY,
        HeatmapRange::All => {
            let first = frame.bars.first().map_or(frame.end, |bar| bar.open_time);
            round_stride(frame.end.0.saturating_sub(first.0) / COLUMNS)
        }
    }
}

/// The shortest round length of at least `least` milliseconds.
///
/// Round lengths are 5 minutes to 12 hours, and whole days.
fn round_stride(least: i64) -> i64 {
    let minutes = [5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720];
    let round = minutes.map(|minutes| minutes * Millis::MINUTE);
    let days = least / Millis::DAY + i64::from(least % Millis::DAY != 0);
    round
        .into_iter()
        .find(|length| *length >= least)
        .unwrap_or_else(|| days.saturating_mul(Millis::DAY))
}

/// End times of the columns.
pub(crate) fn column_ends(frame: &ReplayWindow, range: HeatmapRange) -> Vec<Millis> {
    let usual = stride(frame, range);
    let bars = usual / frame.interval + i64::from(usual % frame.interval != 0);
    let stride = bars.saturating_mul(frame.interval);
    let open = frame.bars.first().map_or(frame.end, |bar| bar.open_time);
    let start = frame.end.back(range.millis()).max(open);
    let mut times: Vec<Millis> =
        std::iter::successors(Some(frame.end), |end| Some(end.back(stride)))
            .take_while(|end| *end > start)
            .collect();
    times.reverse();
    times
}

/// Heatmap rows: each covers `factor` bins of the ledger.
struct Rows {
    factor: i64,
    first: i64,
    last: i64,
}

impl Rows {
    fn new(frame: &ReplayWindow, grid: FineGrid, columns: &[&MassColumn]) -> Self {
        let low = frame
            .bars
            .iter()
            .fold(frame.price, |low, bar| low.min(bar.low));
        let high = frame
            .bars
            .iter()
            .fold(frame.price, |high, bar| high.max(bar.high));
        let (low, high) = (
            grid.bin(low * (1.0 - MARGIN)),
            grid.bin(high * (1.0 + MARGIN)),
        );
        let factor = (high - low) / ROWS + 1;
        let occupied = |column: &&MassColumn| {
            let first = column.mass.iter().position(|mass| *mass > 0.0)?;
            let last = column.mass.iter().rposition(|mass| *mass > 0.0)?;
            let bin = |place: usize| column.first + i64::try_from(place).unwrap_or(0);
            Some((bin(first), bin(last)))
        };
        let (low, high) = columns
            .iter()
            .filter_map(occupied)
            .fold((low, high), |(low, high), (first, last)| {
                (low.min(first), high.max(last))
            });
        Self {
            factor,
            first: low.div_euclid(factor),
            last: high.div_euclid(factor),
        }
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

    /// Cells in USD, row by row.
    fn matrix(&self, grid: FineGrid, columns: &[&MassColumn]) -> Vec<f64> {
        let bins = self.first * self.factor..(self.last + 1) * self.factor;
        let mids: Vec<f64> = bins.clone().map(|bin| grid.mid(bin)).collect();
        let height = usize::try_from(self.factor).unwrap_or(1);
        let mut matrix = vec![0.0; mids.len() / height * columns.len()];
        for (place, column) in columns.iter().enumerate() {
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
