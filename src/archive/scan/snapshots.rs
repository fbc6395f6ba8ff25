//! Reads trading positions of single accounts, of a time range or of the last snapshots.

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, SegmentState};
use crate::archive::coverage_log::events;
use crate::archive::coverage_log::events::MeasurementKind;
use crate::archive::filter::Filter;
use crate::archive::journal::database;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::scan::table_scan;
use crate::archive::scan::table_scan::Scan;
use crate::archive::store::store::Store;
use crate::model::Millis;

/// Implements `Archive::positions`.
pub(crate) fn positions(store: &Store, filter: &Filter) -> Result<Scan<PositionRow>, ArchiveError> {
    let mut scan = table_scan::scan::<PositionRow>(store, filter)?;
    PositionRow::sort_for_file(&mut scan.rows);
    Ok(scan)
}

/// The state of the positions of a day. While it is equal, a read of them returns the same rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionsOfDay {
    /// Paths of the segments.
    segments: Vec<String>,
    /// Number of rows in the journal, and the id of the last one.
    journaled: (i64, i64),
    /// Exchanges and times of the snapshots that were polled, also of those without rows.
    pub polled: Vec<(String, Millis)>,
}

impl PositionsOfDay {
    /// Whether all rows of the day are in files.
    #[must_use]
    pub fn is_filed(&self) -> bool {
        self.journaled.0 == 0
    }
}

/// Implements `Archive::positions_of_day`.
pub(crate) fn positions_of_day(
    store: &Store,
    filter: &Filter,
) -> Result<PositionsOfDay, ArchiveError> {
    let start = filter.start.unwrap_or_default();
    let end = filter.end.unwrap_or(start);
    store.ask(|journal| {
        let (day, state) = (Day::of(start), SegmentState::Active);
        let segments = manifest::of_day_at(journal, PositionRow::TABLE, day, state, filter.as_of)?;
        Ok(PositionsOfDay {
            segments: segments.into_iter().map(|part| part.path).collect(),
            journaled: database::extent::<PositionRow>(journal, start, end)?,
            polled: events::times(
                journal,
                MeasurementKind::Accounts,
                filter.exchange.as_deref(),
                (start, filter.as_of.map_or(end, |at| at.on(1).min(end))),
            )?,
        })
    })
}

/// Implements `Archive::last_positions`.
pub(crate) fn last_positions(
    store: &Store,
    coin: &str,
    exchange: Option<&str>,
    as_of: Option<Millis>,
) -> Result<Scan<PositionRow>, ArchiveError> {
    let mut filter = Filter {
        end: as_of.map(|at| at.on(1)),
        as_of,
        exchange: exchange.map(str::to_owned),
        ..Filter::default()
    };
    // A snapshot without positions has no rows. Its time comes from the measurement of the number of accounts, which is
    // stored for every snapshot.
    let end = filter.end.unwrap_or(Millis(i64::MAX));
    let taken =
        store.ask(|journal| events::last(journal, MeasurementKind::Accounts, exchange, end))?;
    let newest = newest_snapshot(store, &filter)?;
    let Some(newest) = newest.max(taken.values().max().copied()) else {
        return Ok(Scan::default());
    };
    filter.start = Some(newest.back(Millis::HOUR));
    let scan = table_scan::scan::<PositionRow>(store, &filter)?;
    let mut last = taken;
    for row in &scan.rows {
        let at = last.entry(row.exchange.clone()).or_default();
        *at = row.timestamp.max(*at);
    }
    let is_last = |row: &PositionRow| last.get(&row.exchange) == Some(&row.timestamp);
    let mut rows = scan.rows;
    rows.retain(|row| row.coin == coin && is_last(row));
    rows.sort_by(|a, b| (&a.exchange, &a.account, a.side).cmp(&(&b.exchange, &b.account, b.side)));
    Ok(Scan {
        rows,
        damaged: scan.damaged,
    })
}

/// Time of the newest snapshot with positions that matches `filter`.
///
/// Only the end, the exchange and the instant of the filter are considered.
fn newest_snapshot(store: &Store, filter: &Filter) -> Result<Option<Millis>, ArchiveError> {
    let end = filter.end.unwrap_or(Millis(i64::MAX));
    for day in table_scan::days_with_rows::<PositionRow>(store, filter)?
        .into_iter()
        .rev()
    {
        let (journaled, filed) = store.ask(|journal| {
            let (end, state) = (end.min(day.end()), SegmentState::Active);
            Ok((
                database::newest::<PositionRow>(journal, day.start(), end)?,
                manifest::of_day_at(journal, PositionRow::TABLE, day, state, filter.as_of)?,
            ))
        })?;
        let filed = filed.iter().map(|part| part.last).max();
        // The manifest contains the time, unless the filter names an exchange or a segment ends after the filter's end.
        if filter.exchange.is_none() && filed.is_none_or(|last| last < end) {
            if let Some(at) = journaled.max(filed) {
                return Ok(Some(at));
            }
            continue;
        }
        let rows = table_scan::read_day::<PositionRow>(store, day, filter)?.rows;
        if let Some(at) = rows.iter().map(|row| row.timestamp).max() {
            return Ok(Some(at));
        }
    }
    Ok(None)
}
