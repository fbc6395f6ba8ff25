//! Which segments count, what each holds, and what is known of the whole archive.
//!
//! The catalog lies in tables of the journal: the manifest of Parquet segments, the time from which and until which each
//! segment is valid (`file_versions`), and statistics that are read without a scan (`stats`).

pub(super) mod file_versions;
pub(super) mod ingests;
pub(super) mod manifest;
pub(super) mod manifest_entry;
pub(super) mod stats;
