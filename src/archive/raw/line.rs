//! Format of raw frames: received messages, stored so that they can be decoded again.
//!
//! A file contains messages that one exchange sent on one day, as zstd-compressed JSON lines:
//! `raw/date=2026-11-20/okx-….jsonl.zst`. The file starts with the latest instrument lists, so that decoding needs no
//! other file. The compressed stream is split into zstd frames, each with a checksum. A truncated file is readable up
//! to its last complete line.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest::Day;
use crate::archive::store::store::Store;
use crate::model::{Millis, sort_small};

/// Folder of raw frames in an archive.
pub(crate) const FOLDER: &str = "raw";
/// File name extension.
const ENDING: &str = ".jsonl.zst";
/// Length of the UUID in a file name.
const ID: usize = 36;
/// Number of bytes decompressed or skipped between two calls of `goes_on`.
const LOOK: usize = 1 << 20;
/// Number of zstd frames read between two calls of `goes_on`.
///
/// Needed because a zstd frame may be tiny.
const MANY: u32 = 512;
/// Maximum size of a decompressed zstd frame, in bytes.
///
/// A message has at most 16 MiB, unless the collector is configured otherwise.
const MOST: u64 = 256 << 20;

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawLineKind {
    /// A message received on a WebSocket.
    Socket,
    /// Body of a REST response of a backfill.
    Request,
    /// A page of an instrument list.
    Markets,
    /// Start of a collector, which is limited to `coins` if that field is set.
    ///
    /// The line contains no message.
    Start,
    /// Record of messages that were dropped: `frames` messages between `from` and `until`.
    #[serde(rename = "missed")]
    Dropped,
}

/// A line of a file: a received message with the data needed to decode it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawLine {
    /// Exchange that sent the message.
    pub exchange: String,
    /// When the message was received.
    pub received_at: Millis,
    /// Kind of the line.
    #[serde(rename = "came")]
    pub kind: RawLineKind,
    /// Requested instrument, if the response body does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub market: Option<String>,
    /// Start of the requested time range, or of the dropped messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Millis>,
    /// End of the requested time range, or of the dropped messages, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
    /// Number of the instrument list; an exchange may have several lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<u32>,
    /// Page of the instrument list, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Path and query of the request.
    #[serde(rename = "asked", default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Coins that the collector is limited to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coins: Option<Vec<String>>,
    /// Number of dropped messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,
    /// The message or response body, unchanged.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub frame: String,
}

impl RawLine {
    /// Creates a line with all optional fields empty.
    #[must_use]
    pub fn new(exchange: &str, received_at: Millis, kind: RawLineKind) -> Self {
        Self {
            exchange: exchange.to_owned(),
            received_at,
            kind,
            market: None,
            from: None,
            until: None,
            list: None,
            page: None,
            request: None,
            coins: None,
            frames: None,
            frame: String::new(),
        }
    }
}

/// A file of raw frames.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RawFileEntry {
    /// Start of the file's day.
    pub date: Millis,
    /// UUID of the file; UUIDs sort by time of creation.
    id: String,
    /// Exchange.
    pub exchange: String,
    /// Path of the file.
    pub path: PathBuf,
    /// Length in bytes.
    pub bytes: u64,
}

/// Path of a new file, relative to the archive's folder.
pub(crate) fn name(exchange: &str, date: &str) -> PathBuf {
    let file = format!("{exchange}-{}{ENDING}", Uuid::now_v7());
    PathBuf::from(FOLDER)
        .join(format!("date={date}"))
        .join(file)
}

/// Lists the files of raw frames, and all other entries of their folder.
///
/// The files are sorted by day and time of creation.
pub(crate) fn parts(base: &Path) -> io::Result<(Vec<RawFileEntry>, Vec<PathBuf>)> {
    let (mut found, mut strange) = (Vec::new(), Vec::new());
    for (folder, is_folder) in entries(&base.join(FOLDER))? {
        let date = folder.file_name().and_then(|name| {
            let name = name.to_str()?.strip_prefix("date=")?;
            Millis::read_iso(name).filter(|at| Day::of(*at).name() == name)
        });
        let (Some(date), true) = (date, is_folder) else {
            strange.push(folder);
            continue;
        };
        for (path, is_folder) in entries(&folder)? {
            match (part(&path, date), is_folder) {
                (Some(part), false) => found.push(part),
                _ => strange.push(path),
            }
        }
    }
    sort_small(&mut found, Ord::cmp);
    Ok((found, strange))
}

/// Lists the entries of a folder, and whether each is a folder.
///
/// Symbolic links are not followed. If the path is not a folder, the result contains only the path.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let read = match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => fs::read_dir(folder)?,
        Ok(_) => return Ok(vec![(folder.to_owned(), false)]),
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(source),
    };
    read.map(|entry| {
        let entry = entry?;
        Ok((entry.path(), entry.file_type()?.is_dir()))
    })
    .collect()
}

fn part(path: &Path, date: Millis) -> Option<RawFileEntry> {
    let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
    let (exchange, id) = name.split_at_checked(name.len().checked_sub(ID)?)?;
    let exchange = exchange.strip_suffix('-')?.to_owned();
    let found = fs::symlink_metadata(path).ok()?;
    (found.is_file() && Uuid::try_parse(id).is_ok() && !exchange.is_empty()).then(|| RawFileEntry {
        date,
        id: id.to_owned(),
        exchange,
        path: path.to_owned(),
        bytes: found.len(),
    })
}

