//! Health of connections and exchanges: heartbeat, liveness, staleness, cooldown, and the status shown to users.

pub(super) mod cooldown;
pub(super) mod coverage;
pub(super) mod heartbeat;
pub(super) mod liveness;
pub(super) mod log_limit;
pub(super) mod pings;
pub(super) mod staleness;
pub(super) mod startup_gap;
pub(super) mod status;
pub(super) mod status_board;
