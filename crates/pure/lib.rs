//! The rooms of liqdata without I/O and clock: `model`, `contract`, `engine` and `simulate`.
//!
//! They are a package of their own because development builds optimise them. The package `liqdata` re-exports them, and
//! no other package uses this one.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::len_without_is_empty,
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "internal to the package liqdata"
)]

#[path = "../../src/contract/mod.rs"]
pub mod contract;

#[path = "../../src/engine/mod.rs"]
pub mod engine;

#[path = "../../src/model/mod.rs"]
pub mod model;

#[path = "../../src/simulate/mod.rs"]
pub mod simulate;
