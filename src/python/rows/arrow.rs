//! Converts columns to Arrow arrays.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, Float64Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, LargeStringArray, PrimitiveArray, RecordBatch,
    RecordBatchIterator, StringArray, StringViewArray, TimestampMillisecondArray, UInt32Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::PySchema;

use crate::model::{DecimalColumn, Labels, power_of_ten};
use crate::python::rows::columns::{Cells, Column, Columns};
use crate::python::runtime::signals::Progress;

/// Maximum number of digits of an Arrow decimal128.
pub(crate) const DECIMAL_DIGITS: u32 = 38;

/// Decimal scale of streams and files, which start before all their values are known. The archive has the same scale.
const FIXED: u32 = 18;

/// The Arrow type of columns with prices and amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Money {
    /// Float64.
    Float,
    /// Exact decimals with the smallest scale that represents every value of a column.
    Exact,
    /// Exact decimals with the scale of the archive.
    Fixed,
}

/// Returns the cells as integers of a common scale: the smallest possible, or `scale`. Fails if they need over 38
/// digits.
pub(crate) fn scaled(
    column: &Column,
    cells: &DecimalColumn,
    scale: Option<u32>,
) -> PyResult<(Vec<i128>, u32)> {
    let finest = || cells.iter().map(|value| value.normalize().scale()).max();
    let scale = scale.or_else(finest).unwrap_or(0);
    let limit = 10_i128.pow(DECIMAL_DIGITS);
    let mut made = Vec::with_capacity(cells.len());
    for (row, value) in cells.iter().enumerate() {
        let value = value.normalize();
        let missing = scale.checked_sub(value.scale());
        let scaled = missing
            .and_then(power_of_ten)
            .and_then(|unit| value.mantissa().checked_mul(unit));
        match scaled.filter(|scaled| scaled.abs() < limit) {
            Some(scaled) => made.push(scaled),
            None => {
                return Err(PyValueError::new_err(format!(
                    "{}: no scale holds every value within {DECIMAL_DIGITS} digits ({value} in row {row} does not fit \
                     scale {scale}); use decimals=\"float\"",
                    column.name
                )));
            }
        }
    }
    Ok((made, scale))
}

/// Returns the Arrow validity bitmap of a column.
fn nulls(column: &Column) -> Option<NullBuffer> {
    column.present.clone().map(NullBuffer::from)
}

/// Creates an array of numbers without a copy.
fn filled<T: ArrowPrimitiveType>(column: &Column, cells: Vec<T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(cells.into(), nulls(column)))
}

/// Creates a text array. Each distinct name is converted once.
fn texts(column: &Column, cells: &Labels) -> PyResult<ArrayRef> {
    let names: StringArray = cells.names().iter().map(Some).collect();
    let codes = UInt32Array::new(cells.codes().to_vec().into(), nulls(column));
    arrow_select::take::take(&names, &codes, None)
        .map_err(|error| PyValueError::new_err(format!("{}: {error}", column.name)))
}

pub(crate) fn record_batch(columns: &Columns, money: Money) -> PyResult<RecordBatch> {
    record_batch_reporting(columns, money, &Progress::default())
}

