//! The kinds of kept rows by name: for what looks over the tables of all of them, and reads no row as what it is.

use rusqlite::Connection;

use crate::archive::journal::table;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;

/// A kind of kept rows, as its [`Row`] describes it.
pub(crate) struct RowKind {
    /// The journal's table.
    pub(crate) table: &'static str,
    columns: fn() -> String,
    create: fn() -> String,
}

/// Every kind.
pub(crate) static ROW_KINDS: [RowKind; 5] = [
    RowKind::of::<OrderRow>(),
    RowKind::of::<BarRow>(),
    RowKind::of::<OpenInterestRow>(),
    RowKind::of::<MapRow>(),
    RowKind::of::<PositionRow>(),
];

impl RowKind {
    const fn of<R: Row>() -> Self {
        Self {
            table: R::TABLE,
            columns: table::columns::<R>,
            create: table::create::<R>,
        }
    }

    /// The columns, separated by commas.
    pub(crate) fn columns(&self) -> String {
        (self.columns)()
    }

    /// What makes the table and its index, without the checksums.
    pub(crate) fn create(&self) -> String {
        (self.create)()
    }

    /// How many rows the journal has.
    pub(crate) fn count(&self, journal: &Connection) -> rusqlite::Result<u64> {
        let count = format!("SELECT count(*) FROM {}", self.table);
        let rows: i64 = journal.query_row(&count, [], |line| line.get(0))?;
        Ok(u64::try_from(rows).unwrap_or_default())
    }
}
