//! Telling orders of a day otherwise than before: rows that were read anew take the place of those that were kept.
//!
//! A file that is kept never changes and never goes. So files with the corrected rows are made beside it, and one transaction
//! lets them take its place: it stays, and is told as of every instant before. Rows of the journal that are superseded are
//! moved into such files. Killed at any point, all of a day's rows are told as before, or all as corrected.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction};
use uuid::Uuid;

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::catalog::file_versions;
use crate::archive::catalog::file_versions::Generation;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, Part, Partition, State, Venues};
use crate::archive::catalog::stats;
use crate::archive::catalog::stats::Noted;
use crate::archive::clock::wall_clock;
use crate::archive::compaction::compactor::of_fault;
use crate::archive::files::SegmentStep;
use crate::archive::filter::Filter;
use crate::archive::import::filing::lots;
use crate::archive::integrity::crc;
use crate::archive::journal::{database, table};
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::segment::atomic_write::place_all;
use crate::archive::segment::parquet;
use crate::archive::writer::Writer;
use crate::model::Millis;

/// How orders of one day are told from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayCorrection {
    /// Rows that take the place of those of the same exchange and dedupe key; what these say of their receipt, and the
    /// message they were kept with, stays.
    pub corrected: Vec<OrderRow>,
    /// Rows that the archive does not have.
    pub new: Vec<OrderRow>,
    /// Rows that are told no more, by exchange and dedupe key.
    pub removed: Vec<(String, String)>,
}

impl DayCorrection {
    /// Whether all is told as before.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.corrected.is_empty() && self.new.is_empty() && self.removed.is_empty()
    }
}

/// Files that are in use together: how many are put into their places at once.
const TOGETHER: usize = 16;

/// A file that is made, and from when until when it will be told.
struct NewSegment {
    part: Part,
    venues: Venues,
    is_superseded: bool,
    relative: PathBuf,
    bytes: Vec<u8>,
}

/// What becomes of the rows by their keys: others in their place, or none.
type Replacements<'a> = HashMap<String, Option<&'a OrderRow>>;

/// A revision of one day, on its way.
#[derive(Default)]
struct SupersedePlan {
    /// Files whose place others take.
    replaced: Vec<String>,
    /// Rows as they are told from now on, by the files they lie in.
    files: Vec<Vec<OrderRow>>,
    /// Rows of the journal that are told otherwise, by their numbers, and as they were.
    journaled: Vec<i64>,
    before: Vec<OrderRow>,
    /// Rows that lie in no file yet.
    loose: Vec<OrderRow>,
}

impl Writer {
    /// Tells the orders of the day that begins at `day` as a revision says, all of it or nothing; answers as of an instant
    /// before stay as they were. Gives since when they are told so.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRow`] where a row cannot be kept exactly, else [`ArchiveError`] where a file or the journal cannot be
    /// read or written: then nothing has changed.
    pub fn supersede(
        &mut self,
        day: Millis,
        correction: &DayCorrection,
    ) -> Result<Millis, ArchiveError> {
        self.supersede_observed(day, correction, &mut |_, _| ())
    }

