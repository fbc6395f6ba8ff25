//! Reads tables of Python callers as named columns, from mappings, Arrow tables or tables of this package.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow_schema::{DataType, SchemaRef};
use numpy::{PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};

use crate::contract::BadQuery;
use crate::contract::decode::exact_decimal;
use crate::engine::TableFault;
use crate::model::Millis;
use crate::python::error;
use crate::python::rows::arrow_validation::{guarded, vouched};
use crate::python::rows::columns;
use crate::python::rows::deferred_drop::Unwaited;
use crate::python::rows::rows::Table;
use crate::python::runtime::imports;
use crate::python::runtime::signals::look_around;
use crate::tables::{
    CellSource, ColumnFault, ContractSizes, Defaults, InputCell, InputCells, ObservedMarket,
    QuoteRates, RawTable, ReadRows, RowFault, TableKind, WIDE, column_of, exact_cell, first,
    observed_orders, read_bars, read_contract_sizes, read_interest, read_orders, read_rates,
    settle,
};

/// The allowed kinds of table, for error messages.
const ALLOWED: &str = "a DataFrame, an Arrow table, or a mapping of columns of one length";

/// Reads the columns of a Python table. The object `None` has no columns.
pub(crate) fn raw_table(kind: TableKind, object: &Bound<'_, PyAny>) -> PyResult<RawTable> {
    let py = object.py();
    if object.is_none() {
        return Ok(RawTable::empty());
    }
    let mut found: Vec<(String, InputCells)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    if let Ok(own) = object.cast::<Table>() {
        let own = own.get().columns(py)?;
        for column in &own.columns {
            let cells = InputCells::Source(Box::new(OwnColumn(column.clone())));
            found.push((column.name.clone(), cells));
        }
    } else if let Ok(mapping) = object.cast::<PyDict>() {
        for (name, object) in mapping.iter() {
            let name = text_of(&name)?;
            if column_of(&name).is_some() {
                let cells = cells(py, kind, &name, &object)?;
                found.push((name, cells));
            }
        }
        names = mapping
            .keys()
            .iter()
            .map(|name| text_of(&name))
            .collect::<PyResult<_>>()?;
    } else {
        let read = || Ok::<_, PyErr>(object.extract::<AnyRecordBatch>()?.into_table()?);
        let read = guarded(read).map_err(|fault| {
            let message = format!("cannot be read as a table: {fault}");
            error::bad_query(py, &BadQuery::new(kind.name(), message, ALLOWED))
        })?;
        let (batches, schema) = read.into_inner();
        names = schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        found = arrow_columns(py, kind, &batches, &schema)?;
    }
    if names.is_empty() {
        names = found.iter().map(|(name, _)| name.clone()).collect();
    }
    RawTable::new(found)
        .map(|table| table.with_names(names))
        .map_err(|fault| column_fault(py, kind, &fault))
}

/// Creates the exception for a column that is missing or duplicated, or has another length than the table.
pub(crate) fn column_fault(py: Python<'_>, kind: TableKind, fault: &ColumnFault) -> PyErr {
    let message = format!("column {:?} {}", fault.column, fault.message);
    let [needed, optional] = kind.columns();
    let allowed = format!("the columns {needed}, and optionally {optional}");
    let allowed = if fault.message.starts_with("is missing") {
        allowed
    } else {
        ALLOWED.to_owned()
    };
    error::bad_query(py, &BadQuery::new(kind.name(), message, allowed))
}

/// Creates the exception for an invalid row.
pub(crate) fn row_fault(py: Python<'_>, kind: TableKind, fault: &RowFault) -> PyErr {
    error::bad_table(
        py,
        &TableFault {
            table: kind.name(),
            column: fault.column,
            row: fault.row,
            message: fault.message(),
        },
    )
}

