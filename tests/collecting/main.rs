//! The collector against doubles of the exchanges: every event is stored once, and every gap is recorded.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests"
)]

#[path = "../doubles/mod.rs"]
mod doubles;

mod backfill;
mod bench;
mod burst;
mod connection_faults;
mod cooldown;
mod crashes;
mod daily_counts;
mod dedupe_keys;
mod exchange_doubles;
mod exchange_specifics;
mod exchanges;
mod feeds;
mod harness;
mod history;
mod instrument_cache;
mod market_lists;
mod outlier_check;
mod pending_rows;
mod positions;
mod proxy;
mod rebuild;
mod redundancy;
mod sequence;
mod serving;
mod tape;
mod trade_feeds;
mod venue_faults;
