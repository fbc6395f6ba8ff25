//! Doubles of the exchanges, on loopback, or in memory where time is not this machine's.
//!
//! [`Exchange::open`] starts one venue: its WebSocket dialect and its REST bodies on one port, by path. A
//! seeded generator makes liquidations as *truth* ([`Truth`]: what a decoder must yield), the venue's dialect renders them,
//! and the REST back-fill serves the same truth, so a test can hold an archive against it exactly. [`Faults`] are switched
//! while the double runs, [`Act`]s happen once to the sockets that are open, and [`Tally`] counts the requests.
//!
//! A double knows nothing of the code it tests.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::must_use_candidate,
    clippy::missing_panics_doc,
    clippy::struct_excessive_bools,
    clippy::semicolon_if_nothing_returned,
    clippy::single_match_else,
    clippy::similar_names,
    reason = "shared by tests, each of which uses a part"
)]

mod book;
mod chart;
mod dialect;
mod exchange;
mod fault;
mod frame;
pub mod hyperliquid;
mod inner;
mod market;
mod pipe;
mod quota;
mod rest;
mod serve;
mod session;
mod socket;
mod tally;
mod truth;
mod twist;
mod venues;
mod wire;

pub use book::{Book, Clock, Setup, system_clock};
pub use chart::Candle;
pub use dialect::Dialect;
pub use exchange::Exchange;
pub use fault::{Act, Ending, Faults, Garbage, Limit};
pub use frame::Prepared;
pub use market::{Market, Unit};
pub use pipe::Memory;
pub use tally::{RestRequest, Skipped, Tally};
pub use truth::{Liquidations, Truth};
pub use venues::{dialect, names};
