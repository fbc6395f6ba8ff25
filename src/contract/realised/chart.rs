//! `/api/liquidations/chart`: liquidated USD per hour and side over the last 24 hours.

use crate::contract::endpoint::endpoint;
use crate::model::{ChartRow, Symbol};

endpoint! {
    /// Asks for the liquidated USD per hour of a pair or a coin.
    Chart = "chart" at "/api/liquidations/chart", "liquidated USD by hour and side, last 24 hours";
    symbol: Symbol = "BTCUSDT", "trading pair, or coin for all its pairs";
    => enveloped Vec<ChartRow>
}
