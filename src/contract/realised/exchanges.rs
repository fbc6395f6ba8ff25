//! `/api/liquidations/exchanges`: liquidated USD by exchange.

use crate::contract::endpoint::endpoint;
use crate::model::{ExchangeTotals, Window};

endpoint! {
    /// Asks for the liquidated USD of each exchange in a window.
    #[derive(Copy)]
    Exchanges = "exchanges" at "/api/liquidations/exchanges", "liquidated USD by exchange";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    => enveloped Vec<ExchangeTotals>
}
