//! Verifies the checksums of the journal's orders, once, before totals are computed.
//!
//! A large journal is not checked when it is opened. This check makes sure that no total includes a changed order.

use rusqlite::Connection;

use crate::archive::catalog::stats::known;
use crate::archive::checksums::crc::{COLUMN, FUNCTION};
use crate::archive::journal::database;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::sql::table;
use crate::archive::store::store::Store;

/// Returns an error if an order of the journal was changed or cannot be read.
///
/// Skips orders that were checked before. Checks all other orders, even if they do not match a filter: damage to the
/// coin or time of an order may be the reason why it does not match.
pub(crate) fn refuse_changed_orders(store: &Store, journal: &Connection) -> rusqlite::Result<()> {
    let unchecked = unchecked(store, journal)?;
    let found = refuse_changed(journal, unchecked)?;
    finish(store, journal, unchecked, found)
}

/// Range of ids of the orders that have not been checked.
pub(crate) fn unchecked(store: &Store, journal: &Connection) -> rusqlite::Result<OrderIds> {
    let before = store.checked_orders();
    Ok((before, database::last::<OrderRow>(journal)?.max(before)))
}

/// Records the orders up to `last` as checked, if the `found` orders are complete.
///
/// A damaged table may hide rows without an error, but its time index still contains them. If the index contains more
/// orders than `found`, this returns an error.
pub(crate) fn finish(
    store: &Store,
    journal: &Connection,
    (before, last): OrderIds,
    found: i64,
) -> rusqlite::Result<()> {
    if before == last {
        return Ok(());
    }
    if last > known(journal)?.end.orders {
        let what = format!(
            "row {last} of table {} has an id above the last assigned one",
            OrderRow::TABLE
        );
        return Err(table::not_readable(1, what));
    }
    // Only the first check covers all orders, so only its count can be compared with the index.
    if before == 0 && found != listed(journal, last)? {
        let what = format!("some rows of table {} cannot be read", OrderRow::TABLE);
        return Err(table::not_readable(1, what));
    }
    store.set_checked_orders(last);
    Ok(())
}

/// A range of order ids: above the first number, up to and including the second.
pub(crate) type OrderIds = (i64, i64);

/// Number of orders with ids up to `last`, counted through the time index.
fn listed(journal: &Connection, last: i64) -> rusqlite::Result<i64> {
    journal
        .prepare_cached(&format!(
            "SELECT count(timestamp) FROM {0} INDEXED BY {0}_by_time WHERE id <= ?1",
            OrderRow::TABLE
        ))?
        .query_row([last], |line| line.get(0))
}

/// Counts the orders in a range of ids.
///
/// Returns an error if one has a wrong checksum.
pub(crate) fn refuse_changed(
    journal: &Connection,
    (before, last): OrderIds,
) -> rusqlite::Result<i64> {
    if before == last {
        return Ok(0);
    }
    let summed = table::summed::<OrderRow>();
    let (found, changed): (i64, Option<i64>) = journal
        .prepare_cached(&format!(
            "SELECT count(*), min(CASE WHEN {COLUMN} IS NOT {FUNCTION}({summed}) THEN id END)
             FROM {} NOT INDEXED WHERE id > ?1 AND id <= ?2",
            OrderRow::TABLE
        ))?
        .query_row([before, last], |line| Ok((line.get(0)?, line.get(1)?)))?;
    match changed {
        Some(id) => {
            let what = format!("row {id} of table {} has a wrong checksum", OrderRow::TABLE);
            Err(table::not_readable(1, what))
        }
        None => Ok(found),
    }
}
