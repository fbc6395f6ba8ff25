//! Tables in by columns, for who keeps columns: as [`tables`](crate::python::ingest::tables) reads their rows, cell by cell and with the same
//! faults, and without a row for each.

use std::sync::LazyLock;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::prelude::*;

use crate::archive::GivenOrders;
use crate::model::{
    Column, DecimalColumn, Kind, Labels, Millis, ObservedBar, ObservedOpenInterest, ObservedOrder,
    Record, Side,
};
use crate::python::ingest::cells::Cells;
use crate::python::ingest::tables::{FURTHEST, Reader, SECONDS};
use crate::python::runtime::signals::look_around;

/// Price bars as a table tells them.
#[derive(Clone, Default)]
pub(crate) struct GivenBars {
    /// The exchange of each row, if the table has the column.
    pub(crate) exchange: Option<Labels>,
    pub(crate) symbol: Labels,
    pub(crate) timestamp: Vec<Millis>,
    /// How long each is, where the table says so.
    pub(crate) interval: Vec<Option<i64>>,
    pub(crate) open: DecimalColumn,
    pub(crate) high: DecimalColumn,
    pub(crate) low: DecimalColumn,
    pub(crate) close: DecimalColumn,
    pub(crate) volume: DecimalColumn,
}

/// Readings of open interest in base units as a table tells them; an exchange is blank where it does not say it.
#[derive(Clone, Default)]
pub(crate) struct GivenInterest {
    pub(crate) exchange: Labels,
    pub(crate) symbol: Labels,
    pub(crate) timestamp: Vec<Millis>,
    pub(crate) open_interest: DecimalColumn,
}

/// Liquidation orders; an exchange is blank where a table has no column of it, and in rows of `is_somebodys` that do not say it.
pub(crate) fn orders(reader: &Reader<'_>, is_somebodys: bool) -> PyResult<GivenOrders> {
    let known: &[Column] = if is_somebodys || !reader.has(EXCHANGE.name)? {
        &OF_SOMEBODY
    } else {
        ObservedOrder::COLUMNS
    };
    let mut columns = Columns::of(reader, known)?;
    let timestamp = columns.instants("timestamp")?;
    let given = GivenOrders {
        exchange: columns.names("exchange")?,
        symbol: columns.names("symbol")?,
        side: columns.sides("side")?,
        price: columns.decimals("price")?,
        qty: columns.decimals("qty")?,
        value_usd: columns.decimals("value_usd")?,
        coin: columns
            .has("coin")
            .then(|| columns.names("coin"))
            .transpose()?,
        received_at: columns.some_instants("received_at", &timestamp)?,
        group_id: columns
            .has("group_id")
            .then(|| columns.names("group_id"))
            .transpose()?,
        timestamp,
        ..GivenOrders::default()
    };
    columns.end()?;
    Ok(given)
}

/// Price bars.
pub(crate) fn bars(reader: &Reader<'_>) -> PyResult<GivenBars> {
    let exchange = exchanges(reader)?;
    let mut columns = Columns::of(reader, ObservedBar::COLUMNS)?;
    let timestamp = columns.instants("timestamp")?;
    let given = GivenBars {
        exchange,
        symbol: columns.names("symbol")?,
        interval: columns.lengths(&timestamp)?,
        open: columns.doubles("open")?,
        high: columns.doubles("high")?,
        low: columns.doubles("low")?,
        close: columns.doubles("close")?,
        volume: columns.doubles("volume")?,
        timestamp,
    };
    columns.end()?;
    Ok(given)
}

/// Open interest in base units.
pub(crate) fn open_interest(reader: &Reader<'_>) -> PyResult<GivenInterest> {
    let mut columns = Columns::of(reader, ObservedOpenInterest::COLUMNS)?;
    let given = GivenInterest {
        symbol: columns.names("symbol")?,
        exchange: columns.names("exchange")?,
        timestamp: columns.instants("timestamp")?,
        open_interest: columns.doubles("open_interest")?,
    };
    columns.end()?;
    Ok(given)
}

