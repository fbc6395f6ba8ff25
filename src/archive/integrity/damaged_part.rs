//! A damaged file of the archive.

use std::path::{Path, PathBuf};

use crate::archive::catalog::manifest::SegmentEntry;
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
