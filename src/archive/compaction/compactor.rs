//! Compaction: writes the rows of finished days to Parquet segments and deletes them from the journal.
//!
//! The manifest is a table of the journal that lists all segments; it decides where a row is. A segment is listed as
//! *pending* before its file exists. The rows stay in the journal until the file is durable under its final name. One
//! transaction then marks the segment as active and deletes the rows. A crash at any step therefore leaves each row in
//! exactly one place, and opening the archive removes the files of pending segments.
//!
//! Compaction reads and writes files itself, and passes each transaction to a [`WriterAccess`], so that other commits
//! can run between the transactions.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::path::{Path, PathBuf};

use crate::archive::ArchiveError;
use crate::archive::catalog::ingests;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Partition, SegmentEntry, SegmentState, Venues};
use crate::archive::clock::wall_clock;
use crate::archive::files::SegmentStep;
use crate::archive::filter::Filter;
use crate::archive::integrity::segment_check;
use crate::archive::integrity::verify;
use crate::archive::journal::database;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::totals::TotalRow;
use crate::archive::segment::atomic_write::place;
use crate::archive::segment::parquet;
use crate::archive::segment::parquet::{MOST, SegmentError};
use crate::archive::store::store::Store;
use crate::archive::store::write_store::WriteStore;
use crate::model::Millis;

/// Number of rows of a day above which the day is split.
///
/// Each exchange, or each kind of map, then gets separate segments.
pub(crate) const HEAVY: u64 = 50_000;
/// Maximum memory size of the rows of a segment, in bytes.
///
/// Applies to tables with large rows.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Outcome of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionReport {
    /// Paths of the segments written.
    pub parts: Vec<PathBuf>,
    /// Number of rows in these segments.
    pub rows: u64,
    /// Number of duplicate rows, which were dropped because a segment already contains them.
    pub repeated: u64,
}

/// Runs the transactions of a compaction, on the writer directly or through its queue.
pub(crate) trait WriterAccess {
    /// Error of a transaction.
    type Fault: From<ArchiveError>;

    /// The archive, for reading.
    fn archive(&self) -> &Store;

    /// Runs one transaction and waits until it is durable.
    fn change<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut WriteStore) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, Self::Fault>;
}

impl WriterAccess for WriteStore {
    type Fault = ArchiveError;

    fn archive(&self) -> &Store {
        &self.store
    }

    fn change<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut WriteStore) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, ArchiveError> {
        change(self)
    }
}

/// Implements `Writer::compact`.
pub(crate) fn compact(
    writer: &mut WriteStore,
    until: Millis,
) -> Result<CompactionReport, ArchiveError> {
    compact_observed(writer, until, &mut |_, _| ())
}

/// Implements `Writer::compact_observed`.
pub(crate) fn compact_observed(
    writer: &mut WriteStore,
    until: Millis,
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<CompactionReport, ArchiveError> {
    compact_through(writer, until, done)
}

/// Journal rows that are deleted when a segment becomes active.
#[derive(Clone, Debug)]
struct LeavingRows {
    ids: Vec<i64>,
    /// Existing segments of the partition, which must still be active at the deletion.
    filed: Vec<String>,
    /// Collected rows that the segment of an ingest already contains.
    ///
    /// Each entry is the path of the segment and the key of the row.
    collected: Vec<(String, String)>,
}

/// Activates the new segment `part` and deletes the journal rows that segments now contain.
///
/// Returns false and changes nothing if a row is no longer in the journal, or an earlier segment is no longer active.
fn finish_segment<R: Row>(
    writer: &mut WriteStore,
    part: Option<(&str, &Venues)>,
    rows: &LeavingRows,
) -> Result<bool, ArchiveError> {
    let ids = &rows.ids;
    writer.change(|journal| {
        let transaction = journal.transaction()?;
        for path in &rows.filed {
            if !manifest::is_active(&transaction, path)? {
                return Ok(false);
            }
        }
        for (path, key) in &rows.collected {
            ingests::add_collected(&transaction, path, key)?;
        }
        if let Some((path, venues)) = part {
            manifest::mark(&transaction, path, SegmentState::Active, None)?;
            manifest::list_venues(&transaction, path, venues)?;
        }
        if database::delete(&transaction, R::TABLE, ids)? != ids.len() {
            return Ok(false);
        }
        transaction.commit()?;
        Ok(true)
    })
}

/// Moves the rows of every day that ended by `until` into segments.
pub(crate) fn compact_through<H: WriterAccess>(
    access: &mut H,
    until: Millis,
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<CompactionReport, H::Fault> {
    let mut compaction = Compaction {
        access,
        until,
        done,
        report: CompactionReport::default(),
    };
    compaction.kind::<OrderRow>()?;
    compaction.kind::<BarRow>()?;
    compaction.kind::<OpenInterestRow>()?;
    compaction.kind::<MapRow>()?;
    compaction.kind::<PositionRow>()?;
    compaction.kind::<TotalRow>()?;
    Ok(compaction.report)
}

/// A compaction in progress.
struct Compaction<'a, H> {
    access: &'a mut H,
    until: Millis,
    done: &'a mut dyn FnMut(SegmentStep, &Path),
    report: CompactionReport,
}

/// Selects the rows of a partition that are moved together.
#[derive(Clone, Copy)]
struct RowBatch<'a> {
    partition: Partition,
    /// Id of the ingest of the rows; `None` for collected rows. A segment never mixes rows of several ingests.
    ingest: Option<&'a str>,
    /// The exchange or the kind of map, if the day is split by it.
    ///
    /// `None` for the whole day.
    group: Option<&'a str>,
    /// Largest row id to move.
    ///
    /// Rows that are appended later wait for the next compaction. The next compaction reads the segments of this one,
    /// and so detects duplicates.
    last: i64,
}

