//! `/api/coverage`: coverage of the realised totals of a window; an extension of the contract.

use crate::api::endpoint::endpoint;
use crate::model::{VenueCoverage, Window};

endpoint! {
    /// Asks for the coverage of the totals in a window, by exchange.
    Coverage = "coverage" at "/api/coverage", "what the realised totals cover, by exchange";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    => enveloped Vec<VenueCoverage>
}
