//! WebSocket connections of one exchange: handshake, protocol state, reconnect and redundancy.
//!
//! `connections` opens the connections that the markets require. `reconnect` keeps one connection open, and
//! `state_machine` runs one socket from its handshake to its loss. `redundancy` merges the coverage of two connections
//! that carry the same topics.

pub(super) mod connections;
pub(super) mod handshake;
pub(super) mod outages;
pub(super) mod reconnect;
pub(super) mod redundancy;
#[cfg(test)]
mod redundancy_tests;
pub(super) mod sequence;
pub(super) mod state_machine;
