//! Compaction on a separate thread while the group commit writer continues to commit.
//!
//! The thread reads rows and writes segments. It sends each short transaction to the writer's queue, so that the writer
//! can commit batches between these transactions.

use std::path::Path;

use tokio::sync::oneshot;

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::compaction::compactor;
use crate::archive::compaction::compactor::{CompactionReport, WriterAccess};
use crate::archive::files::SegmentStep;
use crate::archive::group_commit::commit_handle::{CommitError, CommitHandle};
use crate::archive::group_commit::write_queue::WriteQueue;
use crate::archive::store::store::Store;
use crate::archive::store::write_store::WriteStore;
use crate::model::Millis;

/// Runs the transactions of a compaction through the writer's queue.
struct QueuedWriter {
    archive: Archive,
    queue: WriteQueue,
}

impl WriterAccess for QueuedWriter {
    type Fault = CommitError;

    fn archive(&self) -> &Store {
        &self.archive.store
    }

    fn change<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut WriteStore) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, CommitError> {
        self.queue
            .with(move |writer| change(&mut writer.write))?
            .wait()
    }
}

impl WriteQueue {
    /// Moves the rows of every day that ended by `until` into segments, on another thread.
    ///
    /// Compactions run one after the other. If the writer stops, the running compaction ends. Rows that were moved by
    /// then stay in segments. The other rows stay in the journal.
    ///
    /// # Errors
    ///
    /// [`CommitError::Stopped`] after the writer has stopped, [`CommitError::Archive`] if no thread can be started; the
    /// handle returns the outcome of the compaction.
    pub fn compact(&self, until: Millis) -> Result<CommitHandle<CompactionReport>, CommitError> {
        self.compact_observed(until, |_, _| ())
    }

    /// As [`WriteQueue::compact`]; calls `done` after every [`SegmentStep`] of every segment.
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
            // The caller may have dropped the handle.
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
    // When this call returns, all batches queued before the compaction are committed.
    let folder = queue
        .with(|writer| Ok(writer.archive().path().to_owned()))?
        .wait()?;
    let mut access = QueuedWriter {
        archive: Archive::read(folder)?,
        queue,
    };
    compactor::compact_through(&mut access, until, done)
}