/// Reads the columns of Arrow batches that have a known name.
fn arrow_columns(
    py: Python<'_>,
    kind: TableKind,
    batches: &[RecordBatch],
    schema: &SchemaRef,
) -> PyResult<Vec<(String, InputCells)>> {
    let mut found = Vec::new();
    for (place, field) in schema.fields().iter().enumerate() {
        let name = field.name();
        let cells = if column_of(name).is_some() {
            let chunks = batches
                .iter()
                .filter_map(|batch| batch.columns().get(place));
            let chunks: Vec<ArrayRef> = chunks.cloned().collect();
            settled(py, kind, name, &chunks, field.data_type())?
        } else {
            continue;
        };
        found.push((name.clone(), cells));
    }
    Ok(found)
}

/// Validates a column from the Arrow interface, then reads its cells.
fn settled(
    py: Python<'_>,
    kind: TableKind,
    name: &str,
    chunks: &[ArrayRef],
    of: &DataType,
) -> PyResult<InputCells> {
    let refuse = |why: &str| refuse(py, kind, name, why);
    let array = vouched(chunks, of).map_err(|fault| match fault.row {
        Some(row) => {
            let reason = format!("is damaged: {}", fault.why);
            row_fault(
                py,
                kind,
                &RowFault::new(row, column_of(name).unwrap_or("symbol"), reason, ""),
            )
        }
        None => refuse(&format!("is damaged: {}", fault.why)),
    })?;
    guarded(|| settle(&array))
        .map(InputCells::Arrow)
        .map_err(|why| refuse(&why))
}

fn refuse(py: Python<'_>, kind: TableKind, column: &str, why: &str) -> PyErr {
    error::bad_query(
        py,
        &BadQuery::new(kind.name(), format!("column {column:?} {why}"), ALLOWED),
    )
}

/// Reads the cells of one column of a mapping.
fn cells(
    py: Python<'_>,
    kind: TableKind,
    name: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<InputCells> {
    imports::numpy(py)?;
    let refuse = |why: &str| refuse(py, kind, name, why);
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, f64>>() {
        let values = Float64Array::from(array.as_array().to_vec());
        return Ok(InputCells::Arrow(Arc::new(values)));
    }
    if let Ok(array) = object.extract::<PyReadonlyArray1<'_, i64>>() {
        let values = Int64Array::from(array.as_array().to_vec());
        return Ok(InputCells::Arrow(Arc::new(values)));
    }
    if let Ok(array) = object.cast::<numpy::PyUntypedArray>() {
        if array.ndim() != 1 {
            return Err(refuse(&format!("has {} dimensions, not one", array.ndim())));
        }
        if array.dtype().kind() == b'M' {
            let millis = array
                .call_method1("astype", ("datetime64[ms]",))?
                .call_method1("astype", ("int64",))?;
            let millis = millis.cast_into::<numpy::PyArray1<i64>>()?;
            let millis = millis.readonly();
            // numpy marks a missing datetime by the least integer.
            let times = millis.as_array().into_iter();
            let times = times.map(|at| Some(*at).filter(|at| *at != i64::MIN));
            let times: TimestampMillisecondArray = times.collect();
            return Ok(InputCells::Arrow(Arc::new(times)));
        }
        if array.dtype().kind() == b'f' && array.dtype().itemsize() <= 4 {
            let singles = array
                .call_method1("astype", ("float32",))?
                .cast_into::<numpy::PyArray1<f32>>()?;
            let singles: Vec<_> = singles
                .readonly()
                .as_array()
                .iter()
                .map(|&value| InputCell::Single(value))
                .collect();
            return Ok(InputCells::Source(Box::new(ObjectColumn(singles.into()))));
        }
    } else if object.hasattr("__arrow_c_array__")? || object.hasattr("__arrow_c_stream__")? {
        let read = || Ok::<_, PyErr>(object.extract::<AnyArray>()?.into_chunked_array()?);
        let read = guarded(read).map_err(|why| refuse(&format!("cannot be read: {why}")))?;
        let (chunks, field) = read.into_inner();
        return settled(py, kind, name, &chunks, field.data_type());
    }
    if object.is_instance_of::<PyString>() {
        return Err(refuse("is one text, not a column"));
    }
    let items = object
        .try_iter()
        .map_err(|_| refuse(&format!("is one {}, not a column", type_name(object))))?;
    let mut cells = Unwaited::from(Vec::new());
    for (row, item) in items.enumerate() {
        look_around(py, row)?;
        cells.push(object_cell(&item?)?);
    }
    Ok(InputCells::Source(Box::new(ObjectColumn(cells))))
}

