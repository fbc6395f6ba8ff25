//! `/api/liq-maxpain`: the headline levels of the estimate, for a day and a week.

use serde_json::{Value, json};

use crate::contract::endpoint::{endpoint, object};
use crate::contract::openapi;
use crate::contract::parameter::ModelChoice;
use crate::model::{Coin, Headline, MapSource, MaxPain};

endpoint! {
    /// Asks for the headline levels of the longs and shorts of a coin.
    Maxpain = "maxpain" at "/api/liq-maxpain", "the headline levels of the estimate, for a day and a week";
    symbol: Coin = "BTC", "coin";
    model: Option<ModelChoice>, "2, 3 or a model with your own parameters; an extension of our server";
    [extension] headline: Option<Headline> = "reach", "reach: the most USD that the price is likely to reach; strongest: the most USD at any distance; an extension of our server";
    [extension] source: Option<MapSource>, "estimate, or the name of a recorded source: its newest reply for the coin as it was \
        served, no later than as_of if given; an extension of our server";
    => enveloped MaxPain
}

object! {
    MaxPain;
    "symbol" text: "the coin asked for";
    "price" float "USD": "the last close";
    "updatedAt" time "ms": "the time of the last input";
    "d1" object "USD": "the headline level on each side over a day, and the totals" => pain;
    "d7" object "USD": "the same over seven days" => pain;
}

/// Returns the JSON schema of the clusters of one range.
fn pain() -> Value {
    let number = || json!({"type": "number"});
    let names = ["price", "usd", "distPct"];
    let cluster = || openapi::object(names.map(|name| (name, number())), &names);
    let members = [
        ("long", cluster()),
        ("short", cluster()),
        ("totalLong", number()),
        ("totalShort", number()),
    ];
    openapi::object(members, &["long", "short", "totalLong", "totalShort"])
}
