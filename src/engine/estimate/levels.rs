//! Key levels: the headline price per tier and side of the seven-day liquidation map.

use crate::engine::estimate::liquidation_map::{MapOptions, full_map};
use crate::engine::estimate::max_pain::asked_or_strongest;
use crate::engine::estimate::reach::{
    BySide, HeadlineBasis, Reach, StrongestLevel, cells_of, headline,
};
use crate::engine::ledger::parameters::LEVELS;
use crate::engine::{EngineError, Estimate, View};
use crate::model::{
    Chosen, Headline, LevelTier, LiquidationMap, MapRange, Side, TierLevels, liquidation_price,
};

/// Returns the key levels of a coin.
///
/// A key level is the headline price of a tier and side of the seven-day map, chosen as by
/// [`maxpain`](crate::engine::maxpain). The value of a level is its USD, times its reach if it is chosen by reach; its
/// intensity is its value divided by the largest value. A tier without positions has intensity 0 and the liquidation
/// price of a position opened at the current price.
///
/// # Errors
///
/// [`EngineError`] if the coin has no bars in the last seven days, or bars longer than seven days.
pub fn levels(
    view: &View,
    coin: &str,
    model: Option<&Chosen>,
    asked: Headline,
) -> Result<Estimate<TierLevels>, EngineError> {
    let range = MapRange::D7;
    let Estimate {
        reply: map,
        mut explain,
    } = full_map(view, coin, MapOptions::of(range), model)?;
    let price = map.current_price;
    let reach = explain.sigma_day;
    let reach = reach.map(|sigma| Reach::new(price, sigma, range.millis()));
    let parameters = view
        .with_model(model.and_then(Chosen::own))
        .parameters(coin);
    let half_width = reach.map(|reach| reach.half_width(map.bin_width));
    let counted = explain.counted(&parameters);
    let used = asked_or_strongest(asked, reach);
    let mut basis = HeadlineBasis::new(used, half_width, &[range], counted);
    let by_tier = LEVELS.map(|leverage| {
        let tier = map
            .leverages
            .iter()
            .position(|shown| *shown == i64::from(leverage));
        [Side::Long, Side::Short].map(|side| TierLevel::of(&map, (side, tier), reach, asked))
    });
    let largest = by_tier
        .iter()
        .flatten()
        .fold(0.0, |most: f64, level| most.max(level.value));
    let mut tiers = std::collections::BTreeMap::new();
    for (leverage, [long, short]) in LEVELS.into_iter().zip(by_tier) {
        basis.reach.insert(
            leverage.to_string(),
            BySide {
                long: long.reach,
                short: short.reach,
            },
        );
        basis.strongest.insert(
            leverage.to_string(),
            BySide {
                long: long.strongest,
                short: short.strongest,
            },
        );
        let maintenance = parameters.maintenance_at(f64::from(leverage));
        let expected = |side| liquidation_price(side, price, f64::from(leverage), maintenance);
        let intensity = |level: &TierLevel| {
            if level.value > 0.0 {
                level.value / largest
            } else {
                0.0
            }
        };
        tiers.insert(
            i64::from(leverage),
            LevelTier {
                long_price: long.price.unwrap_or_else(|| expected(Side::Long)),
                long_intensity: intensity(&long),
                short_price: short.price.unwrap_or_else(|| expected(Side::Short)),
                short_intensity: intensity(&short),
            },
        );
    }
    explain.headlines = Some(basis);
    Ok(Estimate {
        reply: TierLevels {
            symbol: map.symbol,
            price,
            updated_at: map.updated_at,
            tiers,
            labels: map.labels,
        },
        explain,
    })
}

/// The level of a tier and side.
#[derive(Clone, Copy, Debug)]
struct TierLevel {
    /// `None` without positions.
    price: Option<f64>,
    /// USD, times reach if the level is chosen by reach.
    value: f64,
    reach: Option<f64>,
    strongest: Option<StrongestLevel>,
}

impl TierLevel {
    fn of(
        map: &LiquidationMap,
        (side, tier): (Side, Option<usize>),
        reach: Option<Reach>,
        asked: Headline,
    ) -> Self {
        let cells = tier.map_or_else(Vec::new, |tier| cells_of(map, side, Some(tier)));
        let by_reach = reach.filter(|_| asked == Headline::Reach);
        let price = map.current_price;
        let level = headline(&cells, price, map.bin_width, by_reach.as_ref());
        let strongest = headline(&cells, price, map.bin_width, None);
        Self {
            price: level.map(|level| level.price),
            value: level.map_or(0.0, |level| level.usd * level.reach.unwrap_or(1.0)),
            reach: level.and_then(|level| reach.map(|reach| reach.at(level.price))),
            strongest: strongest.map(|level| StrongestLevel {
                price: level.price,
                usd: level.usd,
                reach: reach.map(|reach| reach.at(level.price)),
            }),
        }
    }
}