/// A column of Python objects that were converted to cells.
struct ObjectColumn(Unwaited<InputCell<'static>>);

impl CellSource for ObjectColumn {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn at(&self, row: usize) -> InputCell<'_> {
        match self.0.get(row) {
            None => InputCell::Missing,
            Some(InputCell::Text(text)) => InputCell::Text((&**text).into()),
            Some(InputCell::Other(text)) => InputCell::Other((&**text).into()),
            Some(cell) => cell.clone(),
        }
    }
}

/// A column of a table that this package created.
struct OwnColumn(columns::Column);

impl CellSource for OwnColumn {
    fn len(&self) -> usize {
        self.0.cells.len()
    }

    fn at(&self, row: usize) -> InputCell<'_> {
        if !self.0.has(row) {
            return InputCell::Missing;
        }
        let cell = match &self.0.cells {
            columns::Cells::Text(cells) => cells.get(row).map(|name| InputCell::Text(name.into())),
            columns::Cells::Decimal(cells) => cells.get(row).map(InputCell::Exact),
            columns::Cells::Float(cells) => cells.get(row).map(|&value| InputCell::Float(value)),
            columns::Cells::Int(cells) => cells.get(row).map(|&value| InputCell::Int(value)),
            columns::Cells::Time(cells) => cells.get(row).map(|&at| InputCell::Instant(at)),
            columns::Cells::Bool(cells) => cells
                .get(row)
                .map(|truth| InputCell::Other(truth.to_string().into())),
        };
        cell.unwrap_or(InputCell::Missing)
    }
}

/// `str` of an object. `to_string` would swallow a Ctrl-C that the interpreter notices meanwhile.
fn text_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(object.str()?.to_string_lossy().into_owned())
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(
        |_| "object".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Converts a Python object to a cell.
fn object_cell(object: &Bound<'_, PyAny>) -> PyResult<InputCell<'static>> {
    static TO_CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if object.is_none() {
        return Ok(InputCell::Missing);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.extract::<String>().map_or_else(
            |_| InputCell::Other("text that is not Unicode".into()),
            |text| InputCell::Text(text.into()),
        ));
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(InputCell::Float(value.extract()?));
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(InputCell::Other(text_of(object)?.into()));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(object
            .extract()
            .map_or_else(|_| InputCell::Other(WIDE.into()), InputCell::Int));
    }
    // Python code converts decimals, datetimes, and the scalars of numpy and pandas.
    let py = object.py();
    let to_cell = TO_CELL.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(py
            .import("liqdata.calls.arguments")?
            .getattr("scalar")?
            .unbind())
    })?;
    let (kind, value): (String, Bound<'_, PyAny>) = to_cell.bind(py).call1((object,))?.extract()?;
    Ok(match kind.as_str() {
        "missing" => InputCell::Missing,
        "text" => InputCell::Text(value.extract::<String>()?.into()),
        "float" => InputCell::Float(value.extract()?),
        "single" => InputCell::Single(value.extract()?),
        "int" => value
            .extract()
            .map_or_else(|_| InputCell::Other(WIDE.into()), InputCell::Int),
        "decimal" => {
            let text: String = value.extract()?;
            exact_decimal(&text).map_or_else(
                |why| InputCell::Other(format!("{text} ({why})").into()),
                InputCell::Exact,
            )
        }
        "instant" => InputCell::Instant(value.extract()?),
        "span" => InputCell::Span(value.extract()?),
        _ => InputCell::Other(value.extract::<String>()?.into()),
    })
}

