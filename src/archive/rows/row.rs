//! The trait of all row kinds.
//!
//! The [journal table](crate::archive::journal::table) and the [Parquet
//! columns](crate::archive::segment::arrow_columns) of a kind are derived from its columns.

use std::cmp::Ordering;
use std::hash::{Hash as _, Hasher};

use rust_decimal::Decimal;

use crate::archive::ArchiveError;
use crate::model::{Column, FixedPoint, Millis, Record};

/// First instant of the year 10000.
const END_OF_TIME: Millis = Millis(253_402_300_800_000);

/// The name of a column, and what is wrong with its value.
pub(crate) type Fault = (&'static str, String);

/// A kind of row.
pub(crate) trait Row: Record + Clone + Send + 'static {
    /// Name of the journal table and of the folder of segments.
    const TABLE: &'static str;
    /// Columns that together are unique.
    const UNIQUE: &'static str;
    /// Whether rows have a length, as bars do.
    ///
    /// Each length is a partition of its own.
    const HAS_INTERVAL: bool = false;
    /// Rows per row group; a reader skips groups that cannot match.
    const GROUP: usize;
    /// The column of the coin.
    const COIN: &'static str;
    /// The column of the kind, if any.
    const KIND: Option<&'static str> = None;
    /// The column by which a heavy day is split into segments.
    const APART: &'static str = "exchange";
    /// Sort columns of the rows of a heavy day, so that rows that are queried together are in the same segment.
    const DIVIDED: &'static str = "timestamp";
    /// A text column with unique values that is never filtered by, if any.
    const KEY: Option<&'static str> = None;
    /// The column with long unique values, such as the reply of a map, if any.
    const BULK: Option<&'static str> = None;

    /// Refuses a row that cannot be stored exactly.
    fn check(&self) -> Result<(), Fault>;

    /// Identifies the row within its partition.
    ///
    /// A row that is sent again has the same key.
    fn key(&self) -> String;
    /// Hashes the key, independent of how the instrument is spelled.
    fn hash_key(&self, hasher: &mut impl Hasher) {
        self.key().hash(hasher);
    }
    /// Whether another row has the same key, independent of how the instrument is spelled.
    fn has_key_of(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
    /// Whether another row has the same key except for the spelling of the instrument.
    fn is_spelled_otherwise(&self, _other: &Self) -> bool {
        false
    }
    /// Exchange, if any.
    fn exchange(&self) -> Option<&str>;
    /// Traded pair, or the coin if there is no pair.
    fn symbol(&self) -> &str;
    /// Coin.
    fn coin(&self) -> &str {
        self.symbol()
    }
    /// Kind, if the table has kinds.
    fn kind(&self) -> Option<&str> {
        None
    }
    /// Version of the model that made it, if known.
    fn version(&self) -> Option<&str> {
        None
    }
    /// Length in milliseconds, or 0.
    fn interval(&self) -> i64 {
        0
    }
    /// Time of the event.
    fn timestamp(&self) -> Millis;
    /// When the row was received.
    fn received_at(&self) -> Millis;
    /// When the row became final: the close of a bar, else the event time.
    fn known_at(&self) -> Millis {
        self.timestamp()
    }

    /// Approximate memory use in bytes, if it is large.
    fn weight(&self) -> usize {
        0
    }

    /// The order of two rows in a segment.
    fn file_order(&self, other: &Self) -> Ordering;
    /// Sorts rows into the order of a segment.
    fn sort_for_file(rows: &mut [Self]) {
        rows.sort_by(Self::file_order);
    }

    /// Whether a column is [`Row::BULK`].
    fn is_bulk(column: &Column) -> bool {
        Self::BULK.is_some_and(|bulk| column.name == bulk)
    }

    /// Columns of a segment.
    ///
    /// The length is in the name of its folder.
    fn filed() -> impl Iterator<Item = &'static Column> {
        Self::COLUMNS.iter().filter(|column| Self::is_filed(column))
    }

    /// Whether a segment has this column.
    fn is_filed(column: &Column) -> bool {
        !(Self::HAS_INTERVAL && column.name == "interval")
    }
}

/// Refuses rows that cannot be stored exactly.
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

/// Refuses an instant outside the years 1970 to 9999.
pub(crate) fn check_time(column: &'static str, at: Millis) -> Result<(), Fault> {
    if (Millis(0)..END_OF_TIME).contains(&at) {
        Ok(())
    } else {
        Err((column, format!("{} ms is not between 1970 and 9999", at.0)))
    }
}

/// Longest name in characters.
///
/// Exchanges use about twenty, accounts and keys less than a hundred.
const LONGEST_NAME: usize = 256;

/// Refuses a blank text.
pub(crate) fn check_text(column: &'static str, text: &str) -> Result<(), Fault> {
    if text.trim().is_empty() {
        Err((column, format!("{text:?} is blank")))
    } else {
        Ok(())
    }
}

/// Refuses a blank or too long name.
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

/// Refuses a negative decimal, or one that cannot be stored exactly.
pub(crate) fn check_amount(column: &'static str, value: Decimal) -> Result<(), Fault> {
    if value < Decimal::ZERO {
        return Err((column, format!("{value} is below 0")));
    }
    check_decimal(column, value)
}

/// Refuses a decimal that cannot be stored exactly.
pub(crate) fn check_decimal(column: &'static str, value: Decimal) -> Result<(), Fault> {
    FixedPoint::of(value)
        .map(drop)
        .map_err(|message| (column, message))
}

/// Message for a word outside the vocabulary.
pub(crate) fn unknown_word(word: &str) -> String {
    format!("{word:?} is an unknown word")
}
