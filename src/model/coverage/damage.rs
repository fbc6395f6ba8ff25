//! Damaged archive files and the rows they lose.

use serde::Serialize;

use crate::model::Millis;

/// A damaged archive file. Its rows are missing from every answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The table: `orders`, `bars`, `open_interest`, `maps` or `journal`.
    pub holds: String,
    /// Rows in the file; 0 for a journal, where the number is unknown.
    pub rows: u64,
    /// Time of the first row.
    pub first: Millis,
    /// Time of the last row.
    pub last: Millis,
    /// A description of the damage.
    pub reason: String,
}
