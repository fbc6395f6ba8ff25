//! Rows that were appended after a given position in the order of arrival.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::archive::ArchiveError;
use crate::archive::catalog::stats::{ArchiveSummary, ArrivalPosition, known};
use crate::archive::integrity::row_check;
use crate::archive::journal::database;
use crate::archive::segment::projection::{columns, show};
use crate::archive::store::store::Store;
use crate::model::{Millis, OrderBrief};

/// Result of `Archive::tail`, besides the orders passed to its `sink`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailUpdate {
    /// State of the archive at this read.
    ///
    /// Its `end` is the position for the next read.
    pub known: ArchiveSummary,
    /// For each coin with new bars or open interest readings, the earliest time of these rows.
    pub coins: BTreeMap<String, Millis>,
    /// Whether the result lacks rows.
    ///
    /// It does if there are too many new orders, or if new rows may have left the journal.
    pub incomplete: bool,
}

/// Implements `Archive::tail`.
pub(crate) fn tail(
    store: &Store,
    place: ArrivalPosition,
    most: i64,
    sink: &mut dyn FnMut(OrderBrief<'_>),
) -> Result<TailUpdate, ArchiveError> {
    let mut update = store.ask(|journal| {
        let known = known(journal)?;
        let incomplete = known.end.orders - place.orders > most
            || known.rolled.orders > place.orders
            || known.rolled.bars > place.bars
            || known.rolled.open_interest > place.open_interest;
        let mut coins = BTreeMap::new();
        if !incomplete {
            if known.end.orders > place.orders {
                row_check::refuse_changed_orders(store, journal)?;
            }
            for (table, behind, end) in [
                ("bars", place.bars, known.end.bars),
                (
                    "open_interest",
                    place.open_interest,
                    known.end.open_interest,
                ),
            ] {
                if end > behind {
                    earliest(journal, table, behind, &mut coins)?;
                }
            }
        }
        Ok(TailUpdate {
            known,
            coins,
            incomplete,
        })
    })?;
    let mut behind = place.orders;
    while !update.incomplete && behind < update.known.end.orders {
        let last = behind
            .saturating_add(i64::from(database::BATCH))
            .min(update.known.end.orders);
        update.incomplete = store.ask(|journal| {
            // Some of the new orders may have left the journal. Nothing is passed on then, so that no row is left out.
            if known(journal)?.removals != update.known.removals {
                return Ok(true);
            }
            let mut statement = journal.prepare_cached(&format!(
                "SELECT {} FROM orders WHERE id > ?1 AND id <= ?2 ORDER BY id",
                columns()
            ))?;
            show(&mut statement, [behind, last], sink)?;
            Ok(false)
        })?;
        behind = last;
    }
    Ok(update)
}

/// Implements `Archive::arrivals`.
pub(crate) fn arrivals(
    store: &Store,
    after: i64,
    limit: usize,
    sink: &mut dyn FnMut(OrderBrief<'_>),
) -> Result<ArchiveSummary, ArchiveError> {
    store.ask(|journal| {
        row_check::refuse_changed_orders(store, journal)?;
        let known = known(journal)?;
        let mut statement = journal.prepare_cached(&format!(
            "SELECT {} FROM orders WHERE id > ?1 ORDER BY id LIMIT ?2",
            columns()
        ))?;
        let most = i64::from(database::BATCH);
        let limit = i64::try_from(limit).unwrap_or(most).min(most);
        show(&mut statement, [after, limit], sink)?;
        Ok(known)
    })
}

/// Records, for each coin, the earliest time of the rows with an id above `behind`.
fn earliest(
    journal: &Connection,
    table: &str,
    behind: i64,
    coins: &mut BTreeMap<String, Millis>,
) -> rusqlite::Result<()> {
    let mut statement = journal.prepare_cached(&format!(
        "SELECT symbol, min(timestamp) FROM {table} NOT INDEXED WHERE id > ?1 GROUP BY symbol"
    ))?;
    let mut rows = statement.query([behind])?;
    while let Some(row) = rows.next()? {
        let first = Millis(row.get(1)?);
        coins
            .entry(row.get(0)?)
            .and_modify(|known: &mut Millis| *known = first.min(*known))
            .or_insert(first);
    }
    Ok(())
}
