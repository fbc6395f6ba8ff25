//! The pages of a walk that are on their way.

use std::collections::VecDeque;
use std::panic::resume_unwind;

use futures_util::FutureExt;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use crate::client::error::Error;
use crate::client::walk::feed::Ask;
use crate::model::OrderColumns;

/// What a page brought.
type Page = Result<OrderColumns, Error>;

/// The pages in flight, in the order of asking.
///
/// A task each, so that they arrive and are decoded on all of a runtime's threads, and go on to while the rows before
/// them are handed out. All end with the flight.
#[derive(Debug)]
pub(super) struct Flight {
    pages: VecDeque<(Ask, AbortOnDropHandle<Page>)>,
    /// Whether nobody wants what is still under way.
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

    /// What was asked for last.
    pub(super) fn last(&self) -> Option<&Ask> {
        self.pages.back().map(|(ask, _)| ask)
    }

    /// Sends for the page of `ask`.
    pub(super) fn send(&mut self, ask: Ask, page: impl Future<Output = Page> + Send + 'static) {
        let task = AbortOnDropHandle::new(tokio::spawn(page));
        self.pages.push_back((ask, task));
    }

    /// Waits for the first page; none where nothing is in flight. May be dropped while it waits.
    pub(super) async fn first(&mut self) -> Option<(Ask, Page)> {
        let (_, task) = self.pages.front_mut()?;
        let landed = task.await;
        self.land(landed)
    }

    /// The first page if it has arrived.
    pub(super) fn arrived(&mut self) -> Option<(Ask, Page)> {
        let (_, task) = self.pages.front_mut()?;
        let landed = task.now_or_never()?;
        self.land(landed)
    }

    fn land(&mut self, landed: Result<Page, JoinError>) -> Option<(Ask, Page)> {
        let (ask, _) = self.pages.pop_front()?;
        match landed.map_err(JoinError::try_into_panic) {
            Ok(page) => Some((ask, page)),
            Err(Ok(panic)) => resume_unwind(panic),
            Err(Err(_)) => {
                let ended = "the runtime on which a page was asked for has ended; ask again";
                Some((ask, Err(Error::no_answer(ended))))
            }
        }
    }

    /// Nobody wants what is in flight any more. It is let land all the same, as a request that is broken off costs its
    /// connection.
    pub(super) fn give_up(&mut self) {
        self.is_stray = !self.pages.is_empty();
    }

    pub(super) fn is_stray(&self) -> bool {
        self.is_stray
    }

    /// Waits until all that was given up has landed. May be dropped while it waits.
    pub(super) async fn settle(&mut self) {
        while let Some((_, task)) = self.pages.front_mut() {
            // Whatever it brought, even a panic, is of no use.
            let _ = task.await;
            self.pages.pop_front();
        }
        self.is_stray = false;
    }

    /// In a forked child the tasks belong to threads that are not there; they can be neither awaited nor ended.
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
