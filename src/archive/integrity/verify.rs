//! Holding every file against its checksum, and taking damaged ones out of use.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rusqlite::Connection;

use crate::archive::catalog::file_versions;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Part, State};
use crate::archive::clock::wall_clock;
use crate::archive::coverage::damage_gaps;
use crate::archive::coverage::sessions::{Gap, GapCause, add_gap};
use crate::archive::files::Identity;
use crate::archive::integrity::damage_state::Stamp;
use crate::archive::integrity::damaged_part::DamagedPart;
use crate::archive::integrity::journal_check;
use crate::archive::journal::database;
use crate::archive::raw::check;
use crate::archive::raw::line;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::row_kind::ROW_KINDS;
use crate::archive::scan::table_scan;
use crate::archive::store::Store;
use crate::archive::writer::Writer;
use crate::archive::{ArchiveError, files};
use crate::model::{Millis, record};

/// The reason of a gap that a damaged file leaves.
pub(crate) const DAMAGED: &str = "damaged file";

/// The largest journal, in bytes, that is checked whenever it is opened; it takes about a second.
const AT_ONCE: u64 = 64 << 20;

/// What [`Archive::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Files that are as they were written.
    pub sound: u64,
    /// Rows in them.
    pub rows: u64,
    /// Files that are not, or that are out of use already.
    pub damaged: Vec<DamagedPart>,
    /// Those of them that are out of use, under the paths they had.
    pub set_aside: HashSet<PathBuf>,
    /// Parquet files in the archive's folders that it did not write or has not finished; they are never served.
    pub unlisted: Vec<PathBuf>,
    /// Files of frames that can be read to their end, or to where a killed process left them.
    pub raw: u64,
    /// Those that cannot, with what is wrong.
    pub raw_damaged: Vec<(PathBuf, String)>,
    /// What is wrong with the journal.
    pub journal: Vec<String>,
    /// What was wrong with the journal before a repair replaced it.
    pub repaired: Vec<String>,
}

record! {
    /// Something in an archive that is not as it was written.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Finding {
        /// The file, below the archive's folder.
        pub file: String,
        /// `journal`, `orders`, `bars`, `open_interest`, `maps`, `positions` or `raw`.
        pub holds: String,
        /// `damaged`, `missing` or `unexpected`.
        pub problem: String,
        /// What exactly is wrong.
        pub detail: String,
        /// Rows that the file was to hold, where that is known.
        pub rows: Option<u64>,
        /// Time of the first of them.
        pub first: Option<Millis>,
        /// Time of the last of them.
        pub last: Option<Millis>,
        /// Whether it is out of use, with what it leaves unknown on record, so that every answer says so.
        pub repaired: bool,
    }
}

impl Verification {
    /// All of it, the journal first, one line each; none where everything is as it was written.
    #[must_use]
    pub fn findings(&self, folder: &Path) -> Vec<Finding> {
        let of_journal = |(detail, repaired): (&String, bool)| Finding {
            file: database::FILE.to_owned(),
            holds: "journal".to_owned(),
            problem: "damaged".to_owned(),
            detail: detail.clone(),
            rows: None,
            first: None,
            last: None,
            repaired,
        };
        let below = |path: &Path| {
            let path = path.strip_prefix(folder).unwrap_or(path);
            path.display().to_string()
        };
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
            repaired: self.set_aside.contains(&part.path),
        };
        let of_stranger = |path: &PathBuf| Finding {
            file: below(path),
            holds: below(path).split('/').next().unwrap_or_default().to_owned(),
            problem: "unexpected".to_owned(),
            detail: "the archive did not write it, or did not finish it; it is never read"
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
            repaired: self.set_aside.contains(path),
        };
        let journal = self.journal.iter().map(|detail| (detail, false));
        let repaired = self.repaired.iter().map(|detail| (detail, true));
        journal
            .chain(repaired)
            .map(of_journal)
            .chain(self.damaged.iter().map(of_part))
            .chain(self.raw_damaged.iter().map(of_raw))
            .chain(self.unlisted.iter().map(of_stranger))
            .collect()
    }

    /// Whether everything is as it was written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.raw_damaged.is_empty() && self.journal.is_empty()
    }
}

/// Implements `Archive::verify`.
pub(crate) fn verify(store: &Store) -> Result<Verification, ArchiveError> {
    verify_observed(store, &mut |_, _| true)
}

