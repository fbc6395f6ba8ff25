//! The row kinds of the archive: their columns, keys, checks and sort orders.
//!
//! The module `row` contains the trait that all row kinds implement. Journal tables and Parquet columns are derived
//! from that trait.

pub(super) mod bars;
pub(super) mod key_index;
pub(super) mod maps;
pub(super) mod open_interest;
pub(super) mod orders;
pub(super) mod positions;
pub(super) mod row;
pub(super) mod totals;
