//! Named columns of a table as they came, with the accepted names of each column.

use crate::tables::cells::InputCells;

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

/// The names of a column: first its own, then the accepted aliases, in order of preference.
type Names = (&'static str, &'static [&'static str]);

/// The accepted names of all columns. Letter case does not matter.
const NAMES: [Names; 32] = [
    (
        "timestamp",
        &[
            "time",
            "ts",
            "event_ts",
            "open_time",
            "t",
            "datetime",
            "date",
        ],
    ),
    ("symbol", &["pair"]),
    ("exchange", &["venue"]),
    ("side", &[]),
    ("price", &[]),
    ("qty", &["quantity"]),
    ("value_usd", &["notional_usd", "value"]),
    ("coin", &[]),
    ("received_at", &[]),
    ("group_id", &[]),
    ("open", &["o"]),
    ("high", &["h"]),
    ("low", &["l"]),
    ("close", &["c"]),
    ("volume", &["v"]),
    ("volume_usd", &[]),
    ("interval", &[]),
    ("closes_at", &[]),
    ("open_interest", &["oi"]),
    ("open_interest_usd", &["oi_usd"]),
    (
        "long_usd",
        &["long_liquidation_usd", "aggregated_long_liquidation_usd"],
    ),
    (
        "short_usd",
        &["short_liquidation_usd", "aggregated_short_liquidation_usd"],
    ),
    ("trades", &["count", "number_of_trades", "tradecount"]),
    ("liquidation_price", &[]),
    ("account", &[]),
    ("entry_price", &[]),
    ("leverage", &[]),
    ("margin_mode", &[]),
    ("observed_at", &[]),
    ("seen_share", &[]),
    ("current_price", &[]),
    ("rate", &[]),
];

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
            let Some(known) = known(name) else {
                continue;
            };
            // An alias counts only where the column itself is not there.
            if name != known && is_there(known) {
                continue;
            }
            let meant = columns.iter().filter(|(other, _)| {
                other == name || name != known && self::known(other) == Some(known)
            });
            if meant.count() > 1 {
                return Err(ColumnFault {
                    column: known,
                    message: "stands twice".to_owned(),
                });
            }
            let (leader, rows) = *first.get_or_insert((name, cells.len()));
            if cells.len() != rows {
                return Err(ColumnFault {
                    column: known,
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
            let (_, aliases) = NAMES.iter().find(|(known, _)| *known == name)?;
            aliases.iter().find_map(|alias| by(alias))
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

/// The column that a name means, in any letter case.
pub(crate) fn column_of(name: &str) -> Option<&'static str> {
    known(&name.trim().to_lowercase())
}

/// The column that a name means.
fn known(name: &str) -> Option<&'static str> {
    let by_itself = NAMES.iter().find(|(known, _)| *known == name);
    by_itself
        .or_else(|| NAMES.iter().find(|(_, aliases)| aliases.contains(&name)))
        .map(|(known, _)| *known)
}
