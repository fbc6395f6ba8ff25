//! Received frames, stored as compressed JSON lines so that they can be decoded again.
//!
//! One file holds one exchange and one day. `writer` runs on a thread of its own and drops frames rather than delay rows.

pub(super) mod check;
pub(super) mod file;
pub(super) mod line;
pub(super) mod writer;
