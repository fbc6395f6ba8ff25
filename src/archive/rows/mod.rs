//! The row kinds of the archive: their columns, keys, checks and sort orders.
//!
//! `row` is the trait of them all. Journal tables and Parquet columns are derived from it.

pub(super) mod bars;
pub(super) mod key_index;
pub(super) mod maps;
pub(super) mod open_interest;
pub(super) mod orders;
pub(super) mod positions;
pub(super) mod row;
pub(super) mod row_kind;
