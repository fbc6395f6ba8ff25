//! `Table`: rows stored as columns, with conversions to dicts, numpy and Arrow.

use std::sync::{Arc, OnceLock};

use numpy::IntoPyArray;
use numpy::datetime::{Datetime, units};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString, PyTuple};
use rust_decimal::Decimal;

use crate::feeds::Event;
use crate::model::{DecimalColumn, Labels, Vocabulary};
use crate::python::rows::arrow::{
    ArrowTable, DECIMAL_DIGITS, Money, record_batch, record_batch_reporting, scaled,
};
use crate::python::rows::columns::{COIN, Cells, Column, Columns};
use crate::python::rows::decimal::Form;
use crate::python::rows::deferred_drop::Unwaited;
use crate::python::rows::events;
use crate::python::rows::provenance::{PeriodTuple, RowRemarks, period_tuple};
use crate::python::runtime::imports;
use crate::python::runtime::signals::{interruptible, look_around, watched};

/// Minimum number of rows for signal checks. Smaller tables are converted within milliseconds.
const LARGE: usize = 10_000;

/// Rows of one kind, stored as columns.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Table {
    content: Arc<TableContent>,
    /// Coverage and other information about the rows.
    remarks: RowRemarks,
}

/// The rows of a table.
struct TableContent {
    /// Created from `events` on first use.
    columns: OnceLock<Columns>,
    /// Decoded events. Most callers only request their dicts, which need no columns.
    events: Option<Unwaited<Event>>,
}

impl TableContent {
    fn columns(&self) -> &Columns {
        self.columns.get_or_init(|| {
            self.events
                .as_ref()
                .map(|events| events.as_slice().into())
                .unwrap_or_default()
        })
    }
}

impl From<Columns> for Table {
    fn from(columns: Columns) -> Self {
        Self::telling(columns, RowRemarks::default())
    }
}

impl From<Unwaited<Event>> for Table {
    fn from(events: Unwaited<Event>) -> Self {
        let content = TableContent {
            columns: OnceLock::new(),
            events: Some(events),
        };
        Self {
            content: Arc::new(content),
            remarks: RowRemarks::default(),
        }
    }
}

impl Table {
    /// Creates a table of rows with accompanying information.
    pub(crate) fn telling(columns: Columns, remarks: RowRemarks) -> Self {
        let content = TableContent {
            columns: columns.into(),
            events: None,
        };
        Self {
            content: Arc::new(content),
            remarks,
        }
    }

    fn column(&self, py: Python<'_>, name: &str) -> PyResult<&Column> {
        let columns = &self.columns(py)?.columns;
        columns
            .iter()
            .find(|column| column.name == name)
            .ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// Returns the columns. Creates them from events if necessary.
    pub(crate) fn columns(&self, py: Python<'_>) -> PyResult<&Columns> {
        let content = &self.content;
        let events = content.events.as_ref().map_or(0, |events| events.len());
        if events >= LARGE && content.columns.get().is_none() {
            let content = Arc::clone(content);
            interruptible(py, move || {
                content.columns();
                Ok(())
            })?;
        }
        Ok(content.columns())
    }
}

/// Creates Python objects from the cells of one column.
struct Maker<'a, 'py> {
    py: Python<'py>,
    column: &'a Column,
    name: Bound<'py, PyString>,
    /// The distinct names of a text column, as Python objects.
    names: Vec<Bound<'py, PyString>>,
    form: Form,
}

impl<'a, 'py> Maker<'a, 'py> {
    fn of(py: Python<'py>, column: &'a Column, form: Form) -> Self {
        let names = match &column.cells {
            Cells::Text(cells) => cells.names(),
            _ => &[],
        };
        Self {
            py,
            column,
            name: PyString::intern(py, &column.name),
            names: names.iter().map(|name| PyString::new(py, name)).collect(),
            form,
        }
    }

