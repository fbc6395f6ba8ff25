//! The file of what was set aside: what was refused, could not be read or could not be priced, `set_aside.jsonl` beside the
//! journal.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Its name.
const ASIDE: &str = "set_aside.jsonl";

/// The file of what was set aside, which only grows so large.
#[derive(Debug)]
pub(super) struct AsideFile {
    path: PathBuf,
    file: Option<File>,
    left: u64,
}

impl AsideFile {
    pub(super) fn new(archive: &Path, most: u64) -> Self {
        let path = archive.join(ASIDE);
        let size = std::fs::metadata(&path).map_or(0, |file| file.len());
        Self {
            path,
            file: None,
            left: most.saturating_sub(size),
        }
    }

    /// Writes a line, as far as there is room.
    pub(super) fn write(&mut self, line: &str) {
        let size = u64::try_from(line.len())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        if size > self.left {
            return;
        }
        if self.file.is_none() {
            self.file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(&self.path)
                .ok();
        }
        if let Some(file) = &mut self.file
            && file.write_all(format!("{line}\n").as_bytes()).is_ok()
        {
            self.left -= size;
        }
    }
}
