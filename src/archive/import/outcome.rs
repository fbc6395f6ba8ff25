//! The outcome of an import.

use std::path::PathBuf;

/// Outcome of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOutcome {
    /// New rows.
    pub new: u64,
    /// Rows that the archive has already, and rows that were given twice.
    pub repeated: u64,
    /// Rows that were not stored.
    pub rejected: Vec<RejectedRow>,
    /// Segments written.
    pub segments: Vec<PathBuf>,
}

/// A row that was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRow {
    /// `orders`, `bars`, `open_interest` or `positions`.
    pub table: &'static str,
    /// Its number among the given rows of its table.
    pub row: usize,
    /// The column at fault.
    pub column: &'static str,
    /// What is wrong, with the value and what is allowed.
    pub message: String,
    /// Whether the archive has the row with other values.
    pub differs: bool,
}
