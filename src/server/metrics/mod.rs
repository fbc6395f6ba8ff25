//! `GET /metrics`: counters of the server and the state of the market, in the Prometheus text format.

pub(super) mod alerts;
pub(super) mod exposition;
pub(super) mod market_state;
pub(super) mod traffic;
