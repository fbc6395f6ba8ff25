//! Handle that returns the outcome of a commit.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio::sync::oneshot;

use crate::archive::ArchiveError;
use crate::archive::batch::Acknowledged;

/// Why the writer did not commit a batch or run a task.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The queue is full because the disk is slow, full or failing.
    ///
    /// The batch is refused, and a gap is recorded for its rows.
    #[error("the write queue is full: {waiting} rows wait to be written")]
    Full {
        /// Number of rows in the queue.
        waiting: usize,
    },
    /// The writer has stopped.
    #[error("the archive's writer has stopped")]
    Stopped,
    /// The archive refused the batch or the task failed.
    #[error(transparent)]
    Archive(Arc<ArchiveError>),
}

impl From<ArchiveError> for CommitError {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(Arc::new(error))
    }
}

/// Handle of a commit: a future that a thread can also [`wait`](Self::wait) for.
#[derive(Debug)]
#[must_use = "a batch is durable only after its handle has returned"]
pub struct CommitHandle<T = Acknowledged>(oneshot::Receiver<Result<T, CommitError>>);

impl<T> CommitHandle<T> {
    pub(crate) fn of(outcome: oneshot::Receiver<Result<T, CommitError>>) -> Self {
        Self(outcome)
    }

    /// Blocks this thread until the commit is durable or has failed.
    ///
    /// Do not call this function on an async task.
    ///
    /// # Errors
    ///
    /// [`CommitError`] if the batch or task failed and will not be retried.
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

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks this thread until a future completes.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
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
