//! Decodes key liquidation levels.

use std::collections::BTreeMap;

use serde::Deserializer;

use super::reply::reply;
use super::token::{Read, object};
use crate::model::{EstimateLabels, LevelTier, Millis, TierLevels};

object!(LevelTier, "the level of a tier", {
    long_price: "longPrice", long_intensity: "longIntensity", short_price: "shortPrice",
    short_intensity: "shortIntensity",
});

/// The members of a levels reply.
#[derive(Debug)]
struct LevelsFields {
    symbol: String,
    price: f64,
    updated_at: Millis,
    tiers: BTreeMap<i64, LevelTier>,
    units: Option<String>,
    view: Option<String>,
    simulated: Option<bool>,
}

object!(LevelsFields, "liquidation levels", {
    symbol, price, updated_at: "updatedAt", tiers, units, view, simulated,
});

impl<'de> Read<'de> for TierLevels {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = LevelsFields::read(from)?;
        let labels = EstimateLabels::parse(
            found.units.as_deref(),
            found.view.as_deref(),
            found.simulated,
        );
        Ok(Self {
            symbol: found.symbol,
            price: found.price,
            updated_at: found.updated_at,
            tiers: found.tiers,
            labels,
        })
    }
}

reply!(TierLevels, symbol; updated_at: "updatedAt");
