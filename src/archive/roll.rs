//! Rolling: days that are over move from the journal into Parquet files, so that a kill at any step leaves every row
//! in exactly one place.
//!
//! The journal is the judge. A file's name stands in its list as *pending* before the file exists; the rows stay in the
//! journal until the file is durable under its final name; and one transaction turns the entry into *kept* and deletes
//! the rows. A pending entry that is found on opening names a file to remove.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::bars::BarRow;
use super::manifest::{self, Part, Partition, State};
use super::maps::MapRow;
use super::open_interest::OpenInterestRow;
use super::orders::OrderRow;
use super::parquet::{self, FileFault};
use super::row::Row;
use super::scan::Filter;
use super::{ArchiveError, Writer, coverage, journal, wall_clock};
use crate::model::Millis;

/// A day of more rows than this gets files of its own for each exchange, or for each kind of map.
const HEAVY: u64 = 50_000;
/// Rows of a file at most: what is held in memory while it is written.
const MOST: usize = 250_000;
/// The same in bytes, for rows that are large.
const MOST_BYTES: usize = 64 << 20;

/// How far a file has come; every step before [`RollStep::Committed`] can be lost without losing a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RollStep {
    /// The journal says that the file will be made.
    Intended,
    /// The unfinished file is written.
    Written,
    /// It is durable.
    Synced,
    /// It has its final name.
    Renamed,
    /// The name is durable.
    FolderSynced,
    /// The rows are the file's, and no longer the journal's.
    Committed,
}

impl RollStep {
    /// Every step, in order.
    pub const ALL: [Self; 6] = [
        Self::Intended,
        Self::Written,
        Self::Synced,
        Self::Renamed,
        Self::FolderSynced,
        Self::Committed,
    ];
}

/// What a roll did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rolled {
    /// Files written.
    pub parts: Vec<PathBuf>,
    /// Rows in them.
    pub rows: u64,
    /// Rows left out because a file had them already.
    pub repeated: u64,
}

impl Writer {
    /// Moves every day that was over at `until` into files.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where a file or the journal cannot be written. What was rolled until then stays rolled, the rest
    /// stays in the journal.
    pub fn roll(&mut self, until: Millis) -> Result<Rolled, ArchiveError> {
        self.roll_observed(until, &mut |_, _| ())
    }

    /// As [`Writer::roll`], and tells of every step of every file once it is done.
    ///
    /// # Errors
    ///
    /// As [`Writer::roll`].
    pub fn roll_observed(
        &mut self,
        until: Millis,
        done: &mut dyn FnMut(RollStep, &Path),
    ) -> Result<Rolled, ArchiveError> {
        let mut rolled = Rolled::default();
        self.roll_kind::<OrderRow>(until, done, &mut rolled)?;
        self.roll_kind::<BarRow>(until, done, &mut rolled)?;
        self.roll_kind::<OpenInterestRow>(until, done, &mut rolled)?;
        self.roll_kind::<MapRow>(until, done, &mut rolled)?;
        Ok(rolled)
    }

    fn roll_kind<R: Row>(
        &mut self,
        until: Millis,
        done: &mut dyn FnMut(RollStep, &Path),
        rolled: &mut Rolled,
    ) -> Result<(), ArchiveError> {
        for partition in self.ask(journal::partitions::<R>)? {
            if partition.day.end() > until {
                continue;
            }
            let groups = self.ask(|journal| journal::groups::<R>(journal, partition))?;
            let known = self.filed_keys::<R>(partition)?;
            if groups.iter().map(|(_, rows)| rows).sum::<u64>() <= HEAVY {
                self.roll_partition::<R>(partition, None, &known, done, rolled)?;
            } else {
                for (group, _) in &groups {
                    self.roll_partition::<R>(partition, Some(group), &known, done, rolled)?;
                }
            }
        }
        Ok(())
    }

    /// The keys of the rows that a partition's files hold; a damaged file is set aside, so that its rows can be kept
    /// anew.
    fn filed_keys<R: Row>(
        &mut self,
        partition: Partition,
    ) -> Result<HashSet<String>, ArchiveError> {
        let parts =
            self.ask(|journal| manifest::of_day(journal, R::TABLE, partition.day, State::Kept))?;
        let mut keys = HashSet::new();
        for part in parts.iter().filter(|part| part.partition == partition) {
            let path = self.folder.join(&part.path);
            let fault = match self.fault_of(part)? {
                Some(fault) => Some(fault),
                None => match parquet::rows::<R>(&path, partition.interval, &Filter::default()) {
                    Ok(rows) => {
                        keys.extend(rows.iter().map(Row::key));
                        None
                    }
                    Err(fault) => Some(fault.to_string()),
                },
            };
            if let Some(reason) = fault {
                self.set_aside(part, &reason)?;
            }
        }
        Ok(keys)
    }

