//! Conversion of rows to and from journal tables, one column per field.
//!
//! [`insert`] makes the final duplicate check: a row with an existing key is ignored (`ON CONFLICT DO NOTHING`).
//!
//! Decimals are stored as text with all their digits. The bulk column ([`Row::BULK`]) contains long texts; it is
//! compressed, and the SHA-256 of the text is part of the row's unique key.

use std::io::Read;

use rusqlite::types::{ToSqlOutput, Type, Value as Owned, ValueRef};
use rusqlite::{Statement, Transaction};
use rust_decimal::Decimal;

use crate::archive::checksums::crc;
use crate::archive::checksums::file_checksum::checksum;
use crate::archive::rows::row::{LONGEST, Row, unknown_word};
use crate::model::{Cell, Column, Kind, Millis, Record, Side, Source, Value, Visitor, Vocabulary};

/// Level of the zstd compression.
const LEVEL: i32 = 3;
/// Name of the column with the SHA-256 of a row's bulk text.
const DIGEST: &str = "digest";

/// Name of the column with the id of a row's ingest.
///
/// Null for a collected row.
const INGEST: &str = "ingest";

/// SQL that creates the table of a row kind.
pub(crate) fn create<R: Row>() -> String {
    format!(
        "CREATE TABLE {table} (id INTEGER PRIMARY KEY AUTOINCREMENT, {}, {INGEST} TEXT, UNIQUE ({})) STRICT;
         CREATE INDEX {table}_by_time ON {table} (timestamp);",
        definitions(R::COLUMNS, R::BULK),
        R::UNIQUE,
        table = R::TABLE
    )
}

