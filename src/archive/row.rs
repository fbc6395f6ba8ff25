//! What every kind of kept row has: a table in the journal, a folder of Parquet files, and a way into both.

use std::fmt;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Decimal128Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use rusqlite::types::Type;
use rust_decimal::Decimal;

use super::exact;
use crate::model::Millis;

/// The first instant whose year has five digits.
const END_OF_TIME: Millis = Millis(253_402_300_800_000);

/// What is wrong with a row: the column, and why.
pub(super) type Fault = (&'static str, String);

/// One kind of row.
pub(super) trait Row: Clone + Send + Sized + 'static {
    /// The journal's table and the tree's folder.
    const TABLE: &'static str;
    /// The table's columns behind `id`, in the order in which [`Row::write`] gives them.
    const COLUMNS: &'static [&'static str];
    /// The table in SQL.
    const CREATE: &'static str;
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
    /// The column that nearly all of a row lies in, where there is one: its values are long, and no two are the same.
    const BULK: Option<&'static str> = None;

    /// Refuses what could not be kept exactly.
    fn check(&self) -> Result<(), Fault>;
    /// The row as the journal's columns.
    fn write(&self, statement: &mut rusqlite::Statement<'_>) -> rusqlite::Result<usize>;
    /// The row that the journal's columns, the first of them at `1`, hold.
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self>;

    /// What tells the row from every other of its date, and is the same when the row is sent again.
    fn key(&self) -> String;
    /// The exchange it is from, where it is from one.
    fn exchange(&self) -> Option<&str>;
    /// The traded pair, or the coin where that is all there is.
    fn symbol(&self) -> &str;
    /// The coin.
    fn coin(&self) -> &str;
    /// The kind, where there are several.
    fn kind(&self) -> Option<&str> {
        None
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

    /// The columns of a file.
    fn schema() -> SchemaRef;
    /// The rows as columns.
    fn encode(rows: &[Self]) -> Result<Vec<ArrayRef>, Fault>;
    /// The rows of `columns`; `interval` is that of the folder.
    fn decode(columns: &Columns<'_>, interval: i64) -> Result<Vec<Self>, Fault>;
}

/// Refuses an instant that no folder is named after.
pub(super) fn check_time(column: &'static str, at: Millis) -> Result<(), Fault> {
    if (Millis(0)..END_OF_TIME).contains(&at) {
        Ok(())
    } else {
        Err((column, format!("{} ms is not between 1970 and 9999", at.0)))
    }
}

/// Refuses a blank name.
pub(super) fn check_name(column: &'static str, name: &str) -> Result<(), Fault> {
    if name.trim().is_empty() {
        Err((column, format!("{name:?} is blank")))
    } else {
        Ok(())
    }
}

/// Refuses a decimal that cannot be kept exactly.
pub(super) fn check_decimal(column: &'static str, value: Decimal) -> Result<(), Fault> {
    exact::scaled(value)
        .map(drop)
        .map_err(|message| (column, message))
}

/// A decimal as the journal's text.
pub(super) fn text(value: Decimal) -> String {
    value.normalize().to_string()
}

/// The decimal of a column of the journal.
pub(super) fn decimal(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Decimal> {
    let text = row.get_ref(column)?.as_str()?;
    Decimal::from_str_exact(text).map_err(|source| not_readable(column, source))
}

/// The error for a column of the journal that holds something else than was written.
pub(super) fn not_readable(
    column: usize,
    source: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(source))
}

/// A word of the journal that is none of those that were written.
#[derive(Debug)]
pub(super) struct UnknownWord(pub(super) String);

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is an unknown word", self.0)
    }
}

impl std::error::Error for UnknownWord {}

/// A schema of text, decimals and instants.
pub(super) fn schema(fields: &[(&str, Is)]) -> SchemaRef {
    let fields: Vec<Field> = fields
        .iter()
        .map(|(name, is)| match is {
            Is::Text => Field::new(*name, DataType::Utf8, false),
            Is::TextOrNull => Field::new(*name, DataType::Utf8, true),
            Is::Decimal => Field::new(*name, decimal_type(), false),
            Is::Instant => Field::new(*name, instant_type(), false),
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// The type of a file's column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Is {
    Text,
    TextOrNull,
    Decimal,
    Instant,
}

fn decimal_type() -> DataType {
    DataType::Decimal128(exact::DIGITS, exact::SCALE_OF_TYPE)
}

fn instant_type() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
}

/// A column of text.
pub(super) fn texts<'a, R>(rows: &'a [R], of: impl Fn(&'a R) -> &'a str) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
}

/// A column of text that may be absent.
pub(super) fn texts_or_null<'a, R>(
    rows: &'a [R],
    of: impl Fn(&'a R) -> Option<&'a str>,
) -> ArrayRef {
    Arc::new(rows.iter().map(of).collect::<StringArray>())
}

/// A column of decimals.
pub(super) fn decimals<R>(
    column: &'static str,
    rows: &[R],
    of: impl Fn(&R) -> Decimal,
) -> Result<ArrayRef, Fault> {
    let scaled: Vec<i128> = rows
        .iter()
        .map(|row| exact::scaled(of(row)))
        .collect::<Result<_, _>>()
        .map_err(|message| (column, message))?;
    Ok(Arc::new(
        Decimal128Array::from(scaled).with_data_type(decimal_type()),
    ))
}

/// A column of instants.
pub(super) fn instants<R>(rows: &[R], of: impl Fn(&R) -> Millis) -> ArrayRef {
    let instants: Vec<i64> = rows.iter().map(|row| of(row).0).collect();
    Arc::new(TimestampMillisecondArray::from(instants).with_timezone("UTC"))
}

/// The columns of a file's batch, by name.
pub(super) struct Columns<'a>(pub(super) &'a RecordBatch);

impl Columns<'_> {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.0.num_rows()
    }

    fn column<A: 'static>(&self, name: &'static str) -> Result<&A, Fault> {
        self.0
            .column_by_name(name)
            .and_then(|column| column.as_any().downcast_ref())
            .ok_or_else(|| (name, "the column is missing or of another type".to_owned()))
    }

    /// The texts of a column in which nothing is absent.
    pub(super) fn texts(
        &self,
        name: &'static str,
    ) -> Result<impl Iterator<Item = Option<String>>, Fault> {
        let column: &StringArray = self.column(name)?;
        Ok(column.iter().map(|text| text.map(str::to_owned)))
    }

    /// The decimals of a column; `None` for one that is absent or that no decimal can hold.
    pub(super) fn decimals(
        &self,
        name: &'static str,
    ) -> Result<impl Iterator<Item = Option<Decimal>>, Fault> {
        let column: &Decimal128Array = self.column(name)?;
        if column.data_type() != &decimal_type() {
            return Err((name, format!("{} is another type", column.data_type())));
        }
        Ok(column.iter().map(|value| value.and_then(exact::unscaled)))
    }

    /// The instants of a column.
    pub(super) fn instants(
        &self,
        name: &'static str,
    ) -> Result<impl Iterator<Item = Option<Millis>>, Fault> {
        let column: &TimestampMillisecondArray = self.column(name)?;
        Ok(column.iter().map(|at| at.map(Millis)))
    }
}

/// The next value of a column that must have one.
pub(super) fn next<T>(
    column: &'static str,
    values: &mut impl Iterator<Item = Option<T>>,
) -> Result<T, Fault> {
    values
        .next()
        .flatten()
        .ok_or_else(|| (column, "a value is missing or cannot be held".to_owned()))
}
