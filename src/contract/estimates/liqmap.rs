//! `/api/liq-map`: estimated liquidations by price and leverage tier.

use serde_json::{Value, json};

use crate::contract::endpoint::{endpoint, object};
use crate::contract::openapi;
use crate::contract::parameter::{Exchange, ModelChoice};
use crate::model::{
    BinWidth, Coin, LiquidationMap, MapRange, MapSource, Opened, PriceBound, ShownPrices, Span,
};

endpoint! {
    /// Asks for the liquidation map of a coin.
    Liqmap = "liqmap" at "/api/liq-map", "estimated liquidations by price and leverage";
    symbol: Coin = "BTC", "coin";
    range: MapRange = "1d", "1d or 7d; 12h, 3d, 1M, 3M, 6M, 1y and all are an extension of our server";
    model: Option<ModelChoice>, "2, 3 or a model with your own parameters; an extension of our server";
    bin: Option<BinWidth>, "width of a price bin; if absent, about 0.1 % of the price; an extension of our server";
    exchange: Option<Exchange>, "exchange to which the estimate is limited; if absent, all exchanges together; an \
                                 extension of our server";
    [extension] span: Option<Span> = "reach", "reach: prices between the low and the high of the range, and prices that are likely to be reached; all: all prices; an extension of our server";
    [extension] low: Option<PriceBound>, "lowest price of the bins; an extension of our server";
    [extension] high: Option<PriceBound>, "highest price of the bins; an extension of our server";
    [extension] opened: Option<Opened>, "ever: all open positions (the default of the range all); range: positions opened within the range (the default of the other ranges); an extension of our server";
    [extension] source: Option<MapSource>, "estimate; positions for the map of observed positions of any age; or the name of a \
        recorded source: its newest map of the coin and range as it was served, no later than as_of if given; an extension of our server";
    => bare LiquidationMap; large
}

impl Liqmap {
    /// The positions that the map counts.
    #[must_use]
    pub fn opened(&self) -> Opened {
        self.opened.unwrap_or(Opened::usual(self.range))
    }

    /// The prices that the map shows.
    #[must_use]
    pub fn shown(&self) -> ShownPrices {
        ShownPrices {
            span: self.span.unwrap_or(Span::Reach),
            low: self.low.map(PriceBound::get),
            high: self.high.map(PriceBound::get),
        }
    }
}

object! {
    LiquidationMap;
    "symbol" text: "the coin asked for";
    "range" text: "the range asked for";
    "updatedAt" time "ms": "the time of the last input";
    "currentPrice" float "USD": "the last close";
    "binWidth" float "USD": "width of a price bin";
    "leverages" list: "the leverages of the tiers" => || json!({"type": "array", "items": {"type": "integer"}});
    "bins" list "USD": "for each bin, price, side, USD by tier and in total" => bins;
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