    /// Returns the codes of a text column without missing cells.
    fn codes(&self) -> Option<&'a [u32]> {
        match &self.column.cells {
            Cells::Text(cells) if self.column.present.is_none() => Some(cells.codes()),
            _ => None,
        }
    }

    /// Creates the object of a cell.
    fn cell(&self, row: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        if !self.column.has(row) {
            return Ok(py.None().into_bound(py));
        }
        let made = match &self.column.cells {
            Cells::Text(cells) => {
                let code = cells.codes().get(row);
                let name = code.and_then(|&code| self.names.get(code as usize));
                name.cloned().map(Bound::into_any)
            }
            Cells::Decimal(cells) => return self.amount(cells, row),
            Cells::Float(cells) => cells
                .get(row)
                .map(|&cell| PyFloat::new(py, cell).into_any()),
            Cells::Int(cells) | Cells::Time(cells) => match cells.get(row) {
                Some(cell) => Some(cell.into_pyobject(py)?.into_any()),
                None => None,
            },
            Cells::Bool(cells) => cells
                .get(row)
                .map(|&cell| PyBool::new(py, cell).to_owned().into_any()),
        };
        made.ok_or_else(lost)
    }

    fn amount(&self, cells: &DecimalColumn, row: usize) -> PyResult<Bound<'py, PyAny>> {
        match cells.short(row) {
            Some(short) => self.form.short(self.py, short),
            None => self.form.decimal(self.py, cells.get(row).ok_or_else(lost)?),
        }
    }
}

fn lost() -> PyErr {
    PyIndexError::new_err("row out of range")
}

/// Creates makers for all columns of dicts.
fn makers<'a, 'py>(py: Python<'py>, columns: &'a Columns, form: Form) -> Vec<Maker<'a, 'py>> {
    columns
        .columns
        .iter()
        .map(|column| Maker::of(py, column, form))
        .collect()
}

/// Template dicts that have all keys and the cells of *shared* columns: text columns with few distinct names.
///
/// Copying a template takes less time than filling a new dict.
struct Templates<'py> {
    blank: Bound<'py, PyDict>,
    /// Templates, indexed by the combined codes of the shared columns. Empty if no column is shared.
    made: Vec<Option<Bound<'py, PyDict>>>,
}

impl<'py> Templates<'py> {
    /// Prepares templates for `rows` rows. Moves makers of shared columns to the front of `makers` and returns their
    /// number.
    fn of(
        py: Python<'py>,
        makers: &mut Vec<Maker<'_, 'py>>,
        rows: usize,
    ) -> PyResult<(Self, usize)> {
        let blank = PyDict::new(py);
        for maker in &*makers {
            blank.set_item(&maker.name, py.None())?;
        }
        let mut kinds = 1_usize;
        let (mut shared, mut rest) = (Vec::new(), Vec::new());
        for maker in makers.drain(..) {
            let more = kinds.saturating_mul(maker.names.len());
            if maker.codes().is_some() && more <= rows {
                kinds = more;
                shared.push(maker);
            } else {
                rest.push(maker);
            }
        }
        let count = shared.len();
        *makers = shared;
        makers.append(&mut rest);
        let made = vec![None; if count > 0 { kinds } else { 0 }];
        Ok((Self { blank, made }, count))
    }

