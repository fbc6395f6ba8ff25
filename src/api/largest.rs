//! `/api/liquidations/largest`: the largest single orders.

use super::endpoint::endpoint;
use super::parameter::Limit;
use crate::model::{Order, OrderColumns, Window};

endpoint! {
    /// Asks for the largest single liquidation orders in a window.
    #[derive(Copy)]
    Largest = "largest" at "/api/liquidations/largest", "the largest single liquidation orders";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    limit: Limit<1000> = "20", "most rows, 1 to 1000";
    => enveloped Vec<Order>, held as OrderColumns; large
}
