//! The journal: a `SQLite` database that makes appended rows durable and holds the catalog and coverage.

pub(super) mod database;
pub(super) mod swap;
pub(super) mod table;
