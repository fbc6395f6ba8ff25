//! Putting files into their places: each is there whole or not at all, and the disk is waited for while others are made.
//!
//! A file is written under a name that no engine reads, becomes durable, and gets its own name; once the folders are
//! durable, too, it is there to stay. Threads wait for the content of the files of a lot, and for their folders once they
//! have their names, and whoever makes files goes on meanwhile with the next; of two lots the first is settled before the
//! second is written.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::archive::ArchiveError;
use crate::archive::files::{SegmentStep, made_folder, refuse_link, sync_folder, unfinished};

/// Files that are waited for at the same time: a disk takes waits together.
const TOGETHER: usize = 8;

/// Makes the file at `relative` below `base` durable with `bytes` in it: it is there whole or not at all.
pub(crate) fn place(
    base: &Path,
    relative: &Path,
    bytes: &[u8],
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<(), ArchiveError> {
    place_all(base, &[(relative, bytes)], done)
}

/// Makes several files durable as [`place`] does one: they are waited for together, so that many take little longer
/// than one. Where one fails, none of them counts as there.
pub(crate) fn place_all(
    base: &Path,
    files: &[(&Path, &[u8])],
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<(), ArchiveError> {
    let mut placing = AtomicWrites::default();
    placing.write(base, files, done)?;
    placing.finish(done)
}

/// Files on their way into their places.
#[derive(Debug, Default)]
pub(crate) struct AtomicWrites {
    /// Those whose content is on its way to the disk.
    under_way: Vec<SyncBatch>,
    /// Those that have their names, which are not durable yet.
    named: Vec<PathBuf>,
    /// Folders that have new names in them.
    changed: BTreeSet<PathBuf>,
    /// Folders on their way to the disk.
    folders: Vec<SyncTask>,
}

/// A file that is written, by its path.
type WrittenFile = (PathBuf, File);

/// Files that are waited for one after the other.
#[derive(Debug)]
struct SyncBatch {
    paths: Vec<PathBuf>,
    synced: SyncTask,
}

/// How a wait for the disk went.
#[derive(Debug)]
enum SyncTask {
    Already(Result<(), ArchiveError>),
    Waited(JoinHandle<Result<(), ArchiveError>>),
}

impl AtomicWrites {
    /// Writes these files, and does not wait for them; those before get their names first.
    pub(crate) fn write(
        &mut self,
        base: &Path,
        files: &[(&Path, &[u8])],
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<(), ArchiveError> {
        let named = self.settle(done)?;
        self.begin_folders(named)?;
        let mut written: Vec<WrittenFile> = Vec::with_capacity(files.len());
        for (relative, bytes) in files {
            refuse_link(base, relative)?;
            let path = base.join(relative);
            let fault = |source| ArchiveError::of_file(&path, source);
            if let Some(folder) = path.parent() {
                made_folder(base, folder, &mut self.changed)?;
                self.changed.insert(folder.to_owned());
            }
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(unfinished(&path))
                .map_err(fault)?;
            file.write_all(bytes).map_err(fault)?;
            done(SegmentStep::Written, &path);
            written.push((path, file));
        }
        let shares = shares(written).into_iter();
        self.under_way = shares.map(begin).collect();
        Ok(())
    }

    /// Waits until everything that was written is there to stay.
    pub(crate) fn finish(
        &mut self,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<(), ArchiveError> {
        let mut left = self.settle(done)?;
        left.extend(mem::take(&mut self.changed));
        all_of(mem::take(&mut self.folders))?;
        sync_all(left)?;
        for path in mem::take(&mut self.named) {
            done(SegmentStep::FolderSynced, &path);
        }
        Ok(())
    }

    /// Lets what is on its way be: whoever gives up removes the files, and nobody waits for the disk.
    pub(crate) fn give_up(&mut self) {
        *self = Self::default();
    }

    /// Gives the files that are durable their names; the folders that have those are to be waited for.
    fn settle(
        &mut self,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<Vec<PathBuf>, ArchiveError> {
        let (mut paths, mut waits) = (Vec::new(), Vec::new());
        for share in mem::take(&mut self.under_way) {
            paths.extend(share.paths);
            waits.push(share.synced);
        }
        all_of(waits)?;
        for path in &paths {
            done(SegmentStep::Synced, path);
        }
        let mut folders = Vec::new();
        for path in paths {
            fs::rename(unfinished(&path), &path)
                .map_err(|source| ArchiveError::of_file(&path, source))?;
            done(SegmentStep::Renamed, &path);
            // What comes into it later has it waited for again; one above it may yet have more come into it.
            if let Some(folder) = path.parent().and_then(|folder| self.changed.take(folder)) {
                folders.push(folder);
            }
            self.named.push(path);
        }
        Ok(folders)
    }

    /// Begins to wait for the names in these folders, once those before are there to stay: they had all the time since, and of
    /// years the threads would be thousands.
    fn begin_folders(&mut self, folders: Vec<PathBuf>) -> Result<(), ArchiveError> {
        all_of(mem::take(&mut self.folders))?;
        let waits = shares(folders).into_iter();
        self.folders = waits
            .map(|some| spawn_sync(some, |some| sync_folders(some)))
            .collect();
        Ok(())
    }
}

/// Begins to wait for these files.
fn begin(written: Vec<WrittenFile>) -> SyncBatch {
    let paths = written.iter().map(|(path, _)| path.clone()).collect();
    // A failed fsync is not tried again: the file is given up, and its rows are still in the journal.
    let sync = |written: &Vec<WrittenFile>| {
        let mut written = written.iter();
        written.try_for_each(|(path, file)| {
            file.sync_all()
                .map_err(|source| ArchiveError::of_file(path, source))
        })
    };
    SyncBatch {
        paths,
        synced: spawn_sync(written, sync),
    }
}

/// Waits for the names in these folders, for many at a time.
pub(crate) fn sync_all(folders: impl IntoIterator<Item = PathBuf>) -> Result<(), ArchiveError> {
    let mut shares = shares(folders.into_iter().collect()).into_iter();
    // Nothing else is done meanwhile: this thread waits for a share of them.
    let own = shares.next().unwrap_or_default();
    let mut waits: Vec<SyncTask> = shares
        .map(|some| spawn_sync(some, |some| sync_folders(some)))
        .collect();
    waits.push(SyncTask::Already(sync_folders(&own)));
    all_of(waits)
}

/// Waits for the names in these folders.
fn sync_folders(folders: &[PathBuf]) -> Result<(), ArchiveError> {
    let mut folders = folders.iter();
    folders.try_for_each(|folder| sync_folder(folder))
}

/// Divides these into what threads of their own wait for.
fn shares<T>(all: Vec<T>) -> Vec<Vec<T>> {
    let most = all.len().div_ceil(TOGETHER).max(1);
    let mut shares = Vec::new();
    let mut all = all.into_iter();
    loop {
        let share: Vec<T> = all.by_ref().take(most).collect();
        if share.is_empty() {
            return shares;
        }
        shares.push(share);
    }
}

/// Does `work` on a thread of its own, or at once where none can be had.
fn spawn_sync<T: Send + Sync + 'static>(
    what: T,
    work: fn(&T) -> Result<(), ArchiveError>,
) -> SyncTask {
    let what = Arc::new(what);
    let theirs = Arc::clone(&what);
    let thread = thread::Builder::new().name("liqdata-sync".to_owned());
    match thread.spawn(move || work(&theirs)) {
        Ok(thread) => SyncTask::Waited(thread),
        Err(_) => SyncTask::Already(work(&what)),
    }
}

/// Waits for all of these, and gives the first fault.
fn all_of(waits: Vec<SyncTask>) -> Result<(), ArchiveError> {
    let mut first = Ok(());
    for wait in waits {
        let synced = match wait {
            SyncTask::Already(synced) => synced,
            SyncTask::Waited(thread) => {
                let done = thread.join();
                done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        };
        first = first.and(synced);
    }
    first
}