/// Result of reading the next line of the current zstd frame.
enum NextLine {
    Line(Box<RawLine>),
    Nothing,
    /// `goes_on` returned false.
    Stop,
}

/// Iterator over the lines of a file, up to the first fault.
#[derive(Debug)]
pub struct RawLines {
    source: BufReader<File>,
    /// The current zstd frame, decompressed.
    ///
    /// `next` is the position of the next line in it.
    bytes: Vec<u8>,
    next: usize,
    fault: Option<String>,
    is_cut: bool,
    is_over: bool,
}

impl RawLines {
    fn open(part: &RawFileEntry) -> io::Result<Self> {
        Ok(Self {
            source: BufReader::new(File::open(&part.path)?),
            bytes: Vec::new(),
            next: 0,
            fault: None,
            is_cut: false,
            is_over: false,
        })
    }

    /// The first fault in the lines read so far, if any.
    ///
    /// Truncation is not a fault.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Whether the file was found to be truncated.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the next line; `None` at the end, or if `goes_on` returns false.
    pub fn next_while(&mut self, goes_on: &mut dyn FnMut() -> bool) -> Option<RawLine> {
        let mut read: u32 = 0;
        loop {
            match self.line(goes_on) {
                NextLine::Line(line) => return Some(*line),
                NextLine::Nothing => {}
                NextLine::Stop => return None,
            }
            if self.is_over {
                return None;
            }
            read += 1;
            if read.is_multiple_of(MANY) && !goes_on() {
                return None;
            }
            match self.read(goes_on) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(source) => self.over(source.to_string()),
            }
        }
    }

    /// Reads the next line of the current zstd frame.
    fn line(&mut self, goes_on: &mut dyn FnMut() -> bool) -> NextLine {
        let line = loop {
            let left = self.bytes.get(self.next..).unwrap_or_default();
            if left.is_empty() {
                return NextLine::Nothing;
            }
            let end = memchr::memchr(b'\n', left).unwrap_or(left.len());
            let begin = self.next;
            self.next += end + 1;
            if end > 0 {
                break self.bytes.get(begin..begin + end).unwrap_or_default();
            }
            // A file may have any number of empty lines, so `goes_on` is called between them.
            if self.next.is_multiple_of(LOOK) && !goes_on() {
                return NextLine::Stop;
            }
        };
        match serde_json::from_slice(line) {
            Ok(line) => NextLine::Line(Box::new(line)),
            Err(fault) => {
                self.over(format!("invalid line: {fault}"));
                NextLine::Nothing
            }
        }
    }

    /// Decompresses the next zstd frame; returns false if `goes_on` stopped it.
    fn read(&mut self, goes_on: &mut dyn FnMut() -> bool) -> io::Result<bool> {
        if self.source.fill_buf()?.is_empty() {
            self.is_over = true;
            return Ok(true);
        }
        let mut bytes = Vec::new();
        let decoder = zstd::stream::read::Decoder::with_buffer(&mut self.source)?;
        let mut decoder = decoder.single_frame();
        let read = loop {
            let some = decoder.by_ref().take(LOOK as u64).read_to_end(&mut bytes);
            match some {
                Ok(0) => break Ok(()),
                Ok(_) if bytes.len() as u64 >= MOST => {
                    self.over(format!("a compressed frame is larger than {MOST} bytes"));
                    return Ok(true);
                }
                Ok(_) if !goes_on() => return Ok(false),
                Ok(_) => {}
                Err(source) => break Err(source),
            }
        };
        match read {
            Ok(()) => {}
            Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                self.is_cut = true;
                self.is_over = true;
                let whole = bytes.iter().rposition(|byte| *byte == b'\n');
                bytes.truncate(whole.map_or(0, |end| end + 1));
            }
            // A wrong checksum or invalid zstd data: no line of this zstd frame is reliable.
            Err(source) => {
                self.over(source.to_string());
                return Ok(true);
            }
        }
        self.bytes = bytes;
        self.next = 0;
        Ok(true)
    }

    /// Ends the iteration with a fault.
    fn over(&mut self, fault: String) {
        self.is_over = true;
        self.fault = Some(fault);
        self.bytes.clear();
    }
}

impl Iterator for RawLines {
    type Item = RawLine;

    fn next(&mut self) -> Option<RawLine> {
        self.next_while(&mut || true)
    }
}

/// Implements `RawView::files`.
pub(crate) fn raw_files(store: &Store) -> Result<Vec<RawFileEntry>, ArchiveError> {
    Ok(raw_listing(store)?.0)
}

/// Implements `RawView::links`.
pub(crate) fn raw_links(store: &Store) -> Result<Vec<PathBuf>, ArchiveError> {
    let (_, mut strange) = raw_listing(store)?;
    strange.retain(|path| path.is_symlink());
    Ok(strange)
}

/// Lists the files of raw frames, and all other entries of their folder.
pub(crate) fn raw_listing(
    store: &Store,
) -> Result<(Vec<RawFileEntry>, Vec<PathBuf>), ArchiveError> {
    parts(&store.folder).map_err(|source| ArchiveError::of_file(&store.folder.join(FOLDER), source))
}

/// Implements `RawView::lines`.
pub(crate) fn raw_lines(part: &RawFileEntry) -> Result<RawLines, ArchiveError> {
    RawLines::open(part).map_err(|source| ArchiveError::of_file(&part.path, source))
}
