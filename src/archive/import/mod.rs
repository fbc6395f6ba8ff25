//! Import of tables of historical data.
//!
//! Rows of finished days become Parquet segments without passing through the journal. Rows of other days are appended to
//! the journal. A [`ColumnTable`](column_table::ColumnTable) gives its rows as Arrow arrays, and single rows only where they
//! are compared with rows that the archive has.

pub(super) mod arrays;
pub(super) mod bars;
pub(super) mod column_table;
pub(super) mod existing_rows;
pub(super) mod importer;
pub(super) mod open_interest;
pub(super) mod orders;
pub(super) mod outcome;
pub(super) mod row_table;
