//! Sources: where the observations of a market are stored.
//!
//! Each trait is what one group of callers needs: views for estimates (`view_source`), rows and aggregates of any time range
//! (`history_source`), coverage and gaps (`coverage_source`), revisions and arrivals (`live_source`). A `market_source` is all
//! of them. Tables in memory (`tables`), tables that grow (`growing_tables`), an archive (`archive`) and the replay of
//! another source (`replay`) implement them.

pub(super) mod archive;
pub(super) mod coverage_source;
pub(super) mod growing_tables;
pub(super) mod history_source;
pub(super) mod live_source;
pub(super) mod market_source;
pub(super) mod replay;
pub(super) mod tables;
pub(super) mod view_source;
