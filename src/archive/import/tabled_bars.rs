//! Price bars of a table by columns.

use crate::archive::catalog::manifest::Partition;
use crate::archive::import::tabled::{Cells, Sound, Tabled, arranged, attos, is_time, taken};
use crate::archive::rows::bars::BarRow;
use crate::model::{DecimalColumn, Labels, Millis};

/// Price bars of a table, in our spelling. Each counts as received when it closed.
#[derive(Clone, Debug, Default)]
pub struct BarTable {
    /// Exchanges, lower case.
    pub exchange: Labels,
    /// Coins.
    pub symbol: Labels,
    /// Lengths in milliseconds.
    pub interval: Vec<i64>,
    /// Times of the opens.
    pub timestamp: Vec<Millis>,
    /// First prices.
    pub open: DecimalColumn,
    /// Highest prices.
    pub high: DecimalColumn,
    /// Lowest prices.
    pub low: DecimalColumn,
    /// Last prices.
    pub close: DecimalColumn,
    /// Traded volumes in base units.
    pub volume: DecimalColumn,
}

impl BarTable {
    /// How many bars there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.timestamp.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.timestamp.is_empty()
    }

    /// When a bar closes.
    #[must_use]
    pub fn closes_at(&self, row: usize) -> Option<Millis> {
        let (at, interval) = (self.timestamp.get(row)?, self.interval.get(row)?);
        Some(at.on(*interval))
    }

    /// The bars of these rows, in this order.
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

    /// The row at a place.
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

impl Tabled for BarTable {
    type Row = BarRow;

    fn len(&self) -> usize {
        Self::len(self)
    }

    fn row(&self, row: usize) -> Option<BarRow> {
        Self::row(self, row)
    }

    fn timestamps(&self) -> &[Millis] {
        &self.timestamp
    }

    fn interval(&self, row: usize) -> i64 {
        self.interval.get(row).copied().unwrap_or_default()
    }

    fn exchanges(&self) -> &Labels {
        &self.exchange
    }

    fn coins(&self) -> &Labels {
        &self.symbol
    }

    fn names(&self) -> Sound {
        Sound::of(&[&self.exchange, &self.symbol])
    }

    fn is_sound(&self, names: &Sound, row: usize) -> bool {
        let prices = || {
            let (high, low) = (attos(&self.high, row)?, attos(&self.low, row)?);
            let (open, close) = (attos(&self.open, row)?, attos(&self.close, row)?);
            let within = |price| low <= price && price <= high;
            Some(low > 0 && within(open) && within(close) && within(high))
        };
        let interval = self.interval(row);
        let at = self.timestamp.get(row).copied().unwrap_or_default();
        names.is_named(0, &self.exchange, row)
            && names.is_named(1, &self.symbol, row)
            && interval > 0
            && interval % Millis::MINUTE == 0
            && Millis::DAY % interval == 0
            && at.0 % interval == 0
            && is_time(&self.timestamp, row, 0)
            && is_time(&self.timestamp, row, interval)
            && prices() == Some(true)
            && attos(&self.volume, row).is_some_and(|volume| volume >= 0)
    }

    fn arrange(&self, names: &Sound, rows: &mut [usize]) -> bool {
        arranged(self, names, rows)
    }

    fn cells(&self, column: &'static str, partition: Partition) -> Cells<'_> {
        match column {
            "exchange" => Cells::Named(&self.exchange),
            "symbol" => Cells::Named(&self.symbol),
            "timestamp" => Cells::Times(&self.timestamp, 0),
            "open" => Cells::Exact(&self.open),
            "high" => Cells::Exact(&self.high),
            "low" => Cells::Exact(&self.low),
            "close" => Cells::Exact(&self.close),
            "volume" => Cells::Exact(&self.volume),
            "received_at" => Cells::Times(&self.timestamp, partition.interval),
            _ => Cells::Nothing,
        }
    }
}
