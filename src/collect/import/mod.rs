//! Import of historical data from files and tables into an archive.

pub(super) mod dump_columns;
pub(super) mod files;
pub(super) mod in_usd;
pub(super) mod ingest;
pub(super) mod ingest_tables;
pub(super) mod refused;
pub(super) mod snapshots;
