//! Verification of the files and the journal, and quarantine of damaged files.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::archive::catalog::file_versions;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{SegmentEntry, SegmentState};
use crate::archive::clock::wall_clock;
use crate::archive::coverage_log::sessions::{Gap, GapCause, add_gap};
use crate::archive::integrity::journal_check;
use crate::archive::integrity::segment_check::{self, DAMAGED};
use crate::archive::journal::database;
use crate::archive::raw::check;
use crate::archive::raw::line;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::sql::row_kind::ROW_KINDS;
use crate::archive::store::damaged_part::DamagedPart;
use crate::archive::store::store::Store;
use crate::archive::store::write_store::WriteStore;
use crate::archive::{ArchiveError, files};
use crate::model::{Millis, record};

/// Maximum size, in bytes, of a journal that is checked on every open.
///
/// The check takes about a second.
const AT_ONCE: u64 = 64 << 20;

/// Result of [`IntegrityView::verify`](crate::archive::IntegrityView::verify).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Number of sound segments.
    pub sound: u64,
    /// Number of rows in the sound segments.
    pub rows: u64,
    /// Damaged and quarantined segments.
    pub damaged: Vec<DamagedPart>,
    /// Paths that the quarantined files had before.
    pub quarantined: HashSet<PathBuf>,
    /// Parquet files that the manifest does not list or lists as unfinished.
    ///
    /// They are never read.
    pub unlisted: Vec<PathBuf>,
    /// Number of sound files of raw frames.
    pub raw: u64,
    /// Damaged files of raw frames, each with its fault.
    pub raw_damaged: Vec<(PathBuf, String)>,
    /// Faults of the journal.
    pub journal: Vec<String>,
}

record! {
    /// A damaged, missing or unexpected file of an archive.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Finding {
        /// Path of the file, relative to the archive's folder.
        pub file: String,
        /// Contents of the file: `journal`, `orders`, `bars`, `open_interest`, `maps`, `positions`, `totals` or `raw`.
        pub holds: String,
        /// Kind of the fault: `damaged`, `missing` or `unexpected`.
        pub problem: String,
        /// Description of the fault.
        pub detail: String,
        /// Number of rows that the file contained, if known.
        pub rows: Option<u64>,
        /// Time of the first row in the file, if known.
        pub first: Option<Millis>,
        /// Time of the last row in the file, if known.
        pub last: Option<Millis>,
        /// Whether the file is quarantined or, for the journal, was replaced.
        pub repaired: bool,
    }
}

impl Verification {
    /// Lists one finding per fault, those of the journal first.
    ///
    /// Empty if the archive is sound.
    #[must_use]
    pub fn findings(&self, folder: &Path) -> Vec<Finding> {
        let of_journal = |detail: &String| Finding {
            file: database::FILE.to_owned(),
            holds: "journal".to_owned(),
            problem: "damaged".to_owned(),
            detail: detail.clone(),
            rows: None,
            first: None,
            last: None,
            repaired: false,
        };
        let below = |path: &Path| below(folder, path);
        let of_part = |part: &DamagedPart| Finding {
            file: below(&part.path),
            holds: part.holds.clone(),
            problem: if part.reason == manifest::MISSING {
                "missing"
            } else {
                "damaged"
            }
            .to_owned(),
            detail: part.reason.clone(),
            rows: Some(part.rows),
            first: Some(part.first),
            last: Some(part.last),
            repaired: self.quarantined.contains(&part.path),
        };
        let of_stranger = |path: &PathBuf| Finding {
            file: below(path),
            holds: table_of(&below(path)).to_owned(),
            problem: "unexpected".to_owned(),
            detail:
                "the archive did not write this file, or did not finish it; the file is never read"
                    .to_owned(),
            rows: None,
            first: None,
            last: None,
            repaired: false,
        };
        let of_raw = |(path, detail): &(PathBuf, String)| Finding {
            file: below(path),
            holds: line::FOLDER.to_owned(),
            problem: "damaged".to_owned(),
            detail: detail.clone(),
            rows: None,
            first: None,
            last: None,
            repaired: self.quarantined.contains(path),
        };
        self.journal
            .iter()
            .map(of_journal)
            .chain(self.damaged.iter().map(of_part))
            .chain(self.raw_damaged.iter().map(of_raw))
            .chain(self.unlisted.iter().map(of_stranger))
            .collect()
    }

    /// Whether no segment, no file of raw frames and no part of the journal is damaged.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.raw_damaged.is_empty() && self.journal.is_empty()
    }
}

