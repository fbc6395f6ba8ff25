//! WebSocket connections of one exchange: handshake, subscriptions, protocol state and reconnect.
//!
//! `connections` opens the connections that the markets require. `reconnect` keeps one connection open, and
//! `state_machine` runs one socket from its `handshake` to its loss: it sends `subscriptions` and `pings`, and watches
//! the signs of life (`heartbeat`).

pub(super) mod connections;
pub(super) mod handshake;
pub(super) mod heartbeat;
pub(super) mod pings;
pub(super) mod reconnect;
pub(super) mod state_machine;
pub(super) mod subscriptions;
