//! `/api/liquidations`: the order feed, newest first, in pages.

use crate::contract::endpoint::endpoint;
use crate::contract::parameter::{Exchange, Offset, RowLimit};
use crate::contract::realised::history::UsdAmount;
use crate::contract::time::Bound;
use crate::model::{GroupedOrder, Groups, OrderColumns, Symbol};

endpoint! {
    /// Asks for one page of the order feed.
    Orders = "orders" at "/api/liquidations", "liquidation orders, newest first";
    symbol: Option<Symbol>, "trading pair such as BTCUSDT, or coin for all its pairs";
    exchange: Option<Exchange>, "exchange, such as binance";
    limit: RowLimit<{ Orders::MAX }> = "50", "maximum number of rows, 1 to 1000";
    offset: Offset = "0", "number of rows to skip";
    [extension] min_usd: Option<UsdAmount>, "only orders of at least this many USD; an extension of our server";
    [extension] start: Option<Bound>, "only orders at or after this instant, of any age; an extension of our server";
    [extension] end: Option<Bound>, "only orders before this instant, of any age; an extension of our server";
    [extension] groups: Option<Groups>, "1 adds the column group_id, which fills of one liquidation share, if known; \
                                         an extension of our server";
    => enveloped Vec<GroupedOrder>, decoded as OrderColumns; large
}

impl Orders {
    /// Maximum value of `limit`.
    pub const MAX: u16 = 1000;

    /// Whether the query has a time range; without one it covers the last day.
    #[must_use]
    pub fn has_time_range(&self) -> bool {
        self.start.is_some() || self.end.is_some()
    }

    /// Whether the rows have the column `group_id`.
    #[must_use]
    pub fn with_groups(&self) -> bool {
        self.groups == Some(Groups::Included)
    }

    /// Returns the rows, and removes `group_id` unless the query asks for it.
    #[must_use]
    pub fn shown(&self, mut rows: Vec<GroupedOrder>) -> Vec<GroupedOrder> {
        if !self.with_groups() {
            for row in &mut rows {
                row.group_id = None;
            }
        }
        rows
    }
}
