//! `/api/liquidations`: the order feed, newest first, in pages.

use super::endpoint::endpoint;
use super::history::Usd;
use super::parameter::{Exchange, Limit, Offset};
use super::stretch::At;
use crate::model::{Order, OrderColumns, Symbol};

endpoint! {
    /// Asks for one page of the order feed.
    Orders = "orders" at "/api/liquidations", "liquidation orders, newest first";
    symbol: Option<Symbol>, "trading pair such as BTCUSDT, or coin for all its pairs";
    exchange: Option<Exchange>, "exchange, such as binance";
    limit: Limit<{ Orders::MAX }> = "50", "most rows, 1 to 1000";
    offset: Offset = "0", "rows to pass over";
    [beside] min_usd: Option<Usd>, "only orders of at least so many USD; an extension of our server";
    [beside] start: Option<At>, "only orders from then on, however old; an extension of our server";
    [beside] end: Option<At>, "only orders before then, however old; an extension of our server";
    => enveloped Vec<Order>, held as OrderColumns; large
}

impl Orders {
    /// The largest `limit`.
    pub const MAX: u16 = 1000;

    /// Whether orders of any time are asked for, not those of the last day alone.
    #[must_use]
    pub fn is_of_stretch(&self) -> bool {
        self.start.is_some() || self.end.is_some()
    }
}
