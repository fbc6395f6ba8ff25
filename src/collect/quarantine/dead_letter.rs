//! The file of what was set aside: what was refused, could not be read or could not be priced, `set_aside.jsonl` beside the
//! journal.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Its name.
pub(crate) const ASIDE: &str = "set_aside.jsonl";

/// The file of what was set aside, which only grows so large.
#[derive(Debug)]
pub(crate) struct AsideFile {
    path: PathBuf,
    file: Option<File>,
    most: u64,
    left: u64,
    /// Whether it was said that nothing more is written.
    is_said: bool,
}

/// What became of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Aside {
    Written,
    /// It is left out, and so will be the next; why is said once.
    Full(String),
    /// It is left out like others before.
    LeftOut,
}

impl AsideFile {
    pub(crate) fn new(archive: &Path, most: u64) -> Self {
        let path = archive.join(ASIDE);
        let size = std::fs::symlink_metadata(&path).map_or(0, |file| file.len());
        Self {
            path,
            file: None,
            most,
            left: most.saturating_sub(size),
            is_said: false,
        }
    }

    /// Writes a line, as far as there is room.
    pub(crate) fn write(&mut self, line: &str) -> Aside {
        match self.try_write(line) {
            Ok(()) => {
                self.is_said = false;
                Aside::Written
            }
            Err(_) if self.is_said => Aside::LeftOut,
            Err(why) => {
                self.is_said = true;
                Aside::Full(why)
            }
        }
    }

    fn try_write(&mut self, line: &str) -> Result<(), String> {
        let size = u64::try_from(line.len())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        if size > self.left {
            return Err(format!(
                "{ASIDE} is full ({} bytes, aside_bytes); what comes is counted and not kept there: move it away and start \
                 anew, or allow more",
                self.most
            ));
        }
        let fault = |error: std::io::Error| {
            format!("{ASIDE} cannot be written ({error}); what comes is counted and not kept there")
        };
        if self.file.is_none() {
            // Behind a link lies somebody else's file, and a pipe lets whoever opens it wait.
            match std::fs::symlink_metadata(&self.path) {
                Ok(found) if !found.is_file() => {
                    let why = "it is a link or no plain file";
                    return Err(fault(std::io::Error::other(why)));
                }
                _ => {}
            }
            let mut options = OpenOptions::new();
            let opened = options.create(true).append(true).open(&self.path);
            self.file = Some(opened.map_err(fault)?);
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.write_all(format!("{line}\n").as_bytes())
            .map_err(fault)?;
        self.left -= size;
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::collect::quarantine::dead_letter::*;

    #[test]
    fn a_full_file_says_so_once() {
        let folder = std::env::temp_dir().join(format!("liqdata-aside-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut aside = AsideFile::new(&folder, 10);
        assert_eq!(aside.write("1234"), Aside::Written);
        let full = aside.write("123456");
        assert!(
            matches!(&full, Aside::Full(why) if why.contains("full (10 bytes")),
            "{full:?}"
        );
        assert_eq!(aside.write("123456"), Aside::LeftOut);
        // A shorter one may still have room.
        assert_eq!(aside.write("1234"), Aside::Written);
        assert_eq!(
            std::fs::read_to_string(folder.join(ASIDE)).unwrap(),
            "1234\n1234\n"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_behind_a_link() {
        let folder = std::env::temp_dir().join(format!("liqdata-linked-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mine = folder.join("thesis.txt");
        std::fs::write(&mine, "years of work").unwrap();
        std::os::unix::fs::symlink(&mine, folder.join(ASIDE)).unwrap();
        let said = AsideFile::new(&folder, 1000).write("1234");
        assert!(
            matches!(&said, Aside::Full(why) if why.contains("a link")),
            "{said:?}"
        );
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), "years of work");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
