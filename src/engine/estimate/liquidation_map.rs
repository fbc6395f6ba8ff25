//! The liquidation map: USD of the ledger by price, side and tier.
//!
//! It shows the ledger after the last bar.

use std::sync::Arc;

use crate::engine::estimate::blend::{Blend, PlacedPosition, ShownUsd};
use crate::engine::estimate::estimate_basis::EstimateBasis;
use crate::engine::estimate::map_clusters::map_clusters;
use crate::engine::estimate::reach::{Reach, cells_of, headline, within};
use crate::engine::estimate::swept::shown_part;
use crate::engine::ledger::parameters::{SHOWN_LEVERAGES, shown_for};
use crate::engine::ledger::replay::ReplayWindow;
use crate::engine::{EngineError, Estimate, Ledger, RowSlice, View};
use crate::model::{
    Bar, BinWidth, Chosen, EstimateLabels, ExactPart, FineCells, LiquidationMap, MapBin, MapRange,
    Millis, Opened, ShownPrices, Side, SideUsd, Span, Vocabulary, Within, map_step,
};

/// Maximum number of bins of a map.
const MOST_BINS: f64 = 100_000.0;

/// Returns the liquidation map of a coin, with all its bins.
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
    liqmap_with(view, coin, MapOptions::of(range), model)
}

/// Options of a liquidation map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapOptions {
    /// The range.
    pub range: MapRange,
    /// Which positions count.
    pub opened: Opened,
    /// Width of a bin; about 0.1 % of the price if absent.
    pub bin: Option<BinWidth>,
    /// Which prices are shown.
    pub shown: ShownPrices,
}

impl MapOptions {
    /// The usual options of a map of `range`, with all prices.
    #[must_use]
    pub fn of(range: MapRange) -> Self {
        Self {
            range,
            opened: Opened::usual(range),
            bin: None,
            shown: ShownPrices::ALL,
        }
    }
}

/// Returns the liquidation map of a coin with the given options.
///
/// # Errors
///
/// The errors of [`liqmap`]. Also if a bin is wider than the current price, or the map would have more than 100,000
/// bins.
pub fn liqmap_with(
    view: &View<'_>,
    coin: &str,
    options: MapOptions,
    model: Option<&Chosen>,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    full_map(view, coin, options, model).map(cropped)
}

/// Returns the map with all its bins; the explanation has the prices that are to be shown.
pub fn full_map(
    view: &View<'_>,
    coin: &str,
    options: MapOptions,
    model: Option<&Chosen>,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    let view = view.with_model(model.and_then(Chosen::own));
    let model = model.map_or_else(|| view.default_model(coin), Chosen::view);
    let MapOptions { range, opened, .. } = options;
    let length = range.millis();
    let window = (length, range.name(), opened);
    let frame = ReplayWindow::new(view, coin, model, window, length)?;
    let state = frame.replay(&[], |_, _| ());
    let fit = frame.fit().map(Arc::as_ref);
    let explain = frame.explain(&state, fit);
    let counted = frame.counted();
    let shown = (&state.ledger, frame.price);
    let Some(blend) = Blend::new(&frame, &state, &counted, fit) else {
        return full(&frame, options, shown, &counted, explain);
    };
    let mut blended = full(
        &frame,
        options,
        shown,
        &blend.counted,
        blend.explain(explain),
    )?;
    let Estimate {
        reply: map,
        explain,
    } = &mut blended;
    add_positions(map, explain.fine.as_mut(), &blend);
    explain.span = span(frame.bars(), options, map, explain.sigma_day);
    Ok(blended)
}

