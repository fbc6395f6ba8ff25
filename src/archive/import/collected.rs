//! Collected orders that an ingest stored before, from another source.
//!
//! The keys of a collector and of a file differ, so such orders are found by their values ([`Row::is_same_event`]) and
//! by count. They are not stored again. The stored order counts as collected from then on, so an undo of its ingest does
//! not remove it.

use std::collections::{BTreeMap, HashSet};

use crate::archive::ArchiveError;
use crate::archive::batch::{Acknowledged, Batch};
use crate::archive::catalog::manifest::{Day, SegmentState};
use crate::archive::catalog::{ingests, manifest};
use crate::archive::compaction::compactor::of_fault;
use crate::archive::coverage_log::sessions::Gap;
use crate::archive::filter::Filter;
use crate::archive::integrity::segment_check;
use crate::archive::journal::database::{self, CollectedAgain};
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::segment::parquet;
use crate::archive::store::write_store::WriteStore;
use crate::model::Millis;

/// The stored orders of some instants.
type StoredOrders = BTreeMap<Millis, Vec<(OrderRow, CollectedAgain)>>;

/// Appends checked batches in one transaction, and records `gaps` or extends existing ones.
///
/// Orders that an ingest stored from another source count as repeated.
pub(crate) fn append_all(
    writer: &mut WriteStore,
    batches: &[Batch],
    gaps: &[Gap],
) -> Result<Vec<Acknowledged>, ArchiveError> {
    let stored = stored_orders(writer, batches)?;
    let mut taken: HashSet<(Millis, usize)> = HashSet::new();
    let mut again = Vec::new();
    let mut repeats: Vec<Vec<usize>> = Vec::new();
    for batch in batches {
        let mut repeated = Vec::new();
        for (place, row) in batch.orders.iter().enumerate() {
            let at = row.order.timestamp;
            let Some(known) = stored.get(&at) else {
                continue;
            };
            if known.iter().any(|(known, _)| known.has_key_of(row)) {
                continue;
            }
            let found = known.iter().enumerate().find(|(number, (known, _))| {
                known.is_of_another_source(row) && !taken.contains(&(at, *number))
            });
            if let Some((number, (_, one))) = found {
                taken.insert((at, number));
                again.push(one.clone());
                repeated.push(place);
            }
        }
        repeats.push(repeated);
    }
    if again.is_empty() {
        return writer.append_all(batches, gaps);
    }
    let rest: Vec<Batch> = batches
        .iter()
        .zip(&repeats)
        .map(|(batch, repeated)| {
            let mut batch = batch.clone();
            let mut place = 0;
            batch.orders.retain(|_| {
                place += 1;
                !repeated.contains(&(place - 1))
            });
            batch
        })
        .collect();
    let mut acknowledged =
        writer.change(|journal| database::append(journal, &rest, gaps, &again))?;
    for (one, repeated) in acknowledged.iter_mut().zip(&repeats) {
        one.repeated += repeated.len();
    }
    Ok(acknowledged)
}

/// Stored orders at the instants of collected orders, if an ingest has orders of that time.
fn stored_orders(writer: &WriteStore, batches: &[Batch]) -> Result<StoredOrders, ArchiveError> {
    let mut days: BTreeMap<Day, HashSet<Millis>> = BTreeMap::new();
    for row in batches.iter().flat_map(|batch| &batch.orders) {
        let at = row.order.timestamp;
        days.entry(Day::of(at)).or_default().insert(at);
    }
    let mut stored = StoredOrders::new();
    for (day, instants) in days {
        let ends = instants.iter().min().zip(instants.iter().max());
        let Some((first, last)) = ends.map(|(first, last)| (*first, *last)) else {
            continue;
        };
        let store = &writer.store;
        if !store.ask(|journal| ingests::has_orders(journal, first, last))? {
            continue;
        }
        let (journaled, segments) = store.ask(|journal| {
            let segments = manifest::of_day(journal, OrderRow::TABLE, day, SegmentState::Active)?;
            Ok((database::orders_at(journal, &instants)?, segments))
        })?;
        for (id, row) in journaled {
            let at = row.order.timestamp;
            let one = (row, CollectedAgain::InJournal(id));
            stored.entry(at).or_default().push(one);
        }
        let filter = Filter {
            start: Some(first),
            end: Some(last.on(1)),
            ..Filter::default()
        };
        for segment in segments {
            if segment.last < first
                || segment.first > last
                || segment_check::fault_of(store, &segment)?.is_some()
            {
                continue;
            }
            let Ok(file) = segment_check::file(store, &segment)? else {
                continue;
            };
            let path = store.folder.join(&segment.path);
            let rows = parquet::rows::<OrderRow>(file, 0, &filter)
                .map_err(|fault| of_fault(&path, fault))?;
            for row in rows {
                let at = row.order.timestamp;
                if instants.contains(&at) {
                    let one = CollectedAgain::InSegment(segment.path.clone(), row.key());
                    stored.entry(at).or_default().push((row, one));
                }
            }
        }
    }
    Ok(stored)
}
