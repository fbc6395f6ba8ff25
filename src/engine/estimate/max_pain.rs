//! Max pain: the headline price per side, over one and seven days.

use crate::engine::estimate::liquidation_map::{MapOptions, full_map};
use crate::engine::estimate::reach::{
    BySide, HeadlineBasis, Reach, StrongestLevel, cells_of, headline,
};
use crate::engine::{EngineError, Estimate, View};
use crate::model::{
    Chosen, Cluster, Headline, LiquidationMap, MapRange, MaxPain, Pain, RangesWithin, ShownPrices,
    Side, SideUsd, Span,
};

/// Returns the max pain of a coin.
///
/// Max pain is the headline price of each side of the liquidation map, over all bins. With [`Headline::Reach`], it is
/// the price that maximises the USD near it, times the chance that the price gets there. With [`Headline::Strongest`],
/// and if there is less than a day of bars, it is the bin with the most USD. The totals are those of the bins that the
/// map shows. A side without positions has the current price and 0 USD. The explanation describes the seven-day map.
///
/// # Errors
///
/// [`EngineError`] if the coin has no bars in the last day, or bars longer than a day.
pub fn maxpain(
    view: &View,
    coin: &str,
    model: Option<&Chosen>,
    asked: Headline,
) -> Result<Estimate<MaxPain>, EngineError> {
    let day = RangePain::new(view, coin, MapRange::D1, model, asked)?;
    let week = RangePain::new(view, coin, MapRange::D7, model, asked)?;
    let Estimate {
        reply: map,
        mut explain,
    } = week.map;
    let used = asked_or_strongest(asked, week.reach);
    let half_width = week.reach.map(|reach| reach.half_width(map.bin_width));
    let parameters = view
        .with_model(model.and_then(Chosen::own))
        .parameters(coin);
    let ranges = [MapRange::D1, MapRange::D7];
    let mut basis = HeadlineBasis::new(used, half_width, &ranges, explain.counted(&parameters));
    for (name, range) in [("d1", &day.found), ("d7", &week.found)] {
        basis.reach.insert(name.to_owned(), range.reach);
        basis.strongest.insert(name.to_owned(), range.strongest);
    }
    explain.headlines = Some(basis);
    // The maps of two ranges show different prices, and the explanation is of the headlines.
    explain.span = None;
    Ok(Estimate {
        reply: MaxPain {
            symbol: map.symbol,
            price: map.current_price,
            updated_at: map.updated_at,
            d1: Some(day.found.pain),
            d7: Some(week.found.pain),
            labels: map.labels,
            within: Some(RangesWithin {
                d1: day.map.reply.within,
                d7: map.within,
            }),
        },
        explain,
    })
}

/// The rule that is used if `asked` is: the strongest bin with less than a day of bars.
pub fn asked_or_strongest(asked: Headline, reach: Option<Reach>) -> Headline {
    if reach.is_some() {
        asked
    } else {
        Headline::Strongest
    }
}

/// The max pain of a range, with its map.
struct RangePain {
    map: Estimate<LiquidationMap>,
    reach: Option<Reach>,
    found: SidePains,
}

/// The headlines of a map and what they are chosen from.
struct SidePains {
    pain: Pain,
    reach: BySide<Option<f64>>,
    strongest: BySide<Option<StrongestLevel>>,
}

impl RangePain {
    fn new(
        view: &View,
        coin: &str,
        range: MapRange,
        model: Option<&Chosen>,
        asked: Headline,
    ) -> Result<Self, EngineError> {
        let options = MapOptions {
            shown: ShownPrices::of(Span::Reach),
            ..MapOptions::of(range)
        };
        let map = full_map(view, coin, options, model)?;
        let price = map.reply.current_price;
        let reach = map.explain.sigma_day;
        let reach = reach.map(|sigma| Reach::new(price, sigma, range.millis()));
        // The totals are of the bins that the map shows by default.
        let totals = totals(&map.reply, map.explain.span);
        let found = SidePains::of(&map.reply, reach, asked, totals);
        Ok(Self { map, reach, found })
    }
}

/// USD of the bins between two prices, or of all bins.
fn totals(map: &LiquidationMap, span: Option<[f64; 2]>) -> SideUsd {
    let mut totals = SideUsd::default();
    for bin in &map.bins {
        if span.is_none_or(|[low, high]| (low..=high).contains(&bin.price)) {
            totals.add(bin.side, bin.total);
        }
    }
    totals
}

