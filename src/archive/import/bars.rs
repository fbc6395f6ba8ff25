//! Tables of price bars to import.

use arrow_array::ArrayRef;

use crate::archive::catalog::manifest::Partition;
use crate::archive::import::arrays;
use crate::archive::import::column_table::{
    ColumnTable, NameIndex, are_distinct, attos, is_time, place, segment_columns, taken,
};
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::row::Fault;
use crate::model::{DecimalColumn, Labels, Millis};

/// A table of price bars to import.
///
/// A bar counts as received at its close time.
#[derive(Clone, Debug, Default)]
pub struct BarTable {
    /// Exchange, lower case.
    pub exchange: Labels,
    /// Coin symbol.
    pub symbol: Labels,
    /// Length in milliseconds.
    pub interval: Vec<i64>,
    /// Open time.
    pub timestamp: Vec<Millis>,
    /// First price.
    pub open: DecimalColumn,
    /// Highest price.
    pub high: DecimalColumn,
    /// Lowest price.
    pub low: DecimalColumn,
    /// Last price.
    pub close: DecimalColumn,
    /// Traded volume in base units.
    pub volume: DecimalColumn,
}

impl BarTable {
    /// Number of bars.
    #[must_use]
    pub fn len(&self) -> usize {
        self.timestamp.len()
    }

    /// Whether there are no bars.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.timestamp.is_empty()
    }

    /// Close time of a bar.
    #[must_use]
    pub fn closes_at(&self, row: usize) -> Option<Millis> {
        let (at, interval) = (self.timestamp.get(row)?, self.interval.get(row)?);
        Some(at.on(*interval))
    }

    /// Copies the bars of the row numbers `rows`, in this order.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        Self {
            exchange: self.exchange.take(rows),
            symbol: self.symbol.take(rows),
            interval: taken(&self.interval, rows),
            timestamp: taken(&self.timestamp, rows),
            open: self.open.take(rows),
            high: self.high.take(rows),
            low: self.low.take(rows),
            close: self.close.take(rows),
            volume: self.volume.take(rows),
        }
    }

    /// Returns the bar with a row number.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<BarRow> {
        let (timestamp, interval) = (*self.timestamp.get(row)?, *self.interval.get(row)?);
        Some(BarRow {
            exchange: self.exchange.get(row)?.to_owned(),
            symbol: self.symbol.get(row)?.to_owned(),
            interval,
            timestamp,
            open: self.open.get(row)?,
            high: self.high.get(row)?,
            low: self.low.get(row)?,
            close: self.close.get(row)?,
            volume: self.volume.get(row)?,
            received_at: timestamp.on(interval),
        })
    }
}

impl ColumnTable for BarTable {
    type Row = BarRow;

    fn len(&self) -> usize {
        Self::len(self)
    }

    fn row(&self, row: usize) -> Option<BarRow> {
        Self::row(self, row)
    }

    fn timestamp(&self, row: usize) -> Option<Millis> {
        self.timestamp.get(row).copied()
    }

    fn received_at(&self, row: usize) -> Option<Millis> {
        self.closes_at(row)
    }

    fn interval(&self, row: usize) -> i64 {
        self.interval.get(row).copied().unwrap_or_default()
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
        let prices = || {
            let (high, low) = (attos(&self.high, row)?, attos(&self.low, row)?);
            let (open, close) = (attos(&self.open, row)?, attos(&self.close, row)?);
            let within = |price| low <= price && price <= high;
            Some(low > 0 && within(open) && within(close) && within(high))
        };
        let interval = ColumnTable::interval(self, row);
        let at = self.timestamp.get(row).copied().unwrap_or_default();
        names.is_valid(0, &self.exchange, row)
            && names.is_valid(1, &self.symbol, row)
            && interval > 0
            && interval % Millis::MINUTE == 0
            && Millis::DAY % interval == 0
            && at.0 % interval == 0
            && is_time(&self.timestamp, row, 0)
            && is_time(&self.timestamp, row, interval)
            && prices() == Some(true)
            && attos(&self.volume, row).is_some_and(|volume| volume >= 0)
    }

    fn arrange(&self, names: &NameIndex, rows: &mut [usize]) {
        let columns = (&self.exchange, &self.symbol);
        rows.sort_by_key(|row| place(names, columns, &self.timestamp, *row));
    }

    fn has_unique_keys(&self, rows: &[usize]) -> bool {
        are_distinct((&self.exchange, &self.symbol), &self.timestamp, rows)
    }

    fn arrays(&self, partition: Partition, rows: &[usize]) -> Result<Vec<ArrayRef>, Fault> {
        segment_columns::<BarRow>(|column| match column {
            "exchange" => arrays::labels(&self.exchange, rows),
            "symbol" => arrays::labels(&self.symbol, rows),
            "timestamp" => Ok(arrays::instants(&self.timestamp, rows, 0)),
            "open" => arrays::decimals(&self.open, rows),
            "high" => arrays::decimals(&self.high, rows),
            "low" => arrays::decimals(&self.low, rows),
            "close" => arrays::decimals(&self.close, rows),
            "volume" => arrays::decimals(&self.volume, rows),
            "received_at" => {
                let length = partition.interval;
                Ok(arrays::instants(&self.timestamp, rows, length))
            }
            _ => Err(arrays::MISSING.to_owned()),
        })
    }
}
