//! Input tables: named columns of unconverted cells, looked up by accepted names.

use crate::tables::cells::InputCells;
use crate::tables::column_names::{column_of_trades, confirms, known, means, names_of, plain_name};

/// The kinds of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TableKind {
    Orders,
    Bars,
    OpenInterest,
    Positions,
    /// Liquidated USD by period, for a `Market` object.
    Liquidations,
    /// Liquidated USD by period and exchange, for an archive.
    Totals,
    QuoteRates,
    ContractSizes,
}

impl TableKind {
    /// The name of the kind, equal to the name of the caller's parameter.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Bars => "bars",
            Self::OpenInterest => "open_interest",
            Self::Positions => "positions",
            Self::Liquidations => "liquidations",
            Self::Totals => "totals",
            Self::QuoteRates => "quote_rates",
            Self::ContractSizes => "contract_size",
        }
    }
}

impl TableKind {
    /// The required and the optional columns of a table of this kind, for messages.
    pub(crate) fn columns(self) -> [&'static str; 2] {
        match self {
            Self::Orders => [
                "exchange, symbol, side, price, qty, timestamp",
                "value_usd, coin, received_at, group_id, dedupe_key, native_id, price_kind",
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
            Self::Totals => [
                "exchange (or \"all\"), symbol, timestamp, long_usd, short_usd",
                "interval, received_at",
            ],
            Self::QuoteRates => ["timestamp, rate", "no others"],
            Self::ContractSizes => ["symbol, contract_size", "multiplier_unit"],
        }
    }
}

/// Columns of which several may be given. Where they state the same, the rows in which they differ are faulty.
const COMPARED: [&str; 12] = [
    "symbol",
    "exchange",
    "qty",
    "value_usd",
    "quote_value",
    "base_value",
    "position_side",
    "liquidated_side",
    "instrument",
    "is_liquidation",
    "type",
    "status",
];

/// Maximum number of columns that a message lists.
const SHOWN: usize = 12;

/// A fault of a column.
///
/// The column is missing, given twice, or has another length than the first column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnFault {
    pub(crate) column: &'static str,
    /// What is wrong with the column.
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
    /// Creates a table of columns, with the names that their source gives them.
    ///
    /// # Errors
    ///
    /// [`ColumnFault`] if a known column has another length than the first known one, or is given twice.
    pub(crate) fn new(columns: Vec<(String, InputCells)>) -> Result<Self, ColumnFault> {
        // If a name is given in several spellings, the lower-case one is used.
        let is_plain = |name: &str| name == plain_name(name);
        let plain: Vec<String> = columns
            .iter()
            .filter(|(name, _)| is_plain(name))
            .map(|(name, _)| name.clone())
            .collect();
        let columns: Vec<(String, InputCells)> = with_close(columns)
            .into_iter()
            .filter(|(name, _)| is_plain(name) || !plain.contains(&plain_name(name)))
            .map(|(name, cells)| (plain_name(&name), cells))
            .collect();
        let is_there = |name: &str| columns.iter().any(|(other, _)| other == name);
        let mut first: Option<(&str, usize)> = None;
        for (name, cells) in &columns {
            let Some(column) = known(name) else {
                continue;
            };
            // An alias is read only if there is no column with the main name; the others are compared with it.
            if name != column && is_there(column) {
                continue;
            }
            let meant = columns.iter().filter(|(other, _)| {
                let is_alias = name != column && !COMPARED.contains(&column);
                other == name || is_alias && known(other) == Some(column)
            });
            let meant: Vec<&str> = meant.map(|(name, _)| name.as_str()).collect();
            if meant.len() > 1 && !confirms(column) {
                return Err(ColumnFault {
                    column,
                    message: format!("is given twice ({})", meant.join(", ")),
                });
            }
            let (leader, rows) = *first.get_or_insert((name, cells.len()));
            if cells.len() != rows {
                return Err(ColumnFault {
                    column,
                    message: format!("has {} rows, but {leader:?} has {rows}", cells.len()),
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

    /// Sets the names of all columns of the source, which messages list.
    pub(crate) fn with_names(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// Creates a table without rows and columns.
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

    /// Whether no table was given. An empty list of rows counts as no table.
    pub(crate) fn is_nothing(&self) -> bool {
        self.is_absent
    }

    /// The column `name`, looked up by its main name, then by its aliases.
    pub(crate) fn get(&self, name: &str) -> Option<&InputCells> {
        let by = |wanted: &str| {
            let found = self.columns.iter().find(|(name, _)| name == wanted);
            found.map(|(_, cells)| cells)
        };
        let found = by(name).or_else(|| {
            let names = names_of(name)?;
            names.iter().skip(1).find_map(|alias| by(alias))
        });
        // The open of a row is its time if it has no other.
        let opens = || by("open_time").filter(|_| name == "timestamp");
        found.or_else(opens).or_else(|| {
            let mut columns = self.columns.iter();
            let found = columns.find(|(other, _)| means(other, name));
            found.map(|(_, cells)| cells)
        })
    }

    /// The columns that state the same as the column `name`, which [`get`](Self::get) returns.
    pub(crate) fn others(&self, name: &str) -> Vec<(&str, &InputCells)> {
        let read = self.get(name);
        let columns = self.columns.iter().filter(|(other, _)| means(other, name));
        columns
            .filter(|(_, cells)| !read.is_some_and(|read| std::ptr::eq(read, cells)))
            .map(|(name, cells)| (name.as_str(), cells))
            .collect()
    }

    /// All columns with the meaning `name`.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = (&str, &InputCells)> {
        let columns = self.columns.iter();
        columns
            .filter(move |(other, _)| means(other, name))
            .map(|(name, cells)| (name.as_str(), cells))
    }

    /// The column of the source that only trades have, if any.
    pub(crate) fn column_of_trades(&self) -> Option<&'static str> {
        column_of_trades(self.names.iter().map(String::as_str))
    }

    /// The column of symbols. If there is none, the column of coins.
    pub(crate) fn symbols(&self) -> Option<&InputCells> {
        self.get("symbol").or_else(|| self.get("coin"))
    }

    /// Whether there is a column `name`, under its main name or an alias.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The fault of the missing column `name`; `or` is appended to its message.
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

/// Names the close of the bars of Binance's socket, a column `T` next to the open `t` or another time.
fn with_close(mut columns: Vec<(String, InputCells)>) -> Vec<(String, InputCells)> {
    let has = |column: &str| {
        let mut names = columns.iter();
        names.any(|(name, _)| name != "T" && known(&name.trim().to_lowercase()) == Some(column))
    };
    if has("high") && (has("timestamp") || has("opens_at")) && !has("closes_at") {
        for (name, _) in &mut columns {
            if name == "T" {
                "closes_at".clone_into(name);
            }
        }
    }
    columns
}
