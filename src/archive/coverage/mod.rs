//! Coverage: when each exchange was connected, which gaps there are, and whether their orders were recovered.
//!
//! Sessions, gaps and events are tables of the journal. `report` computes the coverage of a time range from them;
//! `damage_gaps` adds the gaps that damaged segments leave.

pub(super) mod damage_gaps;
pub(super) mod events;
pub(super) mod gap_status;
pub(super) mod intervals;
pub(super) mod liveness;
pub(super) mod pending;
pub(super) mod report;
pub(super) mod sessions;
