//! Tables in: columns of any Arrow-capable table or mapping, read cell by cell into what the engine observes.
//!
//! Nothing is guessed: a cell that is not what its column holds is refused with table, column and row.

use std::borrow::Cow;
use std::slice;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use numpy::{PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};
use rust_decimal::Decimal;

use crate::api::BadQuery;
use crate::engine::{OpenInterestUnit, TableFault};
use crate::model::{
    self, Column, Kind, Millis, ObservedBar, ObservedLiquidations, ObservedOpenInterest,
    ObservedOpenInterestUsd, ObservedOrder, ObservedPosition, Record, ShortDecimal, Side, Value,
    nearest_f64, read_span,
};
use crate::python::error::{bad_query, bad_table};
use crate::python::ingest::cells::{Cell, Cells, kind_of, object_cell, settle};
use crate::python::rows::arrow_validation::{guarded, vouched};
use crate::python::rows::columns::Columns;
use crate::python::rows::deferred_drop::Unwaited;
use crate::python::rows::rows::Table;
use crate::python::runtime::imports;
use crate::python::runtime::signals::{Seen, look_around, look_back, look_on};
use crate::wire::{exact_decimal, nearest_double};

/// One table, as columns that are read on demand.
pub(crate) struct Reader<'py> {
    pub(crate) py: Python<'py>,
    table: &'static str,
    source: Source<'py>,
    /// Where each row stands in what this is a part of.
    numbers: Option<Vec<usize>>,
    is_looked_over: bool,
}

enum Source<'py> {
    Empty,
    Mapping(Bound<'py, PyDict>),
    Arrow(Vec<RecordBatch>, SchemaRef),
    Own(Columns),
}

impl<'py> Reader<'py> {
    pub(crate) fn new(table: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let source = if object.is_none() {
            Source::Empty
        } else if let Ok(own) = object.cast::<Table>() {
            Source::Own(own.get().columns(py)?.clone())
        } else if let Ok(mapping) = object.cast::<PyDict>() {
            Source::Mapping(mapping.clone())
        } else {
            let read = || Ok::<_, PyErr>(object.extract::<AnyRecordBatch>()?.into_table()?);
            let read = guarded(read).map_err(|error| {
                let message = format!("cannot be read as a table: {error}");
                bad_query(py, &BadQuery::new(table, message, ALLOWED))
            })?;
            let (batches, schema) = read.into_inner();
            Source::Arrow(batches, schema)
        };
        Ok(Self {
            py,
            table,
            source,
            numbers: None,
            is_looked_over: false,
        })
    }

    /// The same as a part of something: faults tell where rows stand in that.
    pub(crate) fn numbered(self, numbers: Vec<usize>) -> Self {
        Self {
            numbers: Some(numbers),
            ..self
        }
    }

    /// The same to be looked over alone: what is read of it is not kept.
    pub(crate) fn looked_over(self) -> Self {
        Self {
            is_looked_over: true,
            ..self
        }
    }

    /// Whether it is looked over, and what is read of it is not kept.
    pub(crate) fn is_looked_over(&self) -> bool {
        self.is_looked_over
    }

    pub(crate) fn column(&self, name: &'static str) -> PyResult<Option<Cells>> {
        match &self.source {
            Source::Empty => Ok(None),
            Source::Own(columns) => Ok(columns
                .columns
                .iter()
                .find(|column| column.name == name)
                .cloned()
                .map(Cells::Own)),
            Source::Arrow(batches, schema) => {
                let fields = schema.fields().iter().enumerate();
                let mut places = fields.filter(|(_, field)| field.name() == name);
                let place = places.next();
                if places.next().is_some() {
                    return Err(self.refuse(name, "stands twice"));
                }
                let Some((place, field)) = place else {
                    return Ok(None);
                };
                let columns = batches
                    .iter()
                    .filter_map(|batch| batch.columns().get(place));
                let chunks: Vec<ArrayRef> = columns.cloned().collect();
                self.settled(name, &chunks, field.data_type()).map(Some)
            }
            Source::Mapping(mapping) => match mapping.get_item(name)? {
                Some(object) => self.cells(name, &object).map(Some),
                None => Ok(None),
            },
        }
    }

    /// The names of the columns there are.
    fn names(&self) -> Vec<String> {
        match &self.source {
            Source::Empty => Vec::new(),
            Source::Own(columns) => {
                let columns = columns.columns.iter();
                columns.map(|column| column.name.clone()).collect()
            }
            Source::Arrow(_, schema) => {
                let fields = schema.fields().iter();
                fields.map(|field| field.name().clone()).collect()
            }
            Source::Mapping(mapping) => {
                let names = mapping.keys().into_iter();
                names.map(|name| name.to_string()).collect()
            }
        }
    }

