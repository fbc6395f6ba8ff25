//! The outcome of an import.

use std::path::PathBuf;

/// Counts and rejected rows of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOutcome {
    /// Number of new rows.
    pub new: u64,
    /// Number of rows that were already stored, or that occur again in the same import.
    pub repeated: u64,
    /// Rows that were not stored.
    pub rejected: Vec<RejectedRow>,
    /// Paths of the segments written.
    pub segments: Vec<PathBuf>,
}

/// A row that was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRow {
    /// Table of the row: `orders`, `bars`, `open_interest`, `positions` or `totals`.
    pub table: &'static str,
    /// Row number in the imported table, from 0.
    pub row: usize,
    /// Column with the invalid value.
    pub column: &'static str,
    /// Description of the fault: the value and the allowed range.
    pub message: String,
    /// Whether the row was rejected because a stored row has its key but other values.
    pub differs: bool,
}
