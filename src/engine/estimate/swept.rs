//! The USD of a liquidation map that a price move crosses.

use std::ops::Range;

use crate::model::{FineCells, FineGrid, LiquidationMap, Side};

/// A move goes beyond the shown bins, and the map does not have the USD there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeyondBins {
    /// Side of the bins that are not shown.
    pub side: Side,
    /// USD of these bins.
    pub missing: f64,
}

/// Returns the USD of longs and of shorts that a move of the price to `low` and `high` crosses, by leverage.
///
/// A cell of the fine grid that the move touches counts in full. A map without the fine grid counts its bins in
/// proportion to their crossed part. A `low` that is not below the current price crosses no longs, and a `high` that is
/// not above it no shorts.
///
/// # Errors
///
/// [`BeyondBins`] if the move leaves the shown bins, and USD of the same side are not shown.
pub fn swept(map: &LiquidationMap, low: f64, high: f64) -> Result<[Vec<f64>; 2], BeyondBins> {
    let leverages = map.leverages.len();
    let fine = map
        .fine
        .as_ref()
        .and_then(|fine| fine.bins(leverages).map(|bins| (fine, bins)));
    let mut found = [vec![0.0; leverages], vec![0.0; leverages]];
    let [longs, shorts] = &mut found;
    for (side, end, sums) in [(Side::Long, low, longs), (Side::Short, high, shorts)] {
        let moves = match side {
            Side::Long => end < map.current_price,
            Side::Short => end > map.current_price,
        };
        if !moves {
            continue;
        }
        check(map, side, end)?;
        match fine {
            Some((fine, bins)) => {
                let crossed = crossed(fine, bins, side, end);
                for (sum, cells) in sums.iter_mut().zip(fine.usd.chunks_exact(bins.max(1))) {
                    for usd in cells.get(crossed.clone()).unwrap_or_default() {
                        *sum += usd;
                    }
                }
            }
            None => in_proportion(map, side, end, sums),
        }
    }
    Ok(found)
}

/// The cells of each leverage that a move to `end` touches.
fn crossed(fine: &FineCells, bins: usize, side: Side, end: f64) -> Range<usize> {
    let at = |bin: i64| usize::try_from(bin.saturating_sub(fine.first)).unwrap_or(0);
    let middle = at(fine.longs_end).min(bins);
    let cell = fine.grid().bin(end.max(f64::MIN_POSITIVE));
    match side {
        Side::Long => at(cell).min(middle)..middle,
        Side::Short => middle..at(cell.saturating_add(1)).clamp(middle, bins),
    }
}

/// Sums the bins of a side up to `end`, each in proportion to its crossed part.
fn in_proportion(map: &LiquidationMap, side: Side, end: f64, sums: &mut [f64]) {
    let half = map.bin_width / 2.0;
    let width = map.leverages.len().max(1);
    for (bin, tiers) in map.bins.iter().zip(map.tiers.chunks_exact(width)) {
        if bin.side != side {
            continue;
        }
        let beyond = match side {
            Side::Long => bin.price + half - end,
            Side::Short => end - bin.price + half,
        };
        let share = (beyond / map.bin_width).clamp(0.0, 1.0);
        for (sum, usd) in sums.iter_mut().zip(tiers) {
            // NaN marks a tier that the bin omits.
            if !usd.is_nan() {
                *sum += usd * share;
            }
        }
    }
}

/// Refuses a move beyond the shown bins if USD of the side are not shown.
fn check(map: &LiquidationMap, side: Side, end: f64) -> Result<(), BeyondBins> {
    let outside = map.outside.unwrap_or_default();
    let missing = match side {
        Side::Long => outside.long_usd,
        Side::Short => outside.short_usd,
    };
    let prices = map.bins.iter().map(|bin| bin.price);
    let is_beyond = match side {
        Side::Long => end < prices.fold(f64::INFINITY, f64::min),
        Side::Short => end > prices.fold(f64::NEG_INFINITY, f64::max),
    };
    if is_beyond && missing > 0.0 && !has_outside(map, side) {
        return Err(BeyondBins { side, missing });
    }
    Ok(())
}

/// Whether the fine grid of a map goes beyond the shown bins of a side.
fn has_outside(map: &LiquidationMap, side: Side) -> bool {
    let Some(fine) = &map.fine else {
        return false;
    };
    let Some(bins) = fine.bins(map.leverages.len()).filter(|bins| *bins > 0) else {
        return false;
    };
    let shown = shown_cells(map, fine.grid());
    let end = fine.first.saturating_add_unsigned(bins as u64);
    shown.is_none_or(|shown| match side {
        Side::Long => fine.first < shown.start,
        Side::Short => end > shown.end,
    })
}

/// The cells of `grid` that the shown bins of a map touch; `None` without bins.
fn shown_cells(map: &LiquidationMap, grid: FineGrid) -> Option<Range<i64>> {
    let half = map.bin_width / 2.0;
    let prices = || map.bins.iter().map(|bin| bin.price);
    let (low, high) = (prices().reduce(f64::min)?, prices().reduce(f64::max)?);
    // The lowest bin may begin at 0, which no cell contains.
    let lowest = (low - half).max(f64::MIN_POSITIVE);
    Some(grid.bin(lowest)..grid.bin(high + half).saturating_add(1))
}

/// Returns the cells of a fine grid that the shown bins of a map touch.
pub fn shown_part(map: &LiquidationMap, fine: &FineCells) -> FineCells {
    let bins = fine.bins(map.leverages.len()).unwrap_or_default();
    let at = |bin: i64| usize::try_from(bin.saturating_sub(fine.first)).unwrap_or(0);
    let shown = shown_cells(map, fine.grid());
    let part = shown.map_or(0..0, |shown| {
        at(shown.start).min(bins)..at(shown.end).min(bins)
    });
    let cells = fine.usd.chunks_exact(bins.max(1));
    FineCells {
        first: fine
            .first
            .saturating_add_unsigned(u64::try_from(part.start).unwrap_or_default()),
        usd: cells
            .flat_map(|cells| cells.get(part.clone()).unwrap_or_default())
            .copied()
            .collect(),
        ..*fine
    }
}
