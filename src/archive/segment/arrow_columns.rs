//! Conversion of rows to Arrow columns and back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, TimestampMillisecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    StringArray, TimestampMillisecondArray,
};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use rust_decimal::Decimal;

use crate::archive::rows::row::{Fault, Row, unknown_word};
use crate::model::{
    Cell, Column, FixedPoint, Kind, Millis, Side, Source, Value, Visitor, Vocabulary,
};

/// Arrow schema of a table's segments.
pub(crate) fn schema<R: Row>() -> SchemaRef {
    let fields =
        R::filed().map(|column| Field::new(column.name, type_of(column.kind), column.optional));
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

/// Arrow type for a kind of column.
pub(crate) fn type_of(kind: Kind) -> DataType {
    match kind {
        Kind::Text | Kind::Side => DataType::Utf8,
        Kind::Decimal => DataType::Decimal128(FixedPoint::DIGITS, FixedPoint::SCALE.cast_signed()),
        Kind::Float => DataType::Float64,
        Kind::Int => DataType::Int64,
        Kind::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        Kind::Bool => DataType::Boolean,
    }
}

/// Combines columns to a batch; a text column may be a dictionary.
pub(crate) fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch, ArrowError> {
    let fields = schema.fields().iter().zip(&columns).map(|(field, column)| {
        let field = field.as_ref().clone();
        field.with_data_type(column.data_type().clone())
    });
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Fields>())), columns)
}

/// Converts rows to columns.
pub(crate) fn encode<'a, R: Row>(
    rows: impl Iterator<Item = &'a R> + Clone,
) -> Result<Vec<ArrayRef>, Fault> {
    let arrays = Vec::with_capacity(R::COLUMNS.len());
    let mut encoding = Encoding { rows, arrays };
    R::visit(&mut encoding)?;
    Ok(encoding.arrays)
}

struct Encoding<I> {
    rows: I,
    arrays: Vec<ArrayRef>,
}

impl<'a, R: Row, I: Iterator<Item = &'a R> + Clone> Visitor<R> for Encoding<I> {
    type Fault = Fault;

    fn column<T: Value>(
        &mut self,
        column: &'static Column,
        of: impl Fn(&R) -> &T,
    ) -> Result<(), Fault> {
        if !R::is_filed(column) {
            return Ok(());
        }
        let cells = self.rows.clone().map(|row| of(row).cell());
        let array: ArrayRef = match T::KIND {
            Kind::Text | Kind::Side => Arc::new(
                cells
                    .map(|cell| match cell {
                        Cell::Text(text) => Some(text),
                        Cell::Side(side) => Some(side.name()),
                        _ => None,
                    })
                    .collect::<StringArray>(),
            ),
            Kind::Decimal => {
                let scaled = cells.map(|cell| {
                    let value = Decimal::of(cell).map(FixedPoint::of).transpose();
                    value.map(|value| value.map(|value| value.0))
                });
                let scaled: Decimal128Array = scaled
                    .collect::<Result<_, _>>()
                    .map_err(|message| (column.name, message))?;
                Arc::new(scaled.with_data_type(type_of(T::KIND)))
            }
            Kind::Float => Arc::new(cells.map(f64::of).collect::<Float64Array>()),
            Kind::Int => Arc::new(cells.map(i64::of).collect::<Int64Array>()),
            Kind::Time => {
                let instants = cells.map(|cell| Millis::of(cell).map(|at| at.0));
                let instants: TimestampMillisecondArray = instants.collect();
                Arc::new(instants.with_timezone("UTC"))
            }
            Kind::Bool => Arc::new(cells.map(bool::of).collect::<BooleanArray>()),
        };
        self.arrays.push(array);
        Ok(())
    }
}

