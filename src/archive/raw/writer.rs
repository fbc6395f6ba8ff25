//! The keeper of frames: a thread of its own that writes them beside the rows, and never in their way.
//!
//! What is handed over waits in a queue of so many bytes; what finds no room there, or cannot be written, is dropped,
//! counted and written down as missing. While the rows themselves find no room on the disk nothing is written here, and
//! the oldest files make room for them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::archive::catalog::manifest::Day;
use crate::archive::raw::file::RawFileWriter;
use crate::archive::raw::line;
use crate::archive::raw::line::{RawLine, RawLineKind};
use crate::archive::{ArchiveError, files};
use crate::model::Millis;

/// How often what came is handed to the system, and it is looked whether the rows need room.
const TICK: Duration = Duration::from_secs(1);
/// How long nothing is written after a write failed.
const PAUSE: Duration = Duration::from_secs(10);
/// How often it is looked whether files are too old or too many.
const LOOK: Duration = Duration::from_mins(10);
/// Bytes that may wait to be written.
const QUEUE: usize = 32 << 20;
/// Bytes of a file after which the next one begins: the oldest are let go one by one.
const LARGE: u64 = 64 << 20;

/// How many frames are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRetention {
    /// For so many days.
    pub days: u32,
    /// So many bytes of them, as they lie on the disk.
    pub bytes: u64,
}

impl RawRetention {
    /// Whether none are.
    #[must_use]
    pub fn is_off(self) -> bool {
        self.days == 0 || self.bytes == 0
    }
}

/// How the keeping of frames goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RawStatus {
    /// Frames written.
    pub frames: u64,
    /// Frames that could not be kept.
    pub dropped: u64,
    /// Bytes of all frames on the disk, as of the last look.
    pub bytes: u64,
    /// Why frames are not being kept at the moment, if so.
    pub trouble: Option<String>,
}

enum RawMessage {
    Line(Box<RawLine>),
    Markets(String, u32, Vec<RawLine>),
    Stop,
}

/// Frames of an exchange that were dropped: since when, until when, how many.
type DroppedFrames = (Millis, Millis, u64);

#[derive(Default)]
struct RawState {
    status: RawStatus,
    dropped: BTreeMap<String, DroppedFrames>,
}

impl RawState {
    fn drop_line(&mut self, exchange: &str, at: Millis) {
        self.status.dropped += 1;
        let dropped = self
            .dropped
            .entry(exchange.to_owned())
            .or_insert((at, at, 0));
        *dropped = (dropped.0.min(at), dropped.1.max(at), dropped.2 + 1);
    }
}

struct RawThread {
    messages: mpsc::Sender<RawMessage>,
    waiting: Arc<AtomicUsize>,
    shared: Arc<Mutex<RawState>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    pid: u32,
}

impl Drop for RawThread {
    fn drop(&mut self) {
        // After a fork the thread is the parent's.
        if self.pid != std::process::id() {
            std::mem::forget(locked(&self.thread).take());
        }
    }
}

/// Where frames are handed to their keeper; clones hand to the same one. It ends with the last of them.
#[derive(Clone, Default)]
pub struct RawQueue(Option<Arc<RawThread>>);

