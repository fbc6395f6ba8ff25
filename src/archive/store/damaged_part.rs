//! A damaged file of the archive.

use std::path::{Path, PathBuf};

use crate::archive::catalog::manifest::SegmentEntry;
use crate::model::{Damage, Millis};

/// A damaged file, with the contents that it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedPart {
    /// Path of the file.
    pub path: PathBuf,
    /// Contents of the file: `orders`, `bars`, `open_interest`, `maps`, `positions`, `totals` or `journal`.
    pub holds: String,
    /// Number of rows in the file; 0 for the journal.
    pub rows: u64,
    /// Time of the first row in the file.
    pub first: Millis,
    /// Time of the last row in the file.
    pub last: Millis,
    /// Why the file is damaged.
    pub reason: String,
}

impl DamagedPart {
    /// Describes a damaged segment of the archive in `folder`.
    pub(crate) fn of(folder: &Path, part: &SegmentEntry, reason: String) -> Self {
        Self {
            path: folder.join(&part.path),
            holds: part.holds.clone(),
            rows: part.rows,
            first: part.first,
            last: part.last,
            reason,
        }
    }
}

impl From<DamagedPart> for Damage {
    /// Omits the path, which network clients must not see.
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
