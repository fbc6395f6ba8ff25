//! Health of the exchanges: their coverage, the gap before the first session, and staleness.

pub(super) mod coverage;
pub(super) mod staleness;
pub(super) mod startup_gap;
