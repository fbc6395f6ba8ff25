//! Parquet segments: rows as Arrow columns, filters by row group, and durable file writes.

pub(super) mod arrow_columns;
pub(super) mod atomic_write;
pub(super) mod batch_columns;
pub(super) mod parquet;
pub(super) mod projection;
