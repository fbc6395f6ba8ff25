//! `/api/liquidations/largest`: the largest single orders.

use crate::contract::endpoint::endpoint;
use crate::contract::parameter::{Exchange, RowLimit};
use crate::contract::realised::history::UsdAmount;
use crate::contract::time::Bound;
use crate::model::{Order, OrderColumns, Symbol, TotalsRange};

endpoint! {
    /// Asks for the largest single liquidation orders in a time range.
    Largest = "largest" at "/api/liquidations/largest", "the largest single liquidation orders";
    range: Option<TotalsRange> = "24h" unless start or end, "1h, 4h, 12h or 24h; 3d, 7d, 1M, 3M, 6M and 1y are an extension of our server";
    limit: RowLimit<1000> = "20", "maximum number of rows, 1 to 1000";
    [extension] symbol: Option<Symbol>, "trading pair, or coin for all its pairs; an extension of our server";
    [extension] exchange: Option<Exchange>, "exchange, such as binance; an extension of our server";
    [extension] min_usd: Option<UsdAmount>, "only orders of at least this many USD; an extension of our server";
    [extension] start: Option<Bound>, "only orders at or after this instant, instead of range; if absent, 24 hours before the end; an extension of our server";
    [extension] end: Option<Bound>, "only orders before this instant, instead of range; if absent, up to and including now; an extension of our server";
    => enveloped Vec<Order>, decoded as OrderColumns; large
}
