//! What every kind of kept row has: a table in the journal, a folder of Parquet files, and what both need to know of it.
//!
//! How the rows stand in either follows from their columns: see [`table`](crate::archive::journal::table) and [`arrays`](crate::archive::segment::arrow_columns).

use std::hash::{Hash as _, Hasher};

use rust_decimal::Decimal;

use crate::archive::ArchiveError;
use crate::model::{Column, FixedPoint, Millis, Record};

/// The first instant whose year has five digits.
const END_OF_TIME: Millis = Millis(253_402_300_800_000);

/// What is wrong with a row: the column, and why.
pub(crate) type Fault = (&'static str, String);

/// One kind of row.
pub(crate) trait Row: Record + Clone + Send + 'static {
    /// The journal's table and the tree's folder.
    const TABLE: &'static str;
    /// The columns that together are another's in no other row.
    const UNIQUE: &'static str;
    /// Whether rows differ in length and are kept apart by it.
    const HAS_INTERVAL: bool = false;
    /// Rows of a file's row groups: a reader skips those that cannot hold what it looks for.
    const GROUP: usize;
    /// The column that names the coin.
    const COIN: &'static str;
    /// The column that names the kind, where there is one.
    const KIND: Option<&'static str> = None;
    /// The column by which a day of many rows is split into files.
    const APART: &'static str = "exchange";
    /// The columns by which the rows of a day that are too many for one file are divided: those that are asked for
    /// together should lie together.
    const DIVIDED: &'static str = "timestamp";
    /// The column of texts that tell rows from each other, where there is one: no two are the same, and nobody asks for one.
    const KEY: Option<&'static str> = None;
    /// The column that nearly all of a row lies in, where there is one: its values are long, and no two are the same.
    const BULK: Option<&'static str> = None;

    /// Refuses what could not be kept exactly.
    fn check(&self) -> Result<(), Fault>;

    /// What tells the row from every other of its date, and is the same when the row is sent again.
    fn key(&self) -> String;
    /// Tells `hasher` what tells the row from every other of its date, however what it is of is spelled.
    fn tell_key(&self, hasher: &mut impl Hasher) {
        self.key().hash(hasher);
    }
    /// Whether that is the same of another row.
    fn has_key_of(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
    /// Whether another row is the same but for how what it is of is spelled, which the keys have as they were told it.
    fn is_spelled_otherwise(&self, _other: &Self) -> bool {
        false
    }
    /// The exchange it is from, where it is from one.
    fn exchange(&self) -> Option<&str>;
    /// The traded pair, or the coin where that is all there is.
    fn symbol(&self) -> &str;
    /// The coin.
    fn coin(&self) -> &str {
        self.symbol()
    }
    /// The kind, where there are several.
    fn kind(&self) -> Option<&str> {
        None
    }
    /// The version of what made it, where that is known.
    fn version(&self) -> Option<&str> {
        None
    }
    /// Its length, where rows have one; else 0.
    fn interval(&self) -> i64 {
        0
    }
    /// When it happened.
    fn timestamp(&self) -> Millis;
    /// When it was received.
    fn received_at(&self) -> Millis;
    /// When it is known to be final: for a bar the close, else the event itself.
    fn known_at(&self) -> Millis {
        self.timestamp()
    }

    /// What it takes in memory, where that is much.
    fn weight(&self) -> usize {
        0
    }

    /// Brings rows into the order of a file.
    fn sort_for_file(rows: &mut [Self]);

    /// Whether a column is that of [`Row::BULK`].
    fn is_bulk(column: &Column) -> bool {
        Self::BULK.is_some_and(|bulk| column.name == bulk)
    }

    /// The columns of a file: a length is told by its folder.
    fn filed() -> impl Iterator<Item = &'static Column> {
        Self::COLUMNS.iter().filter(|column| Self::is_filed(column))
    }

    /// Whether a column is one of a file.
    fn is_filed(column: &Column) -> bool {
        !(Self::HAS_INTERVAL && column.name == "interval")
    }
}

/// Refuses rows of which something could not be kept as it is.
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

/// Refuses an instant that no folder is named after.
pub(crate) fn check_time(column: &'static str, at: Millis) -> Result<(), Fault> {
    if (Millis(0)..END_OF_TIME).contains(&at) {
        Ok(())
    } else {
        Err((column, format!("{} ms is not between 1970 and 9999", at.0)))
    }
}

/// Characters of the longest name: those that exchanges give have some twenty, accounts and keys less than a hundred.
const LONGEST_NAME: usize = 256;

/// Refuses a text that is blank.
pub(crate) fn check_text(column: &'static str, text: &str) -> Result<(), Fault> {
    if text.trim().is_empty() {
        Err((column, format!("{text:?} is blank")))
    } else {
        Ok(())
    }
}

/// Refuses a name that is blank or longer than any.
pub(crate) fn check_name(column: &'static str, name: &str) -> Result<(), Fault> {
    check_text(column, name)?;
    // A character has a byte or more.
    if name.len() > LONGEST_NAME {
        let long = name.chars().count();
        if long > LONGEST_NAME {
            let begin: String = name.chars().take(40).collect();
            return Err((
                column,
                format!("{begin:?}… has {long} characters, a name at most {LONGEST_NAME}"),
            ));
        }
    }
    Ok(())
}

/// Refuses a decimal that is below zero or cannot be kept exactly.
pub(crate) fn check_amount(column: &'static str, value: Decimal) -> Result<(), Fault> {
    if value < Decimal::ZERO {
        return Err((column, format!("{value} is below 0")));
    }
    check_decimal(column, value)
}

/// Refuses a decimal that cannot be kept exactly.
pub(crate) fn check_decimal(column: &'static str, value: Decimal) -> Result<(), Fault> {
    FixedPoint::of(value)
        .map(drop)
        .map_err(|message| (column, message))
}

/// What is wrong with a word that is none of those that were written.
pub(crate) fn unknown_word(word: &str) -> String {
    format!("{word:?} is an unknown word")
}
