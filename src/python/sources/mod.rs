//! Sources of answers: a service over HTTP and a market in this process; and the server of such a market.

pub(super) mod client;
pub(super) mod market;
pub(super) mod moving_market;
pub(super) mod order_walk;
pub(super) mod server;
