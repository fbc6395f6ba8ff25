//! Holding every file against its checksum, and taking damaged ones out of use.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rusqlite::Connection;

use super::bars::BarRow;
use super::clock::wall_clock;
use super::manifest::{self, Part, State};
use super::maps::MapRow;
use super::open_interest::OpenInterestRow;
use super::orders::OrderRow;
use super::reader::{Archive, Stamp};
use super::row::Row;
use super::runs::{Gap, add_gap};
use super::scan::DamagedPart;
use super::writer::Writer;
use super::{ArchiveError, files};
use crate::model::Millis;

/// The reason of a gap that a damaged file leaves.
pub(super) const DAMAGED: &str = "damaged file";

/// The folder that damaged files are moved to.
const QUARANTINE: &str = "quarantine";

/// What [`Archive::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Files that are as they were written.
    pub sound: u64,
    /// Rows in them.
    pub rows: u64,
    /// Files that are not, or that are out of use already.
    pub damaged: Vec<DamagedPart>,
    /// Parquet files in the archive's folders that it did not write or has not finished; they are never served.
    pub unlisted: Vec<PathBuf>,
    /// What `SQLite` finds wrong with the journal.
    pub journal: Vec<String>,
}

impl Verification {
    /// Whether everything is as it was written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.journal.is_empty()
    }
}

impl Archive {
    /// Reads every file and the journal and compares them with what was written.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where a file or the journal cannot be read at all.
    pub fn verify(&self) -> Result<Verification, ArchiveError> {
        let (kept, quarantined, journal) = self.ask(|journal| {
            let problems = journal
                .prepare("PRAGMA integrity_check")?
                .query_map([], |row| row.get::<_, String>(0))?
                .filter(|problem| !problem.as_ref().is_ok_and(|problem| problem == "ok"))
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((
                manifest::all(journal, State::Kept)?,
                manifest::all(journal, State::Quarantined)?,
                problems,
            ))
        })?;
        let mut found = Verification {
            journal,
            ..Verification::default()
        };
        for part in &quarantined {
            let reason = part.reason.clone().unwrap_or_default();
            found.damaged.push(self.damaged(part, reason));
        }
        for part in &kept {
            match self.fault_now(part)? {
                None => {
                    found.sound += 1;
                    found.rows += part.rows;
                }
                Some(reason) => found.damaged.push(self.damaged(part, reason)),
            }
        }
        let listed: HashSet<PathBuf> = kept
            .iter()
            .map(|part| self.folder.join(&part.path))
            .collect();
        for kind in [
            OrderRow::TABLE,
            BarRow::TABLE,
            OpenInterestRow::TABLE,
            MapRow::TABLE,
        ] {
            let folder = self.folder.join(kind);
            // What lies behind a link is not the archive's.
            if !folder.is_symlink() {
                add_files(&folder, &mut found.unlisted)?;
            }
        }
        found.unlisted.retain(|path| !listed.contains(path));
        found.unlisted.sort();
        Ok(found)
    }

    /// What is wrong with a file, if anything is; the checksum is computed once and again when the file has changed.
    pub(super) fn fault_of(&self, part: &Part) -> Result<Option<String>, ArchiveError> {
        let path = self.folder.join(&part.path);
        let stamp = stamp(&path);
        let known = stamp.is_some() && self.known(&part.path) == stamp;
        if known {
            return Ok(None);
        }
        self.fault_now(part)
    }

    /// What is wrong with a file, if anything is, by its checksum.
    pub(super) fn fault_now(&self, part: &Part) -> Result<Option<String>, ArchiveError> {
        let path = self.folder.join(&part.path);
        let before = stamp(&path);
        let fault = manifest::fault_of(&self.folder, part)
            .map_err(|source| ArchiveError::of_file(&path, source))?;
        self.learn(&part.path, before.filter(|_| fault.is_none()));
        Ok(fault)
    }

