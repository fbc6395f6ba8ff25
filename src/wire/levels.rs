//! Decodes key liquidation levels.

use super::reply::reply;
use super::token::object;
use crate::model::{LevelTier, TierLevels};

object!(LevelTier, "the level of a tier", {
    long_price: "longPrice", long_intensity: "longIntensity", short_price: "shortPrice",
    short_intensity: "shortIntensity",
});

object!(TierLevels, "liquidation levels", { symbol, price, updated_at: "updatedAt", tiers });

reply!(TierLevels, symbol; updated_at: "updatedAt");
