//! Rolling: days that are over move from the journal into Parquet files, so that a kill at any step leaves every row
//! in exactly one place.
//!
//! The journal is the judge. A file's name stands in its list as *pending* before the file exists; the rows stay in the
//! journal until the file is durable under its final name; and one transaction turns the entry into *kept* and deletes
//! the rows. A pending entry that is found on opening names a file to remove.
//!
//! A roll reads and writes files by itself and asks a [`WriterAccess`] for each of its transactions, so that whatever else is to
//! be made durable has its turn between any two of them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Part, Partition, State, Venues};
use crate::archive::clock::wall_clock;
use crate::archive::files::SegmentStep;
use crate::archive::filter::Filter;
use crate::archive::journal::database;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::segment::atomic_write::place;
use crate::archive::segment::parquet;
use crate::archive::segment::parquet::{MOST, SegmentError};
use crate::archive::writer::Writer;
use crate::model::Millis;

/// A day of more rows than this gets files of its own for each exchange, or for each kind of map.
pub(crate) const HEAVY: u64 = 50_000;
/// What a file may take in bytes, for rows that are large.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// What a roll did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionReport {
    /// Files written.
    pub parts: Vec<PathBuf>,
    /// Rows in them.
    pub rows: u64,
    /// Rows left out because a file had them already.
    pub repeated: u64,
}

/// What makes a roll's changes: the writer itself, or whoever has it.
pub(crate) trait WriterAccess {
    /// Why a change was not made.
    type Fault: From<ArchiveError>;

    /// The archive, to be read.
    fn archive(&self) -> &Archive;

    /// Makes one change, and waits until it is durable.
    fn change<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut Writer) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, Self::Fault>;
}

impl WriterAccess for Writer {
    type Fault = ArchiveError;

    fn archive(&self) -> &Archive {
        self
    }

    fn change<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut Writer) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, ArchiveError> {
        change(self)
    }
}

impl Writer {
    /// Moves every day that was over at `until` into files.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where a file or the journal cannot be written. What was rolled until then stays report, the rest
    /// stays in the journal.
    pub fn compact(&mut self, until: Millis) -> Result<CompactionReport, ArchiveError> {
        self.compact_observed(until, &mut |_, _| ())
    }

    /// As [`Writer::compact`], and tells of every step of every file once it is done.
    ///
    /// # Errors
    ///
    /// As [`Writer::compact`].
    pub fn compact_observed(
        &mut self,
        until: Millis,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<CompactionReport, ArchiveError> {
        compact(self, until, done)
    }

    /// Deletes the journal's rows `ids`, which files have: `part`, made of those rows, or those in `filed`.
    ///
    /// Gives whether it was done. It is not where something else has changed since the roll looked: a row has left the
    /// journal, or a file is out of use.
    fn finish_segment<R: Row>(
        &mut self,
        part: Option<(&str, &Venues)>,
        filed: &[String],
        ids: &[i64],
    ) -> Result<bool, ArchiveError> {
        self.change(|journal| {
            let transaction = journal.transaction()?;
            for path in filed {
                if !manifest::is_kept(&transaction, path)? {
                    return Ok(false);
                }
            }
            if let Some((path, venues)) = part {
                manifest::mark(&transaction, path, State::Kept, None)?;
                manifest::list_venues(&transaction, path, venues)?;
            }
            if database::delete(&transaction, R::TABLE, ids)? != ids.len() {
                return Ok(false);
            }
            transaction.commit()?;
            Ok(true)
        })
    }
}

/// Moves every day that was over at `until` into files, and tells `done` of every step of every file.
pub(crate) fn compact<H: WriterAccess>(
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
    Ok(compaction.report)
}

/// A roll under way.
struct Compaction<'a, H> {
    access: &'a mut H,
    until: Millis,
    done: &'a mut dyn FnMut(SegmentStep, &Path),
    report: CompactionReport,
}

/// Rows of a partition that are rolled together.
#[derive(Clone, Copy)]
struct RowBatch<'a> {
    partition: Partition,
    /// One exchange, say, where they are too many for one file.
    group: Option<&'a str>,
    /// The last row to be report. What is appended meanwhile waits for the next roll, which looks into the files that
    /// this one makes: it may be a row again that has just moved.
    last: i64,
}

