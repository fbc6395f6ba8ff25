//! The same faults at every venue: connections that end, hang and are refused, garbage, repetitions, members and markets
//! that come and go. Every venue has to survive each of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod content;
mod silence;
mod sockets;

/// Times short enough for a test of many venues, with fewer checkpoints.
fn quick() -> liqdata::collect::Settings {
    let mut settings = crate::bench::quick();
    settings.pace.checkpoint = 1.0;
    // A look at the markets is a request, and venues count those.
    settings.pace.instruments_least = 0.5;
    settings.pace.pending = 20.0;
    settings
}

/// Every venue that has a socket.
const SOCKETS: [&str; 15] = [
    "binance",
    "bybit",
    "okx",
    "gate",
    "bitget",
    "htx",
    "aster",
    "deribit",
    "kraken",
    "bitfinex",
    "dydx",
    "lighter",
    "lighter_rh",
    "pacifica",
    "extended",
];
