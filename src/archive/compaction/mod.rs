//! Compaction: moves rows of finished days from the journal into Parquet segments.
//!
//! A segment is `pending` in the manifest before its file exists; one transaction makes it valid and deletes its rows
//! from the journal. `supersede` replaces a day's segments and keeps the replaced ones for reads as of an earlier
//! time.

pub(super) mod background;
pub(super) mod compactor;
pub(super) mod supersede;
