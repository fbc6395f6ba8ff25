//! `/api/liquidations`: the order feed, newest first, in pages.

use super::endpoint::endpoint;
use super::history::Usd;
use super::parameter::{Exchange, Limit, Offset};
use crate::model::{Order, OrderColumns, Symbol};

endpoint! {
    /// Asks for one page of the order feed.
    Orders = "orders" at "/api/liquidations", "liquidation orders, newest first";
    symbol: Option<Symbol>, "trading pair such as BTCUSDT, or coin for all its pairs";
    exchange: Option<Exchange>, "exchange, such as binance";
    limit: Limit<{ Orders::MAX }> = "50", "most rows, 1 to 1000";
    offset: Offset = "0", "rows to pass over";
    [beside] min_usd: Option<Usd>, "only orders of at least so many USD; an extension of our server";
    => enveloped Vec<Order>, held as OrderColumns; large
}

impl Orders {
    /// The largest `limit`.
    pub const MAX: u16 = 1000;
}
