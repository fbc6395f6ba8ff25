//! Replacement of a missing journal: a new one that lists the segments of the archive.
//!
//! The name of a segment verifies its content, and `versions.tsv` says which segments were superseded. The lost journal
//! also had rows that were in no segment, and the records of coverage and ingests. Therefore all time until now becomes
//! a gap of every exchange of the segments.
//!
//! The journal is built under a temporary name. If this is interrupted, the archive is still without a journal.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::Path;

use rusqlite::{Connection, Transaction};
use uuid::Uuid;

use crate::archive::catalog::file_versions::Generation;
use crate::archive::catalog::manifest::{self, SegmentEntry, SegmentState};
use crate::archive::catalog::manifest_entry::{self, Listed};
use crate::archive::catalog::stats::{self, StatsUpdate};
use crate::archive::catalog::version_file;
use crate::archive::checksums::crc;
use crate::archive::checksums::file_checksum::checksum;
use crate::archive::clock::wall_clock;
use crate::archive::coverage_log::sessions::{add_gap, damaged_rows};
use crate::archive::filter::Filter;
use crate::archive::integrity::verify::{self, Finding, below};
use crate::archive::journal::database;
use crate::archive::lock::{self, Lock};
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::totals::TotalRow;
use crate::archive::segment::parquet;
use crate::archive::sql::row_kind::ROW_KINDS;
use crate::archive::store::damaged_part::DamagedPart;
use crate::archive::{ArchiveError, files};
use crate::model::Millis;

/// What a new journal lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relisted {
    /// Number of segments.
    pub segments: u64,
    /// Number of rows in them.
    pub rows: u64,
    /// Files that do not have the content that their name stands for. They were moved to the folder `damaged`.
    pub damaged: Vec<DamagedPart>,
}

impl Relisted {
    /// Lists the missing journal, then the damaged files.
    #[must_use]
    pub fn findings(&self, folder: &Path) -> Vec<Finding> {
        let journal = Finding {
            file: database::FILE.to_owned(),
            holds: "journal".to_owned(),
            problem: "missing".to_owned(),
            detail: format!(
                "a new journal lists {} Parquet files with {} rows; the rows, sessions, gaps and ingests that only the \
                 lost journal had are not restored",
                self.segments, self.rows
            ),
            rows: None,
            first: None,
            last: None,
            repaired: true,
        };
        let of_file = |part: &DamagedPart| Finding {
            file: below(folder, &part.path),
            holds: part.holds.clone(),
            problem: "damaged".to_owned(),
            detail: part.reason.clone(),
            rows: None,
            first: None,
            last: None,
            repaired: true,
        };
        let files = self.damaged.iter().map(of_file);
        [journal].into_iter().chain(files).collect()
    }
}