/// The exchanges that a table names row by row, where it does.
fn exchanges(reader: &Reader<'_>) -> PyResult<Option<Labels>> {
    let Some(cells) = reader.column(EXCHANGE.name)? else {
        return Ok(None);
    };
    let mut columns = Columns {
        reader,
        known: std::slice::from_ref(&EXCHANGE),
        rows: cells.len(),
        cells: vec![Some(cells)],
        first: None,
    };
    let names = columns.names(EXCHANGE.name)?;
    columns.end()?;
    Ok(Some(names))
}

/// The columns of orders that need not say whose they are.
static OF_SOMEBODY: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let columns = ObservedOrder::COLUMNS.iter().copied();
    let columns = columns.map(|column| Column {
        optional: column.optional || column.name == EXCHANGE.name,
        ..column
    });
    columns.collect()
});

/// The column of bars that names their exchanges.
static EXCHANGE: Column = Column {
    name: "exchange",
    kind: Kind::Text,
    optional: false,
    unit: "",
    meaning: "",
};

/// The columns of a table on their way.
struct Columns<'a, 'py> {
    reader: &'a Reader<'py>,
    known: &'static [Column],
    cells: Vec<Option<Cells>>,
    rows: usize,
    /// The first fault, by its row and the place of its column: who reads row by row meets that one.
    first: Option<(usize, usize, PyErr)>,
}

impl<'a, 'py> Columns<'a, 'py> {
    fn of(reader: &'a Reader<'py>, known: &'static [Column]) -> PyResult<Self> {
        let (columns, rows) = reader.columns(known)?;
        for (column, cells) in known.iter().zip(&columns) {
            if let (Kind::Time, Some(cells)) = (column.kind, cells)
                && !are_no_seconds(cells)
            {
                reader.not_seconds(column.name, cells, rows)?;
            }
        }
        Ok(Self {
            reader,
            known,
            cells: columns,
            rows,
            first: None,
        })
    }

    fn has(&self, name: &str) -> bool {
        self.cells(name).is_some()
    }

    fn cells(&self, name: &str) -> Option<&Cells> {
        let place = self.known.iter().position(|column| column.name == name)?;
        self.cells.get(place)?.as_ref()
    }

