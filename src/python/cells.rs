//! One cell of a table, wherever its column lives: a list of Python objects, a numpy or an Arrow array, rows of ours.
//!
//! Arrow's many types are first brought into few ([`settle`]); nothing is rounded on the way.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Decimal256Type, DurationMillisecondType, Float32Type, Float64Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use rust_decimal::Decimal;

use super::columns;
use crate::model::power_of_ten;
use crate::wire::exact_decimal;

/// One cell, read from whatever holds the column.
pub(super) enum Cell<'a> {
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
    pub(super) fn is_missing(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::Float(value) => value.is_nan(),
            Self::Single(value) => value.is_nan(),
            _ => false,
        }
    }

    pub(super) fn shown(&self) -> String {
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
pub(super) enum Cells {
    Doubles(Vec<f64>),
    Ints(Vec<i64>),
    Instants(Vec<i64>),
    Arrow(ArrayRef),
    Objects(Vec<Cell<'static>>),
    Own(columns::Column),
}

impl Cells {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Doubles(cells) => cells.len(),
            Self::Ints(cells) | Self::Instants(cells) => cells.len(),
            Self::Arrow(array) => array.len(),
            Self::Objects(cells) => cells.len(),
            Self::Own(column) => column.cells.len(),
        }
    }

    pub(super) fn at(&self, row: usize) -> Cell<'_> {
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

/// A cell of an array that [`settle`] has brought into one of few types.
fn arrow_cell(array: &ArrayRef, row: usize) -> Cell<'_> {
    if row >= array.len() || array.is_null(row) {
        return Cell::Missing;
    }
    match array.data_type() {
        DataType::LargeUtf8 => Cell::Text(array.as_string::<i64>().value(row).into()),
        DataType::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => Cell::Single(array.as_primitive::<Float32Type>().value(row)),
        DataType::Int64 => Cell::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            let mantissa = array.as_primitive::<Decimal128Type>().value(row);
            exact_scaled(mantissa, *scale).map_or_else(
                || {
                    let scale = -i32::from(*scale);
                    Cell::Other(format!("{mantissa}e{scale} (more than 28 digits)").into())
                },
                Cell::Exact,
            )
        }
        DataType::Decimal256(..) => {
            let text = array.as_primitive::<Decimal256Type>().value_as_string(row);
            exact_decimal(&text).map_or_else(
                |why| Cell::Other(format!("{text} ({why})").into()),
                Cell::Exact,
            )
        }
        DataType::Timestamp(TimeUnit::Second, _) => Cell::Instant(
            array
                .as_primitive::<TimestampSecondType>()
                .value(row)
                .saturating_mul(1000),
        ),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Cell::Instant(array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => Cell::Instant(
            array
                .as_primitive::<TimestampMicrosecondType>()
                .value(row)
                .div_euclid(1000),
        ),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Cell::Instant(
            array
                .as_primitive::<TimestampNanosecondType>()
                .value(row)
                .div_euclid(1_000_000),
        ),
        DataType::Duration(TimeUnit::Millisecond) => {
            Cell::Span(array.as_primitive::<DurationMillisecondType>().value(row))
        }
        other => Cell::Other(format!("a value of Arrow type {other}").into()),
    }
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

/// What one column's type cannot be brought into, and in which row where that is known.
pub(super) struct Unsettled {
    pub(super) row: Option<usize>,
    pub(super) why: String,
}

/// The array in one of the few types [`arrow_cell`] reads; nothing is rounded on the way.
pub(super) fn settle(array: &ArrayRef) -> Result<ArrayRef, Unsettled> {
    let target = match array.data_type() {
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => DataType::LargeUtf8,
        DataType::Dictionary(_, values) => match values.as_ref() {
            DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => DataType::LargeUtf8,
            other => other.clone(),
        },
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => {
            DataType::Decimal128(38, *scale)
        }
        DataType::Date32 | DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Millisecond),
        _ => return Ok(array.clone()),
    };
    let cast = |safe| {
        let options = CastOptions {
            safe,
            ..CastOptions::default()
        };
        cast_with_options(array, &target, &options)
    };
    cast(false).map_err(|error| Unsettled {
        // A lenient cast leaves nothing in the cells a strict one fails on.
        row: cast(true).ok().and_then(|made| {
            (0..array.len()).find(|&row| made.is_null(row) && !array.is_null(row))
        }),
        why: error.to_string(),
    })
}

pub(super) fn kind_of(object: &Bound<'_, PyAny>) -> String {
    object
        .get_type()
        .name()
        .map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// A Python object as a cell.
pub(super) fn object_cell(object: &Bound<'_, PyAny>) -> PyResult<Cell<'static>> {
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
        return Ok(object.extract().map_or_else(
            |_| Cell::Other("an integer of more than 64 bits".into()),
            Cell::Int,
        ));
    }
    // Decimals, datetimes and the scalars of numpy and pandas are told apart in Python.
    let py = object.py();
    let to_cell = TO_CELL.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(py.import("liqdata._inputs")?.getattr("scalar")?.unbind())
    })?;
    let (kind, value): (String, Bound<'_, PyAny>) = to_cell.bind(py).call1((object,))?.extract()?;
    Ok(match kind.as_str() {
        "missing" => Cell::Missing,
        "text" => Cell::Text(value.extract::<String>()?.into()),
        "float" => Cell::Float(value.extract()?),
        "single" => Cell::Single(value.extract()?),
        "int" => value.extract().map_or_else(
            |_| Cell::Other("an integer of more than 64 bits".into()),
            Cell::Int,
        ),
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