    /// Whether there is a column of this name.
    pub(crate) fn has(&self, name: &'static str) -> PyResult<bool> {
        Ok(match &self.source {
            Source::Empty => false,
            Source::Own(columns) => columns.columns.iter().any(|column| column.name == name),
            Source::Arrow(_, schema) => schema.fields().iter().any(|field| field.name() == name),
            Source::Mapping(mapping) => mapping.contains(name)?,
        })
    }

    /// The cells of a column that came over the Arrow interface, none of which is read before all are vouched for.
    fn settled(&self, name: &'static str, chunks: &[ArrayRef], kind: &DataType) -> PyResult<Cells> {
        let array = vouched(chunks, kind).map_err(|fault| {
            let message = format!("is damaged: {}", fault.why);
            match fault.row {
                Some(row) => self.fault(name, row, message),
                None => self.refuse(name, &message),
            }
        })?;
        guarded(|| settle(&array))
            .map(Cells::Arrow)
            .map_err(|why| self.refuse(name, &why))
    }

    /// The cells of one column of a mapping.
    fn cells(&self, name: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Cells> {
        imports::numpy(self.py)?;
        if let Ok(array) = object.extract::<PyReadonlyArray1<'_, f64>>() {
            return Ok(Cells::Doubles(array.as_array().to_vec()));
        }
        if let Ok(array) = object.extract::<PyReadonlyArray1<'_, i64>>() {
            return Ok(Cells::Ints(array.as_array().to_vec()));
        }
        if let Ok(array) = object.cast::<numpy::PyUntypedArray>() {
            if array.ndim() != 1 {
                return Err(self.refuse(name, &format!("has {} dimensions, not one", array.ndim())));
            }
            if array.dtype().kind() == b'M' {
                let millis = array
                    .call_method1("astype", ("datetime64[ms]",))?
                    .call_method1("astype", ("int64",))?;
                let millis = millis.cast_into::<numpy::PyArray1<i64>>()?;
                return Ok(Cells::Instants(millis.readonly().as_array().to_vec()));
            }
            if array.dtype().kind() == b'f' && array.dtype().itemsize() <= 4 {
                let singles = array
                    .call_method1("astype", ("float32",))?
                    .cast_into::<numpy::PyArray1<f32>>()?;
                let singles: Vec<_> = singles
                    .readonly()
                    .as_array()
                    .iter()
                    .map(|&value| Cell::Single(value))
                    .collect();
                return Ok(Cells::Objects(singles.into()));
            }
        } else if object.hasattr("__arrow_c_array__")? || object.hasattr("__arrow_c_stream__")? {
            let read = || Ok::<_, PyErr>(object.extract::<AnyArray>()?.into_chunked_array()?);
            let read = guarded(read)
                .map_err(|why| self.refuse(name, &format!("cannot be read: {why}")))?;
            let (chunks, field) = read.into_inner();
            return self.settled(name, &chunks, field.data_type());
        }
        if object.is_instance_of::<PyString>() {
            return Err(self.refuse(name, "is one text, not a column"));
        }
        let items = object
            .try_iter()
            .map_err(|_| self.refuse(name, &format!("is one {}, not a column", kind_of(object))))?;
        let mut cells = Unwaited::from(Vec::new());
        for (row, item) in items.enumerate() {
            look_around(self.py, row)?;
            cells.push(object_cell(&item?)?);
        }
        Ok(Cells::Objects(cells))
    }

    fn refuse(&self, column: &str, why: &str) -> PyErr {
        bad_query(
            self.py,
            &BadQuery::new(self.table, format!("column {column:?} {why}"), ALLOWED),
        )
    }

    /// These columns, all of one length; a required one that is missing is refused.
    pub(crate) fn columns(
        &self,
        wanted: &'static [Column],
    ) -> PyResult<(Vec<Option<Cells>>, usize)> {
        let mut made = Vec::with_capacity(wanted.len());
        let mut first: Option<(&str, usize)> = None;
        if matches!(self.source, Source::Empty) {
            return Ok((made, 0));
        }
        for column in wanted {
            let name = column.name;
            let cells = self.column(name)?;
            if let Some(cells) = &cells {
                let (leader, rows) = *first.get_or_insert((name, cells.len()));
                if cells.len() != rows {
                    let why = format!("has {} rows where {leader:?} has {rows}", cells.len());
                    return Err(self.refuse(name, &why));
                }
            } else if !column.optional {
                return Err(self.missing(name, wanted));
            }
            made.push(cells);
        }
        Ok((made, first.map_or(0, |(_, rows)| rows)))
    }

    fn missing(&self, name: &str, wanted: &[Column]) -> PyErr {
        let names = |optional: bool| {
            let columns = wanted.iter().filter(|column| column.optional == optional);
            let names: Vec<_> = columns.map(|column| column.name).collect();
            names.join(", ")
        };
        let allowed = format!(
            "the columns {}, and optionally {}",
            names(false).replace("open_interest", "open_interest or open_interest_usd"),
            names(true)
        );
        let either = match name {
            "open_interest" => ", and so is \"open_interest_usd\"",
            _ => "",
        };
        let there = self.names();
        let there = match there.split_at_checked(SHOWN) {
            None if there.is_empty() => String::new(),
            None => format!(" (there are {})", there.join(", ")),
            Some((some, _)) => format!(" (there are {} and others)", some.join(", ")),
        };
        let what = format!("column {name:?} is missing{either}{there}");
        bad_query(self.py, &BadQuery::new(self.table, what, allowed))
    }

    /// Refuses a column of times that are plainly epoch seconds, be it all of them or some beside later instants.
    pub(crate) fn not_seconds(
        &self,
        column: &'static str,
        cells: &Cells,
        rows: usize,
    ) -> PyResult<()> {
        let (mut first, mut all, mut later) = (None, true, false);
        for row in 0..rows {
            let cell = cells.at(row);
            let (at, number) = match cell {
                Cell::Int(at) => (at, true),
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the fraction does not matter here"
                )]
                Cell::Float(at) if !at.is_nan() => (at as i64, true),
                Cell::Instant(at) => (at, false),
                _ if cell.is_missing() => continue,
                // A text names its instant, or is refused where it is read.
                _ => (SECONDS.end, false),
            };
            if number && SECONDS.contains(&at) {
                first = first.or(Some(row));
            } else {
                all = false;
                later |= at >= SECONDS.end;
            }
        }
        match first {
            Some(row) if all || later => {
                let shown = cells.at(row).shown();
                let what = if all {
                    format!("{shown} and all others look")
                } else {
                    format!("{shown} looks")
                };
                let message = format!("{what} like epoch seconds; epoch milliseconds are meant");
                Err(self.fault(column, row, message))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn fault(&self, column: &'static str, row: usize, message: String) -> PyErr {
        bad_table(
            self.py,
            &TableFault {
                table: self.table,
                column,
                row: (self.numbers.as_ref())
                    .and_then(|numbers| numbers.get(row).copied())
                    .unwrap_or(row),
                message,
            },
        )
    }

    pub(crate) fn text<'c>(
        &self,
        column: &'static str,
        cells: &'c Cells,
        row: usize,
    ) -> PyResult<Cow<'c, str>> {
        match cells.at(row) {
            Cell::Text(text) if !text.trim().is_empty() => Ok(text),
            cell => Err(self.fault(column, row, format!("{} is not a name", cell.shown()))),
        }
    }

    pub(crate) fn side(&self, column: &'static str, cells: &Cells, row: usize) -> PyResult<Side> {
        let spelled = self.text(column, cells, row)?;
        Side::read(spelled.trim()).ok_or_else(|| {
            let message = format!("{spelled:?} is not a side; allowed: \"LONG\" or \"SHORT\"");
            self.fault(column, row, message)
        })
    }

    pub(crate) fn decimal(
        &self,
        column: &'static str,
        cells: &Cells,
        row: usize,
    ) -> PyResult<Decimal> {
        let cell = cells.at(row);
        let made = match &cell {
            Cell::Text(text) => exact_decimal(text),
            Cell::Exact(value) => Ok(*value),
            Cell::Int(value) => Ok(Decimal::from(*value)),
            // A whole number is written with a decimal.
            Cell::Float(value) if value.is_finite() => ShortDecimal::from_f64(*value)
                .map(ShortDecimal::decimal)
                .filter(|short| short.scale() > 0)
                .map_or_else(|| exact_decimal(&format!("{value:?}")), Ok),
            Cell::Single(value) if value.is_finite() => exact_decimal(&format!("{value:?}")),
            _ => Err("not a number".to_owned()),
        };
        made.map_err(|why| self.fault(column, row, format!("{}: {why}", cell.shown())))
    }

    pub(crate) fn float(&self, column: &'static str, cells: &Cells, row: usize) -> PyResult<f64> {
        let cell = cells.at(row);
        match &cell {
            Cell::Float(value) => Ok(*value),
            Cell::Single(value) => Ok(f64::from(*value)),
            #[expect(
                clippy::cast_precision_loss,
                reason = "the double nearest to the integer is what is meant"
            )]
            Cell::Int(value) => Ok(*value as f64),
            Cell::Exact(value) => Ok(nearest_f64(*value)),
            Cell::Text(text) => nearest_double(text)
                .map_err(|why| self.fault(column, row, format!("{}: {why}", cell.shown()))),
            _ => Err(self.fault(column, row, format!("{} is not a number", cell.shown()))),
        }
    }

    pub(crate) fn instant(
        &self,
        column: &'static str,
        cells: &Cells,
        row: usize,
    ) -> PyResult<Millis> {
        let cell = cells.at(row);
        let at = match &cell {
            Cell::Int(at) | Cell::Instant(at) => Some(*at),
            // Whole milliseconds in a float column, as pandas makes of integers beside missing values.
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the value was just shown to be a whole number of 53 bits"
            )]
            Cell::Float(at) if at.fract() == 0.0 && at.abs() < 9e15 => Some(*at as i64),
            Cell::Text(text) => Millis::read(text.trim()).map(|at| at.0),
            _ => None,
        };
        at.filter(|at| at.unsigned_abs() <= FURTHEST)
            .map(Millis)
            .ok_or_else(|| self.fault(column, row, format!("{} is not {INSTANT}", cell.shown())))
    }

    pub(crate) fn span(&self, column: &'static str, cells: &Cells, row: usize) -> PyResult<i64> {
        let cell = cells.at(row);
        let millis = match &cell {
            Cell::Int(span) | Cell::Span(span) => Some(*span),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the value was just shown to be a whole number of 53 bits"
            )]
            Cell::Float(span) if span.fract() == 0.0 && span.abs() < 9e15 => Some(*span as i64),
            Cell::Text(text) => read_span(text.trim()),
            _ => None,
        };
        let whole = |span: &i64| *span > 0 && *span % Millis::MINUTE == 0;
        millis.filter(whole).ok_or_else(|| {
            let message = format!(
                "{} is not a bar length (whole minutes: milliseconds, a timedelta, or such as \"5m\")",
                cell.shown()
            );
            self.fault(column, row, message)
        })
    }
}

