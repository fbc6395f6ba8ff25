//! The lock file that admits only one writer.
//!
//! An archive on a network file system is refused, because locks are not reliable there.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::{ArchiveError, files};
use crate::model::Millis;

/// Name of the lock file.
pub(crate) const FILE: &str = "writer.lock";

/// Number of attempts to lock.
///
/// Another process may lock the file for a moment, only to inspect it.
const TRIES: u32 = 10;
const A_MOMENT: Duration = Duration::from_millis(5);

/// Network file systems: their locks or shared memory may not work between machines.
const NETWORK: [&str; 16] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "afs",
    "ceph",
    "lustre",
    "beegfs",
    "glusterfs",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.ceph",
    "fuse.s3fs",
    "fuse.davfs",
    "davfs",
];

/// The writer's exclusive lock, released on drop or when the process ends.
///
/// Only the process that took the lock releases it. A forked child shares the file handle but does not release the
/// lock.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
    taken_by: u32,
}

impl Lock {
    /// Locks the archive in `folder`.
    ///
    /// Writes the process id and the time into the lock file.
    pub(crate) fn take(folder: &Path, now: Millis) -> Result<Self, ArchiveError> {
        Self::take_waiting(folder, now, || thread::sleep(A_MOMENT))
    }

    /// As [`Lock::take`]; `wait` pauses between attempts.
    fn take_waiting(
        folder: &Path,
        now: Millis,
        mut wait: impl FnMut(),
    ) -> Result<Self, ArchiveError> {
        let path = folder.join(FILE);
        let fault = |source| ArchiveError::of_file(&path, source);
        files::refuse_other_than_file(&path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(fault)?;
        let mut tries = TRIES;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries > 0 => {
                    tries -= 1;
                    wait();
                }
                Err(TryLockError::WouldBlock) => return Err(locked_error(folder, &mut file)),
                Err(TryLockError::Error(source)) => return Err(fault(source)),
            }
        }
        let taken_by = std::process::id();
        let lock = Self {
            file,
            path,
            taken_by,
        };
        // Between opening and locking, another process may have deleted the file or replaced it by a link.
        lock.check()?;
        let fault = |source| ArchiveError::of_file(&lock.path, source);
        lock.file.set_len(0).map_err(fault)?;
        write!(&lock.file, "pid {taken_by}\nsince {now}\n").map_err(fault)?;
        Ok(lock)
    }

    /// Returns an error if the lock file was deleted or replaced.
    ///
    /// Another writer may have locked the new file.
    pub(crate) fn check(&self) -> Result<(), ArchiveError> {
        let ours = self
            .file
            .metadata()
            .map_err(|source| ArchiveError::of_file(&self.path, source))?;
        files::refuse_another(&self.path, files::identity(&ours))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // In a forked child, unlocking would release the lock of the parent process.
        if self.taken_by != std::process::id() {
            return;
        }
        // The file is emptied before the unlock, so that it does not name a process that has stopped writing.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Whether a process has locked the archive in `folder`.
pub(crate) fn is_locked(folder: &Path) -> Result<bool, ArchiveError> {
    let path = folder.join(FILE);
    let fault = |source| ArchiveError::of_file(&path, source);
    files::refuse_other_than_file(&path)?;
    let file = match File::open(&path) {
        Ok(file) => file,
        // Without a lock file the archive is a copy that was never opened for writing.
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(fault(source)),
    };
    match file.try_lock_shared() {
        // The shared lock is released immediately, so that a process forked later does not inherit it.
        Ok(()) => file.unlock().map(|()| false).map_err(fault),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(fault(source)),
    }
}

fn locked_error(folder: &Path, file: &mut File) -> ArchiveError {
    let mut text = String::new();
    // The process that has just locked the file may not have written its id yet. The archive counts as locked anyway.
    let _ = file.rewind().and_then(|()| file.read_to_string(&mut text));
    let after = |word: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
    };
    let pid = after("pid").and_then(|pid| pid.parse().ok());
    let holder = match (pid, after("since")) {
        (Some(pid), Some(since)) => format!("process {pid} since {since}"),
        (Some(pid), None) => format!("process {pid}"),
        (None, _) => "another process".to_owned(),
    };
    ArchiveError::Locked {
        path: folder.to_owned(),
        pid,
        holder,
    }
}

