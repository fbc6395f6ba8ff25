//! What a damaged file leaves unknown.

use serde::Serialize;

use crate::model::Millis;

/// A file of an archive that is damaged, by what it was to hold: its rows are missing from every answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// `orders`, `bars`, `open_interest`, `maps` or `journal`.
    pub holds: String,
    /// Rows in it; 0 of a journal, of which that is not known.
    pub rows: u64,
    /// Time of its first row.
    pub first: Millis,
    /// Time of its last row.
    pub last: Millis,
    /// What is wrong with it.
    pub reason: String,
}
