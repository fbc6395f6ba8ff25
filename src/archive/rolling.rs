//! Rolling beside the keeping: the files are read and written on a thread of their own, and the keeper does each of the
//! short transactions in its turn, so that batches become durable between them.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::keeper::{Inbox, NotKept, Receipt};
use super::roll::{self, Hand, RollStep, Rolled};
use super::{Archive, ArchiveError, Writer};
use crate::model::Millis;

/// The rolls of a keeper: one at a time, and none once it has stopped.
#[derive(Clone, Debug, Default)]
pub(super) struct Rolls(Arc<Mutex<Turn>>);

#[derive(Debug, Default)]
struct Turn {
    /// The last roll that was begun; it waits for the one before it.
    last: Option<JoinHandle<()>>,
    over: bool,
}

impl Rolls {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on a thread, after every work before it; gives whether it will run.
    fn begin(&self, work: impl FnOnce() + Send + 'static) -> std::io::Result<bool> {
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
    pub(super) fn end(&self) {
        let last = {
            let mut turn = self.turn();
            turn.over = true;
            turn.last.take()
        };
        let _ = last.map(JoinHandle::join);
    }
}

/// A keeper's writer, from beside it.
struct Beside {
    archive: Archive,
    inbox: Inbox,
}

impl Hand for Beside {
    type Fault = NotKept;

    fn archive(&self) -> &Archive {
        &self.archive
    }

    fn change<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut Writer) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, NotKept> {
        self.inbox.with(change)?.wait()
    }
}

impl Inbox {
    /// Moves every day that was over at `until` into files, while whatever is handed over goes on becoming durable.
    ///
    /// A roll waits for the one before it. One that is at work when the keeper stops ends there: what was rolled until
    /// then stays rolled, the rest stays in the journal.
    ///
    /// # Errors
    ///
    /// [`NotKept::Stopped`] after the keeper has stopped, [`NotKept::Archive`] where no thread can be had; the receipt
    /// tells how the roll itself went.
    pub fn roll(&self, until: Millis) -> Result<Receipt<Rolled>, NotKept> {
        self.roll_observed(until, |_, _| ())
    }

    /// As [`Inbox::roll`], and tells of every step of every file once it is done.
    ///
    /// # Errors
    ///
    /// As [`Inbox::roll`].
    pub fn roll_observed(
        &self,
        until: Millis,
        mut done: impl FnMut(RollStep, &Path) + Send + 'static,
    ) -> Result<Receipt<Rolled>, NotKept> {
        let (reply, receipt) = oneshot::channel();
        let inbox = self.clone();
        let work = move || {
            // Whoever asked may have gone.
            let _ = reply.send(beside(inbox, until, &mut done));
        };
        match self.rolls().begin(work) {
            Ok(true) => Ok(Receipt::of(receipt)),
            Ok(false) => Err(NotKept::Stopped),
            Err(source) => Err(ArchiveError::of_file(Path::new("liqdata-roll"), source).into()),
        }
    }
}

fn beside(
    inbox: Inbox,
    until: Millis,
    done: &mut dyn FnMut(RollStep, &Path),
) -> Result<Rolled, NotKept> {
    // Everything that was handed over before the roll was asked for is durable when this is answered.
    let folder = inbox.with(|writer| Ok(writer.path().to_owned()))?.wait()?;
    let mut hand = Beside {
        archive: Archive::read(folder)?,
        inbox,
    };
    roll::roll(&mut hand, until, done)
}
