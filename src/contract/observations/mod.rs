//! Endpoints that return collected data: bars, open interest, positions, coverage and gaps.

pub(super) mod bars;
pub(super) mod coverage;
pub(super) mod gaps;
pub(super) mod open_interest;
pub(super) mod positions;
