//! Snapshots of the journal, for backups.
//!
//! A snapshot is a copy of the whole journal at one instant, as a single file without a write-ahead log. It is marked with
//! that instant; the next writer of the copy removes the mark. A backup may therefore replace a marked copy, and never an
//! archive to which anything was written since.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::archive::catalog::stats;
use crate::archive::clock::wall_clock;
use crate::archive::export::closed_days;
use crate::archive::export::closed_days::ArchiveContents;
use crate::archive::journal::database;
use crate::archive::store::store::Store;
use crate::archive::{ArchiveError, files};

/// Implements `Archive::snapshot`.
pub(crate) fn snapshot(store: &Store, into: &Path) -> Result<ArchiveContents, ArchiveError> {
    closed_days::refuse_faults(store)?;
    fs::create_dir_all(into).map_err(|source| ArchiveError::of_file(into, source))?;
    let path = into.join(database::FILE);
    let taken_at = wall_clock();
    // The copy runs on a connection of its own, because the reader's connection refuses every write.
    let journal = database::open_to_read(&store.path().join(database::FILE))?;
    copy(&journal.connection, &path).map_err(|source| store.of_journal(source))?;
    let copy = database::open_to_write(&path)?;
    stats::mark_backup(&copy, taken_at)
        .and_then(|()| database::finish(&copy))
        .map_err(|source| ArchiveError::of_journal(&path, source))?;
    drop(copy);
    files::sync_folder(into)?;
    closed_days::lists(&Store::open(into)?)
}

/// Copies the journal in one read transaction, while other processes may write to it.
fn copy(journal: &Connection, path: &Path) -> rusqlite::Result<()> {
    journal.execute_batch("PRAGMA query_only = OFF")?;
    journal
        .execute("VACUUM INTO ?1", [path.to_string_lossy()])
        .map(drop)
}