/// Implements `Archive::verify_observed`.
pub(crate) fn verify_observed(
    store: &Store,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Verification, ArchiveError> {
    let mut found = Verification {
        journal: journal_faults(store)?,
        ..Verification::default()
    };
    let (kept, quarantined) = match damage_gaps::parts(store) {
        Err(ArchiveError::Damaged { message, .. }) => {
            // Without the list of the files nothing can be said of them.
            if found.journal.is_empty() {
                found.journal.push(message);
            }
            return Ok(found);
        }
        parts => parts?,
    };
    for part in &quarantined {
        let reason = part.reason.clone().unwrap_or_default();
        found.set_aside.insert(store.folder.join(&part.path));
        found
            .damaged
            .push(table_scan::damaged_part(store, part, reason));
    }
    let (frames, strange) = line::raw_listing(store)?;
    let all = kept.len() + frames.len();
    for (read, part) in kept.iter().enumerate() {
        if !goes_on(read, all) {
            return Ok(found);
        }
        match fault_now(store, part)? {
            None => {
                found.sound += 1;
                found.rows += part.rows;
            }
            Some(reason) => found
                .damaged
                .push(table_scan::damaged_part(store, part, reason)),
        }
    }
    for (read, part) in frames.iter().enumerate() {
        let mut is_stopped = false;
        let mut looks = || {
            is_stopped = is_stopped || !goes_on(kept.len() + read, all);
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
    let listed: HashSet<PathBuf> = kept
        .iter()
        .map(|part| store.folder.join(&part.path))
        .collect();
    for kind in &ROW_KINDS {
        let folder = store.folder.join(kind.table);
        // What lies behind a link is not the archive's.
        if !folder.is_symlink() {
            add_files(&folder, &mut found.unlisted)?;
        }
    }
    found.unlisted.retain(|path| !listed.contains(path));
    found.unlisted.sort();
    Ok(found)
}

/// What is wrong with the journal: its pages, its tables, its row numbers and the checksums of its lines.
///
/// # Errors
///
/// [`ArchiveError`] where it cannot be read for another reason than damage.
pub(crate) fn journal_faults(store: &Store) -> Result<Vec<String>, ArchiveError> {
    match store.ask(journal_check::faults) {
        Err(ArchiveError::Damaged { message, .. }) => Ok(vec![message]),
        found => found,
    }
}

/// Whether the journal is so small that it is looked through whenever it is opened.
pub(crate) fn has_small_journal(store: &Store) -> bool {
    stamp(&store.folder.join(database::FILE)).is_none_or(|(bytes, _)| bytes <= AT_ONCE)
}

/// Refuses to read a journal that is not as it was written, unless it is so large that opening would take long: then
/// rows are looked at before the first of them is told, and all of it by a server and [`Archive::verify`].
pub(crate) fn refuse_damaged_journal(store: &Store) -> Result<(), ArchiveError> {
    let path = store.folder.join(database::FILE);
    if !has_small_journal(store) {
        return Ok(());
    }
    // Those that come meanwhile may not be among those that are looked at.
    let until = store.ask(database::last::<OrderRow>);
    let faults = journal_faults(store)?;
    match faults.as_slice() {
        [] => {
            store.set_checked_orders(until?);
            Ok(())
        }
        [first, others @ ..] => Err(ArchiveError::Damaged {
            path,
            message: match others.len() {
                0 => first.clone(),
                more => format!("{first}; and {more} more"),
            },
        }),
    }
}

/// What is wrong with a file, if anything is; the checksum is computed once and again when the file has changed.
pub(crate) fn fault_of(store: &Store, part: &Part) -> Result<Option<String>, ArchiveError> {
    let path = store.folder.join(&part.path);
    let stamp = stamp(&path);
    let known = stamp.is_some() && store.known(&part.path) == stamp;
    if known {
        return Ok(None);
    }
    fault_now(store, part)
}

/// What is wrong with a file, if anything is, by its checksum.
pub(crate) fn fault_now(store: &Store, part: &Part) -> Result<Option<String>, ArchiveError> {
    fault_while(store, part, &mut || true)
}

/// The same, as long as `goes_on`, which is asked after each mebibyte.
pub(crate) fn fault_while(
    store: &Store,
    part: &Part,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Option<String>, ArchiveError> {
    let path = store.folder.join(&part.path);
    let before = stamp(&path);
    let fault = manifest::fault_of(&store.folder, part, goes_on)
        .map_err(|source| ArchiveError::of_file(&path, source))?;
    store.learn(&part.path, before.filter(|_| fault.is_none()));
    Ok(fault)
}

/// A file, open, or what is wrong with it. One that this process may not open now is not thereby damaged.
pub(crate) fn file(store: &Store, part: &Part) -> Result<Result<File, String>, ArchiveError> {
    let path = store.folder.join(&part.path);
    match File::open(&path) {
        Ok(file) => Ok(Ok(file)),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Err(manifest::MISSING.to_owned()))
        }
        Err(source) => Err(ArchiveError::of_file(&path, source)),
    }
}

/// A file to read parts of, if it was found sound as it is; else its bytes, or what is wrong with it.
pub(crate) fn sound(store: &Store, part: &Part) -> Result<Result<Sound, String>, ArchiveError> {
    let path = store.folder.join(&part.path);
    let now = stamp(&path);
    if now.is_some() && store.known(&part.path) == now {
        let fault = manifest::fault_at(&store.folder, part)
            .map_err(|source| ArchiveError::of_file(&path, source))?;
        if fault.is_none() {
            return Ok(file(store, part)?.map(Sound::File));
        }
    }
    Ok(sound_bytes(store, part)?.map(Sound::Bytes))
}

/// The bytes of a file, or what is wrong with it; what was read is what the checksum is computed of.
pub(crate) fn sound_bytes(
    store: &Store,
    part: &Part,
) -> Result<Result<Bytes, String>, ArchiveError> {
    let path = store.folder.join(&part.path);
    let before = stamp(&path);
    if let Some(fault) = manifest::fault_at(&store.folder, part)
        .map_err(|source| ArchiveError::of_file(&path, source))?
    {
        store.learn(&part.path, None);
        return Ok(Err(fault));
    }
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            store.learn(&part.path, None);
            return Ok(Err(manifest::MISSING.to_owned()));
        }
        Err(source) => return Err(ArchiveError::of_file(&path, source)),
    };
    if before.is_some() && store.known(&part.path) == before {
        return Ok(Ok(bytes.into()));
    }
    let fault = manifest::fault_in(&bytes, part);
    store.learn(&part.path, before.filter(|_| fault.is_none()));
    Ok(fault.map_or_else(|| Ok(bytes.into()), Err))
}

