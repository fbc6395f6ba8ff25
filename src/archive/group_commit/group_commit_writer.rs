//! The keeper: a thread that writes what many senders hand it, several batches in each transaction.
//!
//! A sync to the disk costs milliseconds however little it carries, so batches that arrive close together share one.
//! Whoever sends a batch gets a [`CommitHandle`](crate::archive::CommitHandle), which is settled once the batch is durable and never before. While the disk
//! is full or fails, nothing is settled: what was taken waits and is tried again, and what cannot be taken any more is
//! written down as a gap as soon as anything can be written. Batches of nothing but estimated maps are given up at once where
//! the disk is full.

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::archive::ArchiveError;
use crate::archive::batch::Batch;
use crate::archive::clock::wall_clock;
use crate::archive::coverage::sessions::Gap;
use crate::archive::group_commit::write_queue::{
    CommitError, PendingReply, QueueCapacity, QueueMessage, QueueState, QueuedBatch, RefusedRange,
    WriteQueue, WriterSide, WriterTask, count,
};
use crate::archive::writer::Writer;

/// The reason of a gap that a full queue leaves.
const QUEUE_FULL: &str = "could not be written in time";

/// How the keeper groups and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitPolicy {
    /// Longest time a batch waits for others before the transaction begins.
    pub delay: Duration,
    /// Rows after which a transaction begins at once.
    pub rows: usize,
    /// Most rows that may wait; at least 1. A batch of more rows waits until it is alone.
    pub queue: usize,
    /// Time after which a failed transaction is tried again.
    pub retry: Duration,
}

impl Default for CommitPolicy {
    /// 100 ms, 1,000 rows, a queue of 100,000 rows (about 60 MB), one second.
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(100),
            rows: 1000,
            queue: 100_000,
            retry: Duration::from_secs(1),
        }
    }
}

/// A [`Writer`] on a thread of its own.
///
/// # Examples
///
/// ```
/// use liqdata::archive::{Archive, Batch, Completeness, GroupCommitWriter};
/// use liqdata::model::Millis;
///
/// # let folder = std::env::temp_dir().join(format!("liqdata-keeper-doc-{}", std::process::id()));
/// let keeper = GroupCommitWriter::start(Archive::create_or_open(&folder)?)?;
/// let queue = keeper.queue();
/// let run = queue
///     .with(|writer| writer.begin_session("okx", Completeness::Complete, Millis(1_781_136_000_000)))?
///     .wait()?;
/// let seen = Batch { seen: vec![(run, Millis(1_781_136_060_000))], ..Batch::default() };
/// queue.send_blocking(seen)?.wait()?;
/// let writer = keeper.stop()?;
/// # drop(writer);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GroupCommitWriter {
    queue: WriteQueue,
    thread: Option<JoinHandle<Writer>>,
}

impl GroupCommitWriter {
    /// Starts to keep what is handed over, at the default [`CommitPolicy`].
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Io`] where no thread can be had.
    pub fn start(writer: Writer) -> Result<Self, ArchiveError> {
        Self::start_with(writer, CommitPolicy::default())
    }

    /// Starts to keep what is handed over.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Io`] where no thread can be had.
    pub fn start_with(writer: Writer, policy: CommitPolicy) -> Result<Self, ArchiveError> {
        let (queue, side) = WriteQueue::of(policy.queue);
        let path = writer.path().to_owned();
        let commit_loop = CommitLoop::of(writer, policy, side);
        let thread = thread::Builder::new()
            .name("liqdata-keeper".to_owned())
            .spawn(move || commit_loop.work())
            .map_err(|source| ArchiveError::of_file(&path, source))?;
        Ok(Self {
            queue,
            thread: Some(thread),
        })
    }

    /// A permit to hand batches over, for as many senders as there are.
    #[must_use]
    pub fn queue(&self) -> WriteQueue {
        self.queue.clone()
    }

    /// Keeps what has been handed over and stops; what cannot be written now is given up, and its receipts say so.
    ///
    /// # Errors
    ///
    /// [`CommitError::Stopped`] where the thread failed, which is a defect.
    pub fn stop(mut self) -> Result<Writer, CommitError> {
        self.finish().ok_or(CommitError::Stopped)
    }

    fn finish(&mut self) -> Option<Writer> {
        let thread = self.thread.take()?;
        // A thread that has failed hears nothing, and joining it tells.
        let _ = self.queue.messages.send(QueueMessage::Stop);
        let writer = thread.join().ok();
        // Nobody else may write to the archive before its files are let alone.
        self.queue.compactions().end();
        writer
    }
}

