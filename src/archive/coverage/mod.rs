//! Coverage: sessions of the exchanges, gaps, and the recovery of gaps.
//!
//! A session is a time range in which an exchange was connected. A gap is a time range in which rows of an exchange may
//! be missing. Sessions, gaps and events are tables of the journal. `report` computes the coverage of a time range from
//! these tables; `damage_gaps` adds the gaps that damaged segments leave.

pub(super) mod damage_gaps;
pub(super) mod events;
pub(super) mod gap_status;
pub(super) mod intervals;
pub(super) mod liveness;
pub(super) mod pending;
pub(super) mod report;
pub(super) mod sessions;