/// Keys of the rows that the segments of a partition already contain.
#[derive(Default)]
struct ExistingRows {
    paths: Vec<String>,
    /// Maps the key of each row to its origin.
    ///
    /// For a row of an ingest, this is the index of its segment in `paths`; for a collected row, it is `None`.
    keys: HashMap<String, Option<usize>>,
}

impl ExistingRows {
    /// Whether a segment contains a row.
    ///
    /// Adds a collected row to `leaving.collected` if the segment is that of an ingest.
    fn has<R: Row>(&self, row: &R, ingest: Option<&str>, leaving: &mut LeavingRows) -> bool {
        let key = row.key();
        let Some(place) = self.keys.get(&key) else {
            return false;
        };
        let path = place.and_then(|place| self.paths.get(place));
        if let (Some(path), None) = (path, ingest) {
            leaving.collected.push((path.clone(), key));
        }
        true
    }
}

impl<H: WriterAccess> Compaction<'_, H> {
    fn kind<R: Row>(&mut self) -> Result<(), H::Fault> {
        let archive = self.access.archive();
        let (last, partitions) = archive.ask(|journal| {
            Ok((
                database::last::<R>(journal)?,
                database::partitions::<R>(journal)?,
            ))
        })?;
        for partition in partitions {
            if partition.day.end() > self.until {
                continue;
            }
            let archive = self.access.archive();
            let groups = archive.ask(|journal| database::groups::<R>(journal, partition))?;
            let filed = self.filed::<R>(partition)?;
            for (ingest, groups) in &groups {
                let all = RowBatch {
                    partition,
                    ingest: ingest.as_deref(),
                    group: None,
                    last,
                };
                if groups.iter().map(|(_, rows)| rows).sum::<u64>() <= HEAVY {
                    self.batch::<R>(all, &filed)?;
                } else {
                    for (group, _) in groups {
                        let group = Some(group.as_str());
                        self.batch::<R>(RowBatch { group, ..all }, &filed)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads the keys of the rows in a partition's segments.
    ///
    /// Quarantines damaged segments, so that their rows can be stored again.
    fn filed<R: Row>(&mut self, partition: Partition) -> Result<ExistingRows, H::Fault> {
        let archive = self.access.archive();
        let parts = archive.ask(|journal| {
            manifest::of_day(journal, R::TABLE, partition.day, SegmentState::Active)
        })?;
        let mut filed = ExistingRows::default();
        for part in parts {
            if part.partition != partition {
                continue;
            }
            let archive = self.access.archive();
            let file = match segment_check::fault_of(archive, &part)? {
                Some(fault) => Err(fault),
                None => segment_check::file(archive, &part)?,
            };
            let rows = file.and_then(|file| {
                parquet::rows::<R>(file, partition.interval, &Filter::default())
                    .map_err(|fault| fault.to_string())
            });
            let fault = match rows {
                Ok(rows) => {
                    let place = part.ingest.is_some().then_some(filed.paths.len());
                    filed.keys.extend(rows.iter().map(|row| (row.key(), place)));
                    None
                }
                Err(fault) => Some(fault),
            };
            match fault {
                Some(reason) => self
                    .access
                    .change(move |writer| verify::quarantine_segment(writer, &part, &reason))?,
                None => filed.paths.push(part.path),
            }
        }
        Ok(filed)
    }

    fn batch<R: Row>(&mut self, batch: RowBatch<'_>, filed: &ExistingRows) -> Result<(), H::Fault> {
        loop {
            let found = self.access.archive().ask(|journal| {
                database::to_compact::<R>(
                    journal,
                    batch.partition,
                    (batch.ingest, batch.group),
                    batch.last,
                    (MOST, MOST_BYTES),
                )
            })?;
            if found.is_empty() {
                return Ok(());
            }
            let (ids, rows): (Vec<i64>, Vec<R>) = found.into_iter().unzip();
            let sent = rows.len();
            let mut leaving = LeavingRows {
                ids,
                filed: filed.paths.clone(),
                collected: Vec::new(),
            };
            let mut rows: Vec<R> = rows
                .into_iter()
                .filter(|row| filed.keys.is_empty() || !filed.has(row, batch.ingest, &mut leaving))
                .collect();
            let repeated = sent - rows.len();
            let moved = if rows.is_empty() {
                self.access
                    .change(move |writer| finish_segment::<R>(writer, None, &leaving))?
            } else {
                R::sort_for_file(&mut rows);
                self.part(batch, &rows, leaving)?
            };
            if !moved {
                // The rows are still in the journal, so the next compaction moves them.
                log::info!(
                    "the catalog changed before rows of {} were moved to a file; the next compaction retries",
                    R::TABLE
                );
                return Ok(());
            }
            self.report.repeated += u64::try_from(repeated).unwrap_or(u64::MAX);
        }
    }

    /// Writes `rows` to a segment and deletes these rows from the journal.
    ///
    /// Returns false if another change of the archive prevented the deletion.
    fn part<R: Row>(
        &mut self,
        batch: RowBatch<'_>,
        rows: &[R],
        leaving: LeavingRows,
    ) -> Result<bool, H::Fault> {
        let partition = batch.partition;
        let now = wall_clock();
        let base = self.access.archive().folder.clone();
        let folder = base.join(partition.folder::<R>());
        let bytes = parquet::bytes(rows).map_err(|fault| of_fault(&folder, fault))?;
        let part = SegmentEntry {
            ingest: batch.ingest.map(str::to_owned),
            ..SegmentEntry::of(rows, partition, &bytes)
        };
        let path = base.join(&part.path);
        let (name, venues, count) = (part.path.clone(), manifest::venues(rows), part.rows);
        self.access
            .change(move |writer| writer.change(|journal| manifest::intend(journal, &part, now)))?;
        (self.done)(SegmentStep::Intended, &path);
        let moved = match place(&base, Path::new(&name), &bytes, self.done) {
            Ok(()) => {
                let name = name.clone();
                self.access.change(move |writer| {
                    finish_segment::<R>(writer, Some((&name, &venues)), &leaving)
                })
            }
            Err(fault) => Err(fault.into()),
        };
        if !matches!(moved, Ok(true)) {
            // The rows are still in the journal. The pending file is removed now, or when the archive is next
            // opened.
            let _ = self
                .access
                .change(move |writer| writer.withdraw([name.as_str()]));
            return moved;
        }
        (self.done)(SegmentStep::Committed, &path);
        self.report.parts.push(path);
        self.report.rows += count;
        Ok(true)
    }
}

/// Divides sorted rows of a partition into segments.
///
/// If there are more than [`HEAVY`] rows, each exchange gets separate segments.
pub(crate) fn divide<T>(rows: Vec<T>, exchange: impl Fn(&T) -> String) -> Vec<Vec<T>> {
    if rows.is_empty() {
        return Vec::new();
    }
    if u64::try_from(rows.len()).is_ok_and(|rows| rows <= HEAVY) {
        return vec![rows];
    }
    let mut by_exchange: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for row in rows {
        by_exchange.entry(exchange(&row)).or_default().push(row);
    }
    let mut segments = Vec::new();
    for mut rows in by_exchange.into_values() {
        while rows.len() > MOST {
            let rest = rows.split_off(MOST);
            segments.push(mem::replace(&mut rows, rest));
        }
        segments.push(rows);
    }
    segments
}

/// Converts a segment error for the file at `path`.
pub(crate) fn of_fault(path: &Path, fault: SegmentError) -> ArchiveError {
    match fault {
        SegmentError::Io(source) => ArchiveError::of_file(path, source),
        fault => ArchiveError::Io {
            path: path.to_owned(),
            source: std::io::Error::other(fault),
        },
    }
}
