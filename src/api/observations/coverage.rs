//! `/api/coverage`: what the realised totals of a window cover; an extension beside the ten.

use crate::api::endpoint::endpoint;
use crate::model::{VenueCoverage, Window};

endpoint! {
    /// Asks what the totals of a window cover, exchange by exchange.
    Coverage = "coverage" at "/api/coverage", "what the realised totals cover, by exchange";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    => enveloped Vec<VenueCoverage>
}
