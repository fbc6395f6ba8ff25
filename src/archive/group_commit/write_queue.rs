//! Queue of batches that wait to be committed.
//!
//! The queue's capacity is counted in rows. Backfills, which request past rows again, may use only half of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::archive::ArchiveError;
use crate::archive::batch::{Acknowledged, Batch};
use crate::archive::group_commit::commit_handle::{CommitError, CommitHandle, block_on};
use crate::archive::writer::Writer;
use crate::model::Millis;

/// Counters and state of the queue and of its writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteQueueStatus {
    /// Number of rows that are queued and not durable yet.
    pub waiting: usize,
    /// Number of rows committed, duplicates included.
    pub committed: u64,
    /// Number of rows refused because the queue was full.
    pub refused: u64,
    /// Number of committed transactions.
    pub commits: u64,
    /// Why the last attempt to write failed; `None` if writing works.
    pub stalled: Option<String>,
    /// Whether the writer cannot write because the disk is full.
    pub is_full: bool,
}

/// Time range of consecutive refused orders of one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefusedRange {
    pub(crate) start: Millis,
    pub(crate) end: Millis,
    /// Whether later rows were accepted. A closed range is final, and the next refusal begins a new range.
    closed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct QueueState {
    pub(crate) status: WriteQueueStatus,
    pub(crate) refused: BTreeMap<String, Vec<RefusedRange>>,
}

impl QueueState {
    /// Removes closed ranges that were recorded as gaps.
    pub(crate) fn forget(&mut self, written: &BTreeMap<String, Vec<RefusedRange>>) {
        self.refused.retain(|exchange, ranges| {
            let known = written.get(exchange).map(Vec::as_slice).unwrap_or_default();
            ranges.retain(|refused| !refused.closed || !known.contains(refused));
            !ranges.is_empty()
        });
    }
}

pub(crate) type WriterTask = Box<dyn FnOnce(&mut Writer) + Send>;

pub(crate) enum QueueMessage {
    Append(Box<QueuedBatch>),
    Run(WriterTask),
    Stop,
}

/// A queued batch; dropping it releases its share of the capacity.
pub(crate) struct QueuedBatch {
    pub(crate) batch: Batch,
    pub(crate) rows: usize,
    pub(crate) reply: oneshot::Sender<Result<Acknowledged, CommitError>>,
    pub(crate) permit: QueuePermit,
}

/// Share of the queue's capacity that a batch occupies.
///
/// A backfill also occupies a share of the capacity for backfills.
#[derive(Debug)]
pub(crate) struct QueuePermit {
    _all: OwnedSemaphorePermit,
    _backfill: Option<OwnedSemaphorePermit>,
}

impl QueuedBatch {
    pub(crate) fn sender(self) -> PendingReply {
        (self.rows, self.reply, self.permit)
    }
}

/// Number of rows of a batch, the sender for its outcome, and its permit.
pub(crate) type PendingReply = (
    usize,
    oneshot::Sender<Result<Acknowledged, CommitError>>,
    QueuePermit,
);

/// Capacity of a queue.
#[derive(Clone, Debug)]
pub(crate) struct QueueCapacity {
    all: Arc<Semaphore>,
    /// Capacity for backfills: half of the queue, so that the rest is free for live rows.
    part: Arc<Semaphore>,
    /// Total of `all` and of `part`, in rows.
    most: (usize, usize),
}

impl QueueCapacity {
    fn of(queue: usize) -> Self {
        let all = queue.clamp(1, Semaphore::MAX_PERMITS.min(1 << 30));
        let part = (all / 2).max(1);
        Self {
            all: Arc::new(Semaphore::new(all)),
            part: Arc::new(Semaphore::new(part)),
            most: (all, part),
        }
    }

    /// Wakes all waiting senders, which get [`CommitError::Stopped`].
    pub(crate) fn close(&self) {
        self.all.close();
        self.part.close();
    }
}

/// What the writer needs of a queue: messages, capacity and shared state.
pub(crate) type WriterSide = (
    mpsc::Receiver<QueueMessage>,
    QueueCapacity,
    Arc<Mutex<QueueState>>,
);