/// Adds the known positions to a map of the rest of the open interest.
fn add_positions(map: &mut LiquidationMap, fine: Option<&mut FineCells>, blend: &Blend) {
    let (price, usual) = (map.current_price, map_step(map.current_price));
    let (near, _) = exact_bins(&blend.placed, (price, usual));
    let near = within_of(&near, price);
    let within = map.within.get_or_insert_default();
    for (percent, usd) in &near {
        let sum = within.entry(*percent).or_default();
        sum.add(Side::Long, usd.long_usd);
        sum.add(Side::Short, usd.short_usd);
    }
    let both = |usd: &SideUsd| usd.long_usd + usd.short_usd;
    let shares = within.iter().filter(|(_, usd)| both(usd) > 0.0);
    let within = shares
        .map(|(percent, all)| {
            let exact = near.get(percent).map_or(0.0, both);
            (*percent, (exact / both(all)).min(1.0))
        })
        .collect();
    let exact = exact_bins(&blend.placed, (price, map.bin_width));
    let shares = merge(map, exact);
    let all: f64 = map.bins.iter().map(|bin| bin.total).sum();
    let exact = map.bins.iter().zip(&shares);
    let exact: f64 = exact.map(|(bin, share)| bin.total * share).sum();
    map.exact_share = Some(shares);
    map.exact = Some(ExactPart {
        share: (all > 0.0).then(|| (exact / all).min(1.0)),
        within,
        exchanges: blend.facts(),
    });
    if let Some(fine) = fine {
        add_to_cells(fine, &blend.placed, price);
    }
}

/// The bins of known positions, which ascend, and their USD by shown leverage.
fn exact_bins(
    placed: &[PlacedPosition],
    (price, width): (f64, f64),
) -> (Vec<MapBin>, Vec<ShownUsd>) {
    let (mut bins, mut tiers): (Vec<MapBin>, Vec<ShownUsd>) = (Vec::new(), Vec::new());
    let mut last = None;
    for position in placed {
        let bin = map_bin(position.price, price, width);
        if last != Some(bin) {
            last = Some(bin);
            bins.push(MapBin {
                price: centre(bin, price, width),
                side: position.side,
                total: 0.0,
            });
            tiers.push(ShownUsd::default());
        }
        if let Some(sum) = tiers.last_mut().and_then(|usd| usd.get_mut(position.tier)) {
            *sum += position.usd;
        }
    }
    for (bin, usd) in bins.iter_mut().zip(&tiers) {
        bin.total = usd.iter().sum();
    }
    (bins, tiers)
}

/// Adds bins of known positions to those of a map, and returns the share of each bin that they make up.
fn merge(map: &mut LiquidationMap, (bins, tiers): (Vec<MapBin>, Vec<ShownUsd>)) -> Vec<f64> {
    let modelled = std::mem::take(&mut map.bins);
    let cells = std::mem::take(&mut map.tiers);
    let mut modelled = modelled
        .into_iter()
        .zip(cells.chunks_exact(SHOWN_LEVERAGES.len()))
        .peekable();
    let mut shares = Vec::with_capacity(modelled.len() + bins.len());
    for (bin, usd) in bins.into_iter().zip(tiers) {
        // Both series ascend, and a bin has one side.
        while let Some((bin, cells)) = modelled.next_if(|(other, _)| other.price < bin.price) {
            map.bins.push(bin);
            map.tiers.extend_from_slice(cells);
            shares.push(0.0);
        }
        let same = modelled.next_if(|(other, _)| other.price <= bin.price);
        let cells = same.map_or(&[0.0; SHOWN_LEVERAGES.len()][..], |(_, cells)| cells);
        let sums = usd
            .iter()
            .zip(cells)
            .map(|(exact, modelled)| exact + modelled);
        let sums: Vec<f64> = sums.collect();
        let total: f64 = sums.iter().sum();
        shares.push(if total > 0.0 {
            (bin.total / total).min(1.0)
        } else {
            1.0
        });
        map.bins.push(MapBin { total, ..bin });
        map.tiers.extend(sums);
    }
    for (bin, cells) in modelled {
        map.bins.push(bin);
        map.tiers.extend_from_slice(cells);
        shares.push(0.0);
    }
    shares
}

/// Adds known positions to the map on the grid of the ledger.
fn add_to_cells(fine: &mut FineCells, placed: &[PlacedPosition], price: f64) {
    let leverages = SHOWN_LEVERAGES.len();
    let bins = fine.bins(leverages).unwrap_or_default();
    let all = placed.iter().map(|position| position.fine);
    let (Some(low), Some(high)) = (all.clone().min(), all.max()) else {
        return;
    };
    let end = fine.first.saturating_add_unsigned(bins as u64);
    let (first, end) = if bins == 0 {
        (low, high + 1)
    } else {
        (fine.first.min(low), end.max(high + 1))
    };
    let [width, skipped] =
        [end - first, fine.first - first].map(|count| usize::try_from(count).unwrap_or_default());
    let mut usd = vec![0.0; leverages * width];
    let before = fine.usd.chunks_exact(bins.max(1));
    for (cells, before) in usd.chunks_exact_mut(width.max(1)).zip(before) {
        if let Some(cells) = cells.get_mut(skipped..skipped + before.len()) {
            cells.copy_from_slice(before);
        }
    }
    for position in placed {
        let place = usize::try_from(position.fine - first).unwrap_or_default();
        if let Some(cell) = usd.get_mut(position.tier * width + place) {
            *cell += position.usd;
        }
    }
    fine.longs_end = fine.grid().bin(price);
    fine.first = first;
    fine.usd = usd;
}

