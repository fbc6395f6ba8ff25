//! Decoders on arbitrary input: properties of valid, damaged and other bodies.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests"
)]

mod arriving;
#[expect(unreachable_pub, reason = "a library of its own elsewhere")]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;
mod smoke;