    /// Hands every cell of a column to `take`, up to one that it does not take.
    fn each(
        &mut self,
        name: &'static str,
        mut take: impl FnMut(&Reader<'py>, &Cells, usize) -> PyResult<()>,
    ) -> PyResult<()> {
        let place = self.known.iter().position(|column| column.name == name);
        let Some(place) = place else {
            return Ok(());
        };
        let Some(Some(cells)) = self.cells.get(place) else {
            return Ok(());
        };
        for row in 0..self.rows {
            look_around(self.reader.py, row)?;
            if let Err(fault) = take(self.reader, cells, row) {
                let before = self.first.as_ref().map(|(row, place, _)| (*row, *place));
                if before.is_none_or(|before| (row, place) < before) {
                    self.first = Some((row, place, fault));
                }
                break;
            }
        }
        Ok(())
    }

    /// Raises the first fault.
    fn end(self) -> PyResult<()> {
        self.first.map_or(Ok(()), |(_, _, fault)| Err(fault))
    }

    /// Names; blank where one may be missing and is.
    fn names(&mut self, name: &'static str) -> PyResult<Labels> {
        let mut names = Labels::with_capacity(self.rows);
        let optional = self
            .known
            .iter()
            .any(|column| column.name == name && column.optional);
        let texts = self.cells(name).and_then(Texts::of);
        match texts {
            Some(texts) => self.each(name, |reader, cells, row| {
                let known = names.names().len();
                names.push(texts.at(row));
                if names.names().len() > known {
                    reader.text(name, cells, row)?;
                }
                Ok(())
            })?,
            None => self.each(name, |reader, cells, row| {
                if optional && cells.at(row).is_missing() {
                    names.push("");
                } else {
                    names.push(&reader.text(name, cells, row)?);
                }
                Ok(())
            })?,
        }
        if !self.has(name) {
            names = (0..self.rows).map(|_| "").collect();
        }
        Ok(names)
    }

    fn sides(&mut self, name: &'static str) -> PyResult<Vec<Side>> {
        let mut sides = Vec::with_capacity(self.rows);
        // Two spellings, most of them.
        let mut known: Vec<(String, Side)> = Vec::new();
        let texts = self.cells(name).and_then(Texts::of);
        self.each(name, |reader, cells, row| {
            let text = texts.as_ref().map(|texts| texts.at(row));
            let met = text.and_then(|text| known.iter().find(|(spelled, _)| spelled == text));
            if let Some((_, side)) = met {
                sides.push(*side);
                return Ok(());
            }
            let side = reader.side(name, cells, row)?;
            if let Some(text) = text {
                known.push((text.to_owned(), side));
            }
            sides.push(side);
            Ok(())
        })?;
        Ok(sides)
    }

    /// Whether these need not be read one by one where they are looked over: each can surely be kept as a decimal.
    fn can_be_kept(&self, doubles: Option<&[f64]>) -> bool {
        let can_be_kept = |value: &f64| *value == 0.0 || PLAIN.contains(&value.abs());
        self.reader.is_looked_over()
            && doubles.is_some_and(|doubles| doubles.iter().all(can_be_kept))
    }

    /// Exact decimals; none of what is looked over and can surely be kept.
    fn decimals(&mut self, name: &'static str) -> PyResult<DecimalColumn> {
        let mut decimals = DecimalColumn::with_capacity(self.rows);
        let doubles = self.cells(name).and_then(doubles);
        let doubles = doubles.as_deref();
        if self.can_be_kept(doubles) {
            return Ok(decimals);
        }
        self.each(name, |reader, cells, row| {
            let double = doubles.and_then(|doubles| doubles.get(row));
            if !double.is_some_and(|value| decimals.push_f64(*value)) {
                decimals.push(reader.decimal(name, cells, row)?);
            }
            Ok(())
        })?;
        Ok(decimals)
    }

    /// Doubles, as the decimals that their shortest texts say; none of what is looked over and can surely be kept.
    fn doubles(&mut self, name: &'static str) -> PyResult<DecimalColumn> {
        let mut decimals = DecimalColumn::with_capacity(self.rows);
        let doubles = self.cells(name).and_then(doubles);
        let doubles = doubles.as_deref();
        if self.can_be_kept(doubles) {
            return Ok(decimals);
        }
        self.each(name, |reader, cells, row| {
            let value = match doubles.and_then(|doubles| doubles.get(row)) {
                Some(value) => *value,
                None => reader.float(name, cells, row)?,
            };
            if decimals.push_f64(value) {
                return Ok(());
            }
            let exact = crate::python::archive::writer::decimal(name, value);
            decimals.push(exact.map_err(|message| reader.fault(name, row, message))?);
            Ok(())
        })?;
        Ok(decimals)
    }

    fn instants(&mut self, name: &'static str) -> PyResult<Vec<Millis>> {
        let mut times = Vec::with_capacity(self.rows);
        let whole = self.cells(name).and_then(millis);
        let whole = whole.as_deref();
        self.each(name, |reader, cells, row| {
            let at = whole.and_then(|whole| whole.get(row));
            let at = at.filter(|at| at.unsigned_abs() <= FURTHEST);
            times.push(match at {
                Some(at) => Millis(*at),
                None => reader.instant(name, cells, row)?,
            });
            Ok(())
        })?;
        Ok(times)
    }

    /// Instants; those of `otherwise` where they are missing.
    fn some_instants(&mut self, name: &'static str, otherwise: &[Millis]) -> PyResult<Vec<Millis>> {
        if !self.has(name) {
            return Ok(otherwise.to_vec());
        }
        let mut times = Vec::with_capacity(self.rows);
        self.each(name, |reader, cells, row| {
            times.push(if cells.at(row).is_missing() {
                otherwise.get(row).copied().unwrap_or_default()
            } else {
                reader.instant(name, cells, row)?
            });
            Ok(())
        })?;
        Ok(times)
    }

    /// How long bars are that open at these times: as they say, or by when they close.
    fn lengths(&mut self, opens: &[Millis]) -> PyResult<Vec<Option<i64>>> {
        let mut lengths: Vec<Option<i64>> = vec![None; self.rows];
        self.each("closes_at", |reader, cells, row| {
            if !cells.at(row).is_missing() {
                let closes = reader.instant("closes_at", cells, row)?;
                let opens = opens.get(row).copied().unwrap_or_default();
                if let Some(length) = lengths.get_mut(row) {
                    *length = Some(closes.0.saturating_sub(opens.0));
                }
            }
            Ok(())
        })?;
        let whole = self.cells("interval").and_then(integers);
        // Bars of one length, most of them.
        let mut met: Option<(i64, i64)> = None;
        self.each("interval", |reader, cells, row| {
            let told = whole.as_ref().and_then(|whole| whole.get(row)).copied();
            let span = match met.filter(|(before, _)| told == Some(*before)) {
                Some((_, span)) => span,
                None if cells.at(row).is_missing() => return Ok(()),
                None => reader.span("interval", cells, row)?,
            };
            met = told.map(|told| (told, span));
            if let Some(length) = lengths.get_mut(row) {
                *length = Some(span);
            }
            Ok(())
        })?;
        Ok(lengths)
    }
}

/// Doubles whose shortest texts have no exponent, and fewer digits than a decimal has.
const PLAIN: std::ops::RangeInclusive<f64> = 1e-4..=1e15;

/// An array in which nothing is missing.
fn whole(cells: &Cells) -> Option<&ArrayRef> {
    match cells {
        Cells::Arrow(array) if array.null_count() == 0 => Some(array),
        _ => None,
    }
}

/// A column of texts of which none is missing.
enum Texts {
    Short(arrow_array::StringArray),
    Long(arrow_array::LargeStringArray),
    View(arrow_array::StringViewArray),
}

impl Texts {
    fn of(cells: &Cells) -> Option<Self> {
        let array = whole(cells)?;
        match array.data_type() {
            DataType::Utf8 => Some(Self::Short(array.as_string::<i32>().clone())),
            DataType::LargeUtf8 => Some(Self::Long(array.as_string::<i64>().clone())),
            DataType::Utf8View => Some(Self::View(array.as_string_view().clone())),
            _ => None,
        }
    }