/// Reads rates of quote currencies from a mapping. Each value is a number or a table of `timestamp` and `rate`.
pub(crate) fn rates(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<QuoteRates> {
    let mut rates = QuoteRates::default();
    for (quote, value) in given.into_iter().flat_map(PyDictMethods::iter) {
        let quote: String = quote.extract()?;
        let is_table = value.is_instance_of::<PyDict>() || value.hasattr("__arrow_c_stream__")?;
        if !is_table {
            let cell = object_cell(&value)?;
            let rate = exact_cell(&cell).filter(|rate| *rate > rust_decimal::Decimal::ZERO);
            let rate = rate.ok_or_else(|| {
                let message = format!("{} is not a rate of {quote}", cell.shown());
                let allowed = "USD per unit above 0, or a table of timestamp and rate";
                error::bad_query(py, &BadQuery::new("quote_rates", message, allowed))
            })?;
            rates.add(&quote, vec![(Millis(i64::MIN), rate)]);
            continue;
        }
        let kind = TableKind::QuoteRates;
        let table = raw_table(kind, &value)?;
        let read = read_rates(&table).map_err(|fault| column_fault(py, kind, &fault))?;
        let read = read.unwrap_or_default();
        if let Some(fault) = first(&read.faults) {
            return Err(row_fault(py, kind, fault));
        }
        rates.add(&quote, read.columns);
    }
    Ok(rates)
}

/// Reads sizes of contracts: one number, or a table of `symbol` and `contract_size`, and optionally `multiplier_unit`.
pub(crate) fn contract_sizes(
    py: Python<'_>,
    given: Option<&Bound<'_, PyAny>>,
) -> PyResult<ContractSizes> {
    let Some(given) = given else {
        return Ok(ContractSizes::default());
    };
    let is_table = given.is_instance_of::<PyDict>() || given.hasattr("__arrow_c_stream__")?;
    if !is_table {
        let cell = object_cell(given)?;
        let size = exact_cell(&cell).filter(|size| *size > rust_decimal::Decimal::ZERO);
        return size.map(ContractSizes::of_all).ok_or_else(|| {
            let message = format!("{} is not the size of a contract", cell.shown());
            let allowed = "a number above 0, or a table of symbol and contract_size";
            error::bad_query(py, &BadQuery::new("contract_size", message, allowed))
        });
    }
    let kind = TableKind::ContractSizes;
    let table = raw_table(kind, given)?;
    let read = read_contract_sizes(&table).map_err(|fault| column_fault(py, kind, &fault))?;
    let read = read.unwrap_or_default();
    match first(&read.faults) {
        Some(fault) => Err(row_fault(py, kind, fault)),
        None => Ok(read.columns),
    }
}

/// Reads the rows of tables without validating them. Used for tables that a collector or a test passes.
pub(crate) fn observed_unjudged(
    orders: &Bound<'_, PyAny>,
    bars: &Bound<'_, PyAny>,
    open_interest: &Bound<'_, PyAny>,
) -> PyResult<ObservedMarket> {
    let py = orders.py();
    let defaults = Defaults::default();
    let mut goes_on = || true;
    let kind = TableKind::Orders;
    let read = read_orders(&raw_table(kind, orders)?, &defaults, &mut goes_on);
    let orders = rows(py, kind, read)?.given;
    let kind = TableKind::Bars;
    let read = read_bars(&raw_table(kind, bars)?, &defaults, &mut goes_on);
    let bars = rows(py, kind, read)?;
    let kind = TableKind::OpenInterest;
    let read = read_interest(&raw_table(kind, open_interest)?, &defaults, &mut goes_on);
    let readings = rows(py, kind, read)?;
    Ok(ObservedMarket {
        orders: observed_orders(&orders),
        bars,
        open_interest: readings,
        liquidations: Vec::new(),
    })
}

/// Returns the rows of a table, or raises an exception for its first fault.
fn rows<T: Default>(
    py: Python<'_>,
    kind: TableKind,
    read: Result<Option<ReadRows<T>>, ColumnFault>,
) -> PyResult<T> {
    let read = read.map_err(|fault| column_fault(py, kind, &fault))?;
    let read = read.unwrap_or_default();
    match first(&read.faults) {
        Some(fault) => Err(row_fault(py, kind, fault)),
        None => Ok(read.columns),
    }
}