/// Path of a file of the archive in `folder`, relative to that folder.
pub(crate) fn below(folder: &Path, path: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    path.display().to_string()
}

/// Table of a file, which its path relative to the archive's folder names.
fn table_of(relative: &str) -> &str {
    let mut names = relative.split('/');
    let first = names.next().unwrap_or_default();
    match names.next() {
        Some(table) if first == files::SUPERSEDED => table,
        _ => first,
    }
}

/// Implements `IntegrityView::verify`.
pub(crate) fn verify(store: &Store) -> Result<Verification, ArchiveError> {
    verify_observed(store, &mut |_, _| true)
}

/// Implements `IntegrityView::verify_observed`.
pub(crate) fn verify_observed(
    store: &Store,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Verification, ArchiveError> {
    let mut found = Verification {
        journal: journal_faults(store)?,
        ..Verification::default()
    };
    let (active, quarantined) = match store.segments() {
        Err(ArchiveError::Damaged { message, .. }) => {
            // The manifest cannot be read, so no file can be checked.
            if found.journal.is_empty() {
                found.journal.push(message);
            }
            return Ok(found);
        }
        parts => parts?,
    };
    for part in &quarantined {
        let reason = part.reason.clone().unwrap_or_default();
        found.quarantined.insert(store.folder.join(&part.path));
        found
            .damaged
            .push(DamagedPart::of(&store.folder, part, reason));
    }
    let (frames, strange) = line::raw_listing(store)?;
    let all = active.len() + frames.len();
    for (read, part) in active.iter().enumerate() {
        if !goes_on(read, all) {
            return Ok(found);
        }
        match segment_check::fault_now(store, part)? {
            None => {
                found.sound += 1;
                found.rows += part.rows;
            }
            Some(reason) => found
                .damaged
                .push(DamagedPart::of(&store.folder, part, reason)),
        }
    }
    for (read, part) in frames.iter().enumerate() {
        let mut is_stopped = false;
        let mut looks = || {
            is_stopped = is_stopped || !goes_on(active.len() + read, all);
            !is_stopped
        };
        if !looks() {
            return Ok(found);
        }
        let fault = check::raw_fault(part, &mut looks)?;
        if is_stopped {
            return Ok(found);
        }
        match fault {
            None => found.raw += 1,
            Some(fault) => found.raw_damaged.push((part.path.clone(), fault)),
        }
    }
    found.unlisted.extend(strange);
    let expired = store.ask(|journal| manifest::expired(journal, Millis(i64::MAX)))?;
    let listed: HashSet<PathBuf> = active
        .iter()
        .map(|part| &part.path)
        .chain(&expired)
        .flat_map(|path| [path.clone(), files::superseded(path)])
        .map(|path| store.folder.join(path))
        .collect();
    let folders = ROW_KINDS.iter().map(|kind| kind.table);
    for folder in folders.chain([files::SUPERSEDED]) {
        add_files(&store.folder.join(folder), &mut found.unlisted)?;
    }
    found.unlisted.retain(|path| !listed.contains(path));
    found.unlisted.sort();
    Ok(found)
}

/// Faults of the journal's pages, tables, row ids and line checksums.
///
/// Empty if it is sound.
///
/// # Errors
///
/// [`ArchiveError`] if the journal cannot be read for another reason than damage.
pub(crate) fn journal_faults(store: &Store) -> Result<Vec<String>, ArchiveError> {
    match store.ask(journal_check::faults) {
        Err(ArchiveError::Damaged { message, .. }) => Ok(vec![message]),
        found => found,
    }
}

/// Whether the journal is small enough to be checked on every open.
pub(crate) fn has_small_journal(store: &Store) -> bool {
    segment_check::stamp(&store.folder.join(database::FILE))
        .is_none_or(|(bytes, _)| bytes <= AT_ONCE)
}

/// Returns an error if a small journal is damaged.
///
/// The rows of a large journal are checked when they are read. A server and
/// [`IntegrityView::verify`](crate::archive::IntegrityView::verify) check a large journal completely.
pub(crate) fn refuse_damaged_journal(store: &Store) -> Result<(), ArchiveError> {
    let path = store.folder.join(database::FILE);
    if !has_small_journal(store) {
        return Ok(());
    }
    // The check may miss orders that arrive while it runs, so only orders up to this id count as checked.
    let until = store.ask(database::last::<OrderRow>);
    let faults = journal_faults(store)?;
    match faults.as_slice() {
        [] => {
            store.set_checked_orders(until?);
            Ok(())
        }
        faults => Err(damaged_journal(path, faults)),
    }
}

/// The error of a damaged journal, with the ways out.
fn damaged_journal(path: PathBuf, faults: &[String]) -> ArchiveError {
    let first = faults.first().map(String::as_str).unwrap_or_default();
    let others = match faults.len().saturating_sub(1) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let file = database::FILE;
    let message = format!(
        "{first}{others}; restore the archive from a copy, see what `sqlite3 {file} .recover` reads, or move the files \
         {file}* away and list the Parquet files in a new journal with `liqdata verify --repair`"
    );
    ArchiveError::Damaged { path, message }
}

/// Implements `Archive::repair`.
pub(crate) fn repair(
    folder: &Path,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Verification, ArchiveError> {
    let store = Store::open(folder)?;
    match journal_faults(&store)?.as_slice() {
        [] => {}
        faults => return Err(damaged_journal(store.folder.join(database::FILE), faults)),
    }
    drop(store);
    quarantine_observed(&mut WriteStore::create_or_open(folder)?, goes_on)
}

/// Adds the Parquet files and temporary files in `folder` and its subfolders.
///
/// A folder behind a symbolic link does not belong to the archive.
pub(crate) fn add_files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), ArchiveError> {
    if folder.is_symlink() {
        return Ok(());
    }
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

/// Implements `Writer::quarantine`.
pub(crate) fn quarantine(writer: &mut WriteStore) -> Result<Verification, ArchiveError> {
    quarantine_observed(writer, &mut |_, _| true)
}

/// As [`quarantine`]; calls `goes_on` before each file and stops if it returns false.
fn quarantine_observed(
    writer: &mut WriteStore,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Verification, ArchiveError> {
    let active = writer
        .store
        .ask(|journal| manifest::all(journal, SegmentState::Active))?;
    for (read, part) in active.iter().enumerate() {
        if !goes_on(read, active.len()) {
            break;
        }
        if let Some(reason) = segment_check::fault_now(&writer.store, part)? {
            quarantine_segment(writer, part, &reason)?;
        }
    }
    let mut found = verify_observed(&writer.store, goes_on)?;
    for (path, _) in &found.raw_damaged {
        writer.change(|_| Ok(()))?;
        check::quarantine_raw_file(writer, path)?;
        found.quarantined.insert(path.clone());
    }
    Ok(found)
}

/// Quarantines one segment; if it contains orders, records their time range as a gap.
pub(crate) fn quarantine_segment(
    writer: &mut WriteStore,
    part: &SegmentEntry,
    reason: &str,
) -> Result<(), ArchiveError> {
    let folder = &writer.store.folder;
    let mut from = folder.join(&part.path);
    files::refuse_link(folder, Path::new(&part.path))?;
    let moved = files::superseded(&part.path);
    if fs::symlink_metadata(&from).is_err() && fs::symlink_metadata(folder.join(&moved)).is_ok() {
        files::refuse_link(folder, Path::new(&moved))?;
        from = folder.join(moved);
    }
    let to = files::quarantine_path(&writer.store.folder, Path::new(&part.path), &from)?;
    // This empty change fails if the lock file was deleted or replaced. Another process may be writing in that case, so
    // no file may be moved.
    writer.change(|_| Ok(()))?;
    if let (Some(source), Some(target)) = (from.parent(), to.parent()) {
        files::make_folder(&writer.store.folder, target)?;
        match fs::rename(&from, &to) {
            Ok(()) => {
                files::sync_folder(target)?;
                files::sync_folder(source)?;
            }
            // The file is missing, or an earlier interrupted call has already moved it.
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => {}
            Err(fault) => return Err(ArchiveError::of_file(&from, fault)),
        }
    }
    writer.change(|journal| {
        let transaction = journal.transaction()?;
        manifest::mark(
            &transaction,
            &part.path,
            SegmentState::Quarantined,
            Some(reason),
        )?;
        let generation = file_versions::of(&transaction, &part.path)?;
        if part.holds == OrderRow::TABLE && generation.superseded_at.is_none() {
            miss_part(&transaction, &part.path, part.first, part.last)?;
        }
        transaction.commit()
    })
}

/// Records the gaps of a quarantined segment of orders, one per exchange.
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
                cause: GapCause::Damage,
                holds: None,
                reason: DAMAGED.to_owned(),
                recorded_at: wall_clock(),
            },
        )?;
    }
    Ok(())
}
