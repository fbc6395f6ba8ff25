//! `/api/liquidations/largest`: the largest single orders.

use crate::contract::endpoint::endpoint;
use crate::contract::parameter::{Exchange, RowLimit};
use crate::contract::realised::history::UsdAmount;
use crate::model::{Order, OrderColumns, Symbol, Window};

endpoint! {
    /// Asks for the largest single liquidation orders in a window.
    Largest = "largest" at "/api/liquidations/largest", "the largest single liquidation orders";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    limit: RowLimit<1000> = "20", "maximum number of rows, 1 to 1000";
    [extension] symbol: Option<Symbol>, "trading pair, or coin for all its pairs; an extension of our server";
    [extension] exchange: Option<Exchange>, "exchange, such as binance; an extension of our server";
    [extension] min_usd: Option<UsdAmount>, "only orders of at least this many USD; an extension of our server";
    => enveloped Vec<Order>, decoded as OrderColumns; large
}
