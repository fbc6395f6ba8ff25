//! The thread that owns the archive's writer: rows of all venues come together here and are committed in groups.
//!
//! Rows wait in a queue of bounded size. While the archive cannot be written (a full disk, say) nothing is acknowledged
//! and the same group is tried again and again, so what was taken in is not lost; those who have more to give are made to
//! wait and then have to record a gap. What was refused, could not be read or could not be priced is set aside in
//! `quarantine.jsonl` beside the journal.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::settings::{Settings, span};
use crate::archive::{ArchiveError, Batch, Completeness, Gap, RunId, Writer};
use crate::model::Millis;

/// The file of what was set aside.
const QUARANTINE: &str = "quarantine.jsonl";
/// How often days that are over are looked for.
const ROLL: Duration = Duration::from_hours(1);
/// How long after its end a day is left in the journal, for orders that come late.
const LATE: i64 = Millis::HOUR;
/// How often a group is tried once the collecting is to end.
const LAST_ATTEMPTS: u32 = 3;

/// What the thread is told.
#[derive(Debug)]
enum Job {
    Rows(Batch, Option<OwnedSemaphorePermit>),
    Begin {
        exchange: &'static str,
        completeness: Completeness,
        at: Millis,
        reply: oneshot::Sender<RunId>,
    },
    Aside(String, Option<OwnedSemaphorePermit>),
    Flush(oneshot::Sender<()>),
    End,
}

/// What the thread says.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) orders: AtomicU64,
    pub(super) bars: AtomicU64,
    pub(super) open_interest: AtomicU64,
    pub(super) repeated: AtomicU64,
    pub(super) trouble: Mutex<Option<String>>,
    ending: AtomicBool,
}

impl Kept {
    /// Why nothing can be written, where nothing can.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_trouble(&self, trouble: Option<String>) {
        let mut known = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == trouble {
            return;
        }
        match &trouble {
            Some(message) => {
                log::error!(target: "liqdata::archive", "nothing can be kept for now: {message}");
            }
            None => log::info!(target: "liqdata::archive", "rows are kept again"),
        }
        *known = trouble;
    }
}

/// The way to the thread; as many as there are tasks.
#[derive(Clone, Debug)]
pub(super) struct Keeper {
    jobs: Sender<Job>,
    room: Arc<Semaphore>,
    rows: u32,
    patience: Duration,
    pub(super) kept: Arc<Kept>,
}

/// The thread itself; it ends when it is told to, or when every [`Keeper`] is gone.
#[derive(Debug)]
pub(super) struct Thread {
    handle: JoinHandle<Result<(), ArchiveError>>,
}

