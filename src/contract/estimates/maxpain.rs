//! `/api/liq-maxpain`: the headline levels of the estimate, for a day and a week.

use crate::contract::endpoint::endpoint;
use crate::contract::parameter::{Exchange, ModelChoice};
use crate::contract::reply::{Group, object, reply};
use crate::model::{
    Cluster, Coin, EstimateLabels, Headline, MapSource, MaxPain, Millis, Pain, RangesWithin,
};

endpoint! {
    /// Asks for the headline levels of the longs and shorts of a coin.
    Maxpain = "maxpain" at "/api/liq-maxpain", "the headline levels of the estimate, for a day and a week";
    symbol: Coin = "BTC", "coin";
    model: Option<ModelChoice>, "2, 3 or a model with your own parameters; an extension of our server";
    [extension] headline: Option<Headline> = "reach", "reach: the most USD that the price is likely to reach; strongest: the most USD at any distance; an extension of our server";
    [extension] source: Option<MapSource>, "estimate, or the name of a recorded source: its newest reply for the coin as it was \
        served, no later than as_of if given; an extension of our server";
    [extension] exchange: Option<Exchange>, "exchange to which the estimate is limited; if absent, all exchanges together; an extension of our server";
    => enveloped MaxPain
}

reply! {
    MaxPain = "max pain", enveloped, repeats symbol; {
        symbol: String, "the coin asked for";
        price: f64 ["USD"], "the last close";
        updated_at "updatedAt": Millis ["ms"], "the time of the last input";
        d1: Option<Pain> ["USD"], "the headline level on each side over a day, and the totals";
        d7: Option<Pain> ["USD"], "the same over seven days";
        labels: Group<EstimateLabels>;
        [extension] within: Option<RangesWithin> ["USD"], "amounts up to a distance from the price";
    }
}

object! {
    Pain = "the max pain of a range" {
        long: Cluster, "the headline of the longs, below the last close";
        short: Cluster, "the headline of the shorts, above the last close";
        total_long "totalLong": f64 ["USD"], "amount of the longs that the liquidation map of the range shows";
        total_short "totalShort": f64 ["USD"], "amount of the shorts that the liquidation map of the range shows";
    }
}

object! {
    Cluster = "a cluster" {
        price: f64 ["USD"], "price of the cluster";
        usd: f64 ["USD"], "amount in the cluster";
        dist_pct "distPct": f64 ["%"], "distance from the last close; negative below it";
    }
}
