//! Folders that go away with the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A new folder, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("liqdata-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where the archive is.
    pub(crate) fn archive(&self) -> PathBuf {
        self.0.join("archive")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A small disk of its own, where this system lets us have one.
pub(crate) struct Disk(Folder);

impl Disk {
    /// A disk of `megabytes`, or `None` where mounting is not allowed; the reason is printed.
    pub(crate) fn of(megabytes: u32) -> Option<Self> {
        let folder = Folder::new();
        let made = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"])
            .arg(folder.path())
            .output();
        match made {
            Ok(output) if output.status.success() => Some(Self(folder)),
            Ok(output) => {
                eprintln!(
                    "skipped: no disk could be mounted: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                None
            }
            Err(fault) => {
                eprintln!("skipped: no disk could be mounted: {fault}");
                None
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.0.archive()
    }

    fn remounted(&self, how: &str) -> bool {
        let mut mount = Command::new("mount");
        let status = mount
            .args(["-o", &format!("remount,{how}")])
            .arg(self.path())
            .status();
        status.unwrap().success()
    }

    /// Allows writing again.
    pub(crate) fn thaw(&self) {
        assert!(self.remounted("rw"));
    }

    /// Allows no writing from now on.
    pub(crate) fn freeze(&self) {
        let frozen = || self.remounted("ro");
        // A process that another test begins has this one's files open until it is another program.
        for _ in 0..100 {
            if frozen() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        assert!(frozen());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

/// Removes `file`, and its blocks at once: a process that another test begins has it open until it is another program, and
/// would hold them.
pub(crate) fn give_back(file: &Path) {
    fs::write(file, []).unwrap();
    fs::remove_file(file).unwrap();
}

/// Every file below `folder` with the ending `ending`, or with any where that is empty, in order.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if ending.is_empty()
            || path
                .extension()
                .is_some_and(|extension| extension == ending)
        {
            found.push(path);
        }
    }
    found.sort();
    found
}
