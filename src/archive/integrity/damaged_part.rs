//! A file of the archive that cannot be served.

use std::path::PathBuf;

use crate::model::{Damage, Millis};

/// A file that could not be served, and what it was to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedPart {
    /// The file, where it was written.
    pub path: PathBuf,
    /// `orders`, `bars`, `open_interest`, `maps` or `journal`.
    pub holds: String,
    /// Rows in it.
    pub rows: u64,
    /// Time of its first row.
    pub first: Millis,
    /// Time of its last row.
    pub last: Millis,
    /// What is wrong with it.
    pub reason: String,
}

impl From<DamagedPart> for Damage {
    /// Without where the file lies, which is nobody's business who asks over a network.
    fn from(part: DamagedPart) -> Self {
        Self {
            holds: part.holds,
            rows: part.rows,
            first: part.first,
            last: part.last,
            reason: part.reason,
        }
    }
}
