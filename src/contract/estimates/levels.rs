//! `/api/liq-levels`: the prices with the most estimated liquidations, per leverage tier.

use crate::contract::endpoint::endpoint;
use crate::contract::parameter::{Exchange, ModelChoice};
use crate::contract::reply::{ByNumber, Fraction, Group, object, reply};
use crate::model::{Coin, EstimateLabels, Headline, LevelTier, Millis, TierLevels};

endpoint! {
    /// Asks for the liquidation levels of a coin.
    Levels = "levels" at "/api/liq-levels", "the headline levels of the estimate by leverage";
    symbol: Coin = "BTC", "coin";
    model: Option<ModelChoice>, "2, 3 or a model with your own parameters; an extension of our server";
    [extension] headline: Option<Headline> = "reach", "reach: the most USD that the price is likely to reach; strongest: the most USD at any distance; an extension of our server";
    [extension] exchange: Option<Exchange>, "exchange to which the estimate is limited; if absent, all exchanges together; an extension of our server";
    => enveloped TierLevels
}

reply! {
    TierLevels = "liquidation levels", enveloped, repeats symbol; {
        symbol: String, "the coin asked for";
        price: f64 ["USD"], "the last close";
        updated_at "updatedAt": Millis ["ms"], "the time of the last input";
        tiers: ByNumber<LevelTier>, "for each leverage, price and intensity (0 to 1) of the headline level on each side";
        labels: Group<EstimateLabels>;
    }
}

object! {
    LevelTier = "the level of a tier" {
        long_price "longPrice": f64 ["USD"], "price at which the most longs are liquidated, below the last close";
        long_intensity "longIntensity": Fraction, "its amount as a share of the largest one of all tiers and sides";
        short_price "shortPrice": f64 ["USD"], "price at which the most shorts are liquidated, above the last close";
        short_intensity "shortIntensity": Fraction, "its amount as a share of the largest one of all tiers and sides";
    }
}
