//! Rolling beside the keeping: the files are read and written on a thread of their own, and the keeper does each of the
//! short transactions in its turn, so that batches become durable between them.

use std::path::Path;

use tokio::sync::oneshot;

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::compaction::compactor;
use crate::archive::compaction::compactor::{CompactionReport, WriterAccess};
use crate::archive::files::SegmentStep;
use crate::archive::group_commit::write_queue::{CommitError, CommitHandle, WriteQueue};
use crate::archive::writer::Writer;
use crate::model::Millis;

/// A keeper's writer, from beside it.
struct QueuedWriter {
    archive: Archive,
    queue: WriteQueue,
}

impl WriterAccess for QueuedWriter {
    type Fault = CommitError;

    fn archive(&self) -> &Archive {
        &self.archive
    }

    fn change<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut Writer) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, CommitError> {
        self.queue.with(change)?.wait()
    }
}

impl WriteQueue {
    /// Moves every day that was over at `until` into files, while whatever is handed over goes on becoming durable.
    ///
    /// A roll waits for the one before it. One that is at work when the keeper stops ends there: what was rolled until
    /// then stays report, the rest stays in the journal.
    ///
    /// # Errors
    ///
    /// [`CommitError::Stopped`] after the keeper has stopped, [`CommitError::Archive`] where no thread can be had; the receipt
    /// tells how the roll itself went.
    pub fn compact(&self, until: Millis) -> Result<CommitHandle<CompactionReport>, CommitError> {
        self.compact_observed(until, |_, _| ())
    }

    /// As [`WriteQueue::compact`], and tells of every step of every file once it is done.
    ///
    /// # Errors
    ///
    /// As [`WriteQueue::compact`].
    pub fn compact_observed(
        &self,
        until: Millis,
        mut done: impl FnMut(SegmentStep, &Path) + Send + 'static,
    ) -> Result<CommitHandle<CompactionReport>, CommitError> {
        let (reply, receipt) = oneshot::channel();
        let queue = self.clone();
        let work = move || {
            // Whoever asked may have gone.
            let _ = reply.send(compact_through_queue(queue, until, &mut done));
        };
        match self.compactions().begin(work) {
            Ok(true) => Ok(CommitHandle::of(receipt)),
            Ok(false) => Err(CommitError::Stopped),
            Err(source) => Err(ArchiveError::of_file(Path::new("liqdata-roll"), source).into()),
        }
    }
}

fn compact_through_queue(
    queue: WriteQueue,
    until: Millis,
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<CompactionReport, CommitError> {
    // Everything that was handed over before the roll was asked for is durable when this is answered.
    let folder = queue.with(|writer| Ok(writer.path().to_owned()))?.wait()?;
    let mut access = QueuedWriter {
        archive: Archive::read(folder)?,
        queue,
    };
    compactor::compact(&mut access, until, done)
}
