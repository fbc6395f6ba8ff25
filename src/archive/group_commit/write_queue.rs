//! The inbox of a keeper: what is handed over waits here until it is durable, and whoever handed it over for a receipt.

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
#[must_use = "a batch is durable only once its receipt says so"]
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
        wait_for(self)
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
    pub kept: u64,
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
    /// Whether rows have been taken again since, so that the stretch grows no more.
    over: bool,
}

#[derive(Debug, Default)]
pub(crate) struct QueueState {
    pub(crate) status: WriteQueueStatus,
    pub(crate) missed: BTreeMap<String, Vec<RefusedRange>>,
}

impl QueueState {
    /// Forgets the stretches that are over and were written down as they still are.
    pub(crate) fn forget(&mut self, written: &BTreeMap<String, Vec<RefusedRange>>) {
        self.missed.retain(|exchange, stretches| {
            let known = written.get(exchange).map(Vec::as_slice).unwrap_or_default();
            stretches.retain(|missed| !missed.over || !known.contains(missed));
            !stretches.is_empty()
        });
    }
}

pub(crate) type WriterTask = Box<dyn FnOnce(&mut Writer) + Send>;

pub(crate) enum QueueMessage {
    Keep(Box<QueuedBatch>),
    Do(WriterTask),
    Stop,
}

/// A batch that was taken; it gives its place in the queue back when it is dropped.
pub(crate) struct QueuedBatch {
    pub(crate) batch: Batch,
    pub(crate) rows: usize,
    pub(crate) receipt: oneshot::Sender<Result<Acknowledged, CommitError>>,
    pub(crate) place: QueuePermit,
}

/// A place in the queue, and in the part of it that is for what can be asked for again.
#[derive(Debug)]
pub(crate) struct QueuePermit {
    _of_all: OwnedSemaphorePermit,
    _of_part: Option<OwnedSemaphorePermit>,
}

impl QueuedBatch {
    pub(crate) fn sender(self) -> PendingReply {
        (self.rows, self.receipt, self.place)
    }
}

/// Rows of a batch, who waits to hear of them, and their place in the queue.
pub(crate) type PendingReply = (
    usize,
    oneshot::Sender<Result<Acknowledged, CommitError>>,
    QueuePermit,
);

/// The places of a queue.
#[derive(Clone, Debug)]
pub(crate) struct QueueCapacity {
    all: Arc<Semaphore>,
    /// Those that what can be asked for again may take: half of them, so that what is heard once finds room beside it.
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

    /// Nobody gets a place any more.
    pub(crate) fn close(&self) {
        self.all.close();
        self.part.close();
    }
}

/// A keeper's side of an inbox: what is sent to it, its room, and what both know.
pub(crate) type WriterSide = (
    mpsc::Receiver<QueueMessage>,
    QueueCapacity,
    Arc<Mutex<QueueState>>,
);

/// Where batches are handed to a [`GroupCommitWriter`](crate::archive::GroupCommitWriter); clones hand to the same one.
#[derive(Clone)]
pub struct WriteQueue {
    pub(crate) messages: mpsc::Sender<QueueMessage>,
    room: QueueCapacity,
    shared: Arc<Mutex<QueueState>>,
    rolls: CompactionThreads,
}