/// Limits the map to the prices that it shows, and adds what is computed from its bins.
fn cropped(mut estimate: Estimate<LiquidationMap>) -> Estimate<LiquidationMap> {
    let Estimate {
        reply: map,
        explain,
    } = &mut estimate;
    if let Some(span) = explain.span {
        crop(map, span);
    }
    map.fine = explain.fine.as_ref().map(|fine| shown_part(map, fine));
    let interval = explain.fit.as_ref().and_then(|fit| fit.interval.as_ref());
    // The interval is of what is modelled.
    map.bounds = interval
        .filter(|_| map.exact.is_none())
        .map(|interval| interval.of_bins(map));
    map.clusters = Some(map_clusters(map));
    estimate
}

/// Builds the map of a ledger at a price.
///
/// Each tier is multiplied by its factor in `counted`.
pub fn render(
    frame: &ReplayWindow<'_>,
    options: MapOptions,
    (ledger, price): (&Ledger, f64),
    counted: &[Vec<f64>; 2],
    explain: EstimateBasis,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    full(frame, options, (ledger, price), counted, explain).map(cropped)
}

fn full(
    frame: &ReplayWindow<'_>,
    options: MapOptions,
    (ledger, price): (&Ledger, f64),
    counted: &[Vec<f64>; 2],
    mut explain: EstimateBasis,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    let closed = explain.closed;
    let (mut map, fine) = whole_map(frame, options, (ledger, price, closed), counted)?;
    map.labels = explain.labels();
    explain.span = span(frame.bars(), options, &map, explain.sigma_day);
    explain.fine = Some(fine);
    Ok(Estimate {
        reply: map,
        explain,
    })
}

/// The map of a ledger with all its bins and without labels, and its fine grid.
pub fn whole_map(
    frame: &ReplayWindow<'_>,
    options: MapOptions,
    (ledger, price, closed): (&Ledger, f64, Millis),
    counted: &[Vec<f64>; 2],
) -> Result<(LiquidationMap, FineCells), EngineError> {
    let (fine, mids) = fine(frame, ledger, counted);
    let usual = map_step(price);
    let width = options.bin.map_or(usual, BinWidth::get);
    if options.bin.is_some() {
        check(&fine, &frame.coin, width, price)?;
    }
    let (bins, tiers) = binned(&fine, &mids, (price, width));
    let near = if options.bin.is_some() {
        let (bins, _) = binned(&fine, &mids, (price, usual));
        within_of(&bins, price)
    } else {
        within_of(&bins, price)
    };
    let map = LiquidationMap {
        symbol: frame.coin.clone(),
        range: options.range.to_string(),
        updated_at: closed,
        current_price: price,
        bin_width: width,
        leverages: SHOWN_LEVERAGES.map(i64::from).to_vec(),
        bins,
        tiers,
        measured: None,
        labels: EstimateLabels::default(),
        outside: Some(SideUsd::default()),
        within: Some(near),
        fine: None,
        bounds: None,
        clusters: None,
        exact_share: None,
        exact: None,
    };
    Ok((map, fine))
}

/// USD near the price.
pub fn within_of(bins: &[MapBin], price: f64) -> Within {
    within(
        &bins.iter().map(|bin| (bin.side, bin.price, bin.total)),
        price,
    )
}

