//! Values that are read again when their files change: tokens and certificates can be replaced without a restart.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;

/// Reads a value from its files.
pub(crate) type ReadFiles<T> = fn(&[PathBuf]) -> io::Result<T>;

/// A value read from files. If the files become unreadable, the last value that was read stays valid.
pub(crate) struct Reloaded<T> {
    current: ArcSwap<T>,
    files: Vec<PathBuf>,
    read: ReadFiles<T>,
    seen: Mutex<Vec<Option<Stamp>>>,
}

/// Identifies a version of a file: modification time, length, inode and the time of the last change.
type Stamp = (SystemTime, u64, u64, (i64, i64));

impl<T> Reloaded<T> {
    /// Reads `files` for the first time.
    pub(crate) fn new(files: Vec<PathBuf>, read: ReadFiles<T>) -> io::Result<Self> {
        // The stamps are taken before the files are read, so that a later check notices a concurrent change.
        let seen = stamps(&files);
        let current = ArcSwap::from_pointee(read(&files)?);
        Ok(Self {
            current,
            files,
            read,
            seen: Mutex::new(seen),
        })
    }

    pub(crate) fn current(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Reads the files again if one has changed. If they cannot be read, the current value stays.
    ///
    /// Returns whether the value was replaced.
    pub(crate) fn reload_if_changed(&self) -> bool {
        let stamps = stamps(&self.files);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == stamps {
            return false;
        }
        *seen = stamps;
        let names = || {
            let names = self.files.iter().map(|file| file.display().to_string());
            names.collect::<Vec<_>>().join(" and ")
        };
        match (self.read)(&self.files) {
            Ok(value) => {
                self.current.store(Arc::new(value));
                log::info!("{} changed and was read again", names());
                true
            }
            Err(failure) => {
                log::error!(
                    "{} cannot be read, so the earlier content stays in use: {failure}",
                    names()
                );
                false
            }
        }
    }
}

impl<T> fmt::Debug for Reloaded<T> {
    /// Omits the value, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloaded")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    files.iter().map(|file| stamp(file)).collect()
}

fn stamp(file: &Path) -> Option<Stamp> {
    let known = fs::metadata(file).ok()?;
    // A program can set the modification time of a file, but not the time of its last change.
    #[cfg(unix)]
    let (inode, changed) = {
        use std::os::unix::fs::MetadataExt;
        (known.ino(), (known.ctime(), known.ctime_nsec()))
    };
    #[cfg(not(unix))]
    let (inode, changed) = (0, (0, 0));
    Some((known.modified().ok()?, known.len(), inode, changed))
}
