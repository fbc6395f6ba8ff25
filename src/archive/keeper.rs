//! The keeper: a thread that writes what many senders hand it, several batches in each transaction.
//!
//! A sync to the disk costs milliseconds however little it carries, so batches that arrive close together share one.
//! Whoever sends a batch gets a [`Receipt`], which is settled once the batch is durable and never before. While the disk
//! is full or fails, nothing is settled: what was taken waits and is tried again, and what cannot be taken any more is
//! written down as a gap as soon as anything can be written. Batches of nothing but estimated maps are given up at once where
//! the disk is full.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::journal::{self, Acknowledged, Batch};
use super::rolling::Rolls;
use super::{ArchiveError, Gap, Writer, wall_clock};
use crate::model::Millis;

/// The reason of a gap that a full queue leaves.
const REFUSED: &str = "could not be written in time";

/// How the keeper groups and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Longest time a batch waits for others before the transaction begins.
    pub delay: Duration,
    /// Rows after which a transaction begins at once.
    pub rows: usize,
    /// Most rows that may wait; at least 1. A batch of more rows waits until it is alone.
    pub queue: usize,
    /// Time after which a failed transaction is tried again.
    pub retry: Duration,
}

impl Default for Pace {
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

/// Why a batch, or a piece of work, was not done.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotKept {
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

impl From<ArchiveError> for NotKept {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(Arc::new(error))
    }
}

/// The promise of an outcome: a future, or something to wait for on a thread that may wait.
#[derive(Debug)]
#[must_use = "a batch is durable only once its receipt says so"]
pub struct Receipt<T = Acknowledged>(oneshot::Receiver<Result<T, NotKept>>);

impl<T> Receipt<T> {
    pub(super) fn of(outcome: oneshot::Receiver<Result<T, NotKept>>) -> Self {
        Self(outcome)
    }

    /// Waits on this thread; not for threads that drive asynchronous tasks.
    ///
    /// # Errors
    ///
    /// [`NotKept`] where it was not done and will not be.
    pub fn wait(self) -> Result<T, NotKept> {
        wait_for(self)
    }
}

impl<T> Future for Receipt<T> {
    type Output = Result<T, NotKept>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map(|settled| settled.unwrap_or(Err(NotKept::Stopped)))
    }
}

/// How the keeper is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeeperStatus {
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
}

/// Rows of one exchange that were not taken, since the last that were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Missed {
    start: Millis,
    end: Millis,
    /// Whether rows have been taken again since, so that the stretch grows no more.
    over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    status: KeeperStatus,
    missed: BTreeMap<String, Vec<Missed>>,
}

impl Shared {
    /// Forgets the stretches that are over and were written down as they still are.
    fn forget(&mut self, written: &BTreeMap<String, Vec<Missed>>) {
        self.missed.retain(|exchange, stretches| {
            let known = written.get(exchange).map(Vec::as_slice).unwrap_or_default();
            stretches.retain(|missed| !missed.over || !known.contains(missed));
            !stretches.is_empty()
        });
    }
}

type Job = Box<dyn FnOnce(&mut Writer) + Send>;

enum Message {
    Keep(Taken),
    Do(Job),
    Stop,
}

/// A batch that was taken; it gives its place in the queue back when it is dropped.
struct Taken {
    batch: Batch,
    rows: usize,
    receipt: oneshot::Sender<Result<Acknowledged, NotKept>>,
    place: OwnedSemaphorePermit,
}

impl Taken {
    fn sender(self) -> Sender {
        (self.rows, self.receipt, self.place)
    }
}

/// Rows of a batch, who waits to hear of them, and their place in the queue.
type Sender = (
    usize,
    oneshot::Sender<Result<Acknowledged, NotKept>>,
    OwnedSemaphorePermit,
);

