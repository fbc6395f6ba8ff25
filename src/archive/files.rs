//! File system helpers: temporary names, durable folders, links, and file identity.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::ArchiveError;

/// Folder for damaged files.
pub(crate) const DAMAGED: &str = "damaged";

/// Folder for superseded segments, which other engines must not read with the others.
pub(crate) const SUPERSEDED: &str = "superseded";

/// Relative path of a segment once it is superseded; `relative` is its path in the manifest.
pub(crate) fn superseded(relative: &str) -> String {
    format!("{SUPERSEDED}/{relative}")
}

/// Calls `act` with the path of a segment; if there is no file, with its path as a superseded segment.
///
/// A segment moves only when it is superseded, so a reader finds it even if that happens meanwhile.
pub(crate) fn at_segment<T>(
    folder: &Path,
    relative: &str,
    act: impl Fn(&Path) -> std::io::Result<T>,
) -> std::io::Result<T> {
    match act(&folder.join(relative)) {
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            act(&folder.join(superseded(relative)))
        }
        found => found,
    }
}

/// Moves superseded segments out of the folders that other engines read.
///
/// Each move is atomic. A segment that was moved before is skipped.
pub(crate) fn move_superseded<'a>(
    folder: &Path,
    segments: impl IntoIterator<Item = &'a str>,
) -> Result<(), ArchiveError> {
    for relative in segments {
        let from = folder.join(relative);
        if fs::symlink_metadata(&from).is_err() {
            continue;
        }
        let moved = superseded(relative);
        refuse_link(folder, Path::new(relative))?;
        refuse_link(folder, Path::new(&moved))?;
        let to = folder.join(moved);
        if let (Some(source), Some(target)) = (from.parent(), to.parent()) {
            make_folder(folder, target)?;
            fs::rename(&from, &to).map_err(|fault| ArchiveError::of_file(&from, fault))?;
            sync_folder(target)?;
            sync_folder(source)?;
        }
    }
    Ok(())
}

/// Steps of writing a segment.
///
/// A crash before [`SegmentStep::Committed`] loses no rows, because they are still in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentStep {
    /// The manifest lists the segment as unfinished.
    Intended,
    /// The temporary file is written.
    Written,
    /// The temporary file is durable.
    Synced,
    /// The file has its final name.
    Renamed,
    /// The new file name is durable.
    FolderSynced,
    /// The rows belong to the segment and have left the journal.
    Committed,
}

impl SegmentStep {
    /// All steps in order.
    pub const ALL: [Self; 6] = [
        Self::Intended,
        Self::Written,
        Self::Synced,
        Self::Renamed,
        Self::FolderSynced,
        Self::Committed,
    ];
}

/// Makes `path` absolute, so that it stays valid if the working directory changes.
pub(crate) fn settled(path: &Path) -> Result<PathBuf, ArchiveError> {
    std::path::absolute(path).map_err(|source| ArchiveError::of_file(path, source))
}

/// Path of the temporary file for `path`.
///
/// The name is hidden and has another extension, so that other query engines do not read the file.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp"))
}

/// Durably deletes a file and its temporary file.
pub(crate) fn remove(path: &Path) -> Result<(), ArchiveError> {
    let mut changed = BTreeSet::new();
    unlink(path, &mut changed)?;
    changed.iter().try_for_each(|folder| sync_folder(folder))
}

/// Deletes a file and its temporary file.
///
/// Adds the folder to `changed`; the caller syncs it.
pub(crate) fn unlink(path: &Path, changed: &mut BTreeSet<PathBuf>) -> Result<(), ArchiveError> {
    for path in [unfinished(path), path.to_owned()] {
        match fs::remove_file(&path) {
            Ok(()) => changed.extend(path.parent().map(Path::to_owned)),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(ArchiveError::of_file(&path, source)),
        }
    }
    Ok(())
}

/// Creates `folder` and its missing parents below `base`, and syncs the changed folders.
pub(crate) fn make_folder(base: &Path, folder: &Path) -> Result<(), ArchiveError> {
    let mut changed = BTreeSet::new();
    made_folder(base, folder, &mut changed)?;
    changed.iter().try_for_each(|folder| sync_folder(folder))
}