    /// As [`Writer::supersede`], and tells of every step of every file once it is done.
    ///
    /// # Errors
    ///
    /// As [`Writer::supersede`].
    pub fn supersede_observed(
        &mut self,
        day: Millis,
        correction: &DayCorrection,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<Millis, ArchiveError> {
        crate::archive::rows::row::check_all(OrderRow::TABLE, &correction.corrected, Row::check)?;
        crate::archive::rows::row::check_all(OrderRow::TABLE, &correction.new, Row::check)?;
        let partition = Partition {
            day: Day::of(day),
            interval: 0,
        };
        let draft = self.draft(partition, correction)?;
        let mut made = Vec::new();
        for (rows, is_superseded) in (draft
            .files
            .iter()
            .chain(&lots(draft.loose))
            .map(|rows| (rows, false)))
        .chain(lots(draft.before).iter().map(|rows| (rows, true)))
        {
            if !rows.is_empty() {
                made.push(self.made(partition, rows, is_superseded)?);
            }
        }
        let outcome = self.put(&mut made, done).and_then(|()| {
            let mut noted = Noted::default();
            noted.take(&correction.new);
            self.change(|journal| {
                let transaction = journal.transaction()?;
                let at = commit(&transaction, &made, &draft.replaced, &draft.journaled)?;
                noted.write(&transaction)?;
                transaction.commit()?;
                Ok(at)
            })
        });
        match outcome {
            Ok(at) => {
                for one in &made {
                    done(SegmentStep::Committed, &self.folder.join(&one.relative));
                }
                Ok(at)
            }
            Err(fault) => {
                // What is left of the files goes now, or when the archive is opened next.
                let _ = self.withdraw(made.iter().map(|one| one.part.path.as_str()));
                Err(fault)
            }
        }
    }

    /// Looks for the rows of a revision in the files of its day, and in the journal.
    fn draft(
        &self,
        partition: Partition,
        correction: &DayCorrection,
    ) -> Result<SupersedePlan, ArchiveError> {
        let mut replacements: Replacements<'_> = HashMap::new();
        for row in &correction.corrected {
            replacements.insert(row.key(), Some(row));
        }
        for (exchange, key) in &correction.removed {
            replacements.insert(format!("{exchange}\n{key}"), None);
        }
        let mut draft = SupersedePlan::default();
        let mut filed = HashSet::new();
        if !replacements.is_empty() {
            let day = partition.day;
            let parts =
                self.ask(|journal| manifest::of_day(journal, OrderRow::TABLE, day, State::Kept))?;
            for part in parts {
                // What is damaged is told by nobody, and stays as it is.
                if self.fault_of(&part)?.is_some() {
                    continue;
                }
                let Ok(file) = Archive::file(self, &part)? else {
                    continue;
                };
                let path = self.folder.join(&part.path);
                let rows = parquet::rows::<OrderRow>(file, 0, &Filter::default())
                    .map_err(|fault| of_fault(&path, fault))?;
                let known = filed.len();
                let rows = rows
                    .into_iter()
                    .filter_map(|row| {
                        replace(row, &replacements, &mut |key| {
                            filed.insert(key);
                        })
                    })
                    .collect();
                if filed.len() > known {
                    draft.replaced.push(part.path);
                    draft.files.push(rows);
                }
            }
            for (id, row) in self.ask(|journal| journaled(journal, day, &replacements))? {
                draft.journaled.push(id);
                // One that a file has as well was never told.
                if !filed.contains(&row.key()) {
                    draft.before.push(row.clone());
                    draft.loose.extend(replace(row, &replacements, &mut |_| ()));
                }
            }
        }
        draft.loose.extend(correction.new.iter().cloned());
        Ok(draft)
    }

    fn made(
        &self,
        partition: Partition,
        rows: &[OrderRow],
        is_superseded: bool,
    ) -> Result<NewSegment, ArchiveError> {
        let name = format!("part-{}.parquet", Uuid::now_v7());
        let relative = partition.folder::<OrderRow>().join(name);
        let path = self.folder.join(&relative);
        let bytes = parquet::bytes(rows).map_err(|fault| of_fault(&path, fault))?;
        Ok(NewSegment {
            part: Part::of(rows, partition, &relative, &bytes),
            venues: manifest::venues(rows),
            is_superseded,
            relative,
            bytes,
        })
    }

    /// Puts files into their places.
    fn put(
        &mut self,
        made: &mut [NewSegment],
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<(), ArchiveError> {
        let base = self.folder.clone();
        let now = wall_clock();
        for some in made.chunks_mut(TOGETHER) {
            self.change(|journal| {
                let transaction = journal.transaction()?;
                for one in some.iter() {
                    manifest::intend(&transaction, &one.part, now)?;
                }
                transaction.commit()
            })?;
            let bytes: Vec<Vec<u8>> = some
                .iter_mut()
                .map(|one| mem::take(&mut one.bytes))
                .collect();
            let files: Vec<(&Path, &[u8])> = some
                .iter()
                .zip(&bytes)
                .map(|(one, bytes)| (one.relative.as_path(), bytes.as_slice()))
                .collect();
            for (relative, _) in &files {
                done(SegmentStep::Intended, &base.join(relative));
            }
            place_all(&base, &files, done)?;
        }
        Ok(())
    }
}

/// A row as it is told from now on; `seen` is told the key of one that is told otherwise.
fn replace(
    row: OrderRow,
    replacements: &Replacements<'_>,
    seen: &mut dyn FnMut(String),
) -> Option<OrderRow> {
    let key = row.key();
    let Some(other) = replacements.get(&key) else {
        return Some(row);
    };
    seen(key);
    other.map(|other| OrderRow {
        received_at: row.received_at,
        raw: row.raw,
        ..other.clone()
    })
}

/// The rows of the journal that are told otherwise, with their numbers.
fn journaled(
    journal: &Connection,
    day: Day,
    replacements: &Replacements<'_>,
) -> rusqlite::Result<Vec<(i64, OrderRow)>> {
    let columns = table::columns::<OrderRow>();
    let mut statement = journal.prepare_cached(&format!(
        "SELECT id, {} IS {}({columns}), {columns} FROM orders WHERE timestamp >= ?1 AND timestamp < ?2",
        crc::COLUMN,
        crc::FUNCTION,
    ))?;
    let rows = statement.query_map([day.start().0, day.end().0], |line| {
        Ok((line.get(0)?, database::sound_row::<OrderRow>(line)?))
    })?;
    rows.filter(|row| {
        row.as_ref()
            .map_or(true, |(_, row)| replacements.contains_key(&row.key()))
    })
    .collect()
}

/// Lets everything be told otherwise; gives since when.
fn commit(
    transaction: &Transaction<'_>,
    made: &[NewSegment],
    replaced: &[String],
    journaled: &[i64],
) -> rusqlite::Result<Millis> {
    // A clock that was set back does not make two revisions one.
    let last = file_versions::last(transaction)?;
    let at = last.map_or_else(wall_clock, |last| wall_clock().max(last.on(1)));
    let superseded = Generation {
        since: None,
        superseded_at: Some(at),
    };
    let fresh = Generation {
        since: Some(at),
        superseded_at: None,
    };
    let mut rows = 0;
    for one in made {
        let path = &one.part.path;
        manifest::mark(transaction, path, State::Kept, None)?;
        manifest::list_venues(transaction, path, &one.venues)?;
        let generation = if one.is_superseded {
            superseded
        } else {
            rows += one.part.rows;
            fresh
        };
        file_versions::set(transaction, path, generation)?;
    }
    for path in replaced {
        file_versions::set(transaction, path, superseded)?;
    }
    database::delete(transaction, OrderRow::TABLE, journaled)?;
    // Whoever reads on from a place in the order of arrival reads all of it again.
    stats::pass_over(transaction, OrderRow::TABLE, rows.max(1))?;
    Ok(at)
}
