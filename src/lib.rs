//! Crypto liquidation data: a typed client, an open-source estimate engine, and a server.
//!
//! Client and server share one HTTP API, the contract (`docs/reference/endpoints.md`).
//!
//! The modules, from the data types to the interfaces:
//!
//! * [`model`]: the types of market data;
//! * [`contract`]: the endpoints of the contract with their replies, for clients and servers; decodes JSON replies;
//! * `net`: provides TLS, proxies, rate limits and backoff to all connections;
//! * [`client`]: queries a service over HTTP;
//! * [`feeds`]: decodes the messages of exchanges into events;
//! * [`collect`]: collects events from the exchanges into an archive;
//! * [`archive`]: stores observations (orders, price bars, open interest) durably, sorted by time;
//! * [`engine`]: computes replies from the observations up to a given instant;
//! * [`tables`]: reads and validates tables that callers pass or files contain;
//! * [`simulate`]: simulates a market with known positions;
//! * [`market`]: answers queries from observations in any storage;
//! * [`server`]: serves a market over HTTP;
//! * `python`: the binding to the Python package (feature `python`).

pub use liqdata_pure::{contract, endpoints, engine, model, simulate};

pub mod archive;
pub mod client;
pub mod collect;
pub mod feeds;
pub mod market;
mod net;
pub mod server;
#[cfg_attr(
    not(feature = "python"),
    allow(
        dead_code,
        unused_imports,
        reason = "only the binding reads tables of callers"
    )
)]
pub mod tables;

#[cfg(feature = "python")]
mod python;