pub(crate) fn all_sound(store: &Store, parts: &[Part]) -> Result<bool, ArchiveError> {
    for part in parts {
        if fault_of(store, part)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A file that is as it was written.
pub(crate) enum Sound {
    /// Itself, as nothing of it has changed since all of it was looked at.
    File(File),
    /// All of it.
    Bytes(Bytes),
}

pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    look_at(path).map(|(stamp, _)| stamp)
}

/// How a file lies on the disk, and what tells it from others.
pub(crate) fn look_at(path: &Path) -> Option<(Stamp, Identity)> {
    let found = fs::metadata(path).ok()?;
    let stamp = (found.len(), found.modified().ok());
    Some((stamp, files::identity(&found)))
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

/// Implements `Writer::quarantine`.
pub(crate) fn quarantine(writer: &mut Writer) -> Result<Verification, ArchiveError> {
    quarantine_observed(writer, &mut |_, _| true)
}

/// Quarantines as [`Writer::quarantine`] does, and asks `goes_on` after each file.
pub(crate) fn quarantine_observed(
    writer: &mut Writer,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Verification, ArchiveError> {
    let kept = writer
        .store
        .ask(|journal| manifest::all(journal, State::Kept))?;
    for (read, part) in kept.iter().enumerate() {
        if !goes_on(read, kept.len()) {
            break;
        }
        if let Some(reason) = fault_now(&writer.store, part)? {
            set_aside(writer, part, &reason)?;
        }
    }
    let mut found = verify_observed(&writer.store, goes_on)?;
    for (path, _) in &found.raw_damaged {
        writer.change(|_| Ok(()))?;
        check::quarantine_raw_file(writer, path)?;
        found.set_aside.insert(path.clone());
    }
    Ok(found)
}

/// Takes one file out of use.
pub(crate) fn set_aside(
    writer: &mut Writer,
    part: &Part,
    reason: &str,
) -> Result<(), ArchiveError> {
    let from = writer.store.folder.join(&part.path);
    files::refuse_link(&writer.store.folder, Path::new(&part.path))?;
    let to = files::place_aside(&writer.store.folder, Path::new(&part.path), &from)?;
    // Another may be writing where the lock is gone: nothing is moved before that is known.
    writer.change(|_| Ok(()))?;
    if let (Some(source), Some(target)) = (from.parent(), to.parent()) {
        files::make_folder(&writer.store.folder, target)?;
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
    writer.change(|journal| {
        let transaction = journal.transaction()?;
        manifest::mark(&transaction, &part.path, State::Quarantined, Some(reason))?;
        let generation = file_versions::of(&transaction, &part.path)?;
        if part.holds == OrderRow::TABLE && generation.superseded_at.is_none() {
            miss_part(&transaction, &part.path, part.first, part.last)?;
        }
        transaction.commit()
    })
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
                cause: GapCause::Damage,
                holds: None,
                reason: DAMAGED.to_owned(),
                recorded_at: wall_clock(),
            },
        )?;
    }
    Ok(())
}
