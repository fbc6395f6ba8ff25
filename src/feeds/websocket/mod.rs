//! WebSocket plans: connections, subscriptions, control messages and heartbeats.

pub(super) mod control;
pub(super) mod socket_plan;
