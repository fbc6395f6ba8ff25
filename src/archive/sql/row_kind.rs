//! Row kinds as values, for code that treats all tables in the same way.

use rusqlite::Connection;

use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::totals::TotalRow;
use crate::archive::sql::table;

/// Table name and SQL of a kind of rows, taken from its [`Row`] implementation.
pub(crate) struct RowKind {
    /// Name of the journal table.
    pub(crate) table: &'static str,
    columns: fn() -> String,
    create: fn() -> String,
}

/// All row kinds.
pub(crate) static ROW_KINDS: [RowKind; 6] = [
    RowKind::of::<OrderRow>(),
    RowKind::of::<BarRow>(),
    RowKind::of::<OpenInterestRow>(),
    RowKind::of::<MapRow>(),
    RowKind::of::<PositionRow>(),
    RowKind::of::<TotalRow>(),
];

impl RowKind {
    const fn of<R: Row>() -> Self {
        Self {
            table: R::TABLE,
            columns: table::summed::<R>,
            create: table::create::<R>,
        }
    }

    /// Names of the columns that a row's checksum covers, separated by commas.
    pub(crate) fn columns(&self) -> String {
        (self.columns)()
    }

    /// SQL that creates the table and its index, without the checksum column.
    pub(crate) fn create(&self) -> String {
        (self.create)()
    }

    /// Number of rows in the journal.
    pub(crate) fn count(&self, journal: &Connection) -> rusqlite::Result<u64> {
        let count = format!("SELECT count(*) FROM {}", self.table);
        let rows: i64 = journal.query_row(&count, [], |line| line.get(0))?;
        Ok(u64::try_from(rows).unwrap_or_default())
    }
}
