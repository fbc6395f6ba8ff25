//! Compaction: moves rows of finished days from the journal into Parquet segments.
//!
//! A segment is `pending` in the manifest before its file exists; one transaction makes it valid and deletes its rows
//! from the journal. `supersede` replaces orders of a day, `undo` takes an ingest back; both keep what they replace for reads
//! as of an earlier time (`rewrite`).

pub(super) mod background;
pub(super) mod compactor;
pub(super) mod rewrite;
pub(super) mod supersede;
pub(super) mod undo;