/// Creates `folder` and its missing parents.
///
/// Adds folders with new entries to `changed`; the caller syncs them.
pub(crate) fn made_folder(
    base: &Path,
    folder: &Path,
    changed: &mut BTreeSet<PathBuf>,
) -> Result<(), ArchiveError> {
    if folder == base || folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        made_folder(base, above, changed)?;
        match fs::create_dir(folder) {
            Ok(()) => {
                changed.insert(above.to_owned());
            }
            Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(ArchiveError::of_file(folder, source)),
        }
    }
    Ok(())
}

/// Makes the entries of a folder durable, if the system supports that.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), ArchiveError> {
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|source| ArchiveError::of_file(folder, source))?;
    }
    Ok(())
}

/// Deletes a file, if it exists.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), ArchiveError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(ArchiveError::of_file(path, source))
        }
        _ => Ok(()),
    }
}

/// Chooses the path in the folder [`DAMAGED`] for the file `from`.
///
/// The path below the archive folder stays the same. If that path is already used, the file gets a unique name.
pub(crate) fn quarantine_path(
    folder: &Path,
    relative: &Path,
    from: &Path,
) -> Result<PathBuf, ArchiveError> {
    let mut to = Path::new(DAMAGED).join(relative);
    refuse_link(folder, &to)?;
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    if is_there(from) && is_there(&folder.join(&to)) {
        let name = relative.file_name().unwrap_or_default().to_string_lossy();
        to.set_file_name(format!("{}-{name}", Uuid::now_v7()));
    }
    Ok(folder.join(to))
}

/// Device and inode of a file; `None` on systems without them.
pub(crate) type Identity = Option<(u64, u64)>;

/// Identity of a file from its metadata.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems return no identity")]
pub(crate) fn identity(found: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

/// Identity of a file from its metadata.
///
/// Systems other than Unix need no identity, because they do not allow replacing an open file.
#[cfg(not(unix))]
pub(crate) fn identity(_: &fs::Metadata) -> Identity {
    None
}

/// Returns an error if the file at `path` does not have the identity `ours`.
pub(crate) fn refuse_another(path: &Path, ours: Identity) -> Result<(), ArchiveError> {
    let what = match fs::symlink_metadata(path) {
        Ok(found) if identity(&found) == ours => return Ok(()),
        Ok(_) => "replaced",
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => "deleted",
        Err(source) => return Err(ArchiveError::of_file(path, source)),
    };
    Err(ArchiveError::Replaced {
        path: path.to_owned(),
        what,
    })
}

/// Returns an error if `path` is a link, a pipe or a folder.
///
/// A missing file is not an error.
pub(crate) fn refuse_other_than_file(path: &Path) -> Result<(), ArchiveError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) => Err(ArchiveError::NotAnArchive {
            path: path.to_owned(),
            message: format!(
                "it is {}; it must be a regular file",
                if found.is_symlink() {
                    "a link"
                } else if found.is_dir() {
                    "a folder"
                } else {
                    "a pipe or a device"
                }
            ),
        }),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(ArchiveError::of_file(path, source)),
    }
}

/// Returns the first symbolic link on the path from `base` to a file, if any.
pub(crate) fn link_in(base: &Path, relative: &Path) -> std::io::Result<Option<PathBuf>> {
    let mut path = base.to_owned();
    for name in relative {
        path.push(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => return Ok(Some(path)),
            Ok(_) => {}
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(source),
        }
    }
    Ok(None)
}

/// Returns an error if a path contains a symbolic link.
///
/// The target of a link may lie outside the archive.
pub(crate) fn refuse_link(base: &Path, relative: &Path) -> Result<(), ArchiveError> {
    let link = link_in(base, relative)
        .map_err(|source| ArchiveError::of_file(&base.join(relative), source))?;
    match link {
        None => Ok(()),
        Some(path) => Err(ArchiveError::NotAnArchive {
            path,
            message: "it is a link; files and folders of an archive must not be links".to_owned(),
        }),
    }
}
