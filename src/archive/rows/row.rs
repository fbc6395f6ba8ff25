//! The trait that all row kinds implement.
//!
//! The [journal table](crate::archive::sql::table) and the [Parquet
//! columns](crate::archive::segment::arrow_columns) of a row kind are derived from the columns of its type.

use std::cmp::Ordering;
use std::hash::{Hash as _, Hasher};

use rust_decimal::Decimal;

use crate::archive::ArchiveError;
use crate::model::{Column, FixedPoint, Millis, Record};

/// First instant of the year 10000.
const END_OF_TIME: Millis = Millis(253_402_300_800_000);

/// Name of a column, and a description of the fault in its value.
pub(crate) type Fault = (&'static str, String);

/// What assigned the key of a row.
///
/// Keys of one source tell its rows apart. Keys of different sources cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum KeySource {
    /// The exchange: a decoded message, or a file with the exchange's ids.
    Exchange,
    /// The values of the row, as a table states them.
    Values,
    /// Another program or a caller. Each import is a source of its own.
    #[default]
    Other,
}

/// A row kind: a type of row that has its own table and segments.
pub(crate) trait Row: Record + Clone + Send + 'static {
    /// Name of the journal table and of the folder of segments.
    const TABLE: &'static str;
    /// Columns of the unique index, separated by commas.
    const UNIQUE: &'static str;
    /// Whether rows have a length in time, as bars and totals do.
    ///
    /// Each length has its own partition.
    const HAS_INTERVAL: bool = false;
    /// Whether rows are bars, which give the coins their prices.
    const HAS_PRICES: bool = false;
    /// Number of rows per Parquet row group.
    ///
    /// A reader skips row groups that cannot match its filter.
    const GROUP: usize;
    /// Name of the column with the coin.
    const COIN: &'static str;
    /// Name of the column with the kind of a map, if the table has one.
    const KIND: Option<&'static str> = None;
    /// Column by which the rows of a day with many rows are split into segments.
    const APART: &'static str = "exchange";
    /// Sort columns for splitting a day with many rows.
    ///
    /// With this order, rows that are queried together are in the same segment.
    const DIVIDED: &'static str = "timestamp";
    /// Name of a text column with unique values that no filter uses, if any.
    const KEY: Option<&'static str> = None;
    /// Whether rows of different sources are compared by their values, because each source has its own keys.
    const HAS_SOURCES: bool = false;
    /// Name of the column with long unique values, if the table has one.
    ///
    /// An example is the server's reply of a map.
    const BULK: Option<&'static str> = None;

    /// Returns an error if the row cannot be stored exactly.
    fn check(&self) -> Result<(), Fault>;

    /// Key that identifies the row within its partition.
    ///
    /// A repeated row has the same key.
    fn key(&self) -> String;
    /// Hashes the key; different spellings of the instrument give the same hash.
    fn hash_key(&self, hasher: &mut impl Hasher) {
        self.key().hash(hasher);
    }
    /// Whether another row has the same key, apart from the spelling of the instrument.
    fn has_key_of(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
    /// Whether another row has the same key, but spells the instrument differently.
    fn is_spelled_otherwise(&self, _other: &Self) -> bool {
        false
    }
    /// Hashes the values by which rows of different sources are compared.
    fn hash_event(&self, hasher: &mut impl Hasher) {
        self.hash_key(hasher);
    }
    /// Whether another row is of another source and has the same values.
    ///
    /// `is_of_one_import` says whether one import delivered both rows.
    fn is_same_event(&self, _other: &Self, _is_of_one_import: bool) -> bool {
        false
    }
    /// What assigned the key of the row.
    fn key_source(&self) -> KeySource {
        KeySource::default()
    }
    /// Exchange, if the table has one.
    fn exchange(&self) -> Option<&str>;
    /// Traded pair, or the coin if there is no pair.
    fn symbol(&self) -> &str;
    /// Coin.
    fn coin(&self) -> &str {
        self.symbol()
    }
    /// Kind of a map; `None` for rows of other tables.
    fn kind(&self) -> Option<&str> {
        None
    }
    /// Version of the model that computed the row, if known.
    fn version(&self) -> Option<&str> {
        None
    }
    /// Length in milliseconds; 0 for rows without a length.
    fn interval(&self) -> i64 {
        0
    }
    /// Time of the event.
    fn timestamp(&self) -> Millis;
    /// When the row was received.
    fn received_at(&self) -> Millis;
    /// When the row became final: the close time of a bar, the event time of other rows.
    fn known_at(&self) -> Millis {
        self.timestamp()
    }

    /// Approximate memory use in bytes; 0 for small rows.
    fn weight(&self) -> usize {
        0
    }

    /// Compares two rows by their order in a segment.
    fn file_order(&self, other: &Self) -> Ordering;
    /// Sorts rows into the order of a segment.
    fn sort_for_file(rows: &mut [Self]) {
        rows.sort_by(Self::file_order);
    }

    /// Whether a column is the one that [`Row::BULK`] names.
    fn is_bulk(column: &Column) -> bool {
        Self::BULK.is_some_and(|bulk| column.name == bulk)
    }

    /// Columns that a segment stores.
    ///
    /// The length of bars is not a column: the folder name contains it.
    fn filed() -> impl Iterator<Item = &'static Column> {
        Self::COLUMNS.iter().filter(|column| Self::is_filed(column))
    }

    /// Whether segments store this column.
    fn is_filed(column: &Column) -> bool {
        !(Self::HAS_INTERVAL && column.name == "interval")
    }
}

