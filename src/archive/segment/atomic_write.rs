//! Atomic file writes: a file under its final name is always complete.
//!
//! A file is written under a temporary name and synced. It is then renamed, and its folder is synced. The syncs run on
//! threads, so the caller can prepare the next group of files during a sync. Each group of files is renamed before the
//! next group is written.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::archive::ArchiveError;
use crate::archive::files::{SegmentStep, made_folder, refuse_link, sync_folder, unfinished};

/// Maximum number of concurrent syncs; a disk can process several at the same time.
const TOGETHER: usize = 8;

/// Writes `bytes` to the file at `relative` below `base`, atomically and durably.
pub(crate) fn place(
    base: &Path,
    relative: &Path,
    bytes: &[u8],
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<(), ArchiveError> {
    place_all(base, &[(relative, bytes)], done)
}

/// As [`place`], for several files that are synced concurrently.
///
/// If one file fails, none of the files counts as written.
pub(crate) fn place_all(
    base: &Path,
    files: &[(&Path, &[u8])],
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<(), ArchiveError> {
    let mut placing = AtomicWrites::default();
    placing.write(base, files, done)?;
    placing.finish(done)
}

/// File writes in progress.
#[derive(Debug, Default)]
pub(crate) struct AtomicWrites {
    /// Files under their temporary names, with syncs in progress.
    under_way: Vec<SyncBatch>,
    /// Renamed files. Their new names are not durable yet.
    named: Vec<PathBuf>,
    /// Folders with new entries that must still be synced.
    changed: BTreeSet<PathBuf>,
    /// Folders that are being synced.
    folders: Vec<SyncTask>,
}

/// A written file and its path.
type WrittenFile = (PathBuf, File);

/// Files that one thread syncs, and that sync.
#[derive(Debug)]
struct SyncBatch {
    paths: Vec<PathBuf>,
    synced: SyncTask,
}

/// A sync that runs on a thread, or the result of a completed sync.
#[derive(Debug)]
enum SyncTask {
    Already(Result<(), ArchiveError>),
    Waited(JoinHandle<Result<(), ArchiveError>>),
}

impl AtomicWrites {
    /// Writes a group of files without waiting for their sync.
    ///
    /// First waits for the sync of the previous group and renames its files.
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

    /// Waits until all files are durable under their final names.
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

    /// Abandons all writes in progress; the caller removes the files.
    pub(crate) fn give_up(&mut self) {
        *self = Self::default();
    }

    /// Waits for the sync of the files in progress and renames them.
    ///
    /// Returns the folders to sync.
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
            // The file's folder is returned to be synced; a later file in it adds the folder again. The parent folders
            // stay in `changed`, because they may get more new entries.
            if let Some(folder) = path.parent().and_then(|folder| self.changed.take(folder)) {
                folders.push(folder);
            }
            self.named.push(path);
        }
        Ok(folders)
    }

    /// Starts to sync folders, after the sync of the previous folders has ended.
    ///
    /// The wait limits the number of threads.
    fn begin_folders(&mut self, folders: Vec<PathBuf>) -> Result<(), ArchiveError> {
        all_of(mem::take(&mut self.folders))?;
        let waits = shares(folders).into_iter();
        self.folders = waits
            .map(|some| spawn_sync(some, |some| sync_folders(some)))
            .collect();
        Ok(())
    }
}

/// Starts to sync the contents of written files.
fn begin(written: Vec<WrittenFile>) -> SyncBatch {
    let paths = written.iter().map(|(path, _)| path.clone()).collect();
    // A failed fsync is never retried: the caller abandons the file.
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

/// Syncs folders, several at a time.
pub(crate) fn sync_all(folders: impl IntoIterator<Item = PathBuf>) -> Result<(), ArchiveError> {
    let mut shares = shares(folders.into_iter().collect()).into_iter();
    // This thread syncs one share; new threads sync the other shares.
    let own = shares.next().unwrap_or_default();
    let mut waits: Vec<SyncTask> = shares
        .map(|some| spawn_sync(some, |some| sync_folders(some)))
        .collect();
    waits.push(SyncTask::Already(sync_folders(&own)));
    all_of(waits)
}

/// Syncs folders one after the other.
fn sync_folders(folders: &[PathBuf]) -> Result<(), ArchiveError> {
    let mut folders = folders.iter();
    folders.try_for_each(|folder| sync_folder(folder))
}

/// Splits a list into shares for the sync threads.
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

/// Runs `work` on a new thread, or on this thread if no thread can be started.
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

/// Waits for all syncs to end; returns the first error.
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
