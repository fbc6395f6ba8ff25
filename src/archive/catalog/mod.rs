//! The catalog: segments, their validity, ingests and statistics of the archive.
//!
//! The catalog consists of journal tables. The `manifest` lists the Parquet segments, and `file_versions` stores from
//! when and until when each segment is valid; `version_file` is a copy of that. `ingests` lists the imports, and `stats` contains statistics that are
//! read without a scan.

pub(super) mod file_versions;
pub(super) mod ingests;
pub(super) mod manifest;
pub(super) mod manifest_entry;
pub(super) mod stats;
pub(super) mod version_file;