impl fmt::Debug for WriteQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteQueue")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl WriteQueue {
    /// An inbox of so many rows, what is sent to it, its room and what it shares.
    pub(crate) fn of(queue: usize) -> (Self, WriterSide) {
        let (messages, received) = mpsc::channel();
        let room = QueueCapacity::of(queue);
        let shared = Arc::new(Mutex::new(QueueState::default()));
        let side = (received, room.clone(), Arc::clone(&shared));
        let inbox = Self {
            messages,
            room,
            shared,
            rolls: CompactionThreads::default(),
        };
        (inbox, side)
    }

    /// Hands over a batch once there is room for it.
    ///
    /// # Errors
    ///
    /// [`CommitError::Archive`] for a row that cannot be kept exactly, [`CommitError::Stopped`] after the keeper has stopped.
    pub async fn send(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        batch.check()?;
        let place = QueuePermit {
            _of_all: acquire(&self.room.all, places(&batch, self.room.most.0)).await?,
            _of_part: None,
        };
        self.take(batch, place)
    }

    /// As [`WriteQueue::send`], for rows that can be asked for again: all that wait of these take half of the queue at most.
    ///
    /// # Errors
    ///
    /// As [`WriteQueue::send`].
    pub(crate) async fn send_aside(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        batch.check()?;
        let places = places(&batch, self.room.most.1);
        let part = acquire(&self.room.part, places).await?;
        let place = QueuePermit {
            _of_all: acquire(&self.room.all, places).await?,
            _of_part: Some(part),
        };
        self.take(batch, place)
    }

    /// As [`WriteQueue::send`], waiting on this thread; not for threads that drive asynchronous tasks.
    ///
    /// # Errors
    ///
    /// As [`WriteQueue::send`].
    pub fn send_blocking(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        wait_for(self.send(batch))
    }

    /// Hands over a batch if there is room for it now, and never waits.
    ///
    /// Orders that find no room are lost, and the time from the first of them to the last becomes a gap of their
    /// exchange, which is kept as soon as anything is. For what arrives whether it is taken or not.
    ///
    /// # Errors
    ///
    /// [`CommitError::Full`] where there is no room, else as [`WriteQueue::send`] gives.
    pub fn offer(&self, batch: Batch) -> Result<CommitHandle, CommitError> {
        batch.check()?;
        let places = places(&batch, self.room.most.0);
        match Arc::clone(&self.room.all).try_acquire_many_owned(places) {
            Ok(of_all) => {
                self.resume(&batch);
                let place = QueuePermit {
                    _of_all: of_all,
                    _of_part: None,
                };
                self.take(batch, place)
            }
            Err(tokio::sync::TryAcquireError::NoPermits) => Err(self.refuse(&batch)),
            Err(tokio::sync::TryAcquireError::Closed) => Err(CommitError::Stopped),
        }
    }

    /// Does something else with the writer, after everything that was handed over before it is durable: begins a run,
    /// verifies. Nothing becomes durable meanwhile; [`WriteQueue::roll`] is for what takes long.
    ///
    /// # Errors
    ///
    /// [`CommitError::Stopped`] after the keeper has stopped; the receipt tells how the work itself went.
    pub fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<CommitHandle<T>, CommitError> {
        let (done, receipt) = oneshot::channel();
        let job: WriterTask = Box::new(move |writer| {
            // Whoever asked may have gone.
            let _ = done.send(work(writer).map_err(CommitError::from));
        });
        self.messages
            .send(QueueMessage::Do(job))
            .map_err(|_| CommitError::Stopped)?;
        Ok(CommitHandle(receipt))
    }

    /// How the keeper is doing.
    #[must_use]
    pub fn status(&self) -> WriteQueueStatus {
        self.lock().status.clone()
    }

    pub(crate) fn rolls(&self) -> &CompactionThreads {
        &self.rolls
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, batch: Batch, place: QueuePermit) -> Result<CommitHandle, CommitError> {
        let (settle, receipt) = oneshot::channel();
        let rows = batch.rows();
        self.lock().status.waiting += rows;
        let taken = QueuedBatch {
            batch,
            rows,
            receipt: settle,
            place,
        };
        if self
            .messages
            .send(QueueMessage::Keep(Box::new(taken)))
            .is_err()
        {
            self.lock().status.waiting -= rows;
            return Err(CommitError::Stopped);
        }
        Ok(CommitHandle(receipt))
    }

    /// Notes what is lost for want of room.
    fn refuse(&self, batch: &Batch) -> CommitError {
        let mut shared = self.lock();
        shared.status.refused = shared.status.refused.saturating_add(count(batch.rows()));
        for row in &batch.orders {
            let start = row.order.timestamp.min(row.received_at);
            let end = row.order.timestamp.max(row.received_at).on(1);
            let stretches = shared.missed.entry(row.order.exchange.clone()).or_default();
            match stretches.last_mut().filter(|stretch| !stretch.over) {
                Some(stretch) => {
                    stretch.start = stretch.start.min(start);
                    stretch.end = stretch.end.max(end);
                }
                None => stretches.push(RefusedRange {
                    start,
                    end,
                    over: false,
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
        if shared.missed.is_empty() {
            return;
        }
        for row in &batch.orders {
            if let Some(stretch) = shared
                .missed
                .get_mut(&row.order.exchange)
                .and_then(|stretches| stretches.last_mut())
            {
                stretch.over = true;
            }
        }
    }
}

/// The rolls of a keeper: one at a time, and none once it has stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompactionThreads(Arc<Mutex<LastCompaction>>);

#[derive(Debug, Default)]
struct LastCompaction {
    /// The last roll that was begun; it waits for the one before it.
    last: Option<JoinHandle<()>>,
    over: bool,
}

impl CompactionThreads {
    fn turn(&self) -> MutexGuard<'_, LastCompaction> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on a thread, after every work before it; gives whether it will run.
    pub(crate) fn begin(&self, work: impl FnOnce() + Send + 'static) -> std::io::Result<bool> {
        let mut turn = self.turn();
        if turn.over {
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
            turn.over = true;
            turn.last.take()
        };
        let _ = last.map(JoinHandle::join);
    }
}

/// The places a batch takes up: never more than there are, so that the largest still gets its turn.
fn places(batch: &Batch, most: usize) -> u32 {
    u32::try_from(batch.rows().clamp(1, most)).unwrap_or(u32::MAX)
}

async fn acquire(room: &Arc<Semaphore>, places: u32) -> Result<OwnedSemaphorePermit, CommitError> {
    let acquired = Arc::clone(room).acquire_many_owned(places).await;
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
fn wait_for<F: Future>(future: F) -> F::Output {
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
