//! Retention: deletes the rows of days that are older than a limit or exceed a size.
//!
//! Whole UTC days are deleted. One transaction takes the segments of a day out of the manifest's active ones and deletes the
//! rows of that day that are still in the journal. A later run deletes the files, so that a reader that has just listed
//! them can finish. After a crash at any step the next run continues.
//!
//! A deleted time is no longer covered: sessions end at it, and its gaps are deleted.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest::Day;
use crate::archive::catalog::{manifest, stats};
use crate::archive::coverage_log::sessions;
use crate::archive::journal::database;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::store::write_store::WriteStore;
use crate::model::Millis;

/// How long the files of a deleted day stay for readers that have just listed them, in milliseconds.
const GRACE: i64 = 10 * Millis::MINUTE;

/// Limits of the stored rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Maximum age of orders in days; `None` means no limit.
    pub orders: Option<u32>,
    /// Maximum age of bars in days; `None` means no limit.
    pub bars: Option<u32>,
    /// Maximum age of open interest readings in days; `None` means no limit.
    pub open_interest: Option<u32>,
    /// Maximum age of positions in days; `None` means no limit.
    pub positions: Option<u32>,
    /// Maximum age of stored maps in days; `None` means no limit.
    pub maps: Option<u32>,
    /// Maximum size of all stored maps, in bytes; `None` means no limit.
    pub maps_bytes: Option<u64>,
}

/// What a retention run deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Number of rows by table, for tables from which rows were deleted.
    pub rows: Vec<(&'static str, u64)>,
    /// Number of files that were deleted.
    pub files: usize,
}

/// Implements `Writer::retain`.
pub(crate) fn retain(
    writer: &mut WriteStore,
    limits: &Retention,
    now: Millis,
) -> Result<Retained, ArchiveError> {
    let mut done = Retained {
        files: delete_files(writer, now.back(GRACE))?,
        ..Retained::default()
    };
    let by_age = |days: Option<u32>| {
        days.map(|days| Day::of(now.back(i64::from(days).saturating_mul(Millis::DAY))))
    };
    let by_size = match limits.maps_bytes {
        Some(most) => writer
            .store
            .ask(|journal| first_map_day(journal, most, Day::of(now)))?,
        None => None,
    };
    expire::<OrderRow>(writer, by_age(limits.orders), now, &mut done)?;
    expire::<BarRow>(writer, by_age(limits.bars), now, &mut done)?;
    expire::<OpenInterestRow>(writer, by_age(limits.open_interest), now, &mut done)?;
    expire::<PositionRow>(writer, by_age(limits.positions), now, &mut done)?;
    expire::<MapRow>(writer, by_age(limits.maps).max(by_size), now, &mut done)?;
    if !done.rows.is_empty() {
        writer.copy_versions();
    }
    Ok(done)
}

/// The first of the newest days with maps of `most` bytes together; `None` if the maps of all days have fewer.
///
/// The maps of `today` always stay.
fn first_map_day(journal: &Connection, most: u64, today: Day) -> rusqlite::Result<Option<Day>> {
    let mut left = most;
    for (day, bytes) in stats::map_bytes_by_day(journal)?.into_iter().rev() {
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None if day >= today => left = 0,
            None => return Ok(Some(Day(day.0 + 1))),
        }
    }
    Ok(None)
}

/// Deletes the rows of a table before the day `first`.
fn expire<R: Row>(
    writer: &mut WriteStore,
    first: Option<Day>,
    now: Millis,
    done: &mut Retained,
) -> Result<(), ArchiveError> {
    let Some(first) = first else {
        return Ok(());
    };
    let rows = writer.change(|journal| {
        let transaction = journal.transaction()?;
        let filed = manifest::expire(&transaction, R::TABLE, first, now)?;
        let ids: Vec<i64> = transaction
            .prepare_cached(&format!("SELECT id FROM {} WHERE timestamp < ?1", R::TABLE))?
            .query_map([first.start().0], |line| line.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let journaled = database::delete(&transaction, R::TABLE, &ids)?;
        let rows = filed + u64::try_from(journaled).unwrap_or_default();
        if rows > 0 {
            // The skipped ids make readers that follow the journal by row id read the table again.
            stats::skip_ids(&transaction, R::TABLE, 1)?;
        }
        if R::TABLE == OrderRow::TABLE {
            sessions::forget_before(&transaction, first.start())?;
        }
        transaction.commit()?;
        Ok(rows)
    })?;
    if rows > 0 {
        done.rows.push((R::TABLE, rows));
    }
    Ok(())
}

/// Deletes the files of days that expired by `until`; returns their number.
fn delete_files(writer: &mut WriteStore, until: Millis) -> Result<usize, ArchiveError> {
    let expired = writer
        .store
        .ask(|journal| manifest::expired(journal, until))?;
    if expired.is_empty() {
        return Ok(0);
    }
    writer.withdraw(expired.iter().map(String::as_str))?;
    for path in &expired {
        // This removes the folder only if it is empty.
        let _ = Path::new(path)
            .parent()
            .map(|folder| fs::remove_dir(writer.store.folder.join(folder)));
    }
    Ok(expired.len())
}
