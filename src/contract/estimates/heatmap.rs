//! `/api/liq-heatmap`: estimated liquidations over price and time.

use serde_json::{Value, json};

use crate::contract::endpoint::{endpoint, object};
use crate::contract::parameter::{Exchange, ModelChoice};
use crate::model::{
    Coin, HeatmapGrid, HeatmapRange, MapSource, Opened, PriceBound, ShownPrices, Span,
};

endpoint! {
    /// Asks for the heatmap of a coin.
    Heatmap = "heatmap" at "/api/liq-heatmap", "estimated liquidations over price and time";
    symbol: Coin = "BTC", "coin";
    range: HeatmapRange = "24h", "12h, 24h, 3d, 7d or 1M; 3M, 6M, 1y and all are an extension of our server";
    model: ModelChoice = "2", "2: exposed open interest; 3: liquidations expected to be reported; or a model with \
                          your own parameters";
    exchange: Option<Exchange>, "exchange to which the estimate is limited; if absent, all exchanges together; an \
                                 extension of our server";
    [extension] span: Option<Span> = "reach", "reach: prices between the low and the high of the range, and prices that are likely to be reached; all: all prices; an extension of our server";
    [extension] low: Option<PriceBound>, "lowest price of the rows; an extension of our server";
    [extension] high: Option<PriceBound>, "highest price of the rows; an extension of our server";
    [extension] opened: Option<Opened> = "ever", "ever: all open positions; range: positions opened within the range; an extension of our server";
    [extension] source: Option<MapSource>, "estimate, or the name of a recorded source: its newest map of the coin and range as it was \
        served, no later than as_of if given; an extension of our server";
    => bare HeatmapGrid; large
}

impl Heatmap {
    /// The positions that the heatmap counts.
    #[must_use]
    pub fn opened(&self) -> Opened {
        self.opened.unwrap_or(Opened::Ever)
    }

    /// The prices that the heatmap shows.
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
    HeatmapGrid;
    "symbol" text: "the coin asked for";
    "range" text: "the range asked for";
    "model" int: "the model asked for";
    "updatedAt" time "ms": "the time of the last input";
    "currentPrice" float "USD": "the last close";
    "prices" list "USD": "the price of each row of the matrix" => numbers;
    "times" list "ms": "the end of each column of the matrix" => || json!({"type": "array", "items": {"type": "integer"}});
    "matrix" list "USD": "the estimate, a list for each price" => || json!({"type": "array", "items": numbers()});
}

fn numbers() -> Value {
    json!({"type": "array", "items": {"type": "number"}})
}
