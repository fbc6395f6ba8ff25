//! WebSocket connections of one exchange: handshake, protocol state, reconnect and redundancy.
//!
//! `connections` opens what the markets ask for, `reconnect` keeps one connection open, `state_machine` runs it from its
//! opening to its loss, and `redundancy` merges the coverage of two connections that carry the same topics.

pub(super) mod connections;
pub(super) mod handshake;
pub(super) mod outages;
pub(super) mod reconnect;
pub(super) mod redundancy;
#[cfg(test)]
mod redundancy_tests;
pub(super) mod sequence;
pub(super) mod state_machine;
