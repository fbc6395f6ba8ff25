//! `/api/liquidations/coins`: coins ranked by liquidated USD.

use crate::contract::endpoint::endpoint;
use crate::contract::parameter::RowLimit;
use crate::contract::time::Bound;
use crate::model::{CoinTotals, TotalsRange};

endpoint! {
    /// Asks for the coins with the most liquidated USD in a time range.
    #[derive(Copy)]
    Coins = "coins" at "/api/liquidations/coins", "coins ranked by liquidated USD";
    range: Option<TotalsRange> = "24h" unless start or end, "1h, 4h, 12h or 24h; 3d, 7d, 1M, 3M, 6M and 1y are an extension of our server";
    limit: RowLimit<200> = "30", "maximum number of rows, 1 to 200";
    [extension] start: Option<Bound>, "only orders at or after this instant, instead of range; if absent, 24 hours before the end; an extension of our server";
    [extension] end: Option<Bound>, "only orders before this instant, instead of range; if absent, up to and including now; an extension of our server";
    => enveloped Vec<CoinTotals>
}
