//! Files to import: plain, compressed by gzip or zstd, or members of a zip archive.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::collect::import::column_rows::ColumnRows;
use crate::collect::import::file_rows::FileRows;
use crate::feeds::dumps::{FileContent, FileName, unpacked};
use crate::model::Millis;
use crate::net::kind_name;

/// Number of bytes at the start of a file from which its content is recognised.
const SAMPLE: u64 = 1024;

/// The place of a row: the index of its source, and its line number in that source.
pub(crate) type Place = (usize, u64);

/// One source of rows: a file, or one member of a zip archive.
#[derive(Clone, Debug)]
pub(crate) struct FileSource {
    pub(crate) name: FileName,
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    /// A file of columns with this content.
    Columns(FileContent),
    Packed,
    /// The member of a zip archive with this index, and its time.
    Zip(usize, Option<Millis>),
}

/// Why a file could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct Unopened {
    /// The file.
    pub path: PathBuf,
    /// Why the file could not be opened.
    pub message: String,
}

fn unopened(path: &Path, why: &dyn std::fmt::Display) -> Unopened {
    Unopened {
        path: path.to_owned(),
        message: why.to_string(),
    }
}

/// The kind of content of the file at `path`.
///
/// # Errors
///
/// [`Unopened`] if the file is missing or is not a regular file. The second case is detected before the file is opened,
/// because opening a pipe blocks.
pub fn content_of(path: &Path) -> Result<FileContent, Unopened> {
    let fault = |why: io::Error| unopened(path, &why);
    let kind = fs::metadata(path).map_err(fault)?.file_type();
    if !kind.is_file() {
        let message = format!(
            "it is {}; allowed: a file, or - for the standard input",
            kind_name(kind)
        );
        return Err(unopened(path, &message));
    }
    let mut begin = Vec::new();
    let file = File::open(path).map_err(fault)?;
    file.take(SAMPLE).read_to_end(&mut begin).map_err(fault)?;
    Ok(FileContent::of(&begin))
}

/// The sources in the file at `path`. Messages show its name as `shown`.
pub(crate) fn sources(path: &Path, shown: &str) -> Result<Vec<FileSource>, Unopened> {
    let content = content_of(path)?;
    let unopened = |why: &dyn std::fmt::Display| unopened(Path::new(shown), why);
    let one = |kind| FileSource {
        name: FileName::new(shown, None),
        path: path.to_owned(),
        kind,
    };
    match content {
        FileContent::Zip => {}
        FileContent::Gzip | FileContent::Zstd => return Ok(vec![one(Kind::Packed)]),
        FileContent::Parquet | FileContent::ArrowFile | FileContent::ArrowStream => {
            return Ok(vec![one(Kind::Columns(content))]);
        }
        _ => return Ok(vec![one(Kind::Plain)]),
    }
    let file = File::open(path).map_err(|why| unopened(&why))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|why| unopened(&why))?;
    let mut members = Vec::new();
    for place in 0..archive.len() {
        let (member, written_at) = {
            let member = archive.by_index_raw(place).map_err(|why| unopened(&why))?;
            let written_at = member
                .last_modified()
                .and_then(|at| Millis::read_iso(&at.to_string()));
            let name = member.name().map_err(|why| unopened(&why))?.into_owned();
            (name, written_at)
        };
        if member == WORKBOOK {
            let message = "it is an Excel workbook, which is not read; save the sheet as CSV";
            return Err(unopened(&message));
        }
        if is_metadata(&member) {
            continue;
        }
        members.push(FileSource {
            name: FileName::new(shown, Some(&member)),
            path: path.to_owned(),
            kind: Kind::Zip(place, written_at),
        });
    }
    if members.is_empty() {
        return Err(unopened(&"it is a zip without a file"));
    }
    Ok(members)
}

/// A member that every Excel workbook contains; a workbook is a zip archive.
const WORKBOOK: &str = "xl/workbook.xml";

/// Whether a member of a zip archive is a folder, or metadata of an operating system.
fn is_metadata(member: &str) -> bool {
    let mut parts = member.split(['/', '\\']);
    let last = parts.next_back().unwrap_or_default();
    last.is_empty()
        || last.starts_with("._")
        || [".DS_Store", "Thumbs.db", "desktop.ini"].contains(&last)
        || parts.any(|folder| folder == "__MACOSX")
}

impl FileSource {
    /// Whether a plain file ends within a line, as a truncated file does. In a compressed file, the decompressor
    /// detects truncation.
    pub(crate) fn ends_within_a_line(&self) -> bool {
        let last = || -> io::Result<u8> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::End(-1))?;
            let mut byte = [0];
            file.read_exact(&mut byte)?;
            Ok(byte[0])
        };
        matches!(self.kind, Kind::Plain) && last().is_ok_and(|byte| byte != b'\n')
    }

    /// When the file was written last. The time of a member of a zip archive has no time zone and is taken as UTC.
    pub(crate) fn written_at(&self) -> Option<Millis> {
        if let Kind::Zip(_, written_at) = self.kind {
            return written_at;
        }
        let modified = fs::metadata(&self.path).ok()?.modified().ok()?;
        let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok().map(Millis)
    }

    /// Calls `work` with the rows of the source; the inner error says why they are not read.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(FileRows<'_>) -> T,
    ) -> Result<Result<T, String>, Unopened> {
        let unopened = |why: &dyn std::fmt::Display| unopened(&self.path, why);
        if let Kind::Columns(content) = self.kind {
            let rows = ColumnRows::open(&self.path, content);
            return Ok(rows.map(|rows| work(FileRows::Columns(Box::new(rows)))));
        }
        let file = File::open(&self.path).map_err(|why| unopened(&why))?;
        let Kind::Zip(place, _) = self.kind else {
            let bytes: Box<dyn Read> = Box::new(file);
            let bytes = match self.kind {
                Kind::Packed => unpacked(bytes),
                _ => bytes,
            };
            return Ok(FileRows::text(bytes).map(work));
        };
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|why| unopened(&why))?;
        let member = archive.by_index(place).map_err(|why| unopened(&why))?;
        Ok(FileRows::text(unpacked(Box::new(member))).map(work))
    }
}
