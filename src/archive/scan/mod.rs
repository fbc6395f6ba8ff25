//! Reading a time range from the journal and the segments, each row once.
//!
//! `table_scan` returns the rows of a time range, and `parallel` aggregates orders on several threads. `tail` returns
//! the rows that were appended after a given row id.

pub(super) mod bar_resampling;
pub(super) mod finest_bars;
pub(super) mod maps_reader;
pub(super) mod parallel;
pub(super) mod segment_scan;
pub(super) mod snapshots;
pub(super) mod table_scan;
pub(super) mod tail;