/// What the files of a partition hold already.
#[derive(Default)]
struct ExistingRows {
    paths: Vec<String>,
    keys: HashSet<String>,
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
            let all = RowBatch {
                partition,
                group: None,
                last,
            };
            if groups.iter().map(|(_, rows)| rows).sum::<u64>() <= HEAVY {
                self.batch::<R>(all, &filed)?;
            } else {
                for (group, _) in &groups {
                    let group = Some(group.as_str());
                    self.batch::<R>(RowBatch { group, ..all }, &filed)?;
                }
            }
        }
        Ok(())
    }

    /// What the files of a partition hold; a damaged one is set aside, so that its rows can be kept anew.
    fn filed<R: Row>(&mut self, partition: Partition) -> Result<ExistingRows, H::Fault> {
        let archive = self.access.archive();
        let parts = archive
            .ask(|journal| manifest::of_day(journal, R::TABLE, partition.day, State::Kept))?;
        let mut filed = ExistingRows::default();
        for part in parts {
            if part.partition != partition {
                continue;
            }
            let archive = self.access.archive();
            let file = match archive.fault_of(&part)? {
                Some(fault) => Err(fault),
                None => archive.file(&part)?,
            };
            let rows = file.and_then(|file| {
                parquet::rows::<R>(file, partition.interval, &Filter::default())
                    .map_err(|fault| fault.to_string())
            });
            let fault = match rows {
                Ok(rows) => {
                    filed.keys.extend(rows.iter().map(Row::key));
                    None
                }
                Err(fault) => Some(fault),
            };
            match fault {
                Some(reason) => self
                    .access
                    .change(move |writer| writer.set_aside(&part, &reason))?,
                None => filed.paths.push(part.path),
            }
        }
        Ok(filed)
    }

    fn batch<R: Row>(&mut self, batch: RowBatch<'_>, filed: &ExistingRows) -> Result<(), H::Fault> {
        loop {
            let found = self.access.archive().ask(|journal| {
                let group = batch.group;
                database::to_roll::<R>(
                    journal,
                    batch.partition,
                    group,
                    batch.last,
                    (MOST, MOST_BYTES),
                )
            })?;
            if found.is_empty() {
                return Ok(());
            }
            let (ids, rows): (Vec<i64>, Vec<R>) = found.into_iter().unzip();
            let sent = rows.len();
            let mut rows: Vec<R> = rows
                .into_iter()
                .filter(|row| filed.keys.is_empty() || !filed.keys.contains(&row.key()))
                .collect();
            let repeated = sent - rows.len();
            let moved = if rows.is_empty() {
                let filed = filed.paths.clone();
                self.access
                    .change(move |writer| writer.finish_segment::<R>(None, &filed, &ids))?
            } else {
                R::sort_for_file(&mut rows);
                self.part(batch.partition, &rows, ids, filed)?
            };
            if !moved {
                // The next roll looks again.
                log::info!("another change came before rows of {} could move", R::TABLE);
                return Ok(());
            }
            self.report.repeated += u64::try_from(repeated).unwrap_or(u64::MAX);
        }
    }

    /// Writes `rows` to a file and deletes the journal's rows `ids`; gives whether that was done.
    fn part<R: Row>(
        &mut self,
        partition: Partition,
        rows: &[R],
        ids: Vec<i64>,
        filed: &ExistingRows,
    ) -> Result<bool, H::Fault> {
        let now = wall_clock();
        let base = self.access.archive().folder.clone();
        let name = format!("part-{}.parquet", Uuid::now_v7());
        let relative = partition.folder::<R>().join(name);
        let path = base.join(&relative);
        let bytes = parquet::bytes(rows).map_err(|fault| of_fault(&path, fault))?;
        let part = Part::of(rows, partition, &relative, &bytes);
        let (name, venues, count) = (part.path.clone(), manifest::venues(rows), part.rows);
        self.access
            .change(move |writer| writer.change(|journal| manifest::intend(journal, &part, now)))?;
        (self.done)(SegmentStep::Intended, &path);
        let moved = match place(&base, &relative, &bytes, self.done) {
            Ok(()) => {
                let (name, filed) = (name.clone(), filed.paths.clone());
                self.access.change(move |writer| {
                    writer.finish_segment::<R>(Some((&name, &venues)), &filed, &ids)
                })
            }
            Err(fault) => Err(fault.into()),
        };
        if !matches!(moved, Ok(true)) {
            // The rows are still the journal's. What is left of the file goes now, or when the archive is opened next.
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

/// The error that a fault of the file at `path` means.
pub(crate) fn of_fault(path: &Path, fault: SegmentError) -> ArchiveError {
    match fault {
        SegmentError::Io(source) => ArchiveError::of_file(path, source),
        fault => ArchiveError::Io {
            path: path.to_owned(),
            source: std::io::Error::other(fault),
        },
    }
}
