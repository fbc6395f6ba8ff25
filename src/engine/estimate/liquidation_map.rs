//! The liquidation map: USD of the ledger by price, side and tier.
//!
//! It shows the ledger after the last bar.

use std::sync::Arc;

use crate::engine::estimate::estimate_basis::{EstimateBasis, FineMap};
use crate::engine::ledger::parameters::{SHOWN_LEVERAGES, shown_for};
use crate::engine::ledger::replay::ReplayWindow;
use crate::engine::{EngineError, Estimate, Ledger, View};
use crate::model::{
    BinWidth, Chosen, LiquidationMap, MapBin, MapRange, Opened, Side, Vocabulary, map_step,
};

/// Maximum number of bins of a map.
const MOST_BINS: f64 = 100_000.0;

/// Returns the liquidation map of a coin.
///
/// The range `all` counts all positions since the first bar; a shorter range those that were opened within it.
/// Without `model`, it uses model 3 if that is fitted, and model 2 otherwise. Bins are `binWidth` wide and meet at the
/// current price; longs lie below it and shorts above. Bins ascend in price, so longs come first. Empty bins are left
/// out. The total of a bin is the sum over the shown leverages, each of which stands for the nearby tiers of the
/// ledger.
///
/// # Errors
///
/// [`EngineError`] if the coin has no bars in the range or bars longer than the range. For ranges of 31 days or more,
/// except `all`, also if the bars start later than the range does.
pub fn liqmap(
    view: &View,
    coin: &str,
    range: MapRange,
    model: Option<&Chosen>,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    liqmap_with_bins(view, coin, (range, Opened::usual(range)), model, None)
}

/// Returns the liquidation map of the positions opened ever or within the range, with bins of the given width.
///
/// # Errors
///
/// The errors of [`liqmap`]. Also if a bin is wider than the current price, or the map would have more than 100,000
/// bins.
pub fn liqmap_with_bins(
    view: &View<'_>,
    coin: &str,
    (range, opened): (MapRange, Opened),
    model: Option<&Chosen>,
    bin: Option<BinWidth>,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    let view = view.with_model(model.and_then(Chosen::own));
    let model = model.map_or_else(|| view.default_model(coin), Chosen::view);
    let length = range.millis();
    let window = (length, range.name(), opened);
    let frame = ReplayWindow::new(view, coin, model, window, length)?;
    let state = frame.replay(&[], |_, _| ());
    let explain = frame.explain(&state, frame.fit().map(Arc::as_ref));
    let ledger = &state.ledger;
    let counted = frame.counted();
    render(&frame, (range, bin), ledger, frame.price, &counted, explain)
}

/// Builds the map of a ledger at the price `price`.
///
/// Each tier is multiplied by its factor in `counted`.
pub(crate) fn render(
    frame: &ReplayWindow<'_>,
    (range, bin): (MapRange, Option<BinWidth>),
    ledger: &Ledger,
    price: f64,
    counted: &[Vec<f64>; 2],
    mut explain: EstimateBasis,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    let (fine, mids) = fine(frame, ledger, counted);
    let width = bin.map_or_else(|| map_step(price), BinWidth::get);
    if bin.is_some() {
        check(&fine, &frame.coin, width, price)?;
    }

    // Cells ascend in price, longs first, so a bin is complete when a cell of the next bin is reached.
    let mut bins: Vec<MapBin> = Vec::new();
    let mut tiers: Vec<f64> = Vec::new();
    let mut last = None;
    for (place, (cell, mid)) in (fine.first..).zip(&mids).enumerate() {
        let usd: [f64; SHOWN_LEVERAGES.len()] = std::array::from_fn(|tier| {
            let usd = fine.usd.get(tier * mids.len() + place);
            usd.copied().unwrap_or_default()
        });
        if usd.iter().all(|usd| *usd <= 0.0) {
            continue;
        }
        let side = if cell < fine.longs_end {
            Side::Long
        } else {
            Side::Short
        };
        let bin = (side, map_bin(*mid, price, width));
        if last != Some(bin) {
            last = Some(bin);
            bins.push(MapBin {
                price: centre(bin.1, price, width),
                side,
                total: 0.0,
            });
            tiers.extend([0.0; SHOWN_LEVERAGES.len()]);
        }
        let sums = tiers.iter_mut().rev().take(SHOWN_LEVERAGES.len()).rev();
        for (sum, usd) in sums.zip(usd) {
            *sum += usd;
        }
    }
    for (bin, tiers) in bins
        .iter_mut()
        .zip(tiers.chunks_exact(SHOWN_LEVERAGES.len()))
    {
        bin.total = tiers.iter().sum();
    }
    explain.fine = Some(fine);
    Ok(Estimate {
        reply: LiquidationMap {
            symbol: frame.coin.clone(),
            range: range.to_string(),
            updated_at: explain.closed,
            current_price: price,
            bin_width: width,
            leverages: SHOWN_LEVERAGES.map(i64::from).to_vec(),
            bins,
            tiers,
            measured: None,
        },
        explain,
    })
}

