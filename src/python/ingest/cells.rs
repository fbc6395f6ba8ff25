//! One cell of a table, wherever its column lives: a list of Python objects, a numpy or an Arrow array, rows of ours.
//!
//! Nothing is rounded on the way.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrow_select::take::take;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use rust_decimal::Decimal;

use crate::model::{Millis, power_of_ten};
use crate::python::rows::columns;
use crate::python::rows::deferred_drop::Unwaited;
use crate::wire::exact_decimal;

/// What is said of a whole number that is too large.
const WIDE: &str = "an integer of more than 64 bits";

/// One cell, read from whatever holds the column.
pub(crate) enum Cell<'a> {
    Missing,
    Text(Cow<'a, str>),
    Float(f64),
    /// A single-precision float: its shortest decimal differs from that of the same number in double precision.
    Single(f32),
    Int(i64),
    Exact(Decimal),
    Instant(i64),
    Span(i64),
    Other(Cow<'a, str>),
}

impl Cell<'_> {
    /// Whether nothing is there; pandas says so with NaN, in columns of text too.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::Float(value) => value.is_nan(),
            Self::Single(value) => value.is_nan(),
            _ => false,
        }
    }

    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Missing => "a missing value".to_owned(),
            Self::Text(text) => format!("{text:?}"),
            Self::Float(value) => format!("{value}"),
            Self::Single(value) => format!("{value}"),
            Self::Int(value) | Self::Instant(value) | Self::Span(value) => value.to_string(),
            Self::Exact(value) => value.to_string(),
            Self::Other(text) => text.clone().into_owned(),
        }
    }
}

/// A column, wherever its cells live.
pub(crate) enum Cells {
    Doubles(Vec<f64>),
    Ints(Vec<i64>),
    Instants(Vec<i64>),
    Arrow(ArrayRef),
    Objects(Unwaited<Cell<'static>>),
    Own(columns::Column),
}

impl Cells {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Doubles(cells) => cells.len(),
            Self::Ints(cells) | Self::Instants(cells) => cells.len(),
            Self::Arrow(array) => array.len(),
            Self::Objects(cells) => cells.len(),
            Self::Own(column) => column.cells.len(),
        }
    }

    pub(crate) fn at(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Doubles(cells) => cells
                .get(row)
                .map_or(Cell::Missing, |&value| Cell::Float(value)),
            Self::Ints(cells) => cells
                .get(row)
                .map_or(Cell::Missing, |&value| Cell::Int(value)),
            Self::Instants(cells) => match cells.get(row) {
                // numpy's NaT
                None | Some(&i64::MIN) => Cell::Missing,
                Some(&at) => Cell::Instant(at),
            },
            Self::Arrow(array) => arrow_cell(array, row),
            Self::Objects(cells) => match cells.get(row) {
                None | Some(Cell::Missing) => Cell::Missing,
                Some(Cell::Text(text)) => Cell::Text(Cow::Borrowed(text)),
                Some(Cell::Float(value)) => Cell::Float(*value),
                Some(Cell::Single(value)) => Cell::Single(*value),
                Some(Cell::Int(value)) => Cell::Int(*value),
                Some(Cell::Exact(value)) => Cell::Exact(*value),
                Some(Cell::Instant(at)) => Cell::Instant(*at),
                Some(Cell::Span(span)) => Cell::Span(*span),
                Some(Cell::Other(text)) => Cell::Other(Cow::Borrowed(text)),
            },
            Self::Own(column) => own_cell(column, row),
        }
    }
}

fn own_cell(column: &columns::Column, row: usize) -> Cell<'_> {
    if !column.has(row) {
        return Cell::Missing;
    }
    let cell = match &column.cells {
        columns::Cells::Text(cells) => cells.get(row).map(|name| Cell::Text(name.into())),
        columns::Cells::Decimal(cells) => cells.get(row).map(Cell::Exact),
        columns::Cells::Float(cells) => cells.get(row).map(|&value| Cell::Float(value)),
        columns::Cells::Int(cells) => cells.get(row).map(|&value| Cell::Int(value)),
        columns::Cells::Time(cells) => cells.get(row).map(|&at| Cell::Instant(at)),
        columns::Cells::Bool(cells) => cells
            .get(row)
            .map(|truth| Cell::Other(truth.to_string().into())),
    };
    cell.unwrap_or(Cell::Missing)
}