/// Converts as [`record_batch`] does, and counts each finished column in `progress`.
pub(crate) fn record_batch_reporting(
    columns: &Columns,
    money: Money,
    progress: &Progress,
) -> PyResult<RecordBatch> {
    let framed = columns.framed();
    progress.note(0, framed.len());
    let mut fields = Vec::with_capacity(framed.len());
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(framed.len());
    for column in framed.iter().map(AsRef::as_ref) {
        let array: ArrayRef = match &column.cells {
            Cells::Text(cells) => texts(column, cells)?,
            Cells::Decimal(cells) if money != Money::Float => {
                let fixed = (money == Money::Fixed).then_some(FIXED);
                let (made, scale) = scaled(column, cells, fixed)?;
                let scale = i8::try_from(scale).unwrap_or(i8::MAX);
                let array = column
                    .present(&made)
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(38, scale)
                    .map_err(|error| PyValueError::new_err(format!("{}: {error}", column.name)))?;
                Arc::new(array)
            }
            Cells::Decimal(cells) => filled::<Float64Type>(column, cells.f64s()),
            Cells::Float(cells) => filled::<Float64Type>(column, cells.clone()),
            Cells::Int(cells) => filled::<Int64Type>(column, cells.clone()),
            Cells::Bool(cells) => Arc::new(column.present(cells).collect::<BooleanArray>()),
            Cells::Time(cells) => {
                let array = PrimitiveArray::new(cells.clone().into(), nulls(column));
                Arc::new(TimestampMillisecondArray::with_timezone(array, "UTC"))
            }
        };
        let data_type = array.data_type().clone();
        fields.push(Field::new(
            &column.name,
            data_type,
            column.present.is_some(),
        ));
        arrays.push(array);
        progress.note(arrays.len(), framed.len());
    }
    let schema = Arc::new(Schema::new(fields));
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(columns.rows));
    RecordBatch::try_new_with_options(schema, arrays, &options)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Rows in Arrow's layout, which can be exported over the C stream interface any number of times.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct ArrowTable {
    pub(crate) batch: RecordBatch,
}

#[pymethods]
impl ArrowTable {
    /// Exports the rows in the types of `requested_schema` if that is possible without rounding. Otherwise it uses the
    /// table's own types, as the interface permits.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let wanted = requested_schema.map(PySchema::from_arrow_pycapsule);
        let wanted = wanted.transpose()?.map(PySchema::into_inner);
        let batch = wanted
            .and_then(|schema| in_types(&self.batch, schema))
            .unwrap_or_else(|| self.batch.clone());
        let schema = batch.schema();
        let stream = RecordBatchIterator::new([Ok(batch)], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(stream));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Converts the rows to the types of another schema. `None` if a column does not fit.
pub(crate) fn in_types(batch: &RecordBatch, schema: SchemaRef) -> Option<RecordBatch> {
    let own = batch.schema();
    let names = |schema: &Schema| -> Vec<String> {
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    };
    if names(&own) != names(&schema) {
        return None;
    }
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| in_type(column, field.data_type()));
    let columns: Option<Vec<ArrayRef>> = columns.collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, columns?, &options).ok()
}

/// Converts a column to another type. `None` if the type cannot represent every value exactly.
fn in_type(column: &ArrayRef, wanted: &DataType) -> Option<ArrayRef> {
    Some(match (column.data_type(), wanted) {
        (own, wanted) if own == wanted => Arc::clone(column),
        (DataType::Utf8, DataType::LargeUtf8) => {
            Arc::new(LargeStringArray::from_iter(column.as_string::<i32>()))
        }
        (DataType::Utf8, DataType::Utf8View) => {
            Arc::new(StringViewArray::from_iter(column.as_string::<i32>()))
        }
        (DataType::Timestamp(TimeUnit::Millisecond, own), DataType::Timestamp(unit, zone))
            if own == zone =>
        {
            match unit {
                TimeUnit::Microsecond => {
                    finer::<TimestampMicrosecondType>(column, 1_000, zone.as_ref())?
                }
                TimeUnit::Nanosecond => {
                    finer::<TimestampNanosecondType>(column, 1_000_000, zone.as_ref())?
                }
                TimeUnit::Second | TimeUnit::Millisecond => return None,
            }
        }
        _ => return None,
    })
}

/// Converts milliseconds to a finer unit, `each` of which make one millisecond.
fn finer<T: ArrowTimestampType>(
    column: &ArrayRef,
    each: i64,
    zone: Option<&Arc<str>>,
) -> Option<ArrayRef> {
    let millis = column.as_primitive::<TimestampMillisecondType>();
    let made = millis.try_unary::<_, T, ()>(|at| at.checked_mul(each).ok_or(()));
    Some(Arc::new(made.ok()?.with_timezone_opt(zone.cloned())))
}
