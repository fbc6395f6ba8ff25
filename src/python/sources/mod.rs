//! What answers: a service over HTTP, a market in this process, and a server of one.

pub(super) mod client;
pub(super) mod market;
pub(super) mod moving_market;
pub(super) mod order_walk;
pub(super) mod server;
