//! Copies of an archive, of selected days, or of several merged archives.
//!
//! `closed_days` writes a journal for the segments of selected days, `snapshot` one for all segments. `merge` combines
//! several archives into a new one. `batch_file` writes Arrow batches to a single Parquet file.

pub(super) mod batch_file;
pub(super) mod closed_days;
pub(super) mod merge;
pub(super) mod snapshot;
