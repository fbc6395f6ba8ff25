//! Max pain: the largest map bin per side, over one and seven days.

use crate::engine::estimate::liquidation_map::liqmap;
use crate::engine::{EngineError, Estimate, View};
use crate::model::{Chosen, Cluster, LiquidationMap, MapRange, MaxPain, Pain, Side};

/// Returns the max pain of a coin.
///
/// Max pain is, per side, the bin with the most USD, and the USD of all bins.
///
/// Of equally large bins, the one nearest to the current price is returned. A side without positions has the current
/// price and 0 USD. The explanation describes the seven-day map.
///
/// # Errors
///
/// [`EngineError`] if the coin has no bars in the last day, or bars longer than a day.
pub fn maxpain(
    view: &View,
    coin: &str,
    model: Option<&Chosen>,
) -> Result<Estimate<MaxPain>, EngineError> {
    let day = liqmap(view, coin, MapRange::D1, model)?.reply;
    let Estimate {
        reply: week,
        explain,
    } = liqmap(view, coin, MapRange::D7, model)?;
    Ok(Estimate {
        reply: MaxPain {
            symbol: week.symbol.clone(),
            price: week.current_price,
            updated_at: week.updated_at,
            d1: Some(pain(&day)),
            d7: Some(pain(&week)),
        },
        explain,
    })
}

fn pain(map: &LiquidationMap) -> Pain {
    let total = |side| {
        map.bins
            .iter()
            .filter(|bin| bin.side == side)
            .fold(0.0, |sum, bin| sum + bin.total)
    };
    Pain {
        long: strongest(map, Side::Long),
        short: strongest(map, Side::Short),
        total_long: total(Side::Long),
        total_short: total(Side::Short),
    }
}

fn strongest(map: &LiquidationMap, side: Side) -> Cluster {
    let distance = |price: f64| (price - map.current_price).abs();
    map.bins
        .iter()
        .filter(|bin| bin.side == side)
        .max_by(|a, b| {
            a.total
                .total_cmp(&b.total)
                .then_with(|| distance(b.price).total_cmp(&distance(a.price)))
        })
        .map_or(
            Cluster {
                price: map.current_price,
                usd: 0.0,
                dist_pct: 0.0,
            },
            |bin| Cluster {
                price: bin.price,
                usd: bin.total,
                dist_pct: 100.0 * (bin.price / map.current_price - 1.0),
            },
        )
}

#[cfg(test)]
mod tests {
    use crate::engine::estimate::max_pain::*;
    use crate::model::{MapBin, Millis};

    #[test]
    fn of_bins_as_large_the_nearest_is_taken() {
        let bin = |price, side, total| MapBin { price, side, total };
        let map = LiquidationMap {
            symbol: "BTC".to_owned(),
            range: "1d".to_owned(),
            updated_at: Millis(0),
            current_price: 100.0,
            bin_width: 1.0,
            leverages: vec![10],
            bins: vec![
                bin(90.5, Side::Long, 7.0),
                bin(95.5, Side::Long, 7.0),
                bin(99.5, Side::Long, 6.0),
                bin(101.5, Side::Short, 3.0),
                bin(104.5, Side::Short, 8.0),
                bin(108.5, Side::Short, 8.0),
            ],
            tiers: vec![7.0, 7.0, 6.0, 3.0, 8.0, 8.0],
            measured: None,
        };
        let pain = pain(&map);
        assert_eq!(pain.long.price.to_bits(), 95.5_f64.to_bits());
        assert_eq!(pain.short.price.to_bits(), 104.5_f64.to_bits());
        assert!(pain.long.dist_pct < 0.0 && pain.short.dist_pct > 0.0);
        assert_eq!(pain.total_long.to_bits(), 20.0_f64.to_bits());
        assert_eq!(pain.total_short.to_bits(), 19.0_f64.to_bits());
    }
}