    fn roll_partition<R: Row>(
        &mut self,
        partition: Partition,
        group: Option<&str>,
        known: &HashSet<String>,
        done: &mut dyn FnMut(RollStep, &Path),
        rolled: &mut Rolled,
    ) -> Result<(), ArchiveError> {
        loop {
            let found = self.ask(|journal| {
                journal::to_roll::<R>(journal, partition, group, MOST, MOST_BYTES)
            })?;
            if found.is_empty() {
                return Ok(());
            }
            let (ids, rows): (Vec<i64>, Vec<R>) = found.into_iter().unzip();
            let sent = rows.len();
            let mut rows: Vec<R> = rows
                .into_iter()
                .filter(|row| known.is_empty() || !known.contains(&row.key()))
                .collect();
            rolled.repeated += u64::try_from(sent - rows.len()).unwrap_or(u64::MAX);
            if rows.is_empty() {
                self.change(|journal| {
                    let transaction = journal.transaction()?;
                    journal::delete::<R>(&transaction, &ids)?;
                    transaction.commit()
                })?;
                continue;
            }
            R::sort_for_file(&mut rows);
            let path = self.roll_part(partition, &rows, &ids, done)?;
            rolled.parts.push(path);
            rolled.rows += u64::try_from(rows.len()).unwrap_or(u64::MAX);
        }
    }

    /// Writes `rows` to a file and deletes the journal's rows `ids`.
    fn roll_part<R: Row>(
        &mut self,
        partition: Partition,
        rows: &[R],
        ids: &[i64],
        done: &mut dyn FnMut(RollStep, &Path),
    ) -> Result<PathBuf, ArchiveError> {
        let now = wall_clock();
        let folder = partition.folder::<R>();
        let name = format!("part-{}.parquet", Uuid::now_v7());
        let relative = folder.join(name);
        let path = self.folder.join(&relative);
        let bytes = parquet::bytes(rows).map_err(|fault| of_fault(&path, fault))?;
        let times = || rows.iter().map(Row::timestamp);
        let part = Part {
            path: relative
                .iter()
                .map(|name| name.to_string_lossy())
                .collect::<Vec<_>>()
                .join("/"),
            holds: R::TABLE.to_owned(),
            partition,
            rows: u64::try_from(rows.len()).unwrap_or(u64::MAX),
            bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            sha256: manifest::checksum(&bytes),
            first: times().min().unwrap_or_default(),
            last: times().max().unwrap_or_default(),
            reason: None,
        };
        self.change(|journal| manifest::intend(journal, &part, now))?;
        done(RollStep::Intended, &path);
        if let Err(fault) = self.place(&path, &bytes, done) {
            // The rows are still the journal's. What is left of the file goes now, or when the archive is opened next.
            let _ = remove(&path)
                .map(|()| self.change(|journal| manifest::forget(journal, &part.path)));
            return Err(fault);
        }
        self.change(|journal| {
            let transaction = journal.transaction()?;
            manifest::mark(&transaction, &part.path, State::Kept, None)?;
            coverage::list_venues(&transaction, &part.path, rows)?;
            journal::delete::<R>(&transaction, ids)?;
            transaction.commit()
        })?;
        done(RollStep::Committed, &path);
        Ok(path)
    }

    /// Makes the file at `path` durable with `bytes` in it: it is there whole or not at all.
    fn place(
        &self,
        path: &Path,
        bytes: &[u8],
        done: &mut dyn FnMut(RollStep, &Path),
    ) -> Result<(), ArchiveError> {
        let fault = |source| ArchiveError::of_file(path, source);
        let Some(folder) = path.parent() else {
            return Ok(());
        };
        make_folder(&self.folder, folder)?;
        let unfinished = unfinished(path);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&unfinished)
            .map_err(fault)?;
        file.write_all(bytes).map_err(fault)?;
        done(RollStep::Written, path);
        // A failed fsync is not tried again: the file is given up, and its rows are still in the journal.
        file.sync_all().map_err(fault)?;
        drop(file);
        done(RollStep::Synced, path);
        fs::rename(&unfinished, path).map_err(fault)?;
        done(RollStep::Renamed, path);
        sync_folder(folder)?;
        done(RollStep::FolderSynced, path);
        Ok(())
    }

    /// Removes the files of rolls that were cut short.
    pub(super) fn recover(&mut self) -> Result<(), ArchiveError> {
        for part in self.ask(|journal| manifest::all(journal, State::Pending))? {
            remove(&self.folder.join(&part.path))?;
            self.change(|journal| manifest::forget(journal, &part.path))?;
        }
        Ok(())
    }
}

/// The name of a file that is not finished: hidden, and of another ending, so that no engine reads it.
fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp"))
}

/// Removes a file and its unfinished form, where they are, for good.
fn remove(path: &Path) -> Result<(), ArchiveError> {
    let mut removed = false;
    for path in [unfinished(path), path.to_owned()] {
        match fs::remove_file(&path) {
            Ok(()) => removed = true,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(ArchiveError::of_file(&path, source)),
        }
    }
    match path.parent() {
        Some(folder) if removed => sync_folder(folder),
        _ => Ok(()),
    }
}

/// Makes `folder` and every missing one between it and `base`, each durable in the one above.
pub(super) fn make_folder(base: &Path, folder: &Path) -> Result<(), ArchiveError> {
    if folder == base || folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        make_folder(base, above)?;
        match fs::create_dir(folder) {
            Ok(()) => sync_folder(above)?,
            Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(ArchiveError::of_file(folder, source)),
        }
    }
    Ok(())
}

/// Makes the names in a folder durable, where the system can.
pub(super) fn sync_folder(folder: &Path) -> Result<(), ArchiveError> {
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|source| ArchiveError::of_file(folder, source))?;
    }
    Ok(())
}

fn of_fault(path: &Path, fault: FileFault) -> ArchiveError {
    match fault {
        FileFault::Io(source) => ArchiveError::of_file(path, source),
        fault => ArchiveError::Io {
            path: path.to_owned(),
            source: std::io::Error::other(fault),
        },
    }
}
