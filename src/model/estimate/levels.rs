//! Key liquidation levels: the strongest cluster per leverage tier and side.
//!
//! A cluster is a price at which much USD would be liquidated, by the estimate.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::Millis;

/// The strongest cluster of one leverage tier on each side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LevelTier {
    /// Price of the strongest long cluster, below the current price.
    pub long_price: f64,
    /// Its USD divided by that of the largest cluster of all tiers and sides, 0 to 1.
    pub long_intensity: f64,
    /// Price of the strongest short cluster, above the current price.
    pub short_price: f64,
    /// Its USD divided by that of the largest cluster of all tiers and sides, 0 to 1.
    pub short_intensity: f64,
}

/// Key liquidation levels of a coin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierLevels {
    /// Coin symbol.
    pub symbol: String,
    /// Current price.
    pub price: f64,
    /// Time of the last input of the estimate.
    #[serde(rename = "updatedAt")]
    pub updated_at: Millis,
    /// Levels by leverage; a tier that a service omits is absent.
    pub tiers: BTreeMap<i64, LevelTier>,
}
