//! The file `versions.tsv`: a copy of the time ranges in which segments are valid.
//!
//! A new journal needs it if the old one is lost: the segments do not say which of them were superseded. The first line
//! is the SHA-256 of the others. Each of the others has a path, when the segment superseded others, and when others
//! superseded it.

use std::fs;
use std::path::Path;

use crate::archive::ArchiveError;
use crate::archive::catalog::file_versions::Generation;
use crate::archive::checksums::file_checksum::checksum;
use crate::archive::files;
use crate::archive::segment::atomic_write::place;
use crate::model::Millis;

/// Name of the file in the archive's folder.
pub(crate) const FILE: &str = "versions.tsv";

/// Segments that superseded others or were superseded, by path.
pub(crate) type Versions = Vec<(String, Generation)>;

/// Writes the file, if its content has changed.
pub(crate) fn write(folder: &Path, versions: &Versions) -> Result<(), ArchiveError> {
    let path = folder.join(FILE);
    files::refuse_other_than_file(&path)?;
    let cell = |at: Option<Millis>| at.map(|at| at.0.to_string()).unwrap_or_default();
    let lines = versions
        .iter()
        .map(|(path, of)| format!("{path}\t{}\t{}\n", cell(of.since), cell(of.superseded_at)))
        .collect::<Vec<_>>()
        .concat();
    let text = format!("{}\n{lines}", checksum(lines.as_bytes()));
    let old = fs::read(&path).unwrap_or_default();
    if old == text.as_bytes() || versions.is_empty() && old.is_empty() {
        return Ok(());
    }
    files::remove_if_there(&files::unfinished(&path))?;
    place(folder, Path::new(FILE), text.as_bytes(), &mut |_, _| ())
}

/// Reads the file; a missing file has no versions.
pub(crate) fn read(folder: &Path) -> Result<Versions, ArchiveError> {
    let path = folder.join(FILE);
    files::refuse_other_than_file(&path)?;
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(ArchiveError::of_file(&path, source)),
    };
    parsed(&text).ok_or_else(|| ArchiveError::Damaged {
        path,
        message: "its content does not match its SHA-256; restore it from a copy".to_owned(),
    })
}

fn parsed(text: &[u8]) -> Option<Versions> {
    let (sum, lines) = std::str::from_utf8(text).ok()?.split_once('\n')?;
    if sum != checksum(lines.as_bytes()) {
        return None;
    }
    let instant = |cell: &str| match cell {
        "" => Some(None),
        digits => digits.parse().ok().map(|at| Some(Millis(at))),
    };
    lines
        .lines()
        .map(|line| {
            let mut cells = line.split('\t');
            let path = cells.next()?.to_owned();
            let since = instant(cells.next()?)?;
            let superseded_at = instant(cells.next()?)?;
            let generation = Generation {
                since,
                superseded_at,
            };
            Some((path, generation))
        })
        .collect()
}
