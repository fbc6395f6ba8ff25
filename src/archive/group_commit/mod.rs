//! A writer thread that commits the batches of many senders in shared transactions.
//!
//! `write_queue` contains the batches that wait to be committed; `background` compacts between their commits. `group_commit_writer` commits the batches, retries if
//! the disk is full, and records gaps for refused rows.

pub(super) mod background;
pub(super) mod commit_handle;
pub(super) mod group_commit_writer;
pub(super) mod write_queue;
