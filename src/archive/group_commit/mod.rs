//! A writer thread that commits the batches of many senders in shared transactions.
//!
//! `write_queue` contains the batches that are not durable yet. `group_commit_writer` commits them, retries on a full
//! disk, and records a gap for refused rows.

pub(super) mod commit_handle;
pub(super) mod group_commit_writer;
pub(super) mod write_queue;
