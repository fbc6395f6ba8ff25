//! The records of coverage: sessions, gaps, and what was recovered, counted and measured.
//!
//! A session is a time range in which an exchange was connected. A gap is a time range in which rows of an exchange may
//! be missing. Each kind of record is a table of the journal.

pub(super) mod events;
pub(super) mod pending;
pub(super) mod sessions;
