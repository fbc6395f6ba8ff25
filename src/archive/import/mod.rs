//! Writing rows and tables of the past into the archive.
//!
//! Rows of finished days become Parquet segments without passing through the journal. Rows of other days are appended to
//! the journal.

pub(super) mod deltas;
pub(super) mod filing;
pub(super) mod filing_tables;
pub(super) mod pages;
pub(super) mod runs_of_numbers;
pub(super) mod tabled;
pub(super) mod tabled_bars;
pub(super) mod tabled_interest;
pub(super) mod tabled_orders;
pub(super) mod unique;
