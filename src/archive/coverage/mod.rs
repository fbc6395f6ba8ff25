//! Coverage: which times each exchange covers, and the state of its gaps.
//!
//! `report` computes the coverage of a time range from the records; `damage_gaps` adds the gaps that damaged segments
//! leave.

pub(super) mod damage_gaps;
pub(super) mod gap_status;
pub(super) mod intervals;
pub(super) mod liveness;
pub(super) mod report;
