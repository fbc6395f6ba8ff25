//! Sources: where the observations of a market are stored.
//!
//! `traits` says what a source provides. Tables in memory (`tables`), tables that grow (`growing_tables`), an archive
//! (`archive`) and the replay of another source (`replay`) implement it.

pub(super) mod archive;
pub(super) mod growing_tables;
pub(super) mod replay;
pub(super) mod tables;
pub(super) mod traits;
