//! The sources of answers (a service over HTTP, or a market in this process), and the server of a market.

pub(super) mod agents;
pub(super) mod client;
pub(super) mod market;
pub(super) mod moving_market;
pub(super) mod order_walk;
pub(super) mod server;