    /// Returns a dict for `row` that has all keys and the shared cells.
    fn dict(&mut self, shared: &[Maker<'_, 'py>], row: usize) -> PyResult<Bound<'py, PyDict>> {
        let mut kind = 0;
        for maker in shared {
            let code = maker.codes().and_then(|codes| codes.get(row));
            kind = kind * maker.names.len() + *code.ok_or_else(lost)? as usize;
        }
        let Some(template) = self.made.get_mut(kind) else {
            return self.blank.copy();
        };
        if let Some(template) = template {
            return template.copy();
        }
        let dict = self.blank.copy()?;
        for maker in shared {
            dict.set_item(&maker.name, maker.cell(row)?)?;
        }
        *template = Some(dict.copy()?);
        Ok(dict)
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        match &self.content.events {
            Some(events) => events.len(),
            None => self.content.columns().rows,
        }
    }

    /// Column names in order.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let columns = self.columns(py)?.columns.iter();
        Ok(columns.map(|column| column.name.clone()).collect())
    }

    /// The kind of each column: `text`, `decimal`, `float`, `int`, `time` or `bool`.
    fn kinds(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        let columns = self.columns(py)?.columns.iter();
        let kinds = columns.map(|column| match column.cells {
            Cells::Text(_) => "text",
            Cells::Decimal(_) => "decimal",
            Cells::Float(_) => "float",
            Cells::Int(_) => "int",
            Cells::Time(_) => "time",
            Cells::Bool(_) => "bool",
        });
        Ok(kinds.collect())
    }

    /// Returns the column names for data frames. Orders also have the coin.
    fn framed(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let framed = self.columns(py)?.framed();
        Ok(framed.iter().map(|column| column.name.clone()).collect())
    }

    /// Coverage of the totals by exchange, if a service sent it.
    #[getter]
    fn coverage(&self) -> Option<Self> {
        let coverage = self.remarks.coverage.clone()?;
        Some(Columns::from(coverage).into())
    }

    /// The earliest bar that the reply omits because it cannot be converted to the requested bar length: its open time
    /// and its own length, in milliseconds.
    #[getter]
    fn earlier(&self) -> Option<(i64, i64)> {
        let earlier = self.remarks.earlier?;
        Some((earlier.timestamp.0, earlier.interval))
    }

    /// The covered share of the period of the rows, that of its windows, and since when orders are known.
    #[getter]
    fn period(&self) -> Option<PeriodTuple> {
        self.remarks.period.clone().map(period_tuple)
    }

    /// Whether more orders match than the page has, if a service sent it.
    #[getter]
    fn more(&self) -> Option<bool> {
        self.remarks.more
    }

    /// The unit of the service's instants, if it is not milliseconds. The instants of the rows are converted.
    #[getter]
    fn time_unit(&self) -> Option<&'static str> {
        self.remarks.time_unit.map(Vocabulary::name)
    }

    /// Returns the latest value of the first time column.
    fn newest(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        let columns = self.columns(py)?.columns.iter();
        let mut times = columns.filter_map(|column| match &column.cells {
            Cells::Time(cells) => Some((column, cells)),
            _ => None,
        });
        let newest = times.next().map(|(column, cells)| {
            let cells = column.present(cells);
            cells.flatten().max()
        });
        Ok(newest.flatten())
    }

    /// Converts all rows to dicts. `decimals` is `decimal`, `float` or `text`.
    fn dicts<'py>(&self, py: Python<'py>, decimals: &str) -> PyResult<Bound<'py, PyList>> {
        let form = Form::of(decimals)?;
        if let Some(events) = &self.content.events {
            let rows: Vec<_> = events
                .iter()
                .enumerate()
                .map(|(row, event)| {
                    look_around(py, row)?;
                    events::dict(py, event, form)
                })
                .collect::<PyResult<_>>()?;
            return PyList::new(py, rows);
        }
        let columns = self.columns(py)?;
        let mut makers = makers(py, columns, form);
        let (mut templates, shared) = Templates::of(py, &mut makers, columns.rows)?;
        let (shared, rest) = makers.split_at_checked(shared).ok_or_else(lost)?;
        let rows: Vec<_> = (0..columns.rows)
            .map(|row| {
                look_around(py, row)?;
                let dict = templates.dict(shared, row)?;
                for maker in rest {
                    dict.set_item(&maker.name, maker.cell(row)?)?;
                }
                Ok(dict)
            })
            .collect::<PyResult<_>>()?;
        PyList::new(py, rows)
    }

    /// Converts one row to a dict. Negative indexes count from the end.
    fn row<'py>(
        &self,
        py: Python<'py>,
        place: &Bound<'py, PyAny>,
        decimals: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let form = Form::of(decimals)?;
        let length = self.__len__();
        let outside = || PyIndexError::new_err(format!("row {place} of {length}"));
        let wanted: isize = place.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(py) {
                outside()
            } else {
                error
            }
        })?;
        let row = if wanted < 0 {
            length.checked_sub(wanted.unsigned_abs())
        } else {
            Some(wanted.unsigned_abs()).filter(|&row| row < length)
        };
        let row = row.ok_or_else(outside)?;
        if let Some(event) = self
            .content
            .events
            .as_ref()
            .and_then(|events| events.get(row))
        {
            return events::dict(py, event, form);
        }
        let columns = self.columns(py)?.take(&[row]);
        let dict = PyDict::new(py);
        for maker in makers(py, &columns, form) {
            dict.set_item(&maker.name, maker.cell(0)?)?;
        }
        Ok(dict)
    }

    /// Converts one column to a list of objects. `decimals` has the values of [`Table::dicts`].
    fn objects<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decimals: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let maker = Maker::of(py, self.column(py, name)?, Form::of(decimals)?);
        let cells: Vec<_> = (0..self.columns(py)?.rows)
            .map(|row| {
                look_around(py, row)?;
                maker.cell(row)
            })
            .collect::<PyResult<_>>()?;
        PyList::new(py, cells)
    }

    /// Concatenates the orders of several tables.
    #[staticmethod]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments from Python come by value"
    )]
    #[pyo3(signature = (tables, groups=false))]
    fn joined_orders(py: Python<'_>, tables: Vec<Bound<'_, Self>>, groups: bool) -> PyResult<Self> {
        let tables = tables.iter().map(|table| table.get().columns(py));
        let tables: Vec<_> = tables.collect::<PyResult<_>>()?;
        let joined = py.detach(|| Columns::joined(tables.into_iter(), groups));
        joined
            .map(Self::from)
            .ok_or_else(|| PyValueError::new_err("tables of different columns cannot be joined"))
    }

    /// Concatenates parts of features, and adds the opens of bars if they are given.
    #[staticmethod]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments from Python come by value"
    )]
    #[pyo3(signature = (tables, opens=None))]
    fn joined_features(
        py: Python<'_>,
        tables: Vec<Bound<'_, Self>>,
        opens: Option<Vec<i64>>,
    ) -> PyResult<Self> {
        let tables = tables.iter().map(|table| table.get().columns(py));
        let tables: Vec<_> = tables.collect::<PyResult<_>>()?;
        let joined = Columns::joined_features(tables.into_iter())
            .ok_or_else(|| PyValueError::new_err("tables of different columns cannot be joined"))?;
        Ok(match opens {
            Some(opens) => joined.with_opens(&opens),
            None => joined,
        }
        .into())
    }

    /// Converts a decimal column to `Decimal`s with a common scale: the smallest that represents every value.
    fn decimals<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.column(py, name)?;
        let Cells::Decimal(cells) = &column.cells else {
            return Err(PyValueError::new_err(format!(
                "{name} is not a decimal column"
            )));
        };
        let (_, scale) = scaled(column, cells, None)?;
        let decimal = py.import("decimal")?.getattr("Decimal")?;
        let quantum = decimal.call1((format!("1E-{scale}"),))?;
        let context = py
            .import("decimal")?
            .getattr("Context")?
            .call1((DECIMAL_DIGITS,))?;
        let made = PyList::empty(py);
        for (row, value) in cells.iter().enumerate() {
            look_around(py, row)?;
            if column.has(row) {
                made.append(
                    value
                        .into_pyobject(py)?
                        .call_method1("quantize", (&quantum, py.None(), &context))?,
                )?;
            } else {
                made.append(py.None())?;
            }
        }
        Ok(made)
    }

    /// Converts one column to a numpy array: `float64`, `int64`, `bool` or `datetime64[ms]`. Missing cells are `NaN` or
    /// `NaT`.
    fn array<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        imports::numpy(py)?;
        let column = self.column(py, name)?;
        Ok(match &column.cells {
            Cells::Text(_) => {
                return Err(PyValueError::new_err(format!("{name} is a text column")));
            }
            Cells::Decimal(cells) => {
                let mut floats = py.detach(|| cells.f64s());
                for (row, value) in floats.iter_mut().enumerate() {
                    if !column.has(row) {
                        *value = f64::NAN;
                    }
                }
                floats.into_pyarray(py).into_any()
            }
            Cells::Float(cells) => cells.clone().into_pyarray(py).into_any(),
            // numpy has no integer type with missing values.
            #[expect(clippy::cast_precision_loss, reason = "as numpy itself does")]
            Cells::Int(cells) if column.present.is_some() => {
                let cells = column.present(cells);
                let floats: Vec<f64> = cells
                    .map(|cell| cell.map_or(f64::NAN, |cell| cell as f64))
                    .collect();
                floats.into_pyarray(py).into_any()
            }
            Cells::Int(cells) => cells.clone().into_pyarray(py).into_any(),
            Cells::Bool(cells) => cells.clone().into_pyarray(py).into_any(),
            Cells::Time(cells) => times(
                py,
                cells
                    .iter()
                    .enumerate()
                    .map(|(row, at)| if column.has(row) { *at } else { i64::MIN }),
            ),
        })
    }

    /// Converts an integer column with missing cells to its values and the mask of missing cells. `None` for other
    /// columns.
    fn integers<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        imports::numpy(py)?;
        let column = self.column(py, name)?;
        let (Cells::Int(cells), Some(present)) = (&column.cells, &column.present) else {
            return Ok(None);
        };
        let missing: Vec<bool> = present.iter().map(|present| !present).collect();
        Ok(Some((
            cells.clone().into_pyarray(py).into_any(),
            missing.into_pyarray(py).into_any(),
        )))
    }

    /// Converts a text column to int32 codes, which are indexes into distinct names. The code of a missing cell is -1.
    fn codes<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
        if name == COIN
            && let Some(coins) = self.columns(py)?.coins()
        {
            return coded(py, &coins);
        }
        coded(py, self.column(py, name)?)
    }

    /// Returns the same rows with fewer columns. The columns in `group` are reduced to those in `wanted`, in that
    /// order, without missing cells.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments from Python come by value"
    )]
    fn keeping(&self, py: Python<'_>, group: Vec<String>, wanted: Vec<String>) -> PyResult<Self> {
        let columns = self.columns(py)?.clone();
        Ok(columns.keeping(&group, &wanted).into())
    }

    /// Selects every `step`th row, beginning with row `start`. Returns `length` rows.
    fn slice(&self, py: Python<'_>, start: isize, step: isize, length: usize) -> PyResult<Self> {
        let columns = self.columns(py)?;
        let mut rows = Vec::with_capacity(length.min(columns.rows));
        let mut at = start;
        for _ in 0..length {
            let row = usize::try_from(at).ok().filter(|&row| row < columns.rows);
            rows.push(row.ok_or_else(|| PyIndexError::new_err("row out of range"))?);
            at = at.saturating_add(step);
        }
        Ok(py.detach(|| columns.take(&rows)).into())
    }

    /// Converts the rows to an object with `__arrow_c_stream__`. Prices and amounts are float64, or exact as
    /// `decimal128`. Calls `seen` with the number of columns done.
    #[pyo3(signature = (exact, seen=None))]
    fn arrow(
        &self,
        py: Python<'_>,
        exact: bool,
        seen: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ArrowTable> {
        let content = Arc::clone(&self.content);
        let money = if exact { Money::Exact } else { Money::Float };
        let batch = if seen.is_none() && self.__len__() < LARGE {
            py.detach(|| record_batch(content.columns(), money))
        } else {
            watched(py, &Arc::default(), seen, move |progress| {
                Ok(record_batch_reporting(content.columns(), money, progress))
            })?
        };
        Ok(ArrowTable { batch: batch? })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = other.py();
        let Ok(other) = other.cast::<Self>() else {
            return Ok(false);
        };
        Ok(other.get().columns(py)? == self.columns(py)?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let table = slf.get();
        let columns = table.columns(py)?;
        let (kinds, names) = (table.kinds(py)?, table.names(py)?);
        let state = PyList::empty(py);
        for ((column, kind), name) in columns.columns.iter().zip(kinds).zip(names) {
            let cells = match &column.cells {
                Cells::Text(cells) => {
                    let parts = (cells.codes().to_vec(), cells.names().to_vec());
                    parts.into_pyobject(py)?.into_any()
                }
                Cells::Decimal(cells) => {
                    let texts: Vec<String> = cells.iter().map(|cell| cell.to_string()).collect();
                    texts.into_pyobject(py)?.into_any()
                }
                Cells::Float(cells) => cells.clone().into_pyobject(py)?.into_any(),
                Cells::Int(cells) | Cells::Time(cells) => {
                    cells.clone().into_pyobject(py)?.into_any()
                }
                Cells::Bool(cells) => cells.clone().into_pyobject(py)?.into_any(),
            };
            state.append((name, kind, cells, column.present.clone()))?;
        }
        Ok((slf.get_type().getattr("_restore")?, (state, columns.rows)))
    }

    #[staticmethod]
    fn _restore(state: &Bound<'_, PyList>, rows: usize) -> PyResult<Self> {
        let damaged = || PyValueError::new_err("damaged pickle");
        let mut columns = Vec::with_capacity(state.len());
        for item in state {
            let item = item.cast::<PyTuple>()?.clone();
            let (name, kind): (String, String) =
                (item.get_item(0)?.extract()?, item.get_item(1)?.extract()?);
            let cells = item.get_item(2)?;
            let cells = match kind.as_str() {
                "text" => {
                    let (codes, names): (Vec<u32>, Vec<String>) = cells.extract()?;
                    Cells::Text(Labels::from_parts(&codes, &names).ok_or_else(damaged)?)
                }
                "decimal" => {
                    let texts: Vec<String> = cells.extract()?;
                    let parsed = texts
                        .iter()
                        .map(|text| text.parse::<Decimal>().map_err(|_| damaged()));
                    Cells::Decimal(parsed.collect::<PyResult<_>>()?)
                }
                "float" => Cells::Float(cells.extract()?),
                "int" => Cells::Int(cells.extract()?),
                "time" => Cells::Time(cells.extract()?),
                "bool" => Cells::Bool(cells.extract()?),
                _ => return Err(damaged()),
            };
            let present: Option<Vec<bool>> = item.get_item(3)?.extract()?;
            if cells.len() != rows
                || present
                    .as_ref()
                    .is_some_and(|present| present.len() != rows)
            {
                return Err(damaged());
            }
            columns.push(Column {
                name,
                cells,
                present,
            });
        }
        Ok(Columns { columns, rows }.into())
    }
}

/// Converts a text column to codes, which are indexes into distinct names.
fn coded<'py>(py: Python<'py>, column: &Column) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
    imports::numpy(py)?;
    let Cells::Text(cells) = &column.cells else {
        return Err(PyValueError::new_err(format!(
            "{} is not a text column",
            column.name
        )));
    };
    let codes: Vec<i32> = column
        .present(cells.codes())
        .map(|code| code.map_or(-1, |code| i32::try_from(code).unwrap_or(i32::MAX)))
        .collect();
    Ok((codes.into_pyarray(py).into_any(), cells.names().to_vec()))
}

/// The function and arguments with which `pickle` recreates a table.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyList>, usize));

/// Converts epoch milliseconds to a numpy array of `datetime64[ms]`.
pub(crate) fn times(py: Python<'_>, millis: impl Iterator<Item = i64>) -> Bound<'_, PyAny> {
    let cells: Vec<Datetime<units::Milliseconds>> = millis.map(Datetime::from).collect();
    cells.into_pyarray(py).into_any()
}
