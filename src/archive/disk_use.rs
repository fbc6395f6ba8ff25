//! What an archive takes on its disk, and how much of the disk is free.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::archive::ArchiveError;
use crate::archive::catalog::stats;
use crate::archive::journal::database;
use crate::archive::store::store::Store;

/// Folders of an archive with files that the manifest does not list.
const OTHER_FOLDERS: [&str; 4] = ["raw", "ledger", "damaged", "recorded"];

/// Free space below which a disk may soon be full, in bytes; on a disk of less than ten times this, a tenth of it.
const LOW: u64 = 10 << 30;

/// Size and free space of a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that this process may still write.
    pub free: u64,
    /// Size of the file system.
    pub size: u64,
}

impl DiskSpace {
    /// The disk of a folder; `None` if the system does not say.
    #[cfg(unix)]
    #[must_use]
    pub fn of(folder: &Path) -> Option<Self> {
        use std::os::unix::ffi::OsStrExt as _;

        let found = rustix::fs::statvfs(folder.as_os_str().as_bytes()).ok()?;
        Some(Self {
            free: found.f_bavail.saturating_mul(found.f_frsize),
            size: found.f_blocks.saturating_mul(found.f_frsize),
        })
    }

    /// The disk of a folder; `None` if the system does not say.
    #[cfg(not(unix))]
    #[must_use]
    pub fn of(_: &Path) -> Option<Self> {
        None
    }

    /// Whether less than 10 GiB and less than a tenth of the disk are free.
    #[must_use]
    pub fn is_low(self) -> bool {
        self.free < LOW.min(self.size / 10)
    }
}

/// Implements `CatalogView::bytes_by_part`.
pub(crate) fn bytes_by_part(store: &Store) -> Result<BTreeMap<String, u64>, ArchiveError> {
    let mut parts = store.ask(stats::file_bytes)?;
    let journal = store.path().join(database::FILE);
    let journal = fs::metadata(journal).map_or(0, |found| found.len());
    parts.insert(
        "journal".to_owned(),
        journal.saturating_add(database::log_bytes(store.path())),
    );
    for name in OTHER_FOLDERS {
        let bytes = folder_bytes(&store.path().join(name));
        if bytes > 0 {
            parts.insert(name.to_owned(), bytes);
        }
    }
    Ok(parts)
}

/// Size of the files below a folder, without links; 0 if there is no folder.
fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => folder_bytes(&entry.path()),
            Ok(found) if found.is_file() => found.len(),
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_low_below_a_tenth_of_it_and_ten_gibibytes() {
        let is_low = |free: u64, size: u64| {
            DiskSpace {
                free: free << 30,
                size: size << 30,
            }
            .is_low()
        };
        assert!(is_low(9, 2000) && !is_low(10, 2000));
        assert!(is_low(1, 20) && !is_low(2, 20));
    }

    #[test]
    #[cfg(unix)]
    fn the_disk_of_a_folder_has_a_size() {
        let space = DiskSpace::of(&std::env::temp_dir()).unwrap();
        assert!(0 < space.size && space.free <= space.size, "{space:?}");
        assert_eq!(DiskSpace::of(Path::new("/no such folder")), None);
    }
}
