//! Writes rows in batches: as a lazy Arrow stream, and into a Parquet file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::PySchema;

use crate::archive::ParquetBatchWriter;
use crate::model::OrderColumns;
use crate::python::rows::arrow::{Money, in_types, record_batch};
use crate::python::rows::columns::Columns;
use crate::python::rows::rows::Table;

/// Creates a batch of order columns without rows.
fn none(money: Money, groups: bool) -> PyResult<RecordBatch> {
    let columns = Columns::from(OrderColumns::with_capacity(0));
    record_batch(&columns.grouped(groups), money)
}

/// Orders for the Arrow C stream interface, in batches. `following` returns the next table, or `None` at the end.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct ArrowBatches {
    following: Py<PyAny>,
    groups: bool,
}

#[pymethods]
impl ArrowBatches {
    #[new]
    #[pyo3(signature = (following, groups=false))]
    fn new(following: Py<PyAny>, groups: bool) -> Self {
        Self { following, groups }
    }

    /// Returns the stream. A second request fails, because reading consumes the rows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let wanted = requested_schema.map(PySchema::from_arrow_pycapsule);
        let wanted = wanted.transpose()?.map(PySchema::into_inner);
        let empty = none(Money::Float, self.groups)?;
        let wanted = wanted.filter(|schema| in_types(&empty, Arc::clone(schema)).is_some());
        let reader = Reader {
            following: self.following.clone_ref(py),
            schema: wanted.clone().unwrap_or_else(|| empty.schema()),
            wanted,
        };
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Reads one table after another on the thread of the consumer.
struct Reader {
    following: Py<PyAny>,
    schema: SchemaRef,
    wanted: Option<SchemaRef>,
}

impl Reader {
    fn batch(&self) -> PyResult<Option<RecordBatch>> {
        Python::attach(|py| {
            let table = self.following.bind(py).call0()?;
            if table.is_none() {
                return Ok(None);
            }
            let columns = table.cast::<Table>()?.get().columns(py)?;
            let batch = record_batch(columns, Money::Float)?;
            let wanted = self.wanted.clone();
            Ok(Some(
                wanted
                    .and_then(|schema| in_types(&batch, schema))
                    .unwrap_or(batch),
            ))
        })
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batch();
        batch
            .map_err(|fault| ArrowError::ExternalError(Box::new(fault)))
            .transpose()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Converts an I/O error to an `OSError` that has the number of the error.
fn os_error(fault: std::io::Error) -> PyErr {
    let Some(number) = fault.raw_os_error() else {
        return fault.into();
    };
    let message = fault.to_string();
    let ending = format!(" (os error {number})");
    let message = message.strip_suffix(&ending).unwrap_or(&message);
    PyOSError::new_err((number, message.to_owned()))
}

/// A Parquet file that orders, or the rows of one table, are written to.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct ParquetFile {
    writer: Mutex<Option<ParquetBatchWriter>>,
    money: Money,
}

impl ParquetFile {
    fn writer(&self) -> MutexGuard<'_, Option<ParquetBatchWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ParquetFile {
    /// Opens an existing empty file. Prices and amounts are float64, or exact as `decimal128(38, 18)`. The columns are
    /// those of `table`, or of orders.
    #[new]
    #[pyo3(signature = (path, exact, groups=false, table=None))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments come by value")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        exact: bool,
        groups: bool,
        table: Option<&Bound<'_, Table>>,
    ) -> PyResult<Self> {
        let money = if exact { Money::Fixed } else { Money::Float };
        let first = match table {
            Some(table) => record_batch(table.get().columns(py)?, money)?,
            None => none(money, groups)?,
        };
        let file = ParquetBatchWriter::begin(&path, first.schema()).map_err(os_error)?;
        Ok(Self {
            writer: Mutex::new(Some(file)),
            money,
        })
    }

    /// Appends rows.
    fn write(&self, py: Python<'_>, table: &Bound<'_, Table>) -> PyResult<()> {
        let (columns, money) = (table.get().columns(py)?, self.money);
        py.detach(|| {
            let batch = record_batch(columns, money)?;
            match &mut *self.writer() {
                Some(writer) => writer.write(&batch).map_err(os_error),
                None => Err(PyRuntimeError::new_err("the file has been closed")),
            }
        })
    }

    /// Writes the remaining rows. The file is then complete and durable.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| match self.writer().take() {
            Some(writer) => writer.finish().map_err(os_error),
            None => Ok(()),
        })
    }
}
