//! `/api/coverage`: how complete the liquidation totals of a time range are; an extension of the contract.

use crate::contract::endpoint::endpoint;
use crate::contract::time::Bound;
use crate::model::{TotalsRange, VenueCoverage};

endpoint! {
    /// Asks how complete the totals of a time range are, for each exchange.
    Coverage = "coverage" at "/api/coverage", "coverage of the realised totals, by exchange";
    range: Option<TotalsRange> = "24h" unless start or end, "1h, 4h, 12h, 24h, 3d, 7d, 1M, 3M, 6M or 1y";
    [extension] start: Option<Bound>, "the coverage from this instant on, instead of range; if absent, 24 hours before the end";
    [extension] end: Option<Bound>, "the coverage before this instant, instead of range; if absent, up to and including now";
    => enveloped Vec<VenueCoverage>
}
