//! `/api/liq-map`: estimated liquidations by price and leverage tier.

use serde_json::{Value, json};

use crate::api::endpoint::{endpoint, object};
use crate::api::openapi;
use crate::api::parameter::{Exchange, ModelChoice};
use crate::model::{BinWidth, Coin, LiquidationMap, MapRange, MapSource, Opened};

endpoint! {
    /// Asks for the liquidation map of a coin.
    Liqmap = "liqmap" at "/api/liq-map", "estimated liquidations by price and leverage";
    symbol: Coin = "BTC", "coin";
    range: MapRange = "1d", "1d or 7d; 12h, 3d, 1M, 3M, 6M, 1y and all are an extension of our server";
    model: Option<ModelChoice>, "2, 3 or a model of your own parameters; an extension of our server";
    bin: Option<BinWidth>, "how much price a bin spans; about 0.1 % of the price where absent; an extension of our server";
    exchange: Option<Exchange>, "exchange, for its ledger alone; all together where absent; an extension of our server";
    [extension] opened: Option<Opened>, "ever: all open positions, as usual for all; range: those opened within the range, as usual for the others; an extension of our server";
    [extension] source: Option<MapSource>, "estimate, or positions for the map of those that were seen, whatever their age; an extension of our server";
    => bare LiquidationMap; large
}

impl Liqmap {
    /// The positions that the map counts.
    #[must_use]
    pub fn opened(&self) -> Opened {
        self.opened.unwrap_or(Opened::usual(self.range))
    }
}

object! {
    LiquidationMap;
    "symbol" text: "the coin asked for";
    "range" text: "the range asked for";
    "updatedAt" time "ms": "the time of the last input";
    "currentPrice" float "USD": "the last close";
    "binWidth" float "USD": "how much price a bin spans";
    "leverages" list: "the leverages of the tiers" => || json!({"type": "array", "items": {"type": "integer"}});
    "bins" list "USD": "price, side, USD by tier and in total of each bin" => bins;
}

/// Returns the JSON schema of one price bin of the map.
fn bins() -> Value {
    let number = || json!({"type": "number"});
    let members = [
        ("price", number()),
        ("side", json!({"type": "string", "enum": ["long", "short"]})),
        (
            "tiers",
            json!({"type": "object", "additionalProperties": number()}),
        ),
        ("total", number()),
    ];
    let bin = openapi::object(members, &["price", "side", "tiers", "total"]);
    json!({"type": "array", "items": bin})
}
