//! The collector against doubles of the exchanges: what comes in is kept, whole and once, and what is missing is named.
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

mod banned;
mod bench;
mod cascade;
mod counted;
mod discipline;
mod hard;
mod harness;
mod judged;
mod keyed;
mod numbered;
mod paired;
mod past;
mod peculiar;
mod planned;
mod positions;
mod proxied;
mod rebuilt;
mod recalled;
mod recovered;
mod serving;
mod tapes;
mod venues;
mod waiting;
