//! Replaces segments by new ones, in one transaction.
//!
//! A segment never changes and is never deleted. New rows go into new segments, and one transaction supersedes the old
//! segments. These stay for reads as of an earlier instant, but move to another folder, so that other engines read only
//! valid rows. Superseded journal rows are also moved into superseded segments. After a crash at any step, either the
//! whole change is stored or none of it; the next open moves the files.

use std::collections::BTreeMap;
use std::mem;
use std::path::Path;

use rusqlite::Transaction;

use crate::archive::ArchiveError;
use crate::archive::catalog::file_versions;
use crate::archive::catalog::file_versions::Generation;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Partition, SegmentEntry, SegmentState, Venues};
use crate::archive::catalog::stats;
use crate::archive::clock::wall_clock;
use crate::archive::compaction::compactor::{divide, of_fault};
use crate::archive::files::{self, SegmentStep};
use crate::archive::journal::database;
use crate::archive::rows::row::Row;
use crate::archive::segment::atomic_write::place_all;
use crate::archive::segment::parquet;
use crate::archive::store::write_store::WriteStore;
use crate::model::Millis;

/// Number of segments that are written together.
const TOGETHER: usize = 16;

/// A new segment, and whether it contains superseded rows.
struct NewSegment {
    entry: SegmentEntry,
    venues: Venues,
    is_superseded: bool,
    bytes: Vec<u8>,
}

impl NewSegment {
    /// Path of the file, relative to the archive's folder.
    fn place(&self) -> String {
        if self.is_superseded {
            files::superseded(&self.entry.path)
        } else {
            self.entry.path.clone()
        }
    }
}

/// The segments to write and to supersede, and the journal rows to delete.
#[derive(Default)]
pub(crate) struct Rewrite {
    made: Vec<NewSegment>,
    replaced: Vec<String>,
    /// Ids of the rows to delete from each journal table.
    deleted: BTreeMap<&'static str, Vec<i64>>,
}

impl Rewrite {
    /// Adds a segment of the table of `R` to be superseded.
    pub(crate) fn replace<R: Row>(&mut self, path: String) {
        self.deleted.entry(R::TABLE).or_default();
        self.replaced.push(path);
    }

    /// Adds journal rows to be deleted.
    pub(crate) fn delete<R: Row>(&mut self, ids: Vec<i64>) {
        self.deleted.entry(R::TABLE).or_default().extend(ids);
    }

    /// Adds new segments for rows of a partition.
    ///
    /// If `is_superseded`, only reads as of an earlier instant return these rows.
    pub(crate) fn add<R: Row>(
        &mut self,
        writer: &WriteStore,
        partition: Partition,
        mut rows: Vec<R>,
        ingest: Option<&str>,
        is_superseded: bool,
    ) -> Result<(), ArchiveError> {
        R::sort_for_file(&mut rows);
        for rows in divide(rows, |row| row.exchange().unwrap_or_default().to_owned()) {
            let folder = writer.store.folder.join(partition.folder::<R>());
            let bytes = parquet::bytes(&rows).map_err(|fault| of_fault(&folder, fault))?;
            let entry = SegmentEntry {
                ingest: ingest.map(str::to_owned),
                ..SegmentEntry::of(&rows, partition, &bytes)
            };
            self.deleted.entry(R::TABLE).or_default();
            self.made.push(NewSegment {
                entry,
                venues: manifest::venues(&rows),
                is_superseded,
                bytes,
            });
        }
        Ok(())
    }

    /// Writes the segments and commits the rewrite in one transaction, together with the changes of `also`.
    ///
    /// Returns the instant from which the change is valid.
    pub(crate) fn commit(
        mut self,
        writer: &mut WriteStore,
        done: &mut dyn FnMut(SegmentStep, &Path),
        also: impl FnOnce(&Transaction<'_>, Millis) -> rusqlite::Result<()>,
    ) -> Result<Millis, ArchiveError> {
        let outcome = self.write(writer, done).and_then(|()| {
            writer.change(|journal| {
                let transaction = journal.transaction()?;
                let at = self.activate(&transaction)?;
                also(&transaction, at)?;
                transaction.commit()?;
                Ok(at)
            })
        });
        match &outcome {
            Ok(_) => {
                writer.copy_versions();
                writer.move_superseded(self.replaced.iter().map(String::as_str));
                for one in &self.made {
                    let path = writer.store.folder.join(one.place());
                    done(SegmentStep::Committed, &path);
                }
            }
            Err(_) => {
                // The pending files are removed now, or when the archive is next opened.
                let _ = writer.withdraw(self.made.iter().map(|one| one.entry.path.as_str()));
            }
        }
        outcome
    }

    fn write(
        &mut self,
        writer: &mut WriteStore,
        done: &mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<(), ArchiveError> {
        let base = writer.store.folder.clone();
        let now = wall_clock();
        for some in self.made.chunks_mut(TOGETHER) {
            writer.change(|journal| {
                let transaction = journal.transaction()?;
                for one in some.iter() {
                    manifest::intend(&transaction, &one.entry, now)?;
                }
                transaction.commit()
            })?;
            let bytes: Vec<Vec<u8>> = some
                .iter_mut()
                .map(|one| mem::take(&mut one.bytes))
                .collect();
            let places: Vec<String> = some.iter().map(NewSegment::place).collect();
            let files: Vec<(&Path, &[u8])> = places
                .iter()
                .zip(&bytes)
                .map(|(place, bytes)| (Path::new(place), bytes.as_slice()))
                .collect();
            for (relative, _) in &files {
                done(SegmentStep::Intended, &base.join(relative));
            }
            place_all(&base, &files, done)?;
        }
        Ok(())
    }

    /// Marks the new segments as active and supersedes the old ones.
    ///
    /// Returns the instant from which the new segments are valid.
    fn activate(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Millis> {
        let at = file_versions::next_instant(transaction)?;
        let superseded = Generation {
            since: None,
            superseded_at: Some(at),
        };
        let fresh = Generation {
            since: Some(at),
            superseded_at: None,
        };
        for one in &self.made {
            let path = &one.entry.path;
            manifest::mark(transaction, path, SegmentState::Active, None)?;
            manifest::list_venues(transaction, path, &one.venues)?;
            let generation = if one.is_superseded { superseded } else { fresh };
            file_versions::set(transaction, path, generation)?;
        }
        for path in &self.replaced {
            file_versions::set(transaction, path, superseded)?;
        }
        for (table, ids) in &self.deleted {
            database::delete(transaction, table, ids)?;
            let fresh = self.made.iter().filter(|one| !one.is_superseded);
            let fresh = fresh.filter(|one| one.entry.holds == *table);
            let rows: u64 = fresh.map(|one| one.entry.rows).sum();
            // The skipped ids make readers that follow the journal by row id read the table again.
            stats::skip_ids(transaction, table, rows.max(1))?;
        }
        Ok(at)
    }
}
