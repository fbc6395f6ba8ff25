//! Import of historical data from files and tables into an archive.

pub(super) mod column_rows;
pub(super) mod conversion;
pub(super) mod file_rows;
pub(super) mod files;
pub(super) mod fills;
pub(super) mod ingest;
pub(super) mod ingest_tables;
pub(super) mod occurrence;
pub(super) mod order_columns;
pub(super) mod pending_interest;
pub(super) mod positions;
pub(super) mod refused;
pub(super) mod snapshots;
