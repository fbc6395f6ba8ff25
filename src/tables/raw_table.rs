//! Named columns of a table as they came, with the accepted names of each column.

use crate::tables::cells::InputCells;
use crate::tables::column_names::{known, names_of};

/// The kinds of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TableKind {
    Orders,
    Bars,
    OpenInterest,
    Positions,
    Liquidations,
    QuoteRates,
}

impl TableKind {
    /// The name of the kind, as a parameter has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Bars => "bars",
            Self::OpenInterest => "open_interest",
            Self::Positions => "positions",
            Self::Liquidations => "liquidations",
            Self::QuoteRates => "quote_rates",
        }
    }
}

impl TableKind {
    /// The columns that a table of this kind needs, and those that it may have.
    pub(crate) fn columns(self) -> [&'static str; 2] {
        match self {
            Self::Orders => [
                "exchange, symbol, side, price, qty, timestamp",
                "value_usd, coin, received_at, group_id",
            ],
            Self::Bars => [
                "symbol, timestamp, open, high, low, close, volume",
                "exchange, interval, closes_at",
            ],
            Self::OpenInterest => [
                "symbol, timestamp, open_interest or open_interest_usd",
                "exchange, received_at",
            ],
            Self::Positions => [
                "symbol or coin, side, value_usd, timestamp",
                "exchange, account, qty, entry_price, leverage, margin_mode, liquidation_price, observed_at, seen_share, \
                 current_price",
            ],
            Self::Liquidations => ["symbol, timestamp, long_usd, short_usd", "interval"],
            Self::QuoteRates => ["timestamp, rate", "no others"],
        }
    }
}

/// Columns to list in a message.
const SHOWN: usize = 12;

/// A column that is missing, given twice, or of another length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnFault {
    pub(crate) column: &'static str,
    /// What is wrong with it.
    pub(crate) message: String,
}

/// Named columns of one length.
#[derive(Debug)]
pub(crate) struct RawTable {
    is_absent: bool,
    /// The names of all columns, for messages.
    names: Vec<String>,
    columns: Vec<(String, InputCells)>,
    rows: usize,
}

impl RawTable {
    /// A table of these columns, with the names that their source gives them.
    ///
    /// # Errors
    ///
    /// [`ColumnFault`] if a known column has another length than the first one, or is there twice.
    pub(crate) fn new(columns: Vec<(String, InputCells)>) -> Result<Self, ColumnFault> {
        // The name in lower case wins over its other spellings.
        let is_plain = |name: &str| name == name.trim().to_lowercase();
        let plain: Vec<String> = columns
            .iter()
            .filter(|(name, _)| is_plain(name))
            .map(|(name, _)| name.clone())
            .collect();
        let columns: Vec<(String, InputCells)> = columns
            .into_iter()
            .filter(|(name, _)| is_plain(name) || !plain.contains(&name.trim().to_lowercase()))
            .map(|(name, cells)| (name.trim().to_lowercase(), cells))
            .collect();
        let is_there = |name: &str| columns.iter().any(|(other, _)| other == name);
        let mut first: Option<(&str, usize)> = None;
        for (name, cells) in &columns {
            let Some(column) = known(name) else {
                continue;
            };
            // An alias counts only where the column itself is not there.
            if name != column && is_there(column) {
                continue;
            }
            let meant = columns.iter().filter(|(other, _)| {
                other == name || name != column && known(other) == Some(column)
            });
            if meant.count() > 1 {
                return Err(ColumnFault {
                    column,
                    message: "stands twice".to_owned(),
                });
            }
            let (leader, rows) = *first.get_or_insert((name, cells.len()));
            if cells.len() != rows {
                return Err(ColumnFault {
                    column,
                    message: format!("has {} rows where {leader:?} has {rows}", cells.len()),
                });
            }
        }
        let rows = first.map_or(0, |(_, rows)| rows);
        Ok(Self {
            is_absent: false,
            names: columns.iter().map(|(name, _)| name.clone()).collect(),
            columns,
            rows,
        })
    }

    /// The same table, with the names of all columns of its source.
    pub(crate) fn with_names(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// A table without rows and columns.
    pub(crate) fn empty() -> Self {
        Self {
            is_absent: true,
            names: Vec::new(),
            columns: Vec::new(),
            rows: 0,
        }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether no table was given, or an empty list of rows.
    pub(crate) fn is_nothing(&self) -> bool {
        self.is_absent
    }

    /// The column `name`, by its own name or by an alias.
    pub(crate) fn get(&self, name: &str) -> Option<&InputCells> {
        let by = |wanted: &str| {
            let found = self.columns.iter().find(|(name, _)| name == wanted);
            found.map(|(_, cells)| cells)
        };
        by(name).or_else(|| {
            let names = names_of(name)?;
            names.iter().skip(1).find_map(|alias| by(alias))
        })
    }

    /// The column of the symbols: a table without pairs may name coins alone.
    pub(crate) fn symbols(&self) -> Option<&InputCells> {
        self.get("symbol").or_else(|| self.get("coin"))
    }

    /// Whether there is a column `name`, by its own name or by an alias.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The message for the missing column `name`.
    pub(crate) fn missing(&self, name: &'static str, or: &str) -> ColumnFault {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let there = match names.split_at_checked(SHOWN) {
            None if names.is_empty() => String::new(),
            None => format!(" (there are {})", names.join(", ")),
            Some((some, _)) => format!(" (there are {} and others)", some.join(", ")),
        };
        ColumnFault {
            column: name,
            message: format!("is missing{or}{there}"),
        }
    }
}
