//! The archive: every acknowledged row is stored once, whatever happens to the process, the disk or the files.
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
pub(crate) mod folder;
mod gathering;
mod group_commit;
mod killing;
mod locking;
mod maps;
mod merging;
mod positions;
#[cfg(target_os = "linux")]
mod power;
#[cfg(unix)]
mod prepared;
mod raw;
mod reading;
mod relisting;
mod retention;
mod rolling;
pub(crate) mod rows;
mod sources;
mod tables;
mod undo;
mod writing;
