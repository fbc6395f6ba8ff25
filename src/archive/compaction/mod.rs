//! Compaction: moves rows of finished days from the journal into Parquet segments.
//!
//! A segment is `pending` in the manifest before its file exists; one transaction makes the segment active and deletes
//! its rows from the journal. `supersede` replaces orders of a day, and `undo` reverts an ingest. Both use `rewrite`,
//! which preserves the replaced rows for reads as of an earlier instant. `retention` deletes old days.

pub(super) mod compactor;
pub(super) mod retention;
pub(super) mod rewrite;
pub(super) mod supersede;
pub(super) mod undo;
