//! The archive: what is acknowledged is kept, each row once, whatever happens to the process, the disk or the files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests"
)]

mod child;
mod closed;
mod coverage;
mod damage;
#[cfg(target_os = "linux")]
mod days;
mod disk;
mod filing;
mod flips;
mod gathering;
mod keeper;
mod keeping;
mod killing;
mod locking;
mod maps;
mod merging;
pub(crate) mod place;
mod positions;
#[cfg(target_os = "linux")]
mod power;
#[cfg(unix)]
mod prepared;
mod raw;
mod reading;
mod relisting;
mod rolling;
mod rows;
mod tables;
mod undo;
