//! Tables of open interest readings to import.

use arrow_array::ArrayRef;

use crate::archive::catalog::manifest::Partition;
use crate::archive::import::arrays;
use crate::archive::import::column_table::{
    ColumnTable, NameIndex, are_distinct, attos, is_time, place, segment_columns, taken,
};
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::row::Fault;
use crate::model::{DecimalColumn, Labels, Millis};

/// A table of open interest readings to import.
#[derive(Clone, Debug, Default)]
pub struct InterestTable {
    /// Exchange, lower case.
    pub exchange: Labels,
    /// Coin symbol.
    pub symbol: Labels,
    /// Time of the reading.
    pub timestamp: Vec<Millis>,
    /// Open interest in base units; each contract counts once, not once per side.
    pub open_interest: DecimalColumn,
    /// When each reading was received; if absent, the time of the reading.
    pub received_at: Option<Vec<Millis>>,
}

impl InterestTable {
    /// Number of readings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.timestamp.len()
    }

    /// Whether there are no readings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.timestamp.is_empty()
    }

    /// Copies the readings of the row numbers `rows`, in this order.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        Self {
            exchange: self.exchange.take(rows),
            symbol: self.symbol.take(rows),
            timestamp: taken(&self.timestamp, rows),
            open_interest: self.open_interest.take(rows),
            received_at: self.received_at.as_ref().map(|times| taken(times, rows)),
        }
    }

    /// Returns the reading with a row number.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<OpenInterestRow> {
        Some(OpenInterestRow {
            exchange: self.exchange.get(row)?.to_owned(),
            symbol: self.symbol.get(row)?.to_owned(),
            timestamp: *self.timestamp.get(row)?,
            open_interest: self.open_interest.get(row)?,
            received_at: *self.receipts().get(row)?,
        })
    }

    fn receipts(&self) -> &[Millis] {
        self.received_at.as_ref().unwrap_or(&self.timestamp)
    }
}

impl ColumnTable for InterestTable {
    type Row = OpenInterestRow;

    fn len(&self) -> usize {
        Self::len(self)
    }

    fn row(&self, row: usize) -> Option<OpenInterestRow> {
        Self::row(self, row)
    }

    fn timestamp(&self, row: usize) -> Option<Millis> {
        self.timestamp.get(row).copied()
    }

    fn received_at(&self, row: usize) -> Option<Millis> {
        self.receipts().get(row).copied()
    }

    fn exchange(&self, row: usize) -> Option<&str> {
        self.exchange.get(row)
    }

    fn coin(&self, row: usize) -> Option<&str> {
        self.symbol.get(row)
    }

    fn names(&self) -> NameIndex {
        NameIndex::of(&[&self.exchange, &self.symbol])
    }

    fn is_valid(&self, names: &NameIndex, row: usize) -> bool {
        names.is_valid(0, &self.exchange, row)
            && names.is_valid(1, &self.symbol, row)
            && is_time(&self.timestamp, row, 0)
            && is_time(self.receipts(), row, 0)
            && attos(&self.open_interest, row).is_some_and(|value| value >= 0)
    }

    fn arrange(&self, names: &NameIndex, rows: &mut [usize]) {
        let columns = (&self.exchange, &self.symbol);
        rows.sort_by_key(|row| place(names, columns, &self.timestamp, *row));
    }

    fn has_unique_keys(&self, rows: &[usize]) -> bool {
        are_distinct((&self.exchange, &self.symbol), &self.timestamp, rows)
    }

    fn arrays(&self, _: Partition, rows: &[usize]) -> Result<Vec<ArrayRef>, Fault> {
        segment_columns::<OpenInterestRow>(|column| match column {
            "exchange" => arrays::labels(&self.exchange, rows),
            "symbol" => arrays::labels(&self.symbol, rows),
            "timestamp" => Ok(arrays::instants(&self.timestamp, rows, 0)),
            "received_at" => Ok(arrays::instants(self.receipts(), rows, 0)),
            "open_interest" => arrays::decimals(&self.open_interest, rows),
            _ => Err(arrays::MISSING.to_owned()),
        })
    }
}
