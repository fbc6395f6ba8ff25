//! A market in an archive answers as tables of the same rows do, now and as of any instant, while it grows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    clippy::print_stderr,
    reason = "tests"
)]

mod as_of;
mod damage;
mod growing;
mod known_positions;
mod ledgers;
mod maps;
mod same;
mod world;
