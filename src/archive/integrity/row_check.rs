//! Holding the orders of the journal against their checksums before they are summed, each once: a journal of any size may
//! be opened, and totals tell no number of a row that has changed.

use rusqlite::Connection;

use crate::archive::catalog::stats::known;
use crate::archive::integrity::crc::{COLUMN, FUNCTION};
use crate::archive::journal::{database, table};
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::store::Store;

/// Refuses a journal of which an order has changed since it was written, or is out of reach. Those that were looked at
/// before are not looked at again.
///
/// All are looked at, whatever is asked for: one whose coin or time has changed would be left out of an answer.
pub(crate) fn refuse_changed_orders(store: &Store, journal: &Connection) -> rusqlite::Result<()> {
    let unheld = unheld(store, journal)?;
    let found = refuse_changed(journal, unheld)?;
    hold(store, journal, unheld, found)
}

/// The numbers of the orders that nobody has looked at since they were written: behind the first, up to the second.
pub(crate) fn unheld(store: &Store, journal: &Connection) -> rusqlite::Result<Numbers> {
    let before = store.checked_orders();
    Ok((before, database::last::<OrderRow>(journal)?.max(before)))
}

/// Remembers that so many orders of these numbers were found as they were written, and refuses a journal that has more:
/// a tree that is damaged hides rows without a word, and its index by time still knows of them.
pub(crate) fn hold(
    store: &Store,
    journal: &Connection,
    (before, last): Numbers,
    found: i64,
) -> rusqlite::Result<()> {
    if before == last {
        return Ok(());
    }
    if last > known(journal)?.end.orders {
        let what = format!(
            "line {last} of {} is not where it was written",
            OrderRow::TABLE
        );
        return Err(table::not_readable(1, what));
    }
    // Once for a journal: what is appended later is in nobody's way.
    if before == 0 && found != listed(journal, last)? {
        let what = format!("lines of {} are out of reach", OrderRow::TABLE);
        return Err(table::not_readable(1, what));
    }
    store.set_checked_orders(last);
    Ok(())
}

/// Numbers of orders, behind the first and up to the second.
pub(crate) type Numbers = (i64, i64);

/// How many orders up to a number the index by time knows of.
fn listed(journal: &Connection, last: i64) -> rusqlite::Result<i64> {
    journal
        .prepare_cached(&format!(
            "SELECT count(timestamp) FROM {0} INDEXED BY {0}_by_time WHERE id <= ?1",
            OrderRow::TABLE
        ))?
        .query_row([last], |line| line.get(0))
}

/// Refuses the first order of these numbers that has changed since it was written, and gives how many there are.
pub(crate) fn refuse_changed(
    journal: &Connection,
    (before, last): Numbers,
) -> rusqlite::Result<i64> {
    if before == last {
        return Ok(0);
    }
    let summed = table::columns::<OrderRow>();
    let (found, changed): (i64, Option<i64>) = journal
        .prepare_cached(&format!(
            "SELECT count(*), min(CASE WHEN {COLUMN} IS NOT {FUNCTION}({summed}) THEN id END)
             FROM {} NOT INDEXED WHERE id > ?1 AND id <= ?2",
            OrderRow::TABLE
        ))?
        .query_row([before, last], |line| Ok((line.get(0)?, line.get(1)?)))?;
    match changed {
        Some(id) => {
            let what = format!("line {id} of {} is not as it was written", OrderRow::TABLE);
            Err(table::not_readable(1, what))
        }
        None => Ok(found),
    }
}
