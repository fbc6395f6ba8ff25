//! Reads tables of trading positions, row by row.

use std::slice;

use crate::model::{self, Column, Kind, ObservedPosition, Record, Value};
use crate::tables::cells::InputCells;
use crate::tables::raw_table::{ColumnFault, RawTable};
use crate::tables::reading::column_reader::ColumnReader;
use crate::tables::reading::kinds::ReadRows;
use crate::tables::row_fault::{BLANK, RowFault};

/// Reads trading positions of single accounts.
///
/// `None` if `goes_on` stopped the reading.
///
/// # Errors
///
/// [`ColumnFault`] if a required column is missing.
pub(crate) fn read_positions(
    table: &RawTable,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Option<ReadRows<Vec<ObservedPosition>>>, ColumnFault> {
    if table.is_nothing() {
        return Ok(Some(ReadRows::default()));
    }
    let mut columns = Vec::new();
    for column in ObservedPosition::COLUMNS {
        let cells = table.get(column.name);
        if cells.is_none() && !column.optional {
            return Err(table.missing(column.name, ""));
        }
        columns.push(cells);
    }
    let mut reader = ColumnReader::new(table, goes_on);
    for column in ObservedPosition::COLUMNS {
        if let (Kind::Time, Some(cells)) = (column.kind, table.get(column.name)) {
            reader.check_unit(column.name, cells);
        }
    }
    let mut rows = Vec::with_capacity(table.rows());
    for row in 0..table.rows() {
        if !reader.look(row) {
            break;
        }
        let mut line = PositionLine {
            columns: columns.iter(),
            row,
        };
        match ObservedPosition::read(&mut line) {
            Ok(position) => rows.push((row, position)),
            Err(fault) => reader.fault(fault),
        }
    }
    let Some((faults, places)) = reader.end() else {
        return Ok(None);
    };
    let is_bad = |row: &usize| places.binary_search(row).is_err();
    rows.retain(|(row, _)| !is_bad(row));
    Ok(Some(ReadRows {
        columns: rows.into_iter().map(|(_, position)| position).collect(),
        places,
        faults,
    }))
}

/// The cells of one row, in the sequence of [`ObservedPosition::COLUMNS`].
struct PositionLine<'a> {
    columns: slice::Iter<'a, Option<&'a InputCells>>,
    row: usize,
}

impl model::Source for PositionLine<'_> {
    type Fault = RowFault;

    fn next<T: Value>(&mut self, column: &'static Column) -> Result<T, RowFault> {
        let (row, name) = (self.row, column.name);
        let cell = self
            .columns
            .next()
            .copied()
            .flatten()
            .map(|cells| cells.at(row));
        let cell = cell.filter(|cell| !cell.is_missing());
        let Some(cell) = cell else {
            return T::of(model::Cell::Absent).ok_or_else(|| RowFault::new(row, name, BLANK, ""));
        };
        let wrong = |why: String| RowFault::new(row, name, why, cell.shown());
        let text;
        let value = match T::KIND {
            Kind::Text => {
                text = ColumnReader::text(&cell).ok_or_else(|| wrong("not a name".to_owned()))?;
                model::Cell::Text(&text)
            }
            Kind::Side => model::Cell::Side(ColumnReader::side(&cell).map_err(wrong)?),
            Kind::Decimal => model::Cell::Decimal(ColumnReader::exact(&cell).map_err(wrong)?),
            Kind::Float => model::Cell::Float(ColumnReader::double(&cell).map_err(wrong)?),
            Kind::Time => model::Cell::Time(ColumnReader::instant(&cell).map_err(wrong)?),
            Kind::Int | Kind::Bool => model::Cell::Absent,
        };
        T::of(value).ok_or_else(|| wrong("not allowed".to_owned()))
    }
}