    #[inline]
    fn at(&self, row: usize) -> &str {
        match self {
            Self::Short(array) => array.value(row),
            Self::Long(array) => array.value(row),
            Self::View(array) => array.value(row),
        }
    }
}

/// The doubles of a column that has nothing else.
fn doubles(cells: &Cells) -> Option<Vec<f64>> {
    if let Cells::Doubles(values) = cells {
        return Some(values.clone());
    }
    let array = whole(cells)?;
    let array = array.as_primitive_opt::<Float64Type>()?;
    Some(array.values().to_vec())
}

/// The whole numbers of a column that has nothing else.
fn integers(cells: &Cells) -> Option<Vec<i64>> {
    if let Cells::Ints(values) = cells {
        return Some(values.clone());
    }
    let array = whole(cells)?;
    let array = array.as_primitive_opt::<Int64Type>()?;
    Some(array.values().to_vec())
}

/// The milliseconds of a column that has nothing else.
fn millis(cells: &Cells) -> Option<Vec<i64>> {
    let times = || {
        let array = whole(cells)?;
        let array = array.as_primitive_opt::<TimestampMillisecondType>()?;
        Some(array.values().to_vec())
    };
    integers(cells).or_else(times)
}

/// Whether a column of times has whole numbers and no instant that may be one of seconds.
fn are_no_seconds(cells: &Cells) -> bool {
    millis(cells).is_some_and(|times| !times.iter().any(|at| SECONDS.contains(at)))
}
