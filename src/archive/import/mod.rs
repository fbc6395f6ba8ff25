//! Import of tables of historical data.
//!
//! Rows of finished days become Parquet segments without passing through the journal. Rows of other days are appended
//! to the journal. A [`ColumnTable`](column_table::ColumnTable) converts its rows directly to Arrow arrays. Single rows
//! are created only to compare them with stored rows. `collected` compares the rows of a collector with imported ones.

pub(super) mod arrays;
pub(super) mod bars;
pub(super) mod collected;
pub(super) mod column_table;
pub(super) mod covered_time;
pub(super) mod existing_rows;
pub(super) mod importer;
pub(super) mod open_interest;
pub(super) mod orders;
pub(super) mod outcome;
pub(super) mod row_table;
pub(super) mod undone_rows;
