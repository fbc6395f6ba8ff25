//! Raw frames: received messages, stored as compressed JSON lines so that they can be decoded again.
//!
//! Each file contains frames of one exchange and one day. `writer` runs on a separate thread; it drops frames if
//! writing them would delay rows.

pub(super) mod check;
pub(super) mod file;
pub(super) mod line;
pub(super) mod writer;
