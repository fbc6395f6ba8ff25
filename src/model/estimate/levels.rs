//! Key liquidation levels: the headline price per leverage tier and side.

use std::collections::BTreeMap;

use crate::model::{EstimateLabels, Millis};

/// The headline price of one leverage tier on each side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelTier {
    /// Price at which the most longs are liquidated, below the current price.
    pub long_price: f64,
    /// Its value divided by the largest value of all tiers and sides, 0 to 1.
    pub long_intensity: f64,
    /// Price at which the most shorts are liquidated, above the current price.
    pub short_price: f64,
    /// Its value divided by the largest value of all tiers and sides, 0 to 1.
    pub short_intensity: f64,
}

/// Key liquidation levels of a coin.
#[derive(Clone, Debug, PartialEq)]
pub struct TierLevels {
    /// Coin symbol.
    pub symbol: String,
    /// Current price.
    pub price: f64,
    /// Time of the last input of the estimate.
    pub updated_at: Millis,
    /// Levels by leverage; a tier that a service omits is absent.
    pub tiers: BTreeMap<i64, LevelTier>,
    /// Unit, view, and whether the market is simulated.
    pub labels: EstimateLabels,
}
