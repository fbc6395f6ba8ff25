//! Parts of a long table, as the columns that were read of them when they were looked over: what is held of them until it is kept
//! is not read once more.

use std::ops::Range;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::archive::GivenOrders;
use crate::model::{DecimalColumn, Labels, Millis, Side};
use crate::python::ingest::by_column::{GivenBars, GivenInterest};
use crate::python::runtime::imports;

/// A column, or all columns of a table.
pub(crate) trait Rows: Clone {
    /// Adds these rows of another.
    fn add(&mut self, other: &Self, rows: Range<usize>);
    /// These rows, in this order.
    fn pick(&self, rows: &[usize]) -> Self;
    /// Bytes of memory that it holds.
    fn bytes(&self) -> usize;
}

/// Makes a column of the model rows of its own.
macro_rules! column {
    ($column:ty) => {
        impl Rows for $column {
            fn add(&mut self, other: &Self, rows: Range<usize>) {
                self.append(other, rows);
            }

            fn pick(&self, rows: &[usize]) -> Self {
                self.take(rows)
            }

            fn bytes(&self) -> usize {
                Self::bytes(self)
            }
        }
    };
}

column!(Labels);
column!(DecimalColumn);

/// What takes the same room in every row.
trait Even: Copy {}

impl Even for Millis {}
impl Even for Side {}
impl Even for Option<i64> {}

impl<T: Even> Rows for Vec<T> {
    fn add(&mut self, other: &Self, rows: Range<usize>) {
        self.extend_from_slice(other.get(rows).unwrap_or_default());
    }

    fn pick(&self, rows: &[usize]) -> Self {
        let cells = rows.iter().filter_map(|row| self.get(*row).copied());
        cells.collect()
    }

    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

/// A column that not every table has, and every part of a table where one has it.
impl<C: Rows> Rows for Option<C> {
    fn add(&mut self, other: &Self, rows: Range<usize>) {
        if let (Some(column), Some(other)) = (self, other) {
            column.add(other, rows);
        }
    }

    fn pick(&self, rows: &[usize]) -> Self {
        self.as_ref().map(|column| column.pick(rows))
    }

    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, Rows::bytes)
    }
}

/// Makes a table the rows of its columns.
macro_rules! columns {
    ($table:ident: $($column:ident),+) => {
        impl Rows for $table {
            fn add(&mut self, other: &Self, rows: Range<usize>) {
                $(self.$column.add(&other.$column, rows.clone());)+
            }

            #[allow(clippy::needless_update, reason = "only orders have further columns")]
            fn pick(&self, rows: &[usize]) -> Self {
                Self { $($column: self.$column.pick(rows),)+ ..Self::default() }
            }

            fn bytes(&self) -> usize {
                [$(self.$column.bytes()),+].iter().sum()
            }
        }
    };
}

columns!(GivenOrders: exchange, symbol, coin, side, price, qty, value_usd, timestamp, received_at, group_id);
columns!(GivenBars: exchange, symbol, timestamp, interval, open, high, low, close, volume);
columns!(GivenInterest: exchange, symbol, timestamp, open_interest);

/// The columns of a table of a kind.
#[derive(Clone)]
pub(crate) enum Given {
    Orders(GivenOrders),
    Bars(GivenBars),
    OpenInterest(GivenInterest),
}

impl Given {
    /// When each row happened.
    pub(crate) fn timestamps(&self) -> &[Millis] {
        match self {
            Self::Orders(given) => &given.timestamp,
            Self::Bars(given) => &given.timestamp,
            Self::OpenInterest(given) => &given.timestamp,
        }
    }

    fn pick(&self, rows: &[usize]) -> Self {
        match self {
            Self::Orders(given) => Self::Orders(given.pick(rows)),
            Self::Bars(given) => Self::Bars(given.pick(rows)),
            Self::OpenInterest(given) => Self::OpenInterest(given.pick(rows)),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Orders(given) => given.bytes(),
            Self::Bars(given) => given.bytes(),
            Self::OpenInterest(given) => given.bytes(),
        }
    }
}

/// Rows of a part of a table.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct TablePart {
    given: Arc<Given>,
    rows: Range<usize>,
}

impl TablePart {
    /// All rows of a part.
    pub(crate) fn of(given: Given) -> Self {
        let rows = 0..given.timestamps().len();
        let given = Arc::new(given);
        Self { given, rows }
    }

    /// The columns that hold its rows, and which of theirs these are.
    pub(crate) fn share(&self) -> Share {
        (Arc::clone(&self.given), self.rows.clone())
    }
}

/// Some rows of columns.
pub(crate) type Share = (Arc<Given>, Range<usize>);

/// The rows of parts of one table, one part after the other; `None` of no parts, and of parts of several kinds.
pub(crate) fn joined(parts: Vec<Share>) -> Option<Given> {
    let (first, _) = parts.first()?;
    let mut joined = first.pick(&[]);
    for (given, rows) in parts {
        match (&mut joined, &*given) {
            (Given::Orders(joined), Given::Orders(given)) => joined.add(given, rows),
            (Given::Bars(joined), Given::Bars(given)) => joined.add(given, rows),
            (Given::OpenInterest(joined), Given::OpenInterest(given)) => joined.add(given, rows),
            _ => return None,
        }
    }
    Some(joined)
}

#[pymethods]
impl TablePart {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Bytes of memory that it holds.
    #[getter]
    fn nbytes(&self) -> usize {
        self.given.bytes()
    }

    /// The day of each row.
    fn days<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        imports::numpy(py)?;
        let times = self.given.timestamps().get(self.rows.clone());
        Ok(days(py, times.unwrap_or_default()))
    }

    /// So many rows from one on, which are no copy.
    fn slice(&self, first: usize, count: usize) -> Self {
        let at = |rows: usize| self.rows.start.saturating_add(rows).min(self.rows.end);
        Self {
            given: Arc::clone(&self.given),
            rows: at(first)..at(first.saturating_add(count)),
        }
    }

    /// The rows for which it is told that they are wanted.
    fn filter(&self, py: Python<'_>, wanted: &Bound<'_, PyArray1<bool>>) -> PyResult<Self> {
        imports::numpy(py)?;
        let wanted = wanted.readonly();
        let rows = self.rows.clone().zip(wanted.as_array());
        let rows = rows.filter_map(|(row, is_wanted)| is_wanted.then_some(row));
        Ok(Self::of(self.given.pick(&rows.collect::<Vec<_>>())))
    }
}

/// The day of each of these instants.
pub(crate) fn days<'py>(py: Python<'py>, times: &[Millis]) -> Bound<'py, PyArray1<i64>> {
    let days = times.iter().map(|at| at.0.div_euclid(Millis::DAY));
    days.collect::<Vec<i64>>().into_pyarray(py)
}
