//! `/api/liquidations/coins`: coins ranked by liquidated USD.

use crate::contract::endpoint::endpoint;
use crate::contract::parameter::RowLimit;
use crate::model::{CoinTotals, Window};

endpoint! {
    /// Asks for the coins with the most liquidated USD in a window.
    #[derive(Copy)]
    Coins = "coins" at "/api/liquidations/coins", "coins ranked by liquidated USD";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    limit: RowLimit<200> = "30", "maximum number of rows, 1 to 200";
    => enveloped Vec<CoinTotals>
}