/// Returns an error if the folder is on a network file system.
///
/// Only Linux reports the file system; on other systems the check passes.
pub(crate) fn refuse_network(folder: &Path) -> Result<(), ArchiveError> {
    let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else {
        return Ok(());
    };
    let real = fs::canonicalize(folder).map_err(|source| ArchiveError::of_file(folder, source))?;
    match file_system(&mounts, &real) {
        Some(kind) if NETWORK.contains(&kind) => Err(ArchiveError::NetworkFileSystem {
            path: folder.to_owned(),
            kind: kind.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Type of the file system of `path`, from the mount table of Linux.
fn file_system<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    mounts
        .lines()
        .filter_map(|line| {
            let (mount, system) = line.split_once(" - ")?;
            let point = unescaped(mount.split(' ').nth(4)?);
            let kind = system.split(' ').next()?;
            path.starts_with(&point)
                .then(|| (point.components().count(), kind))
        })
        // A later mount on the same mount point hides the earlier mount. Of mounts with equal depth, `max_by_key`
        // returns the last.
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, kind)| kind)
}

/// Decodes the octal escapes in a mount point.
fn unescaped(text: &str) -> PathBuf {
    PathBuf::from(
        text.replace("\\040", " ")
            .replace("\\011", "\t")
            .replace("\\012", "\n")
            .replace("\\134", "\\"),
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:41 / /home rw,relatime shared:1 - nfs4 server:/home rw
41 40 0:42 / /home/local rw,relatime - xfs /dev/vdb rw
42 27 0:43 / /mnt/my\\040share rw - cifs //host/share rw
43 27 0:44 / /over rw - ext4 /dev/vdc rw
44 27 0:45 / /over rw - fuse.sshfs host: rw
";

    #[test]
    fn the_deepest_and_latest_mount_says_what_a_path_lies_on() {
        for (path, kind) in [
            ("/var/lib", "ext4"),
            ("/home/me/archive", "nfs4"),
            ("/homework", "ext4"),
            ("/home/local/archive", "xfs"),
            ("/mnt/my share/a", "cifs"),
            ("/over/here", "fuse.sshfs"),
        ] {
            assert_eq!(file_system(MOUNTS, Path::new(path)), Some(kind), "{path}");
        }
    }

    #[test]
    fn a_child_that_was_forked_leaves_the_lock_to_its_parent() {
        let folder = std::env::temp_dir().join(format!("liqdata-lock-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let parents = Lock::take(&folder, Millis(0)).unwrap();
        // The state in a forked child: the same open file with another process id.
        drop(Lock {
            file: parents.file.try_clone().unwrap(),
            path: parents.path.clone(),
            taken_by: parents.taken_by + 1,
        });
        let refused = Lock::take(&folder, Millis(0)).unwrap_err();
        let pid = Some(std::process::id());
        assert!(matches!(refused, ArchiveError::Locked { pid: named, .. } if named == pid));
        assert!(is_locked(&folder).unwrap());
        drop(parents);
        assert!(!is_locked(&folder).unwrap());
        drop(Lock::take(&folder, Millis(0)).unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn whoever_looks_at_the_lock_is_in_no_writers_way() {
        let folder = std::env::temp_dir().join(format!("liqdata-look-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(!is_locked(&folder).unwrap(), "there is none yet");
        drop(Lock::take(&folder, Millis(0)).unwrap());
        // A shared lock, like that of a process that inspects the lock file, which lasts until the last attempt.
        let look = File::open(folder.join(FILE)).unwrap();
        look.try_lock_shared().unwrap();
        let mut waits = 0;
        let wait = || {
            waits += 1;
            if waits == TRIES {
                look.unlock().unwrap();
            }
        };
        drop(Lock::take_waiting(&folder, Millis(0), wait).unwrap());
        assert_eq!(waits, TRIES);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_local_disk_is_not_refused() {
        refuse_network(&std::env::temp_dir()).unwrap();
    }
}