/// A cell of an array that has been [settled](settle); nothing is rounded on the way.
fn arrow_cell(array: &ArrayRef, row: usize) -> Cell<'_> {
    if row >= array.len() || array.is_null(row) {
        return Cell::Missing;
    }
    match array.data_type() {
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => Cell::Text(array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => Cell::Text(array.as_string_view().value(row).into()),
        DataType::Float16 => Cell::Single(number::<Float16Type>(array, row).into()),
        DataType::Float32 => Cell::Single(number::<Float32Type>(array, row)),
        DataType::Float64 => Cell::Float(number::<Float64Type>(array, row)),
        DataType::Int8 => Cell::Int(number::<Int8Type>(array, row).into()),
        DataType::Int16 => Cell::Int(number::<Int16Type>(array, row).into()),
        DataType::Int32 => Cell::Int(number::<Int32Type>(array, row).into()),
        DataType::Int64 => Cell::Int(number::<Int64Type>(array, row)),
        DataType::UInt8 => Cell::Int(number::<UInt8Type>(array, row).into()),
        DataType::UInt16 => Cell::Int(number::<UInt16Type>(array, row).into()),
        DataType::UInt32 => Cell::Int(number::<UInt32Type>(array, row).into()),
        DataType::UInt64 => i64::try_from(number::<UInt64Type>(array, row))
            .map_or_else(|_| Cell::Other(WIDE.into()), Cell::Int),
        DataType::Decimal32(digits, scale) => {
            exact_cell(number::<Decimal32Type>(array, row).into(), *digits, *scale)
        }
        DataType::Decimal64(digits, scale) => {
            exact_cell(number::<Decimal64Type>(array, row).into(), *digits, *scale)
        }
        DataType::Decimal128(digits, scale) => {
            exact_cell(number::<Decimal128Type>(array, row), *digits, *scale)
        }
        DataType::Decimal256(..) => {
            let text = array.as_primitive::<Decimal256Type>().value_as_string(row);
            exact_decimal(&text).map_or_else(
                |why| Cell::Other(format!("{text} ({why})").into()),
                Cell::Exact,
            )
        }
        DataType::Date32 => {
            let days = i64::from(number::<Date32Type>(array, row));
            Cell::Instant(days * Millis::DAY)
        }
        DataType::Date64 => Cell::Instant(number::<Date64Type>(array, row)),
        DataType::Timestamp(unit, _) => Cell::Instant(match unit {
            TimeUnit::Second => number::<TimestampSecondType>(array, row).saturating_mul(1000),
            TimeUnit::Millisecond => number::<TimestampMillisecondType>(array, row),
            TimeUnit::Microsecond => {
                number::<TimestampMicrosecondType>(array, row).div_euclid(1000)
            }
            TimeUnit::Nanosecond => {
                number::<TimestampNanosecondType>(array, row).div_euclid(1_000_000)
            }
        }),
        DataType::Duration(TimeUnit::Second) => {
            let millis = number::<DurationSecondType>(array, row).checked_mul(1000);
            millis.map_or_else(|| Cell::Other(WIDE.into()), Cell::Span)
        }
        DataType::Duration(TimeUnit::Millisecond) => {
            Cell::Span(number::<DurationMillisecondType>(array, row))
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            Cell::Span(number::<DurationMicrosecondType>(array, row) / 1000)
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            Cell::Span(number::<DurationNanosecondType>(array, row) / 1_000_000)
        }
        other => Cell::Other(format!("a value of Arrow type {other}").into()),
    }
}

fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

/// A decimal of a type of so many digits; what has more is not what the type says.
fn exact_cell(mantissa: i128, digits: u8, scale: i8) -> Cell<'static> {
    if power_of_ten(digits.into())
        .is_some_and(|bound| mantissa.unsigned_abs() >= bound.unsigned_abs())
    {
        let scale = -i32::from(scale);
        return Cell::Other(
            format!("{mantissa}e{scale} (more than the {digits} digits of its type)").into(),
        );
    }
    exact_scaled(mantissa, scale).map_or_else(
        || {
            let scale = -i32::from(scale);
            Cell::Other(format!("{mantissa}e{scale} (more than 28 digits)").into())
        },
        Cell::Exact,
    )
}

/// `mantissa · 10^−scale` without its trailing zeros, where 28 digits hold it.
fn exact_scaled(mut mantissa: i128, scale: i8) -> Option<Decimal> {
    let mut scale = i32::from(scale);
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    if scale < 0 {
        mantissa = mantissa.checked_mul(power_of_ten(scale.unsigned_abs())?)?;
        scale = 0;
    }
    (mantissa.unsigned_abs() < 10_u128.pow(28) && scale <= 28)
        .then(|| Decimal::try_from_i128_with_scale(mantissa, scale.unsigned_abs()).ok())
        .flatten()
}

/// The array as [`arrow_cell`] reads it: where cells are only places in a dictionary, what stands there.
pub(crate) fn settle(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) => settle(&take(dictionary.values(), dictionary.keys(), None)?),
        None => Ok(array.clone()),
    }
}

pub(crate) fn kind_of(object: &Bound<'_, PyAny>) -> String {
    object
        .get_type()
        .name()
        .map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// A Python object as a cell.
pub(crate) fn object_cell(object: &Bound<'_, PyAny>) -> PyResult<Cell<'static>> {
    static TO_CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if object.is_none() {
        return Ok(Cell::Missing);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.extract::<String>().map_or_else(
            |_| Cell::Other("text that is not Unicode".into()),
            |text| Cell::Text(text.into()),
        ));
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Cell::Float(value.extract()?));
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Cell::Other(object.repr()?.to_string().into()));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(object
            .extract()
            .map_or_else(|_| Cell::Other(WIDE.into()), Cell::Int));
    }
    // Decimals, datetimes and the scalars of numpy and pandas are told apart in Python.
    let py = object.py();
    let to_cell = TO_CELL.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(py
            .import("liqdata.calls.arguments")?
            .getattr("scalar")?
            .unbind())
    })?;
    let (kind, value): (String, Bound<'_, PyAny>) = to_cell.bind(py).call1((object,))?.extract()?;
    Ok(match kind.as_str() {
        "missing" => Cell::Missing,
        "text" => Cell::Text(value.extract::<String>()?.into()),
        "float" => Cell::Float(value.extract()?),
        "single" => Cell::Single(value.extract()?),
        "int" => value
            .extract()
            .map_or_else(|_| Cell::Other(WIDE.into()), Cell::Int),
        "decimal" => {
            let text: String = value.extract()?;
            exact_decimal(&text).map_or_else(
                |why| Cell::Other(format!("{text} ({why})").into()),
                Cell::Exact,
            )
        }
        "instant" => Cell::Instant(value.extract()?),
        "span" => Cell::Span(value.extract()?),
        _ => Cell::Other(value.extract::<String>()?.into()),
    })
}
