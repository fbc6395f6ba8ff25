//! Copying an archive, or days of it, to another place.
//!
//! `closed_days` selects the segments of finished days with a journal that lists them, `merge` combines several archives
//! into a new one, and `batch_file` writes Arrow batches to a single Parquet file.

pub(super) mod batch_file;
pub(super) mod closed_days;
pub(super) mod merge;
