//! Crypto liquidation data: a typed client, an open estimate, and a server of the same contract.
//!
//! The modules, from the data types to the interfaces:
//!
//! * [`model`]: the types of market data;
//! * [`api`]: the endpoints of the contract, for clients and servers;
//! * [`wire`]: decodes replies from JSON;
//! * `net`: TLS, proxies, rate limits and backoff of all connections;
//! * [`client`]: queries a service over HTTP;
//! * [`feeds`]: decodes the frames of exchanges to events;
//! * [`collect`]: collects from the exchanges into an archive;
//! * [`archive`]: stores observations durably, in order of time;
//! * [`engine`]: computes replies from observations, as of an instant;
//! * [`tables`]: reads and judges the tables of callers and files;
//! * [`simulate`]: simulates a market with known positions;
//! * [`market`]: answers queries, wherever the observations are stored;
//! * [`server`]: serves a market over HTTP;
//! * `python`: the binding to the Python package (feature `python`).

pub mod api;
pub mod archive;
pub mod client;
pub mod collect;
pub mod engine;
pub mod feeds;
pub mod market;
pub mod model;
mod net;
pub mod server;
pub mod simulate;
#[cfg_attr(
    not(feature = "python"),
    allow(
        dead_code,
        unused_imports,
        reason = "only the binding reads tables of callers"
    )
)]
pub mod tables;
pub mod wire;

#[cfg(feature = "python")]
mod python;
