//! Limits what one client can use: connections, event streams, memory, unread bytes and historical queries.

pub(super) mod backpressure;
pub(super) mod connection_slots;
pub(super) mod history_limit;
pub(super) mod limits;
pub(super) mod memory;
pub(super) mod stream_slots;
