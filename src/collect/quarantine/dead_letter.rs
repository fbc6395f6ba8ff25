//! The dead-letter file `quarantine.jsonl` of an archive: frames and rows that were not stored, as one JSON object per
//! line.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::collect::quarantine::quarantined_order::QuarantinedOrder;
use crate::model::Millis;

/// Name of the dead-letter file in the archive's folder.
pub(crate) const DEAD_LETTER_FILE: &str = "quarantine.jsonl";

/// Why a frame, event or row was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeadLetterKind {
    /// The frame or event could not be decoded, or the time of the event is impossible.
    Rejected,
    /// The event has no value in USD.
    Unpriced,
    /// The order is in quarantine.
    Quarantined,
    /// The archive cannot store one of its values.
    Unstorable,
}

/// One line of the dead-letter file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeadLetter<'t> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exchange: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) received_at: Option<Millis>,
    pub(crate) kind: DeadLetterKind,
    pub(crate) reason: &'t str,
    /// The frame or body as it was received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) frame: Option<&'t str>,
    /// The row that could not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) row: Option<&'t str>,
    /// The order in quarantine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quarantined: Option<QuarantinedOrder>,
}

impl<'t> DeadLetter<'t> {
    pub(crate) fn new(kind: DeadLetterKind, reason: &'t str) -> Self {
        Self {
            exchange: None,
            received_at: None,
            kind,
            reason,
            frame: None,
            row: None,
            quarantined: None,
        }
    }
}

/// The dead-letter file, which has a maximum size.
#[derive(Debug)]
pub(crate) struct DeadLetterFile {
    path: PathBuf,
    file: Option<File>,
    most: u64,
    left: u64,
    /// Whether the reason for the last failure to write was already returned.
    is_reported: bool,
}

/// Whether a line was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Yes,
    /// The line was dropped, for this reason. The reason is returned only once.
    Full(String),
    /// The line was dropped, for a reason that an earlier call returned.
    Dropped,
}

impl DeadLetterFile {
    pub(crate) fn new(archive: &Path, most: u64) -> Self {
        let path = archive.join(DEAD_LETTER_FILE);
        let size = std::fs::symlink_metadata(&path).map_or(0, |file| file.len());
        Self {
            path,
            file: None,
            most,
            left: most.saturating_sub(size),
            is_reported: false,
        }
    }

    /// Appends a line if the file has room for it.
    pub(crate) fn write(&mut self, line: &str) -> Written {
        match self.try_write(line) {
            Ok(()) => {
                self.is_reported = false;
                Written::Yes
            }
            Err(_) if self.is_reported => Written::Dropped,
            Err(why) => {
                self.is_reported = true;
                Written::Full(why)
            }
        }
    }

    fn try_write(&mut self, line: &str) -> Result<(), String> {
        let size = u64::try_from(line.len())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        if size > self.left {
            return Err(format!(
                "{DEAD_LETTER_FILE} is full ({} bytes, dead_letter_bytes), so further dead letters are only counted; move the \
                 file away or raise dead_letter_bytes",
                self.most
            ));
        }
        let fault = |error: std::io::Error| {
            format!(
                "{DEAD_LETTER_FILE} cannot be written ({error}), so dead letters are only counted"
            )
        };
        if self.file.is_none() {
            // Only a plain file is opened: a link may point to another program's file, and opening a pipe blocks.
            match std::fs::symlink_metadata(&self.path) {
                Ok(found) if !found.is_file() => {
                    let why = "it is a link or not a regular file";
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
    use super::*;

    #[test]
    fn a_full_file_is_reported_once() {
        let folder = std::env::temp_dir().join(format!("liqdata-letters-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut letters = DeadLetterFile::new(&folder, 10);
        assert_eq!(letters.write("1234"), Written::Yes);
        let full = letters.write("123456");
        assert!(
            matches!(&full, Written::Full(why) if why.contains("full (10 bytes")),
            "{full:?}"
        );
        assert_eq!(letters.write("123456"), Written::Dropped);
        // A shorter line still fits.
        assert_eq!(letters.write("1234"), Written::Yes);
        assert_eq!(
            std::fs::read_to_string(folder.join(DEAD_LETTER_FILE)).unwrap(),
            "1234\n1234\n"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = std::env::temp_dir().join(format!("liqdata-linked-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mine = folder.join("thesis.txt");
        std::fs::write(&mine, "years of work").unwrap();
        std::os::unix::fs::symlink(&mine, folder.join(DEAD_LETTER_FILE)).unwrap();
        let written = DeadLetterFile::new(&folder, 1000).write("1234");
        assert!(
            matches!(&written, Written::Full(why) if why.contains("a link")),
            "{written:?}"
        );
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), "years of work");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
