//! WebSocket plans: connections, subscriptions, control messages and liveness rules.

pub(super) mod control;
pub(super) mod socket_plan;
