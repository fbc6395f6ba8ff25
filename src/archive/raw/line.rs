//! Frames as they came in, kept beside the rows, so that what was read of them can be read anew.
//!
//! A file holds what came from one exchange on one day, as lines of JSON in zstd: `raw/date=2026-11-20/okx-….jsonl.zst`.
//! It begins with the markets as they were listed last, so that every file can be read by itself. What is compressed
//! together ends now and then, with a checksum; a file that ends in the middle is read up to its last whole line.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::catalog::manifest::Day;
use crate::model::{Millis, sort_small};

/// The folder of the frames below the archive's own.
pub(crate) const FOLDER: &str = "raw";
/// The end of the names of their files.
const ENDING: &str = ".jsonl.zst";
/// The length of an identifier in a name.
const ID: usize = 36;
/// Bytes that are read, or lines of them passed over, between two looks whether to go on.
const LOOK: usize = 1 << 20;
/// What is compressed together may be next to nothing: after so many, too, it is looked.
const MANY: u32 = 512;
/// Most bytes that what is compressed together may come to; a frame has 16 MiB at most where nobody says otherwise.
const MOST: u64 = 256 << 20;

/// How a line came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawLineKind {
    /// A frame over a socket, as it happened.
    Socket,
    /// The body of a reply about liquidations of the past.
    Request,
    /// A page of a list of markets.
    Markets,
    /// Nothing kind: a collector began here, which takes `coins` alone where it names some.
    Start,
    /// Nothing is here: so many `frames` that came from one instant `until` another could not be kept.
    #[serde(rename = "missed")]
    Dropped,
}

/// A line: a frame and what has to be known to read it, or what has to be known of the lines around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawLine {
    /// The exchange.
    pub exchange: String,
    /// When it was received.
    pub received_at: Millis,
    /// How it came about.
    #[serde(rename = "came")]
    pub kind: RawLineKind,
    /// The market that was asked about, of a body that does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub market: Option<String>,
    /// The time asked about: from here …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Millis>,
    /// … until before here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
    /// Which of the exchange's lists of markets it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<u32>,
    /// Which page of it, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Path and query by which it was asked for.
    #[serde(rename = "asked", default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Coins whose orders alone are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coins: Option<Vec<String>>,
    /// How many frames are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,
    /// The frame or the body, to the letter.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub frame: String,
}

impl RawLine {
    /// A line of an exchange without anything.
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

/// A file of frames.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RawFileEntry {
    /// The first instant of its day.
    pub date: Millis,
    /// Tells it from the others; later ones have greater ones.
    id: String,
    /// Whose frames it holds.
    pub exchange: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
}

/// The name of a new file below the archive's folder.
pub(crate) fn name(exchange: &str, date: &str) -> PathBuf {
    let file = format!("{exchange}-{}{ENDING}", Uuid::now_v7());
    PathBuf::from(FOLDER)
        .join(format!("date={date}"))
        .join(file)
}

/// The files of frames below the archive's folder by day and then as they were begun, and what else lies there.
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

/// What lies in a folder, and whether it is a folder: links are none, and are not followed. What should be the folder and is
/// none is all there is.
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

/// What comes next of what was read.
enum NextLine {
    Line(Box<RawLine>),
    Nothing,
    /// It is not to go on.
    Stop,
}

/// The lines of a file, in order, as far as it can be read.
#[derive(Debug)]
pub struct RawLines {
    source: BufReader<File>,
    /// What was compressed together last, and where in it the next line begins.
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

    /// What is wrong with the file, as far as it has been read: not that it ends in the middle, as a killed process leaves
    /// it.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Whether it was found to end in the middle.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The next line; none at the end, or where `goes_on` says so, which is asked now and then however long the way to it.
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

    /// The next line of what was read.
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
            // Lines may be empty, any number of them.
            if self.next.is_multiple_of(LOOK) && !goes_on() {
                return NextLine::Stop;
            }
        };
        match serde_json::from_slice(line) {
            Ok(line) => NextLine::Line(Box::new(line)),
            Err(fault) => {
                self.over(format!("a line cannot be read: {fault}"));
                NextLine::Nothing
            }
        }
    }

    /// Reads what was compressed together next; gives whether to go on.
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
                    self.over(format!("more than {MOST} bytes are compressed together"));
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
            // A checksum that is another, or no zstd at all: nothing of it is as it was written.
            Err(source) => {
                self.over(source.to_string());
                return Ok(true);
            }
        }
        self.bytes = bytes;
        self.next = 0;
        Ok(true)
    }

    /// Nothing more is read.
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

impl Archive {
    /// The files of frames that are kept, by day and then as they were begun.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the folder cannot be looked through.
    pub fn raw_files(&self) -> Result<Vec<RawFileEntry>, ArchiveError> {
        Ok(self.raw_listing()?.0)
    }

    /// The links among what lies in the folder of the frames: none of them is followed.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the folder cannot be looked through.
    pub fn raw_links(&self) -> Result<Vec<PathBuf>, ArchiveError> {
        let (_, mut strange) = self.raw_listing()?;
        strange.retain(|path| path.is_symlink());
        Ok(strange)
    }

    /// The same, and what else lies in their folder.
    pub(crate) fn raw_listing(&self) -> Result<(Vec<RawFileEntry>, Vec<PathBuf>), ArchiveError> {
        parts(&self.folder)
            .map_err(|source| ArchiveError::of_file(&self.folder.join(FOLDER), source))
    }

    /// The lines of a file of frames.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where it cannot be opened. One that cannot be read to its end is no error: what is wrong with it is
    /// told by [`RawLines::fault`].
    pub fn raw_lines(&self, part: &RawFileEntry) -> Result<RawLines, ArchiveError> {
        RawLines::open(part).map_err(|source| ArchiveError::of_file(&part.path, source))
    }
}