/// No further from the epoch than Python's datetimes reach on either side; microseconds of our time lie beyond.
pub(crate) const FURTHEST: u64 = 62_000_000_000_000;

/// Epoch seconds from 2001 to 5138; a whole table of milliseconds from January 1970 to 1973 is not meant, nor are some of
/// them beside later ones. `liqdata.calls.arguments` judges single instants alike.
pub(crate) const SECONDS: std::ops::Range<i64> = 1_000_000_000..100_000_000_000;
const INSTANT: &str = "an instant (epoch milliseconds, a datetime, or ISO 8601 text)";
/// How many columns are named where one is missing.
const SHOWN: usize = 12;
const ALLOWED: &str = "a DataFrame, an Arrow table, or a mapping of columns of one length";

/// Epoch milliseconds of a text that names an instant, floored; `None` where it names none.
#[pyfunction]
pub(crate) fn instant(text: &str) -> Option<i64> {
    Millis::read(text.trim()).map(|at| at.0)
}

/// Milliseconds of a text such as `5m`, `4h` or `1d`; `None` where it is no such length.
#[pyfunction]
pub(crate) fn span(text: &str) -> Option<i64> {
    read_span(text.trim())
}

/// The cells of a row, one after the other.
struct Line<'a, 'py> {
    reader: &'a Reader<'py>,
    columns: slice::Iter<'a, Option<Cells>>,
    row: usize,
}

