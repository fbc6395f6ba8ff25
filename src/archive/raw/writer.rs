//! A thread that writes raw frames without delaying rows.
//!
//! Frames wait in a queue of limited size. Frames that do not fit into the queue, or cannot be written, are dropped. A
//! line in the file records the dropped frames. While the disk has no space for rows, no frames are written, and the
//! oldest files of raw frames are deleted.

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

/// Interval between flushes, and between checks whether rows need disk space.
const TICK: Duration = Duration::from_secs(1);
/// Pause after a failed write before the next attempt.
const PAUSE: Duration = Duration::from_secs(10);
/// Interval between checks whether files exceed the retention.
const LOOK: Duration = Duration::from_mins(10);
/// Capacity of the queue in bytes.
const QUEUE: usize = 32 << 20;
/// File size, in bytes, from which on a new file is begun.
///
/// The retention deletes whole files, so files must not become too large.
const LARGE: u64 = 64 << 20;

/// Limits of the stored raw frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRetention {
    /// Maximum age in days.
    pub days: u32,
    /// Maximum total size of the files, in bytes.
    pub bytes: u64,
}

impl RawRetention {
    /// Whether storage is switched off, because a limit is 0.
    #[must_use]
    pub fn is_off(self) -> bool {
        self.days == 0 || self.bytes == 0
    }
}

/// Counters and state of the raw frame storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RawStatus {
    /// Number of frames written.
    pub frames: u64,
    /// Number of frames dropped.
    pub dropped: u64,
    /// Size of all files at the last check, in bytes.
    pub bytes: u64,
    /// Why frames are dropped or cannot be written, if so.
    pub trouble: Option<String>,
}

enum RawMessage {
    Line(Box<RawLine>),
    Markets(String, u32, Vec<RawLine>),
    Stop,
}

/// Dropped frames of an exchange: time of the first, time of the last, and number.
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
        // In a forked child, the thread does not exist; it belongs to the parent process.
        if self.pid != std::process::id() {
            std::mem::forget(locked(&self.thread).take());
        }
    }
}

/// Queue of raw frames to write.
///
/// Clones share the queue. The writer thread ends when the last clone is dropped.
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
    /// Starts the thread that writes raw frames of the archive in the folder `base`.
    ///
    /// This process must have the archive open for writing. `rows_need_room` returns whether the disk has no space for
    /// rows. If the retention is zero, no thread starts and nothing is stored.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Io`] if the thread cannot be started.
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

    /// Queues a line, or drops it if the queue is full; never waits.
    ///
    /// Does nothing if storage is switched off.
    pub fn offer(&self, line: RawLine) {
        let Some(thread) = &self.0 else { return };
        let bytes = line.frame.len();
        if thread.waiting.load(Ordering::Relaxed).saturating_add(bytes) > QUEUE {
            let mut shared = locked(&thread.shared);
            shared.drop_line(&line.exchange, line.received_at);
            shared.status.trouble =
                Some("frames arrive faster than they can be written".to_owned());
            return;
        }
        thread.waiting.fetch_add(bytes, Ordering::Relaxed);
        let _ = thread.messages.send(RawMessage::Line(Box::new(line)));
    }

    /// Queues the pages of an instrument list, which is needed to decode later frames.
    pub fn markets(&self, exchange: &str, list: u32, pages: Vec<RawLine>) {
        if let Some(thread) = &self.0 {
            let _ = thread
                .messages
                .send(RawMessage::Markets(exchange.to_owned(), list, pages));
        }
    }

    /// Whether frames are stored.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Current counters and state.
    #[must_use]
    pub fn status(&self) -> RawStatus {
        self.0
            .as_ref()
            .map(|thread| locked(&thread.shared).status.clone())
            .unwrap_or_default()
    }

    /// Writes the queued lines and stops the thread.
    ///
    /// This function blocks; do not call it on an async task.
    pub fn stop(&self) {
        if let Some(thread) = &self.0 {
            let _ = thread.messages.send(RawMessage::Stop);
            // A thread that panicked has nothing left to write.
            let _ = locked(&thread.thread).take().map(JoinHandle::join);
        }
    }
}

/// The lines at the beginning of every file of an exchange.
#[derive(Default)]
struct FileHeader {
    /// The line that records the start of the collector.
    start: Option<Vec<u8>>,
    /// Current instrument lists by number, compressed.
    lists: BTreeMap<u32, Vec<u8>>,
}

struct RawWriterLoop {
    base: PathBuf,
    bounds: RawRetention,
    rows_need_room: Box<dyn Fn() -> bool + Send>,
    waiting: Arc<AtomicUsize>,
    shared: Arc<Mutex<RawState>>,
    /// Files that are being written, by exchange.
    files: HashMap<String, RawFileWriter>,
    openings: HashMap<String, FileHeader>,
    /// End of the current pause after a failed write.
    ///
    /// `None` if writing is not paused.
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
        // The loop has processed all messages queued before the stop message; now the files are closed.
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

    /// Writes lines of an exchange.
    ///
    /// If frames were dropped before, first writes a line that records them.
    fn write(&mut self, exchange: &str, at: Millis, lines: &[u8]) -> Result<(), ArchiveError> {
        let day = Day::of(at);
        let mut file = match self.files.remove(exchange) {
            // The comparison is not `==`: if the clock is set back, the current file must continue.
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
            // If more frames were dropped during the write, the next write records them again with the new count.
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
        // Without a current file, nothing is written here, because the next file begins with the lists anyway.
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
            log::warn!(target: "liqdata::archive", "raw frames cannot be written: {fault}");
        }
    }

    /// Deletes the oldest file to make space for rows.
    fn make_room(&mut self) {
        let Some(oldest) = self.not_being_written().into_iter().next() else {
            return;
        };
        log::warn!(
            target: "liqdata::archive",
            "the disk is full: deleting {} bytes of raw frames: {}",
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

    /// Deletes files that exceed the retention, oldest first.
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
                    // This removes the folder only if it is empty.
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

/// Encodes a line as JSON, with a line break.
fn text_of(line: &RawLine) -> Vec<u8> {
    // Serialization of strings and numbers cannot fail.
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text
}
