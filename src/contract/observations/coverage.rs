//! `/api/coverage`: how complete the liquidation totals of a window are; an extension of the contract.

use crate::contract::endpoint::endpoint;
use crate::model::{VenueCoverage, Window};

endpoint! {
    /// Asks how complete the totals of a window are, for each exchange.
    Coverage = "coverage" at "/api/coverage", "coverage of the realised totals, by exchange";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    => enveloped Vec<VenueCoverage>
}