/// The bins of the given width, and the USD of their tiers.
fn binned(fine: &FineCells, mids: &[f64], (price, width): (f64, f64)) -> (Vec<MapBin>, Vec<f64>) {
    // Cells ascend in price, longs first, so a bin is complete when a cell of the next bin is reached.
    let mut bins: Vec<MapBin> = Vec::new();
    let mut tiers: Vec<f64> = Vec::new();
    let mut last = None;
    for (place, (cell, mid)) in (fine.first..).zip(mids).enumerate() {
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
    (bins, tiers)
}

/// Ranges of this length and longer show all prices.
const ALL_FROM: i64 = 90 * Millis::DAY;

/// The lowest and the highest price that a map shows; `None` if it shows all.
///
/// `bars` are those of the range. A side without a bin in between is shown up to its headline.
pub fn span(
    bars: RowSlice<'_, Bar>,
    options: MapOptions,
    map: &LiquidationMap,
    sigma_day: Option<f64>,
) -> Option<[f64; 2]> {
    let MapOptions { range, shown, .. } = options;
    let price = map.current_price;
    let reach = sigma_day.map(|sigma| Reach::new(price, sigma, range.millis()));
    let headline = |side| {
        let cells = cells_of(map, side, None);
        headline(&cells, price, map.bin_width, reach.as_ref()).map(|level| level.price)
    };
    let has = |side, [low, high]: [f64; 2]| {
        let mut bins = map.bins.iter().filter(|bin| bin.side == side);
        bins.any(|bin| (low..=high).contains(&bin.price))
    };
    shown_span(bars, (range.millis(), shown), reach, &has, &headline)
}

/// The lowest and the highest price that an estimate over `range` milliseconds shows; `None` if it shows all.
///
/// `bars` are those of the range. `has` says whether a side has USD between two prices, and `headline` is the headline
/// price of a side.
pub fn shown_span(
    bars: RowSlice<'_, Bar>,
    (range, shown): (i64, ShownPrices),
    reach: Option<Reach>,
    has: &dyn Fn(Side, [f64; 2]) -> bool,
    headline: &dyn Fn(Side) -> Option<f64>,
) -> Option<[f64; 2]> {
    let usual = reach.filter(|_| shown.span == Span::Reach && range < ALL_FROM);
    let usual = usual.map(|reach| {
        let (low, high) = reach.edges();
        let mut span = bars.iter().fold([low, high], |[low, high], bar| {
            [low.min(bar.low), high.max(bar.high)]
        });
        for side in [Side::Long, Side::Short] {
            if !has(side, span)
                && let Some(price) = headline(side)
            {
                span = [span[0].min(price), span[1].max(price)];
            }
        }
        span
    });
    let [low, high] = usual.unwrap_or([0.0, f64::INFINITY]);
    let span = [shown.low.unwrap_or(low), shown.high.unwrap_or(high)];
    (usual.is_some() || shown.low.is_some() || shown.high.is_some()).then_some(span)
}

/// Moves the bins that are not between `low` and `high` from the map to its `outside`.
pub fn crop(map: &mut LiquidationMap, [low, high]: [f64; 2]) {
    let width = map.leverages.len();
    let mut outside = SideUsd::default();
    let mut tiers = Vec::with_capacity(map.tiers.len());
    let mut cells = map.tiers.chunks_exact(width.max(1));
    if let Some(shares) = &mut map.exact_share {
        let mut bins = map.bins.iter();
        shares.retain(|_| {
            bins.next()
                .is_some_and(|bin| (low..=high).contains(&bin.price))
        });
    }
    map.bins.retain(|bin| {
        let cells = cells.next().unwrap_or_default();
        let is_shown = (low..=high).contains(&bin.price);
        if is_shown {
            tiers.extend_from_slice(cells);
        } else {
            outside.add(bin.side, bin.total);
        }
        is_shown
    });
    map.tiers = tiers;
    map.outside = Some(outside);
}

/// Checks that `width` is at most the price, and gives at most [`MOST_BINS`] bins.
fn check(fine: &FineCells, coin: &str, width: f64, price: f64) -> Result<(), EngineError> {
    let bins = fine.bins(SHOWN_LEVERAGES.len()).unwrap_or_default();
    let end = fine.first.saturating_add_unsigned(bins as u64);
    let grid = fine.grid();
    let least = (grid.mid(end) - grid.mid(fine.first)) / MOST_BINS;
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
fn fine(
    frame: &ReplayWindow<'_>,
    ledger: &Ledger,
    counted: &[Vec<f64>; 2],
) -> (FineCells, Vec<f64>) {
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
    let map = FineCells {
        p0: grid.p0,
        h: grid.h,
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
pub fn map_bin(price: f64, current: f64, width: f64) -> i64 {
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
pub fn centre(bin: i64, current: f64, width: f64) -> f64 {
    current + (bin as f64 + 0.5) * width
}