impl Drop for GroupCommitWriter {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

/// A keeper without a thread: whoever has it says when it works. For a time that is not this machine's.
pub struct ManualGroupCommitWriter {
    queue: WriteQueue,
    /// Absent once it has stopped.
    commit_loop: Option<CommitLoop>,
}

impl fmt::Debug for ManualGroupCommitWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualGroupCommitWriter")
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

impl ManualGroupCommitWriter {
    /// A keeper that has done nothing yet.
    #[must_use]
    pub fn new(writer: Writer, policy: CommitPolicy) -> Self {
        let (queue, side) = WriteQueue::of(policy.queue);
        let policy = CommitPolicy {
            delay: Duration::ZERO,
            ..policy
        };
        let commit_loop = Some(CommitLoop::of(writer, policy, side));
        Self { queue, commit_loop }
    }

    /// A permit to hand batches over.
    #[must_use]
    pub fn queue(&self) -> WriteQueue {
        self.queue.clone()
    }

    /// Says why nothing is written, until something is.
    pub fn stall(&self, why: &str) {
        if let Some(commit_loop) = &self.commit_loop {
            commit_loop.lock().status.stalled = Some(why.to_owned());
        }
    }

    /// Does all that was handed over so far.
    pub fn work(&mut self) {
        if let Some(commit_loop) = &mut self.commit_loop {
            while let Ok(first) = commit_loop.messages.try_recv() {
                commit_loop.handle(first);
            }
        }
    }
}

impl Drop for ManualGroupCommitWriter {
    fn drop(&mut self) {
        // What was not done is not done any more; whoever waits for it hears so.
        self.commit_loop = None;
        self.queue.compactions().end();
    }
}

/// The keeper's own side.
struct CommitLoop {
    writer: Writer,
    policy: CommitPolicy,
    messages: mpsc::Receiver<QueueMessage>,
    /// What arrived while a transaction was to be tried again.
    deferred: VecDeque<QueueMessage>,
    stopping: bool,
    capacity: QueueCapacity,
    shared: Arc<Mutex<QueueState>>,
}

impl CommitLoop {
    fn of(writer: Writer, policy: CommitPolicy, (messages, capacity, shared): WriterSide) -> Self {
        Self {
            writer,
            policy,
            messages,
            deferred: VecDeque::new(),
            stopping: false,
            capacity,
            shared,
        }
    }

    fn handle(&mut self, first: QueueMessage) {
        let (taken, job) = self.collect_group(first);
        self.commit(taken);
        if let Some(job) = job {
            job(&mut self.writer);
        }
    }

    fn work(mut self) -> Writer {
        while let Some(first) = self.next(None) {
            self.handle(first);
        }
        self.capacity.close();
        self.commit(Vec::new());
        self.writer
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message; `None` where none comes until then, or all have been read and the end was asked for.
    fn next(&mut self, until: Option<Instant>) -> Option<QueueMessage> {
        loop {
            let message = match self.deferred.pop_front() {
                Some(message) => message,
                None if self.stopping => self.messages.try_recv().ok()?,
                None => match until {
                    None => self.messages.recv().ok()?,
                    Some(until) => self
                        .messages
                        .recv_timeout(until.saturating_duration_since(Instant::now()))
                        .ok()?,
                },
            };
            match message {
                QueueMessage::Stop => self.stopping = true,
                message => return Some(message),
            }
        }
    }

    /// Takes what arrives within the delay, up to the number of rows or to something else that is to be done.
    fn collect_group(&mut self, first: QueueMessage) -> (Vec<QueuedBatch>, Option<WriterTask>) {
        let until = Instant::now() + self.policy.delay;
        let mut taken = Vec::new();
        let mut rows = 0;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                QueueMessage::Append(one) => {
                    rows += one.rows.max(1);
                    taken.push(*one);
                }
                QueueMessage::Run(job) => return (taken, Some(job)),
                QueueMessage::Stop => self.stopping = true,
            }
            if rows >= self.policy.rows {
                break;
            }
            next = self.next(Some(until));
        }
        (taken, None)
    }

