//! The heatmap: the ledger of open positions by liquidation price, column by column.

use std::ops::Range;

use crate::engine::estimate::explanation::{Explain, Parting};
use crate::engine::ledger::ledger::Column;
use crate::engine::ledger::replay::Frame;
use crate::engine::{EngineError, Estimate, View};
use crate::model::{FineGrid, HeatmapGrid, HeatmapRange, Millis, Model, Vocabulary};

/// A range that is as long as the data has about so many columns, and no more.
const COLUMNS: i64 = 180;

/// Fewer columns than this are refused.
const FEWEST_COLUMNS: i64 = 12;

/// The range of prices seen, and this much beyond it, is divided into rows.
const MARGIN: f64 = 0.03;

/// At most so many rows cover that range; more only where positions lie beyond it.
const ROWS: i64 = 300;

/// The heatmap of a coin: USD by price (rows, ascending) and time (columns, ascending).
///
/// The window is `(T − range, T]`, where T is the close of the last bar closed by now: the bars that opened and closed
/// in it are replayed from an empty ledger, and a column is the state at its end. Where bars are longer than the
/// range's usual column, or do not divide it, a column is the smallest multiple of the bar that is not shorter. Rows
/// span every non-empty cell, so that the last column sums to the [`liqmap`](crate::engine::estimate::liquidation_map()) of the same range and
/// model. Columns that end before the first bar opens are left out.
///
/// # Errors
///
/// [`EngineError`] where the coin has no bars in the range, bars so long that fewer than 12 columns would result, or bars
/// that do not reach back to the start of a range of more than a month.
pub fn heatmap(
    view: &View,
    coin: &str,
    range: HeatmapRange,
    model: Model,
) -> Result<Estimate<HeatmapGrid>, EngineError> {
    let coarsest = range.millis() / FEWEST_COLUMNS;
    let frame = Frame::new(*view, coin, model, range.millis(), range.name(), coarsest)?;
    let times = column_ends(&frame, range);
    let counted = frame.counted();
    let mut columns = Vec::with_capacity(times.len());
    let replayed = frame.replay(&times, |ledger| columns.push(ledger.column(&counted)));
    let columns: Vec<&Column> = columns.iter().collect();
    let asked = (coin, range, model);
    Ok(shown(&frame, asked, times, &columns, replayed.explain))
}

/// The heatmap of these columns, which end at `times`, the last of them with the frame.
pub(crate) fn shown(
    frame: &Frame<'_>,
    (coin, range, model): (&str, HeatmapRange, Model),
    times: Vec<Millis>,
    columns: &[&Column],
    mut explain: Explain,
) -> Estimate<HeatmapGrid> {
    let grid = frame.parameters.grid;
    let rows = Rows::new(frame, grid, columns);
    let parted = columns.iter().map(|column| rows.parting(grid, column));
    explain.parted = parted.collect();
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

/// The usual length of a column: about 180 of them make the range.
fn stride(frame: &Frame, range: HeatmapRange) -> i64 {
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

/// The first of the lengths a clock is read in, and then of whole days, that is not below `least`.
fn round_stride(least: i64) -> i64 {
    let minutes = [5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720];
    let round = minutes.map(|minutes| minutes * Millis::MINUTE);
    let days = least / Millis::DAY + i64::from(least % Millis::DAY != 0);
    round
        .into_iter()
        .find(|length| *length >= least)
        .unwrap_or_else(|| days.saturating_mul(Millis::DAY))
}

/// When the columns end.
pub(crate) fn column_ends(frame: &Frame, range: HeatmapRange) -> Vec<Millis> {
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

/// The rows of a heatmap: coarse bins of `factor` fine ones.
struct Rows {
    factor: i64,
    first: i64,
    last: i64,
}

impl Rows {
    fn new(frame: &Frame, grid: FineGrid, columns: &[&Column]) -> Self {
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
        let occupied = |column: &&Column| {
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

    /// Where a column turns from longs to shorts.
    fn parting(&self, grid: FineGrid, column: &Column) -> Parting {
        let usd = |bins: Range<i64>| {
            let mids: Vec<f64> = bins.clone().map(|bin| grid.mid(bin)).collect();
            dot(column.between(bins), &mids)
        };
        let end = column.longs_end.max(self.first * self.factor - 1);
        let row = end.div_euclid(self.factor);
        Parting {
            row: row - self.first,
            long: usd(row * self.factor..end),
            short: usd(end..(row + 1) * self.factor),
            price: column.price,
        }
    }

    /// The cells in USD, row after row.
    fn matrix(&self, grid: FineGrid, columns: &[&Column]) -> Vec<f64> {
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

/// Masses from a place on, in USD at the middles of their bins.
fn dot((skipped, masses): (usize, &[f64]), mids: &[f64]) -> f64 {
    let mids = mids.get(skipped..).unwrap_or_default();
    masses
        .iter()
        .zip(mids)
        .fold(0.0, |sum, (mass, mid)| sum + mass * mid)
}
