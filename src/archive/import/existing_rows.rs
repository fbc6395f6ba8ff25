//! Comparison of imported rows with stored rows.
//!
//! The known rows are the stored rows of a partition and the rows of the import that were compared before.
//!
//! Rows with the key of a known row repeat it. Rows of different sources are then matched by their values and by count:
//! each known row repeats at most one row of each other source. Rows with known keys are matched first, so the sequence
//! of rows does not matter.

use std::collections::HashSet;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Partition, SegmentState};
use crate::archive::filter::Filter;
use crate::archive::integrity::segment_check;
use crate::archive::integrity::verify;
use crate::archive::rows::key_index::KeyIndex;
use crate::archive::rows::row::{KeySource, Row};
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

/// Maximum number of known rows with equal values that a row is compared with.
const MOST_EQUAL: usize = 1024;

/// How a row compares with the known rows.
pub(crate) enum Comparison {
    /// No known row has its key.
    New,
    /// A known row has its key and equal values.
    Repeated(RowOrigin),
    /// A known row has its key but other values; contains an error message.
    Different(String),
    /// No known row has its key, but a known row of another source has its values.
    ///
    /// [`PartitionRows::match_source`] decides once all keys are compared.
    OfAnotherSource,
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
    /// The same rows by their values, if rows of different sources are compared by these.
    events: KeyIndex,
    /// Id of the ingest that the compared rows belong to.
    own: Option<String>,
    /// For each known row, the sources that have a row with its key or its values, as bits.
    taken: Vec<u8>,
    /// Hashes of the keys of rows that are not stored, because they repeat a row with another key.
    matched: HashSet<u64>,
}

impl<R: Row> PartitionRows<R> {
    /// Reads the stored rows of a partition that match `filter`.
    ///
    /// Quarantines damaged segments that had matching rows, so that these can be stored again.
    pub(crate) fn read(
        writer: &mut WriteStore,
        partition: Partition,
        filter: &Filter,
        more: usize,
        own: Option<&str>,
    ) -> Result<Self, ArchiveError> {
        let day = partition.day;
        let segments = writer
            .store
            .ask(|journal| manifest::of_day(journal, R::TABLE, day, SegmentState::Active))?;
        for segment in segments {
            if segment.partition == partition
                && segment.may_match(filter)
                && let Some(reason) = segment_check::fault_of(&writer.store, &segment)?
            {
                verify::quarantine_segment(writer, &segment, &reason)?;
            }
        }
        let by_ingest = table_scan::rows_by_ingest::<R>(&writer.store, partition, filter)?;
        let count: usize = by_ingest.values().map(Vec::len).sum();
        let events = if R::HAS_SOURCES { count + more } else { 0 };
        let mut known = Self {
            rows: Vec::with_capacity(count),
            stored: Vec::new(),
            index: KeyIndex::with_capacity(count + more),
            events: KeyIndex::with_capacity(events),
            own: own.map(str::to_owned),
            taken: Vec::with_capacity(events),
            matched: HashSet::new(),
        };
        for (ingest, rows) in by_ingest {
            for row in rows {
                known.add(known.index.hash(&row), row);
            }
            known.stored.push((ingest, known.rows.len()));
        }
        Ok(known)
    }

    /// Adds a known row, with the hash of its key.
    fn add(&mut self, hash: u64, row: R) {
        self.index.add(hash);
        if R::HAS_SOURCES {
            self.events.add(self.events.hash_event(&row));
            self.taken.push(0);
        }
        self.rows.push(row);
    }

    fn origin(&self, place: usize) -> RowOrigin {
        let stored = self.stored.iter().find(|(_, end)| place < *end);
        stored.map_or(RowOrigin::Given, |(ingest, _)| {
            RowOrigin::Stored(ingest.clone())
        })
    }

    /// Whether this import delivered a known row.
    fn is_own(&self, place: usize) -> bool {
        match self.stored.iter().find(|(_, end)| place < *end) {
            None => true,
            Some((ingest, _)) => ingest.is_some() && *ingest == self.own,
        }
    }

    /// Place of the known row of another source with the values of a row, if no row of its own source has taken it.
    fn of_another_source(&self, row: &R) -> Option<usize> {
        if !R::HAS_SOURCES {
            return None;
        }
        let source = bit(row.key_source());
        let is_taken = |place: usize| {
            self.taken
                .get(place)
                .is_some_and(|taken| taken & source > 0)
        };
        let places = self.events.of(self.events.hash_event(row));
        places.take(MOST_EQUAL).find(|place| {
            self.rows.get(*place).is_some_and(|known| {
                !is_taken(*place) && known.is_same_event(row, self.is_own(*place))
            })
        })
    }

    /// Records that a row of the same source as `row` has the key or the values of a known row.
    fn take(&mut self, place: usize, row: &R) {
        if let Some(taken) = self.taken.get_mut(place) {
            *taken |= bit(row.key_source());
        }
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
            if self.of_another_source(&row).is_some() {
                return Comparison::OfAnotherSource;
            }
            self.add(hash, row);
            return Comparison::New;
        };
        // A key of values has all of them, except the value in USD, which sources round differently.
        let has_values = R::HAS_SOURCES && row.key_source() == KeySource::Values;
        if has_values || content(same, &[]) == content(&row, &[]) {
            self.take(place, &row);
            return Comparison::Repeated(self.origin(place));
        }
        let (symbol, at) = (row.symbol(), row.timestamp());
        Comparison::Different(format!(
            "the archive has {symbol} at {at} with other values"
        ))
    }

    /// Matches a row with a known row of another source; a row without one becomes a known row.
    ///
    /// The keys of all rows must have been compared before.
    pub(crate) fn match_source(&mut self, row: R) -> Comparison {
        let hash = self.index.hash(&row);
        let mut hasher = DefaultHasher::new();
        row.key().hash(&mut hasher);
        let key = hasher.finish();
        let has_key = |place: usize| {
            self.rows
                .get(place)
                .is_some_and(|known: &R| known.has_key_of(&row))
        };
        if self.index.of(hash).any(has_key) || self.matched.contains(&key) {
            return Comparison::Repeated(RowOrigin::Given);
        }
        let Some(place) = self.of_another_source(&row) else {
            self.add(hash, row);
            return Comparison::New;
        };
        self.take(place, &row);
        self.matched.insert(key);
        Comparison::Repeated(self.origin(place))
    }
}

/// The bit of a source in [`PartitionRows::taken`].
fn bit(source: KeySource) -> u8 {
    match source {
        KeySource::Exchange => 1,
        KeySource::Values => 2,
        KeySource::Other => 4,
    }
}

/// Hashes the values of a row, except the columns in [`PROVENANCE`] and those in `without`.
pub(crate) fn content<R: Row>(row: &R, without: &[&str]) -> u64 {
    let mut content = ContentHash {
        row,
        without,
        hasher: DefaultHasher::new(),
    };
    match R::visit(&mut content) {
        Ok(()) => content.hasher.finish(),
        Err(never) => match never {},
    }
}

struct ContentHash<'a, R> {
    row: &'a R,
    without: &'a [&'a str],
    hasher: DefaultHasher,
}

impl<R: Row> Visitor<R> for ContentHash<'_, R> {
    type Fault = Infallible;

    fn column<T: Value>(
        &mut self,
        column: &'static Column,
        of: impl Fn(&R) -> &T,
    ) -> Result<(), Infallible> {
        if PROVENANCE.contains(&column.name) || self.without.contains(&column.name) {
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