impl model::Source for Line<'_, '_> {
    type Fault = PyErr;

    fn next<T: Value>(&mut self, column: &'static Column) -> PyResult<T> {
        let (reader, row, name) = (self.reader, self.row, column.name);
        let cells = self.columns.next().and_then(Option::as_ref);
        let cells = cells.filter(|cells| !(T::OPTIONAL && cells.at(row).is_missing()));
        let Some(cells) = cells else {
            return T::of(model::Cell::Absent)
                .ok_or_else(|| reader.fault(name, row, "is missing".to_owned()));
        };
        let text;
        let cell = match T::KIND {
            Kind::Text => {
                text = reader.text(name, cells, row)?;
                model::Cell::Text(&text)
            }
            Kind::Side => model::Cell::Side(reader.side(name, cells, row)?),
            Kind::Decimal => model::Cell::Decimal(reader.decimal(name, cells, row)?),
            Kind::Float => model::Cell::Float(reader.float(name, cells, row)?),
            // The only whole numbers of what is observed are lengths of bars.
            Kind::Int => model::Cell::Int(reader.span(name, cells, row)?),
            Kind::Time => model::Cell::Time(reader.instant(name, cells, row)?),
            Kind::Bool => model::Cell::Absent,
        };
        T::of(cell).ok_or_else(|| {
            let shown = cells.at(row).shown();
            reader.fault(name, row, format!("{shown} is not allowed"))
        })
    }
}