impl Thread {
    /// Waits until everything is written, and for the error that kept the last rows from it.
    pub(super) fn join(self) -> Result<(), ArchiveError> {
        match self.handle.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Starts the thread.
pub(super) fn start(writer: Writer, settings: &Arc<Settings>) -> std::io::Result<(Keeper, Thread)> {
    let (jobs, received) = mpsc::channel();
    let kept = Arc::new(Kept::default());
    let rows = u32::try_from(settings.queue_rows).unwrap_or(u32::MAX >> 3);
    let work = Work {
        aside: Aside::new(&writer, settings.quarantine_bytes),
        writer,
        settings: Arc::clone(settings),
        kept: Arc::clone(&kept),
        received,
        rolled: Instant::now(),
        over: false,
    };
    let handle = std::thread::Builder::new()
        .name("liqdata-keeper".to_owned())
        .spawn(move || work.run())?;
    let keeper = Keeper {
        jobs,
        room: Arc::new(Semaphore::new(settings.queue_rows)),
        rows,
        patience: span(settings.pace.patience),
        kept: Arc::clone(&kept),
    };
    Ok((keeper, Thread { handle }))
}

impl Keeper {
    /// Rows that wait to be committed.
    pub(super) fn waiting(&self) -> u64 {
        let free = u64::try_from(self.room.available_permits()).unwrap_or(u64::MAX);
        u64::from(self.rows).saturating_sub(free)
    }

    /// Takes rows in, as soon as there is room; hands them back where there is none for too long.
    pub(super) async fn rows(&self, batch: Batch) -> Result<(), Batch> {
        let count = batch.orders.len() + batch.bars.len() + batch.open_interest.len();
        // A batch larger than the queue takes all of it.
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(self.rows);
        let room = Arc::clone(&self.room);
        let permit = match Arc::clone(&room).try_acquire_many_owned(count) {
            Ok(permit) => permit,
            Err(_) => {
                match tokio::time::timeout(self.patience, room.acquire_many_owned(count)).await {
                    Ok(Ok(permit)) => permit,
                    _ => return Err(batch),
                }
            }
        };
        self.jobs
            .send(Job::Rows(batch, Some(permit)))
            .map_err(|unsent| match unsent.0 {
                Job::Rows(batch, _) => batch,
                _ => Batch::default(),
            })
    }

    /// Takes in what needs no room: gaps, and that runs go on.
    pub(super) fn note(&self, gaps: Vec<Gap>, seen: Vec<(RunId, Millis)>) {
        let batch = Batch {
            gaps,
            seen,
            ..Batch::default()
        };
        let _ = self.jobs.send(Job::Rows(batch, None));
    }

    /// Begins a run once the archive can be written.
    pub(super) async fn begin(
        &self,
        exchange: &'static str,
        completeness: Completeness,
        at: Millis,
    ) -> Option<RunId> {
        let (reply, answered) = oneshot::channel();
        let job = Job::Begin {
            exchange,
            completeness,
            at,
            reply,
        };
        self.jobs.send(job).ok()?;
        answered.await.ok()
    }

    /// Sets a line aside; without room for it, it is counted and no more.
    pub(super) fn aside(&self, line: String) {
        let permit = Arc::clone(&self.room).try_acquire_owned().ok();
        if permit.is_some() {
            let _ = self.jobs.send(Job::Aside(line, permit));
        }
    }

    /// Lets the thread end once everything taken in before has been written.
    pub(super) fn end(&self) {
        self.kept.ending.store(true, Ordering::Release);
        let _ = self.jobs.send(Job::End);
    }

    /// Returns once everything taken in before has been written.
    pub(super) async fn flush(&self) {
        let (reply, answered) = oneshot::channel();
        if self.jobs.send(Job::Flush(reply)).is_ok() {
            let _ = answered.await;
        }
    }
}

/// The file of what was set aside.
#[derive(Debug)]
struct Aside {
    path: PathBuf,
    file: Option<File>,
    left: u64,
}

impl Aside {
    fn new(writer: &Writer, most: u64) -> Self {
        let path = writer.path().join(QUARANTINE);
        let size = std::fs::metadata(&path).map_or(0, |file| file.len());
        Self {
            path,
            file: None,
            left: most.saturating_sub(size),
        }
    }

    fn write(&mut self, line: &str) {
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

struct Work {
    writer: Writer,
    settings: Arc<Settings>,
    kept: Arc<Kept>,
    received: Receiver<Job>,
    aside: Aside,
    rolled: Instant,
    over: bool,
}

impl Work {
    fn run(mut self) -> Result<(), ArchiveError> {
        let gather = span(self.settings.pace.commit);
        loop {
            let mut group = Group::default();
            let mut waited_for = Vec::new();
            match self.received.recv_timeout(ROLL) {
                Ok(job) => self.take(job, &mut group, &mut waited_for)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let until = Instant::now() + gather;
            while group.rows < self.settings.commit_rows && waited_for.is_empty() && !self.over {
                let left = until.saturating_duration_since(Instant::now());
                match self.received.recv_timeout(left) {
                    Ok(job) => self.take(job, &mut group, &mut waited_for)?,
                    Err(_) => break,
                }
            }
            self.commit(group)?;
            for reply in waited_for {
                let _ = reply.send(());
            }
            if self.over {
                return Ok(());
            }
            self.roll();
        }
    }

    fn take(
        &mut self,
        job: Job,
        group: &mut Group,
        waited_for: &mut Vec<oneshot::Sender<()>>,
    ) -> Result<(), ArchiveError> {
        match job {
            Job::Rows(batch, permit) => group.add(batch, permit),
            Job::Aside(line, permit) => {
                self.aside.write(&line);
                drop(permit);
            }
            Job::Flush(reply) => waited_for.push(reply),
            Job::End => self.over = true,
            Job::Begin {
                exchange,
                completeness,
                at,
                reply,
            } => {
                // Gaps on record count for where a run begins.
                self.commit(std::mem::take(group))?;
                let run = self.patiently(|writer| writer.begin_run(exchange, completeness, at))?;
                if let Some(run) = run {
                    let _ = reply.send(run);
                }
            }
        }
        Ok(())
    }

    /// Commits a group, however often that has to be tried; a row that cannot be kept is set aside.
    fn commit(&mut self, group: Group) -> Result<(), ArchiveError> {
        let Group {
            mut batch, permits, ..
        } = group;
        while !batch.is_empty() {
            match self.patiently(|writer| match writer.append(&batch) {
                Ok(done) => Ok(Some(done)),
                Err(ArchiveError::BadRow { .. }) => Ok(None),
                Err(fault) => Err(fault),
            })? {
                Some(Some(done)) => {
                    let count = |counter: &AtomicU64, rows: usize| {
                        counter.fetch_add(u64::try_from(rows).unwrap_or(0), Ordering::Relaxed)
                    };
                    count(&self.kept.orders, done.orders);
                    count(&self.kept.bars, done.bars);
                    count(&self.kept.open_interest, done.open_interest);
                    count(&self.kept.repeated, done.repeated);
                    break;
                }
                Some(None) => self.drop_bad_row(&mut batch),
                None => break,
            }
        }
        drop(permits);
        Ok(())
    }

    /// Takes the row out that the archive names.
    fn drop_bad_row(&mut self, batch: &mut Batch) {
        let Err(ArchiveError::BadRow {
            table,
            column,
            row,
            message,
        }) = self.writer.append(batch)
        else {
            return;
        };
        let taken = match table {
            "orders" if row < batch.orders.len() => format!("{:?}", batch.orders.remove(row)),
            "bars" if row < batch.bars.len() => format!("{:?}", batch.bars.remove(row)),
            "open_interest" if row < batch.open_interest.len() => {
                format!("{:?}", batch.open_interest.remove(row))
            }
            "gaps" if row < batch.gaps.len() => format!("{:?}", batch.gaps.remove(row)),
            // Nothing is known of where the fault lies: better to lose the group than to turn in circles.
            _ => format!("{:?}", std::mem::take(batch)),
        };
        let reason = format!("{table}: column {column:?}: {message}");
        log::warn!(target: "liqdata::archive", "a row cannot be kept: {reason}");
        self.aside
            .write(&serde_json::json!({"reason": reason, "row": taken}).to_string());
    }

    /// Does something with the archive until it succeeds; `None` where it never did and the end has come.
    fn patiently<T>(
        &mut self,
        mut write: impl FnMut(&mut Writer) -> Result<T, ArchiveError>,
    ) -> Result<Option<T>, ArchiveError> {
        let mut last = 0;
        loop {
            match write(&mut self.writer) {
                Ok(done) => {
                    self.kept.set_trouble(None);
                    return Ok(Some(done));
                }
                Err(fault @ ArchiveError::Forked { .. }) => return Err(fault),
                Err(fault) => {
                    self.kept.set_trouble(Some(fault.to_string()));
                    if self.kept.ending.load(Ordering::Acquire) {
                        last += 1;
                        if last >= LAST_ATTEMPTS {
                            return Err(fault);
                        }
                    }
                    std::thread::sleep(span(self.settings.pace.rewrite));
                }
            }
        }
    }

    /// Moves the days that are over into files, once an hour.
    fn roll(&mut self) {
        if self.rolled.elapsed() < ROLL {
            return;
        }
        self.rolled = Instant::now();
        match self.writer.roll(super::now().back(LATE)) {
            Ok(rolled) if rolled.rows > 0 => {
                log::info!(target: "liqdata::archive", "rolled {} rows into {} files", rolled.rows, rolled.parts.len());
            }
            Ok(_) => {}
            // The rows stay in the journal and are rolled another time.
            Err(fault) => log::warn!(target: "liqdata::archive", "not rolled: {fault}"),
        }
    }
}

/// What is committed together, with the room it takes until then.
#[derive(Debug, Default)]
struct Group {
    batch: Batch,
    rows: usize,
    permits: Vec<OwnedSemaphorePermit>,
}

impl Group {
    fn add(&mut self, batch: Batch, permit: Option<OwnedSemaphorePermit>) {
        self.rows += batch.orders.len() + batch.bars.len() + batch.open_interest.len();
        self.batch.orders.extend(batch.orders);
        self.batch.bars.extend(batch.bars);
        self.batch.open_interest.extend(batch.open_interest);
        self.batch.gaps.extend(batch.gaps);
        self.batch.seen.extend(batch.seen);
        self.permits.extend(permit);
    }
}