    /// A file, open, or what is wrong with it. One that this process may not open now is not thereby damaged.
    pub(super) fn file(&self, part: &Part) -> Result<Result<File, String>, ArchiveError> {
        let path = self.folder.join(&part.path);
        match File::open(&path) {
            Ok(file) => Ok(Ok(file)),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(Err(manifest::MISSING.to_owned()))
            }
            Err(source) => Err(ArchiveError::of_file(&path, source)),
        }
    }

    /// The bytes of a file, or what is wrong with it; what was read is what the checksum is computed of.
    pub(super) fn sound_bytes(&self, part: &Part) -> Result<Result<Bytes, String>, ArchiveError> {
        let path = self.folder.join(&part.path);
        let before = stamp(&path);
        if let Some(fault) = manifest::fault_at(&self.folder, part)
            .map_err(|source| ArchiveError::of_file(&path, source))?
        {
            self.learn(&part.path, None);
            return Ok(Err(fault));
        }
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                self.learn(&part.path, None);
                return Ok(Err(manifest::MISSING.to_owned()));
            }
            Err(source) => return Err(ArchiveError::of_file(&path, source)),
        };
        if before.is_some() && self.known(&part.path) == before {
            return Ok(Ok(bytes.into()));
        }
        let fault = manifest::fault_in(&bytes, part);
        self.learn(&part.path, before.filter(|_| fault.is_none()));
        Ok(fault.map_or_else(|| Ok(bytes.into()), Err))
    }

    pub(super) fn all_sound(&self, parts: &[Part]) -> Result<bool, ArchiveError> {
        for part in parts {
            if self.fault_of(part)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

/// Adds the Parquet files below `folder`.
fn add_files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), ArchiveError> {
    let fault = |source| ArchiveError::of_file(folder, source);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(fault(source)),
    };
    for entry in entries {
        let entry = entry.map_err(fault)?;
        let path = entry.path();
        if entry.file_type().map_err(fault)?.is_dir() {
            add_files(&path, found)?;
        } else if path
            .extension()
            .is_some_and(|ending| ending == "parquet" || ending == "tmp")
        {
            found.push(path);
        }
    }
    Ok(())
}

impl Writer {
    /// Moves every damaged file to the folder `quarantine` and records what is missing as a gap; the rest is served on.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where a file cannot be read or moved, or the journal cannot be written.
    pub fn quarantine(&mut self) -> Result<Verification, ArchiveError> {
        let kept = self.ask(|journal| manifest::all(journal, State::Kept))?;
        for part in &kept {
            if let Some(reason) = self.fault_now(part)? {
                self.set_aside(part, &reason)?;
            }
        }
        self.verify()
    }

    /// Takes one file out of use.
    pub(super) fn set_aside(&mut self, part: &Part, reason: &str) -> Result<(), ArchiveError> {
        let from = self.folder.join(&part.path);
        let to = self.folder.join(QUARANTINE).join(&part.path);
        files::refuse_link(&self.folder, Path::new(&part.path))?;
        files::refuse_link(&self.folder, &Path::new(QUARANTINE).join(&part.path))?;
        if let (Some(source), Some(target)) = (from.parent(), to.parent()) {
            files::make_folder(&self.folder, target)?;
            match fs::rename(&from, &to) {
                Ok(()) => {
                    files::sync_folder(target)?;
                    files::sync_folder(source)?;
                }
                // It is gone, or was moved before the journal knew.
                Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => {}
                Err(fault) => return Err(ArchiveError::of_file(&from, fault)),
            }
        }
        self.change(|journal| {
            let transaction = journal.transaction()?;
            manifest::mark(&transaction, &part.path, State::Quarantined, Some(reason))?;
            if part.holds == OrderRow::TABLE {
                miss_part(&transaction, &part.path, part.first, part.last)?;
            }
            transaction.commit()
        })
    }
}

/// Writes down what a file of orders that is out of use leaves unknown.
fn miss_part(
    journal: &Connection,
    path: &str,
    first: Millis,
    last: Millis,
) -> rusqlite::Result<()> {
    for exchange in manifest::exchanges(journal, path)? {
        add_gap(
            journal,
            &Gap {
                exchange,
                start: first,
                end: last.on(1),
                reason: DAMAGED.to_owned(),
                recorded_at: wall_clock(),
            },
        )?;
    }
    Ok(())
}
