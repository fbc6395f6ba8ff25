//! The raw frames of an archive.

use std::path::PathBuf;

use crate::archive::raw::line;
use crate::archive::store::store::Store;
use crate::archive::{ArchiveError, RawFileEntry, RawLines};

/// The raw frames of an archive.
#[derive(Clone, Copy, Debug)]
pub struct RawView<'a>(pub(crate) &'a Store);

impl RawView<'_> {
    /// Files of raw frames, sorted by day and time of creation.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the folder cannot be read.
    pub fn files(self) -> Result<Vec<RawFileEntry>, ArchiveError> {
        line::raw_files(self.0)
    }

    /// Symbolic links in the folder of raw frames. Reads do not follow them.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the folder cannot be read.
    pub fn links(self) -> Result<Vec<PathBuf>, ArchiveError> {
        line::raw_links(self.0)
    }

    /// Opens a file of raw frames and iterates over its lines.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the file cannot be opened. Damage is no error; see [`RawLines::fault`].
    pub fn lines(self, part: &RawFileEntry) -> Result<RawLines, ArchiveError> {
        line::raw_lines(part)
    }
}
