//! The liquidation map of positions that were seen: nothing in it is estimated.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::EngineError;
use crate::engine::estimate::liquidation_map::{centre, map_bin};
use crate::engine::ledger::parameters::{SHOWN, shown_for};
use crate::model::{
    BinWidth, LiquidationMap, MapBin, Measured, Millis, PositionRow, Side, map_step, nearest_f64,
};

/// The narrowest bin, as a share of the price.
const FINEST: f64 = 1e-12;

/// The map of the positions of a coin in one snapshot, seen from `price`: each counts its quantity at the price at which it
/// is liquidated, in the shown leverage that stands for its own.
///
/// A position that no price liquidates, and one whose price was passed since, is in no bin and told beside the map. Where a
/// position tells no leverage it counts as the lowest that is shown.
///
/// # Errors
///
/// [`EngineError`] where there are no positions, and where a bin would be wider than the price is high.
pub fn measured(
    coin: &str,
    range: &str,
    positions: &[PositionRow],
    price: f64,
    bin: Option<BinWidth>,
) -> Result<LiquidationMap, EngineError> {
    let Some(observed_at) = positions.iter().map(|position| position.timestamp).max() else {
        return Err(EngineError::NoPositions {
            coin: coin.to_owned(),
        });
    };
    let width = bin.map_or_else(|| map_step(price), BinWidth::get);
    // Bins without positions are left out, so that a width is too small only where doubles do not tell bins apart.
    let least = price * FINEST;
    if !(least..=price).contains(&width) {
        return Err(EngineError::BadBin {
            coin: coin.to_owned(),
            bin: width.to_string(),
            least: least.to_string(),
            price: price.to_string(),
        });
    }
    let mut told = Measured {
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
    told.accounts = i64::try_from(accounts.len()).unwrap_or(i64::MAX);
    let mut placed = Vec::with_capacity(positions.len());
    for position in positions {
        let qty = nearest_f64(position.qty);
        let Some(at) = position
            .liquidation_price
            .map(nearest_f64)
            .filter(|at| *at > 0.0)
        else {
            told.unplaced_usd += nearest_f64(position.value_usd);
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
            told.crossed_usd += nearest_f64(position.value_usd);
        }
    }
    let mut sums: BTreeMap<(bool, i64), [f64; SHOWN.len()]> = BTreeMap::new();
    for (side, at, tier, usd) in placed {
        let bin = (side == Side::Short, map_bin(at, price, width));
        if let Some(sum) = sums.entry(bin).or_default().get_mut(tier) {
            *sum += usd;
        }
    }
    let mut bins = Vec::with_capacity(sums.len());
    let mut tiers = Vec::with_capacity(sums.len() * SHOWN.len());
    for ((short, bin), usd) in sums {
        bins.push(MapBin {
            price: centre(bin, price, width),
            side: if short { Side::Short } else { Side::Long },
            total: usd.iter().sum(),
        });
        tiers.extend(usd);
    }
    Ok(LiquidationMap {
        symbol: coin.to_owned(),
        range: range.to_owned(),
        updated_at: observed_at,
        current_price: price,
        bin_width: width,
        leverages: SHOWN.map(i64::from).to_vec(),
        bins,
        tiers,
        measured: Some(told),
    })
}

/// The price that positions of one snapshot were valued at: that of the largest, which is the least rounded.
#[must_use]
pub fn valued_at(positions: &[PositionRow]) -> Option<f64> {
    let largest = positions
        .iter()
        .filter(|position| !position.qty.is_zero())
        .max_by_key(|position| position.value_usd)?;
    let price = nearest_f64(largest.value_usd) / nearest_f64(largest.qty);
    (price.is_finite() && price > 0.0).then_some(price)
}

/// The share of open interest that is seen; none where several exchanges, or the rows of one, tell several.
fn seen_share(positions: &[PositionRow]) -> Option<f64> {
    let first = positions.first()?;
    let one = positions.iter().all(|position| {
        position.exchange == first.exchange && position.seen_share == first.seen_share
    });
    first.seen_share.filter(|_| one)
}

/// The instant by which a snapshot's map may have a price: bars of the day before it.
#[must_use]
pub fn priced_from(positions: &[PositionRow]) -> Option<Millis> {
    let first = positions.iter().map(|position| position.timestamp).min()?;
    Some(first.back(Millis::DAY))
}