/// Checks that `width` is at most the price, and gives at most [`MOST_BINS`] bins.
fn check(fine: &FineMap, coin: &str, width: f64, price: f64) -> Result<(), EngineError> {
    let end = fine.first.saturating_add_unsigned(fine.bins() as u64);
    let least = (fine.grid.mid(end) - fine.grid.mid(fine.first)) / MOST_BINS;
    if (least..=price).contains(&width) {
        return Ok(());
    }
    Err(EngineError::BadBin {
        coin: coin.to_owned(),
        bin: width.to_string(),
        least: above(least),
        price: price.to_string(),
    })
}

/// Returns the map on the grid of the ledger, with its bins' middle prices.
fn fine(frame: &ReplayWindow<'_>, ledger: &Ledger, counted: &[Vec<f64>; 2]) -> (FineMap, Vec<f64>) {
    let grid = frame.parameters.grid;
    let (bins, longs_end) = ledger.span(counted);
    let mids: Vec<f64> = bins.clone().map(|bin| grid.mid(bin)).collect();
    let mut usd = vec![0.0; SHOWN_LEVERAGES.len() * mids.len()];
    for (shown, usd) in usd.chunks_exact_mut(mids.len().max(1)).enumerate() {
        let counted = counted.each_ref().map(|counted| {
            let tiers = frame.parameters.tiers.iter().zip(counted);
            let counted = tiers.map(|(tier, counted)| {
                let counts = shown_for(tier.leverage) == shown;
                if counts { *counted } else { 0.0 }
            });
            counted.collect()
        });
        ledger.add(&counted, bins.start, usd);
        for (cell, mid) in usd.iter_mut().zip(&mids) {
            *cell *= mid;
        }
    }
    let map = FineMap {
        grid,
        first: bins.start,
        longs_end,
        usd,
    };
    (map, mids)
}

/// The number of the bin that contains a price.
///
/// Bin 0 starts at the current price.
#[expect(
    clippy::cast_possible_truncation,
    reason = "prices are a few thousand bins apart"
)]
pub(crate) fn map_bin(price: f64, current: f64, width: f64) -> i64 {
    ((price - current) / width).floor() as i64
}

/// Formats a number with three digits, rounded up.
///
/// Rounding removes at most half of the added hundredth, so the text is not below the number.
fn above(value: f64) -> String {
    let digits = format!("{:.2e}", value * 1.01);
    digits
        .parse()
        .map_or(digits, |number: f64| number.to_string())
}

#[expect(clippy::cast_precision_loss, reason = "bins are counted in thousands")]
pub(crate) fn centre(bin: i64, current: f64, width: f64) -> f64 {
    current + (bin as f64 + 0.5) * width
}
