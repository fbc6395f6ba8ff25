//! A writer thread that commits the batches of many senders in shared transactions.
//!
//! Each sync of the disk takes milliseconds, even for little data. Batches that arrive close together therefore share
//! one transaction and one sync. A sender gets a [`CommitHandle`](crate::archive::CommitHandle), which returns once the
//! batch is durable. While the disk is full or fails, queued batches wait and are retried. Batches that no longer fit
//! into the queue are refused, and their gaps are recorded with the next successful commit. If the disk is full,
//! batches that contain only estimated maps fail immediately.

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::archive::ArchiveError;
use crate::archive::batch::Batch;
use crate::archive::clock::wall_clock;
use crate::archive::coverage_log::sessions::Gap;
use crate::archive::group_commit::commit_handle::CommitError;
use crate::archive::group_commit::write_queue::{
    PendingReply, QueueCapacity, QueueMessage, QueueState, QueuedBatch, RefusedRange, WriteQueue,
    WriterSide, WriterTask, count,
};
use crate::archive::import::collected;
use crate::archive::writer::Writer;

/// Reason of the gap for batches that a full queue refused.
const QUEUE_FULL: &str = "could not be written in time";

/// When batches are committed together, and how many rows may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitPolicy {
    /// Maximum time a batch waits for further batches before its transaction begins.
    pub delay: Duration,
    /// Number of rows at which a transaction begins without further delay.
    pub rows: usize,
    /// Capacity of the queue in rows, at least 1.
    ///
    /// A batch with more rows than this waits until the queue is empty.
    pub queue: usize,
    /// Time between a failed transaction and the next attempt.
    pub retry: Duration,
}

impl Default for CommitPolicy {
    /// The default policy.
    ///
    /// It has a delay of 100 ms, 1,000 rows, a queue of 100,000 rows (about 60 MB), and one second between attempts.
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(100),
            rows: 1000,
            queue: 100_000,
            retry: Duration::from_secs(1),
        }
    }
}

/// A [`Writer`] that runs on a separate thread.
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
    /// Starts the thread with the default [`CommitPolicy`].
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Io`] if the thread cannot be started.
    pub fn start(writer: Writer) -> Result<Self, ArchiveError> {
        Self::start_with(writer, CommitPolicy::default())
    }

    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Io`] if the thread cannot be started.
    pub fn start_with(writer: Writer, policy: CommitPolicy) -> Result<Self, ArchiveError> {
        let (queue, side) = WriteQueue::of(policy.queue);
        let path = writer.archive().path().to_owned();
        let commit_loop = CommitLoop::of(writer, policy, side);
        let thread = thread::Builder::new()
            .name("liqdata-writer".to_owned())
            .spawn(move || commit_loop.work())
            .map_err(|source| ArchiveError::of_file(&path, source))?;
        Ok(Self {
            queue,
            thread: Some(thread),
        })
    }

    /// Returns the queue; any number of senders may use it.
    #[must_use]
    pub fn queue(&self) -> WriteQueue {
        self.queue.clone()
    }

    /// Commits the queued batches, stops the thread and returns the writer.
    ///
    /// Each batch gets one attempt; batches that cannot be written fail.
    ///
    /// # Errors
    ///
    /// [`CommitError::Stopped`] if the thread panicked, which is a bug.
    pub fn stop(mut self) -> Result<Writer, CommitError> {
        self.finish().ok_or(CommitError::Stopped)
    }

    fn finish(&mut self) -> Option<Writer> {
        let thread = self.thread.take()?;
        // The send fails only if the thread has panicked; `join` below reports the panic.
        let _ = self.queue.messages.send(QueueMessage::Stop);
        let writer = thread.join().ok();
        // A running compaction must end before the lock is released and another process may write.
        self.queue.compactions().end();
        writer
    }
}