/// Implements `Archive::replace_missing_journal`.
pub(crate) fn replace_missing_journal(
    folder: &Path,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<Relisted>, ArchiveError> {
    let folder = &files::settled(folder)?;
    let path = folder.join(database::FILE);
    let is_missing = || fs::symlink_metadata(&path).is_err();
    if !is_missing()
        || !ROW_KINDS
            .iter()
            .any(|kind| folder.join(kind.table).is_dir())
    {
        return Ok(None);
    }
    lock::refuse_network(folder)?;
    let _lock = Lock::take(folder, wall_clock())?;
    if !is_missing() {
        return Ok(None);
    }
    let fresh = files::unfinished(&path);
    files::refuse_other_than_file(&fresh)?;
    files::remove_if_there(&fresh)?;
    let relisted = build(folder, &fresh, goes_on)?;
    if relisted.is_none() {
        files::remove_if_there(&fresh)?;
        return Ok(None);
    }
    File::open(&fresh)
        .and_then(|journal| journal.sync_all())
        .map_err(|source| ArchiveError::of_file(&fresh, source))?;
    // SQLite would apply the write-ahead log of the lost journal to the new one.
    for ending in ["-wal", "-shm"] {
        let from = database::companion(&path, ending);
        let name = format!("{}-{}{ending}", Uuid::now_v7(), database::FILE);
        move_to_damaged(folder, &from, Path::new(&name))?;
    }
    fs::rename(&fresh, &path).map_err(|source| ArchiveError::of_file(&fresh, source))?;
    files::sync_folder(folder)?;
    Ok(relisted)
}

/// Moves a file to the folder `damaged`, if the file exists.
fn move_to_damaged(folder: &Path, from: &Path, relative: &Path) -> Result<(), ArchiveError> {
    if fs::symlink_metadata(from).is_err() {
        return Ok(());
    }
    let to = files::quarantine_path(folder, relative, from)?;
    if let Some(above) = to.parent() {
        files::make_folder(folder, above)?;
        fs::rename(from, &to).map_err(|source| ArchiveError::of_file(from, source))?;
        files::sync_folder(above)?;
    }
    Ok(())
}

/// Fills a new journal; returns `None` if `goes_on` returned false.
fn build(
    folder: &Path,
    fresh: &Path,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<Relisted>, ArchiveError> {
    let failed = |source| ArchiveError::of_journal(fresh, source);
    let versions = version_file::read(folder)?.into_iter().collect();
    let mut found = Vec::new();
    let folders = ROW_KINDS.iter().map(|kind| kind.table);
    for table in folders.chain([files::SUPERSEDED]) {
        verify::add_files(&folder.join(table), &mut found)?;
    }
    // Files of others stay where they are.
    found.retain(|path| manifest::id_in_name(path).is_some());
    found.sort();
    let mut journal = Connection::open(fresh).map_err(failed)?;
    // The build needs no crash safety: no process reads the file before it is complete and synced.
    journal
        .execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        .and_then(|()| crc::register(&journal))
        .and_then(|()| database::create(&mut journal))
        .map_err(failed)?;
    let transaction = journal.transaction().map_err(failed)?;
    let mut listing = Listing {
        folder,
        journal: &transaction,
        versions,
        stats: StatsUpdate::default(),
        exchanges: BTreeSet::new(),
        relisted: Relisted::default(),
    };
    for (read, path) in found.iter().enumerate() {
        if !goes_on(read, found.len()) {
            return Ok(None);
        }
        listing.file(path)?;
    }
    let Listing {
        stats,
        exchanges,
        relisted,
        ..
    } = listing;
    stats
        .write(&transaction)
        .and_then(|()| record_gaps(&transaction, &exchanges, wall_clock()))
        .and_then(|()| transaction.commit())
        .map_err(failed)?;
    journal.close().map_err(|(_, source)| failed(source))?;
    Ok(Some(relisted))
}

/// Records that rows of every table may be missing at any time.
fn record_gaps(
    journal: &Connection,
    exchanges: &BTreeSet<String>,
    now: Millis,
) -> rusqlite::Result<()> {
    // Maps have no exchange, so the exchange of their gap is empty.
    let of_maps = BTreeSet::from([String::new()]);
    for kind in &ROW_KINDS {
        let exchanges = if kind.table == MapRow::TABLE {
            &of_maps
        } else {
            exchanges
        };
        for exchange in exchanges {
            let all = (Millis(0), now);
            add_gap(
                journal,
                &damaged_rows(kind.table, exchange.clone(), all, now),
            )?;
        }
    }
    Ok(())
}

/// A new journal that is being filled.
struct Listing<'a> {
    folder: &'a Path,
    journal: &'a Transaction<'a>,
    versions: HashMap<String, Generation>,
    stats: StatsUpdate,
    exchanges: BTreeSet<String>,
    relisted: Relisted,
}

impl Listing<'_> {
    /// Lists the segment at `path`, or moves it to the folder `damaged`.
    fn file(&mut self, path: &Path) -> Result<(), ArchiveError> {
        let placed = path.strip_prefix(self.folder).unwrap_or(path);
        let relative = placed.strip_prefix(files::SUPERSEDED).unwrap_or(placed);
        let names: Vec<_> = relative.iter().map(|name| name.to_string_lossy()).collect();
        let (table, relative) = (names.first().cloned().unwrap_or_default(), names.join("/"));
        let link = files::link_in(self.folder, placed)
            .map_err(|source| ArchiveError::of_file(path, source))?;
        if link.is_some() {
            return Ok(());
        }
        let reason = match table.as_ref() {
            OrderRow::TABLE => self.segment::<OrderRow>(path, &relative)?,
            BarRow::TABLE => self.segment::<BarRow>(path, &relative)?,
            OpenInterestRow::TABLE => self.segment::<OpenInterestRow>(path, &relative)?,
            MapRow::TABLE => self.segment::<MapRow>(path, &relative)?,
            PositionRow::TABLE => self.segment::<PositionRow>(path, &relative)?,
            TotalRow::TABLE => self.segment::<TotalRow>(path, &relative)?,
            _ => None,
        };
        if let Some(reason) = reason {
            move_to_damaged(self.folder, path, Path::new(&relative))?;
            self.relisted.damaged.push(DamagedPart {
                path: path.to_owned(),
                holds: table.into_owned(),
                rows: 0,
                first: Millis::default(),
                last: Millis::default(),
                reason,
            });
        }
        Ok(())
    }

    /// Lists a segment; returns why it is damaged, if it is.
    fn segment<R: Row>(
        &mut self,
        path: &Path,
        relative: &str,
    ) -> Result<Option<String>, ArchiveError> {
        let fault = |source| ArchiveError::of_file(path, source);
        let bytes = fs::read(path).map_err(fault)?;
        // The decoder may panic on damaged metadata, so the content is verified first.
        if !manifest::is_named_after(path, &checksum(&bytes)) {
            let reason = "its content is not the one that its name stands for";
            return Ok(Some(reason.to_owned()));
        }
        let Some(interval) = manifest::interval_in::<R>(relative) else {
            return Ok(Some("its folder names no length of its rows".to_owned()));
        };
        let file = File::open(path).map_err(fault)?;
        let rows = match parquet::rows::<R>(file, interval, &Filter::default()) {
            Ok(rows) => rows,
            Err(fault) => return Ok(Some(format!("the file cannot be read: {fault}"))),
        };
        let Some(part) = SegmentEntry::found(&rows, relative, &bytes) else {
            return Ok(Some("it lies in the folder of another day".to_owned()));
        };
        let venues = manifest::venues(&rows);
        let mut generation = self.versions.get(relative).copied().unwrap_or_default();
        if path.starts_with(self.folder.join(files::SUPERSEDED)) {
            // Without a record, the time from which the segment was superseded is unknown.
            generation.superseded_at.get_or_insert(part.written_at());
        }
        if generation.superseded_at.is_none() && R::TABLE != MapRow::TABLE {
            self.stats.take(&rows);
        }
        self.exchanges.extend(venues.keys().cloned());
        self.relisted.segments += 1;
        self.relisted.rows += part.rows;
        let rows = part.rows;
        let listed = Listed {
            rolled_at: part.written_at(),
            part,
            state: SegmentState::Active,
            venues,
            generation,
        };
        manifest_entry::add(self.journal, &listed)
            .and_then(|()| stats::skip_ids(self.journal, R::TABLE, rows))
            .map_err(|source| {
                ArchiveError::of_journal(&self.folder.join(database::FILE), source)
            })?;
        Ok(None)
    }
}
