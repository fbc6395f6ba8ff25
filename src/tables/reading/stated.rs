//! What the rows of a table state in addition to their amounts, and whether they are finished bars of trades.

use rust_decimal::Decimal;

use crate::tables::price_types::untraded;
use crate::tables::raw_table::RawTable;
use crate::tables::reading::column_reader::{ColumnReader, exact_cell};
use crate::tables::row_fault::RowFault;

/// The amounts of a column; `None` for rows that state none.
type StatedColumn = Option<Vec<Option<Decimal>>>;

/// Amounts in other units that a table states in addition to its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatedAmounts {
    columns: [StatedColumn; 5],
}

/// The amounts that a row states in addition to its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StatedRow {
    /// In the base currency.
    pub(crate) base: Option<Decimal>,
    /// In the quote currency.
    pub(crate) quote: Option<Decimal>,
    /// In USD.
    pub(crate) usd: Option<Decimal>,
    /// In the base or the quote currency: the volume that HTX names `amount`.
    pub(crate) either: Option<Decimal>,
    /// The price at the instant of the row.
    pub(crate) price: Option<Decimal>,
}

impl StatedAmounts {
    /// Reads the columns `names`: in the base currency, in the quote currency, in USD, in either currency, and the price.
    /// `None` if the table has none of the amounts. A cell that is no number states nothing.
    pub(super) fn read(table: &RawTable, names: [&str; 5]) -> Option<Self> {
        let [amounts @ .., _] = names;
        if !amounts.iter().any(|name| table.has(name)) {
            return None;
        }
        let columns = names.map(|name| {
            let cells = table.get(name)?;
            let cells = (0..table.rows()).map(|row| exact_cell(&cells.at(row)));
            Some(cells.collect())
        });
        Some(Self { columns })
    }

    /// Copies `rows`, in the given sequence.
    pub(super) fn take(&self, rows: &[usize]) -> Self {
        let columns = self.columns.each_ref().map(|column| {
            let cells = column.as_ref()?;
            let cells = rows.iter().map(|row| cells.get(*row).copied().flatten());
            Some(cells.collect())
        });
        Self { columns }
    }

    /// The amounts of `row`.
    pub(crate) fn at(&self, row: usize) -> StatedRow {
        let of = |column: &StatedColumn| column.as_ref()?.get(row).copied().flatten();
        let [base, quote, usd, either, price] = self.columns.each_ref().map(of);
        StatedRow {
            base,
            quote,
            usd,
            either,
            price,
        }
    }
}

/// Whether each bar says that it is not final; empty if the table does not say it.
pub(super) fn open_bars(table: &RawTable) -> Vec<bool> {
    let Some(cells) = table.get("is_closed") else {
        return Vec::new();
    };
    let is_open = |row: usize| {
        let word = cells.at(row).shown().to_lowercase();
        let word = word.trim_matches(['"', ' ']);
        ["false", "f", "0", "0.0", "no", "n"].contains(&word)
    };
    (0..table.rows()).map(is_open).collect()
}

impl ColumnReader<'_> {
    /// Adds a fault for each row that says that its prices are not those of trades.
    pub(super) fn check_price_types(&mut self, table: &RawTable) {
        let Some(cells) = table.get("price_type") else {
            return;
        };
        for row in 0..table.rows() {
            let word = Self::text(&cells.at(row)).unwrap_or_default();
            if let Some(what) = untraded(&word) {
                let reason = format!("says {what}; bars must be made of trade prices");
                self.fault(RowFault::new(row, "price_type", reason, word));
            }
        }
    }
}
