//! `/api/liquidations/exchanges`: liquidated USD by exchange.

use crate::contract::endpoint::endpoint;
use crate::contract::time::Bound;
use crate::model::{ExchangeTotals, TotalsRange};

endpoint! {
    /// Asks for the liquidated USD of each exchange in a time range.
    #[derive(Copy)]
    Exchanges = "exchanges" at "/api/liquidations/exchanges", "liquidated USD by exchange";
    range: Option<TotalsRange> = "24h" unless start or end, "1h, 4h, 12h or 24h; 3d, 7d, 1M, 3M, 6M and 1y are an extension of our server";
    [extension] start: Option<Bound>, "only orders at or after this instant, instead of range; if absent, 24 hours before the end; an extension of our server";
    [extension] end: Option<Bound>, "only orders before this instant, instead of range; if absent, up to and including now; an extension of our server";
    => enveloped Vec<ExchangeTotals>
}