/// Column definitions in SQL; `bulk` names the bulk column.
pub(crate) fn definitions(columns: &[Column], bulk: Option<&str>) -> String {
    let definition = |column: &Column| {
        let kind = match column.kind {
            Kind::Text if bulk == Some(column.name) => {
                return format!("{DIGEST} TEXT NOT NULL, {} BLOB NOT NULL", column.name);
            }
            Kind::Text | Kind::Side | Kind::Decimal => "TEXT",
            Kind::Float => "REAL",
            Kind::Int | Kind::Time | Kind::Bool => "INTEGER",
        };
        let must = if column.optional { "" } else { " NOT NULL" };
        format!("\"{}\" {kind}{must}", column.name)
    };
    columns
        .iter()
        .map(definition)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Column list for a `SELECT` that [`read`] decodes.
pub(crate) fn columns<R: Record>() -> String {
    let quoted = |column: &Column| format!("\"{}\"", column.name);
    R::COLUMNS.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// List of the columns that a row's checksum covers.
pub(crate) fn summed<R: Record>() -> String {
    format!("{}, {INGEST}", columns::<R>())
}

/// Column list for a `SELECT` that [`checked_row`](crate::archive::journal::database::checked_row) decodes.
pub(crate) fn checked<R: Row>() -> String {
    let (sum, of) = (crc::COLUMN, crc::FUNCTION);
    format!("id, {sum} IS {of}({}), {}", summed::<R>(), columns::<R>())
}

/// Inserts collected rows and returns the number of new rows.
///
/// A row with an existing unique key is ignored, and the stored row is not changed. If an ingest stored the existing
/// row, the row counts as collected from then on.
pub(crate) fn insert<R: Row>(transaction: &Transaction<'_>, rows: &[R]) -> rusqlite::Result<usize> {
    insert_of(transaction, rows, None)
}

/// As [`insert`], for rows of an ingest.
pub(crate) fn insert_of<R: Row>(
    transaction: &Transaction<'_>,
    rows: &[R],
    ingest: Option<&str>,
) -> rusqlite::Result<usize> {
    if rows.is_empty() {
        return Ok(0);
    }
    let mut names: Vec<&str> = R::COLUMNS.iter().map(|column| column.name).collect();
    if let Some(bulk) = R::COLUMNS.iter().position(R::is_bulk) {
        names.insert(bulk, DIGEST);
    }
    let places = |summed: bool| -> String {
        let all = names.iter().zip(1..);
        all.filter(|(name, _)| !summed || **name != DIGEST)
            .map(|(_, place)| format!("?{place}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let own = names.len() + 1;
    let mut statement = transaction.prepare_cached(&format!(
        "INSERT INTO {} ({}, {INGEST}, {}) VALUES ({}, ?{own}, {}({}, ?{own})) ON CONFLICT DO NOTHING",
        R::TABLE,
        quoted.join(", "),
        crc::COLUMN,
        places(false),
        crc::FUNCTION,
        places(true)
    ))?;
    let mut new = 0;
    for row in rows {
        let mut binding = Binding::of(&mut statement, row);
        R::visit(&mut binding)?;
        binding.bind(ingest.map_or(ToSqlOutput::Owned(Owned::Null), ToSqlOutput::from))?;
        let inserted = statement.raw_execute()?;
        new += inserted;
        if inserted == 0 && ingest.is_none() {
            release(transaction, row)?;
        }
    }
    Ok(new)
}

/// Marks the stored row with the key of `row` as collected, if an ingest stored it.
fn release<R: Row>(transaction: &Transaction<'_>, row: &R) -> rusqlite::Result<()> {
    // Rows with a bulk column never come from an ingest.
    if R::BULK.is_some() {
        return Ok(());
    }
    let unique: Vec<&str> = R::UNIQUE.split(", ").collect();
    let keys = R::COLUMNS.iter().filter(|key| unique.contains(&key.name));
    let keys = keys
        .zip(1..)
        .map(|(key, place)| format!("\"{}\" = ?{place}", key.name));
    let mut statement = transaction.prepare_cached(&format!(
        "UPDATE {} SET {INGEST} = NULL, {} = {}({}, NULL) WHERE {INGEST} IS NOT NULL AND {}",
        R::TABLE,
        crc::COLUMN,
        crc::FUNCTION,
        columns::<R>(),
        keys.collect::<Vec<_>>().join(" AND ")
    ))?;
    let mut binding = Binding::of(&mut statement, row);
    binding.only = Some(unique);
    R::visit(&mut binding)?;
    statement.raw_execute().map(drop)
}

/// Marks the stored row with an id as collected, if an ingest stored it.
pub(crate) fn release_id<R: Row>(transaction: &Transaction<'_>, id: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(&format!(
            "UPDATE {} SET {INGEST} = NULL, {} = {}({}, NULL) WHERE {INGEST} IS NOT NULL AND id = ?1",
            R::TABLE,
            crc::COLUMN,
            crc::FUNCTION,
            columns::<R>()
        ))?
        .execute([id])
        .map(drop)
}

/// Binds the cells of a row to a statement.
struct Binding<'a, 's, R> {
    statement: &'a mut Statement<'s>,
    row: &'a R,
    place: usize,
    /// Names of the columns to bind; `None` binds all columns.
    only: Option<Vec<&'static str>>,
}

impl<'a, 's, R> Binding<'a, 's, R> {
    fn of(statement: &'a mut Statement<'s>, row: &'a R) -> Self {
        Self {
            statement,
            row,
            place: 0,
            only: None,
        }
    }

    fn bind(&mut self, value: ToSqlOutput<'_>) -> rusqlite::Result<()> {
        self.place += 1;
        self.statement.raw_bind_parameter(self.place, value)
    }
}

impl<R: Row> Visitor<R> for Binding<'_, '_, R> {
    type Fault = rusqlite::Error;

    fn column<T: Value>(
        &mut self,
        column: &'static Column,
        of: impl Fn(&R) -> &T,
    ) -> rusqlite::Result<()> {
        if let Some(only) = &self.only
            && !only.contains(&column.name)
        {
            return Ok(());
        }
        let value: ToSqlOutput<'_> = match of(self.row).cell() {
            Cell::Absent => ToSqlOutput::Owned(Owned::Null),
            Cell::Text(text) if R::is_bulk(column) => {
                let packed = zstd::bulk::compress(text.as_bytes(), LEVEL)
                    .map_err(|fault| rusqlite::Error::ToSqlConversionFailure(Box::new(fault)))?;
                self.bind(checksum(text.as_bytes()).into())?;
                packed.into()
            }
            Cell::Text(text) => text.into(),
            Cell::Side(side) => side.name().into(),
            Cell::Decimal(value) => value.normalize().to_string().into(),
            Cell::Float(value) => value.into(),
            Cell::Int(value) => value.into(),
            Cell::Time(at) => at.0.into(),
            Cell::Bool(truth) => truth.into(),
        };
        self.bind(value)
    }
}

/// Reads a row from the cells of a result line, starting at the column `first`.
pub(crate) fn read<R: Record>(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<R> {
    R::read(&mut Line { row, next: first })
}

/// Cursor over the cells of a result line.
struct Line<'a, 's> {
    row: &'a rusqlite::Row<'s>,
    next: usize,
}

impl Source for Line<'_, '_> {
    type Fault = rusqlite::Error;

    fn next<T: Value>(&mut self, column: &'static Column) -> rusqlite::Result<T> {
        let place = self.next;
        self.next += 1;
        let value = self.row.get_ref(place)?;
        let made = match value {
            ValueRef::Null => T::of(Cell::Absent),
            ValueRef::Integer(value) => match T::KIND {
                Kind::Time => T::of(Cell::Time(Millis(value))),
                Kind::Bool => T::of(Cell::Bool(value != 0)),
                _ => T::of(Cell::Int(value)),
            },
            ValueRef::Real(value) => T::of(Cell::Float(value)),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).map_err(|fault| not_readable(place, fault))?;
                let made = match T::KIND {
                    Kind::Decimal => {
                        let value = Decimal::from_str_exact(text);
                        T::of(Cell::Decimal(
                            value.map_err(|fault| not_readable(place, fault))?,
                        ))
                    }
                    Kind::Side => Side::parse(text).and_then(|side| T::of(Cell::Side(side))),
                    _ => T::of(Cell::Text(text)),
                };
                Some(made.ok_or_else(|| not_readable(place, unknown_word(text)))?)
            }
            ValueRef::Blob(packed) => {
                let text = unpacked(packed).map_err(|fault| not_readable(place, fault))?;
                T::of(Cell::Text(&text))
            }
        };
        made.ok_or_else(|| {
            let name = column.name.to_owned();
            rusqlite::Error::InvalidColumnType(place, name, value.data_type())
        })
    }
}

/// Decompresses a bulk text.
fn unpacked(packed: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    zstd::stream::read::Decoder::with_buffer(packed)?
        .take(LONGEST as u64)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Error for a cell that liqdata cannot have written, which means that the line is damaged.
pub(crate) fn not_readable(
    column: usize,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, source.into())
}