impl Drop for GroupCommitWriter {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

/// A group commit writer without a thread, for use with simulated time.
///
/// The owner calls [`work`](Self::work) to process the queue.
pub struct ManualGroupCommitWriter {
    queue: WriteQueue,
    /// `None` after the writer has stopped.
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
    /// Creates a writer that has committed nothing yet.
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

    /// Returns the queue.
    #[must_use]
    pub fn queue(&self) -> WriteQueue {
        self.queue.clone()
    }

    /// Marks the status as stalled for the reason `why`, until the next commit.
    pub fn stall(&self, why: &str) {
        if let Some(commit_loop) = &self.commit_loop {
            commit_loop.lock().status.stalled = Some(why.to_owned());
        }
    }

    /// Processes all queued messages: commits their batches and runs their tasks.
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
        // Dropping the loop makes queued batches fail with [`CommitError::Stopped`].
        self.commit_loop = None;
        self.queue.compactions().end();
    }
}

/// State of the writer thread.
struct CommitLoop {
    writer: Writer,
    policy: CommitPolicy,
    messages: mpsc::Receiver<QueueMessage>,
    /// Messages that arrived while a failed transaction waited for its next attempt.
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

    /// Waits for the next message.
    ///
    /// Returns `None` if none arrives before `until`. After a stop message, returns `None` once all messages are
    /// processed.
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

    /// Collects batches for one transaction.
    ///
    /// Ends when the policy's delay has passed, the policy's number of rows is reached, or a message with a task
    /// arrives.
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

    /// Commits batches, and retries until the commit succeeds or the archive refuses the batches.
    ///
    /// After a stop message there is only one attempt.
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
            let fault = match collected::append_all(&mut self.writer.write, &batches, &gaps) {
                Ok(acknowledged) => {
                    let mut shared = self.lock();
                    shared.forget(&refused);
                    shared.status.commits += 1;
                    shared.status.stalled = None;
                    shared.status.is_full = false;
                    for ((rows, reply, _), acknowledged) in senders.into_iter().zip(acknowledged) {
                        shared.status.waiting -= rows;
                        shared.status.committed += count(rows);
                        // The sender may have dropped the handle; the batch is committed anyway.
                        let _ = reply.send(Ok(acknowledged));
                    }
                    return;
                }
                Err(fault) => fault,
            };
            if matches!(fault, ArchiveError::DiskFull { .. })
                && batches.iter().any(Batch::is_of_maps)
            {
                // On a full disk, the remaining space is reserved for observed rows. Maps can be computed again, so
                // their batches fail immediately.
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
            log::error!("rows could not be written and are lost: {fault}");
            self.fail_batches(senders.into_iter(), fault);
            return;
        }
    }

    /// Returns the error to the senders of batches.
    fn fail_batches(&self, senders: impl Iterator<Item = PendingReply>, fault: ArchiveError) {
        let fault = Arc::new(fault);
        let mut shared = self.lock();
        for (rows, reply, _) in senders {
            shared.status.waiting -= rows;
            let _ = reply.send(Err(CommitError::Archive(Arc::clone(&fault))));
        }
    }

    /// Waits until the time of the next attempt, or until a stop message.
    ///
    /// Fails batches of maps that arrive while the disk is full.
    fn wait_before_retry(&mut self, is_full: bool) {
        let until = Instant::now() + self.policy.retry;
        while !self.stopping {
            let left = until.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(QueueMessage::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.stopping = true;
                }
                Ok(QueueMessage::Append(taken)) if is_full && taken.batch.is_of_maps() => {
                    let fault = ArchiveError::DiskFull {
                        path: self.writer.archive().path().to_owned(),
                    };
                    self.fail_batches(std::iter::once(taken.sender()), fault);
                }
                Ok(message) => self.deferred.push_back(message),
                Err(RecvTimeoutError::Timeout) => return,
            }
        }
    }
}

/// Whether a later attempt may succeed.
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
        ..Gap::default()
    })
}