impl fmt::Debug for RawQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawQueue")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RawQueue {
    /// Starts to keep frames in the archive in the folder `base`, whose writer this process is; `rows_need_room` says
    /// whether the rows find no room on the disk. Keeps none where the bounds say so.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Io`] where no thread can be had.
    pub fn start(
        base: &Path,
        bounds: RawRetention,
        rows_need_room: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self, ArchiveError> {
        if bounds.is_off() {
            return Ok(Self(None));
        }
        let (messages, received) = mpsc::channel();
        let (waiting, shared) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let writer = RawWriterLoop {
            base: base.to_owned(),
            bounds,
            rows_need_room: Box::new(rows_need_room),
            waiting: Arc::clone(&waiting),
            shared: Arc::clone(&shared),
            files: HashMap::new(),
            openings: HashMap::new(),
            paused: None,
            looked: None,
        };
        let thread = thread::Builder::new()
            .name("liqdata-raw".to_owned())
            .spawn(move || writer.work(&received))
            .map_err(|source| ArchiveError::of_file(base, source))?;
        Ok(Self(Some(Arc::new(RawThread {
            messages,
            waiting,
            shared,
            thread: Mutex::new(Some(thread)),
            pid: std::process::id(),
        }))))
    }

    /// Hands over a line; never waits. What is handed over where nothing is kept is let go.
    pub fn offer(&self, line: RawLine) {
        let Some(thread) = &self.0 else { return };
        let bytes = line.frame.len();
        if thread.waiting.load(Ordering::Relaxed).saturating_add(bytes) > QUEUE {
            let mut shared = locked(&thread.shared);
            shared.drop_line(&line.exchange, line.received_at);
            shared.status.trouble = Some("frames came faster than they could be kept".to_owned());
            return;
        }
        thread.waiting.fetch_add(bytes, Ordering::Relaxed);
        let _ = thread.messages.send(RawMessage::Line(Box::new(line)));
    }

    /// Hands over the pages of one of an exchange's lists of markets, by which what comes from now on is read.
    pub fn markets(&self, exchange: &str, list: u32, pages: Vec<RawLine>) {
        if let Some(thread) = &self.0 {
            let _ = thread
                .messages
                .send(RawMessage::Markets(exchange.to_owned(), list, pages));
        }
    }

    /// Whether frames are kept.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// How it goes.
    #[must_use]
    pub fn status(&self) -> RawStatus {
        self.0
            .as_ref()
            .map(|thread| locked(&thread.shared).status.clone())
            .unwrap_or_default()
    }

    /// Writes what was handed over and ends; not for threads that drive asynchronous tasks.
    pub fn stop(&self) {
        if let Some(thread) = &self.0 {
            let _ = thread.messages.send(RawMessage::Stop);
            // One that failed has nothing more to write.
            let _ = locked(&thread.thread).take().map(JoinHandle::join);
        }
    }
}

/// What stands at the begin of every file of an exchange.
#[derive(Default)]
struct FileHeader {
    /// The line by which the collector began.
    start: Option<Vec<u8>>,
    /// The lists of markets as they are, compressed.
    lists: BTreeMap<u32, Vec<u8>>,
}

struct RawWriterLoop {
    base: PathBuf,
    bounds: RawRetention,
    rows_need_room: Box<dyn Fn() -> bool + Send>,
    waiting: Arc<AtomicUsize>,
    shared: Arc<Mutex<RawState>>,
    /// The files that are being written, by exchange.
    files: HashMap<String, RawFileWriter>,
    openings: HashMap<String, FileHeader>,
    /// Until when nothing is written.
    paused: Option<Instant>,
    looked: Option<Instant>,
}