impl SidePains {
    fn of(map: &LiquidationMap, reach: Option<Reach>, asked: Headline, totals: SideUsd) -> Self {
        let by_reach = reach.filter(|_| asked == Headline::Reach);
        let price = map.current_price;
        let side = |side| {
            let cells = cells_of(map, side, None);
            let level = headline(&cells, price, map.bin_width, by_reach.as_ref());
            let chance = level.and_then(|level| reach.map(|reach| reach.at(level.price)));
            let strongest = headline(&cells, price, map.bin_width, None);
            let strongest = strongest.map(|level| StrongestLevel {
                price: level.price,
                usd: level.usd,
                reach: reach.map(|reach| reach.at(level.price)),
            });
            let nothing = Cluster {
                price,
                usd: 0.0,
                dist_pct: 0.0,
            };
            let cluster = level.map_or(nothing, |level| Cluster {
                price: level.price,
                usd: level.usd,
                dist_pct: 100.0 * (level.price / price - 1.0),
            });
            (cluster, chance, strongest)
        };
        let (long, long_reach, long_strongest) = side(Side::Long);
        let (short, short_reach, short_strongest) = side(Side::Short);
        Self {
            pain: Pain {
                long,
                short,
                total_long: totals.long_usd,
                total_short: totals.short_usd,
            },
            reach: BySide {
                long: long_reach,
                short: short_reach,
            },
            strongest: BySide {
                long: long_strongest,
                short: short_strongest,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::estimate::max_pain::*;
    use crate::model::{EstimateLabels, MapBin, Millis};

    fn map(bins: &[(f64, Side, f64)]) -> LiquidationMap {
        LiquidationMap {
            symbol: "BTC".to_owned(),
            range: "1d".to_owned(),
            updated_at: Millis(0),
            current_price: 100.0,
            bin_width: 1.0,
            leverages: vec![10],
            bins: bins
                .iter()
                .map(|&(price, side, total)| MapBin { price, side, total })
                .collect(),
            tiers: bins.iter().map(|(_, _, total)| *total).collect(),
            measured: None,
            labels: EstimateLabels::default(),
            outside: None,
            within: None,
            fine: None,
            bounds: None,
            clusters: None,
            exact_share: None,
            exact: None,
        }
    }

    fn pains(map: &LiquidationMap, sigma: f64, asked: Headline) -> SidePains {
        let reach = Reach::new(100.0, sigma, Millis::DAY);
        SidePains::of(map, Some(reach), asked, totals(map, Some([92.0, 105.0])))
    }

    #[test]
    fn of_bins_as_large_the_nearest_is_taken() {
        let map = map(&[
            (90.5, Side::Long, 7.0),
            (95.5, Side::Long, 7.0),
            (99.5, Side::Long, 6.0),
            (101.5, Side::Short, 3.0),
            (104.5, Side::Short, 8.0),
            (108.5, Side::Short, 8.0),
        ]);
        let found = pains(&map, 0.02, Headline::Strongest).pain;
        assert_eq!(found.long.price.to_bits(), 95.5_f64.to_bits());
        assert_eq!(found.short.price.to_bits(), 104.5_f64.to_bits());
        assert!(found.long.dist_pct < 0.0 && found.short.dist_pct > 0.0);
        assert_eq!(found.total_long.to_bits(), 13.0_f64.to_bits());
        assert_eq!(found.total_short.to_bits(), 11.0_f64.to_bits());
    }

    #[test]
    fn a_near_level_is_the_headline_and_a_far_one_the_strongest() {
        let bins = [
            (50.5, Side::Long, 1000.0),
            (97.5, Side::Long, 3.0),
            (98.5, Side::Long, 4.0),
        ];
        let found = pains(&map(&bins), 0.08, Headline::Reach);
        // The half width is 1: both near bins count.
        assert_eq!(found.pain.long.price.to_bits(), 98.5_f64.to_bits());
        assert_eq!(found.pain.long.usd.to_bits(), 7.0_f64.to_bits());
        let strongest = found.strongest.long.map(|level| level.price);
        assert_eq!(strongest.map(f64::to_bits), Some(50.5_f64.to_bits()));
        let reach = found.reach.long.unwrap_or_default();
        assert!((reach - (-1.20 * 0.015 / 0.08_f64).exp()).abs() < 1e-12);
        // A side without positions has the current price, no USD and no reach.
        assert_eq!(found.pain.short.price.to_bits(), 100.0_f64.to_bits());
        assert!(found.pain.short.usd == 0.0 && found.reach.short.is_none());
    }
}
