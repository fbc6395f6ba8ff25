//! Verifies files of raw frames and quarantines damaged ones.

use std::fs;
use std::path::Path;

use crate::archive::raw::line;
use crate::archive::raw::line::RawFileEntry;
use crate::archive::store::write_store::WriteStore;
use crate::archive::{ArchiveError, files};

/// Number of lines read between two calls of `goes_on`.
const LOOK: u32 = 1024;

/// Reads a file of raw frames and returns its fault, if any.
///
/// Stops once `goes_on` returns false. A file that ends in the middle of a frame is not damaged.
pub(crate) fn raw_fault(
    part: &RawFileEntry,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Option<String>, ArchiveError> {
    let mut lines = line::raw_lines(part)?;
    let mut read: u32 = 0;
    while lines.next_while(goes_on).is_some() {
        read = read.wrapping_add(1);
        if read.is_multiple_of(LOOK) && !goes_on() {
            break;
        }
    }
    Ok(lines.fault().map(str::to_owned))
}

/// Moves a file of raw frames to the quarantine.
pub(crate) fn quarantine_raw_file(writer: &WriteStore, path: &Path) -> Result<(), ArchiveError> {
    let fault = |source| ArchiveError::of_file(path, source);
    let Ok(relative) = path.strip_prefix(&writer.store.folder) else {
        return Ok(());
    };
    files::refuse_link(&writer.store.folder, relative)?;
    let to = files::quarantine_path(&writer.store.folder, relative, path)?;
    if let Some(target) = to.parent() {
        files::make_folder(&writer.store.folder, target)?;
        fs::rename(path, &to).map_err(fault)?;
        files::sync_folder(target)?;
    }
    Ok(())
}