/// Returns an error for the first row that cannot be stored exactly.
pub(crate) fn check_all<R>(
    table: &'static str,
    rows: &[R],
    check: impl Fn(&R) -> Result<(), Fault>,
) -> Result<(), ArchiveError> {
    rows.iter().enumerate().try_for_each(|(row, one)| {
        check(one).map_err(|(column, message)| ArchiveError::BadRow {
            table,
            column,
            row,
            message,
        })
    })
}

/// Returns an error for an instant outside the years 1970 to 9999.
pub(crate) fn check_time(column: &'static str, at: Millis) -> Result<(), Fault> {
    if (Millis(0)..END_OF_TIME).contains(&at) {
        Ok(())
    } else {
        Err((column, format!("{} ms is not between 1970 and 9999", at.0)))
    }
}

/// Maximum length of a bulk text, in bytes.
pub(crate) const LONGEST: usize = 16 << 20;

/// Maximum length of a name, in characters.
///
/// Names of exchanges have about twenty characters, accounts and keys less than a hundred.
const LONGEST_NAME: usize = 256;

/// Returns an error for a blank text.
pub(crate) fn check_text(column: &'static str, text: &str) -> Result<(), Fault> {
    if text.trim().is_empty() {
        Err((column, format!("{text:?} is blank")))
    } else {
        Ok(())
    }
}

/// Returns an error for a name that is blank or too long.
pub(crate) fn check_name(column: &'static str, name: &str) -> Result<(), Fault> {
    check_text(column, name)?;
    // A name has at most as many characters as bytes, so characters are counted only for long ones.
    if name.len() > LONGEST_NAME {
        let long = name.chars().count();
        if long > LONGEST_NAME {
            let begin: String = name.chars().take(40).collect();
            return Err((
                column,
                format!("{begin:?}… has {long} characters; a name has at most {LONGEST_NAME}"),
            ));
        }
    }
    Ok(())
}

/// Returns an error for a decimal that is negative or cannot be stored exactly.
pub(crate) fn check_amount(column: &'static str, value: Decimal) -> Result<(), Fault> {
    if value < Decimal::ZERO {
        return Err((column, format!("{value} is below 0")));
    }
    check_decimal(column, value)
}

/// Returns an error for a decimal that cannot be stored exactly.
pub(crate) fn check_decimal(column: &'static str, value: Decimal) -> Result<(), Fault> {
    FixedPoint::of(value)
        .map(drop)
        .map_err(|message| (column, message))
}

/// Error message for a word that the vocabulary does not contain.
pub(crate) fn unknown_word(word: &str) -> String {
    format!("{word:?} is an unknown word")
}
