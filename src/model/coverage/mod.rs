//! Coverage of the recorded orders: exchanges, gaps, damage and sampling.

pub(super) mod damage;
pub(super) mod period_coverage;
pub(super) mod sampling;
pub(super) mod simulated_feeds;
pub(super) mod unconverted;
pub(super) mod venue_coverage;
