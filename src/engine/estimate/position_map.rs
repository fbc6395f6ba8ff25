//! The liquidation map of observed positions, without any estimate.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::EngineError;
use crate::engine::estimate::liquidation_map::{centre, crop, map_bin, within_of};
use crate::engine::estimate::map_clusters::map_clusters;
use crate::engine::ledger::parameters::{SHOWN_LEVERAGES, shown_for};
use crate::model::{
    BinWidth, EstimateLabels, EstimateView, LiquidationMap, MapBin, Measured, Millis, PositionRow,
    ShownPrices, Side, SideUsd, Units, map_step, nearest_f64,
};

/// Minimum width of a bin, as a fraction of the price.
const FINEST: f64 = 1e-12;

/// Returns the map of the positions in one snapshot.
///
/// A position adds its quantity times its liquidation price to the nearest shown leverage. A position without a
/// leverage is added to the lowest one. Positions without a liquidation price, and positions with a liquidation price
/// that the current price has passed, are summed separately. All bins are shown, except beyond given prices.
///
/// # Errors
///
/// [`EngineError`] without positions, and if a bin is wider than the current price or too narrow.
pub fn measured(
    coin: &str,
    range: &str,
    positions: &[PositionRow],
    price: f64,
    (bin, shown): (Option<BinWidth>, ShownPrices),
) -> Result<LiquidationMap, EngineError> {
    let Some(observed_at) = positions.iter().map(|position| position.timestamp).max() else {
        return Err(EngineError::NoPositions {
            coin: coin.to_owned(),
        });
    };
    let width = bin.map_or_else(|| map_step(price), BinWidth::get);
    // Empty bins are left out, so only the precision of doubles limits how narrow a bin may be.
    let least = price * FINEST;
    if !(least..=price).contains(&width) {
        return Err(EngineError::BadBin {
            coin: coin.to_owned(),
            bin: width.to_string(),
            least: least.to_string(),
            price: price.to_string(),
        });
    }
    let mut measured = Measured {
        seen_share: seen_share(positions),
        observed_at,
        positions: i64::try_from(positions.len()).unwrap_or(i64::MAX),
        accounts: 0,
        unplaced_usd: 0.0,
        crossed_usd: 0.0,
    };
    let accounts: BTreeSet<(&str, &str)> = positions
        .iter()
        .map(|position| (position.exchange.as_str(), position.account.as_str()))
        .collect();
    measured.accounts = i64::try_from(accounts.len()).unwrap_or(i64::MAX);
    let mut placed = Vec::with_capacity(positions.len());
    for position in positions {
        let qty = nearest_f64(position.qty);
        let Some(at) = position
            .liquidation_price
            .map(nearest_f64)
            .filter(|at| *at > 0.0)
        else {
            measured.unplaced_usd += nearest_f64(position.value_usd);
            continue;
        };
        let waits = match position.side {
            Side::Long => at < price,
            Side::Short => at > price,
        };
        if waits {
            let tier = shown_for(position.leverage.unwrap_or_default());
            placed.push((position.side, at, tier, qty * at));
        } else {
            measured.crossed_usd += nearest_f64(position.value_usd);
        }
    }
    let mut sums: BTreeMap<(bool, i64), [f64; SHOWN_LEVERAGES.len()]> = BTreeMap::new();
    for (side, at, tier, usd) in placed {
        let bin = (side == Side::Short, map_bin(at, price, width));
        if let Some(sum) = sums.entry(bin).or_default().get_mut(tier) {
            *sum += usd;
        }
    }
    let mut bins = Vec::with_capacity(sums.len());
    let mut tiers = Vec::with_capacity(sums.len() * SHOWN_LEVERAGES.len());
    for ((short, bin), usd) in sums {
        bins.push(MapBin {
            price: centre(bin, price, width),
            side: if short { Side::Short } else { Side::Long },
            total: usd.iter().sum(),
        });
        tiers.extend(usd);
    }
    let mut map = LiquidationMap {
        symbol: coin.to_owned(),
        range: range.to_owned(),
        updated_at: observed_at,
        current_price: price,
        bin_width: width,
        leverages: SHOWN_LEVERAGES.map(i64::from).to_vec(),
        within: Some(within_of(&bins, price)),
        bins,
        tiers,
        measured: Some(measured),
        labels: EstimateLabels {
            units: Some(Units::Usd),
            view: Some(EstimateView::Measured),
            price_at: Some(observed_at),
            ..EstimateLabels::default()
        },
        outside: Some(SideUsd::default()),
        fine: None,
        bounds: None,
        clusters: None,
        exact_share: None,
        exact: None,
    };
    if shown.low.is_some() || shown.high.is_some() {
        let low = shown.low.unwrap_or(0.0);
        crop(&mut map, [low, shown.high.unwrap_or(f64::INFINITY)]);
    }
    map.clusters = Some(map_clusters(&map));
    Ok(map)
}

/// The price at which a snapshot values its positions.
///
/// Computed from the largest position, which has the smallest rounding error.
#[must_use]
pub fn valued_at(positions: &[PositionRow]) -> Option<f64> {
    let largest = positions
        .iter()
        .filter(|position| !position.qty.is_zero())
        .max_by_key(|position| position.value_usd)?;
    let price = nearest_f64(largest.value_usd) / nearest_f64(largest.qty);
    (price.is_finite() && price > 0.0).then_some(price)
}

/// Share of the open interest that the positions cover.
///
/// `None` if the positions state different shares or are from several exchanges.
fn seen_share(positions: &[PositionRow]) -> Option<f64> {
    let first = positions.first()?;
    let one = positions.iter().all(|position| {
        position.exchange == first.exchange && position.seen_share == first.seen_share
    });
    first.seen_share.filter(|_| one)
}

/// Earliest time of a bar that can price a snapshot: one day before its first position.
#[must_use]
pub fn priced_from(positions: &[PositionRow]) -> Option<Millis> {
    let first = positions.iter().map(|position| position.timestamp).min()?;
    Some(first.back(Millis::DAY))
}