    /// Makes batches durable, however long that takes; tries once only where the end was asked for.
    fn commit(&mut self, taken: Vec<QueuedBatch>) {
        let (mut batches, mut senders): (Vec<_>, Vec<PendingReply>) = taken
            .into_iter()
            .map(|taken| (taken.batch, (taken.rows, taken.reply, taken.permit)))
            .unzip();
        loop {
            let refused = self.lock().refused.clone();
            if batches.is_empty() && refused.values().all(Vec::is_empty) {
                return;
            }
            let gaps: Vec<Gap> = refused.iter().flat_map(gaps).collect();
            let fault = match self.writer.append_all(&batches, &gaps) {
                Ok(acknowledged) => {
                    let mut shared = self.lock();
                    shared.forget(&refused);
                    shared.status.commits += 1;
                    shared.status.stalled = None;
                    shared.status.is_full = false;
                    for ((rows, reply, _), acknowledged) in senders.into_iter().zip(acknowledged) {
                        shared.status.waiting -= rows;
                        shared.status.committed += count(rows);
                        // Whoever sent it may have gone; it is kept all the same.
                        let _ = reply.send(Ok(acknowledged));
                    }
                    return;
                }
                Err(fault) => fault,
            };
            if matches!(fault, ArchiveError::DiskFull { .. })
                && batches.iter().any(Batch::is_of_maps)
            {
                // What space there is belongs to what was observed, which cannot be made again.
                let (spare, rest): (Vec<_>, Vec<_>) = batches
                    .into_iter()
                    .zip(senders)
                    .partition(|(batch, _)| batch.is_of_maps());
                self.fail_batches(spare.into_iter().map(|(_, sender)| sender), fault);
                (batches, senders) = rest.into_iter().unzip();
                continue;
            }
            if is_transient(&fault) && !self.stopping {
                let is_full = matches!(fault, ArchiveError::DiskFull { .. });
                let before = {
                    let mut shared = self.lock();
                    shared.status.is_full = is_full;
                    shared.status.stalled.replace(fault.to_string())
                };
                if before.is_none() {
                    log::warn!("writing to the archive has stalled: {fault}");
                }
                self.wait_before_retry(is_full);
                continue;
            }
            log::error!("rows were given up: {fault}");
            self.fail_batches(senders.into_iter(), fault);
            return;
        }
    }

    /// Tells who sent batches that they are not kept, and why.
    fn fail_batches(&self, senders: impl Iterator<Item = PendingReply>, fault: ArchiveError) {
        let fault = Arc::new(fault);
        let mut shared = self.lock();
        for (rows, reply, _) in senders {
            shared.status.waiting -= rows;
            let _ = reply.send(Err(CommitError::Archive(Arc::clone(&fault))));
        }
    }

    /// Waits until it is time to try again, or the end is asked for; gives up maps that come meanwhile where the disk is
    /// full.
    fn wait_before_retry(&mut self, is_full: bool) {
        let until = Instant::now() + self.policy.retry;
        while !self.stopping {
            let left = until.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(QueueMessage::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.stopping = true
                }
                Ok(QueueMessage::Append(taken)) if is_full && taken.batch.is_of_maps() => {
                    let fault = ArchiveError::DiskFull {
                        path: self.writer.path().to_owned(),
                    };
                    self.fail_batches(std::iter::once(taken.sender()), fault);
                }
                Ok(message) => self.deferred.push_back(message),
                Err(RecvTimeoutError::Timeout) => return,
            }
        }
    }
}

/// Whether the same transaction may succeed later.
fn is_transient(fault: &ArchiveError) -> bool {
    matches!(
        fault,
        ArchiveError::DiskFull { .. }
            | ArchiveError::ReadOnly { .. }
            | ArchiveError::Denied { .. }
            | ArchiveError::Io { .. }
            | ArchiveError::Journal { .. }
    )
}

fn gaps<'a>((exchange, ranges): (&'a String, &'a Vec<RefusedRange>)) -> impl Iterator<Item = Gap> {
    ranges.iter().map(|refused| Gap {
        exchange: exchange.clone(),
        start: refused.start,
        end: refused.end,
        reason: QUEUE_FULL.to_owned(),
        recorded_at: wall_clock(),
    })
}
