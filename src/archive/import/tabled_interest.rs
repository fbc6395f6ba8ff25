//! Readings of open interest of a table by columns.

use crate::archive::catalog::manifest::Partition;
use crate::archive::import::tabled::{Cells, Sound, Tabled, arranged, attos, is_time, taken};
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::model::{DecimalColumn, Labels, Millis};

/// Readings of a table, in our spelling. Each counts as received when it was made.
#[derive(Clone, Debug, Default)]
pub struct InterestTable {
    /// Exchanges, lower case.
    pub exchange: Labels,
    /// Coins.
    pub symbol: Labels,
    /// Instants of the readings.
    pub timestamp: Vec<Millis>,
    /// Open interest in base units.
    pub open_interest: DecimalColumn,
}

impl InterestTable {
    /// How many readings there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.timestamp.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.timestamp.is_empty()
    }

    /// The readings of these rows, in this order.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        Self {
            exchange: self.exchange.take(rows),
            symbol: self.symbol.take(rows),
            timestamp: taken(&self.timestamp, rows),
            open_interest: self.open_interest.take(rows),
        }
    }

    /// The row at a place.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<OpenInterestRow> {
        let timestamp = *self.timestamp.get(row)?;
        Some(OpenInterestRow {
            exchange: self.exchange.get(row)?.to_owned(),
            symbol: self.symbol.get(row)?.to_owned(),
            timestamp,
            open_interest: self.open_interest.get(row)?,
            received_at: timestamp,
        })
    }
}

impl Tabled for InterestTable {
    type Row = OpenInterestRow;

    fn len(&self) -> usize {
        Self::len(self)
    }

    fn row(&self, row: usize) -> Option<OpenInterestRow> {
        Self::row(self, row)
    }

    fn timestamps(&self) -> &[Millis] {
        &self.timestamp
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
        names.is_named(0, &self.exchange, row)
            && names.is_named(1, &self.symbol, row)
            && is_time(&self.timestamp, row, 0)
            && attos(&self.open_interest, row).is_some_and(|value| value >= 0)
    }

    fn arrange(&self, names: &Sound, rows: &mut [usize]) -> bool {
        arranged(self, names, rows)
    }

    fn cells(&self, column: &'static str, _: Partition) -> Cells<'_> {
        match column {
            "exchange" => Cells::Named(&self.exchange),
            "symbol" => Cells::Named(&self.symbol),
            "timestamp" | "received_at" => Cells::Times(&self.timestamp, 0),
            "open_interest" => Cells::Exact(&self.open_interest),
            _ => Cells::Nothing,
        }
    }
}
