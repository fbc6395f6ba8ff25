//! A writer thread that commits the batches of many senders in shared transactions.
//!
//! `write_queue` holds what is not durable yet; `group_commit_writer` drains it, retries on a full disk, and records a gap for
//! what it must drop.

pub(super) mod commit_handle;
pub(super) mod group_commit_writer;
pub(super) mod write_queue;
