//! Limits what one client can use: connections, memory, unread bytes and historical queries.

pub(super) mod backpressure;
pub(super) mod connection_slots;
pub(super) mod history_limit;
pub(super) mod limits;
pub(super) mod memory;
