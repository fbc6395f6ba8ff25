//! A damaged file of the archive.

use std::path::PathBuf;

use crate::model::{Damage, Millis};

/// A file that cannot be read, and what it contained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedPart {
    /// Path of the file.
    pub path: PathBuf,
    /// `orders`, `bars`, `open_interest`, `maps`, `positions` or `journal`.
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
    /// Leaves out the path, which network clients must not see.
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
