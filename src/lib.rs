//! Crypto liquidation data: a typed client, an open estimate, and a server of the same contract.
//!
//! The rooms of the house, from the values to the doors:
//!
//! * [`model`]: what the market data is;
//! * [`api`]: the ten endpoints of the contract, for both sides;
//! * [`wire`]: bytes to values;
//! * `net`: what everyone who opens a connection needs;
//! * [`client`]: asking over HTTP;
//! * [`feeds`]: what the exchanges publish, as events;
//! * [`collect`]: listening to the exchanges, into an archive;
//! * [`archive`]: what has been observed, durably and in order of time;
//! * [`engine`]: from observations and an instant to the ten replies;
//! * [`simulate`]: a market with known positions;
//! * [`market`]: a market that answers, wherever its observations lie;
//! * [`server`]: answering over HTTP;
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
pub mod wire;

#[cfg(feature = "python")]
mod python;
