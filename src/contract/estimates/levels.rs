//! `/api/liq-levels`: the prices with the most estimated liquidations, per leverage tier.

use serde_json::{Value, json};

use crate::contract::endpoint::{endpoint, object};
use crate::contract::openapi;
use crate::contract::parameter::ModelChoice;
use crate::model::{Coin, Headline, TierLevels};

endpoint! {
    /// Asks for the liquidation levels of a coin.
    Levels = "levels" at "/api/liq-levels", "the headline levels of the estimate by leverage";
    symbol: Coin = "BTC", "coin";
    model: Option<ModelChoice>, "2, 3 or a model with your own parameters; an extension of our server";
    [extension] headline: Option<Headline> = "reach", "reach: the most USD that the price is likely to reach; strongest: the most USD at any distance; an extension of our server";
    => enveloped TierLevels
}

object! {
    TierLevels;
    "symbol" text: "the coin asked for";
    "price" float "USD": "the last close";
    "updatedAt" time "ms": "the time of the last input";
    "tiers" object: "for each leverage, price and intensity (0 to 1) of the headline level on each side" => tiers;
}

/// Returns the JSON schema of the levels by leverage tier.
fn tiers() -> Value {
    let number = || json!({"type": "number"});
    let share = || json!({"type": "number", "minimum": 0, "maximum": 1});
    let names = ["longPrice", "longIntensity", "shortPrice", "shortIntensity"];
    let members = names
        .into_iter()
        .zip([number(), share(), number(), share()]);
    json!({"type": "object", "additionalProperties": openapi::object(members, &names)})
}
