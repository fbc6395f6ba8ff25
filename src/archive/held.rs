//! Holding the orders of the journal against their checksums before they are summed, each once: a journal of any size may
//! be opened, and totals tell no number of a row that has changed.

use std::ops::Range;
use std::sync::PoisonError;

use rusqlite::{Connection, OptionalExtension};

use super::orders::OrderRow;
use super::reader::Archive;
use super::row::Row;
use super::sums::{COLUMN, FUNCTION};
use super::{journal, table, versions};

impl Archive {
    /// Refuses a journal of which an order has changed since it was written. Those that were looked at before are not
    /// looked at again.
    ///
    /// All are looked at, whatever is asked for: one whose coin or time has changed would be left out of an answer.
    pub(super) fn refuse_changed_orders(&self, journal: &Connection) -> rusqlite::Result<()> {
        let unheld = self.unheld(journal)?;
        refuse_changed(journal, &unheld)?;
        self.held_up_to(&unheld);
        Ok(())
    }

    /// The numbers of the orders that nobody has looked at since they were written.
    pub(super) fn unheld(&self, journal: &Connection) -> rusqlite::Result<Range<i64>> {
        if !versions::is_summed(journal)? {
            return Ok(0..0);
        }
        let identity = self.identity();
        let first = match *self.held.lock().unwrap_or_else(PoisonError::into_inner) {
            // Where a system tells no file from another, nothing is remembered.
            Some((of, until)) if of == identity && identity.is_some() => until.saturating_add(1),
            _ => 0,
        };
        let end = journal::last::<OrderRow>(journal)?.saturating_add(1);
        Ok(first..end.max(first))
    }

    /// Remembers that these, and all before them, were found as they were written.
    pub(super) fn held_up_to(&self, numbers: &Range<i64>) {
        if !numbers.is_empty() {
            self.held_until(numbers.end - 1);
        }
    }

    /// Remembers that all orders up to a number of the journal that is open were found as they were written.
    pub(super) fn held_until(&self, until: i64) {
        let held = Some((self.identity(), until));
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }
}

/// Refuses the first order of these numbers that has changed since it was written.
pub(super) fn refuse_changed(journal: &Connection, numbers: &Range<i64>) -> rusqlite::Result<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let (_, summed) = versions::columns::<OrderRow>(journal)?;
    let changed: Option<i64> = journal
        .prepare_cached(&format!(
            "SELECT id FROM {} NOT INDEXED WHERE id >= ?1 AND id < ?2 AND {COLUMN} IS NOT {FUNCTION}({summed}) LIMIT 1",
            OrderRow::TABLE
        ))?
        .query_row([numbers.start, numbers.end], |line| line.get(0))
        .optional()?;
    match changed {
        Some(id) => {
            let what = format!("line {id} of {} is not as it was written", OrderRow::TABLE);
            Err(table::not_readable(1, what))
        }
        None => Ok(()),
    }
}
