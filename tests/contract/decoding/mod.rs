//! Decoders on inputs that nobody chose: what holds for a good one, a damaged one and one that is neither.

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
