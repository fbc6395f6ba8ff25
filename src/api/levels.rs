//! `/api/liq-levels`: key liquidation levels per leverage tier.

use super::endpoint::{endpoint, object};
use super::parameter::Modelled;
use crate::model::{Coin, TierLevels};

endpoint! {
    /// Asks for the key liquidation levels of a coin.
    Levels = "levels" at "/api/liq-levels", "the strongest estimated levels by leverage";
    symbol: Coin = "BTC", "coin";
    model: Option<Modelled>, "2, 3 or a model of your own parameters; an extension of our server";
    => enveloped TierLevels
}

object! {
    TierLevels;
    "symbol" text: "the coin asked for";
    "price" float "USD": "the last close";
    "updatedAt" time "ms": "the time of the last input";
    "tiers" object: "by leverage, price and intensity (0 to 1) of the strongest level of either side";
}
