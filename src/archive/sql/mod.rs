//! Rows as lines of SQL tables.
//!
//! `table` converts a row to the cells of a line and back. `row_kind` has all row kinds as values.

pub(super) mod row_kind;
pub(super) mod table;
