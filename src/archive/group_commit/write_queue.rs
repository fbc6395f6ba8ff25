//! The queue of a keeper: what is handed over waits here until it is durable, and whoever handed it over for a reply.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::archive::ArchiveError;
use crate::archive::batch::{Acknowledged, Batch};
use crate::archive::writer::Writer;
use crate::model::Millis;

/// Why a batch, or a piece of work, was not done.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The queue is full: the disk is too slow, full or failing. The rows were not taken; a gap will say so.
    #[error("{waiting} rows are waiting to be written; no more are taken")]
    Full {
        /// Rows that are waiting.
        waiting: usize,
    },
    /// The keeper has stopped.
    #[error("the archive's keeper has stopped")]
    Stopped,
    /// The archive refused it, and trying again would not help.
    #[error(transparent)]
    Archive(Arc<ArchiveError>),
}

impl From<ArchiveError> for CommitError {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(Arc::new(error))
    }
}

/// The promise of an outcome: a future, or something to wait for on a thread that may wait.
#[derive(Debug)]
#[must_use = "a batch is durable only once its reply says so"]
pub struct CommitHandle<T = Acknowledged>(oneshot::Receiver<Result<T, CommitError>>);

impl<T> CommitHandle<T> {
    pub(crate) fn of(outcome: oneshot::Receiver<Result<T, CommitError>>) -> Self {
        Self(outcome)
    }

    /// Waits on this thread; not for threads that drive asynchronous tasks.
    ///
    /// # Errors
    ///
    /// [`CommitError`] where it was not done and will not be.
    pub fn wait(self) -> Result<T, CommitError> {
        block_on(self)
    }
}

impl<T> Future for CommitHandle<T> {
    type Output = Result<T, CommitError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map(|settled| settled.unwrap_or(Err(CommitError::Stopped)))
    }
}

/// How the keeper is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteQueueStatus {
    /// Rows that were taken and are not durable yet.
    pub waiting: usize,
    /// Rows made durable, those that were there before included.
    pub committed: u64,
    /// Rows that were not taken because the queue was full.
    pub refused: u64,
    /// Transactions made.
    pub commits: u64,
    /// Why nothing is being written at the moment, if so.
    pub stalled: Option<String>,
    /// Whether that is because no space is left.
    pub is_full: bool,
}

/// Rows of one exchange that were not taken, since the last that were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefusedRange {
    pub(crate) start: Millis,
    pub(crate) end: Millis,
    /// Whether rows have been taken again since, so that the range grows no more.
    closed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct QueueState {
    pub(crate) status: WriteQueueStatus,
    pub(crate) refused: BTreeMap<String, Vec<RefusedRange>>,
}

impl QueueState {
    /// Forgets the ranges that are over and were written down as they still are.
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

/// A batch that was taken; it gives its permit in the queue back when it is dropped.
pub(crate) struct QueuedBatch {
    pub(crate) batch: Batch,
    pub(crate) rows: usize,
    pub(crate) reply: oneshot::Sender<Result<Acknowledged, CommitError>>,
    pub(crate) permit: QueuePermit,
}

/// A permit in the queue, and in the part of it that is for what can be asked for again.
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

/// Rows of a batch, who waits to hear of them, and their permit in the queue.
pub(crate) type PendingReply = (
    usize,
    oneshot::Sender<Result<Acknowledged, CommitError>>,
    QueuePermit,
);

/// The permits of a queue.
#[derive(Clone, Debug)]
pub(crate) struct QueueCapacity {
    all: Arc<Semaphore>,
    /// Those that what can be asked for again may take: half of them, so that what is heard once finds capacity beside it.
    part: Arc<Semaphore>,
    /// How many there are of each.
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

    /// Nobody gets a permit any more.
    pub(crate) fn close(&self) {
        self.all.close();
        self.part.close();
    }
}

/// A keeper's side of an queue: what is sent to it, its capacity, and what both know.
pub(crate) type WriterSide = (
    mpsc::Receiver<QueueMessage>,
    QueueCapacity,
    Arc<Mutex<QueueState>>,
);

/// Where batches are handed to a [`GroupCommitWriter`](crate::archive::GroupCommitWriter); clones hand to the same one.
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
    /// An queue of so many rows, what is sent to it, its capacity and what it shares.
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

