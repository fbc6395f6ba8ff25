//! The liquidation map: the last state of the ledger by price, side and tier.

use crate::engine::estimate::explanation::{Explain, FineMap};
use crate::engine::ledger::parameters::{SHOWN, shown_for};
use crate::engine::ledger::replay::Frame;
use crate::engine::{EngineError, Estimate, Ledger, View};
use crate::model::{
    BinWidth, Chosen, LiquidationMap, MapBin, MapRange, Side, Vocabulary, map_step,
};

/// A map has no more bins than this.
const MOST_BINS: f64 = 100_000.0;

/// The liquidation map of a coin, from `model`; where none is named from model 3 if that is fitted, else from model 2.
///
/// Bins are `binWidth` wide and meet at the current price; longs lie below it and shorts above, so bins ascend in price
/// with all longs first. Bins without positions are left out, and a bin's total is the sum of its tiers: of those the
/// contract shows, each of which stands for the ledger's tiers near it.
///
/// # Errors
///
/// [`EngineError`] where the coin has no bars in the range, bars longer than the range, or bars that do not reach back to
/// the start of a range of more than a month.
pub fn liqmap(
    view: &View,
    coin: &str,
    range: MapRange,
    model: Option<&Chosen>,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    binned(view, coin, range, model, None)
}

/// As [`liqmap`], in bins of the width asked for.
///
/// # Errors
///
/// As [`liqmap`], and where a bin would be wider than the price is high, or the map have more than 100,000 bins.
pub fn binned(
    view: &View<'_>,
    coin: &str,
    range: MapRange,
    model: Option<&Chosen>,
    bin: Option<BinWidth>,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    let view = view.under(model.and_then(Chosen::own));
    let model = model.map_or_else(|| view.usual(coin), Chosen::view);
    let length = range.millis();
    let frame = Frame::new(view, coin, model, length, range.name(), length)?;
    let replayed = frame.replay(&[], |_| ());
    shown(
        &frame,
        (range, bin),
        &replayed.ledger,
        frame.price,
        &frame.counted(),
        replayed.explain,
    )
}

/// The map of a ledger's state, made while the price was `price`, each tier of a side counted so many times.
pub(crate) fn shown(
    frame: &Frame<'_>,
    (range, bin): (MapRange, Option<BinWidth>),
    ledger: &Ledger,
    price: f64,
    counted: &[Vec<f64>; 2],
    mut explain: Explain,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    let (fine, mids) = fine(frame, ledger, counted);
    let width = bin.map_or_else(|| map_step(price), BinWidth::get);
    if bin.is_some() {
        check(&fine, &frame.coin, width, price)?;
    }

    // Cells ascend in price, longs before shorts, and so do the bins that they fall into.
    let mut bins: Vec<MapBin> = Vec::new();
    let mut tiers: Vec<f64> = Vec::new();
    let mut last = None;
    for (place, (cell, mid)) in (fine.first..).zip(&mids).enumerate() {
        let usd: [f64; SHOWN.len()] = std::array::from_fn(|tier| {
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
            tiers.extend([0.0; SHOWN.len()]);
        }
        let sums = tiers.iter_mut().rev().take(SHOWN.len()).rev();
        for (sum, usd) in sums.zip(usd) {
            *sum += usd;
        }
    }
    for (bin, tiers) in bins.iter_mut().zip(tiers.chunks_exact(SHOWN.len())) {
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
            leverages: SHOWN.map(i64::from).to_vec(),
            bins,
            tiers,
            measured: None,
        },
        explain,
    })
}

/// Whether bins of `width` make a map.
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

/// The map on the ledger's own grid, with the middle price of each of its bins.
fn fine(frame: &Frame<'_>, ledger: &Ledger, counted: &[Vec<f64>; 2]) -> (FineMap, Vec<f64>) {
    let grid = frame.parameters.grid;
    let (bins, longs_end) = ledger.span(counted);
    let mids: Vec<f64> = bins.clone().map(|bin| grid.mid(bin)).collect();
    let mut usd = vec![0.0; SHOWN.len() * mids.len()];
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

/// The bin of a price, counted from the current price.
#[expect(
    clippy::cast_possible_truncation,
    reason = "prices are a few thousand bins apart"
)]
pub(crate) fn map_bin(price: f64, current: f64, width: f64) -> i64 {
    ((price - current) / width).floor() as i64
}

/// A number in three digits that is no smaller: by a hundredth more, of which rounding takes half at most.
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