fn rows<R: Record + Send + 'static>(
    table: &'static str,
    object: &Bound<'_, PyAny>,
    seen: Seen<'_, '_>,
) -> PyResult<Vec<R>> {
    read(&Reader::new(table, object)?, seen)
}

fn read<R: Record + Send + 'static>(reader: &Reader<'_>, seen: Seen<'_, '_>) -> PyResult<Vec<R>> {
    let (columns, rows) = reader.columns(R::COLUMNS)?;
    for (column, cells) in R::COLUMNS.iter().zip(&columns) {
        if let (Kind::Time, Some(cells)) = (column.kind, cells) {
            reader.not_seconds(column.name, cells, rows)?;
        }
    }
    let line = |row| Line {
        reader,
        columns: columns.iter(),
        row,
    };
    let mut read = Unwaited::from(Vec::with_capacity(rows));
    for row in 0..rows {
        look_on(reader.py, row, seen)?;
        read.push(R::read(&mut line(row))?);
    }
    look_back(rows, seen)?;
    Ok(read.taken())
}

/// Liquidation orders.
pub(crate) fn orders(
    object: &Bound<'_, PyAny>,
    seen: Seen<'_, '_>,
) -> PyResult<Vec<ObservedOrder>> {
    rows("orders", object, seen)
}

/// Price bars.
pub(crate) fn bars(object: &Bound<'_, PyAny>, seen: Seen<'_, '_>) -> PyResult<Vec<ObservedBar>> {
    rows("bars", object, seen)
}

/// Positions of single accounts.
pub(crate) fn positions(object: &Bound<'_, PyAny>) -> PyResult<Vec<ObservedPosition>> {
    rows("positions", object, None)
}

/// The fault of a row of a table.
pub(crate) fn fault_of(
    py: Python<'_>,
    table: &'static str,
    (row, column, message): (usize, &'static str, String),
) -> PyErr {
    let fault = TableFault {
        table,
        column,
        row,
        message,
    };
    bad_table(py, &fault)
}

/// What was liquidated period by period.
pub(crate) fn liquidations(
    object: &Bound<'_, PyAny>,
    seen: Seen<'_, '_>,
) -> PyResult<Vec<ObservedLiquidations>> {
    rows("liquidations", object, seen)
}

/// Whether a table of open interest counts in USD; one that says both is refused where it is read.
pub(crate) fn is_in_usd(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Reader::new("open_interest", object)?.has(OpenInterestUnit::Usd.column())
}

/// Open interest, and what its numbers count.
pub(crate) fn open_interest(
    object: &Bound<'_, PyAny>,
    seen: Seen<'_, '_>,
) -> PyResult<(Vec<ObservedOpenInterest>, OpenInterestUnit)> {
    let reader = Reader::new("open_interest", object)?;
    match unit_of(&reader)? {
        OpenInterestUnit::Usd => {
            let rows: Vec<ObservedOpenInterestUsd> = read(&reader, seen)?;
            let rows = rows.into_iter().map(|row| ObservedOpenInterest {
                symbol: row.symbol,
                exchange: row.exchange,
                timestamp: row.timestamp,
                open_interest: row.open_interest_usd,
            });
            Ok((rows.collect(), OpenInterestUnit::Usd))
        }
        OpenInterestUnit::Base => Ok((read(&reader, seen)?, OpenInterestUnit::Base)),
    }
}

/// What the numbers of a table of open interest count; one that says both is refused.
pub(crate) fn unit_of(reader: &Reader<'_>) -> PyResult<OpenInterestUnit> {
    let [base, usd] = [OpenInterestUnit::Base, OpenInterestUnit::Usd].map(OpenInterestUnit::column);
    match (reader.has(base)?, reader.has(usd)?) {
        (true, true) => {
            let why = format!("stands beside {usd:?}; a table has one of them");
            Err(reader.refuse(base, &why))
        }
        (false, true) => Ok(OpenInterestUnit::Usd),
        (..) => Ok(OpenInterestUnit::Base),
    }
}