/// Queue of a [`GroupCommitWriter`](crate::archive::GroupCommitWriter); clones share the queue.
#[derive(Clone)]
pub struct WriteQueue {
    pub(crate) messages: mpsc::Sender<QueueMessage>,
    capacity: QueueCapacity,
    shared: Arc<Mutex<QueueState>>,
    compactions: CompactionThreads,
}

impl fmt::Debug for WriteQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteQueue")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl WriteQueue {
    /// Creates a queue with a capacity of `queue` rows, and its [`WriterSide`].
    pub(crate) fn of(queue: usize) -> (Self, WriterSide) {
        let (messages, received) = mpsc::channel();
        let capacity = QueueCapacity::of(queue);
        let shared = Arc::new(Mutex::new(QueueState::default()));
        let side = (received, capacity.clone(), Arc::clone(&shared));
        let queue = Self {
            messages,
            capacity,
            shared,
            compactions: CompactionThreads::default(),
        };
        (queue, side)
    }

    /// Queues a batch; waits until the queue has capacity for it.
    ///
    /// # Errors
    ///
    /// [`CommitError::Archive`] if a row cannot be stored exactly, [`CommitError::Stopped`] after the writer has
    /// stopped.
    pub async fn send(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        let permit = self.reserve(&batch).await?;
        self.send_reserved(batch, permit)
    }

    /// Waits until the queue has capacity for a batch, and reserves it.
    ///
    /// # Errors
    ///
    /// As [`WriteQueue::send`].
    pub(crate) async fn reserve(&self, batch: &Batch) -> Result<QueuePermit, CommitError> {
        batch.check()?;
        Ok(QueuePermit {
            _all: acquire(&self.capacity.all, permits(batch, self.capacity.most.0)).await?,
            _backfill: None,
        })
    }

    /// As [`WriteQueue::reserve`], for rows that can be requested again.
    ///
    /// These rows use at most half of the queue.
    ///
    /// # Errors
    ///
    /// As [`WriteQueue::send`].
    pub(crate) async fn reserve_backfill(&self, batch: &Batch) -> Result<QueuePermit, CommitError> {
        batch.check()?;
        let permits = permits(batch, self.capacity.most.1);
        let part = acquire(&self.capacity.part, permits).await?;
        Ok(QueuePermit {
            _all: acquire(&self.capacity.all, permits).await?,
            _backfill: Some(part),
        })
    }

    /// As [`WriteQueue::send`], but blocks this thread.
    ///
    /// Do not call this function on an async task.
    ///
    /// # Errors
    ///
    /// As [`WriteQueue::send`].
    pub fn send_blocking(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        block_on(self.send(batch))
    }

    /// Queues a batch if the queue has capacity for it; never waits.
    ///
    /// Refused orders are lost, and their time range becomes a gap of the exchange, recorded with the next commit. Use
    /// this function for live data that cannot wait.
    ///
    /// # Errors
    ///
    /// [`CommitError::Full`] if the queue has no capacity, else as [`WriteQueue::send`].
    pub fn offer(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        batch.check()?;
        let permits = permits(&batch, self.capacity.most.0);
        match Arc::clone(&self.capacity.all).try_acquire_many_owned(permits) {
            Ok(all) => {
                self.resume(&batch);
                let permit = QueuePermit {
                    _all: all,
                    _backfill: None,
                };
                self.send_reserved(batch, permit)
            }
            Err(tokio::sync::TryAcquireError::NoPermits) => Err(self.refuse(&batch)),
            Err(tokio::sync::TryAcquireError::Closed) => Err(CommitError::Stopped),
        }
    }

    /// Runs `work` with the writer, after all batches queued earlier are committed.
    ///
    /// While `work` runs, nothing else is committed; use [`WriteQueue::compact`] for long work.
    ///
    /// # Errors
    ///
    /// [`CommitError::Stopped`] after the writer has stopped; the handle returns the outcome of `work`.
    pub fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<CommitHandle<T>, CommitError> {
        let (done, reply) = oneshot::channel();
        let job: WriterTask = Box::new(move |writer| {
            // The caller may have dropped the handle.
            let _ = done.send(work(writer).map_err(CommitError::from));
        });
        self.messages
            .send(QueueMessage::Run(job))
            .map_err(|_| CommitError::Stopped)?;
        Ok(CommitHandle::of(reply))
    }

    /// Current counters and state.
    #[must_use]
    pub fn status(&self) -> WriteQueueStatus {
        self.lock().status.clone()
    }

    pub(crate) fn compactions(&self) -> &CompactionThreads {
        &self.compactions
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a batch with a reserved capacity.
    ///
    /// # Errors
    ///
    /// [`CommitError::Stopped`] after the writer has stopped.
    pub(crate) fn send_reserved(
        &self,
        batch: Batch,
        permit: QueuePermit,
    ) -> Result<CommitHandle, CommitError> {
        let (settle, reply) = oneshot::channel();
        let rows = batch.rows();
        self.lock().status.waiting += rows;
        let taken = QueuedBatch {
            batch,
            rows,
            reply: settle,
            permit,
        };
        if self
            .messages
            .send(QueueMessage::Append(Box::new(taken)))
            .is_err()
        {
            self.lock().status.waiting -= rows;
            return Err(CommitError::Stopped);
        }
        Ok(CommitHandle::of(reply))
    }

    /// Counts refused rows and adds the time range of the orders.
    fn refuse(&self, batch: &Batch) -> CommitError {
        let mut shared = self.lock();
        shared.status.refused = shared.status.refused.saturating_add(count(batch.rows()));
        for row in &batch.orders {
            let start = row.order.timestamp.min(row.received_at);
            let end = row.order.timestamp.max(row.received_at).on(1);
            let ranges = shared
                .refused
                .entry(row.order.exchange.clone())
                .or_default();
            match ranges.last_mut().filter(|range| !range.closed) {
                Some(range) => {
                    range.start = range.start.min(start);
                    range.end = range.end.max(end);
                }
                None => ranges.push(RefusedRange {
                    start,
                    end,
                    closed: false,
                }),
            }
        }
        CommitError::Full {
            waiting: shared.status.waiting,
        }
    }

    /// Closes the refused ranges of each exchange that has orders in an accepted batch.
    fn resume(&self, batch: &Batch) {
        let mut shared = self.lock();
        if shared.refused.is_empty() {
            return;
        }
        for row in &batch.orders {
            if let Some(range) = shared
                .refused
                .get_mut(&row.order.exchange)
                .and_then(|ranges| ranges.last_mut())
            {
                range.closed = true;
            }
        }
    }
}