    /// Hands over a batch once there is capacity for it.
    ///
    /// # Errors
    ///
    /// [`CommitError::Archive`] for a row that cannot be kept exactly, [`CommitError::Stopped`] after the keeper has stopped.
    pub async fn send(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        batch.check()?;
        let permit = QueuePermit {
            _all: acquire(&self.capacity.all, permits(&batch, self.capacity.most.0)).await?,
            _backfill: None,
        };
        self.take(batch, permit)
    }

    /// As [`WriteQueue::send`], for rows that can be asked for again: all that wait of these take half of the queue at most.
    ///
    /// # Errors
    ///
    /// As [`WriteQueue::send`].
    pub(crate) async fn send_backfill(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        batch.check()?;
        let permits = permits(&batch, self.capacity.most.1);
        let part = acquire(&self.capacity.part, permits).await?;
        let permit = QueuePermit {
            _all: acquire(&self.capacity.all, permits).await?,
            _backfill: Some(part),
        };
        self.take(batch, permit)
    }

    /// As [`WriteQueue::send`], waiting on this thread; not for threads that drive asynchronous tasks.
    ///
    /// # Errors
    ///
    /// As [`WriteQueue::send`].
    pub fn send_blocking(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        block_on(self.send(batch))
    }

    /// Hands over a batch if there is capacity for it now, and never waits.
    ///
    /// Orders that find no capacity are lost, and the time from the first of them to the last becomes a gap of their
    /// exchange, which is kept as soon as anything is. For what arrives whether it is taken or not.
    ///
    /// # Errors
    ///
    /// [`CommitError::Full`] where there is no capacity, else as [`WriteQueue::send`] gives.
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
                self.take(batch, permit)
            }
            Err(tokio::sync::TryAcquireError::NoPermits) => Err(self.refuse(&batch)),
            Err(tokio::sync::TryAcquireError::Closed) => Err(CommitError::Stopped),
        }
    }

    /// Does something else with the writer, after everything that was handed over before it is durable: begins a run,
    /// verifies. Nothing becomes durable meanwhile; [`WriteQueue::compact`] is for what takes long.
    ///
    /// # Errors
    ///
    /// [`CommitError::Stopped`] after the keeper has stopped; the reply tells how the work itself went.
    pub fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<CommitHandle<T>, CommitError> {
        let (done, reply) = oneshot::channel();
        let job: WriterTask = Box::new(move |writer| {
            // Whoever asked may have gone.
            let _ = done.send(work(writer).map_err(CommitError::from));
        });
        self.messages
            .send(QueueMessage::Run(job))
            .map_err(|_| CommitError::Stopped)?;
        Ok(CommitHandle(reply))
    }

    /// How the keeper is doing.
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

    fn take(&self, batch: Batch, permit: QueuePermit) -> Result<CommitHandle, CommitError> {
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
        Ok(CommitHandle(reply))
    }

    /// Notes what is lost for want of capacity.
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

    /// Notes that orders of these exchanges are being taken again.
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

/// The compactions of a keeper: one at a time, and none once it has stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompactionThreads(Arc<Mutex<LastCompaction>>);

#[derive(Debug, Default)]
struct LastCompaction {
    /// The last roll that was begun; it waits for the one before it.
    last: Option<JoinHandle<()>>,
    closed: bool,
}

impl CompactionThreads {
    fn turn(&self) -> MutexGuard<'_, LastCompaction> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on a thread, after every work before it; gives whether it will run.
    pub(crate) fn begin(&self, work: impl FnOnce() + Send + 'static) -> std::io::Result<bool> {
        let mut turn = self.turn();
        if turn.closed {
            return Ok(false);
        }
        let before = turn.last.take();
        let next = thread::Builder::new()
            .name("liqdata-roll".to_owned())
            .spawn(move || {
                // One that panicked has told so, and left nothing that the next opening does not put right.
                let _ = before.map(JoinHandle::join);
                work();
            })?;
        turn.last = Some(next);
        Ok(true)
    }

    /// Waits for the roll at work, which finds the keeper stopped at its next change, and lets none begin.
    pub(crate) fn end(&self) {
        let last = {
            let mut turn = self.turn();
            turn.closed = true;
            turn.last.take()
        };
        let _ = last.map(JoinHandle::join);
    }
}

/// The permits a batch takes up: never more than there are, so that the largest still gets its turn.
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

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
