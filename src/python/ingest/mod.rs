//! Reads and validates the tables and files of Python callers, for an archive or a market.

pub(super) mod content;
pub(super) mod in_coins;
pub(super) mod ingest;
pub(super) mod ingest_tables;
pub(super) mod raw;
pub(super) mod texts;
