//! The doubles themselves: what they send decodes to what happened, and their faults are what they say.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests"
)]

mod burst;
mod client;
mod faults;
mod recorded;
mod rest;
mod speaking;
mod truth;
