//! A writer thread that commits the batches of many senders in shared transactions.
//!
//! `write_queue` holds what is not durable yet; `writer_thread` drains it, retries on a full disk, and records a gap for
//! what it must drop.

pub(super) mod write_queue;
pub(super) mod writer_thread;
