//! Replacement of the journal by a fresh one.
//!
//! If the replacement is interrupted at any point, it can be finished later.

use std::fs;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::archive::journal::database;
use crate::archive::{ArchiveError, files};

/// Error message for an archive with an interrupted repair.
pub(crate) const INTERRUPTED: &str =
    "a repair of the archive's journal was interrupted; run `liqdata verify --repair` again";

/// Temporary path of the fresh journal.
pub(crate) fn fresh_path(folder: &Path) -> PathBuf {
    files::unfinished(&folder.join(database::FILE))
}

/// Whether a repair was interrupted between moving the damaged journal and renaming the fresh one.
pub(crate) fn is_interrupted(folder: &Path) -> bool {
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    is_there(&fresh_path(folder)) && !is_there(&folder.join(database::FILE))
}

/// Quarantines the damaged journal and renames the fresh one.
///
/// Returns the new path of the damaged journal.
pub(crate) fn replace_journal(folder: &Path) -> Result<PathBuf, ArchiveError> {
    let (path, fresh) = (folder.join(database::FILE), fresh_path(folder));
    files::refuse_other_than_file(&fresh)?;
    let name = format!("{}-{}", Uuid::now_v7(), database::FILE);
    let moved_to = Path::new(files::DAMAGED).join(name);
    files::refuse_link(folder, &moved_to)?;
    let damaged = folder.join(files::DAMAGED);
    files::make_folder(folder, &damaged)?;
    // The journal is moved before its log. In the opposite order, a crash could leave a journal that looks complete but
    // lacks the rows of its log.
    for ending in ["", "-wal", "-shm"] {
        let from = database::companion(&path, ending);
        match fs::rename(&from, database::companion(&folder.join(&moved_to), ending)) {
            Ok(()) => {}
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(ArchiveError::of_file(&from, source)),
        }
        files::sync_folder(&damaged)?;
        files::sync_folder(folder)?;
    }
    fs::rename(&fresh, &path).map_err(|source| ArchiveError::of_file(&fresh, source))?;
    files::sync_folder(folder)?;
    Ok(moved_to)
}
