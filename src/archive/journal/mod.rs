//! The journal: the `SQLite` database of an archive.
//!
//! It makes appended rows durable, and contains the catalog and the coverage records. Every line has a checksum.

pub(super) mod database;
pub(super) mod row_checksums;
