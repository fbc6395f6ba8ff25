//! Key levels: the largest cluster per tier and side of the seven-day liquidation map.

use crate::engine::estimate::liquidation_map::liqmap;
use crate::engine::ledger::parameters::SHOWN_LEVERAGES;
use crate::engine::{EngineError, Estimate, View};
use crate::model::{
    Chosen, LevelTier, LiquidationMap, MapRange, Side, TierLevels, liquidation_price,
};

/// Returns the key levels of a coin.
///
/// A key level is the largest cluster of the seven-day map, per tier and side.
///
/// A cluster is the USD of one tier in one bin. Its intensity is its USD divided by the USD of the largest cluster of
/// the map. Of equally large clusters, the one nearest to the current price is returned. A tier without positions has
/// intensity 0 and the liquidation price of a position opened at the current price.
///
/// # Errors
///
/// [`EngineError`] if the coin has no bars in the last seven days, or bars longer than seven days.
pub fn levels(
    view: &View,
    coin: &str,
    model: Option<&Chosen>,
) -> Result<Estimate<TierLevels>, EngineError> {
    let Estimate {
        reply: map,
        explain,
    } = liqmap(view, coin, MapRange::D7, model)?;
    let largest = map.tiers.iter().copied().fold(0.0, f64::max);
    let parameters = view
        .with_model(model.and_then(Chosen::own))
        .parameters(coin);
    let tiers = map
        .leverages
        .iter()
        .zip(SHOWN_LEVERAGES.map(f64::from))
        .enumerate()
        .map(|(tier, (&whole, leverage))| {
            let maintenance = parameters.maintenance_at(leverage);
            let price = map.current_price;
            let expected = |side| liquidation_price(side, price, leverage, maintenance);
            let level = |side| {
                strongest(&map, tier, side).map_or_else(
                    || (expected(side), 0.0),
                    |(price, usd)| (price, usd / largest),
                )
            };
            let (long_price, long_intensity) = level(Side::Long);
            let (short_price, short_intensity) = level(Side::Short);
            (
                whole,
                LevelTier {
                    long_price,
                    long_intensity,
                    short_price,
                    short_intensity,
                },
            )
        })
        .collect();
    Ok(Estimate {
        reply: TierLevels {
            symbol: map.symbol,
            price: map.current_price,
            updated_at: map.updated_at,
            tiers,
        },
        explain,
    })
}

/// Price and USD of the largest cluster of a tier and side.
///
/// Of equally large clusters, returns the one nearest to the current price.
fn strongest(map: &LiquidationMap, tier: usize, side: Side) -> Option<(f64, f64)> {
    let distance = |price: f64| (price - map.current_price).abs();
    map.bins
        .iter()
        .zip(map.tiers.chunks(map.leverages.len().max(1)))
        .filter(|(bin, _)| bin.side == side)
        .filter_map(|(bin, tiers)| Some((bin.price, *tiers.get(tier)?)))
        .filter(|(_, usd)| *usd > 0.0)
        .max_by(|a, b| {
            a.1.total_cmp(&b.1)
                .then_with(|| distance(b.0).total_cmp(&distance(a.0)))
        })
}

#[cfg(test)]
mod tests {
    use crate::engine::estimate::levels::*;
    use crate::model::{MapBin, Millis};

    #[test]
    fn of_clusters_as_large_the_nearest_is_taken() {
        let bin = |price, side| MapBin {
            price,
            side,
            total: 7.0,
        };
        let map = LiquidationMap {
            symbol: "BTC".to_owned(),
            range: "7d".to_owned(),
            updated_at: Millis(0),
            current_price: 100.0,
            bin_width: 1.0,
            leverages: vec![10, 25],
            bins: vec![
                bin(90.5, Side::Long),
                bin(95.5, Side::Long),
                bin(104.5, Side::Short),
                bin(108.5, Side::Short),
            ],
            tiers: vec![5.0, 2.0, 5.0, 2.0, 0.0, 7.0, 0.0, 7.0],
            measured: None,
        };
        assert_eq!(strongest(&map, 0, Side::Long), Some((95.5, 5.0)));
        assert_eq!(strongest(&map, 1, Side::Short), Some((104.5, 7.0)));
        assert_eq!(strongest(&map, 0, Side::Short), None);
    }
}
