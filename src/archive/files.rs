//! Names of files while they are made, their folders, links among them, and what tells one file from another.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::ArchiveError;

/// The folder that damaged files are moved to.
pub(crate) const QUARANTINE: &str = "quarantine";

/// How far a file has come; every step before [`SegmentStep::Committed`] can be lost without losing a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentStep {
    /// The journal says that the file will be made.
    Intended,
    /// The unfinished file is written.
    Written,
    /// It is durable.
    Synced,
    /// It has its final name.
    Renamed,
    /// The name is durable.
    FolderSynced,
    /// The rows are the file's, and no longer the journal's.
    Committed,
}

impl SegmentStep {
    /// Every step, in order.
    pub const ALL: [Self; 6] = [
        Self::Intended,
        Self::Written,
        Self::Synced,
        Self::Renamed,
        Self::FolderSynced,
        Self::Committed,
    ];
}

/// `path` from the root: it means the same when this process goes to another folder.
pub(crate) fn settled(path: &Path) -> Result<PathBuf, ArchiveError> {
    std::path::absolute(path).map_err(|source| ArchiveError::of_file(path, source))
}

/// The name of a file that is not finished: hidden, and of another ending, so that no engine reads it.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp"))
}

/// Removes a file and its unfinished form, where they are, for good.
pub(crate) fn remove(path: &Path) -> Result<(), ArchiveError> {
    let mut changed = BTreeSet::new();
    unlink(path, &mut changed)?;
    changed.iter().try_for_each(|folder| sync_folder(folder))
}

/// Removes the same, and adds to `changed` its folder, where that is not durable yet.
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

/// Makes `folder` and every missing one between it and `base`, each durable in the one above.
pub(crate) fn make_folder(base: &Path, folder: &Path) -> Result<(), ArchiveError> {
    let mut changed = BTreeSet::new();
    made_folder(base, folder, &mut changed)?;
    changed.iter().try_for_each(|folder| sync_folder(folder))
}

/// Makes the same, and adds to `changed` the folders that have a new name in them, which is not durable yet.
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

/// Makes the names in a folder durable, where the system can.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), ArchiveError> {
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|source| ArchiveError::of_file(folder, source))?;
    }
    Ok(())
}

/// Removes a file, if it is there.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), ArchiveError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(ArchiveError::of_file(path, source))
        }
        _ => Ok(()),
    }
}

/// Where a file of the archive at `folder` goes in its quarantine: to its own path below that, and where another file lies there
/// already while `from` is to be moved, under a name that nothing else has.
pub(crate) fn place_aside(
    folder: &Path,
    relative: &Path,
    from: &Path,
) -> Result<PathBuf, ArchiveError> {
    let mut to = Path::new(QUARANTINE).join(relative);
    refuse_link(folder, &to)?;
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    if is_there(from) && is_there(&folder.join(&to)) {
        let name = relative.file_name().unwrap_or_default().to_string_lossy();
        to.set_file_name(format!("{}-{name}", Uuid::now_v7()));
    }
    Ok(folder.join(to))
}

/// What tells one file from another that comes to its place, where the system says so.
pub(crate) type Identity = Option<(u64, u64)>;

/// That of a file by a look at it.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems say nothing")]
pub(crate) fn identity(found: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

/// That of a file by a look at it: a file that is open cannot be replaced here.
#[cfg(not(unix))]
pub(crate) fn identity(_: &fs::Metadata) -> Identity {
    None
}

/// Refuses to go on where the file at `path` is no longer the one of this identity.
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

/// Refuses a link, a pipe or anything else that is no file of the folder; one that is not there is none of those.
pub(crate) fn refuse_other_than_file(path: &Path) -> Result<(), ArchiveError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) => Err(ArchiveError::NotAnArchive {
            path: path.to_owned(),
            message: format!(
                "it is {} and must be a plain file",
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

/// What keeps a path below the archive's folder from being one of its own: a link on the way to it, or at its end. What
/// is not there keeps nothing.
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

/// Refuses to change what lies behind a link: it is not the archive's.
pub(crate) fn refuse_link(base: &Path, relative: &Path) -> Result<(), ArchiveError> {
    let link = link_in(base, relative)
        .map_err(|source| ArchiveError::of_file(&base.join(relative), source))?;
    match link {
        None => Ok(()),
        Some(path) => Err(ArchiveError::NotAnArchive {
            path,
            message: "it is a link, and an archive's files and folders are none".to_owned(),
        }),
    }
}
