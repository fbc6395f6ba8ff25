//! The journal: the `SQLite` database of an archive.
//!
//! It makes appended rows durable, and contains the catalog and the coverage records.

pub(super) mod database;
pub(super) mod table;
