//! Comparison of imported rows with stored rows.
//!
//! The known rows are the stored rows of a partition and the rows of the import that were compared before.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Partition, SegmentState};
use crate::archive::compaction::undo::undone_keys;
use crate::archive::integrity::segment_check;
use crate::archive::integrity::verify;
use crate::archive::rows::key_index::KeyIndex;
use crate::archive::rows::row::Row;
use crate::archive::scan::table_scan;
use crate::archive::store::write_store::WriteStore;
use crate::model::{Cell, Column, FixedPoint, Value, Visitor};

/// Columns in which equal rows may differ.
///
/// They describe how and when a row was received, not the event.
const PROVENANCE: [&str; 7] = [
    "dedupe_key",
    "received_at",
    "completeness",
    "price_kind",
    "native_id",
    "raw",
    "group_id",
];

/// How a row compares with the known rows.
pub(crate) enum Comparison {
    /// No known row has its key.
    New,
    /// A known row has its key and equal values.
    Repeated(RowOrigin),
    /// A known row has its key but other values; contains an error message.
    Different(String),
}

/// Where a known row is from.
pub(crate) enum RowOrigin {
    /// The row was compared earlier in the same import.
    Given,
    /// The row is stored, from the ingest with this id or from a collector (`None`).
    Stored(Option<String>),
}

/// The known rows of a partition: stored rows, followed by new rows.
pub(crate) struct PartitionRows<R> {
    rows: Vec<R>,
    /// For each ingest, the end of its rows in `rows`.
    ///
    /// The rows after the last end are new.
    stored: Vec<(Option<String>, usize)>,
    index: KeyIndex,
    /// Keys of stored rows that were undone.
    undone: BTreeSet<String>,
}

impl<R: Row> PartitionRows<R> {
    /// Reads the stored rows of a partition.
    ///
    /// Quarantines damaged segments, so that their rows can be stored again.
    pub(crate) fn read(
        writer: &mut WriteStore,
        partition: Partition,
        more: usize,
    ) -> Result<Self, ArchiveError> {
        let day = partition.day;
        let segments = writer
            .store
            .ask(|journal| manifest::of_day(journal, R::TABLE, day, SegmentState::Active))?;
        for segment in segments {
            if segment.partition == partition
                && let Some(reason) = segment_check::fault_of(&writer.store, &segment)?
            {
                verify::quarantine_segment(writer, &segment, &reason)?;
            }
        }
        let by_ingest = table_scan::rows_by_ingest::<R>(&writer.store, partition)?;
        let count: usize = by_ingest.values().map(Vec::len).sum();
        let mut known = Self {
            rows: Vec::with_capacity(count),
            stored: Vec::new(),
            index: KeyIndex::with_capacity(count + more),
            undone: undone_keys::<R>(writer, partition)?,
        };
        for (ingest, rows) in by_ingest {
            for row in rows {
                known.index.add(known.index.hash(&row));
                known.rows.push(row);
            }
            known.stored.push((ingest, known.rows.len()));
        }
        Ok(known)
    }

    /// Whether a row with this key was stored by an ingest that was undone.
    pub(crate) fn was_undone(&self, row: &R) -> bool {
        !self.undone.is_empty() && self.undone.contains(&row.key())
    }

    fn origin(&self, place: usize) -> RowOrigin {
        let stored = self.stored.iter().find(|(_, end)| place < *end);
        stored.map_or(RowOrigin::Given, |(ingest, _)| {
            RowOrigin::Stored(ingest.clone())
        })
    }

    /// Compares a row with the known rows; a new row becomes a known row.
    pub(crate) fn compare(&mut self, row: R) -> Comparison {
        let hash = self.index.hash(&row);
        let known = || {
            let places = self.index.of(hash);
            places.filter_map(|place| Some((place, self.rows.get(place)?)))
        };
        let same = known().find(|(_, known)| known.has_key_of(&row));
        // Another spelling of the instrument counts as the same only in a stored row: two spellings in one import are
        // two contracts.
        let same = same.or_else(|| {
            let count = self.stored.last().map_or(0, |(_, count)| *count);
            let mut stored = known().filter(|(place, _)| *place < count);
            stored.find(|(_, known)| known.is_spelled_otherwise(&row))
        });
        let Some((place, same)) = same else {
            self.index.add(hash);
            self.rows.push(row);
            return Comparison::New;
        };
        if content(same) == content(&row) {
            return Comparison::Repeated(self.origin(place));
        }
        let (symbol, at) = (row.symbol(), row.timestamp());
        Comparison::Different(format!(
            "the archive has {symbol} at {at} with other values"
        ))
    }
}

/// Hashes the values of a row, except the columns in [`PROVENANCE`].
fn content<R: Row>(row: &R) -> u64 {
    let mut content = ContentHash {
        row,
        hasher: DefaultHasher::new(),
    };
    match R::visit(&mut content) {
        Ok(()) => content.hasher.finish(),
        Err(never) => match never {},
    }
}

struct ContentHash<'a, R> {
    row: &'a R,
    hasher: DefaultHasher,
}

impl<R: Row> Visitor<R> for ContentHash<'_, R> {
    type Fault = Infallible;

    fn column<T: Value>(
        &mut self,
        column: &'static Column,
        of: impl Fn(&R) -> &T,
    ) -> Result<(), Infallible> {
        if PROVENANCE.contains(&column.name) {
            return Ok(());
        }
        match of(self.row).cell() {
            Cell::Absent => {}
            Cell::Text(text) => text.hash(&mut self.hasher),
            Cell::Side(side) => side.hash(&mut self.hasher),
            // A checked decimal always fits. Equal decimals have equal fixed-point values, whatever their scale.
            Cell::Decimal(value) => FixedPoint::of(value)
                .ok()
                .map(|value| value.0)
                .hash(&mut self.hasher),
            Cell::Float(value) => value.to_bits().hash(&mut self.hasher),
            Cell::Int(value) => value.hash(&mut self.hasher),
            Cell::Time(at) => at.hash(&mut self.hasher),
            Cell::Bool(truth) => truth.hash(&mut self.hasher),
        }
        Ok(())
    }
}
