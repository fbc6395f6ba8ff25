//! Cells of a column in any representation: Arrow arrays, numpy arrays, Python objects, text.
//!
//! Cells are read without rounding.

use std::borrow::Cow;
use std::fmt;

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
use rust_decimal::Decimal;

use crate::contract::decode::exact_decimal;
use crate::model::{Millis, power_of_ten};

/// Message for an integer beyond 64 bits.
pub(crate) const WIDE: &str = "an integer of more than 64 bits";

/// One cell of an input column.
#[derive(Clone, Debug)]
pub(crate) enum InputCell<'a> {
    Missing,
    Text(Cow<'a, str>),
    Float(f64),
    /// A single-precision float. Its shortest decimal text differs from that of the same number in double precision.
    Single(f32),
    Int(i64),
    Exact(Decimal),
    Instant(i64),
    Span(i64),
    /// A value that no column can contain. The text describes it for messages.
    Other(Cow<'a, str>),
}

impl InputCell<'_> {
    /// Whether the cell is missing.
    ///
    /// pandas marks missing cells with NaN, also in text columns; files leave them blank.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::Text(text) => text.trim().is_empty(),
            Self::Float(value) => value.is_nan(),
            Self::Single(value) => value.is_nan(),
            _ => false,
        }
    }

    /// The value as text for a message.
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

/// A column in a representation of the caller.
pub(crate) trait CellSource: Send + Sync {
    /// Number of cells.
    fn len(&self) -> usize;
    /// The cell of `row`.
    fn at(&self, row: usize) -> InputCell<'_>;
}

/// An input column.
pub(crate) enum InputCells {
    Arrow(ArrayRef),
    Source(Box<dyn CellSource>),
}

impl fmt::Debug for InputCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cells", self.len())
    }
}

impl InputCells {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Arrow(array) => array.len(),
            Self::Source(cells) => cells.len(),
        }
    }

    pub(crate) fn at(&self, row: usize) -> InputCell<'_> {
        match self {
            Self::Arrow(array) => arrow_cell(array, row),
            Self::Source(cells) => cells.at(row),
        }
    }
}

/// The cell of an array without dictionary codes, which [`settle`] removes.
fn arrow_cell(array: &ArrayRef, row: usize) -> InputCell<'_> {
    if row >= array.len() || array.is_null(row) {
        return InputCell::Missing;
    }
    match array.data_type() {
        // A column in which all cells are missing.
        DataType::Null => InputCell::Missing,
        DataType::Utf8 => InputCell::Text(array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => InputCell::Text(array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => InputCell::Text(array.as_string_view().value(row).into()),
        DataType::Float16 => InputCell::Single(number::<Float16Type>(array, row).into()),
        DataType::Float32 => InputCell::Single(number::<Float32Type>(array, row)),
        DataType::Float64 => InputCell::Float(number::<Float64Type>(array, row)),
        DataType::Boolean => InputCell::Other(array.as_boolean().value(row).to_string().into()),
        DataType::Int8 => InputCell::Int(number::<Int8Type>(array, row).into()),
        DataType::Int16 => InputCell::Int(number::<Int16Type>(array, row).into()),
        DataType::Int32 => InputCell::Int(number::<Int32Type>(array, row).into()),
        DataType::Int64 => InputCell::Int(number::<Int64Type>(array, row)),
        DataType::UInt8 => InputCell::Int(number::<UInt8Type>(array, row).into()),
        DataType::UInt16 => InputCell::Int(number::<UInt16Type>(array, row).into()),
        DataType::UInt32 => InputCell::Int(number::<UInt32Type>(array, row).into()),
        DataType::UInt64 => i64::try_from(number::<UInt64Type>(array, row))
            .map_or_else(|_| InputCell::Other(WIDE.into()), InputCell::Int),
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
                |why| InputCell::Other(format!("{text} ({why})").into()),
                InputCell::Exact,
            )
        }
        DataType::Date32 => {
            let days = i64::from(number::<Date32Type>(array, row));
            InputCell::Instant(days * Millis::DAY)
        }
        DataType::Date64 => InputCell::Instant(number::<Date64Type>(array, row)),
        DataType::Timestamp(unit, _) => InputCell::Instant(match unit {
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
            millis.map_or_else(|| InputCell::Other(WIDE.into()), InputCell::Span)
        }
        DataType::Duration(TimeUnit::Millisecond) => {
            InputCell::Span(number::<DurationMillisecondType>(array, row))
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            InputCell::Span(number::<DurationMicrosecondType>(array, row) / 1000)
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            InputCell::Span(number::<DurationNanosecondType>(array, row) / 1_000_000)
        }
        other => InputCell::Other(format!("a value of Arrow type {other}").into()),
    }
}

fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

/// The cell of a decimal type with `digits` digits.
///
/// A value with more digits is invalid.
fn exact_cell(mantissa: i128, digits: u8, scale: i8) -> InputCell<'static> {
    if power_of_ten(digits.into())
        .is_some_and(|bound| mantissa.unsigned_abs() >= bound.unsigned_abs())
    {
        let scale = -i32::from(scale);
        return InputCell::Other(
            format!("{mantissa}e{scale} (more than the {digits} digits of its type)").into(),
        );
    }
    exact_scaled(mantissa, scale).map_or_else(
        || {
            let scale = -i32::from(scale);
            InputCell::Other(format!("{mantissa}e{scale} (more than 28 digits)").into())
        },
        InputCell::Exact,
    )
}

/// `mantissa · 10^−scale` without trailing zeros, if it fits 28 digits.
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

/// Replaces dictionary codes by their values, as [`arrow_cell`] requires.
///
/// # Errors
///
/// [`ArrowError`] if a code has no value.
pub(crate) fn settle(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) => settle(&take(dictionary.values(), dictionary.keys(), None)?),
        None => Ok(array.clone()),
    }
}
