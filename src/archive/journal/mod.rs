//! The journal: a `SQLite` database that makes appended rows durable and holds the catalog and coverage.

pub(super) mod ahead;
pub(super) mod database;
pub(super) mod mend;
pub(super) mod salvage;
pub(super) mod schema;
pub(super) mod table;
pub(super) mod versions;
