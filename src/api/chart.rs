//! `/api/liquidations/chart`: USD per hour and side over the last 24 hours.

use super::endpoint::endpoint;
use crate::model::{ChartRow, Pair};

endpoint! {
    /// Asks for the hourly chart of a pair.
    Chart = "chart" at "/api/liquidations/chart", "liquidated USD by hour and side, last 24 hours";
    symbol: Pair = "BTCUSDT", "trading pair";
    => enveloped Vec<ChartRow>
}
