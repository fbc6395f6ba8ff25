//! The kinds of kept rows by name: for what looks over the tables of all of them, and reads no row as what it is.

use rusqlite::Connection;

use crate::archive::journal::{table, versions};
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
    /// Whether rows differ in length.
    pub(crate) has_interval: bool,
    /// The version of the journal's tables that it came with.
    pub(crate) since: i32,
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
            has_interval: R::HAS_INTERVAL,
            since: R::SINCE,
            columns: table::columns::<R>,
            create: table::create::<R>,
        }
    }

    /// The columns, as they are now.
    pub(crate) fn columns(&self) -> String {
        (self.columns)()
    }

    /// The columns that checksums of this journal are of.
    pub(crate) fn summed(&self, journal: &Connection) -> rusqlite::Result<String> {
        versions::columns_of(journal, self.table, self.columns()).map(|(_, summed)| summed)
    }

    /// What makes the table and its index, without the checksums.
    pub(crate) fn create(&self) -> String {
        (self.create)()
    }

    /// How many rows the journal has.
    pub(crate) fn count(&self, journal: &Connection) -> rusqlite::Result<u64> {
        if !self.is_in(journal)? {
            return Ok(0);
        }
        let count = format!("SELECT count(*) FROM {}", self.table);
        let rows: i64 = journal.query_row(&count, [], |line| line.get(0))?;
        Ok(u64::try_from(rows).unwrap_or_default())
    }

    /// Whether the journal has the table.
    pub(crate) fn is_in(&self, journal: &Connection) -> rusqlite::Result<bool> {
        versions::has_since(journal, self.since)
    }
}