/// Where batches are handed to a [`Keeper`]; clones hand to the same one.
#[derive(Clone)]
pub struct Inbox {
    messages: mpsc::Sender<Message>,
    room: Arc<Semaphore>,
    shared: Arc<Mutex<Shared>>,
    rolls: Rolls,
    queue: usize,
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl Inbox {
    /// Hands over a batch once there is room for it.
    ///
    /// # Errors
    ///
    /// [`NotKept::Archive`] for a row that cannot be kept exactly, [`NotKept::Stopped`] after the keeper has stopped.
    pub async fn send(&self, batch: Batch) -> Result<Receipt, NotKept> {
        journal::check(&batch)?;
        let places = self.places(&batch);
        let place = Arc::clone(&self.room)
            .acquire_many_owned(places)
            .await
            .map_err(|_| NotKept::Stopped)?;
        self.take(batch, place)
    }

    /// As [`Inbox::send`], waiting on this thread; not for threads that drive asynchronous tasks.
    ///
    /// # Errors
    ///
    /// As [`Inbox::send`].
    pub fn send_blocking(&self, batch: Batch) -> Result<Receipt, NotKept> {
        wait_for(self.send(batch))
    }

    /// Hands over a batch if there is room for it now, and never waits.
    ///
    /// Orders that find no room are lost, and the time from the first of them to the last becomes a gap of their
    /// exchange, which is kept as soon as anything is. For what arrives whether it is taken or not.
    ///
    /// # Errors
    ///
    /// [`NotKept::Full`] where there is no room, else as [`Inbox::send`] gives.
    pub fn offer(&self, batch: Batch) -> Result<Receipt, NotKept> {
        journal::check(&batch)?;
        let places = self.places(&batch);
        match Arc::clone(&self.room).try_acquire_many_owned(places) {
            Ok(place) => {
                self.resume(&batch);
                self.take(batch, place)
            }
            Err(tokio::sync::TryAcquireError::NoPermits) => Err(self.refuse(&batch)),
            Err(tokio::sync::TryAcquireError::Closed) => Err(NotKept::Stopped),
        }
    }

    /// Does something else with the writer, after everything that was handed over before it is durable: begins a run,
    /// verifies. Nothing becomes durable meanwhile; [`Inbox::roll`] is for what takes long.
    ///
    /// # Errors
    ///
    /// [`NotKept::Stopped`] after the keeper has stopped; the receipt tells how the work itself went.
    pub fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<Receipt<T>, NotKept> {
        let (done, receipt) = oneshot::channel();
        let job: Job = Box::new(move |writer| {
            // Whoever asked may have gone.
            let _ = done.send(work(writer).map_err(NotKept::from));
        });
        self.messages
            .send(Message::Do(job))
            .map_err(|_| NotKept::Stopped)?;
        Ok(Receipt(receipt))
    }

    /// How the keeper is doing.
    #[must_use]
    pub fn status(&self) -> KeeperStatus {
        self.lock().status.clone()
    }

    pub(super) fn rolls(&self) -> &Rolls {
        &self.rolls
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The places a batch takes up: never more than there are, so that the largest still gets its turn.
    fn places(&self, batch: &Batch) -> u32 {
        u32::try_from(batch.rows().clamp(1, self.queue)).unwrap_or(u32::MAX)
    }

    fn take(&self, batch: Batch, place: OwnedSemaphorePermit) -> Result<Receipt, NotKept> {
        let (settle, receipt) = oneshot::channel();
        let rows = batch.rows();
        self.lock().status.waiting += rows;
        let taken = Taken {
            batch,
            rows,
            receipt: settle,
            place,
        };
        if self.messages.send(Message::Keep(taken)).is_err() {
            self.lock().status.waiting -= rows;
            return Err(NotKept::Stopped);
        }
        Ok(Receipt(receipt))
    }

    /// Notes what is lost for want of room.
    fn refuse(&self, batch: &Batch) -> NotKept {
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
                None => stretches.push(Missed {
                    start,
                    end,
                    over: false,
                }),
            }
        }
        NotKept::Full {
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

/// A [`Writer`] on a thread of its own.
///
/// # Examples
///
/// ```
/// use liqdata::archive::{Archive, Batch, Completeness, Keeper};
/// use liqdata::model::Millis;
///
/// # let folder = std::env::temp_dir().join(format!("liqdata-keeper-doc-{}", std::process::id()));
/// let keeper = Keeper::start(Archive::create_or_open(&folder)?)?;
/// let inbox = keeper.inbox();
/// let run = inbox
///     .with(|writer| writer.begin_run("okx", Completeness::Complete, Millis(1_781_136_000_000)))?
///     .wait()?;
/// let seen = Batch { seen: vec![(run, Millis(1_781_136_060_000))], ..Batch::default() };
/// inbox.send_blocking(seen)?.wait()?;
/// let writer = keeper.stop()?;
/// # drop(writer);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Keeper {
    inbox: Inbox,
    thread: Option<JoinHandle<Writer>>,
}

impl Keeper {
    /// Starts to keep what is handed over, at the default [`Pace`].
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Io`] where no thread can be had.
    pub fn start(writer: Writer) -> Result<Self, ArchiveError> {
        Self::start_at(writer, Pace::default())
    }

    /// Starts to keep what is handed over.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Io`] where no thread can be had.
    pub fn start_at(writer: Writer, pace: Pace) -> Result<Self, ArchiveError> {
        let (messages, received) = mpsc::channel();
        let queue = pace.queue.clamp(1, Semaphore::MAX_PERMITS.min(1 << 30));
        let room = Arc::new(Semaphore::new(queue));
        let shared = Arc::new(Mutex::new(Shared::default()));
        let path = writer.path().to_owned();
        let desk = Desk {
            writer,
            pace,
            messages: received,
            held: VecDeque::new(),
            stopping: false,
            room: Arc::clone(&room),
            shared: Arc::clone(&shared),
        };
        let thread = thread::Builder::new()
            .name("liqdata-keeper".to_owned())
            .spawn(move || desk.work())
            .map_err(|source| ArchiveError::of_file(&path, source))?;
        Ok(Self {
            inbox: Inbox {
                messages,
                room,
                shared,
                rolls: Rolls::default(),
                queue,
            },
            thread: Some(thread),
        })
    }

    /// A place to hand batches over, for as many senders as there are.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// Keeps what has been handed over and stops; what cannot be written now is given up, and its receipts say so.
    ///
    /// # Errors
    ///
    /// [`NotKept::Stopped`] where the thread failed, which is a defect.
    pub fn stop(mut self) -> Result<Writer, NotKept> {
        self.finish().ok_or(NotKept::Stopped)
    }

    fn finish(&mut self) -> Option<Writer> {
        let thread = self.thread.take()?;
        // A thread that has failed hears nothing, and joining it tells.
        let _ = self.inbox.messages.send(Message::Stop);
        let writer = thread.join().ok();
        // Nobody else may write to the archive before its files are let alone.
        self.inbox.rolls().end();
        writer
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

/// The keeper's own side.
struct Desk {
    writer: Writer,
    pace: Pace,
    messages: mpsc::Receiver<Message>,
    /// What arrived while a transaction was to be tried again.
    held: VecDeque<Message>,
    stopping: bool,
    room: Arc<Semaphore>,
    shared: Arc<Mutex<Shared>>,
}

impl Desk {
    fn work(mut self) -> Writer {
        while let Some(first) = self.next(None) {
            let (taken, job) = self.gather(first);
            self.keep(taken);
            if let Some(job) = job {
                job(&mut self.writer);
            }
        }
        self.room.close();
        self.keep(Vec::new());
        self.writer
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message; `None` where none comes until then, or all have been read and the end was asked for.
    fn next(&mut self, until: Option<Instant>) -> Option<Message> {
        loop {
            let message = match self.held.pop_front() {
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
                Message::Stop => self.stopping = true,
                message => return Some(message),
            }
        }
    }

    /// Takes what arrives within the delay, up to the number of rows or to something else that is to be done.
    fn gather(&mut self, first: Message) -> (Vec<Taken>, Option<Job>) {
        let until = Instant::now() + self.pace.delay;
        let mut taken = Vec::new();
        let mut rows = 0;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Keep(one) => {
                    rows += one.rows.max(1);
                    taken.push(one);
                }
                Message::Do(job) => return (taken, Some(job)),
                Message::Stop => self.stopping = true,
            }
            if rows >= self.pace.rows {
                break;
            }
            next = self.next(Some(until));
        }
        (taken, None)
    }

    /// Makes batches durable, however long that takes; tries once only where the end was asked for.
    fn keep(&mut self, taken: Vec<Taken>) {
        let (mut batches, mut senders): (Vec<_>, Vec<Sender>) = taken
            .into_iter()
            .map(|taken| (taken.batch, (taken.rows, taken.receipt, taken.place)))
            .unzip();
        loop {
            let missed = self.lock().missed.clone();
            if batches.is_empty() && missed.values().all(Vec::is_empty) {
                return;
            }
            let gaps: Vec<Gap> = missed.iter().flat_map(gaps).collect();
            let fault = match self.writer.append_all(&batches, &gaps) {
                Ok(acknowledged) => {
                    let mut shared = self.lock();
                    shared.forget(&missed);
                    shared.status.commits += 1;
                    shared.status.stalled = None;
                    for ((rows, receipt, _), acknowledged) in senders.into_iter().zip(acknowledged)
                    {
                        shared.status.waiting -= rows;
                        shared.status.kept += count(rows);
                        // Whoever sent it may have gone; it is kept all the same.
                        let _ = receipt.send(Ok(acknowledged));
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
                self.give_up(spare.into_iter().map(|(_, sender)| sender), fault);
                (batches, senders) = rest.into_iter().unzip();
                continue;
            }
            if may_pass(&fault) && !self.stopping {
                if self
                    .lock()
                    .status
                    .stalled
                    .replace(fault.to_string())
                    .is_none()
                {
                    log::warn!("writing to the archive has stalled: {fault}");
                }
                self.pause(matches!(fault, ArchiveError::DiskFull { .. }));
                continue;
            }
            log::error!("rows were given up: {fault}");
            self.give_up(senders.into_iter(), fault);
            return;
        }
    }

    /// Tells who sent batches that they are not kept, and why.
    fn give_up(&self, senders: impl Iterator<Item = Sender>, fault: ArchiveError) {
        let fault = Arc::new(fault);
        let mut shared = self.lock();
        for (rows, receipt, _) in senders {
            shared.status.waiting -= rows;
            let _ = receipt.send(Err(NotKept::Archive(Arc::clone(&fault))));
        }
    }

    /// Waits until it is time to try again, or the end is asked for; gives up maps that come meanwhile where the disk is
    /// full.
    fn pause(&mut self, is_full: bool) {
        let until = Instant::now() + self.pace.retry;
        while !self.stopping {
            let left = until.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => self.stopping = true,
                Ok(Message::Keep(taken)) if is_full && taken.batch.is_of_maps() => {
                    let fault = ArchiveError::DiskFull {
                        path: self.writer.path().to_owned(),
                    };
                    self.give_up(std::iter::once(taken.sender()), fault);
                }
                Ok(message) => self.held.push_back(message),
                Err(RecvTimeoutError::Timeout) => return,
            }
        }
    }
}

/// Whether the same transaction may succeed later.
fn may_pass(fault: &ArchiveError) -> bool {
    matches!(
        fault,
        ArchiveError::DiskFull { .. }
            | ArchiveError::ReadOnly { .. }
            | ArchiveError::Io { .. }
            | ArchiveError::Journal { .. }
    )
}

fn gaps<'a>((exchange, stretches): (&'a String, &'a Vec<Missed>)) -> impl Iterator<Item = Gap> {
    stretches.iter().map(|missed| Gap {
        exchange: exchange.clone(),
        start: missed.start,
        end: missed.end,
        reason: REFUSED.to_owned(),
        recorded_at: wall_clock(),
    })
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
fn wait_for<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
