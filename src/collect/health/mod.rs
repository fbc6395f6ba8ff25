//! Health of the collector: coverage of the exchanges, the gap before the first session, staleness, and the disk.

pub(super) mod coverage;
pub(super) mod disk;
pub(super) mod staleness;
pub(super) mod startup_gap;