/// Starts compaction threads, which run one after the other.
///
/// After the writer has stopped, no thread starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompactionThreads(Arc<Mutex<LastCompaction>>);

#[derive(Debug, Default)]
struct LastCompaction {
    /// The compaction thread that was started last. That thread first waits for the thread started before it.
    last: Option<JoinHandle<()>>,
    closed: bool,
}

impl CompactionThreads {
    fn turn(&self) -> MutexGuard<'_, LastCompaction> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread that runs `work` after all earlier compactions.
    ///
    /// Returns false and starts nothing if the writer has stopped.
    pub(crate) fn begin(&self, work: impl FnOnce() + Send + 'static) -> std::io::Result<bool> {
        let mut turn = self.turn();
        if turn.closed {
            return Ok(false);
        }
        let before = turn.last.take();
        let next = thread::Builder::new()
            .name("liqdata-roll".to_owned())
            .spawn(move || {
                // If the earlier thread panicked, the panic is already reported. The next open of the archive removes
                // the unfinished segments of that thread.
                let _ = before.map(JoinHandle::join);
                work();
            })?;
        turn.last = Some(next);
        Ok(true)
    }

    /// Prevents further compactions, and waits for the running one to end.
    ///
    /// The running compaction fails at its next transaction.
    pub(crate) fn end(&self) {
        let last = {
            let mut turn = self.turn();
            turn.closed = true;
            turn.last.take()
        };
        let _ = last.map(JoinHandle::join);
    }
}

/// Number of semaphore permits for a batch: one per row, at least one.
///
/// The result is at most the capacity, so that any batch fits into an empty queue.
fn permits(batch: &Batch, most: usize) -> u32 {
    u32::try_from(batch.rows().clamp(1, most)).unwrap_or(u32::MAX)
}

async fn acquire(
    capacity: &Arc<Semaphore>,
    permits: u32,
) -> Result<OwnedSemaphorePermit, CommitError> {
    let acquired = Arc::clone(capacity).acquire_many_owned(permits).await;
    acquired.map_err(|_| CommitError::Stopped)
}

pub(crate) fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