impl RawWriterLoop {
    fn work(mut self, messages: &mpsc::Receiver<RawMessage>) {
        self.look();
        let mut flush_at = Instant::now() + TICK;
        loop {
            match messages.recv_timeout(flush_at.saturating_duration_since(Instant::now())) {
                Ok(RawMessage::Line(line)) => self.line(&line),
                Ok(RawMessage::Markets(exchange, list, pages)) => {
                    self.markets(&exchange, list, &pages);
                }
                Ok(RawMessage::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= flush_at {
                self.tick();
                flush_at = Instant::now() + TICK;
            }
        }
        // What was handed over before the end was asked for stands before it in the queue.
        for (_, file) in std::mem::take(&mut self.files) {
            if let Err(fault) = file.finish() {
                self.fail(&fault);
            }
        }
    }

    fn tick(&mut self) {
        let mut failed = Vec::new();
        for (exchange, file) in &mut self.files {
            if let Err(fault) = file.flush() {
                failed.push((exchange.clone(), fault));
            }
        }
        for (exchange, fault) in failed {
            self.files.remove(&exchange);
            self.fail(&fault);
        }
        if (self.rows_need_room)() {
            self.make_room();
        }
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.look();
        }
    }

    fn line(&mut self, line: &RawLine) {
        self.waiting.fetch_sub(line.frame.len(), Ordering::Relaxed);
        if line.kind == RawLineKind::Start {
            let opening = self.openings.entry(line.exchange.clone()).or_default();
            opening.start = Some(text_of(line));
            return;
        }
        let (exchange, at) = (line.exchange.clone(), line.received_at);
        let may_write = self.paused.is_none_or(|until| Instant::now() >= until);
        let written = may_write && !(self.rows_need_room)() && {
            match self.write(&exchange, at, &text_of(line)) {
                Ok(()) => true,
                Err(fault) => {
                    self.fail(&fault);
                    false
                }
            }
        };
        let mut shared = locked(&self.shared);
        if written {
            shared.status.frames += 1;
            shared.status.trouble = None;
            self.paused = None;
        } else {
            shared.drop_line(&exchange, at);
        }
    }

    /// Writes lines of an exchange, behind what was missed before them.
    fn write(&mut self, exchange: &str, at: Millis, lines: &[u8]) -> Result<(), ArchiveError> {
        let day = Day::of(at);
        let mut file = match self.files.remove(exchange) {
            // A clock that is set back is no new day.
            Some(file) if file.day >= day && file.bytes() < LARGE => file,
            before => {
                if let Some(before) = before {
                    before.finish()?;
                }
                self.look();
                self.begin(exchange, day)?
            }
        };
        let missed = locked(&self.shared).dropped.get(exchange).copied();
        if let Some((from, until, frames)) = missed {
            file = file.write(&text_of(&RawLine {
                from: Some(from),
                until: Some(until.on(1)),
                frames: Some(frames),
                ..RawLine::new(exchange, at, RawLineKind::Dropped)
            }))?;
        }
        file = file.write(lines)?;
        if missed.is_some() {
            // What was dropped by another thread meanwhile is told once more, with this.
            let mut shared = locked(&self.shared);
            if shared.dropped.get(exchange).copied() == missed {
                shared.dropped.remove(exchange);
            }
        }
        self.files.insert(exchange.to_owned(), file);
        Ok(())
    }

    fn begin(&self, exchange: &str, day: Day) -> Result<RawFileWriter, ArchiveError> {
        let mut file = RawFileWriter::create(&self.base, exchange, day)?;
        if let Some(opening) = self.openings.get(exchange) {
            if let Some(start) = &opening.start {
                file = file.write(start)?;
            }
            for packed in opening.lists.values() {
                let lists = zstd::stream::decode_all(packed.as_slice())
                    .map_err(|source| ArchiveError::of_file(&file.path, source))?;
                file = file.write(&lists)?;
            }
        }
        Ok(file)
    }

    fn markets(&mut self, exchange: &str, list: u32, pages: &[RawLine]) {
        let text: Vec<u8> = pages.iter().flat_map(text_of).collect();
        if let Ok(packed) = zstd::stream::encode_all(text.as_slice(), 3) {
            let opening = self.openings.entry(exchange.to_owned()).or_default();
            opening.lists.insert(list, packed);
        }
        // A file that is not begun yet will begin with them.
        if let Some(file) = self.files.remove(exchange) {
            match file.write(&text) {
                Ok(file) => {
                    self.files.insert(exchange.to_owned(), file);
                }
                Err(fault) => self.fail(&fault),
            }
        }
    }

    fn fail(&mut self, fault: &ArchiveError) {
        self.paused = Some(Instant::now() + PAUSE);
        let fault = fault.to_string();
        let mut shared = locked(&self.shared);
        if shared.status.trouble.replace(fault.clone()).is_none() {
            drop(shared);
            log::warn!(target: "liqdata::archive", "frames are not being kept: {fault}");
        }
    }

    /// Gives the oldest file up for rows that find no room.
    fn make_room(&mut self) {
        let Some(oldest) = self.not_being_written().into_iter().next() else {
            return;
        };
        log::warn!(
            target: "liqdata::archive",
            "the disk is full: {} bytes of frames are given up for rows: {}",
            oldest.bytes,
            oldest.path.display()
        );
        if let Err(fault) = files::remove(&oldest.path) {
            self.fail(&fault);
        }
    }

    fn not_being_written(&self) -> Vec<line::RawFileEntry> {
        let mut parts = line::parts(&self.base).unwrap_or_default().0;
        parts.retain(|part| self.files.values().all(|file| file.path != part.path));
        parts
    }

    /// Lets files go that are too old or too many, the oldest first.
    fn look(&mut self) {
        self.looked = Some(Instant::now());
        let closed = self.not_being_written();
        let open: u64 = self.files.values().map(RawFileWriter::bytes).sum();
        let mut bytes = closed.iter().map(|part| part.bytes).sum::<u64>() + open;
        let days = i64::from(self.bounds.days).saturating_mul(Millis::DAY);
        let today = Day::of(crate::archive::clock::wall_clock()).end();
        for part in closed {
            let is_old = part.date.on(days) < today;
            if !is_old && bytes <= self.bounds.bytes {
                break;
            }
            match files::remove(&part.path) {
                Ok(()) => {
                    bytes = bytes.saturating_sub(part.bytes);
                    // Folders go with their last file.
                    let _ = part.path.parent().map(std::fs::remove_dir);
                }
                Err(fault) => {
                    self.fail(&fault);
                    break;
                }
            }
        }
        locked(&self.shared).status.bytes = bytes;
    }
}

/// A line as it is written.
fn text_of(line: &RawLine) -> Vec<u8> {
    // Texts and numbers always become JSON.
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text
}
