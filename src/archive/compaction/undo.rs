//! Undo of an ingest: supersedes the rows that only the ingest delivered.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use rusqlite::Connection;

use crate::archive::ArchiveError;
use crate::archive::catalog::ingests;
use crate::archive::catalog::ingests::UndoRow;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, Partition, SegmentEntry, SegmentState};
use crate::archive::catalog::stats;
use crate::archive::compaction::compactor::of_fault;
use crate::archive::compaction::rewrite::Rewrite;
use crate::archive::coverage_log::sessions;
use crate::archive::filter::Filter;
use crate::archive::integrity::segment_check;
use crate::archive::journal::database;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::totals::TotalRow;
use crate::archive::segment::parquet;
use crate::archive::store::write_store::WriteStore;
use crate::model::Millis;

/// Implements `Writer::undo`.
pub(crate) fn undo(writer: &mut WriteStore, id: &str) -> Result<Vec<UndoRow>, ArchiveError> {
    let refused = |message: String| {
        Err(ArchiveError::BadRange {
            parameter: "id",
            message,
        })
    };
    match writer.store.ask(|journal| ingests::find(journal, id))? {
        None => {
            return refused(format!(
                "{id:?} is not an ingest of this archive; use an id from the list of ingests"
            ));
        }
        Some(ingest) => {
            if let Some(at) = ingest.undone {
                return refused(format!("the ingest {id} was undone at {at} already"));
            }
        }
    }
    let mut plan = Undo {
        id,
        segments: writer
            .store
            .ask(|journal| manifest::of_ingest(journal, id))?,
        rewrite: Rewrite::default(),
        coins: BTreeMap::new(),
    };
    plan.kind::<OrderRow>(writer)?;
    plan.kind::<BarRow>(writer)?;
    plan.kind::<OpenInterestRow>(writer)?;
    plan.kind::<PositionRow>(writer)?;
    plan.kind::<TotalRow>(writer)?;
    plan.find_last_closes(writer)?;
    let coins = plan.coins;
    plan.rewrite.commit(writer, &mut |_, _| (), |journal, at| {
        for (coin, last_close) in &coins {
            stats::recall_coin(journal, coin, *last_close, at)?;
        }
        stats::recompute_newest(journal)?;
        sessions::undo(journal, id, at)?;
        ingests::set_undone(journal, id, at)
    })?;
    writer.store.ask(|journal| ingests::undo_rows(journal, id))
}

/// An undo that is being prepared.
struct Undo<'a> {
    id: &'a str,
    /// Segments of the ingest that are still to be processed.
    segments: Vec<SegmentEntry>,
    rewrite: Rewrite,
    /// Coins of the ingest's bars, each with the last close time of all bars that stay.
    coins: BTreeMap<String, Option<Millis>>,
}

impl Undo<'_> {
    /// Supersedes the ingest's rows of a table, except those that a collector also delivered.
    fn kind<R: Row>(&mut self, writer: &WriteStore) -> Result<(), ArchiveError> {
        let segments = std::mem::take(&mut self.segments);
        let (own, others) = segments.into_iter().partition(|one| one.holds == R::TABLE);
        self.segments = others;
        let own: Vec<SegmentEntry> = own;
        for segment in own {
            let collected = |journal: &Connection| ingests::collected(journal, &segment.path);
            let collected: HashSet<String> = writer.store.ask(collected)?.into_iter().collect();
            if R::HAS_PRICES || !collected.is_empty() {
                let rows = rows_of::<R>(writer, &segment)?;
                self.note_coins(&rows);
                let rows = rows
                    .into_iter()
                    .filter(|row| collected.contains(&row.key()));
                let rows: Vec<R> = rows.collect();
                self.add_last_closes(&rows);
                self.rewrite
                    .add(writer, segment.partition, rows, None, false)?;
            }
            self.rewrite.replace::<R>(segment.path);
        }
        let journaled = |journal: &Connection| database::rows_of_ingest::<R>(journal, self.id);
        let (ids, rows): (Vec<i64>, Vec<R>) = writer.store.ask(journaled)?.into_iter().unzip();
        if ids.is_empty() {
            return Ok(());
        }
        self.note_coins(&rows);
        let mut partitions: BTreeMap<Partition, Vec<R>> = BTreeMap::new();
        for row in rows {
            let partition = Partition {
                day: Day::of(row.timestamp()),
                interval: row.interval(),
            };
            partitions.entry(partition).or_default().push(row);
        }
        for (partition, rows) in partitions {
            self.rewrite
                .add(writer, partition, rows, Some(self.id), true)?;
        }
        self.rewrite.delete::<R>(ids);
        Ok(())
    }

    /// Adds the coins of bars to `coins`.
    fn note_coins<R: Row>(&mut self, rows: &[R]) {
        if !R::HAS_PRICES {
            return;
        }
        for rows in rows.chunk_by(|one, other| one.coin() == other.coin()) {
            if let Some(row) = rows.first()
                && !self.coins.contains_key(row.coin())
            {
                self.coins.insert(row.coin().to_owned(), None);
            }
        }
    }

    /// Updates the last close times of the coins with bars that stay.
    fn add_last_closes<R: Row>(&mut self, rows: &[R]) {
        for row in rows {
            if let Some(last) = self.coins.get_mut(row.coin()) {
                *last = (*last).max(Some(row.known_at()));
            }
        }
    }

    /// Finds the last close time of each coin in `coins`.
    ///
    /// Considers the bars of other ingests and of collectors.
    fn find_last_closes(&mut self, writer: &WriteStore) -> Result<(), ArchiveError> {
        if self.coins.is_empty() {
            return Ok(());
        }
        let id = self.id;
        let (mut segments, journaled) = writer.store.ask(|journal| {
            let segments = manifest::current(journal, SegmentState::Active)?;
            let mut last = journal.prepare(
                "SELECT symbol, max(timestamp + interval) FROM bars WHERE ingest IS NOT ?1 GROUP BY symbol",
            )?;
            let last = last.query_map([id], |line| Ok((line.get(0)?, Millis(line.get(1)?))))?;
            let last: Vec<(String, Millis)> = last.collect::<rusqlite::Result<_>>()?;
            Ok((segments, last))
        })?;
        for (coin, close) in journaled {
            if let Some(last) = self.coins.get_mut(&coin) {
                *last = (*last).max(Some(close));
            }
        }
        segments.retain(|one| one.holds == BarRow::TABLE && one.ingest.as_deref() != Some(id));
        segments.sort_by_key(|one| Reverse(one.end()));
        for segment in segments {
            let end = segment.end();
            if self
                .coins
                .values()
                .all(|last| last.is_some_and(|last| last >= end))
            {
                break;
            }
            let rows = rows_of::<BarRow>(writer, &segment)?;
            self.add_last_closes(&rows);
        }
        Ok(())
    }
}

/// Reads the rows of a segment; returns no rows if the segment is damaged.
pub(crate) fn rows_of<R: Row>(
    writer: &WriteStore,
    segment: &SegmentEntry,
) -> Result<Vec<R>, ArchiveError> {
    if segment.reason.is_some() || segment_check::fault_of(&writer.store, segment)?.is_some() {
        return Ok(Vec::new());
    }
    let Ok(file) = segment_check::file(&writer.store, segment)? else {
        return Ok(Vec::new());
    };
    let path = writer.store.folder.join(&segment.path);
    parquet::rows(file, segment.partition.interval, &Filter::default())
        .map_err(|fault| of_fault(&path, fault))
}
