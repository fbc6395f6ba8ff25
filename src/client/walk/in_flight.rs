//! Requests pages before they are needed.

use std::collections::VecDeque;
use std::panic::resume_unwind;

use futures_util::FutureExt;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use crate::client::error::Error;
use crate::client::walk::feed::PageRequest;
use crate::model::OrderColumns;

/// The result of a page request.
type Page = Result<OrderColumns, Error>;

/// Requested pages, in the order of their requests.
///
/// Each page has a separate task, so that pages are downloaded and decoded in parallel while the caller uses earlier
/// rows. Dropping this ends all tasks.
#[derive(Debug)]
pub(super) struct Flight {
    pages: VecDeque<(PageRequest, AbortOnDropHandle<Page>)>,
    /// Whether the results of the requested pages must be discarded.
    is_stray: bool,
    pid: u32,
}

impl Flight {
    pub(super) fn new() -> Self {
        Self {
            pages: VecDeque::new(),
            is_stray: false,
            pid: std::process::id(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns the page that was requested last.
    pub(super) fn last(&self) -> Option<&PageRequest> {
        self.pages.back().map(|(ask, _)| ask)
    }

    /// Requests a page.
    pub(super) fn send(
        &mut self,
        ask: PageRequest,
        page: impl Future<Output = Page> + Send + 'static,
    ) {
        let task = AbortOnDropHandle::new(tokio::spawn(page));
        self.pages.push_back((ask, task));
    }

    /// Waits for the page that was requested first. `None` if no page is requested. Cancel-safe.
    pub(super) async fn first(&mut self) -> Option<(PageRequest, Page)> {
        let (_, task) = self.pages.front_mut()?;
        let landed = task.await;
        self.land(landed)
    }

    /// Returns the page that was requested first, if it has arrived.
    pub(super) fn arrived(&mut self) -> Option<(PageRequest, Page)> {
        let (_, task) = self.pages.front_mut()?;
        let landed = task.now_or_never()?;
        self.land(landed)
    }

    fn land(&mut self, landed: Result<Page, JoinError>) -> Option<(PageRequest, Page)> {
        let (ask, _) = self.pages.pop_front()?;
        match landed.map_err(JoinError::try_into_panic) {
            Ok(page) => Some((ask, page)),
            Err(Ok(panic)) => resume_unwind(panic),
            Err(Err(_)) => {
                let ended = "the runtime on which a page was requested has ended; request it again";
                Some((ask, Err(Error::no_answer(ended))))
            }
        }
    }

    /// Discards the requested pages. The requests still complete, because aborting a request closes its connection.
    pub(super) fn give_up(&mut self) {
        self.is_stray = !self.pages.is_empty();
    }

    pub(super) fn is_stray(&self) -> bool {
        self.is_stray
    }

    /// Waits until the requests of all discarded pages have completed. Cancel-safe.
    pub(super) async fn settle(&mut self) {
        while let Some((_, task)) = self.pages.front_mut() {
            // A discarded page is ignored, even if its task panicked.
            let _ = task.await;
            self.pages.pop_front();
        }
        self.is_stray = false;
    }

    /// Forgets the tasks of a parent process. A forked child has no threads for the tasks, so it can neither await nor
    /// end them.
    pub(super) fn forget_after_fork(&mut self) {
        let pid = std::process::id();
        if self.pid != pid {
            self.pid = pid;
            self.is_stray = false;
            std::mem::forget(std::mem::take(&mut self.pages));
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.forget_after_fork();
    }
}