/// Converts a batch to rows.
///
/// `interval` is the bar length from the folder name, in milliseconds; 0 for rows without a length.
pub(crate) fn decode<R: Row>(
    batch: &RecordBatch,
    interval: i64,
) -> Result<impl Iterator<Item = Result<R, Fault>>, Fault> {
    let columns = R::COLUMNS.iter().map(|column| {
        if R::is_filed(column) {
            array(batch, column)
        } else {
            Ok(ArrowCells::Folder(interval))
        }
    });
    let columns: Vec<ArrowCells<'_>> = columns.collect::<Result<_, _>>()?;
    Ok((0..batch.num_rows()).map(move |row| {
        R::read(&mut ArrowRow {
            columns: columns.iter(),
            row,
        })
    }))
}

/// Cells of a column.
enum ArrowCells<'a> {
    Text(&'a StringArray),
    Side(&'a StringArray),
    Decimal(&'a Decimal128Array),
    Float(&'a Float64Array),
    Int(&'a Int64Array),
    Time(&'a TimestampMillisecondArray),
    Bool(&'a BooleanArray),
    /// The value from the name of the partition's folder, which is the same for all rows.
    Folder(i64),
}

fn array<'a>(batch: &'a RecordBatch, column: &'static Column) -> Result<ArrowCells<'a>, Fault> {
    let fault = || {
        let message = "the column is missing or of another type";
        (column.name, message.to_owned())
    };
    let Some(array) = batch.column_by_name(column.name) else {
        return Err(fault());
    };
    if column.kind == Kind::Decimal && array.data_type() != &type_of(column.kind) {
        let message = format!("the column has type {}", array.data_type());
        return Err((column.name, message));
    }
    let cells = match column.kind {
        Kind::Text => array.as_string_opt().map(ArrowCells::Text),
        Kind::Side => array.as_string_opt().map(ArrowCells::Side),
        Kind::Decimal => array
            .as_primitive_opt::<Decimal128Type>()
            .map(ArrowCells::Decimal),
        Kind::Float => array
            .as_primitive_opt::<Float64Type>()
            .map(ArrowCells::Float),
        Kind::Int => array.as_primitive_opt::<Int64Type>().map(ArrowCells::Int),
        Kind::Time => array
            .as_primitive_opt::<TimestampMillisecondType>()
            .map(ArrowCells::Time),
        Kind::Bool => array.as_boolean_opt().map(ArrowCells::Bool),
    };
    cells.ok_or_else(fault)
}

/// Cursor over the cells of one row of a batch.
struct ArrowRow<'a> {
    columns: std::slice::Iter<'a, ArrowCells<'a>>,
    row: usize,
}

impl Source for ArrowRow<'_> {
    type Fault = Fault;

    fn next<T: Value>(&mut self, column: &'static Column) -> Result<T, Fault> {
        let row = self.row;
        let cell = match self.columns.next() {
            Some(ArrowCells::Text(array)) if has(*array, row) => Cell::Text(array.value(row)),
            Some(ArrowCells::Side(array)) if has(*array, row) => {
                let word = array.value(row);
                Side::parse(word).map_or(Cell::Text(word), Cell::Side)
            }
            Some(ArrowCells::Decimal(array)) if has(*array, row) => FixedPoint(array.value(row))
                .decimal()
                .map_or(Cell::Absent, Cell::Decimal),
            Some(ArrowCells::Float(array)) if has(*array, row) => Cell::Float(array.value(row)),
            Some(ArrowCells::Int(array)) if has(*array, row) => Cell::Int(array.value(row)),
            Some(ArrowCells::Time(array)) if has(*array, row) => {
                Cell::Time(Millis(array.value(row)))
            }
            Some(ArrowCells::Bool(array)) if has(*array, row) => Cell::Bool(array.value(row)),
            Some(ArrowCells::Folder(value)) => Cell::Int(*value),
            _ => Cell::Absent,
        };
        T::of(cell).ok_or_else(|| {
            let message = match cell {
                Cell::Text(word) => unknown_word(word),
                _ => "a value is missing or does not fit its type".to_owned(),
            };
            (column.name, message)
        })
    }
}

fn has(array: &impl Array, row: usize) -> bool {
    row < array.len() && array.is_valid(row)
}
