//! Sources: where the observations of a market are stored.
//!
//! Each trait serves one group of callers: views for estimates (`view_source`), rows and aggregates of any time range
//! (`history_source`), coverage and gaps (`coverage_source`), revisions and new orders (`live_source`). A
//! `market_source` implements all of these traits. The sources are tables in memory (`tables`), tables that grow
//! (`growing_tables`), an archive (`archive`) and the replay of another source (`replay`). Recorded maps of other
//! services are separate (`recordings`).

pub(super) mod archive;
pub(super) mod coverage_source;
pub(super) mod growing_tables;
pub(super) mod history_source;
pub(super) mod live_source;
pub(super) mod market_source;
pub(crate) mod recordings;
pub(super) mod replay;
pub(super) mod tables;
pub(super) mod view_source;
